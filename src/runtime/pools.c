/* pools.c: sorts the events of the process's own pools and tracks their live blocks (pools.h).
 *
 * A drain round delivers the threads' events one thread after another, so they wait until the round is over and are
 * then sorted by pool and time: each pool's chunk is filled in one go, in a single shared buffer. Live blocks of all
 * pools are in one hash table, which grows by doubling. Nothing is allocated: memory beyond the caller's is mapped.
 */
#include "runtime/pools.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "format/heap.h"
#include "format/ring.h"
#include "runtime/pool_chunk.h"

#define HEAPS_MAX 4096u
#define SITES_SEEN (1u << 17) /* a power of two; at most half of it is used */
#define WAITING_FIRST 4096u
#define WAITING_MAX (1u << 21)  /* a power of two: the most that a round of 64 MB of rings can deliver */
#define WAITING_KEPT (1u << 16) /* capacity whose memory is kept between rounds */
#define BLOCKS_FIRST 4096u
#define SNAPSHOTS_MAX 64u

struct waiting {
	uint64_t time_ns, address, size_b;
	uint32_t heap, thread; /* heap: index + 1 */
	uint32_t ends;
	uint32_t unused;
};

struct block {
	uint64_t address; /* 0 = free */
	uint64_t born_ns, size_b;
	uint32_t heap, site; /* index + 1; index */
};

struct heap {
	char name[SONDE_HEAP_NAME_MAX_B + 1];
	uint32_t id; /* id in the file; 0 = not written yet */
	uint32_t unused;
	uint64_t last_ns;
	uint64_t last_begun; /* address of the newest allocation; 0 once it is freed */
	struct sonde_link_blocks sums;
};

struct sonde_pools {
	struct sonde_file *file;
	uint64_t lost[SONDE_POOLS_LOST_COUNT];
	uint64_t latest_ns;
	uint32_t heap_count, ids, site_count;
	uint16_t heap_of[SONDE_RING_MAX_SITES]; /* index + 1 by the process's site id */
	uint64_t snapshots_ns[SNAPSHOTS_MAX];
	uint32_t snapshot_count;
	struct waiting *waiting; /* waiting_cap entries, and as many again for sorting */
	uint32_t waiting_count, waiting_cap;
	struct block *blocks; /* hash table with linear probing, at most half full */
	uint64_t block_count, block_cap;
	struct heap heaps[HEAPS_MAX];
	struct sonde_pool_site sites[SITES_SEEN]; /* by heap and thread, linear probing */
	struct sonde_pool_chunk chunk;
};

size_t sonde_pools_b(void)
{
	return (sizeof(struct sonde_pools) + 4095) & ~(size_t)4095;
}

struct sonde_pools *sonde_pools_init(void *memory, struct sonde_file *file)
{
	struct sonde_pools *pools = memory;
	pools->file = file;
	return pools;
}

static void *map(uint64_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

uint64_t sonde_pools_latest_ns(const struct sonde_pools *pools)
{
	return pools->latest_ns;
}

uint64_t sonde_pools_lost(struct sonde_pools *pools, enum sonde_pools_lost reason)
{
	uint64_t count = pools->lost[reason];
	pools->lost[reason] = 0;
	return count;
}

/* --- pools and sites ----------------------------------------------------------------------------------------------*/

static const struct heap *heap_find(const struct sonde_pools *pools, const char *name)
{
	for (uint32_t i = 0; i < pools->heap_count; i++)
		if (!strcmp(pools->heaps[i].name, name))
			return &pools->heaps[i];
	return NULL;
}

void sonde_pools_name(struct sonde_pools *pools, uint32_t site, const char *name)
{
	char text[SONDE_HEAP_NAME_MAX_B + 1] = "";
	memcpy(text, name, strnlen(name, sizeof(text) - 1));
	const struct heap *heap = heap_find(pools, text);
	if (!heap && pools->heap_count < HEAPS_MAX) {
		struct heap *made = &pools->heaps[pools->heap_count++];
		memcpy(made->name, text, sizeof(text));
		heap = made;
	}
	if (heap && site < SONDE_RING_MAX_SITES)
		pools->heap_of[site] = (uint16_t)(heap - pools->heaps + 1);
}

static uint32_t heap_id(struct sonde_pools *pools, struct heap *heap)
{
	if (heap->id)
		return heap->id;
	struct sonde_meta_heap record = {.head.type = SONDE_META_HEAP, .process = 1, .kind = SONDE_HEAP_POOL};
	heap->id = record.id = ++pools->ids;
	record.name = sonde_file_string(pools->file, heap->name, strlen(heap->name));
	sonde_file_meta(pools->file, &record, sizeof(record), NULL, 0);
	return heap->id;
}

/* A thread's allocation site in a pool; NULL if there are too many. */
static struct sonde_pool_site *site_of(struct sonde_pools *pools, struct heap *heap, uint32_t thread)
{
	uint32_t id = heap_id(pools, heap), at = (uint32_t)sonde_hash_pair(id, thread) % SITES_SEEN;
	for (; pools->sites[at].id; at = (at + 1) % SITES_SEEN)
		if (pools->sites[at].heap == id && pools->sites[at].thread == thread)
			return &pools->sites[at];
	if (pools->site_count >= SITES_SEEN / 2)
		return NULL;
	struct sonde_meta_heap_site record = {.head.type = SONDE_META_HEAP_SITE, .id = ++pools->site_count};
	record.heap = id;
	record.thread = thread;
	record.status = SONDE_STACK_NOT_SAMPLED;
	sonde_file_meta(pools->file, &record, sizeof(record), NULL, 0);
	pools->sites[at] = (struct sonde_pool_site){.id = record.id, .heap = id, .thread = thread};
	return &pools->sites[at];
}

/* --- pending events ----------------------------------------------------------------------------------------------- */

static int waiting_grow(struct sonde_pools *pools)
{
	uint32_t cap = pools->waiting_cap ? 2 * pools->waiting_cap : WAITING_FIRST;
	struct waiting *more = cap <= WAITING_MAX ? map((uint64_t)2 * cap * sizeof(*more)) : NULL;
	if (!more)
		return -1;
	if (pools->waiting_cap) {
		memcpy(more, pools->waiting, pools->waiting_count * sizeof(*more));
		munmap(pools->waiting, (size_t)2 * pools->waiting_cap * sizeof(*more));
	}
	pools->waiting = more;
	pools->waiting_cap = cap;
	return 0;
}

void sonde_pools_add(struct sonde_pools *pools, uint32_t thread, const struct sonde_event_block *event)
{
	uint32_t site = event->head.site;
	if (site == SONDE_RING_SITE_OTHER && !pools->heap_of[site])
		sonde_pools_name(pools, site, "(other)");
	uint32_t heap = site < SONDE_RING_MAX_SITES ? pools->heap_of[site] : 0;
	if (!heap || !event->address) {
		pools->lost[SONDE_POOLS_LOST_NAMES] += !heap;
		return;
	}
	if (pools->waiting_count == pools->waiting_cap && waiting_grow(pools)) {
		pools->lost[SONDE_POOLS_LOST_MEMORY]++;
		return;
	}
	uint32_t ends = event->head.type == SONDE_EVENT_POOL_GIVE;
	pools->waiting[pools->waiting_count++] =
	    (struct waiting){event->head.time, event->address, event->size_b, heap, thread, ends, 0};
	if (event->head.time > pools->latest_ns)
		pools->latest_ns = event->head.time;
}

void sonde_pools_snapshot(struct sonde_pools *pools, uint64_t time_ns)
{
	if (pools->snapshot_count < SNAPSHOTS_MAX)
		pools->snapshots_ns[pools->snapshot_count++] = time_ns;
}

static int comes_after(const struct waiting *a, const struct waiting *b)
{
	return a->heap != b->heap ? a->heap > b->heap : a->time_ns > b->time_ns;
}

/* Stable merge sort by pool and time: a thread's events with equal times keep their order. Merges into the other half
 * of the memory and back; returns the half with the result. */
static struct waiting *waiting_sort(struct sonde_pools *pools, uint32_t count)
{
	struct waiting *from = pools->waiting, *to = pools->waiting + pools->waiting_cap;
	for (uint32_t run = 1; run < count; run *= 2) {
		for (uint32_t first = 0; first < count; first += 2 * run) {
			uint32_t a = first, a_end = count - first < run ? count : first + run;
			uint32_t b = a_end, b_end = count - a_end < run ? count : a_end + run;
			for (uint32_t i = first; i < b_end; i++)
				to[i] = a == a_end || (b < b_end && comes_after(&from[a], &from[b])) ? from[b++]
												     : from[a++];
		}
		struct waiting *other = from;
		from = to;
		to = other;
	}
	return from;
}

/* Moves events up to `until_ns` to the front; returns how many there are. */
static uint32_t waiting_split(struct sonde_pools *pools, uint64_t until_ns)
{
	struct waiting *later = pools->waiting + pools->waiting_cap;
	uint32_t due = 0, kept = 0;
	for (uint32_t i = 0; i < pools->waiting_count; i++)
		if (pools->waiting[i].time_ns <= until_ns)
			pools->waiting[due++] = pools->waiting[i];
		else
			later[kept++] = pools->waiting[i];
	memcpy(pools->waiting + due, later, kept * sizeof(*later));
	return due;
}

/* --- live blocks --------------------------------------------------------------------------------------------------*/

static uint64_t block_home(const struct sonde_pools *pools, uint32_t heap, uint64_t address)
{
	return sonde_hash_pair(heap, address) & (pools->block_cap - 1);
}

/* The slot of a block, or where it would be inserted. */
static struct block *block_seek(const struct sonde_pools *pools, uint32_t heap, uint64_t address)
{
	uint64_t at = block_home(pools, heap, address);
	while (pools->blocks[at].address && (pools->blocks[at].address != address || pools->blocks[at].heap != heap))
		at = (at + 1) & (pools->block_cap - 1);
	return &pools->blocks[at];
}

/* Ensures capacity for one more block. */
static int blocks_reserve(struct sonde_pools *pools)
{
	if (2 * (pools->block_count + 1) <= pools->block_cap)
		return 0;
	struct block *before = pools->blocks;
	uint64_t before_cap = pools->block_cap, cap = before_cap ? 2 * before_cap : BLOCKS_FIRST;
	struct block *made = map(cap * sizeof(*made));
	if (!made)
		return -1;
	pools->blocks = made;
	pools->block_cap = cap;
	for (uint64_t i = 0; i < before_cap; i++)
		if (before[i].address)
			*block_seek(pools, before[i].heap, before[i].address) = before[i];
	if (before)
		munmap(before, before_cap * sizeof(*before));
	return 0;
}

static void block_take_out(struct sonde_pools *pools, struct block *block)
{
	uint64_t last = pools->block_cap - 1, hole = (uint64_t)(block - pools->blocks);
	for (uint64_t at = (hole + 1) & last; pools->blocks[at].address; at = (at + 1) & last) {
		uint64_t home = block_home(pools, pools->blocks[at].heap, pools->blocks[at].address);
		/* it may move into the hole unless its home slot lies cyclically between the hole and itself */
		if (((at - home) & last) < ((at - hole) & last))
			continue;
		pools->blocks[hole] = pools->blocks[at];
		hole = at;
	}
	pools->blocks[hole].address = 0;
	pools->block_count--;
}

/* --- a pool's events ----------------------------------------------------------------------------------------------*/

static void ends(struct sonde_pools *pools, struct heap *heap, const struct waiting *event, struct block *block)
{
	struct sonde_pool_site *site = &pools->sites[block->site];
	struct sonde_pool_event out = {
	    .time_ns = event->time_ns,
	    .thread = event->thread,
	    .ends = 1,
	    .site = site,
	    .size_b = block->size_b,
	    .life_ns = event->time_ns > block->born_ns ? event->time_ns - block->born_ns : 0,
	    .temporary = heap->last_begun == block->address,
	};
	heap->sums.live_b -= block->size_b;
	heap->sums.live_blocks--;
	site->live_b -= block->size_b;
	site->live_blocks--;
	if (out.temporary)
		heap->last_begun = 0;
	block_take_out(pools, block);
	sonde_pool_chunk_put(&pools->chunk, &out, heap->sums.live_b, heap->sums.live_blocks);
}

static void begins(struct sonde_pools *pools, struct heap *heap, const struct waiting *event)
{
	struct sonde_pool_site *site = site_of(pools, heap, event->thread);
	if (!site || blocks_reserve(pools)) {
		pools->lost[site ? SONDE_POOLS_LOST_MEMORY : SONDE_POOLS_LOST_SITES]++;
		return;
	}
	struct sonde_link_blocks *sums = &heap->sums;
	*block_seek(pools, event->heap, event->address) =
	    (struct block){event->address, event->time_ns, event->size_b, event->heap, (uint32_t)(site - pools->sites)};
	pools->block_count++;
	sums->live_b += event->size_b;
	sums->live_blocks++;
	sums->begun_b += event->size_b;
	sums->begun_blocks++;
	site->live_b += event->size_b;
	site->live_blocks++;
	if (sums->live_b > sums->peak_b) {
		sums->peak_b = sums->live_b;
		sums->peak_blocks = sums->live_blocks;
	}
	heap->last_begun = event->address;
	struct sonde_pool_event out = {
	    .time_ns = event->time_ns, .thread = event->thread, .site = site, .size_b = event->size_b};
	sonde_pool_chunk_put(&pools->chunk, &out, sums->live_b, sums->live_blocks);
}

static void chunk_end(struct sonde_pools *pools, const struct heap *heap)
{
	sonde_pool_chunk_end(&pools->chunk, pools->file);
	sonde_pool_chunk_begin(&pools->chunk, heap->id, heap->sums.live_b, heap->sums.live_blocks);
}

/* Called before each event: ends the heap's chunk if it is full, or if a snapshot lies between it and the event. */
static void chunk_make_space(struct sonde_pools *pools, const struct heap *heap, uint64_t time_ns)
{
	int is_over = sonde_pool_chunk_is_full(&pools->chunk);
	for (uint32_t i = 0; i < pools->snapshot_count; i++)
		is_over |= heap->last_ns <= pools->snapshots_ns[i] && time_ns > pools->snapshots_ns[i];
	if (is_over)
		chunk_end(pools, heap);
}

static void take(struct sonde_pools *pools, struct heap *heap, struct waiting *event)
{
	if (event->time_ns < heap->last_ns)
		event->time_ns = heap->last_ns;
	chunk_make_space(pools, heap, event->time_ns);
	heap->last_ns = event->time_ns;
	struct block *there = pools->block_cap ? block_seek(pools, event->heap, event->address) : NULL;
	int is_alive = there && there->address;
	if (is_alive)
		ends(pools, heap, event, there);
	else if (event->ends)
		sonde_pool_chunk_unknown(&pools->chunk, event->time_ns);
	if (event->ends)
		return;
	if (is_alive)
		chunk_make_space(pools, heap, event->time_ns);
	begins(pools, heap, event);
}

static void forget_snapshots(struct sonde_pools *pools, uint64_t until_ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < pools->snapshot_count; i++)
		if (pools->snapshots_ns[i] > until_ns)
			pools->snapshots_ns[kept++] = pools->snapshots_ns[i];
	pools->snapshot_count = kept;
}

static void waiting_forget(struct sonde_pools *pools, uint32_t due)
{
	pools->waiting_count -= due;
	memmove(pools->waiting, pools->waiting + due, pools->waiting_count * sizeof(*pools->waiting));
	if (due > WAITING_KEPT && !pools->waiting_count)
		(void)madvise(pools->waiting, (size_t)2 * pools->waiting_cap * sizeof(*pools->waiting), MADV_DONTNEED);
}

void sonde_pools_run(struct sonde_pools *pools, uint64_t until_ns)
{
	uint32_t due = pools->waiting_count ? waiting_split(pools, until_ns) : 0;
	struct waiting *sorted = due ? waiting_sort(pools, due) : NULL;
	for (uint32_t i = 0; i < due; i++) {
		struct heap *heap = &pools->heaps[sorted[i].heap - 1];
		if (!i || sorted[i].heap != sorted[i - 1].heap)
			sonde_pool_chunk_begin(&pools->chunk, heap_id(pools, heap), heap->sums.live_b,
					       heap->sums.live_blocks);
		take(pools, heap, &sorted[i]);
		if (i + 1 == due || sorted[i].heap != sorted[i + 1].heap)
			sonde_pool_chunk_end(&pools->chunk, pools->file);
	}
	forget_snapshots(pools, until_ns);
	if (due)
		waiting_forget(pools, due);
}

void sonde_pools_answer(const struct sonde_pools *pools, const char *name, struct sonde_link_blocks *out)
{
	const struct heap *heap = *name ? heap_find(pools, name) : NULL;
	*out = heap ? heap->sums : (struct sonde_link_blocks){0};
	out->head = (struct sonde_link_head){SONDE_LINK_BLOCKS, SONDE_LINK_VERSION};
	out->status = heap && heap->id ? 0 : -ENOENT;
}

void sonde_pools_close(struct sonde_pools *pools)
{
	static const char why[] = "the program's own pool: not scanned for pointers";
	sonde_pools_run(pools, UINT64_MAX);
	for (uint32_t i = 0; i < SITES_SEEN && pools->site_count; i++) {
		const struct sonde_pool_site *site = &pools->sites[i];
		struct sonde_meta_heap_leak record = {.head.type = SONDE_META_HEAP_LEAK, .site = site->id};
		if (!site->live_blocks)
			continue;
		record.kind = SONDE_HEAP_NOT_KNOWN;
		record.blocks = site->live_blocks;
		record.size_b = site->live_b;
		record.detail = sonde_file_string(pools->file, why, sizeof(why) - 1);
		sonde_file_meta(pools->file, &record, sizeof(record), NULL, 0);
	}
	if (pools->waiting_cap)
		munmap(pools->waiting, (size_t)2 * pools->waiting_cap * sizeof(*pools->waiting));
	if (pools->block_cap)
		munmap(pools->blocks, pools->block_cap * sizeof(*pools->blocks));
	pools->waiting_cap = pools->waiting_count = 0;
	pools->block_cap = pools->block_count = 0;
	pools->waiting = NULL;
	pools->blocks = NULL;
}
