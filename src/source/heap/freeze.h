/* freeze.h: stops the threads of a process, and reads their registers.
 *
 * Uses ptrace if that is permitted, as it is for the parent that started the process. A thread that is blocked in a
 * call which would fail with EINTR (epoll_wait() and its like, and socket calls, which may have a timeout) is not
 * stopped, since its program might notice the failure: its stack pointer and the arguments of the call are read from
 * /proc. One thread.
 */
#ifndef SONDE_SOURCE_HEAP_FREEZE_H
#define SONDE_SOURCE_HEAP_FREEZE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SONDE_HEAP_WORDS_MAX 128u

struct sonde_heap_thread {
	pid_t tid;
	int is_held;
	int is_left;             /* blocked in a call and not stopped: it may continue at any time */
	long call;               /* number of the blocking system call */
	int signal;              /* pending signal, delivered when it continues */
	uint64_t stack;          /* stack pointer; 0 = unknown */
	uint64_t thread_pointer; /* 0 = unknown */
	size_t count;
	uint64_t words[SONDE_HEAP_WORDS_MAX]; /* register contents, as far as known */
};

/* Threads that the kernel held up, so that they did not stop in time: they still have to be released. Zeroed =
 * empty. */
#define SONDE_HEAP_LATE_MAX 64u

struct sonde_heap_late {
	struct {
		pid_t pid, tid;
	} rows[SONDE_HEAP_LATE_MAX];
	size_t count;
};

struct sonde_heap_threads {
	pid_t pid;
	struct sonde_heap_late *late; /* borrowed: outlives this struct */
	struct sonde_heap_thread *rows;
	size_t count, cap;
	size_t left;    /* not stopped, since they are blocked in a call */
	size_t running; /* number of threads that could not be stopped, and are not blocked */
};

/* Stops all threads of threads->pid except `except`; the rest of the struct must be zero. -ENOMEM; otherwise 0, however
 * many could be stopped. */
int sonde_heap_freeze(struct sonde_heap_threads *threads, pid_t except);
/* Counts as running the threads that were left blocked in a call and have continued since. */
void sonde_heap_freeze_check(struct sonde_heap_threads *threads);
/* Continues the threads, and frees. */
void sonde_heap_thaw(struct sonde_heap_threads *threads);
/* Releases late threads that have stopped by now; call it periodically. */
void sonde_heap_thaw_late(struct sonde_heap_late *late);

#endif
