/* chunks_state.h: the state of a heap's blocks that heap/chunks.c and heap/changes.c share. */
#ifndef SONDE_SOURCE_HEAP_CHUNKS_STATE_H
#define SONDE_SOURCE_HEAP_CHUNKS_STATE_H

#include "format/bodies.h"
#include "trace/columns_write.h"
#include "source/heap/chunks.h"

#define SONDE_HEAP_BATCH 256u /* changes */

struct sonde_heap_chunk_site {
	uint64_t live_b, live_blocks; /* as of the last chunk */
	uint32_t row;                 /* index in the chunk's stats, + 1; 0 = none yet */
};

struct sonde_heap_chunks {
	struct sonde_recorder *recorder;
	uint32_t process;
	struct sonde_heap_live live;
	uint64_t live_b, live_blocks;
	uint64_t peak_b, peak_blocks, begun_b, begun_blocks; /* of the chunks written so far */
	uint64_t last_begun; /* address of the latest allocated block while it is alive; 0 = it has ended */
	struct sonde_heap_block last_ended;
	uint64_t rests;                      /* number of remainders of split blocks, which size classes do not count */
	struct sonde_heap_chunk_site *sites; /* by id */
	size_t site_cap;
	/* the current chunk */
	struct sonde_columns columns;
	struct sonde_heap_summary summary;
	struct sonde_heap_stat *stats; /* summary.sites rows */
	size_t stat_cap;
	uint32_t *rows; /* forms in order of their first event */
	uint32_t row_count;
	size_t row_cap;
	uint32_t last_site; /* site of the last row */
	uint32_t run_thread, run;
	uint32_t until_mark; /* events until the next mark */
	uint64_t *marks_ns;  /* times of every time_every-th event */
	uint32_t mark_count;
	size_t mark_cap;
	uint64_t last_ns;
	int exact_times;
	int looked;
	char why_not[200];                     /* why the leak scan was not possible */
	int error, is_torn;                    /* is_torn: the columns lack events that are in the sums */
	uint64_t refused;                      /* changes after the error */
	uint32_t events[2 * SONDE_HEAP_BATCH]; /* of the current batch (heap/changes.c) */
};

/* Adds a row for a form (a site and a size, heap/forms.h). Call it at the form's first event in the chunk. -ENOMEM. */
int sonde_heap_chunks_row(struct sonde_heap_chunks *chunks, uint32_t form);
/* Ends the current run of events of one thread. */
void sonde_heap_chunks_end_run(struct sonde_heap_chunks *chunks);
/* Stops the recording of this heap for lack of memory; returns -ENOMEM. */
int sonde_heap_chunks_no_memory(struct sonde_heap_chunks *chunks);

#endif
