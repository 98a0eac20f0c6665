/* heap.h: words of a HEAP chunk (ring.h): the reports of the allocation hooks inside a target to the recorder.
 *
 * Each record begins with one word. Its low 44 bits hold the block's address (user-space addresses are below 2^47,
 * blocks are aligned to 8), the 19 bits above the time since the previous record (ticks of 32 cycles or 32 ns), and the
 * top bit marks an allocation. Address 0 marks all other records: an enum sonde_heap_op takes the place of the time. No
 * word is 0, so each word publishes itself, as in ring.h; a record whose last word is still 0 is being written.
 *
 *   allocation     word, then size << 32 | stack          a size of 2^32 − 1 is preceded by SIZE
 *   free           word
 *   TIME           op, then the time that later records count from; first in each chunk
 *   STACK          op, then stack << 32 | count, then `count` return addresses, leaf first
 *   SIZE           op, then the size of the next allocated block
 *   KEPT           op, then address: retracts the preceding free of that block, because realloc() failed
 *   MAP            op, then address, then size | enum sonde_heap_map << 56, then 2^32 + stack (0 = none): the program
 *                  has mapped memory
 *   UNMAP          op, then address, then size: the range is no longer mapped
 *   POOL           op, then pool << 32 | name_b, then the name in words: the first mention of a pool (sonde_alloc())
 *   TAKE           op, then pool << 32 | stack, then address, then size + 1: allocation from a pool
 *   GIVE           op, then pool, then address: free to a pool
 *
 * KEPT, MAP, UNMAP, TAKE and GIVE have the time of the record before them. Pools are numbered per process, from 1. A
 * free gets its timestamp before the allocator is called, an allocation gets its timestamp afterwards: so, in the order
 * of timestamps, no block is allocated before its previous owner has freed it. Each thread writes its own chunks.
 * Stacks are numbered per process.
 */
#ifndef SONDE_FORMAT_HEAP_H
#define SONDE_FORMAT_HEAP_H

#include <stdint.h>

#define SONDE_HEAP_BEGINS (UINT64_C(1) << 63)
#define SONDE_HEAP_ADDRESS_BITS 44
#define SONDE_HEAP_ADDRESS_SHIFT 3
#define SONDE_HEAP_ADDRESS_MASK ((UINT64_C(1) << SONDE_HEAP_ADDRESS_BITS) - 1)
#define SONDE_HEAP_TICK_SHIFT 5
#define SONDE_HEAP_TICKS_MAX ((UINT64_C(1) << 19) - 1)
#define SONDE_HEAP_SIZE_MAX UINT32_MAX /* also marks a larger size, which a SIZE record holds */
#define SONDE_HEAP_FRAMES_MAX 480u     /* fits into a part of a chunk (ring.h) */
#define SONDE_HEAP_NAME_MAX_B 255u     /* length of a pool's name; longer names are truncated */

#define SONDE_HEAP_MAP_SHIFT 56
#define SONDE_HEAP_MAP_STACK (UINT64_C(1) << 32)

/* The meaning of a MAP record for its range. */
enum sonde_heap_map {
	SONDE_HEAP_MAP_MEMORY = 0,
	SONDE_HEAP_MAP_RESERVED = 1, /* not writable: no memory yet */
	SONDE_HEAP_MAP_OPENED = 2,   /* the reserved part of the range has become memory */
	SONDE_HEAP_MAP_CLOSED = 3,   /* the memory in the range has become reserved */
	SONDE_HEAP_MAP_MOVED = 4,    /* the thread's last UNMAP moved to this range, in the same state */
	SONDE_HEAP_MAP_KEPT = 5,     /* retracts the thread's last UNMAP: the range is still mapped */
};

enum sonde_heap_op {
	SONDE_HEAP_TIME = 1,
	SONDE_HEAP_STACK = 2,
	SONDE_HEAP_SIZE = 3,
	SONDE_HEAP_MAP = 4,
	SONDE_HEAP_UNMAP = 5,
	SONDE_HEAP_KEPT = 6,
	SONDE_HEAP_POOL_NAME = 7,
	SONDE_HEAP_TAKE = 8,
	SONDE_HEAP_GIVE = 9,
};

static inline uint64_t sonde_heap_block(uint64_t address, uint64_t ticks)
{
	return ticks << SONDE_HEAP_ADDRESS_BITS | (address >> SONDE_HEAP_ADDRESS_SHIFT & SONDE_HEAP_ADDRESS_MASK);
}

static inline uint64_t sonde_heap_op(enum sonde_heap_op op)
{
	return (uint64_t)op << SONDE_HEAP_ADDRESS_BITS;
}

static inline uint64_t sonde_heap_address(uint64_t word)
{
	return (word & SONDE_HEAP_ADDRESS_MASK) << SONDE_HEAP_ADDRESS_SHIFT;
}

static inline uint64_t sonde_heap_ticks(uint64_t word)
{
	return word >> SONDE_HEAP_ADDRESS_BITS & SONDE_HEAP_TICKS_MAX;
}

#endif
