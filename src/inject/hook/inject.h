/* inject.h: internals of libsonde-cpu.so, which is preloaded into programs if perf events are forbidden.
 *
 * Each thread has a timer on its own CPU clock, which sends it SIGURG at the kernel's tick while it runs, and never
 * while it sleeps. The handler copies registers and stack into the process's ring and returns; the recorder unwinds. A
 * process connects at its first sample; a process that ends before its first sample only sends a farewell.
 *
 * Why SIGURG: its default action is to be ignored, so a program that resets all dispositions without our noticing is
 * not killed; debuggers pass it on silently; hardly any program uses it. The program's own disposition for it is kept
 * and honoured (cpu/dispositions.c).
 *
 * State that must not survive fork lies on a page that reads as zeros in the child. Nothing here calls malloc, locks,
 * or writes anywhere but into the ring. The object is linked against nothing: its imports have no versions, so that
 * older glibc and musl accept it, and imports missing from some libc are weak.
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
/* "RATE_HZ STACK_B FILTERS PRIVATE", written by the recorder; FILTERS: number of its own seccomp filters; PRIVATE 1:
 * only root, who may read every process, can read the recorder's data. */
#define INJECT_ENV "SONDE_CPU"
/* maximum threads at a time; timers of further threads are not found when a sandbox begins */
#define INJECT_TIMERS 4096

/* State of the calling thread; owner: the thread, inside and outside the handler. */
struct inject_thread {
	pid_t pid;     /* of the thread's process: differs in a forked child */
	pid_t tid;     /* 0 = not sampled */
	int timer;     /* kernel's id; −1 = none */
	uint32_t slot; /* index in inject_record->timers; INJECT_TIMERS = none */
	volatile int busy;
	int is_cramped;                 /* the program's alternate stack is too small for the handler */
	uint32_t alternate;             /* number of the stack that we gave it (cpu/alternate.c); 0 = none */
	int rounds;                     /* rounds of destructors of thread-specific data so far */
	int leaves;                     /* the final event is written because sampling ends; the process continues */
	uintptr_t stack_low, stack_end; /* possible range of its own stack; 0, 0 = unknown */
	uint64_t serial, start_ns;
	struct sonde_ring_pool *pool; /* the pool of `chunk` */
	struct sonde_ring_chunk *chunk;
	uint32_t at; /* next word of the chunk */
	uint32_t last_seq;
	int wants_blocked; /* the program believes that INJECT_SIGNAL is blocked in this thread, but it is not */
};

extern __thread struct inject_thread inject_self __attribute__((tls_model("initial-exec")));

/* --- cpu/process.c ------------------------------------------------------------------------------------------------ */

struct inject_settings {
	uint64_t period_ns;
	uint32_t stack_b;
	int is_private;
};

extern struct inject_settings inject_settings;

/* State of the process; reads as zeros in a forked child. */
struct inject_record {
	struct inject_link link;
	struct inject_sandbox sandbox;
	_Atomic uint32_t ended;
	uint64_t start_ns;
	_Atomic int timers[INJECT_TIMERS]; /* kernel's id + 1; the thread that takes one out deletes the timer */
};

extern struct inject_record *inject_record; /* NULL = not sampled */

/* True if this process is sampled. */
int inject_is_on(void);
/* Called in the handler. Returns the pool, after connecting at the first sample; NULL = none now, or for good if
 * inject_is_on() is false. */
struct sonde_ring_pool *inject_pool(void);
struct sonde_process *inject_process(void);
/* The calling process ends: records the CPU time of its main thread since its last sample. */
void inject_process_end(void);

/* --- cpu/thread.c ------------------------------------------------------------------------------------------------- */

void inject_thread_init(void);
void inject_thread_begin(const struct inject_stack *stack);
/* Stops the timer and records the thread's CPU time since its last sample; process_ns: the process's CPU time if it
 * ends too, else 0.
 */
void inject_thread_end(uint64_t process_ns);
/* Only stops the timer. */
void inject_thread_quiet(void);
/* Stops the timers of all threads. */
void inject_thread_quiet_all(void);
/* Restarts the timer. */
void inject_thread_resume(void);
/* The thread is not sampled while its alternate stack, on which the handler runs, is too small. */
void inject_thread_capacity(int is_cramped);

/* --- cpu/alternate.c ---------------------------------------------------------------------------------------------- */

/* Gives the calling thread an alternate stack for the handler, unless the program has set one; true if the program's is
 * too small. */
int inject_alternate_begin(void);
/* Gives the calling thread's stack back, once its timer is stopped. */
void inject_alternate_end(void);
/* In a forked child: gives back the stacks of threads that exist only in the parent. */
void inject_alternate_forked(void);
/* Excludes our tables from a limit on the process's data (hook/uncounted.h). To be called before any stack is taken. */
void inject_alternate_uncount(void);

/* --- cpu/sample.c ------------------------------------------------------------------------------------------------- */

void inject_sample_handler(int number, siginfo_t *info, void *context);
/* True if a signal comes from one of our timers. */
int inject_sample_is_ours(const siginfo_t *info);
extern const char inject_sample_mark; /* its address is the timers' value */
/* The thread's final event: its CPU time, and that of the process if it ends too (else 0). */
void inject_sample_remainder(uint64_t process_ns);

/* --- cpu/writer.c ------------------------------------------------------------------------------------------------- */

/* Reserves room for an event of `words`; NULL = none now, counted by cause. Never waits. */
struct sonde_event *inject_writer_reserve(struct sonde_ring_pool *pool, uint32_t words);
/* Stores the event's head, which makes it visible. */
void inject_writer_publish(struct sonde_event *event, const struct sonde_event *head);
/* The thread stops writing. */
void inject_writer_release(void);

/* --- cpu/dispositions.c ------------------------------------------------------------------------------------------- */

/* Installs our handler; the previous one becomes the program's. 0 or −1. */
int inject_dispositions_take(void);
/* Passes a signal that is not ours to the program's handler. */
void inject_dispositions_chain(int number, siginfo_t *info, void *context);

#endif
