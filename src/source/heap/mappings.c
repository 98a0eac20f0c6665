/* mappings.c: turns mappings into blocks that begin, end and are split (heap/mappings.h).
 *
 * Each mapping is a block; mappings that the kernel merges may be several blocks here. If a part of a mapping is
 * unmapped, the block of that part ends, and the rest remains live at the same site. Reserved ranges are tracked too:
 * mprotect() is called on all kinds of memory, and turns a range into new memory only if the program had reserved the
 * range.
 *
 * An UNMAP record is written before the call. The removed range is remembered per thread until that thread's next UNMAP
 * record: a later record may report that nothing was removed (KEPT), or that the range was moved (MOVED).
 */
#include "source/heap/mappings.h"

#include <errno.h>
#include <stdlib.h>

#include "source/heap/ranges.h"
#include "util/error.h"

#define THREADS 256u /* slots for the last UNMAP of a thread; threads with the same slot overwrite each other */
#define PIECES 4u    /* how many pieces removed by one UNMAP are remembered */

struct taken {
	uint32_t thread;
	uint32_t count;
	struct sonde_heap_piece pieces[PIECES];
};

struct sonde_heap_mappings {
	struct sonde_heap_chunks *chunks;
	struct sonde_heap_ranges ranges;
	struct taken taken[THREADS];
	uint64_t lost;
};

int sonde_heap_mappings_new(struct sonde_heap_mappings **out, struct sonde_heap_chunks *chunks)
{
	struct sonde_heap_mappings *mappings = calloc(1, sizeof *mappings);
	if (!mappings)
		return sonde_error(ENOMEM, "no memory for the mappings of a process");
	mappings->chunks = chunks;
	*out = mappings;
	return 0;
}

void sonde_heap_mappings_free(struct sonde_heap_mappings *mappings)
{
	if (!mappings)
		return;
	sonde_heap_ranges_fini(&mappings->ranges);
	free(mappings);
}

uint64_t sonde_heap_mappings_lost(const struct sonde_heap_mappings *mappings)
{
	return mappings ? mappings->lost : 0;
}

/* --- pieces ------------------------------------------------------------------------------------------------------ */

/* Adds a piece. `what`: the record, for its thread and time. */
static void put(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *what, uint64_t start,
		uint64_t end, uint32_t site)
{
	struct sonde_heap_piece piece = {start, end, site};
	if (sonde_heap_ranges_put(&mappings->ranges, &piece))
		mappings->lost++;
	else if (site)
		sonde_heap_chunks_begins(mappings->chunks, what->time_ns, what->thread, start, end - start, site);
}

/* Removes the part of the lowest piece that overlaps [start, end), and ends or splits its block; 0 if no piece
 * overlaps. */
static int cut(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *what, uint64_t start,
	       uint64_t end, struct sonde_heap_piece *out)
{
	struct sonde_heap_cut cut;
	if (!sonde_heap_ranges_cut(&mappings->ranges, start, end, &cut))
		return 0;
	struct sonde_heap_split split = {cut.start - cut.whole.start, cut.end - cut.start, cut.whole.end - cut.end};
	if (cut.whole.site && !split.before_b && !split.after_b)
		sonde_heap_chunks_ends(mappings->chunks, what->time_ns, what->thread, cut.whole.start);
	else if (cut.whole.site)
		sonde_heap_chunks_splits(mappings->chunks, what->time_ns, what->thread, cut.whole.start, &split);
	*out = (struct sonde_heap_piece){cut.start, cut.end, cut.whole.site};
	return 1;
}

static void clear(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *what, uint64_t start,
		  uint64_t end)
{
	struct sonde_heap_piece piece;
	while (cut(mappings, what, start, end, &piece))
		;
}

/* --- unmaps that were retracted or moved ------------------------------------------------------------------------- */

static struct taken *taken_of(struct sonde_heap_mappings *mappings, uint32_t thread)
{
	struct taken *taken = &mappings->taken[thread % THREADS];
	if (taken->thread != thread)
		*taken = (struct taken){.thread = thread};
	return taken;
}

static void keep(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *what)
{
	struct taken *taken = taken_of(mappings, what->thread);
	for (uint32_t i = 0; i < taken->count; i++) {
		const struct sonde_heap_piece *piece = &taken->pieces[i];
		clear(mappings, what, piece->start, piece->end);
		put(mappings, what, piece->start, piece->end, piece->site);
	}
	taken->count = 0;
}

/* Adds a range that was moved. It counts as memory if any part of the removed range did; otherwise it is reserved. */
static void arrive(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *what, uint64_t end)
{
	const struct taken *taken = taken_of(mappings, what->thread);
	uint32_t site = 0;
	for (uint32_t i = 0; i < taken->count; i++)
		site = taken->pieces[i].site ? what->site : site;
	clear(mappings, what, what->address, end);
	if (taken->count)
		put(mappings, what, what->address, end, site);
}

/* --- reserved ranges --------------------------------------------------------------------------------------------- */

/* Turns reserved pieces into memory, or memory into reserved pieces. */
static void change(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *what, uint64_t end, int opens)
{
	uint64_t at = what->address;
	const struct sonde_heap_piece *next;
	struct sonde_heap_piece piece;
	while (at < end && (next = sonde_heap_ranges_find(&mappings->ranges, at, end))) {
		uint64_t from = next->start > at ? next->start : at, to = next->end < end ? next->end : end;
		int reserved = !next->site;
		at = to;
		if (reserved != opens || !cut(mappings, what, from, to, &piece))
			continue;
		put(mappings, what, piece.start, piece.end, opens ? what->site : 0);
	}
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static int end_of(const struct sonde_heap_mapping *mapping, uint64_t *out)
{
	return !mapping->address || !mapping->size_b || __builtin_add_overflow(mapping->address, mapping->size_b, out);
}

void sonde_heap_mappings_map(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *mapping,
			     enum sonde_heap_map what)
{
	uint64_t end;
	if (end_of(mapping, &end))
		return;
	switch (what) {
	case SONDE_HEAP_MAP_MEMORY:
	case SONDE_HEAP_MAP_RESERVED:
		clear(mappings, mapping, mapping->address, end);
		put(mappings, mapping, mapping->address, end, what == SONDE_HEAP_MAP_MEMORY ? mapping->site : 0);
		break;
	case SONDE_HEAP_MAP_OPENED:
	case SONDE_HEAP_MAP_CLOSED:
		change(mappings, mapping, end, what == SONDE_HEAP_MAP_OPENED);
		break;
	case SONDE_HEAP_MAP_MOVED:
		arrive(mappings, mapping, end);
		break;
	case SONDE_HEAP_MAP_KEPT:
		keep(mappings, mapping);
		break;
	}
}

void sonde_heap_mappings_unmap(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *mapping)
{
	struct taken *taken = taken_of(mappings, mapping->thread);
	struct sonde_heap_piece piece;
	uint64_t end;
	taken->count = 0;
	if (end_of(mapping, &end))
		return;
	while (cut(mappings, mapping, mapping->address, end, &piece))
		if (taken->count < PIECES)
			taken->pieces[taken->count++] = piece;
}
