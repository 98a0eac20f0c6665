/* scan.h: finds which blocks of a heap are still reachable, by LeakSanitizer's rules.
 *
 * Conservative marking: an aligned word that holds the address of any byte of a live block makes the block reachable,
 * and the contents of the block are scanned in turn. (For an empty array of objects, the address after it counts as
 * well: see is_empty_array().) An unreachable block is leaked, indirectly if another unreachable block points to it.
 * The caller provides the roots (heap/roots.h). One thread.
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
	/* Reads pieces one after the other into `out`; unreadable bytes become zeros. A negative errno: the scan must
	 * stop. */
	int (*read)(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out);
	/* Returns the first part of an extent that may contain anything but zeros; an empty extent, at its end, if
	 * there is none. NULL: any part may contain anything. */
	struct sonde_heap_extent (*present)(void *context, struct sonde_heap_extent extent);
};

enum sonde_heap_state {
	SONDE_HEAP_LOST = 0,    /* no block or root points to it */
	SONDE_HEAP_LOST_BY = 1, /* only unreachable blocks point to it */
	SONDE_HEAP_REACHED = 2,
};

struct sonde_heap_found {
	uint64_t address;
	uint64_t size_b : 40;
	uint64_t site : 24;
};

struct sonde_heap_scan;

/* Scans the blocks that are alive now; the reader is borrowed. -ENOMEM. */
int sonde_heap_scan_new(struct sonde_heap_scan **out, const struct sonde_heap_live *live,
			const struct sonde_heap_reader *reader);
void sonde_heap_scan_free(struct sonde_heap_scan *scan);

/* Blocks in address order. */
size_t sonde_heap_scan_count(const struct sonde_heap_scan *scan);
const struct sonde_heap_found *sonde_heap_scan_block(const struct sonde_heap_scan *scan, size_t i);
enum sonde_heap_state sonde_heap_scan_state(const struct sonde_heap_scan *scan, size_t i);
/* The index of the block that contains an address, or the number of blocks. */
size_t sonde_heap_scan_find(const struct sonde_heap_scan *scan, uint64_t address);
/* The index of the first block at or after an address, or the number of blocks. */
size_t sonde_heap_scan_first(const struct sonde_heap_scan *scan, uint64_t address);

/* glibc's chunks overlap: the last 1 … 8 bytes of a block may be in the free chunk that follows it. From now on,
 * addresses of these bytes reach no block. Call it before scanning free memory, which is full of such addresses. */
void sonde_heap_scan_without_tails(struct sonde_heap_scan *scan);

/* Adds roots. -ENOMEM, or the reader's error. */
int sonde_heap_scan_words(struct sonde_heap_scan *scan, const uint64_t *words, size_t count);
int sonde_heap_scan_root(struct sonde_heap_scan *scan, struct sonde_heap_extent extent); /* except live blocks in it */
int sonde_heap_scan_whole(struct sonde_heap_scan *scan, struct sonde_heap_extent extent);
int sonde_heap_scan_mark(struct sonde_heap_scan *scan, size_t i); /* marks a block as reached */

/* Follows the pointers found so far, until the states of all blocks are known. */
int sonde_heap_scan_finish(struct sonde_heap_scan *scan);

#endif
