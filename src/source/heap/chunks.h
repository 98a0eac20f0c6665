/* chunks.h: the blocks of one heap: tracks live blocks and sums by site, written as HEAP chunks. One thread. */
#ifndef SONDE_SOURCE_HEAP_CHUNKS_H
#define SONDE_SOURCE_HEAP_CHUNKS_H

#include <stdint.h>

#include "format/link.h"
#include "source/heap/live.h"
#include "source/heap/merge.h"
#include "source/record/recorder.h"

struct sonde_heap_chunks;

/* `heap`: an id of the recording, in `process`. `mean_b`: mean bytes between samples, 0 = every block is recorded. */
int sonde_heap_chunks_new(struct sonde_heap_chunks **out, struct sonde_recorder *recorder, uint32_t process,
			  uint32_t heap, uint64_t mean_b);
void sonde_heap_chunks_free(struct sonde_heap_chunks *chunks);

/* Times are CLOCK_MONOTONIC ns and never decrease; `site` is a heap site of the recording, `thread` the acting
 * thread. */
void sonde_heap_chunks_changes(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count);

/* A single change. */
void sonde_heap_chunks_begins(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      uint64_t size_b, uint32_t site);
void sonde_heap_chunks_ends(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address);
/* Retracts the last end of a block: the block is still alive. */
void sonde_heap_chunks_kept(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address);
/* The middle of a block ends; the remainders, before and after it, become blocks of their own. Their begin events have
 * 0 bytes, since the bytes were counted before. */
struct sonde_heap_split {
	uint64_t before_b, ends_b, after_b;
};

void sonde_heap_chunks_splits(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      const struct sonde_heap_split *split);
int sonde_heap_chunks_is_alive(const struct sonde_heap_chunks *chunks, uint64_t address);

/* From now on, the exact time of every event is written, so that it can be compared with the zones of the process. */
int sonde_heap_chunks_exact_times(struct sonde_heap_chunks *chunks);

/* Writes pending changes. */
int sonde_heap_chunks_flush(struct sonde_heap_chunks *chunks);
/* The time of the last event; 0 = none yet. */
uint64_t sonde_heap_chunks_last_ns(const struct sonde_heap_chunks *chunks);
/* Flushes. Events that follow get times after time_ns, so that chunks before and after the cut can be told apart by
 * their times. */
int sonde_heap_chunks_cut(struct sonde_heap_chunks *chunks, uint64_t time_ns);
/* Totals of the whole heap so far. */
void sonde_heap_chunks_totals(const struct sonde_heap_chunks *chunks, struct sonde_link_blocks *out);
void sonde_heap_chunks_alive(const struct sonde_heap_chunks *chunks, uint64_t *blocks, uint64_t *size_b);
uint64_t sonde_heap_chunks_mean_b(const struct sonde_heap_chunks *chunks);
/* The blocks alive now; valid until the next event. */
const struct sonde_heap_live *sonde_heap_chunks_live(const struct sonde_heap_chunks *chunks);
/* Why recording stopped: a negative errno; 0 = it did not. */
int sonde_heap_chunks_error(const struct sonde_heap_chunks *chunks);
/* Notes that a leak scan was made and reported (`why` NULL), or why it was not possible. */
void sonde_heap_chunks_looked(struct sonde_heap_chunks *chunks, const char *why);
/* The process has exited. Without a leak scan, reports the live blocks of every site, with unknown reachability. */
void sonde_heap_chunks_close(struct sonde_heap_chunks *chunks);

#endif
