/* pool_chunk.c: columns and summary of one HEAP chunk of a pool (pool_chunk.h).
 *
 * The counterpart of source/heap/chunks.c, which the recorder uses for malloc. It works in preallocated memory: every
 * event has its time, nothing is sampled, and a chunk is limited to so few events that all of its columns fit.
 */
#include "runtime/pool_chunk.h"

#include <string.h>

#include "base/hash.h"
#include "fold/heap_chunk.h"
#include "format/bodies.h"

_Static_assert(sizeof(((struct sonde_pool_chunk *)0)->bytes) <= SONDE_CHUNK_MAX_SUMMARY_B, "a summary is not too long");
_Static_assert(sizeof(((struct sonde_pool_chunk *)0)->blocks) <= SONDE_CHUNK_MAX_RAW_B, "nor is a body");

void sonde_pool_chunk_begin(struct sonde_pool_chunk *chunk, uint32_t heap, uint64_t live_b, uint64_t live_blocks)
{
	chunk->summary =
	    (struct sonde_heap_summary){.heap = heap, .time_every = 1, .live_b = live_b, .live_blocks = live_blocks};
	chunk->count = chunk->forms = chunk->run = chunk->last_site = 0;
	chunk->block_at = chunk->blocks + SONDE_HEAP_COLUMNS * sizeof(uint32_t);
	chunk->life_at = chunk->lives;
	chunk->site_at = chunk->form_sites;
	chunk->size_at = chunk->form_sizes;
	chunk->thread_at = chunk->threads;
	chunk->time_at = chunk->times;
}

int sonde_pool_chunk_is_full(const struct sonde_pool_chunk *chunk)
{
	return chunk->count == SONDE_POOL_CHUNK_EVENTS || chunk->summary.sites == SONDE_POOL_CHUNK_SITES;
}

static uint32_t form_of(struct sonde_pool_chunk *chunk, uint32_t site, uint64_t size_b)
{
	uint32_t at = (uint32_t)sonde_hash_pair(site, size_b) % SONDE_POOL_CHUNK_FORMS_SEEN;
	for (; chunk->seen[at].row; at = (at + 1) % SONDE_POOL_CHUNK_FORMS_SEEN)
		if (chunk->seen[at].site == site && chunk->seen[at].size_b == size_b)
			return chunk->seen[at].row - 1;
	chunk->seen_at[chunk->forms] = at;
	chunk->seen[at] = (struct sonde_pool_form){site, chunk->forms + 1, size_b};
	chunk->site_at = sonde_heap_put_site(chunk->site_at, site, chunk->last_site);
	chunk->size_at = sonde_heap_put_size(chunk->size_at, size_b);
	chunk->last_site = site;
	return chunk->forms++;
}

static struct sonde_heap_stat *stat_of(struct sonde_pool_chunk *chunk, struct sonde_pool_site *site)
{
	if (!site->row) {
		uint32_t row = chunk->summary.sites++;
		chunk->stats[row] = (struct sonde_heap_stat){.site = site->id};
		chunk->sites[row] = site;
		site->row = row + 1;
	}
	return &chunk->stats[site->row - 1];
}

static void end_run(struct sonde_pool_chunk *chunk)
{
	if (chunk->run)
		chunk->thread_at = sonde_heap_put_run(chunk->thread_at, chunk->run_thread, chunk->run);
	chunk->run = 0;
}

static void add_end(struct sonde_pool_chunk *chunk, const struct sonde_pool_event *event, struct sonde_heap_stat *stat)
{
	unsigned class = sonde_heap_life_class(event->life_ns);
	stat->ends++;
	stat->ended_b += event->size_b;
	stat->temporary += (uint32_t)event->temporary;
	chunk->summary.life_classes[class]++;
	*chunk->life_at++ = sonde_heap_life_code(class, event->temporary != 0);
}

static void add_beginning(struct sonde_pool_chunk *chunk, const struct sonde_pool_event *event,
			  struct sonde_heap_stat *stat)
{
	stat->begins++;
	stat->begun_b += event->size_b;
	stat->largest_b = event->size_b > stat->largest_b ? event->size_b : stat->largest_b;
	chunk->summary.size_classes[sonde_heap_class(event->size_b)]++;
}

void sonde_pool_chunk_put(struct sonde_pool_chunk *chunk, const struct sonde_pool_event *event, uint64_t live_b,
			  uint64_t live_blocks)
{
	struct sonde_heap_stat *stat = stat_of(chunk, event->site);
	uint32_t form = form_of(chunk, event->site->id, event->size_b);
	if (!chunk->count)
		chunk->min_ns = chunk->max_ns = event->time_ns;
	if (chunk->run_thread != event->thread)
		end_run(chunk);
	chunk->run_thread = event->thread;
	chunk->run++;
	chunk->block_at = sonde_heap_put_block(chunk->block_at, sonde_heap_block_code(form, event->ends != 0));
	chunk->time_at = sonde_heap_put_time(chunk->time_at, event->time_ns, chunk->max_ns);
	chunk->max_ns = event->time_ns;
	chunk->count++;
	if (event->ends)
		add_end(chunk, event, stat);
	else
		add_beginning(chunk, event, stat);
	if (live_b <= chunk->summary.peak_b)
		return;
	chunk->summary.peak_b = live_b;
	chunk->summary.peak_blocks = live_blocks;
	chunk->summary.peak_at = chunk->count;
}

void sonde_pool_chunk_unknown(struct sonde_pool_chunk *chunk, uint64_t time_ns)
{
	if (!chunk->count)
		chunk->min_ns = chunk->max_ns = time_ns;
	chunk->summary.unknown++;
}

/* Moves the other columns so that they directly follow the first; returns the size of all. */
static uint32_t body_join(struct sonde_pool_chunk *chunk)
{
	const struct {
		const uint8_t *from, *end;
	} columns[SONDE_HEAP_COLUMNS] = {
	    [SONDE_HEAP_COLUMN_BLOCK] = {chunk->blocks + SONDE_HEAP_COLUMNS * sizeof(uint32_t), chunk->block_at},
	    [SONDE_HEAP_COLUMN_LIFE] = {chunk->lives, chunk->life_at},
	    [SONDE_HEAP_COLUMN_SITE] = {chunk->form_sites, chunk->site_at},
	    [SONDE_HEAP_COLUMN_SIZE] = {chunk->form_sizes, chunk->size_at},
	    [SONDE_HEAP_COLUMN_THREAD] = {chunk->threads, chunk->thread_at},
	    [SONDE_HEAP_COLUMN_TIME] = {chunk->times, chunk->time_at},
	};
	uint32_t sizes[SONDE_HEAP_COLUMNS];
	uint8_t *to = chunk->block_at;
	for (uint32_t i = 0; i < SONDE_HEAP_COLUMNS; i++) {
		sizes[i] = (uint32_t)(columns[i].end - columns[i].from);
		if (i)
			memcpy(to, columns[i].from, sizes[i]);
		to += i ? sizes[i] : 0;
	}
	memcpy(chunk->blocks, sizes, sizeof(sizes));
	return (uint32_t)(to - chunk->blocks);
}

void sonde_pool_chunk_end(struct sonde_pool_chunk *chunk, struct sonde_file *file)
{
	end_run(chunk);
	struct sonde_file_chunk out = {
	    .type = SONDE_CHUNK_HEAP,
	    .count = chunk->count,
	    .time_min_ns = chunk->min_ns,
	    .time_max_ns = chunk->max_ns,
	    .summary = chunk->bytes,
	    .summary_b = (uint32_t)(sonde_heap_put_summary(chunk->bytes, &chunk->summary, chunk->stats) - chunk->bytes),
	    .body = chunk->blocks,
	    .body_b = body_join(chunk),
	};
	if (chunk->count || chunk->summary.unknown)
		sonde_file_chunk(file, &out);
	for (uint32_t i = 0; i < chunk->forms; i++)
		chunk->seen[chunk->seen_at[i]].row = 0;
	for (uint32_t i = 0; i < chunk->summary.sites; i++)
		chunk->sites[i]->row = 0;
	chunk->count = chunk->forms = chunk->summary.sites = 0;
	chunk->summary.unknown = 0;
}
