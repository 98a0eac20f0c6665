/* events.h: what a program says of its pools by libsonde's events, without stacks, into heaps of its process. One
 * thread.
 */
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

/* A pool's name; `site` is the process's number of it. */
void sonde_heap_events_name(struct sonde_heap_events *events, uint32_t site, const char *name);
/* Of the thread `serial` of the process, `thread` in the recording; its site the process's, its time in ns. */
void sonde_heap_events_add(struct sonde_heap_events *events, uint64_t serial, uint32_t thread,
			   const struct sonde_event_block *event);
/* That thread writes no more. */
void sonde_heap_events_thread_end(struct sonde_heap_events *events, uint64_t serial);
/* Writes what happened up to a time that had passed before the rings of the process were read. */
void sonde_heap_events_run(struct sonde_heap_events *events, uint64_t time_ns);
/* As sonde_heap_process_totals(), of what happened up to the last run. */
int sonde_heap_events_totals(const struct sonde_heap_events *events, const char *name, struct sonde_link_blocks *out);
/* The process has ended: writes the rest, frees. */
void sonde_heap_events_end(struct sonde_heap_events *events);

#endif
