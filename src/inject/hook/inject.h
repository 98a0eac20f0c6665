/* inject.h: the inside of libsonde-cpu.so, which is preloaded into programs where perf events are forbidden.
 *
 * Each thread has a timer on its own CPU clock, which sends it SIGURG at the kernel's tick while it runs, and never
 * while it sleeps. The handler copies registers and stack into the process's ring and returns; the recorder unwinds.
 * A process connects at its first sample: one that ends before it only says good-bye.
 *
 * Why SIGURG: its default action is to ignore it, so that a program that resets all dispositions behind our back is
 * not killed; debuggers pass it on silently; hardly any program uses it. What a program sets for it is kept and
 * honoured (cpu/dispositions.c).
 *
 * What must not survive fork lies on a page that the child reads as zeros. Nothing here calls malloc, locks, or
 * writes anywhere but into the ring. The object is linked against nothing: its imports have no versions, so that an
 * older glibc and musl take it, and those that some libc lacks are weak.
 */
#ifndef SONDE_INJECT_HOOK_INJECT_H
#define SONDE_INJECT_HOOK_INJECT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/hook/connect.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/stack.h"
#include "runtime/runtime.h"

#define INJECT_SIGNAL SIGURG
/* "RATE_HZ STACK_B FILTERS PRIVATE", written by the recorder; FILTERS: its own of seccomp; PRIVATE 1: nobody but root,
 * who may read every process, can read what the recorder holds. */
#define INJECT_ENV "SONDE_CPU"
#define INJECT_TIMERS 4096 /* threads at once; the timers of more are not found when a sandbox begins */

/* Of the calling thread; owner: the thread, in and out of the handler. */
struct inject_thread {
	pid_t pid;     /* whose thread it is: another number in a forked child */
	pid_t tid;     /* 0 = not sampled */
	int timer;     /* kernel's id; −1 = none */
	uint32_t slot; /* of the timer, in the record; INJECT_TIMERS = none */
	volatile int busy;
	int is_cramped;                 /* its alternate stack is too small for the handler */
	int leaves;                     /* its last words are those of a process that lives on unsampled */
	uintptr_t stack_low, stack_end; /* where its own stack may be; 0, 0 = not known */
	uint64_t serial, start_ns;
	struct sonde_ring_pool *pool; /* what `chunk` belongs to */
	struct sonde_ring_chunk *chunk;
	uint32_t at; /* next word of the chunk */
	uint32_t last_seq;
	int wants_blocked; /* the program believes INJECT_SIGNAL to be blocked in this thread, and it is not */
};

extern __thread struct inject_thread inject_self __attribute__((tls_model("initial-exec")));

/* --- cpu/process.c ------------------------------------------------------------------------------------------------- */

struct inject_settings {
	uint64_t period_ns;
	uint32_t stack_b;
	int is_private;
};

extern struct inject_settings inject_settings;

/* Of the process; a forked child reads zeros. */
struct inject_record {
	struct inject_link link;
	struct inject_sandbox sandbox;
	_Atomic uint32_t ended;
	uint64_t start_ns;
	_Atomic int timers[INJECT_TIMERS]; /* kernel's id + 1; who takes one out deletes it */
};

extern struct inject_record *inject_record; /* NULL = not to be sampled */

/* Whether this process is to be sampled. */
int inject_is_on(void);
/* In the handler: the pool, after connecting when this is the first sample; NULL = none, and there will be none when
 * inject_is_on() says no. */
struct sonde_ring_pool *inject_pool(void);
struct sonde_process *inject_process(void);
/* The calling process ends: what its main thread ran since its last sample. */
void inject_process_end(void);

/* --- cpu/thread.c -------------------------------------------------------------------------------------------------- */

void inject_thread_init(void);
void inject_thread_begin(const struct inject_stack *stack);
/* Stops the timer and writes what the thread ran since its last sample; process_ns: as of inject_sample_rest(). */
void inject_thread_end(uint64_t process_ns);
/* Stops the timer alone. */
void inject_thread_quiet(void);
/* Stops those of all threads. */
void inject_thread_quiet_all(void);
/* Starts it again. */
void inject_thread_resume(void);
/* The thread has an alternate stack of that size, where the handler runs: while there is no room it is not sampled. */
void inject_thread_room(size_t size_b);

/* --- cpu/sample.c -------------------------------------------------------------------------------------------------- */

void inject_sample_handler(int number, siginfo_t *info, void *context);
/* Whether a signal comes from one of our timers. */
int inject_sample_is_ours(const siginfo_t *info);
extern const char inject_sample_mark; /* its address is the timers' value */
/* The thread's last words: its CPU time, and that of the process when it ends too (else 0). */
void inject_sample_rest(uint64_t process_ns);

/* --- cpu/writer.c -------------------------------------------------------------------------------------------------- */

/* Room for an event of `words`; NULL = none now, and that is counted by cause. Never waits. */
struct sonde_event *inject_writer_reserve(struct sonde_ring_pool *pool, uint32_t words);
/* Stores the head, which makes it visible. */
void inject_writer_publish(struct sonde_event *event, const struct sonde_event *head);
/* The thread writes no more. */
void inject_writer_release(void);

/* --- cpu/dispositions.c -------------------------------------------------------------------------------------------- */

/* Installs our handler; what was there becomes the program's. 0 or −1. */
int inject_dispositions_take(void);
/* Hands a signal that is not ours to the program's handler. */
void inject_dispositions_chain(int number, siginfo_t *info, void *context);

#endif
