/* heap_live.h: the blocks of a process that are alive: by address, in 24 bytes each. One thread. */
#ifndef SONDE_SOURCE_HEAP_LIVE_H
#define SONDE_SOURCE_HEAP_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct sonde_heap_block {
	uint64_t address;     /* never 0 */
	uint64_t born;        /* ticks */
	uint64_t size_b : 40; /* what is larger counts as 1 TB */
	uint64_t site : 24;
};
_Static_assert(sizeof(struct sonde_heap_block) == 24, "24 bytes a block");

#define SONDE_HEAP_BLOCK_MAX_B ((UINT64_C(1) << 40) - 1)
#define SONDE_HEAP_SITES_MAX ((1u << 24) - 1)

/* Zeroed: none. Open addressing, at most three quarters full. */
struct sonde_heap_live {
	struct sonde_heap_block *blocks;
	unsigned bits;
	size_t count;
};

void sonde_heap_live_fini(struct sonde_heap_live *live);

/* The block at an address, or NULL. Valid until the next call that adds or takes. */
const struct sonde_heap_block *sonde_heap_live_find(const struct sonde_heap_live *live, uint64_t address);
/* -ENOMEM. Nothing is alive at its address. */
int sonde_heap_live_add(struct sonde_heap_live *live, const struct sonde_heap_block *block);
/* Takes a block out; 0 when there is none. */
int sonde_heap_live_take(struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out);

#endif
