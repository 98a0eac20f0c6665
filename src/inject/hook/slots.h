/* slots.h: numbers for things identified by a hash, in a lock-free table shared by all threads.
 *
 * A thread with a new hash claims a slot, records the thing and then stores its number there; until then other threads
 * with the same hash number it again. A slot is one word, since the cost of a lookup is the memory access: 40 bits of
 * the hash above the number. A forked child's table is empty.
 */
#ifndef SONDE_INJECT_HOOK_SLOTS_H
#define SONDE_INJECT_HOOK_SLOTS_H

#include <stdatomic.h>
#include <stdint.h>

#define INJECT_SLOTS_PROBES 64u
#define INJECT_SLOTS_NUMBER_BITS 24u
#define INJECT_SLOTS_NUMBER_MOST ((1u << INJECT_SLOTS_NUMBER_BITS) - 1) /* larger ones are not stored */

typedef _Atomic uint64_t inject_slot; /* 0 = free */

static inline uint64_t inject_slots_key(uint64_t hash)
{
	return (hash | 1) << INJECT_SLOTS_NUMBER_BITS;
}

/* The slot of a hash in a table of 1 << bits, claimed if it has none, and its number (0 = unknown yet); NULL: the table
 * is practically full. */
static inline inject_slot *inject_slots_claim(inject_slot *slots, uint32_t bits, uint64_t hash, uint32_t *number)
{
	uint64_t key = inject_slots_key(hash);
	uint32_t at = (uint32_t)(hash >> (64 - bits)), last = (1u << bits) - 1;
	for (uint32_t i = 0; i < INJECT_SLOTS_PROBES; i++, at = (at + 1) & last) {
		/* acquire: the record of the thing is in a ring that is read before the caller's */
		uint64_t there = atomic_load_explicit(&slots[at], memory_order_acquire);
		if (!there && atomic_compare_exchange_strong(&slots[at], &there, key))
			there = key;
		*number = (uint32_t)there & INJECT_SLOTS_NUMBER_MOST; /* also if another thread was faster */
		if (__builtin_expect(there - *number == key, 1))
			return &slots[at];
	}
	*number = 0;
	return 0;
}

/* The number of a hash; 0 = none. */
static inline uint32_t inject_slots_find(const inject_slot *slots, uint32_t bits, uint64_t hash)
{
	uint64_t key = inject_slots_key(hash), there = 1;
	uint32_t at = (uint32_t)(hash >> (64 - bits)), last = (1u << bits) - 1;
	for (uint32_t i = 0; i < INJECT_SLOTS_PROBES && there; i++, at = (at + 1) & last) {
		there = atomic_load_explicit(&slots[at], memory_order_acquire);
		if (there >> INJECT_SLOTS_NUMBER_BITS == key >> INJECT_SLOTS_NUMBER_BITS)
			return (uint32_t)there & INJECT_SLOTS_NUMBER_MOST;
	}
	return 0;
}

static inline void inject_slots_set(inject_slot *slot, uint64_t hash, uint32_t number)
{
	if (slot && number <= INJECT_SLOTS_NUMBER_MOST)
		atomic_store_explicit(slot, inject_slots_key(hash) | number, memory_order_release);
}

#endif
