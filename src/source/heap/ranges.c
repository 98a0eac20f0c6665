/* ranges.c: a sorted array with binary search (heap/ranges.h). A process has at most thousands of mappings, so the rows
 * that an insertion or removal moves fit in a cache. */
#include "source/heap/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

void sonde_heap_ranges_fini(struct sonde_heap_ranges *ranges)
{
	free(ranges->pieces);
	*ranges = (struct sonde_heap_ranges){0};
}

/* Index of the first piece that ends after an address. */
static size_t seek(const struct sonde_heap_ranges *ranges, uint64_t address)
{
	return SONDE_SEARCH(i, 0, ranges->count, ranges->pieces[i].end <= address);
}

const struct sonde_heap_piece *sonde_heap_ranges_find(const struct sonde_heap_ranges *ranges, uint64_t start,
						      uint64_t end)
{
	size_t at = seek(ranges, start);
	return at < ranges->count && ranges->pieces[at].start < end ? &ranges->pieces[at] : NULL;
}

static void move(struct sonde_heap_ranges *ranges, size_t from, size_t to)
{
	memmove(ranges->pieces + to, ranges->pieces + from, (ranges->count - from) * sizeof *ranges->pieces);
	ranges->count = ranges->count + to - from;
}

static int insert(struct sonde_heap_ranges *ranges, size_t at, const struct sonde_heap_piece *piece)
{
	if (ranges->count == SONDE_HEAP_RANGES_MAX)
		return sonde_error(E2BIG, "more than %u mappings in a process", SONDE_HEAP_RANGES_MAX);
	if (SONDE_ARRAY_RESERVE(ranges->pieces, ranges->cap, ranges->count + 1))
		return sonde_error(ENOMEM, "no memory for %zu mappings", ranges->count + 1);
	move(ranges, at, at + 1);
	ranges->pieces[at] = *piece;
	return 0;
}

int sonde_heap_ranges_put(struct sonde_heap_ranges *ranges, const struct sonde_heap_piece *piece)
{
	size_t at = seek(ranges, piece->start);
	struct sonde_heap_piece *before = at ? &ranges->pieces[at - 1] : NULL;
	struct sonde_heap_piece *after = at < ranges->count ? &ranges->pieces[at] : NULL;
	int joins_before = before && !piece->site && !before->site && before->end == piece->start;
	int joins_after = after && !piece->site && !after->site && after->start == piece->end;
	if (joins_before && joins_after) {
		before->end = after->end;
		move(ranges, at + 1, at);
	} else if (joins_before) {
		before->end = piece->end;
	} else if (joins_after) {
		after->start = piece->start;
	} else {
		return insert(ranges, at, piece);
	}
	return 0;
}

int sonde_heap_ranges_cut(struct sonde_heap_ranges *ranges, uint64_t start, uint64_t end, struct sonde_heap_cut *out)
{
	size_t at = seek(ranges, start);
	if (at == ranges->count || ranges->pieces[at].start >= end)
		return 0;
	struct sonde_heap_piece whole = ranges->pieces[at], remainder = whole;
	struct sonde_heap_cut cut = {whole, start > whole.start ? start : whole.start,
				     end < whole.end ? end : whole.end};
	remainder.start = cut.end;
	if (cut.start > whole.start && cut.end < whole.end && insert(ranges, at + 1, &remainder))
		cut.start = whole.start, cut.end = whole.end;
	if (cut.start > whole.start)
		ranges->pieces[at].end = cut.start;
	else if (cut.end < whole.end)
		ranges->pieces[at].start = cut.end;
	else
		move(ranges, at + 1, at);
	*out = cut;
	return 1;
}
