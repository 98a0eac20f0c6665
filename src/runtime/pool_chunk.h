/* pool_chunk.h: one HEAP chunk (format/record.h) of a pool while it is filled, and its file. */
#ifndef SONDE_RUNTIME_POOL_CHUNK_H
#define SONDE_RUNTIME_POOL_CHUNK_H

#include <stdint.h>

#include "base/varint.h"
#include "format/record.h"
#include "runtime/file.h"

#define SONDE_POOL_CHUNK_EVENTS 65536u
#define SONDE_POOL_CHUNK_SITES 16384u
#define SONDE_POOL_CHUNK_FORMS_SEEN (2 * SONDE_POOL_CHUNK_EVENTS) /* a power of two */

/* An allocation site: blocks of a pool allocated in one thread. */
struct sonde_pool_site {
	uint32_t id; /* id in the file; 0 = free slot */
	uint32_t heap, thread;
	uint32_t row; /* row in the chunk's stats, + 1; 0 = none yet */
	uint64_t live_b, live_blocks;
};

struct sonde_pool_event {
	uint64_t time_ns;
	uint32_t thread; /* the thread that allocated or freed */
	int ends;
	struct sonde_pool_site *site; /* where the block was allocated */
	uint64_t size_b;
	uint64_t life_ns; /* lifetime of a freed block */
	int temporary;    /* nothing was allocated in the pool between its allocation and its free */
};

/* A combination of site and size. */
struct sonde_pool_form {
	uint32_t site;
	uint32_t row; /* + 1; 0 = free */
	uint64_t size_b;
};

/* Zeroed: belongs to no pool yet. */
struct sonde_pool_chunk {
	struct sonde_heap_summary summary;
	uint32_t count, forms;
	uint64_t min_ns, max_ns;
	uint32_t run_thread, run;
	uint32_t last_site; /* site id of the previous form */
	uint8_t *block_at, *life_at, *site_at, *size_at, *thread_at, *time_at;
	struct sonde_heap_stat stats[SONDE_POOL_CHUNK_SITES]; /* summary.sites rows */
	struct sonde_pool_site *sites[SONDE_POOL_CHUNK_SITES];
	struct sonde_pool_form seen[SONDE_POOL_CHUNK_FORMS_SEEN]; /* hash table with linear probing */
	uint32_t seen_at[SONDE_POOL_CHUNK_EVENTS];                /* slot of each form in `seen` */
	uint8_t blocks[24 + SONDE_POOL_CHUNK_EVENTS * (3 + 1 + 5 + SONDE_VARINT_MAX_B + 10 + SONDE_VARINT_MAX_B)];
	uint8_t lives[SONDE_POOL_CHUNK_EVENTS];
	uint8_t form_sites[SONDE_POOL_CHUNK_EVENTS * 5];
	uint8_t form_sizes[SONDE_POOL_CHUNK_EVENTS * SONDE_VARINT_MAX_B];
	uint8_t threads[SONDE_POOL_CHUNK_EVENTS * 10];
	uint8_t times[SONDE_POOL_CHUNK_EVENTS * SONDE_VARINT_MAX_B];
	uint8_t bytes[sizeof(struct sonde_heap_summary) + SONDE_POOL_CHUNK_SITES * 7 * SONDE_VARINT_MAX_B];
};

/* Starts a chunk of a pool that has this many live bytes and blocks. */
void sonde_pool_chunk_begin(struct sonde_pool_chunk *chunk, uint32_t heap, uint64_t live_b, uint64_t live_blocks);
/* 1 if one more event might not fit. */
int sonde_pool_chunk_is_full(const struct sonde_pool_chunk *chunk);
/* Events must be in order of time; live_*: after the event. */
void sonde_pool_chunk_put(struct sonde_pool_chunk *chunk, const struct sonde_pool_event *event, uint64_t live_b,
			  uint64_t live_blocks);
/* A block was freed that was never allocated. */
void sonde_pool_chunk_unknown(struct sonde_pool_chunk *chunk, uint64_t time_ns);
/* Writes the chunk unless it is empty; after that it belongs to no pool. */
void sonde_pool_chunk_end(struct sonde_pool_chunk *chunk, struct sonde_file *file);

#endif
