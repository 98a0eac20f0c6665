/* live.h: the blocks of a heap that are alive: by address, in 16 bytes each, and their forms. One thread. */
#ifndef SONDE_SOURCE_HEAP_LIVE_H
#define SONDE_SOURCE_HEAP_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "source/heap/forms.h"

#define SONDE_HEAP_BORN_MAX ((UINT64_C(1) << 52) - 1)

struct sonde_heap_block {
	uint64_t address; /* not 0; the low 48 bits of it */
	uint64_t born;    /* ns, modulo SONDE_HEAP_BORN_MAX + 1: 52 days */
	uint64_t size_b;
	uint32_t site;
	uint32_t form; /* of that site and size, in `forms` */
};

/* address << 16 | born >> 36, then born << 28 | form. */
struct sonde_heap_slot {
	uint64_t words[2]; /* the first is 0: free */
};
_Static_assert(sizeof(struct sonde_heap_slot) == 16, "16 bytes a block");

/* Zeroed: none. Open addressing, at most five eighths full. */
struct sonde_heap_live {
	struct sonde_heap_slot *slots;
	unsigned bits;
	size_t count;
	struct sonde_heap_forms forms;
};

void sonde_heap_live_fini(struct sonde_heap_live *live);

/* The block at an address; 0 when there is none. */
int sonde_heap_live_find(const struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out);
/* Adds a block, whose form is set here. 0; 1 when there was one at its address, which it replaces and which is now in
 * *before; -ENOMEM. */
int sonde_heap_live_add(struct sonde_heap_live *live, struct sonde_heap_block *block, struct sonde_heap_block *before);
/* Takes a block out; 0 when there is none. */
int sonde_heap_live_take(struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out);

/* The next block, in no order; *at is 0 for the first. 0 when there are no more. */
int sonde_heap_live_next(const struct sonde_heap_live *live, size_t *at, struct sonde_heap_block *out);

/* Doubles the slots. -ENOMEM. */
int sonde_heap_live_grow(struct sonde_heap_live *live);

/* --- what is done for every event ----------------------------------------------------------------------------------
 */

#define SONDE_HEAP_FORM_BITS 28u
#define SONDE_HEAP_HIGH_BITS 16u /* of the 52 of the time, beside the address */

static inline uint64_t sonde_heap_live_address(uint64_t address)
{
	return address & ((UINT64_C(1) << 48) - 1);
}

/* Upper bits of a product: of a number for each address a table takes the lowest bits, so that it doubles where it is.
 * Which bits they are was measured: what the multiplier does to addresses at regular distances is better than chance
 * with these, and twice as dear with others, as are homes that keep neighbours in one line of the cache. */
static inline size_t sonde_heap_live_home(const struct sonde_heap_live *live, uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 33) & (((size_t)1 << live->bits) - 1);
}

/* A block will be looked for soon. */
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

/* Where a block is, or where it would go; `address` as sonde_heap_live_address() gives it. There must be slots. */
static inline size_t sonde_heap_live_seek(const struct sonde_heap_live *live, uint64_t address)
{
	size_t at = sonde_heap_live_home(live, address), last = ((size_t)1 << live->bits) - 1;
	while (live->slots[at].words[0] && sonde_heap_slot_address(&live->slots[at]) != address)
		at = (at + 1) & last;
	return at;
}

/* The form of the block at an address, as that most likely is; 0 = there is none. */
static inline uint32_t sonde_heap_live_likely(const struct sonde_heap_live *live, uint64_t address)
{
	address = sonde_heap_live_address(address);
	return live->slots ? sonde_heap_slot_form(&live->slots[sonde_heap_live_seek(live, address)]) : 0;
}

static inline int sonde_heap_live_has(const struct sonde_heap_live *live, uint64_t address)
{
	return live->slots && live->slots[sonde_heap_live_seek(live, address)].words[0] != 0;
}

/* As sonde_heap_live_add(), of a form that is known. */
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

/* As sonde_heap_live_take(). */
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
		/* it may move into the hole unless its home lies behind the hole, seen from where it is */
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
