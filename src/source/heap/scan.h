/* scan.h: which blocks of a heap can still be reached, by LeakSanitizer's rules.
 *
 * Conservative marking: any aligned word that is the address of a byte of a live block reaches that block (also one
 * behind it, for an empty array of objects: see is_empty_array()), and what it holds is read in turn. A block that
 * cannot be reached is leaked, indirectly when another such block points to it. Where to begin is said by the caller
 * (heap/roots.h). One thread.
 */
#ifndef SONDE_SOURCE_HEAP_SCAN_H
#define SONDE_SOURCE_HEAP_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "source/heap/live.h"

struct sonde_heap_extent {
	uint64_t start, end;
};

/* The memory of the process. */
struct sonde_heap_reader {
	void *context;
	/* Reads pieces, the first behind the other, into `out`; zeros where nothing can be read. A negative errno:
	 * there is no use in going on. */
	int (*read)(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out);
	/* The first part of an extent that may hold anything but zeros; empty at its end when there is none. NULL: the
	 * whole extent may. */
	struct sonde_heap_extent (*present)(void *context, struct sonde_heap_extent extent);
};

enum sonde_heap_state {
	SONDE_HEAP_LOST = 0,    /* nothing points to it */
	SONDE_HEAP_LOST_BY = 1, /* only such blocks point to it */
	SONDE_HEAP_REACHED = 2,
};

struct sonde_heap_found {
	uint64_t address;
	uint64_t size_b : 40;
	uint64_t site : 24;
};

struct sonde_heap_scan;

/* Over the blocks that are alive now; the reader is borrowed. -ENOMEM. */
int sonde_heap_scan_new(struct sonde_heap_scan **out, const struct sonde_heap_live *live,
			const struct sonde_heap_reader *reader);
void sonde_heap_scan_free(struct sonde_heap_scan *scan);

/* Blocks in order of their addresses. */
size_t sonde_heap_scan_count(const struct sonde_heap_scan *scan);
const struct sonde_heap_found *sonde_heap_scan_block(const struct sonde_heap_scan *scan, size_t i);
enum sonde_heap_state sonde_heap_scan_state(const struct sonde_heap_scan *scan, size_t i);
/* The block that holds an address, or count. */
size_t sonde_heap_scan_find(const struct sonde_heap_scan *scan, uint64_t address);
/* The first block at or behind an address, or count. */
size_t sonde_heap_scan_first(const struct sonde_heap_scan *scan, uint64_t address);

/* glibc's chunks overlap: where the free one behind a block begins, the last 1 … 8 bytes of the block may lie. From
 * here on such addresses reach nothing: free memory, which is full of them, is going to be looked at. */
void sonde_heap_scan_without_tails(struct sonde_heap_scan *scan);

/* Where to begin. -ENOMEM, or what the reader says. */
int sonde_heap_scan_words(struct sonde_heap_scan *scan, const uint64_t *words, size_t count);
int sonde_heap_scan_root(struct sonde_heap_scan *scan, struct sonde_heap_extent extent); /* but for live blocks in it */
int sonde_heap_scan_whole(struct sonde_heap_scan *scan, struct sonde_heap_extent extent);
int sonde_heap_scan_mark(struct sonde_heap_scan *scan, size_t i); /* a block that counts as reached */

/* Follows what was found. Then states are known. */
int sonde_heap_scan_finish(struct sonde_heap_scan *scan);

#endif
