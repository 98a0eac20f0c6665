/* newborn.h: stacks for processes that end before their events give a sample.
 *
 * Inherited events begin with a whole period, so of a program that is run thousands of times for less than a period not
 * one stack is seen. While such processes come thick, their parents get one more event with a period that is drawn anew
 * every time: what it finds in newborn processes serves as their stack, never as weight. A thread that has none borrows
 * the stack of another one of its program; its time stays its own. Not thread-safe.
 */
#ifndef SONDE_SOURCE_CPU_NEWBORN_H
#define SONDE_SOURCE_CPU_NEWBORN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/cpu/perf_event.h"
#include "source/cpu/perf_ring.h"

struct sonde_newborns;

int sonde_newborns_new(struct sonde_newborns **out, struct sonde_perf_rings *rings);
void sonde_newborns_free(struct sonde_newborns *newborns); /* NULL is fine */

/* Thread `parent` forked a process. */
void sonde_newborns_forked(struct sonde_newborns *newborns, pid_t parent);
/* A process ended without a sample. */
void sonde_newborns_missed(struct sonde_newborns *newborns);

/* At the end of each drain: opens and closes events as needed. */
void sonde_newborns_adapt(struct sonde_newborns *newborns, const struct sonde_perf_shape *shape);

/* A stack that a short-lived thread of a program had: it stands for those that end without one. */
void sonde_newborns_lend(struct sonde_newborns *newborns, uint64_t program, uint32_t stack);
uint32_t sonde_newborns_borrow(struct sonde_newborns *newborns, uint64_t program); /* 0 = none seen yet */

/* CPU time of a thread of a program of which no stack was seen yet; 0, or −ENOSPC when too many wait. */
struct sonde_newborn_time {
	uint32_t thread;
	uint64_t cpu_ns;
};
int sonde_newborns_wait(struct sonde_newborns *newborns, uint64_t program, const struct sonde_newborn_time *time);

/* One that waited and whose program has a stack now, or (at the end) any: 1 and its stack or 0, or 0. */
int sonde_newborns_next(struct sonde_newborns *newborns, int final, struct sonde_newborn_time *out, uint32_t *stack);

#endif
