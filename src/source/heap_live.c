/* heap_live.c: linear probing; what is taken out is filled from behind, so that no tombstones pile up. */
#include "source/heap_live.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

#define BITS_FIRST 12u

static size_t home(const struct sonde_heap_live *live, uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - live->bits));
}

static size_t last_of(const struct sonde_heap_live *live)
{
	return ((size_t)1 << live->bits) - 1;
}

void sonde_heap_live_fini(struct sonde_heap_live *live)
{
	free(live->blocks);
	*live = (struct sonde_heap_live){0};
}

/* Where it is, or where it would go. */
static size_t seek(const struct sonde_heap_live *live, uint64_t address)
{
	size_t at = home(live, address), last = last_of(live);
	while (live->blocks[at].address && live->blocks[at].address != address)
		at = (at + 1) & last;
	return at;
}

const struct sonde_heap_block *sonde_heap_live_find(const struct sonde_heap_live *live, uint64_t address)
{
	if (!live->blocks)
		return NULL;
	const struct sonde_heap_block *block = &live->blocks[seek(live, address)];
	return block->address ? block : NULL;
}

static int grow(struct sonde_heap_live *live)
{
	struct sonde_heap_live grown = {.bits = live->blocks ? live->bits + 1 : BITS_FIRST, .count = live->count};
	grown.blocks = calloc((size_t)1 << grown.bits, sizeof *grown.blocks);
	if (!grown.blocks)
		return sonde_error(ENOMEM, "no memory for %zu live blocks", live->count);
	for (size_t i = 0; live->blocks && i <= last_of(live); i++)
		if (live->blocks[i].address)
			grown.blocks[seek(&grown, live->blocks[i].address)] = live->blocks[i];
	free(live->blocks);
	*live = grown;
	return 0;
}

int sonde_heap_live_add(struct sonde_heap_live *live, const struct sonde_heap_block *block)
{
	if (!live->blocks || (live->count + 1) * 4 > last_of(live) * 3) {
		int code = grow(live);
		if (code)
			return code;
	}
	live->blocks[seek(live, block->address)] = *block;
	live->count++;
	return 0;
}

int sonde_heap_live_take(struct sonde_heap_live *live, uint64_t address, struct sonde_heap_block *out)
{
	if (!live->blocks)
		return 0;
	size_t hole = seek(live, address), last = last_of(live);
	if (!live->blocks[hole].address)
		return 0;
	*out = live->blocks[hole];
	for (size_t at = (hole + 1) & last; live->blocks[at].address; at = (at + 1) & last) {
		size_t wanted = home(live, live->blocks[at].address);
		/* it may move into the hole unless its home lies behind the hole, seen from where it is */
		if (((at - wanted) & last) < ((at - hole) & last))
			continue;
		live->blocks[hole] = live->blocks[at];
		hole = at;
	}
	live->blocks[hole].address = 0;
	live->count--;
	return 1;
}
