/* process.h: what one life of a program in one process said of its blocks: words in, chunks of its heaps out. One
 * thread.
 */
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
	struct sonde_unwinder *unwinder;  /* NULL = its words have no stacks */
	const struct sonde_clockfit *fit; /* of cycles */
	struct sonde_heap_late *late;     /* of the source (heap/freeze.h) */
	pid_t pid;
	uint32_t clock; /* enum sonde_ring_clock, of its words */
};

/* -ENOMEM. */
int sonde_heap_process_new(struct sonde_heap_process **out, const struct sonde_heap_process_options *options);
/* Without what was not written yet. */
void sonde_heap_process_free(struct sonde_heap_process *process);

/* Words of one thread's ring, `serial` in its process, `thread` in the recording. */
void sonde_heap_process_add(struct sonde_heap_process *process, uint64_t serial, uint32_t thread, const uint64_t *words,
			    size_t count);
/* From here on every event has its time: the process makes zones, which will be compared with them. */
void sonde_heap_process_exact_times(struct sonde_heap_process *process);
/* That thread writes no more. */
void sonde_heap_process_thread_end(struct sonde_heap_process *process, uint64_t serial);
/* Writes what happened up to a time that had passed before its rings were read, by either clock. */
void sonde_heap_process_run(struct sonde_heap_process *process, uint64_t cycles, uint64_t ns);
/* Writes what happened up to time_ns (CLOCK_MONOTONIC; UINT64_MAX: everything) and ends all chunks there, so that what
 * was alive then can be told exactly. Returns the moment that this is true of: time_ns, or that of a later event which
 * had been written; 0 when nothing happened. `live`: of malloc's heap. */
uint64_t sonde_heap_process_flush(struct sonde_heap_process *process, uint64_t time_ns,
				  struct sonde_snapshot_live *live);
/* What is alive of the pool of a name ("": of malloc's heap), as of what has been written. −ENOENT. */
int sonde_heap_process_totals(const struct sonde_heap_process *process, const char *name,
			      struct sonde_link_blocks *out);
/* Whether it has malloc's heap, or only pools that it tells of by itself. */
int sonde_heap_process_has_malloc(const struct sonde_heap_process *process);
/* Its id in the recording. */
uint32_t sonde_heap_process_id(const struct sonde_heap_process *process);
/* It is about to end, and waits: looks what of its heap can still be reached. 0 or a negative errno. */
int sonde_heap_process_scan(struct sonde_heap_process *process, const struct sonde_link_scan *question,
			    const struct sonde_channel_drainer *drainer);
/* It goes on without being recorded; in its rings only what came until then (in their clock) is complete. */
void sonde_heap_process_left(struct sonde_heap_process *process, const struct sonde_link_leave *leave);
/* The recording ends before it. */
void sonde_heap_process_goes_on(struct sonde_heap_process *process);
/* The process has ended: writes the rest, says what was left, frees it. */
void sonde_heap_process_end(struct sonde_heap_process *process);

#endif
