/* blocked_processes.h: the processes that are polled from outside because no hooks report their waits, and their
 * threads. One thread.
 */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_PROCESSES_H
#define SONDE_SOURCE_WAIT_BLOCKED_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "source/wait/blocked_held.h"
#include "source/wait/blocked_look.h"
#include "source/resource/live_list.h"

struct sonde_channel;

/* The source that reports the waits of a process. */
enum sonde_blocked_telling {
	SONDE_BLOCKED_UNDECIDED = 0,
	SONDE_BLOCKED_MAY_CONNECT, /* it has mapped our object */
	SONDE_BLOCKED_INTERPOSED,
	SONDE_BLOCKED_FROM_OUTSIDE,
};

/* A row of the list: a process with its listed threads. */
struct sonde_blocked_listed {
	struct sonde_recorder_live live;
	struct sonde_blocked_process at;
	enum sonde_blocked_telling telling;
	uint64_t since_ns;  /* time of the current `telling` */
	uint64_t listed_ns; /* last time that its threads were listed */
	uint64_t list_ns;   /* CPU time of that listing */
	uint64_t links;     /* link count of /proc/PID/task at that listing: number of threads + 2 */
	size_t alive;       /* current threads, listed or not */
	size_t gone;        /* listed threads that have exited */
	uint8_t denied, counted;
	struct sonde_blocked_thread *threads; /* tid 0 = it has exited */
	size_t count, cap;
};

struct sonde_blocked_processes {
	struct sonde_recorder *recorder;
	struct sonde_blocked_looker looker;
	struct sonde_blocked_held held;
	const struct sonde_channel *channel; /* knows which processes have hooks; NULL = none can have any */
	struct sonde_live_list list;         /* struct sonde_blocked_listed */
	size_t kept, kept_processes;         /* open descriptors: of threads (two each), and of processes */
	size_t kept_max, kept_processes_max;
	uint64_t start_ns, lists, listed_ns;
	uint64_t denied, narrow;
	char denied_why[192], denied_name[32]; /* reason and name of one of the denied processes */
	uint32_t denied_process;               /* the process of these texts */
	int failed;                            /* out of memory: polling has stopped */
};

/* `channel`: NULL = no process can have hooks. -ENOMEM; after a failure, too, call sonde_blocked_processes_fini(). */
int sonde_blocked_processes_init(struct sonde_blocked_processes *processes, struct sonde_recorder *recorder,
				 const struct sonde_channel *channel);
/* Writes pending waits. */
void sonde_blocked_processes_fini(struct sonde_blocked_processes *processes);

/* Lists processes and threads if due; returns the number of threads to poll. */
size_t sonde_blocked_processes_find(struct sonde_blocked_processes *processes, uint64_t now_ns);
struct sonde_blocked_listed *sonde_blocked_processes_at(const struct sonde_blocked_processes *processes, size_t i);
int sonde_blocked_processes_is_looked_at(const struct sonde_blocked_listed *listed);
/* True if the process may be polled, now or once it is listed or checked again. */
int sonde_blocked_processes_is_waited_for(const struct sonde_blocked_listed *listed);

/* Polls a thread: if it is blocked, it counts as blocked for `stands_ns`. */
void sonde_blocked_processes_look(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed,
				  struct sonde_blocked_thread *thread, uint64_t stands_ns);
/* Call it after polling a process's threads: closes the descriptors of processes beyond the limit. */
void sonde_blocked_processes_looked(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed);

/* Writes the waits for which the reporting source is known. */
void sonde_blocked_processes_settle(struct sonde_blocked_processes *processes, uint64_t now_ns);
/* Ends all waits, and writes those that hooks have not reported. */
void sonde_blocked_processes_end(struct sonde_blocked_processes *processes, uint64_t now_ns);

#endif
