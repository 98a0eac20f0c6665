/* newborn.h: stacks for processes that end before their events give a sample.
 *
 * Inherited events begin with a whole period, so of a program that is run thousands of times for less than a period not
 * one stack is seen. While such processes come thick, their parents get one more event with a period that is drawn anew
 * every time: what it finds in newborn processes serves as their stack, never as weight. Not thread-safe.
 */
#ifndef SONDE_SOURCE_NEWBORN_H
#define SONDE_SOURCE_NEWBORN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/perf_event.h"
#include "source/perf_ring.h"

struct sonde_newborns;

int sonde_newborns_new(struct sonde_newborns **out, struct sonde_perf_rings *rings);
void sonde_newborns_free(struct sonde_newborns *newborns); /* NULL is fine */

/* Thread `parent` forked a process. */
void sonde_newborns_forked(struct sonde_newborns *newborns, pid_t parent);
/* A process ended without a sample. */
void sonde_newborns_missed(struct sonde_newborns *newborns);

/* At the end of each drain: opens and closes events as needed. */
void sonde_newborns_adapt(struct sonde_newborns *newborns, const struct sonde_perf_shape *shape);

/* CPU time of ended threads that have no stack, by program: kept until one of the program has. */
void sonde_newborns_put(struct sonde_newborns *newborns, uint64_t program, uint32_t thread, uint64_t cpu_ns);
uint64_t sonde_newborns_take(struct sonde_newborns *newborns, uint64_t program);

/* What is left of a program at the end, and a thread of it; 0 when there is nothing more. */
uint64_t sonde_newborns_rest(struct sonde_newborns *newborns, uint32_t *thread);

#endif
