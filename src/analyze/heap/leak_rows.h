/* leak_rows.h: what was left, and what grew, summed by the place that allocated it.
 *
 * What was left at exit comes from the recorder's scan (HEAP_LEAK records). Growth is looked for in what each place has
 * alive at MARKS equally spaced moments, after the first fifth of the time since it was first alive, and before the
 * end: in the last tenth, what follows its maximum is what a program frees as it ends. Blocks of a process count while
 * it lives, and executes no other program.
 */
#ifndef SONDE_ANALYZE_HEAP_LEAK_ROWS_H
#define SONDE_ANALYZE_HEAP_LEAK_ROWS_H

#include "analyze/statistics/growth.h"
#include "analyze/heap/places.h"

enum sonde_leak_class { SONDE_LEAK_UNREACHABLE, SONDE_LEAK_GROWING, SONDE_LEAK_NOT_KNOWN, SONDE_LEAK_REACHABLE };

struct sonde_leak_row {
	enum sonde_leak_class class;
	uint32_t function, line; /* 0 = not known */
	const char *file;
	const struct sonde_heap *heap; /* one of the kind */
	uint32_t stack;                /* of the site with most of it */
	uint64_t stack_has_b;
	uint64_t size_b, blocks;
	double variance;            /* of size_b, where it is an estimate, in B² */
	uint64_t direct_blocks;     /* UNREACHABLE: that no other block points to */
	struct sonde_growth growth; /* GROWING: a second */
};

struct sonde_leak_rows {
	struct sonde_leak_row *rows; /* by class; the most first */
	size_t count;
	uint64_t suppressed_b, suppressed;
	double growth_s; /* in which growth was looked for; 0 = the time was too short */
};

/* Growth in less than `growth_s` seconds is not looked for. -ENOMEM. */
int sonde_leak_rows_make(struct sonde_leak_rows *out, const struct sonde_heap_pass *pass, double growth_s);
void sonde_leak_rows_free(struct sonde_leak_rows *rows);

#endif
