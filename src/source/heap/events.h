/* events.h: pool events of libsonde, without stacks, recorded in heaps of the process. One thread. */
#ifndef SONDE_SOURCE_HEAP_EVENTS_H
#define SONDE_SOURCE_HEAP_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "format/event.h"
#include "format/link.h"
#include "source/record/recorder.h"

struct sonde_heap_events;

/* -ENOMEM. */
int sonde_heap_events_new(struct sonde_heap_events **out, struct sonde_recorder *recorder, pid_t pid);

/* Names a pool; `site` is the process's number for it. */
void sonde_heap_events_name(struct sonde_heap_events *events, uint32_t site, const char *name);
/* Adds an event of a thread. `serial` is the thread's number in the process, `thread` its id in the recording. The
 * event's site is a number of the process, its time is in ns. */
void sonde_heap_events_add(struct sonde_heap_events *events, uint64_t serial, uint32_t thread,
			   const struct sonde_event_block *event);
/* The thread writes no further events. */
void sonde_heap_events_thread_end(struct sonde_heap_events *events, uint64_t serial);
/* Writes the events up to time_ns, which must have passed before the rings of the process were read. */
void sonde_heap_events_run(struct sonde_heap_events *events, uint64_t time_ns);
/* Like sonde_heap_process_totals(), as of the last run. */
int sonde_heap_events_totals(const struct sonde_heap_events *events, const char *name, struct sonde_link_blocks *out);
/* The process has exited: writes pending events and frees. */
void sonde_heap_events_end(struct sonde_heap_events *events);

#endif
