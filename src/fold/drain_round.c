/* drain_round.c: reads a pool's sites and chunks, in the order of each thread's chain (drain.h).
 *
 * A round lists the chunks in use, sorts them by thread, kind and sequence number, and reads each up to its last
 * published word. Words are copied first, then claimed by advancing the chunk's mark, then decoded: if the thread
 * overwrites its own chunk in the meantime, the thread wins the mark and the copy is discarded. A chunk that is not
 * finished holds back its successors in the chain. Counter values are forwarded when they change.
 */
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/record.h"
#include "fold/drain_state.h"

#define ALIVE_EVERY 16u /* rounds between checks of threads that hold chunks */

void sonde_drain_commit(struct sonde_ring_pool *pool, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		atomic_fetch_or_explicit(&pool->free_map[i / 64], UINT64_C(1) << i % 64, memory_order_release);
	atomic_store_explicit(&pool->committed, to, memory_order_release);
	atomic_fetch_add(&pool->freed, 1);
	if (atomic_load(&pool->waiters))
		syscall(SYS_futex, &pool->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void sonde_drain_format(struct sonde_ring_pool *pool, uint32_t chunks, uint32_t committed, uint32_t clock,
			uint32_t on_full)
{
	pool->version = SONDE_RING_VERSION;
	pool->clock = clock;
	pool->on_full = on_full;
	pool->chunk_count = chunks;
	pool->reads_parts = 1;
	sonde_drain_commit(pool, 0, committed);
	pool->magic = SONDE_RING_MAGIC;
}

/* Announces all sites again in the next run, for a new sink. */
static void rewind_sites(struct sonde_drain *drain)
{
	memset(drain->known, 0, sizeof(drain->known));
	drain->known[0] = UINT64_C(1) | UINT64_C(1) << SONDE_RING_SITE_OTHER; /* 0: zone ends, and no site */
	drain->known_below = SONDE_RING_SITE_OTHER + 1;
}

struct sonde_drain *sonde_drain_init(void *memory, struct sonde_ring_pool *pool, uint32_t chunks, uint32_t clock)
{
	struct sonde_drain *drain = memory;
	drain->pool = pool;
	drain->chunk_count = chunks < SONDE_RING_MAX_CHUNKS ? chunks : SONDE_RING_MAX_CHUNKS;
	drain->clock = clock;
	rewind_sites(drain);
	return drain;
}

uint32_t sonde_drain_used(const struct sonde_drain *drain)
{
	return drain->used;
}

/* --- sites --------------------------------------------------------------------------------------------------------*/

static int site_known(const struct sonde_drain *drain, uint32_t id)
{
	return id < SONDE_RING_MAX_SITES && drain->known[id / 64] >> id % 64 & 1;
}

static void site_announce(const struct sonde_drain_round *round, uint32_t id, const struct sonde_ring_site *head,
			  const char *texts)
{
	struct sonde_drain *drain = round->drain;
	uint32_t lengths[4] = {head->name_b, head->function_b, head->file_b, head->unit_b};
	const char *parts[4];
	char *to = drain->texts;
	for (int i = 0; i < 4; i++) {
		parts[i] = to;
		memcpy(to, texts, lengths[i]);
		to[lengths[i]] = 0;
		to += lengths[i] + 1;
		texts += lengths[i] + 1;
	}
	struct sonde_drain_site site = {id,       head->kind, head->line, head->color & 0xffffff,
					parts[0], parts[1],   parts[2],   parts[3]};
	drain->known[id / 64] |= UINT64_C(1) << id % 64;
	while (site_known(drain, drain->known_below))
		drain->known_below++;
	if (id > drain->site_highest)
		drain->site_highest = id;
	round->sink->site(round->sink->context, &site);
}

/* Announces a site if it exists and is valid. */
static void site_read(const struct sonde_drain_round *round, uint32_t id)
{
	const struct sonde_ring_pool *pool = round->drain->pool;
	uint32_t at = atomic_load_explicit(&sonde_ring_site_index(pool)[id], memory_order_acquire) - 1;
	struct sonde_ring_site head;
	if (at > SONDE_RING_SITES_B - sizeof(head) || at % 8)
		return;
	const char *entry = (const char *)pool + SONDE_RING_SITES_OFFSET + at;
	memcpy(&head, entry, sizeof(head));
	size_t texts_b = (size_t)head.name_b + head.function_b + head.file_b + head.unit_b + 4;
	if (texts_b <= SONDE_RING_SITES_B - at - sizeof(head) && head.kind >= SONDE_SITE_ZONE &&
	    head.kind <= SONDE_SITE_POOL)
		site_announce(round, id, &head, entry + sizeof(head));
}

/* Announces new sites. */
static void sites_read(const struct sonde_drain_round *round)
{
	const struct sonde_drain *drain = round->drain;
	uint32_t last = atomic_load_explicit(&drain->pool->sites, memory_order_relaxed);
	last = last < SONDE_RING_MAX_SITES - 1 - SONDE_RING_SITE_OTHER ? last + SONDE_RING_SITE_OTHER
								       : SONDE_RING_MAX_SITES - 1;
	for (uint32_t id = drain->known_below; id <= last; id++)
		if (!site_known(drain, id))
			site_read(round, id);
}

uint32_t sonde_drain_site(const struct sonde_drain_round *round, uint32_t id)
{
	if (!site_known(round->drain, id) && id < SONDE_RING_MAX_SITES)
		site_read(round, id);
	return site_known(round->drain, id) ? id : SONDE_RING_SITE_OTHER;
}

/* --- threads ------------------------------------------------------------------------------------------------------*/

/* Makes the index of rows, with space for all existing rows plus one per chunk to be read. */
static void index_make(struct sonde_drain *drain, uint32_t more)
{
	drain->index_mask = 63;
	while (drain->index_mask + 1 < 2 * (drain->rows + more) && drain->index_mask + 1 < SONDE_DRAIN_INDEX)
		drain->index_mask = 2 * drain->index_mask + 1;
	memset(drain->index, 0, (drain->index_mask + 1) * sizeof(*drain->index));
	for (uint32_t row = 0; row < drain->rows; row++) {
		struct sonde_drain_thread *thread = &drain->threads[row];
		thread->chunks = 0;
		uint32_t at = (uint32_t)sonde_hash_mix(thread->serial) & drain->index_mask;
		while (thread->serial && drain->index[at])
			at = (at + 1) & drain->index_mask;
		if (thread->serial)
			drain->index[at] = row + 1;
	}
}

/* The row of the chunk's thread, created if new; NULL if there are too many threads. */
static struct sonde_drain_thread *thread_row(const struct sonde_drain_round *round,
					     const struct sonde_drain_entry *entry)
{
	struct sonde_drain *drain = round->drain;
	int is_heap = entry->kind == SONDE_RING_HEAP && round->sink->heap;
	uint32_t most = is_heap ? SONDE_DRAIN_THREADS : SONDE_DRAIN_ZONE_THREADS;
	uint32_t at = (uint32_t)sonde_hash_mix(entry->serial) & drain->index_mask;
	for (; drain->index[at]; at = (at + 1) & drain->index_mask)
		if (drain->threads[drain->index[at] - 1].serial == entry->serial)
			return drain->index[at] <= most ? &drain->threads[drain->index[at] - 1] : NULL;
	while (drain->free_row < drain->rows && drain->threads[drain->free_row].serial)
		drain->free_row++;
	uint32_t row = drain->free_row;
	if (row >= most)
		return NULL;
	if (row == drain->rows)
		drain->rows++;
	drain->index[at] = row + 1;
	drain->threads[row] = (struct sonde_drain_thread){
	    .serial = entry->serial, .tid = sonde_drain_chunk_of(drain, entry)->tid, .index = row};
	return &drain->threads[row];
}

/* Runs before chunks are listed, so that everything an exited thread published is complete by then. Threads that hold
 * chunks are checked every few rounds, those without in each round. */
static void threads_check(const struct sonde_drain_round *round)
{
	struct sonde_drain *drain = round->drain;
	for (uint32_t row = 0; row < drain->rows; row++) {
		struct sonde_drain_thread *thread = &drain->threads[row];
		int turn = !thread->chunks || (drain->rounds + row) % ALIVE_EVERY == 0;
		if (thread->serial && !thread->ended && turn)
			thread->ended = !round->sink->alive(round->sink->context, thread->tid);
	}
}

static void threads_finish(const struct sonde_drain_round *round)
{
	struct sonde_drain *drain = round->drain;
	for (uint32_t row = 0; row < drain->rows; row++) {
		struct sonde_drain_thread *thread = &drain->threads[row];
		if (!thread->serial || (!round->final && (thread->chunks || !thread->ended)))
			continue;
		round->sink->thread_end(round->sink->context, thread);
		memset(thread, 0, sizeof(*thread));
		drain->free_row = row < drain->free_row ? row : drain->free_row;
	}
	while (drain->rows && !drain->threads[drain->rows - 1].serial)
		drain->rows--;
}

static void give_chunk(struct sonde_drain *drain, uint32_t index)
{
	/* release: the next owner sees the chunk zeroed */
	atomic_fetch_or_explicit(&drain->pool->free_map[index / 64], UINT64_C(1) << index % 64, memory_order_release);
	drain->used -= drain->used > 0;
}

/* Returns a part. Once all parts of the chunk are free, it takes them all in one step, so that no thread can take one
 * of them meanwhile, and returns the whole chunk. */
static void give_part(struct sonde_drain *drain, const struct sonde_drain_entry *entry)
{
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, entry->chunk);
	_Atomic uint64_t *map = &drain->pool->split_map[entry->chunk / 64];
	uint64_t bit = UINT64_C(1) << entry->chunk % 64, all = SONDE_RING_PARTS_ALL;
	atomic_fetch_or(&chunk->free_parts, UINT64_C(1) << entry->part);
	if (!atomic_compare_exchange_strong(&chunk->free_parts, &all, 0)) {
		atomic_fetch_or(map, bit);
		return;
	}
	atomic_fetch_and(map, ~bit);
	memset((void *)chunk, 0, SONDE_RING_HEAD_B);
	give_chunk(drain, entry->chunk);
}

void sonde_drain_chunk_free(struct sonde_drain *drain, const struct sonde_drain_entry *entry, uint64_t mark)
{
	struct sonde_ring_chunk *chunk = sonde_drain_chunk_of(drain, entry);
	if (!sonde_drain_chunk_claim(chunk, mark, sonde_ring_mark(SONDE_RING_TAKEN_BACK, 0)))
		return;
	atomic_store_explicit(&chunk->kind, 0, memory_order_relaxed);
	memset((void *)chunk, 0, entry->part ? SONDE_RING_PART_B : SONDE_RING_CHUNK_B);
	if (entry->part)
		give_part(drain, entry);
	else
		give_chunk(drain, entry->chunk);
	drain->freed++;
}

/* --- a round ------------------------------------------------------------------------------------------------------*/

static int entry_after(const struct sonde_drain_entry *a, const struct sonde_drain_entry *b)
{
	if (a->serial != b->serial)
		return a->serial > b->serial;
	return a->kind != b->kind ? a->kind > b->kind : a->seq > b->seq;
}

/* Shell sort with Ciura's gaps, extended by the same factor: allocates nothing, and entries are nearly sorted. */
static void entries_sort(struct sonde_drain_entry *entries, uint32_t count)
{
	static const uint32_t gaps[] = {19903, 8859, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1};
	for (size_t g = 0; g < sizeof(gaps) / sizeof(*gaps); g++)
		for (uint32_t i = gaps[g]; i < count; i++) {
			struct sonde_drain_entry moving = entries[i];
			uint32_t at = i;
			for (; at >= gaps[g] && entry_after(&entries[at - gaps[g]], &moving); at -= gaps[g])
				entries[at] = entries[at - gaps[g]];
			entries[at] = moving;
		}
}

/* Adds a chunk or part that is in use, provided its thread has published its kind. */
static uint32_t entry_put(struct sonde_drain *drain, uint32_t count, uint32_t index, uint32_t part)
{
	struct sonde_ring_chunk *chunk = sonde_ring_part_at(sonde_ring_chunk_at(drain->pool, index), part);
	uint32_t kind = atomic_load_explicit(&chunk->kind, memory_order_acquire);
	uint32_t seq = (uint32_t)(atomic_load_explicit(&chunk->mark, memory_order_relaxed) >> 32);
	uint32_t lowest = part ? SONDE_RING_HEAP : SONDE_RING_ZONES;
	if (kind < lowest || kind > SONDE_RING_HEAP || !chunk->thread || seq == SONDE_RING_TAKEN_BACK)
		return count;
	drain->entries[count] =
	    (struct sonde_drain_entry){chunk->thread, seq, (uint8_t)kind, (uint8_t)part, (uint16_t)index};
	return count + 1;
}

static uint32_t parts_put(struct sonde_drain *drain, uint32_t count, uint32_t index)
{
	struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, index);
	uint64_t free_parts = atomic_load_explicit(&chunk->free_parts, memory_order_relaxed);
	for (uint32_t part = 1; part < SONDE_RING_PARTS; part++)
		if (!(free_parts >> part & 1))
			count = entry_put(drain, count, index, part);
	return count;
}

static uint32_t entries_list(struct sonde_drain *drain)
{
	uint32_t count = 0;
	uint32_t committed = atomic_load_explicit(&drain->pool->committed, memory_order_relaxed);
	if (committed > drain->chunk_count)
		committed = drain->chunk_count;
	drain->used = 0;
	for (uint32_t i = 0; i < committed; i++) {
		if (atomic_load_explicit(&drain->pool->free_map[i / 64], memory_order_relaxed) >> i % 64 & 1)
			continue;
		const struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(drain->pool, i);
		int is_split = atomic_load_explicit(&chunk->kind, memory_order_acquire) == SONDE_RING_SPLIT;
		drain->used++;
		count = is_split ? parts_put(drain, count, i) : entry_put(drain, count, i, 0);
	}
	entries_sort(drain->entries, count);
	return count;
}

static int entry_read(const struct sonde_drain_round *round, const struct sonde_drain_entry *entry,
		      struct sonde_drain_thread *thread)
{
	static int (*const readers[])(const struct sonde_drain_round *, struct sonde_drain_thread *,
				      const struct sonde_drain_entry *) = {
	    [SONDE_RING_ZONES] = sonde_drain_zones_read,         [SONDE_RING_EVENTS] = sonde_drain_events_read,
	    [SONDE_RING_HISTOGRAM] = sonde_drain_histogram_read, [SONDE_RING_COUNTERS] = sonde_drain_counters_read,
	    [SONDE_RING_HEAP] = sonde_drain_heap_read,
	};
	int done = readers[entry->kind](round, thread, entry);
	thread->chunks += (uint32_t)!done;
	int is_chain = entry->kind != SONDE_RING_HISTOGRAM && entry->kind != SONDE_RING_COUNTERS;
	return done || !is_chain; /* only a chain waits for its first chunk */
}

static void entries_read(const struct sonde_drain_round *round, uint32_t count)
{
	struct sonde_drain *drain = round->drain;
	const struct sonde_drain_entry *blocked = NULL;
	struct sonde_drain_thread *thread = NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_drain_entry *entry = &drain->entries[i];
		if (!thread || thread->serial != entry->serial)
			thread = thread_row(round, entry);
		if (!thread)
			continue;
		if (blocked && blocked->serial == entry->serial && blocked->kind == entry->kind) {
			thread->chunks++;
			continue;
		}
		if (!entry_read(round, entry, thread))
			blocked = entry;
	}
}

static void lost_read(const struct sonde_drain_round *round)
{
	struct sonde_drain *drain = round->drain;
	for (uint32_t cause = 0; cause < SONDE_RING_LOST_CAUSES; cause++) {
		uint64_t now = atomic_load_explicit(&drain->pool->lost[cause], memory_order_relaxed);
		if (now > drain->lost_seen[cause])
			round->sink->lost(round->sink->context, (enum sonde_ring_lost)cause,
					  now - drain->lost_seen[cause]);
		drain->lost_seen[cause] = now;
	}
	uint64_t pending = atomic_load_explicit(&drain->pool->pending, memory_order_relaxed);
	if (round->final && pending && pending < UINT64_MAX / 2)
		round->sink->lost(round->sink->context, SONDE_RING_LOST_FULL, pending);
}

void sonde_drain_run(struct sonde_drain *drain, const struct sonde_clockfit *fit, const struct sonde_drain_sink *sink,
		     int final)
{
	struct sonde_drain_round round = {drain, fit, sink, final};
	atomic_store(&drain->pool->doorbell, 0);
	drain->freed = 0;
	drain->rounds++;
	sites_read(&round);
	threads_check(&round);
	uint32_t count = entries_list(drain);
	index_make(drain, count);
	entries_read(&round, count);
	lost_read(&round);
	threads_finish(&round);
	if (!drain->freed)
		return;
	atomic_fetch_add(&drain->pool->freed, 1);
	if (atomic_load(&drain->pool->waiters))
		syscall(SYS_futex, &drain->pool->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
