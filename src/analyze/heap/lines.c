/* lines.c: allocations by source line of the innermost function that does not belong to an allocator. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/heap/places.h"
#include "analyze/statistics/stats.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum {
	PLACE,
	PEAK_SHARE,
	PEAK_B,
	PEAK_BLOCKS,
	BEGUN_B,
	BEGINS,
	LEFT_B,
	LEFT_BLOCKS,
	HEAP,
	FUNCTION,
	FILE_NAME,
	LINE,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [PLACE] = {"place", "line", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_SHARE] = {"peak_share", "at peak", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {"peak_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_BLOCKS] = {"peak_blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {"allocations", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [LEFT_B] = {"left_b", "at exit", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LEFT_BLOCKS] = {"left_blocks", "blocks at exit", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [HEAP] = {"heap", "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
    [LINE] = {"line", "number", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 8},
};

/* "json.c:120", or the module if lines are unknown. */
static const char *place_text(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place,
			      struct sonde_report *report)
{
	const struct sonde_function *function = sonde_session_function(pass->session, place->function);
	const struct sonde_module *module = function ? sonde_session_module(pass->session, function->module) : NULL;
	const char *slash = strrchr(place->file, '/');
	if (*place->file && place->line)
		return sonde_report_text(report, "%s:%u", slash ? slash + 1 : place->file, place->line);
	return module && *module->name ? sonde_report_text(report, "(%s)", module->name) : "(unknown)";
}

static void row_add(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place,
		    struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_heap_sum *sum = &place->sum;
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *text = place_text(pass, place, report);
	uint64_t peak_b = sonde_heap_peak_of(pass, place->heap);
	row[PLACE] = sonde_cell_text(text);
	row[PEAK_SHARE] = sonde_cell_real(sonde_stats_share((double)sum->peak_b, (double)peak_b), 0);
	row[PEAK_B] = sonde_heap_cell(pass, sum->peak_b, sum->peak_variance);
	row[PEAK_BLOCKS] = sonde_heap_cell(pass, sum->peak_blocks, 0);
	row[BEGUN_B] = sonde_heap_cell(pass, sum->begun_b, sum->begun_variance);
	row[BEGINS] = sonde_heap_cell(pass, sum->begins, 0);
	row[LEFT_B] = sonde_heap_cell(pass, sum->left_b, sum->left_variance);
	row[LEFT_BLOCKS] = sonde_heap_cell(pass, sum->left_blocks, 0);
	row[HEAP] = sonde_heap_kind_cell(pass, place->heap);
	row[FUNCTION] = sonde_cell_text(sonde_heap_place_name(pass, place));
	row[FILE_NAME] = *place->file ? sonde_cell_text(place->file) : sonde_cell_absent("no line information");
	row[LINE] = place->line ? sonde_cell_int(place->line) : sonde_cell_absent("no line information");
}

static void note_unknown(const struct sonde_heap_places *places, struct sonde_report *report,
			 struct sonde_section *section)
{
	uint64_t without_b = 0, all_b = 0;
	for (size_t i = 0; i < places->count; i++) {
		all_b += places->rows[i].sum.begun_b;
		without_b += places->rows[i].line ? 0 : places->rows[i].sum.begun_b;
	}
	if (!without_b)
		return;
	sonde_report_note(report, section, 1,
			  "%.1f %% of the bytes come from code without line information: compile with -g, or add "
			  "--debuginfod",
			  100 * sonde_stats_share((double)without_b, (double)all_b));
}

static int lines_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	const char *title = "Allocations by source line, by bytes live at the peak";
	size_t limit = pass->options.limit ? pass->options.limit : DEFAULT_ROWS;
	struct sonde_heap_places places;
	int rc = sonde_heap_pass_read(pass, report, "heap-lines", title);
	if (rc)
		return rc < 0 ? rc : 0;
	const struct sonde_column *shown = sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "heap-lines", title, shown, COLUMNS);
	rc = sonde_heap_places_make(&places, pass, 1, SONDE_HEAP_BY_PEAK);
	if (rc < 0)
		return rc;
	sonde_heap_pass_notes(pass, report, section);
	note_unknown(&places, report, section);
	for (size_t i = 0; rc == 0 && i < places.count && i < limit; i++)
		row_add(pass, &places.rows[i], report, section);
	section->table.omitted = places.count > limit ? places.count - limit : 0;
	sonde_heap_places_free(&places);
	return 0;
}

const struct sonde_pass sonde_pass_heap_lines = {
    .name = "heap-lines",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "allocations by source line (also with lines, where recorded)",
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = lines_finish,
    .end = sonde_heap_pass_end,
};
