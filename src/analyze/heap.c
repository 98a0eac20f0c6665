/* heap.c: who allocated what: by function, what it held at the peak, what it left.
 *
 * A block belongs to the innermost function of its stack that is not an allocator's own (operator new and the standard
 * library's containers say little). Shares are of the peak of all processes' peaks added up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pass.h"
#include "analyze/marks.h"
#include "analyze/stats.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum {
	PEAK_SHARE,
	PEAK_B,
	PEAK_BLOCKS,
	BEGUN_B,
	BEGINS,
	TEMPORARY,
	LIVE_B,
	LIVE_BLOCKS,
	FUNCTION,
	FILE_NAME,
	LINE,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [PEAK_SHARE] = {"peak_share", "at peak", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {"peak_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_BLOCKS] = {"peak_blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {"allocations", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [TEMPORARY] = {"temporary", "temporary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [LIVE_B] = {"left_b", "left", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [LIVE_BLOCKS] = {"left_blocks", "blocks left", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [LINE] = {"line", "line", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
};

struct place {
	uint32_t function, line;
	const char *file;
	struct sonde_heap_sum sum;
};

struct heap {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_heap_sums sums;
	struct place *places;
	size_t place_count;
};

static int heap_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct heap *heap = calloc(1, sizeof *heap);
	if (!heap)
		return sonde_error(ENOMEM, "out of memory for the heap");
	heap->session = session;
	heap->options = *options;
	*state = heap;
	return 0;
}

static void heap_end(void *state)
{
	struct heap *heap = state;
	if (!heap)
		return;
	sonde_heap_sums_free(&heap->sums);
	free(heap->places);
	free(heap);
}

static int heap_feed(void *state, const struct sonde_batch *batch)
{
	(void)state, (void)batch;
	return 0;
}

static int says_little(const char *name)
{
	static const char *const starts[] = {"operator new", "std::", "__gnu_cxx::", "alloc::", "<alloc::", "__rust_"};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return 1;
	return 0;
}

/* The location that a stack is named by; NULL for an empty stack. */
static const struct sonde_location *location_of(const struct sonde_session *session, uint32_t stack)
{
	const struct sonde_location *first = NULL;
	for (const struct sonde_node *node; (node = sonde_session_node(session, stack)); stack = node->parent) {
		const struct sonde_frame *frame = sonde_session_frame(session, node->frame);
		for (uint32_t i = 0; frame && i < frame->location_count; i++) {
			const struct sonde_location *location = &frame->locations[i];
			const struct sonde_function *function = sonde_session_function(session, location->function);
			first = first ? first : location;
			if (function && !says_little(function->name))
				return location;
		}
	}
	return first;
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	int by = strcmp(a->file, b->file);
	return by ? by : (a->line > b->line) - (a->line < b->line);
}

static int compare_weights(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->sum.peak_b != b->sum.peak_b)
		return a->sum.peak_b < b->sum.peak_b ? 1 : -1;
	if (a->sum.begun_b != b->sum.begun_b)
		return a->sum.begun_b < b->sum.begun_b ? 1 : -1;
	return compare_places(left, right);
}

static void add(struct sonde_heap_sum *into, const struct sonde_heap_sum *from)
{
	into->begins += from->begins;
	into->begun_b += from->begun_b;
	into->ends += from->ends;
	into->ended_b += from->ended_b;
	into->temporary += from->temporary;
	into->peak_blocks += from->peak_blocks;
	into->peak_b += from->peak_b;
	into->begun_variance += from->begun_variance;
	into->ended_variance += from->ended_variance;
}

static int places_make(struct heap *heap)
{
	size_t sites = sonde_session_heap_site_count(heap->session), count = 0;
	heap->places = calloc(sites + 1, sizeof *heap->places);
	if (!heap->places)
		return sonde_error(ENOMEM, "out of memory for %zu places that allocate", sites);
	for (size_t id = 0; id <= sites; id++) {
		const struct sonde_heap_site *site = sonde_session_heap_site(heap->session, (uint32_t)id);
		const struct sonde_location *location = site ? location_of(heap->session, site->stack) : NULL;
		if (!heap->sums.sites[id].begins)
			continue;
		heap->places[count++] = (struct place){.function = location ? location->function : 0,
						       .line = location ? location->line : 0,
						       .file = location ? location->file : "",
						       .sum = heap->sums.sites[id]};
	}
	qsort(heap->places, count, sizeof *heap->places, compare_places);
	for (size_t i = 0; i < count; i++) {
		struct place *last = heap->place_count ? &heap->places[heap->place_count - 1] : NULL;
		if (last && !compare_places(last, &heap->places[i]))
			add(&last->sum, &heap->places[i].sum);
		else
			heap->places[heap->place_count++] = heap->places[i];
	}
	qsort(heap->places, heap->place_count, sizeof *heap->places, compare_weights);
	return 0;
}

static int row_add(const struct heap *heap, const struct place *place, uint64_t peak_b, struct sonde_report *report,
		   struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_function *function = sonde_session_function(heap->session, place->function);
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a row");
	row[PEAK_SHARE] = sonde_cell_real(sonde_stats_share((double)place->sum.peak_b, (double)peak_b), 0);
	row[PEAK_B] = sonde_cell_int(place->sum.peak_b);
	row[PEAK_BLOCKS] = sonde_cell_int(place->sum.peak_blocks);
	row[BEGUN_B] = sonde_cell_int(place->sum.begun_b);
	row[BEGINS] = sonde_cell_int(place->sum.begins);
	row[TEMPORARY] = sonde_cell_int(place->sum.temporary);
	row[LIVE_B] = sonde_cell_int(place->sum.begun_b - place->sum.ended_b);
	row[LIVE_BLOCKS] = sonde_cell_int(place->sum.begins - place->sum.ends);
	row[FUNCTION] = sonde_cell_text(function ? function->name : "(unknown)");
	row[FILE_NAME] = sonde_cell_text(place->file);
	row[LINE] = sonde_cell_int(place->line);
	return 0;
}

static int heap_finish(void *state, struct sonde_report *report)
{
	struct heap *heap = state;
	size_t limit = heap->options.limit ? heap->options.limit : DEFAULT_ROWS;
	uint64_t peak_b = 0;
	if (!sonde_session_heap_site_count(heap->session))
		return sonde_pass_nothing(&heap->options, report, "heap", "Allocations",
					  "allocations were not recorded: sonde record --heap -- …");
	int rc = sonde_session_heap_sums(heap->session, &heap->sums);
	if (rc == -ENOMEM)
		return rc;
	rc = places_make(heap);
	struct sonde_section *section =
	    sonde_report_table(report, "heap", "Allocations by what was alive at the peak", columns, COLUMNS);
	if (rc == 0 && !section)
		rc = sonde_error(ENOMEM, "out of memory for the heap");
	for (size_t i = 0; rc == 0 && i <= sonde_session_heap_count(heap->session); i++)
		peak_b += heap->sums.heaps[i].peak_b;
	for (size_t i = 0; rc == 0 && i < heap->place_count && i < limit; i++)
		rc = row_add(heap, &heap->places[i], peak_b, report, section);
	if (rc == 0 && heap->place_count > limit)
		section->table.omitted = heap->place_count - limit;
	return rc;
}

const struct sonde_pass sonde_pass_heap = {
    .name = "heap",
    .title = "allocations: by function, at the peak, left at the end",
    .types = 1u << SONDE_CHUNK_HEAP,
    .standard = 1,
    .begin = heap_begin,
    .feed = heap_feed,
    .finish = heap_finish,
    .end = heap_end,
};
