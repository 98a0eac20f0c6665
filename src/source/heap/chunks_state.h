/* chunks_state.h: what heap/chunks.c and heap/changes.c share of the blocks of a heap. */
#ifndef SONDE_SOURCE_HEAP_CHUNKS_STATE_H
#define SONDE_SOURCE_HEAP_CHUNKS_STATE_H

#include "trace/columns_write.h"
#include "source/heap/chunks.h"

#define SONDE_HEAP_BATCH 256u /* changes */

enum {
	SONDE_HEAP_COLUMN_BLOCK,
	SONDE_HEAP_COLUMN_LIFE,
	SONDE_HEAP_COLUMN_SITE,
	SONDE_HEAP_COLUMN_SIZE,
	SONDE_HEAP_COLUMN_THREAD,
	SONDE_HEAP_COLUMN_TIME,
	SONDE_HEAP_COLUMNS
};

struct sonde_heap_chunk_site {
	uint64_t live_b, live_blocks; /* as the last chunk left them */
	uint32_t row;                 /* of the chunk's stats, + 1; 0 = none yet */
};

struct sonde_heap_chunks {
	struct sonde_recorder *recorder;
	uint32_t process;
	struct sonde_heap_live live;
	uint64_t live_b, live_blocks;
	uint64_t peak_b, peak_blocks, begun_b, begun_blocks; /* of the chunks that were written */
	uint64_t last_begun;                                 /* nothing was allocated since; 0 = something was */
	struct sonde_heap_block last_ended;
	uint64_t rests;                      /* of blocks that were split: their beginnings are not blocks of a size */
	struct sonde_heap_chunk_site *sites; /* by id */
	size_t site_cap;
	/* the chunk that is being filled */
	struct sonde_columns columns;
	struct sonde_heap_summary summary;
	struct sonde_heap_stat *stats; /* summary.sites rows */
	uint32_t stat_cap;
	uint32_t *rows; /* forms in the order of their first event */
	uint32_t row_count, row_cap;
	uint32_t last_site; /* of the last of them */
	uint32_t run_thread, run;
	uint32_t until_mark; /* events */
	uint64_t *marks_ns;  /* times of every time_every-th event */
	uint32_t mark_count, mark_cap;
	uint64_t last_ns;
	int exact_times;
	int looked;
	char why_not[200];                     /* nobody could look for pointers */
	int error, is_torn;                    /* torn: the columns lack what the sums have */
	uint64_t refused;                      /* changes, after the error */
	uint32_t events[2 * SONDE_HEAP_BATCH]; /* of the batch that is being taken (heap/changes.c) */
};

/* The form's first event in the chunk. -ENOMEM. */
int sonde_heap_chunks_row(struct sonde_heap_chunks *chunks, uint32_t form);
/* Ends the run of events of one thread. */
void sonde_heap_chunks_end_run(struct sonde_heap_chunks *chunks);
/* -ENOMEM: nothing is recorded from here on. */
int sonde_heap_chunks_no_memory(struct sonde_heap_chunks *chunks);

#endif
