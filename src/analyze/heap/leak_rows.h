/* leak_rows.h: memory live at exit and growing memory, summed by the call site that allocated it.
 *
 * Memory live at exit comes from the recorder's scan (HEAP_LEAK records). Growth is tested on the live bytes of each
 * call site at MARKS equally spaced times. The first fifth of the time since the site first had live bytes is left out.
 * In the last tenth, everything after the maximum is left out too, because a decrease there is taken for the clean-up
 * at exit. Blocks of a process count until it exits or execs another program.
 */
#ifndef SONDE_ANALYZE_HEAP_LEAK_ROWS_H
#define SONDE_ANALYZE_HEAP_LEAK_ROWS_H

#include "analyze/statistics/growth.h"
#include "analyze/heap/places.h"
#include "analyze/labels.h"

struct sonde_leak_row {
	enum sonde_leak_class class;
	uint32_t function, line; /* 0 = unknown */
	const char *file;
	const struct sonde_heap *heap; /* one of them; the row covers all heaps of its kind */
	uint32_t stack;                /* stack of the site with the largest amount */
	uint64_t stack_has_b;
	uint64_t size_b, blocks;
	double variance;            /* variance of size_b, in B², if size_b is an estimate */
	uint64_t direct_blocks;     /* UNREACHABLE: blocks that no other block points to */
	struct sonde_growth growth; /* GROWING: rate per second */
};

struct sonde_leak_rows {
	struct sonde_leak_row *rows; /* by class, largest first */
	size_t count;
	uint64_t suppressed_b, suppressed;
	double growth_s; /* duration tested for growth; 0 = too short */
};

/* Runs of less than `growth_s` seconds are not tested for growth. -ENOMEM. */
int sonde_leak_rows_make(struct sonde_leak_rows *out, const struct sonde_heap_pass *pass, double growth_s);
void sonde_leak_rows_free(struct sonde_leak_rows *rows);

#endif
