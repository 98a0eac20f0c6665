/* live.h: table of a heap's live blocks and their forms, keyed by address, 16 bytes per block. One thread. */
#ifndef SONDE_SOURCE_HEAP_LIVE_H
#define SONDE_SOURCE_HEAP_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "source/heap/forms.h"

#define SONDE_HEAP_BORN_MAX ((UINT64_C(1) << 52) - 1)

struct sonde_heap_block {
	uint64_t address; /* non-zero; its low 48 bits are kept */
	uint64_t born;    /* ns, modulo SONDE_HEAP_BORN_MAX + 1: 52 days */
	uint64_t size_b;
	uint32_t site;
	uint32_t form; /* form of this site and size, in `forms` */
};

/* address << 16 | born >> 36, then born << 28 | form. */
struct sonde_heap_slot {
	uint64_t words[2]; /* the first is 0: free slot */
};
_Static_assert(sizeof(struct sonde_heap_slot) == 16, "16 bytes a block");

/* Zeroed = empty. Open addressing, at most five eighths full. */
struct sonde_heap_live {
	struct sonde_heap_slot *slots;
	unsigned bits;
	size_t count;
	struct sonde_heap_forms forms;
};

void sonde_heap_live_fini(struct sonde_heap_live *live);

/* Finds the block at an address; 0 if there is none. */
int sonde_heap_live_find(const struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out);
/* Adds a block and sets its form. 0; 1 if it replaced a block at the same address, which is then in *before;
 * -ENOMEM. */
int sonde_heap_live_add(struct sonde_heap_live *live, struct sonde_heap_block *block, struct sonde_heap_block *before);
/* Removes a block; 0 if there is none. */
int sonde_heap_live_take(struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out);

/* Iterates over the blocks in no particular order; *at is 0 for the first. 0 if there are no more. */
int sonde_heap_live_next(const struct sonde_heap_live *live, size_t *at, struct sonde_heap_block *out);

/* Doubles the number of slots. -ENOMEM. */
int sonde_heap_live_grow(struct sonde_heap_live *live);

/* --- per-event operations ---------------------------------------------------------------------------------------- */

#define SONDE_HEAP_FORM_BITS 28u
/* The upper 16 of the 52 bits of the time are stored in the first word, below the 48-bit address. */
#define SONDE_HEAP_HIGH_BITS 16u

static inline uint64_t sonde_heap_live_address(uint64_t address)
{
	return address & ((UINT64_C(1) << 48) - 1);
}

/* The slot at which the search for an address starts: upper bits of a product. The table uses the lowest bits of this
 * number, so that it can double in place. The bits were chosen by measurement: with them, addresses at regular
 * distances collide less than random ones would. Other bits cost twice as much, and so do hashes that keep neighbours
 * in one cache line. */
static inline size_t sonde_heap_live_home(const struct sonde_heap_live *live, uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 33) & (((size_t)1 << live->bits) - 1);
}

/* Prefetches the slot of a block that will be looked up soon. */
static inline void sonde_heap_live_expect(const struct sonde_heap_live *live, uint64_t address)
{
	if (live->slots)
		__builtin_prefetch(&live->slots[sonde_heap_live_home(live, sonde_heap_live_address(address))], 1);
}

static inline struct sonde_heap_slot sonde_heap_slot(uint64_t address, uint64_t born, uint32_t form)
{
	uint64_t high = (born & SONDE_HEAP_BORN_MAX) >> (64 - SONDE_HEAP_FORM_BITS);
	return (struct sonde_heap_slot){{address << SONDE_HEAP_HIGH_BITS | high, born << SONDE_HEAP_FORM_BITS | form}};
}

static inline uint64_t sonde_heap_slot_address(const struct sonde_heap_slot *slot)
{
	return slot->words[0] >> SONDE_HEAP_HIGH_BITS;
}

static inline uint64_t sonde_heap_slot_born(const struct sonde_heap_slot *slot)
{
	uint64_t high = slot->words[0] & ((1u << SONDE_HEAP_HIGH_BITS) - 1);
	return high << (64 - SONDE_HEAP_FORM_BITS) | slot->words[1] >> SONDE_HEAP_FORM_BITS;
}

static inline uint32_t sonde_heap_slot_form(const struct sonde_heap_slot *slot)
{
	return (uint32_t)slot->words[1] & SONDE_HEAP_FORMS_MAX;
}

/* The slot of a block, or the free slot where it would go; `address` must come from sonde_heap_live_address(), and
 * slots must exist. */
static inline size_t sonde_heap_live_seek(const struct sonde_heap_live *live, uint64_t address)
{
	size_t at = sonde_heap_live_home(live, address), last = ((size_t)1 << live->bits) - 1;
	while (live->slots[at].words[0] && sonde_heap_slot_address(&live->slots[at]) != address)
		at = (at + 1) & last;
	return at;
}

/* The form that the block at an address most likely has; 0 = there is none. */
static inline uint32_t sonde_heap_live_likely(const struct sonde_heap_live *live, uint64_t address)
{
	address = sonde_heap_live_address(address);
	return live->slots ? sonde_heap_slot_form(&live->slots[sonde_heap_live_seek(live, address)]) : 0;
}

static inline int sonde_heap_live_has(const struct sonde_heap_live *live, uint64_t address)
{
	return live->slots && live->slots[sonde_heap_live_seek(live, address)].words[0] != 0;
}

/* Like sonde_heap_live_add(), for a known form. */
static inline int sonde_heap_live_push(struct sonde_heap_live *live, uint64_t address, uint64_t born, uint32_t form,
				       struct sonde_heap_slot *before)
{
	if (!live->slots || (live->count + 1) * 8 > ((size_t)5 << live->bits)) {
		int code = sonde_heap_live_grow(live);
		if (code)
			return code;
	}
	struct sonde_heap_slot *slot = &live->slots[sonde_heap_live_seek(live, address)];
	int was = slot->words[0] != 0;
	*before = *slot;
	*slot = sonde_heap_slot(address, born, form);
	live->count += !was;
	return was;
}

/* Like sonde_heap_live_take(). */
static inline int sonde_heap_live_pull(struct sonde_heap_live *live, uint64_t address, struct sonde_heap_slot *out)
{
	if (!live->slots)
		return 0;
	struct sonde_heap_slot *slots = live->slots;
	size_t hole = sonde_heap_live_seek(live, address), last = ((size_t)1 << live->bits) - 1;
	*out = slots[hole];
	if (!out->words[0])
		return 0;
	for (size_t at = (hole + 1) & last; slots[at].words[0]; at = (at + 1) & last) {
		size_t wanted = sonde_heap_live_home(live, sonde_heap_slot_address(&slots[at]));
		/* an entry may move into the hole, unless its search starts after the hole */
		if (((at - wanted) & last) < ((at - hole) & last))
			continue;
		slots[hole] = slots[at];
		hole = at;
	}
	slots[hole].words[0] = 0;
	live->count--;
	return 1;
}

#endif
