/* heap_live.c: linear probing; what is taken out is filled from behind, so that no tombstones pile up. */
#include "source/heap_live.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/error.h"

#define BITS_FIRST 10u
#define BITS_MAX 31u /* 32 GB, of 1.3 thousand million blocks */
#define HUGE_PAGE_B ((uintptr_t)2 << 20)

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
	free(live->slots);
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

/* Large tables are looked at anywhere: pages of 2 MB where the kernel gives them. */
static struct sonde_heap_slot *make_slots(unsigned bits)
{
	size_t size_b = sizeof(struct sonde_heap_slot) << bits;
	struct sonde_heap_slot *slots = calloc((size_t)1 << bits, sizeof *slots);
	if (slots && size_b >= 2 * HUGE_PAGE_B) {
		uintptr_t from = ((uintptr_t)slots + HUGE_PAGE_B - 1) & ~(HUGE_PAGE_B - 1);
		uintptr_t to = ((uintptr_t)slots + size_b) & ~(HUGE_PAGE_B - 1);
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE); /* small ones do */
	}
	return slots;
}

int sonde_heap_live_grow(struct sonde_heap_live *live)
{
	struct sonde_heap_live grown = *live;
	grown.bits = live->slots ? live->bits + 1 : BITS_FIRST;
	grown.slots = grown.bits <= BITS_MAX ? make_slots(grown.bits) : NULL;
	if (!grown.slots)
		return sonde_error(ENOMEM, "no memory for %zu live blocks", live->count);
	for (size_t i = 0; live->slots && i < (size_t)1 << live->bits; i++)
		if (live->slots[i].words[0])
			grown.slots[sonde_heap_live_seek(&grown, sonde_heap_slot_address(&live->slots[i]))] =
			    live->slots[i];
	free(live->slots);
	*live = grown;
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
