/* blocked_processes.h: who is looked at from outside: processes whose waits no hooks tell, and their threads. One
 * thread.
 */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_PROCESSES_H
#define SONDE_SOURCE_WAIT_BLOCKED_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "source/wait/blocked_held.h"
#include "source/wait/blocked_look.h"
#include "source/resource/live_list.h"

struct sonde_channel;

/* Who tells of a process's waits. */
enum sonde_blocked_telling {
	SONDE_BLOCKED_UNDECIDED = 0,
	SONDE_BLOCKED_MAY_CONNECT, /* it has mapped our object */
	SONDE_BLOCKED_HOOKED,
	SONDE_BLOCKED_FROM_OUTSIDE,
};

/* A row of the list: a process with the threads that were listed. */
struct sonde_blocked_listed {
	struct sonde_recorder_live live;
	struct sonde_blocked_process at;
	enum sonde_blocked_telling telling;
	uint64_t since_ns;  /* as which it is, undecided or not */
	uint64_t listed_ns; /* its threads were */
	uint64_t list_ns;   /* CPU time that this took */
	uint64_t links;     /* of /proc/PID/task then: threads + 2 */
	size_t alive;       /* threads now, listed or not */
	size_t gone;        /* of the listed ones */
	uint8_t denied, counted;
	struct sonde_blocked_thread *threads; /* tid 0 = it is gone */
	size_t count, cap;
};

struct sonde_blocked_processes {
	struct sonde_recorder *recorder;
	struct sonde_blocked_looker looker;
	struct sonde_blocked_held held;
	const struct sonde_channel *channel; /* who has hooks in it; NULL = no process may have any */
	struct sonde_live_list list;         /* struct sonde_blocked_listed */
	size_t kept, kept_processes;         /* descriptors: of threads, two each, and of processes */
	size_t kept_max, kept_processes_max;
	uint64_t start_ns, lists, listed_ns;
	uint64_t denied, narrow;
	char denied_why[192], denied_name[32]; /* of one of them */
	uint32_t denied_process;               /* whose they are */
	int failed;                            /* no memory: from then on nothing is read */
};

/* `channel`: NULL = no process may have hooks in it. -ENOMEM; what was opened is freed by
 * sonde_blocked_processes_fini(). */
int sonde_blocked_processes_init(struct sonde_blocked_processes *processes, struct sonde_recorder *recorder,
				 const struct sonde_channel *channel);
/* Writes what is left. */
void sonde_blocked_processes_fini(struct sonde_blocked_processes *processes);

/* Lists processes and threads, where that is due; the number of threads to look at. */
size_t sonde_blocked_processes_find(struct sonde_blocked_processes *processes, uint64_t now_ns);
struct sonde_blocked_listed *sonde_blocked_processes_at(const struct sonde_blocked_processes *processes, size_t i);
int sonde_blocked_processes_is_looked_at(const struct sonde_blocked_listed *listed);
/* Whether it may be once it is listed, or asked again. */
int sonde_blocked_processes_is_waited_for(const struct sonde_blocked_listed *listed);

/* Looks at a thread: if it is blocked, it was for `stands_ns`. */
void sonde_blocked_processes_look(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed,
				  struct sonde_blocked_thread *thread, uint64_t stands_ns);
/* After looks at its threads: closes what is kept beyond a number of processes. */
void sonde_blocked_processes_looked(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed);

/* Writes the waits of which it is known who tells them. */
void sonde_blocked_processes_settle(struct sonde_blocked_processes *processes, uint64_t now_ns);
/* Ends all waits and writes those that hooks have not told. */
void sonde_blocked_processes_end(struct sonde_blocked_processes *processes, uint64_t now_ns);

#endif
