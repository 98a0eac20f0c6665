/* chunks.h: the blocks of one heap: what is alive, what each site did, written as HEAP chunks. One thread. */
#ifndef SONDE_SOURCE_HEAP_CHUNKS_H
#define SONDE_SOURCE_HEAP_CHUNKS_H

#include <stdint.h>

#include "format/link.h"
#include "source/heap/live.h"
#include "source/heap/merge.h"
#include "source/record/recorder.h"

struct sonde_heap_chunks;

/* Of `heap`, an id of the recording, in `process`. `mean_b`: 0 = every block is recorded. */
int sonde_heap_chunks_new(struct sonde_heap_chunks **out, struct sonde_recorder *recorder, uint32_t process,
			  uint32_t heap, uint64_t mean_b);
void sonde_heap_chunks_free(struct sonde_heap_chunks *chunks);

/* Times are CLOCK_MONOTONIC ns and do not fall; `site` is a heap site of the recording, `thread` who did it. */
void sonde_heap_chunks_changes(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count);

/* One change. */
void sonde_heap_chunks_begins(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      uint64_t size_b, uint32_t site);
void sonde_heap_chunks_ends(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address);
/* The block that ended last did not. */
void sonde_heap_chunks_kept(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address);
/* The middle of a block ends, the rest becomes blocks of their own: where it was, and behind what ended. Their
 * beginnings are events of 0 bytes: the bytes have begun before. */
struct sonde_heap_split {
	uint64_t before_b, ends_b, after_b;
};

void sonde_heap_chunks_splits(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      const struct sonde_heap_split *split);
int sonde_heap_chunks_is_alive(const struct sonde_heap_chunks *chunks, uint64_t address);

/* From here on every event has its time: zones of the process will be compared with them. */
int sonde_heap_chunks_exact_times(struct sonde_heap_chunks *chunks);

/* Writes what there is. */
int sonde_heap_chunks_flush(struct sonde_heap_chunks *chunks);
/* The time of the last event; 0 = there was none. */
uint64_t sonde_heap_chunks_last_ns(const struct sonde_heap_chunks *chunks);
/* The same, and what comes is later than time_ns: by their times chunks before and after it can be told apart. */
int sonde_heap_chunks_cut(struct sonde_heap_chunks *chunks, uint64_t time_ns);
/* All of it, so far. */
void sonde_heap_chunks_totals(const struct sonde_heap_chunks *chunks, struct sonde_link_blocks *out);
void sonde_heap_chunks_alive(const struct sonde_heap_chunks *chunks, uint64_t *blocks, uint64_t *size_b);
uint64_t sonde_heap_chunks_mean_b(const struct sonde_heap_chunks *chunks);
/* What is alive now; until the next event. */
const struct sonde_heap_live *sonde_heap_chunks_live(const struct sonde_heap_chunks *chunks);
/* Why it is recorded no more: a negative errno; 0 = it is. */
int sonde_heap_chunks_error(const struct sonde_heap_chunks *chunks);
/* Somebody has looked which of it can be reached, and told the recorder, or could not (why, else NULL). */
void sonde_heap_chunks_looked(struct sonde_heap_chunks *chunks, const char *why);
/* The process has ended. Unless somebody has looked, says of every site what of it is still alive, and that nobody
 * knows whether it could be reached. */
void sonde_heap_chunks_close(struct sonde_heap_chunks *chunks);

#endif
