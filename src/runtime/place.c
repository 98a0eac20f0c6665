/* place.c: assigns ids to sites in the pool's site heap.
 *
 * Strings are copied, because the library that holds them may be unloaded before anyone reads them. A site registered
 * again with the same contents gets the same id: a plugin that is loaded a thousand times does not fill the table, and
 * threads that reach a site at the same moment use one id. Sites are found through hash indexes of heap offsets; sites
 * without file and function (created by name at run time) have a separate, faster index.
 */
#include <string.h>

#include "base/hash.h"
#include "runtime/runtime.h"

#define INDEX_SIZE 16384u
#define TEXT_MAX_B 255u

_Static_assert(SONDE_KIND_ZONE == SONDE_SITE_ZONE && SONDE_KIND_COUNTER == SONDE_SITE_COUNTER &&
		   SONDE_KIND_GAUGE == SONDE_SITE_GAUGE && SONDE_KIND_HISTOGRAM == SONDE_SITE_HISTOGRAM &&
		   SONDE_KIND_SPAN == SONDE_SITE_SPAN && SONDE_KIND_INSTANT == SONDE_SITE_INSTANT &&
		   SONDE_KIND_ITERATION == SONDE_SITE_ITERATION && SONDE_KIND_COUNT == SONDE_SITE_COUNT,
	       "the public header and the format agree");
_Static_assert(SONDE_PLACE_NEW == ~UINT64_C(0) << SONDE_RING_SITE_BITS, "a new place overflows any time");

struct text {
	const char *at;
	uint16_t size_b;
};

/* Heap offset + 1, for sites created by name and for all others; offsets stay valid across pools. */
static _Atomic uint32_t named[INDEX_SIZE], placed[INDEX_SIZE];

static struct text text_of(const char *text)
{
	return (struct text){text ? text : "", (uint16_t)(text ? strnlen(text, TEXT_MAX_B) : 0)};
}

static struct sonde_ring_site *entry_at(const struct sonde_ring_pool *pool, uint32_t offset)
{
	return (struct sonde_ring_site *)(void *)((char *)(uintptr_t)pool + SONDE_RING_SITES_OFFSET + offset);
}

static uint64_t place_hash(const struct sonde_place *place, const struct text texts[4])
{
	uint64_t hash = sonde_hash_pair(place->kind, (uint64_t)place->line << 32 | place->color);
	for (int i = 0; i < 4; i++)
		hash = sonde_hash_pair(hash, sonde_hash_bytes(texts[i].at, texts[i].size_b));
	return hash;
}

static uint32_t heap_used(const struct sonde_ring_pool *pool)
{
	uint32_t used = atomic_load_explicit(&pool->sites_b, memory_order_acquire);
	return used < SONDE_RING_SITES_B ? used : SONDE_RING_SITES_B;
}

/* The entry with these contents, the same for all threads: if there is none yet, inserts `own` (offset + 1; 0: only
 * searches, and returns NULL). An entry must have its id before it is inserted. */
static struct sonde_ring_site *placed_find(const struct sonde_ring_pool *pool, uint64_t hash, uint32_t own)
{
	uint32_t at = (uint32_t)sonde_hash_mix(hash) % INDEX_SIZE;
	for (uint32_t probe = 0; probe < INDEX_SIZE; probe++, at = (at + 1) % INDEX_SIZE) {
		uint32_t offset = atomic_load_explicit(&placed[at], memory_order_acquire);
		if (!offset && (!own || atomic_compare_exchange_strong(&placed[at], &offset, own)))
			return own ? entry_at(pool, own - 1) : NULL;
		struct sonde_ring_site *entry = entry_at(pool, offset - 1);
		if (entry->hash == hash)
			return entry;
	}
	return own ? entry_at(pool, own - 1) : NULL;
}

/* Reserves space in the heap; NULL if it does not fit, which blocks only larger entries. */
static struct sonde_ring_site *heap_reserve(struct sonde_ring_pool *pool, uint32_t size_b)
{
	uint32_t at = atomic_load_explicit(&pool->sites_b, memory_order_relaxed);
	do {
		if (at + size_b > SONDE_RING_SITES_B)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool->sites_b, &at, at + size_b));
	struct sonde_ring_site *entry = entry_at(pool, at);
	entry->size_b = size_b;
	return entry;
}

static void entry_fill(struct sonde_ring_site *entry, const struct sonde_place *place, const struct text texts[4])
{
	entry->kind = place->kind;
	entry->line = place->line;
	entry->color = place->color;
	entry->name_b = texts[0].size_b;
	entry->function_b = texts[1].size_b;
	entry->file_b = texts[2].size_b;
	entry->unit_b = texts[3].size_b;
	char *to = (char *)(entry + 1);
	for (int i = 0; i < 4; i++) {
		memcpy(to, texts[i].at, texts[i].size_b);
		to[texts[i].size_b] = 0;
		to += texts[i].size_b + 1;
	}
}

/* The entry of a site, created if new; NULL if the heap is full. */
static struct sonde_ring_site *place_register(struct sonde_ring_pool *pool, const struct sonde_place *place)
{
	struct text texts[4] = {text_of(place->name), text_of(place->function), text_of(place->file),
				text_of(place->unit)};
	uint64_t hash = place_hash(place, texts);
	struct sonde_ring_site *entry = placed_find(pool, hash, 0);
	if (entry)
		return entry;
	size_t texts_b = 4;
	for (int i = 0; i < 4; i++)
		texts_b += texts[i].size_b;
	uint32_t size_b = (uint32_t)((sizeof(*entry) + texts_b + 7) & ~(size_t)7);
	if (atomic_load(&pool->sites) + 1 >= SONDE_RING_MAX_SITES - 1)
		return NULL;
	entry = heap_reserve(pool, size_b);
	if (!entry)
		return NULL;
	entry->hash = hash;
	entry_fill(entry, place, texts);
	/* Threads that pass the check concurrently may exceed the maximum by a few: those share '(other)'. */
	uint32_t id = atomic_fetch_add(&pool->sites, 1) + 1 + SONDE_RING_SITE_OTHER;
	entry->id = id < SONDE_RING_MAX_SITES ? id : SONDE_RING_SITE_OTHER;
	uint32_t offset = (uint32_t)((char *)entry - (char *)pool) - SONDE_RING_SITES_OFFSET + 1;
	if (entry->id != SONDE_RING_SITE_OTHER)
		atomic_store_explicit(&sonde_ring_site_index(pool)[id], offset, memory_order_release);
	return placed_find(pool, hash, offset);
}

uint32_t sonde_place_id(struct sonde_ring_pool *pool, struct sonde_place *place)
{
	uint64_t known = __atomic_load_n(&place->id, __ATOMIC_RELAXED);
	if (known < SONDE_PLACE_NEW)
		return (uint32_t)known;
	struct sonde_ring_site *entry = place_register(pool, place);
	if (!entry)
		sonde_process_lost(pool, SONDE_RING_LOST_SITES, 1);
	uint32_t id = entry ? entry->id : SONDE_RING_SITE_OTHER;
	__atomic_store_n(&place->id, id, __ATOMIC_RELEASE);
	return id;
}

uint32_t sonde_place_named(struct sonde_ring_pool *pool, uint32_t kind, const char *name)
{
	size_t name_b = strnlen(name, TEXT_MAX_B);
	uint32_t at = (uint32_t)sonde_hash_pair(kind, sonde_hash_bytes(name, name_b)) % INDEX_SIZE;
	for (uint32_t probe = 0; probe < INDEX_SIZE; probe++, at = (at + 1) % INDEX_SIZE) {
		uint32_t offset = atomic_load_explicit(&named[at], memory_order_acquire);
		if (!offset) {
			struct sonde_place place = {.kind = kind, .name = name};
			struct sonde_ring_site *entry = place_register(pool, &place);
			if (!entry) {
				sonde_process_lost(pool, SONDE_RING_LOST_SITES, 1);
				return SONDE_RING_SITE_OTHER;
			}
			uint32_t made = (uint32_t)((char *)entry - (char *)pool) - SONDE_RING_SITES_OFFSET + 1;
			atomic_compare_exchange_strong(&named[at], &offset, made);
			return entry->id;
		}
		const struct sonde_ring_site *entry = entry_at(pool, offset - 1);
		if (entry->kind == kind && entry->name_b == name_b && !memcmp(entry + 1, name, name_b))
			return entry->id;
	}
	return SONDE_RING_SITE_OTHER;
}

#define HIDDEN UINT32_C(0x80000000) /* larger than any entry: the drainer skips it */
_Static_assert(SONDE_RING_SITES_B < HIDDEN, "no offset of an entry has that bit");

/* The parent's threads keep adding sites to its pool: sites added after its index was read are not copied, and no event
 * of ours refers to them. Our pool may already be drained, so entries are hidden until they are complete. */
void sonde_place_inherit(struct sonde_ring_pool *into, const struct sonde_ring_pool *from)
{
	_Atomic uint32_t *to_index = sonde_ring_site_index(into), *from_index = sonde_ring_site_index(from);
	uint32_t sites = atomic_load(&from->sites), end = SONDE_RING_MAX_SITES;
	end = sites < end - 1 - SONDE_RING_SITE_OTHER ? sites + 1 + SONDE_RING_SITE_OTHER : end;
	atomic_store(&into->sites, sites);
	for (uint32_t id = 0; id < end; id++) {
		uint32_t offset = atomic_load_explicit(&from_index[id], memory_order_acquire);
		if (offset)
			atomic_store_explicit(&to_index[id], offset | HIDDEN, memory_order_relaxed);
	}
	uint32_t used = heap_used(from);
	memcpy(entry_at(into, 0), entry_at(from, 0), used);
	atomic_store_explicit(&into->sites_b, used, memory_order_release);
	for (uint32_t id = 0; id < end; id++) {
		uint32_t offset = atomic_load_explicit(&to_index[id], memory_order_relaxed);
		if (offset & HIDDEN)
			atomic_store_explicit(&to_index[id], offset & ~HIDDEN, memory_order_release);
	}
}

size_t sonde_place_text(struct sonde_ring_pool *pool, uint32_t id, char *out, size_t out_b)
{
	uint32_t offset = atomic_load_explicit(&sonde_ring_site_index(pool)[id], memory_order_acquire);
	if (!offset)
		return 0;
	const struct sonde_ring_site *entry = entry_at(pool, offset - 1);
	size_t text_b = entry->name_b < out_b ? entry->name_b : out_b;
	memcpy(out, entry + 1, text_b);
	return text_b;
}
