/* new_threads.h: stacks for processes that end before their inherited events take a sample.
 *
 * Inherited events start with a whole period, so a program that is run thousands of times for less than a period yields
 * no stack at all. While such processes are frequent, their parents repeatedly get one more event, each time with a new
 * random period, and new processes inherit it. Samples of this event provide stacks for the new processes, but add no
 * CPU time. A thread without a stack borrows one from another thread of its program, but keeps its own CPU time. Not
 * thread-safe.
 */
#ifndef SONDE_SOURCE_CPU_NEW_THREADS_H
#define SONDE_SOURCE_CPU_NEW_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/cpu/perf_event.h"
#include "source/cpu/perf_ring.h"

struct sonde_newborns;

int sonde_newborns_new(struct sonde_newborns **out, struct sonde_perf_rings *rings);
void sonde_newborns_free(struct sonde_newborns *newborns); /* `newborns` may be NULL */

/* Reports that thread `parent` forked a process. */
void sonde_newborns_forked(struct sonde_newborns *newborns, pid_t parent);
/* Reports that a process ended without a sample. */
void sonde_newborns_missed(struct sonde_newborns *newborns);

/* Opens and closes events as needed; call at the end of each drain. */
void sonde_newborns_adapt(struct sonde_newborns *newborns, const struct sonde_perf_shape *shape);

/* Lends the stack of a short-lived thread to the threads of its program that end without one. */
void sonde_newborns_lend(struct sonde_newborns *newborns, uint64_t program, uint32_t stack);
uint32_t sonde_newborns_borrow(struct sonde_newborns *newborns, uint64_t program); /* 0 = none seen yet */

/* Queues the CPU time of a thread whose program has no stack yet; 0, or −ENOSPC if too many are queued. */
struct sonde_new_thread_time {
	uint32_t thread;
	uint64_t cpu_ns;
};
int sonde_newborns_wait(struct sonde_newborns *newborns, uint64_t program, const struct sonde_new_thread_time *time);

/* Takes a thread out of the queue whose program has a stack by now; if `final`, takes any thread. Returns 1 and the
 * stack (0 = the program has none), or 0 if there is no such thread. */
int sonde_newborns_next(struct sonde_newborns *newborns, int final, struct sonde_new_thread_time *out, uint32_t *stack);

#endif
