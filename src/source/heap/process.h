/* process.h: the heaps of one lifetime of a program in a process: ring words in, chunks out. One thread. */
#ifndef SONDE_SOURCE_HEAP_PROCESS_H
#define SONDE_SOURCE_HEAP_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"
#include "source/record/snapshots.h"
#include "source/stack/unwinder.h"
#include "source/heap/freeze.h"
#include "source/target/listener.h"

struct sonde_heap_process;

struct sonde_heap_process_options {
	struct sonde_recorder *recorder;
	struct sonde_unwinder *unwinder;  /* NULL = the words contain no stacks */
	const struct sonde_clockfit *fit; /* of the cycle counter */
	struct sonde_heap_late *late;     /* owned by the source (heap/freeze.h) */
	pid_t pid;
	uint32_t clock; /* enum sonde_ring_clock of the words */
};

/* -ENOMEM. */
int sonde_heap_process_new(struct sonde_heap_process **out, const struct sonde_heap_process_options *options);
/* Frees without writing pending data. */
void sonde_heap_process_free(struct sonde_heap_process *process);

/* Adds words of one thread's ring. `serial` is the thread's number in its process, `thread` its id in the recording. */
void sonde_heap_process_add(struct sonde_heap_process *process, uint64_t serial, uint32_t thread, const uint64_t *words,
			    size_t count);
/* From now on, the exact time of every event is written, so that it can be compared with the zones of the process. */
void sonde_heap_process_exact_times(struct sonde_heap_process *process);
/* The thread writes no further words. */
void sonde_heap_process_thread_end(struct sonde_heap_process *process, uint64_t serial);
/* Writes the events up to a time that had passed before the rings were read. The time is given by both clocks. */
void sonde_heap_process_run(struct sonde_heap_process *process, uint64_t cycles, uint64_t ns);
/* Writes the events up to time_ns (CLOCK_MONOTONIC; UINT64_MAX: all) and ends all chunks there, so that the blocks
 * alive at that time are known exactly. Returns the time for which this holds: time_ns, or the time of a later event
 * that had already been written; 0 if there was no event. `live`: of malloc's heap. */
uint64_t sonde_heap_process_flush(struct sonde_heap_process *process, uint64_t time_ns,
				  struct sonde_snapshot_live *live);
/* The live blocks of a named pool ("": malloc's heap), as far as written. −ENOENT. */
int sonde_heap_process_totals(const struct sonde_heap_process *process, const char *name,
			      struct sonde_link_blocks *out);
/* True if malloc's heap of the process is recorded, not only pools that it reports through libsonde. */
int sonde_heap_process_has_malloc(const struct sonde_heap_process *process);
/* Its id in the recording. */
uint32_t sonde_heap_process_id(const struct sonde_heap_process *process);
/* The process is about to exit and waits: scans which of its blocks are still reachable. 0 or a negative errno. */
int sonde_heap_process_scan(struct sonde_heap_process *process, const struct sonde_link_scan *question,
			    const struct sonde_channel_drainer *drainer);
/* The process continues without being recorded. Its rings are complete only up to the time in `leave` (by the clock of
 * the rings). */
void sonde_heap_process_left(struct sonde_heap_process *process, const struct sonde_link_leave *leave);
/* Notes that the recording ends while the process continues. */
void sonde_heap_process_goes_on(struct sonde_heap_process *process);
/* The process has exited: writes pending data, reports the blocks live at exit, frees. */
void sonde_heap_process_end(struct sonde_heap_process *process);

#endif
