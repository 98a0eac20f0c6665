/* heap_chunks.h: the blocks of one heap: what is alive, what each site did, written as HEAP chunks. One thread. */
#ifndef SONDE_SOURCE_HEAP_CHUNKS_H
#define SONDE_SOURCE_HEAP_CHUNKS_H

#include <stdint.h>

#include "source/recorder.h"

struct sonde_heap_chunks;

/* Of `heap`, an id of the recording, in `process`. `mean_b`: 0 = every block is recorded. */
int sonde_heap_chunks_new(struct sonde_heap_chunks **out, struct sonde_recorder *recorder, uint32_t process,
			  uint32_t heap, uint64_t mean_b);
void sonde_heap_chunks_free(struct sonde_heap_chunks *chunks);

/* Times are CLOCK_MONOTONIC ns and do not fall; `site` is a heap site of the recording, `thread` who did it. */
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

/* Writes what there is. */
/* From here on every event has its time: zones of the process will be compared with them. */
int sonde_heap_chunks_exact_times(struct sonde_heap_chunks *chunks);

int sonde_heap_chunks_flush(struct sonde_heap_chunks *chunks);
/* Says of every site what of it is still alive: the process has ended, and nobody could look for pointers. */
void sonde_heap_chunks_close(struct sonde_heap_chunks *chunks);

#endif
