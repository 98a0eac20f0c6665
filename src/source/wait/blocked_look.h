/* blocked_look.h: one look at one thread from outside: whether it is blocked, in what, on what, and where; or why
 * nobody may look. One thread. */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_LOOK_H
#define SONDE_SOURCE_WAIT_BLOCKED_LOOK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/wait/blocked_call.h"
#include "source/target/hooked.h"
#include "source/wait/lock_names.h"
#include "source/wait/chunks.h"
#include "util/map.h"

/* What all looks share. */
struct sonde_blocked_looker {
	struct sonde_recorder *recorder;
	struct sonde_hooked code; /* of the processes that are looked at */
	struct sonde_map objects; /* that they wait for: by process, and name or address */
	uint64_t looks, stacks;
	uint64_t unreadable, changed; /* of the stacks: memory that may not be read; threads that ran on meanwhile */
	int error;                    /* errno of the first that was unreadable */
	int lacks_files;              /* once a thread could not be looked at for want of a descriptor */
};

/* -ENOMEM; what was opened is freed by sonde_blocked_looker_fini(). */
int sonde_blocked_looker_init(struct sonde_blocked_looker *looker, struct sonde_recorder *recorder);
void sonde_blocked_looker_fini(struct sonde_blocked_looker *looker);

struct sonde_blocked_process {
	uint32_t id; /* the recording's */
	pid_t pid;
	int fd; /* of /proc/PID: this life of the number, and no other */
	struct sonde_lock_names *locks;
	uint64_t program;  /* that it executes: tells it from the one before; 0 = not looked yet */
	uint8_t is_narrow; /* of 32 bits: other numbers of calls */
};

struct sonde_blocked_thread {
	pid_t tid;
	int call_fd, schedstat_fd; /* −1 = not kept */
	uint64_t slices;           /* on a CPU, as the last look found it blocked */
	struct sonde_blocked_call call;
	struct sonde_waits_row
	    last; /* the last one, with its stack pointer: a call that is taken up again has another number */
	uint64_t last_sp;
	struct sonde_waits_row wait; /* in which it was found last; kind 0 = in none. `thread` is not set */
};

enum sonde_blocked_found {
	SONDE_BLOCKED_RUNS = 0,
	SONDE_BLOCKED_GOES_ON,    /* in the wait in which it was: it has not run since */
	SONDE_BLOCKED_IN_ANOTHER, /* its call and slices are those of a new one: sonde_blocked_take() takes it */
	SONDE_BLOCKED_GONE,
	SONDE_BLOCKED_DENIED,
};

/* Opens what is kept of a thread, where it may be. */
void sonde_blocked_keep(const struct sonde_blocked_process *process, struct sonde_blocked_thread *thread);
void sonde_blocked_close(struct sonde_blocked_thread *thread);

enum sonde_blocked_found sonde_blocked_look(struct sonde_blocked_looker *looker,
					    const struct sonde_blocked_process *process,
					    struct sonde_blocked_thread *thread);

/* Whether the process executes another program than when it was asked last. */
int sonde_blocked_executes(struct sonde_blocked_looker *looker, struct sonde_blocked_process *process);

/* Makes thread->wait the one that the look just found, of no time yet; without a kind where it is none (stopped). */
void sonde_blocked_take(struct sonde_blocked_looker *looker, const struct sonde_blocked_process *process,
			struct sonde_blocked_thread *thread);

/* What stands in /proc of a process, and of us. */
struct sonde_blocked_facts {
	uid_t own, real, effective, saved; /* users: ours, and the process's */
	uid_t owner;                       /* of /proc/PID: root's where the process is not dumpable */
	int hidden;                        /* /proc does not show it: nothing of the above is known but `own` */
	int yama;                          /* kernel.yama.ptrace_scope; 0 also without Yama */
};

/* "it belongs to another user (uid 0): as that user or as root". Static or in `out`. */
const char *sonde_blocked_why(const struct sonde_blocked_facts *facts, char *out, size_t out_b);

/* Of a process that there is. */
void sonde_blocked_facts_read(struct sonde_blocked_facts *out, pid_t pid);

#endif
