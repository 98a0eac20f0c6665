/* heap.h: words of a HEAP chunk (ring.h): what the allocation hooks inside a target tell the recorder.
 *
 * Each record begins with one word. A block's address stands in its low 44 bits (addresses of user space are below
 * 2^47, blocks are aligned to 8), the time since the record before in the 19 bits above (ticks of 32 cycles, or of 32
 * ns), and the top bit says that it begins. Address 0 marks the other records: an enum sonde_heap_op stands in place of
 * the time. No word is 0, so each is its own publication, as in ring.h; a record whose last word is still 0 is being
 * written.
 *
 *   block begins   word, then size << 32 | stack          a size of 2^32 − 1 is preceded by SIZE
 *   block ends     word
 *   TIME           op, then the time: what follows is counted from it; first in each chunk
 *   STACK          op, then stack << 32 | count, then `count` return addresses, leaf first
 *   SIZE           op, then the size of the block that begins next
 *   KEPT           op, then address: the block whose end came before did not end, since there was no memory to move it
 *   MAP            op, then address, then size | enum sonde_heap_map << 56, then 2^32 + stack (0 = none): the program
 *                  has mapped memory
 *   UNMAP          op, then address, then size: nothing is mapped there now
 *   POOL           op, then pool << 32 | name_b, then the name in words: a pool (sonde_alloc()) that is not known yet
 *   TAKE           op, then pool << 32 | stack, then address, then size + 1: a block of a pool begins
 *   GIVE           op, then pool, then address: it ends
 *
 * KEPT, MAP, UNMAP, TAKE and GIVE have the time of the record before them. Pools are numbered by the process, from 1.
 *
 * A block's end is stamped before the allocator is called and its beginning afterwards: in the order of stamps nobody
 * gets a block that is still somebody's. Each thread writes its own chunks. Stacks are numbered by the process.
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
#define SONDE_HEAP_SIZE_MAX UINT32_MAX /* and how a larger one begins */
#define SONDE_HEAP_FRAMES_MAX 480u     /* they fit into a part of a chunk (ring.h) */
#define SONDE_HEAP_NAME_MAX_B 255u     /* of a pool; the rest is cut off */

#define SONDE_HEAP_MAP_SHIFT 56
#define SONDE_HEAP_MAP_STACK (UINT64_C(1) << 32)

/* What a MAP record says of its range. */
enum sonde_heap_map {
	SONDE_HEAP_MAP_MEMORY = 0,
	SONDE_HEAP_MAP_RESERVED = 1, /* it may not be written to: no memory yet */
	SONDE_HEAP_MAP_OPENED = 2,   /* what of it was reserved is memory now */
	SONDE_HEAP_MAP_CLOSED = 3,   /* what of it was memory is reserved now */
	SONDE_HEAP_MAP_MOVED = 4,    /* here is now what the thread's last UNMAP took away, and as that was */
	SONDE_HEAP_MAP_KEPT = 5,     /* what the thread's last UNMAP took away did not go */
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
