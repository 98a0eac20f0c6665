/* blocked_look.h: polls one thread from outside: finds whether it is blocked, in which call, on which object, and with
 * which stack; or why it may not be polled. One thread. */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_LOOK_H
#define SONDE_SOURCE_WAIT_BLOCKED_LOOK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/wait/blocked_call.h"
#include "source/target/interposed.h"
#include "source/wait/lock_names.h"
#include "source/wait/chunks.h"
#include "util/map.h"

/* State shared by all polls. */
struct sonde_blocked_looker {
	struct sonde_recorder *recorder;
	struct sonde_interposed code; /* of the polled processes */
	struct sonde_map objects;     /* objects that threads wait for: by process, and name or address */
	uint64_t looks, stacks;
	uint64_t unreadable, changed; /* stacks lost: memory not readable; thread ran during the copy */
	int error;                    /* errno of the first unreadable stack */
	int missing_files;            /* a thread could not be polled for lack of file descriptors */
};

/* -ENOMEM; after a failure, too, call sonde_blocked_looker_fini(). */
int sonde_blocked_looker_init(struct sonde_blocked_looker *looker, struct sonde_recorder *recorder);
void sonde_blocked_looker_fini(struct sonde_blocked_looker *looker);

struct sonde_blocked_process {
	uint32_t id; /* id in the recording */
	pid_t pid;
	int fd; /* /proc/PID, which stays with this process even if the pid is reused */
	struct sonde_lock_names *locks;
	uint64_t program;  /* identifies the executed program; 0 = not checked yet */
	uint8_t is_narrow; /* 32-bit: has other call numbers */
};

struct sonde_blocked_thread {
	pid_t tid;
	int call_fd, schedstat_fd; /* −1 = not kept */
	uint64_t slices;           /* how often it had been on a CPU when it was last polled as blocked */
	struct sonde_blocked_call call;
	struct sonde_waits_row
	    last; /* the call of the previous wait; a restarted call has another number, but the same stack pointer */
	uint64_t last_sp;
	struct sonde_waits_row wait; /* the wait in which it was last found; kind 0 = none. `thread` is not set */
};

enum sonde_blocked_found {
	SONDE_BLOCKED_RUNS = 0,
	SONDE_BLOCKED_GOES_ON,    /* in the same wait as at the last poll: it has not run since */
	SONDE_BLOCKED_IN_ANOTHER, /* call and slices are those of a new wait: sonde_blocked_take() takes it */
	SONDE_BLOCKED_GONE,
	SONDE_BLOCKED_DENIED,
};

/* Opens the descriptors that are kept for a thread, if permitted. */
void sonde_blocked_keep(const struct sonde_blocked_process *process, struct sonde_blocked_thread *thread);
void sonde_blocked_close(struct sonde_blocked_thread *thread);

enum sonde_blocked_found sonde_blocked_look(struct sonde_blocked_looker *looker,
					    const struct sonde_blocked_process *process,
					    struct sonde_blocked_thread *thread);

/* True if the process executes a different program than at the last check. */
int sonde_blocked_executes(struct sonde_blocked_looker *looker, struct sonde_blocked_process *process);

/* Stores the wait that was just found in thread->wait, with no duration yet; kind 0 if the thread does not wait (it is
 * stopped). */
void sonde_blocked_take(struct sonde_blocked_looker *looker, const struct sonde_blocked_process *process,
			struct sonde_blocked_thread *thread);

/* The relevant facts in /proc, of a process and of ourselves. */
struct sonde_blocked_facts {
	uid_t own, real, effective, saved; /* user ids: ours, and the process's */
	uid_t owner;                       /* of /proc/PID: root if the process is not dumpable */
	int hidden;                        /* not visible in /proc: nothing except `own` is known */
	int yama;                          /* kernel.yama.ptrace_scope; 0 without Yama, too */
};

/* "it belongs to another user (uid 0): as that user or as root". Static or in `out`. */
const char *sonde_blocked_why(const struct sonde_blocked_facts *facts, char *out, size_t out_b);

/* Reads the facts about a process, which must exist. */
void sonde_blocked_facts_read(struct sonde_blocked_facts *out, pid_t pid);

#endif
