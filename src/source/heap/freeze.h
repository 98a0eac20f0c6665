/* freeze.h: holds the threads of a process still, and reads what is in their registers.
 *
 * By ptrace where that is allowed, which it is to those who started the process. A thread that waits in a call which
 * would fail with EINTR (epoll_wait() and its like, and sockets', which may have a timeout) is left in peace, since its
 * program might notice: its stack pointer and the arguments of the call are read from /proc. One thread.
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
	int is_left;             /* it waits, and goes on when it likes */
	long call;               /* that it waits in */
	int signal;              /* that was on its way to it */
	int has_registers;       /* all of them */
	uint64_t stack;          /* pointer; 0 = not known */
	uint64_t thread_pointer; /* 0 = not known */
	size_t count;
	uint64_t words[SONDE_HEAP_WORDS_MAX]; /* what its registers hold, as far as known */
};

/* Threads that stopped too late, when the kernel had kept them: they have to be let go yet. Zeroed at first. */
#define SONDE_HEAP_LATE_MAX 64u

struct sonde_heap_late {
	struct {
		pid_t pid, tid;
	} rows[SONDE_HEAP_LATE_MAX];
	size_t count;
};

struct sonde_heap_threads {
	pid_t pid;
	struct sonde_heap_late *late; /* borrowed: outlives the threads */
	struct sonde_heap_thread *rows;
	size_t count, cap;
	size_t left;    /* in a call that they wait in */
	size_t running; /* that could not be held, and are not waiting either */
};

/* All threads of threads->pid but `except`; the rest of the struct is zero. -ENOMEM; else 0, however many could be
 * held. */
int sonde_heap_freeze(struct sonde_heap_threads *threads, pid_t except);
/* Counts those as running that were left in a call and wait there no more. */
void sonde_heap_freeze_check(struct sonde_heap_threads *threads);
/* Lets them go on, and frees. */
void sonde_heap_thaw(struct sonde_heap_threads *threads);
/* Lets late threads go that have stopped by now; call it now and then. */
void sonde_heap_thaw_late(struct sonde_heap_late *late);

#endif
