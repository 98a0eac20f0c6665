/* perf_attach.h: follows every thread of a running process. */
#ifndef SONDE_SOURCE_CPU_PERF_ATTACH_H
#define SONDE_SOURCE_CPU_PERF_ATTACH_H

#include <stddef.h>
#include <sys/types.h>

#include "source/cpu/perf_event.h"
#include "source/cpu/perf_ring.h"

/* Opens events on all threads of `pid`, once each. *tids (to be freed by the caller) lists the threads found. */
int sonde_perf_attach(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t pid, pid_t **tids,
		      size_t *count);

/* Writes the children of all threads of `pid`, at most `max`, and returns their number; 0 if the kernel does not list
 * children. */
size_t sonde_perf_attach_children(pid_t pid, pid_t *out, size_t max);

#endif
