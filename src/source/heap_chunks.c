/* heap_chunks.c: keeps the live blocks, sums by site, and encodes events into columns (format/record.h, HEAP).
 *
 * A chunk's summary says what was alive before it and what each site did in it, so that a reader sums chunks and
 * decodes only the one in which the peak lies.
 */
#include "source/heap_chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_worth.h"
#include "source/columns.h"
#include "source/heap_live.h"
#include "util/error.h"

#define EVENTS_A_CHUNK (1u << 20)
#define SITES_A_CHUNK 16384u

enum { BLOCK, SIZE, LIFE, THREAD, TIME, COLUMNS };

struct site {
	uint64_t live_b, live_blocks;
	uint32_t row; /* of the chunk's stats, + 1; 0 = none yet */
};

struct sonde_heap_chunks {
	struct sonde_recorder *recorder;
	uint32_t process;
	struct sonde_heap_live live;
	uint64_t live_b, live_blocks;
	uint64_t last_begun; /* nothing was allocated since; 0 = something was */
	struct sonde_heap_block last_ended;
	struct site *sites; /* by id */
	size_t site_cap;
	/* the chunk that is being filled */
	struct sonde_columns columns;
	struct sonde_heap_summary summary;
	struct sonde_heap_stat *stats; /* summary.sites rows */
	uint32_t stat_cap;
	uint32_t run_thread, run;
	uint64_t mark_ns, last_ns;
	int error;
};
	int exact_times;
	int looked;
	char why_not[200]; /* nobody could look for pointers */

static void start_chunk(struct sonde_heap_chunks *chunks)
{
	chunks->summary = (struct sonde_heap_summary){.heap = chunks->summary.heap,
						      .time_every = chunks->exact_times ? 1 : SONDE_HEAP_TIME_EVERY,
						      .mean_b = chunks->summary.mean_b,
						      .live_b = chunks->live_b,
						      .live_blocks = chunks->live_blocks};
	chunks->run = 0;
}

int sonde_heap_chunks_new(struct sonde_heap_chunks **out, struct sonde_recorder *recorder, uint32_t process,
			  uint32_t heap, uint64_t mean_b)
{
	struct sonde_heap_chunks *chunks = calloc(1, sizeof *chunks);
	if (!chunks)
		return sonde_error(ENOMEM, "no memory for the allocations of a process");
	chunks->recorder = recorder;
	chunks->process = process;
	sonde_columns_init(&chunks->columns, COLUMNS);
	chunks->summary.heap = heap;
	chunks->summary.mean_b = mean_b;
	start_chunk(chunks);
	*out = chunks;
	return 0;
}

void sonde_heap_chunks_free(struct sonde_heap_chunks *chunks)
{
	if (!chunks)
		return;
	sonde_columns_fini(&chunks->columns);
	sonde_heap_live_fini(&chunks->live);
	free(chunks->sites);
	free(chunks->stats);
	free(chunks);
}

int sonde_heap_chunks_is_alive(const struct sonde_heap_chunks *chunks, uint64_t address)
{
int sonde_heap_chunks_exact_times(struct sonde_heap_chunks *chunks)
{
	if (chunks->exact_times)
		return 0;
	chunks->exact_times = 1;
	int code = sonde_heap_chunks_flush(chunks);
	chunks->summary.time_every = 1; /* also where there was nothing to flush */
	return code;
}

	return sonde_heap_live_find(&chunks->live, address) != NULL;
}

/* --- sites ------------------------------------------------------------------------------------------------------- */

static struct site *site_of(struct sonde_heap_chunks *chunks, uint32_t id)
{
	if (id < chunks->site_cap)
		return &chunks->sites[id];
	size_t cap = chunks->site_cap ? chunks->site_cap : 256;
	while (cap <= id)
		cap *= 2;
	struct site *sites = realloc(chunks->sites, cap * sizeof *sites);
	if (!sites) {
		chunks->error = -ENOMEM;
		return NULL;
	}
	memset(sites + chunks->site_cap, 0, (cap - chunks->site_cap) * sizeof *sites);
	chunks->sites = sites;
	chunks->site_cap = cap;
	return &sites[id];
}

static int grow_stats(struct sonde_heap_chunks *chunks)
{
	uint32_t cap = chunks->stat_cap ? 2 * chunks->stat_cap : 16;
	struct sonde_heap_stat *stats = realloc(chunks->stats, cap * sizeof *stats);
	if (!stats)
		return chunks->error = sonde_error(ENOMEM, "no memory for the places that allocate");
	chunks->stats = stats;
	chunks->stat_cap = cap;
	return 0;
}

/* NULL without memory. */
static struct sonde_heap_stat *stat_of(struct sonde_heap_chunks *chunks, uint32_t id)
{
	struct site *site = site_of(chunks, id);
	if (!site)
		return NULL;
	if (!site->row) {
		if (chunks->summary.sites == chunks->stat_cap && grow_stats(chunks))
			return NULL;
		site->row = ++chunks->summary.sites;
		chunks->stats[site->row - 1] = (struct sonde_heap_stat){.site = id};
	}
	return &chunks->stats[site->row - 1];
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

static void end_run(struct sonde_heap_chunks *chunks)
{
	if (chunks->run) {
		sonde_columns_put(&chunks->columns, THREAD, chunks->run_thread);
		sonde_columns_put(&chunks->columns, THREAD, chunks->run);
	}
	chunks->run = 0;
}

int sonde_heap_chunks_flush(struct sonde_heap_chunks *chunks)
{
	uint32_t sites = chunks->summary.sites;
	if (!chunks->columns.rows && !chunks->summary.unknown)
		return chunks->error;
	end_run(chunks);
	size_t stats_b = sites * sizeof *chunks->stats, summary_b = sizeof chunks->summary + stats_b;
	char *summary = malloc(summary_b);
	if (!summary)
		return chunks->error = sonde_error(ENOMEM, "no memory for the summary of a heap chunk");
	memcpy(summary, &chunks->summary, sizeof chunks->summary);
	memcpy(summary + sizeof chunks->summary, chunks->stats, stats_b);
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_HEAP,
	    .process = chunks->process,
	    .time_min_ns = chunks->columns.time_min_ns,
	    .time_max_ns = chunks->last_ns,
	    .count = chunks->columns.rows,
	    .summary = summary,
	    .summary_b = (uint32_t)summary_b,
	};
	int code = sonde_recorder_chunk(chunks->recorder, &chunks->columns, &chunk);
	free(summary);
	for (uint32_t i = 0; i < sites; i++)
		chunks->sites[chunks->stats[i].site].row = 0;
	start_chunk(chunks);
	chunks->error = chunks->error ? chunks->error : code;
	return chunks->error;
}

/* The columns that every event has. */
static void put(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t block, uint64_t size_b)
{
	struct sonde_columns *columns = &chunks->columns;
	if (chunks->run_thread != thread)
		end_run(chunks);
	chunks->run_thread = thread;
	chunks->run++;
	if (time_ns < chunks->last_ns)
		time_ns = chunks->last_ns;
	chunks->last_ns = time_ns;
	if (!columns->rows)
		chunks->mark_ns = columns->time_min_ns = time_ns;
	if (columns->rows % chunks->summary.time_every == 0) {
		sonde_columns_put(columns, TIME, time_ns - chunks->mark_ns);
		chunks->mark_ns = time_ns;
	}
	sonde_columns_put(columns, BLOCK, block);
	sonde_columns_put(columns, SIZE, size_b);
	columns->rows++;
}

static void end_event(struct sonde_heap_chunks *chunks)
{
	if (chunks->live_b > chunks->summary.peak_b) {
		chunks->summary.peak_b = chunks->live_b;
		chunks->summary.peak_blocks = chunks->live_blocks;
		chunks->summary.peak_at = chunks->columns.rows;
	}
	if (chunks->columns.rows >= EVENTS_A_CHUNK || chunks->summary.sites == SITES_A_CHUNK)
		sonde_heap_chunks_flush(chunks);
}

static unsigned class_of(uint64_t value)
{
	unsigned class = value ? 63u - (unsigned)__builtin_clzll(value) : 0;
	return class < SONDE_HEAP_CLASSES ? class : SONDE_HEAP_CLASSES - 1;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static void take_out(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread,
		     const struct sonde_heap_block *block)
{
	uint32_t id = (uint32_t)block->site;
	struct sonde_heap_stat *stat = stat_of(chunks, id);
	if (!stat)
		return;
	struct site *site = &chunks->sites[id];
	unsigned class = class_of(time_ns > block->born ? time_ns - block->born : 0);
	int temporary = chunks->last_begun == block->address;
	struct sonde_heap_worth worth = sonde_heap_worth(block->size_b, chunks->summary.mean_b);
	stat->ends += worth.blocks;
	stat->ended_b += worth.size_b;
	stat->ended_variance += worth.variance;
	stat->temporary += temporary ? (uint32_t)worth.blocks : 0;
	site->live_b -= worth.size_b;
	site->live_blocks -= worth.blocks;
	chunks->live_b -= worth.size_b;
	chunks->live_blocks -= worth.blocks;
	chunks->summary.life_classes[class] += worth.blocks;
	put(chunks, time_ns, thread, (uint64_t)id << 1 | 1, block->size_b);
	sonde_columns_put_byte(&chunks->columns, LIFE, (uint8_t)(class | (temporary ? SONDE_HEAP_TEMPORARY : 0)));
	end_event(chunks);
}

static void put_in(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread,
		   const struct sonde_heap_block *block)
{
	uint32_t id = (uint32_t)block->site;
	struct sonde_heap_stat *stat = stat_of(chunks, id);
	int code = stat ? sonde_heap_live_add(&chunks->live, block) : -ENOMEM;
	if (code) {
		chunks->error = code;
		return;
	}
	struct site *site = &chunks->sites[id];
	struct sonde_heap_worth worth = sonde_heap_worth(block->size_b, chunks->summary.mean_b);
	stat->begins += worth.blocks;
	stat->begun_b += worth.size_b;
	stat->begun_variance += worth.variance;
	site->live_b += worth.size_b;
	site->live_blocks += worth.blocks;
	chunks->live_b += worth.size_b;
	chunks->live_blocks += worth.blocks;
	chunks->summary.size_classes[class_of(block->size_b)] += worth.blocks;
	put(chunks, time_ns, thread, (uint64_t)id << 1, block->size_b);
	end_event(chunks);
}

void sonde_heap_chunks_begins(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      uint64_t size_b, uint32_t site)
{
	struct sonde_heap_block block = {.address = address, .born = time_ns, .site = site & SONDE_HEAP_SITES_MAX},
				before;
	block.size_b = (size_b < SONDE_HEAP_BLOCK_MAX_B ? size_b : SONDE_HEAP_BLOCK_MAX_B) & SONDE_HEAP_BLOCK_MAX_B;
	if (!address || !site || site > SONDE_HEAP_SITES_MAX)
		return;
	if (sonde_heap_live_take(&chunks->live, address, &before)) /* its end was not seen */
		take_out(chunks, time_ns, thread, &before);
	put_in(chunks, time_ns, thread, &block);
	chunks->last_begun = address;
	stat->largest_b = block->size_b > stat->largest_b ? block->size_b : stat->largest_b;
}

void sonde_heap_chunks_ends(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address)
{
	struct sonde_heap_block block;
	if (!sonde_heap_live_take(&chunks->live, address, &block)) {
		chunks->summary.unknown++;
		return;
	}
	take_out(chunks, time_ns, thread, &block);
	chunks->last_ended = block;
	if (chunks->last_begun == address)
		chunks->last_begun = 0;
}

void sonde_heap_chunks_kept(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address)
{
	if (chunks->last_ended.address == address && !sonde_heap_chunks_is_alive(chunks, address))
		put_in(chunks, time_ns, thread, &chunks->last_ended);
}

/* What is left of a block that was split. */
static void put_rest(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread,
		     const struct sonde_heap_block *block)
{
	uint32_t id = (uint32_t)block->site;
	struct sonde_heap_stat *stat = block->size_b ? stat_of(chunks, id) : NULL;
	if (!stat || sonde_heap_live_add(&chunks->live, block))
		return;
	stat->begins++;
	chunks->sites[id].live_blocks++;
	chunks->live_blocks++;
	put(chunks, time_ns, thread, (uint64_t)id << 1, 0);
	end_event(chunks);
}

void sonde_heap_chunks_splits(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      const struct sonde_heap_split *split)
{
	struct sonde_heap_block block;
	if (!sonde_heap_live_take(&chunks->live, address, &block)) {
		chunks->summary.unknown++;
		return;
	}
	struct sonde_heap_block ends = block, before = block, after = block;
	uint64_t left_b = block.size_b; /* of the size that is known */
	ends.size_b = (split->ends_b < left_b ? split->ends_b : left_b) & SONDE_HEAP_BLOCK_MAX_B;
	left_b -= ends.size_b;
	before.size_b = (split->before_b < left_b ? split->before_b : left_b) & SONDE_HEAP_BLOCK_MAX_B;
	left_b -= before.size_b;
	after.size_b = (split->after_b < left_b ? split->after_b : left_b) & SONDE_HEAP_BLOCK_MAX_B;
	after.address = address + split->before_b + split->ends_b;
	chunks->last_begun = 0;
	take_out(chunks, time_ns, thread, &ends);
	put_rest(chunks, time_ns, thread, &before);
	put_rest(chunks, time_ns, thread, &after);
}

void sonde_heap_chunks_close(struct sonde_heap_chunks *chunks)
{
	sonde_heap_chunks_flush(chunks);
	for (size_t id = 0; id < chunks->site_cap; id++)
		if (chunks->sites[id].live_blocks)
			sonde_recorder_heap_leak(chunks->recorder, (uint32_t)id, SONDE_HEAP_NOT_KNOWN,
						 chunks->sites[id].live_blocks, chunks->sites[id].live_b);
}
