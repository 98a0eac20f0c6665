/* slots.h: numbers of things that the process knows by a hash, in a table that all threads share without a lock.
 *
 * Whoever comes with a new hash claims a slot, tells the recorder of the thing and then stores its number there; until
 * then others who come with it number it once more. A forked child's table is empty.
 */
#ifndef SONDE_INJECT_SLOTS_H
#define SONDE_INJECT_SLOTS_H

#include <stdatomic.h>
#include <stdint.h>

#define INJECT_SLOTS_PROBES 64u

struct inject_slot {
	_Atomic uint64_t hash;   /* 0 = free */
	_Atomic uint32_t number; /* 0 = not known yet */
	uint32_t unused;
};

/* The slot of a hash (not 0) in a table of 1 << bits, claimed if nobody has it; NULL: the table is as good as full. */
static inline struct inject_slot *inject_slots_claim(struct inject_slot *slots, uint32_t bits, uint64_t hash)
{
	uint32_t at = (uint32_t)(hash >> (64 - bits)), last = (1u << bits) - 1;
	for (uint32_t i = 0; i < INJECT_SLOTS_PROBES; i++, at = (at + 1) & last) {
		uint64_t there = atomic_load_explicit(&slots[at].hash, memory_order_relaxed);
		if (__builtin_expect(there == hash, 1))
			return &slots[at];
		if (!there && atomic_compare_exchange_strong(&slots[at].hash, &there, hash))
			return &slots[at];
		if (there == hash) /* somebody else was faster */
			return &slots[at];
	}
	return 0;
}

static inline uint32_t inject_slots_number(const struct inject_slot *slot)
{
	/* acquire: what tells of it lies in a ring that is read before the caller's */
	return atomic_load_explicit(&slot->number, memory_order_acquire);
}

static inline void inject_slots_set(struct inject_slot *slot, uint32_t number)
{
	atomic_store_explicit(&slot->number, number, memory_order_release);
}

#endif
