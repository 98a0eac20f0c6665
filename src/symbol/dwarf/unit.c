/* unit.c: combines a unit's functions and its line table into spans.
 *
 * A sweep over the ranges of functions and inlined functions, sorted by start with outer ones first, yields a list of
 * the addresses at which the innermost function changes. The line table is such a list for lines. The two lists are
 * merged for each address range of the unit. Ranges that do not nest properly (in hostile or optimised files) only make
 * the result less accurate.
 */
#include "symbol/dwarf/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define NESTING_MAX 256
#define RANGES_MAX 65536

/* A change at `address`, up to the next change: of the node (first), or of file and line. */
struct change {
	uint64_t address;
	uint32_t first, second;
};

struct changes {
	struct change *items;
	size_t count, capacity;
};

static int add_change(struct changes *all, uint64_t address, uint32_t first, uint32_t second)
{
	if (all->count && all->items[all->count - 1].address == address)
		all->count--;
	if (all->count && all->items[all->count - 1].first == first && all->items[all->count - 1].second == second)
		return 0;
	if (SONDE_ARRAY_RESERVE(all->items, all->capacity, all->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu lines", all->count + 1);
	all->items[all->count++] = (struct change){address, first, second};
	return 0;
}

static int by_nesting(const void *a, const void *b)
{
	const struct sonde_dwarf_interval *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Closes the intervals that end at or before `address`. */
static int end_intervals(struct changes *out, const struct sonde_dwarf_interval **open, size_t *open_count,
			 uint64_t address)
{
	int rc = 0;
	while (!rc && *open_count && open[*open_count - 1]->high <= address) {
		uint64_t end = open[--*open_count]->high;
		while (*open_count && open[*open_count - 1]->high <= end)
			--*open_count;
		rc = add_change(out, end, *open_count ? open[*open_count - 1]->node : SONDE_INDEX_NONE, 0);
	}
	return rc;
}

static int sweep(struct changes *out, struct sonde_dwarf_intervals *intervals)
{
	const struct sonde_dwarf_interval *open[NESTING_MAX];
	size_t open_count = 0;
	int rc = 0;
	if (intervals->count)
		qsort(intervals->items, intervals->count, sizeof *intervals->items, by_nesting);
	for (size_t i = 0; !rc && i < intervals->count; i++) {
		const struct sonde_dwarf_interval *next = &intervals->items[i];
		rc = end_intervals(out, open, &open_count, next->low);
		if (open_count == NESTING_MAX)
			continue;
		open[open_count++] = next;
		if (!rc)
			rc = add_change(out, next->low, next->node, 0);
	}
	return rc ? rc : end_intervals(out, open, &open_count, UINT64_MAX);
}

/* The rows of all sequences; where sequences overlap, the first one wins. */
static int list_lines(struct changes *out, struct sonde_dwarf_lines *lines, struct sonde_texts *texts)
{
	for (size_t i = 0; i < lines->sequence_count; i++) {
		const struct sonde_dwarf_sequence *sequence = &lines->sequences[i];
		for (size_t k = sequence->first; k < sequence->first + sequence->count; k++) {
			const struct sonde_dwarf_row *row = &lines->rows[k];
			uint32_t file;
			int rc = sonde_dwarf_lines_file(lines, row->file, texts, &file);
			if (!rc && (!out->count || row->address >= out->items[out->count - 1].address))
				rc = add_change(out, row->address, file, row->line);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Number of changes at or before an address. */
static size_t changes_before(const struct changes *changes, uint64_t address)
{
	return SONDE_SEARCH(i, 0, changes->count, changes->items[i].address <= address);
}

static int add_span(struct sonde_index *out, uint32_t offset, const struct change *node, const struct change *line)
{
	struct sonde_index_span *span = sonde_index_add_span(out);
	if (!span)
		return -ENOMEM;
	*span = (struct sonde_index_span){.offset = offset,
					  .node = node ? node->first : SONDE_INDEX_NONE,
					  .file = line ? line->first : 0,
					  .line = line ? line->second : 0};
	return 0;
}

static int add_segment(struct sonde_index *out, const struct changes *nodes, const struct changes *lines, uint64_t low,
		       uint64_t high)
{
	size_t node = changes_before(nodes, low), line = changes_before(lines, low), first = out->span_count;
	if (low >= high || high - low > UINT32_MAX)
		return 0;
	for (uint64_t at = low; at < high;) {
		int rc = add_span(out, (uint32_t)(at - low), node ? &nodes->items[node - 1] : NULL,
				  line ? &lines->items[line - 1] : NULL);
		if (rc)
			return rc;
		uint64_t next_node = node < nodes->count ? nodes->items[node].address : UINT64_MAX;
		uint64_t next_line = line < lines->count ? lines->items[line].address : UINT64_MAX;
		at = next_node < next_line ? next_node : next_line;
		node += next_node == at && node < nodes->count;
		line += next_line == at && line < lines->count;
	}
	struct sonde_index_segment *segment = sonde_index_add_segment(out);
	if (!segment)
		return -ENOMEM;
	*segment = (struct sonde_index_segment){low, high, first, out->span_count - first};
	return 0;
}

/* Adds the requested functions within [low, high) and the gaps between functions; `functions` are sorted by start. */
static int add_range(struct sonde_index *out, const struct sonde_dwarf_intervals *functions,
		     const struct changes *nodes, const struct changes *lines, const struct sonde_dwarf_wanted *wanted,
		     const uint64_t range[2])
{
	uint64_t at = range[0];
	int rc = 0;
	for (size_t i = 0; !rc && i < functions->count; i++) {
		const struct sonde_dwarf_interval *function = &functions->items[i];
		if (function->high <= at || function->low >= range[1])
			continue;
		uint64_t low = function->low > at ? function->low : at;
		uint64_t high = function->high < range[1] ? function->high : range[1];
		if (sonde_dwarf_is_wanted(wanted, at, low))
			rc = add_segment(out, nodes, lines, at, low);
		if (!rc && function->node != SONDE_INDEX_NONE)
			rc = add_segment(out, nodes, lines, low, high);
		at = high;
	}
	if (!rc && sonde_dwarf_is_wanted(wanted, at, range[1]))
		rc = add_segment(out, nodes, lines, at, range[1]);
	return rc;
}

int sonde_dwarf_is_wanted(const struct sonde_dwarf_wanted *wanted, uint64_t low, uint64_t high)
{
	size_t first = 0, last = wanted->count;
	if (wanted->is_all)
		return low < high;
	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (wanted->addresses[middle] < low)
			first = middle + 1;
		else
			last = middle;
	}
	return first < wanted->count && wanted->addresses[first] < high;
}

static int add_segments(struct sonde_dwarf_functions *functions, const struct changes *nodes, Dwarf_Die *unit,
			const struct sonde_dwarf_wanted *wanted)
{
	struct sonde_index *out = functions->index;
	struct changes lines = {0};
	Dwarf_Addr base, range[2];
	unsigned count = 0;
	int rc = list_lines(&lines, &functions->lines, &out->texts);
	for (ptrdiff_t at = 0;
	     !rc && count < RANGES_MAX && (at = dwarf_ranges(unit, at, &base, &range[0], &range[1])) > 0; count++) {
		if (sonde_dwarf_is_wanted(wanted, range[0], range[1]))
			rc = add_range(out, &functions->functions, nodes, &lines, wanted, range);
	}
	free(lines.items);
	return rc;
}

int sonde_dwarf_unit_read(struct sonde_index *out, Dwarf_Die *unit, const struct sonde_dwarf_sections *sections,
			  const struct sonde_dwarf_wanted *wanted)
{
	struct sonde_dwarf_functions functions = {.index = out};
	struct changes nodes = {0};
	Dwarf_Die split = {0}, *tree = unit;
	/* With -gsplit-dwarf the tree of entries is in a .dwo file; ranges and lines are here. */
	if (!dwarf_cu_info(unit->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && dwarf_tag(&split) > 0)
		tree = &split;
	int rc = sonde_dwarf_lines_read(&functions.lines, sections, unit);
	if (!rc)
		rc = sonde_dwarf_functions_read(&functions, unit, tree, wanted);
	if (!rc && functions.functions.count)
		qsort(functions.functions.items, functions.functions.count, sizeof *functions.functions.items,
		      by_nesting);
	if (!rc)
		rc = sweep(&nodes, &functions.nodes);
	if (!rc)
		rc = add_segments(&functions, &nodes, unit, wanted);
	sonde_dwarf_lines_free(&functions.lines);
	free(functions.nodes.items);
	free(functions.functions.items);
	free(nodes.items);
	return rc;
}
