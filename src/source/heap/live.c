/* live.c: linear probing; a removed entry is filled from the following ones, so there are no tombstones. */
#include "source/heap/live.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/error.h"

#define BITS_FIRST 10u
#define BITS_MAX 31u /* slots of 32 GB in all, for 1.3 billion blocks */
#define HUGE_PAGE_B ((uintptr_t)2 << 20)

static size_t size_of(unsigned bits)
{
	return sizeof(struct sonde_heap_slot) << bits;
}

static struct sonde_heap_block unpack(const struct sonde_heap_live *live, const struct sonde_heap_slot *slot)
{
	uint32_t id = sonde_heap_slot_form(slot);
	const struct sonde_heap_form *form = &live->forms.row[id];
	return (struct sonde_heap_block){.address = sonde_heap_slot_address(slot),
					 .born = sonde_heap_slot_born(slot),
					 .size_b = form->size_b,
					 .site = form->site,
					 .form = id};
}

void sonde_heap_live_fini(struct sonde_heap_live *live)
{
	if (live->slots)
		munmap(live->slots, size_of(live->bits));
	sonde_heap_forms_fini(&live->forms);
	*live = (struct sonde_heap_live){0};
}

int sonde_heap_live_find(const struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out)
{
	if (!live->slots)
		return 0;
	const struct sonde_heap_slot *slot = &live->slots[sonde_heap_live_seek(live, sonde_heap_live_address(address))];
	if (!slot->words[0])
		return 0;
	*out = unpack(live, slot);
	return 1;
}

/* Large tables are accessed at random: use 2 MB pages if the kernel provides them. */
static void *map_slots(size_t size_b)
{
	int is_large = size_b >= 2 * HUGE_PAGE_B;
	size_t more_b = is_large ? HUGE_PAGE_B : 0;
	uint8_t *all = mmap(NULL, size_b + more_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return NULL;
	size_t before_b = -(uintptr_t)all & (more_b - !!more_b);
	if (before_b)
		munmap(all, before_b);
	if (more_b > before_b)
		munmap(all + before_b + size_b, more_b - before_b);
	return all + before_b;
}

/* Doubles a table's memory without copying it: the entries keep their positions. */
static struct sonde_heap_slot *extend(const struct sonde_heap_live *live)
{
	size_t old_b = size_of(live->bits), size_b = 2 * old_b;
	void *slots = map_slots(size_b);
	if (!slots)
		return NULL;
	if (mremap(live->slots, old_b, size_b, MREMAP_MAYMOVE | MREMAP_FIXED, slots) == MAP_FAILED) {
		munmap(slots, size_b);
		return NULL;
	}
	if (size_b >= 2 * HUGE_PAGE_B)
		(void)madvise(slots, size_b, MADV_HUGEPAGE); /* small pages work as well */
	return slots;
}

static void put(struct sonde_heap_live *live, const struct sonde_heap_slot *slot)
{
	live->slots[sonde_heap_live_seek(live, sonde_heap_slot_address(slot))] = *slot;
}

/* Distributes the entries of the first half over both halves. Twice as many slots use one more bit of the hash. If the
 * entries of a run are taken in order, no entry moves to a later position within its half than it had before. Entries
 * that had wrapped around the end come last. */
static void spread(struct sonde_heap_live *live, struct sonde_heap_slot *round, size_t round_count)
{
	size_t half = (size_t)1 << (live->bits - 1);
	for (size_t i = 0; i < round_count; i++) {
		round[i] = live->slots[i];
		live->slots[i].words[0] = 0;
	}
	for (size_t i = round_count; i < half; i++) {
		struct sonde_heap_slot slot = live->slots[i];
		if (!slot.words[0])
			continue;
		live->slots[i].words[0] = 0;
		put(live, &slot);
	}
	for (size_t i = 0; i < round_count; i++)
		put(live, &round[i]);
}

int sonde_heap_live_grow(struct sonde_heap_live *live)
{
	size_t round_count = 0;
	if (!live->slots) {
		live->slots = map_slots(size_of(BITS_FIRST));
		live->bits = BITS_FIRST;
		return live->slots ? 0 : sonde_error(ENOMEM, "no memory for the live blocks of a heap");
	}
	while (live->slots[round_count].words[0])
		round_count++;
	struct sonde_heap_slot *round = malloc((round_count + 1) * sizeof *round);
	struct sonde_heap_slot *slots = round && live->bits < BITS_MAX ? extend(live) : NULL;
	if (!slots) {
		free(round);
		return sonde_error(ENOMEM, "no memory for %zu live blocks", live->count);
	}
	live->slots = slots;
	live->bits++;
	spread(live, round, round_count);
	free(round);
	return 0;
}

int sonde_heap_live_add(struct sonde_heap_live *live, struct sonde_heap_block *block, struct sonde_heap_block *before)
{
	struct sonde_heap_slot slot = {0};
	block->form = sonde_heap_forms_id(&live->forms, block->site, block->size_b);
	if (!block->form)
		return sonde_error(ENOMEM, "no memory for %zu live blocks", live->count);
	int was = sonde_heap_live_push(live, sonde_heap_live_address(block->address), block->born, block->form, &slot);
	if (was > 0)
		*before = unpack(live, &slot);
	return was;
}

int sonde_heap_live_take(struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out)
{
	struct sonde_heap_slot slot = {0};
	if (!sonde_heap_live_pull(live, sonde_heap_live_address(address), &slot))
		return 0;
	*out = unpack(live, &slot);
	return 1;
}

int sonde_heap_live_next(const struct sonde_heap_live *live, size_t *at, struct sonde_heap_block *out)
{
	for (; live->slots && *at < (size_t)1 << live->bits; ++*at)
		if (live->slots[*at].words[0]) {
			*out = unpack(live, &live->slots[(*at)++]);
			return 1;
		}
	return 0;
}
