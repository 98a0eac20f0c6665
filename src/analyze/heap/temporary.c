/* temporary.c: blocks freed before the next allocation in their heap, by function: a reused buffer, or a buffer on the
 * stack, would avoid this work. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/heap/places.h"
#include "analyze/marks.h"
#include "analyze/sizes.h"
#include "analyze/statistics/stats.h"
#include "util/error.h"

#define SAMPLED "sampling cannot tell which blocks are temporary; record --heap=full"

enum { DEFAULT_ROWS = 20 };
enum { TEMPORARY, OF_OWN, OF_ALL, RATE, BEGINS, MEAN_B, HEAP, FUNCTION, CALLER, CALLED_FROM, FILE_NAME, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TEMPORARY] = {SONDE_COLUMN_KEY(temporary, temporary), "temporary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [OF_OWN] = {"own_share", "of calls", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [OF_ALL] = {"all_share", "of all", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"per_sec", "per s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 1},
    [BEGINS] = {"allocations", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [MEAN_B] = {"mean_b", "mean size", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [HEAP] = {SONDE_COLUMN_KEY(temporary, heap), "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [FUNCTION] = {SONDE_COLUMN_KEY(temporary, function), "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLER] = {"caller", "called by", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [CALLED_FROM] = {"called_from", "called from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
};

struct whole {
	uint64_t begins, temporary; /* of all heaps */
	double seconds;
	int sampled; /* some heaps are sampled, and left out */
};

static void row_add(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place, const struct whole *whole,
		    struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_heap_sum *sum = &place->sum;
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *from = sonde_heap_called_from(pass, report, place->stack);
	row[TEMPORARY] = sonde_cell_int(sum->temporary);
	row[OF_OWN] = sonde_cell_real(sonde_stats_share((double)sum->temporary, (double)sum->begins), 0);
	row[OF_ALL] = sonde_cell_real(sonde_stats_share((double)sum->temporary, (double)whole->begins), 0);
	row[RATE] = whole->seconds > 0 ? sonde_cell_real((double)sum->temporary / whole->seconds, 0)
				       : sonde_cell_absent("no wall time");
	row[BEGINS] = sonde_cell_int(sum->begins);
	row[MEAN_B] = sum->begins ? sonde_cell_real((double)sum->begun_b / (double)sum->begins, 0)
				  : sonde_cell_absent("nothing was allocated in the selection");
	row[HEAP] = sonde_heap_kind_cell(pass, place->heap);
	row[FUNCTION] = sonde_cell_text(sonde_heap_place_name(pass, place));
	row[CALLER] = sonde_cell_text(sonde_heap_caller(pass, place->stack));
	row[CALLED_FROM] = sonde_cell_text(from);
	row[FILE_NAME] = *place->file ? sonde_cell_text(place->file) : sonde_cell_absent("not known");
}

static int rows_add(const struct sonde_heap_pass *pass, struct whole *whole, struct sonde_report *report,
		    struct sonde_section *section)
{
	size_t limit = pass->options.limit ? pass->options.limit : DEFAULT_ROWS;
	struct sonde_heap_places places;
	int rc = sonde_heap_places_make(&places, pass, 0, SONDE_HEAP_BY_TEMPORARY);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < places.count && places.rows[i].sum.temporary; i++) {
		if (whole->sampled && sonde_heap_is_sampled(pass, places.rows[i].heap))
			continue;
		if (section->table.row_count < limit)
			row_add(pass, &places.rows[i], whole, report, section);
		else
			section->table.omitted++;
	}
	sonde_heap_places_free(&places);
	return 0;
}

static int temporary_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	const char *title = "Temporary allocations by function";
	struct whole whole = {.seconds = sonde_window_s(&pass->window)};
	int rc = sonde_heap_pass_read(pass, report, "temporary", title);
	if (rc)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i <= sonde_session_heap_count(pass->session); i++) {
		if (pass->sums.heaps[i].mean_b) {
			whole.sampled = 1;
			continue;
		}
		whole.begins += pass->sums.heaps[i].begins;
		whole.temporary += pass->sums.heaps[i].temporary;
	}
	if (whole.sampled && !whole.begins)
		return sonde_pass_nothing(&pass->options, report, "temporary", title, SAMPLED);
	const struct sonde_column *shown = whole.sampled ? columns : sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "temporary", title, shown, COLUMNS);
	const char *temporary = sonde_count_text(report, (double)whole.temporary);
	const char *begins = sonde_count_text(report, (double)whole.begins);
	sonde_report_note(report, section, 0,
			  "%s of %s allocations (%.1f %%) were freed before the next one in their heap", temporary,
			  begins, 100 * sonde_stats_share((double)whole.temporary, (double)whole.begins));
	if (rc == 0 && whole.sampled)
		sonde_report_note(report, section, 1, "blocks of malloc are left out: %s", SAMPLED);
	if (rc == 0 && !whole.sampled)
		sonde_heap_pass_notes(pass, report, section);
	return rc < 0 ? rc : rows_add(pass, &whole, report, section);
}

const struct sonde_pass sonde_pass_temporary = {
    .name = "temporary",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "allocations freed before the next one, by function",
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = temporary_finish,
    .end = sonde_heap_pass_end,
};
