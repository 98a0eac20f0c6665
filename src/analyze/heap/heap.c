/* heap.c: the heap in a few notes, and which functions allocated what: in total, at the peak, and live at exit.
 *
 * Shares are relative to the peak of the heaps that contain a function's blocks (malloc's, mappings or a pool), summed
 * over the peaks of all processes.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/heap/places.h"
#include "analyze/sizes.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

#define HEAPS "--section heaps"

enum { DEFAULT_ROWS = 20, SENTENCES_MAX = 4 };
enum {
	PEAK_SHARE,
	PEAK_B,
	PEAK_BLOCKS,
	BEGUN_B,
	BEGINS,
	TEMPORARY,
	LIVE_B,
	LIVE_BLOCKS,
	LARGEST_B,
	HEAP,
	FUNCTION,
	CALLER,
	CALLED_FROM,
	FILE_NAME,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [PEAK_SHARE] = {SONDE_COLUMN_KEY(heap, peak_share), "at peak", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {SONDE_COLUMN_KEY(heap, peak_b), "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_BLOCKS] = {SONDE_COLUMN_KEY(heap, peak_blocks), "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {"allocations", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [TEMPORARY] = {"temporary", "temporary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [LIVE_B] = {"left_b", "at exit", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LIVE_BLOCKS] = {"left_blocks", "blocks at exit", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [LARGEST_B] = {"largest_b", "largest", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 5},
    [HEAP] = {"heap", "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [FUNCTION] = {SONDE_COLUMN_KEY(heap, function), "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLER] = {"caller", "called by", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [CALLED_FROM] = {"called_from", "called from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
};

/* --- the notes --------------------------------------------------------------------------------------------------- */

/* The site with the largest block of a heap; 0 = none. */
static uint32_t largest_of(const struct sonde_heap_pass *pass, uint32_t heap)
{
	uint32_t best = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_site_count(pass->session); id++)
		if (sonde_session_heap_site(pass->session, id)->heap == heap &&
		    pass->sums.sites[id].largest_b > pass->sums.sites[best].largest_b)
			best = id;
	return pass->sums.sites[best].largest_b ? best : 0;
}

static double variance_of(const struct sonde_heap_pass *pass, uint32_t heap, size_t offset)
{
	double variance = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_site_count(pass->session); id++)
		if (sonde_session_heap_site(pass->session, id)->heap == heap)
			variance += *(const double *)(const void *)((const char *)&pass->sums.sites[id] + offset);
	return variance;
}

static void note_largest(const struct sonde_heap_pass *pass, uint32_t heap, struct sonde_report *report,
			 struct sonde_section *section)
{
	uint32_t site = largest_of(pass, heap);
	if (!site)
		return;
	const char *size = sonde_size_text(report, pass->sums.sites[site].largest_b, 0);
	const char *where = sonde_heap_stack_text(pass, report, sonde_session_heap_site(pass->session, site)->stack);
	sonde_report_note(report, section, 0, "largest block%s: %s, by %s",
			  pass->sums.heaps[heap].mean_b ? " that was sampled" : "", size, where);
}

/* How long the heap's process lived within the selected time. */
static double life_s(const struct sonde_heap_pass *pass, uint32_t heap)
{
	const struct sonde_heap *row = sonde_session_heap(pass->session, heap);
	const struct sonde_process *process = row ? sonde_session_process(pass->session, row->process) : NULL;
	struct sonde_window life = pass->window;
	if (process && process->start_ns > life.from_ns && process->start_ns < life.to_ns)
		life.from_ns = process->start_ns;
	if (process && process->end_ns > life.from_ns && process->end_ns < life.to_ns)
		life.to_ns = process->end_ns;
	return sonde_window_s(&life);
}

static int note_heap(const struct sonde_heap_pass *pass, uint32_t heap, int named, struct sonde_report *report,
		     struct sonde_section *section)
{
	const struct sonde_heap_total *total = &pass->sums.heaps[heap];
	double seconds = life_s(pass, heap);
	const char *name = named ? sonde_heap_text(pass, report, heap) : "";
	const char *peak = sonde_size_text(report, total->peak_b,
					   variance_of(pass, heap, offsetof(struct sonde_heap_sum, peak_variance)));
	const char *left = sonde_size_text(report, total->left_b,
					   variance_of(pass, heap, offsetof(struct sonde_heap_sum, left_variance)));
	const char *all = sonde_size_text(report, total->begun_b,
					  variance_of(pass, heap, offsetof(struct sonde_heap_sum, begun_variance)));
	const char *rate = sonde_size_text(report, (uint64_t)((double)total->begun_b / (seconds > 0 ? seconds : 1)), 0);
	const char *calls = sonde_count_text(report, (double)total->begins / (seconds > 0 ? seconds : 1));
	const char *counts[] = {sonde_count_text(report, (double)total->peak_blocks),
				sonde_count_text(report, (double)total->left_blocks),
				sonde_count_text(report, (double)total->begins)};
	const char *temporary =
	    total->mean_b ? ""
			  : sonde_report_text(report, ", %.1f %% temporary",
					      100 * sonde_stats_share((double)total->temporary, (double)total->begins));
	const char *largest = sonde_size_text(report, pass->sums.sites[largest_of(pass, heap)].largest_b, 0);
	if (!counts[0] || !counts[1] || !counts[2])
		return sonde_error(ENOMEM, "out of memory for the heap");
	if (*name) {
		sonde_report_note(report, section, 0,
				  "%s: peak %s in %s block%s at %.3f s; at exit %s live in %s block%s", name, peak,
				  counts[0], sonde_plural(total->peak_blocks), sonde_heap_second(pass, total->peak_ns),
				  left, counts[1], sonde_plural(total->left_blocks));
		sonde_report_note(report, section, 0, "%s: %s allocation%s of %s (%s/s, %s/s)%s; largest %s", name,
				  counts[2], sonde_plural(total->begins), all, calls, rate, temporary, largest);
		return 0;
	}
	sonde_report_note(report, section, 0, "peak %s in %s block%s at %.3f s; at exit %s live in %s block%s", peak,
			  counts[0], sonde_plural(total->peak_blocks), sonde_heap_second(pass, total->peak_ns), left,
			  counts[1], sonde_plural(total->left_blocks));
	sonde_report_note(report, section, 0, "%s allocation%s of %s (%s/s, %s/s)%s", counts[2],
			  sonde_plural(total->begins), all, calls, rate, temporary);
	note_largest(pass, heap, report, section);
	return 0;
}

struct ranked {
	uint32_t heap;
	uint64_t peak_b;
};

static int compare_peaks(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->peak_b != b->peak_b)
		return a->peak_b < b->peak_b ? 1 : -1;
	return a->heap < b->heap ? -1 : 1;
}

/* Notes the heaps with the highest peaks, one sentence each. */
static int note_heaps(const struct sonde_heap_pass *pass, struct sonde_report *report, struct sonde_section *section)
{
	size_t heaps = sonde_session_heap_count(pass->session), used = sonde_heap_used(pass, NULL), count = 0;
	struct ranked *ranked = calloc(heaps + 1, sizeof *ranked);
	if (!ranked)
		return sonde_error(ENOMEM, "out of memory for the heap");
	for (uint32_t id = 1; id <= heaps; id++)
		if (pass->sums.heaps[id].begins || pass->sums.heaps[id].peak_b)
			ranked[count++] = (struct ranked){id, pass->sums.heaps[id].peak_b};
	qsort(ranked, count, sizeof *ranked, compare_peaks);
	size_t shown = count < SENTENCES_MAX + 1 ? count : SENTENCES_MAX - 1;
	int rc = 0;
	for (size_t i = 0; i < shown && rc == 0; i++)
		rc = note_heap(pass, ranked[i].heap, used > 1, report, section);
	if (rc == 0 && count > shown) {
		sonde_report_note(report, section, 0, "%zu more heaps, with lower peaks: " HEAPS, count - shown);
		if (!rc)
			sonde_report_advise(report, section, SONDE_ACTION_SECTION, HEAPS);
	}
	free(ranked);
	return rc;
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static void row_add(const struct sonde_heap_pass *pass, const struct sonde_heap_place *place,
		    struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_heap_sum *sum = &place->sum;
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *from = sonde_heap_called_from(pass, report, place->stack);
	uint64_t peak_b = sonde_heap_peak_of(pass, place->heap);
	row[PEAK_SHARE] = sonde_cell_real(sonde_stats_share((double)sum->peak_b, (double)peak_b), 0);
	row[PEAK_B] = sonde_heap_cell(pass, sum->peak_b, sum->peak_variance);
	row[PEAK_BLOCKS] = sonde_heap_cell(pass, sum->peak_blocks, 0);
	row[BEGUN_B] = sonde_heap_cell(pass, sum->begun_b, sum->begun_variance);
	row[BEGINS] = sonde_heap_cell(pass, sum->begins, 0);
	row[TEMPORARY] = sonde_heap_is_sampled(pass, place->heap)
			     ? sonde_cell_absent("temporary allocations need --heap=full")
			     : sonde_cell_int(sum->temporary);
	row[LIVE_B] = sonde_heap_cell(pass, sum->left_b, sum->left_variance);
	row[LIVE_BLOCKS] = sonde_heap_cell(pass, sum->left_blocks, 0);
	row[LARGEST_B] = sum->largest_b ? sonde_cell_int(sum->largest_b) : sonde_cell_absent("nothing was allocated");
	row[HEAP] = sonde_heap_kind_cell(pass, place->heap);
	row[FUNCTION] = sonde_cell_text(sonde_heap_place_name(pass, place));
	row[CALLER] = sonde_cell_text(sonde_heap_caller(pass, place->stack));
	row[CALLED_FROM] = sonde_cell_text(from);
	row[FILE_NAME] = *place->file ? sonde_cell_text(place->file) : sonde_cell_absent("not known");
}

static int rows_add(const struct sonde_heap_pass *pass, struct sonde_report *report, struct sonde_section *section)
{
	size_t limit = pass->options.limit ? pass->options.limit : DEFAULT_ROWS;
	struct sonde_heap_places places;
	int rc = sonde_heap_places_make(&places, pass, 0, SONDE_HEAP_BY_PEAK);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < places.count && i < limit; i++)
		row_add(pass, &places.rows[i], report, section);
	section->table.omitted = places.count > limit ? places.count - limit : 0;
	sonde_heap_places_free(&places);
	return 0;
}

/* True if nothing is sampled or missing. */
static int is_exact(const struct sonde_heap_pass *pass)
{
	const struct sonde_session *session = pass->session;
	if (sonde_heap_pass_mean_b(pass) || pass->unread || pass->window.held || !sonde_session_run(session)->closed)
		return 0;
	return !sonde_session_lost_of(session, "heap");
}

static int heap_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	const char *title = "Allocations by function, by bytes live at the peak";
	int rc = sonde_heap_pass_read(pass, report, "heap", "Allocations");
	if (rc)
		return rc < 0 ? rc : 0;
	const struct sonde_column *shown = sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "heap", title, shown, COLUMNS);
	rc = note_heaps(pass, report, section);
	if (rc == 0 && is_exact(pass))
		sonde_report_note(report, section, 0, "every intercepted call was recorded: these figures are exact");
	if (rc == 0)
		sonde_heap_pass_notes(pass, report, section);
	return rc < 0 ? rc : rows_add(pass, report, section);
}

const struct sonde_pass sonde_pass_heap = {
    .name = "heap",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "allocations by function: peak, rate, largest, live at exit",
    .standard = 1,
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = heap_finish,
    .end = sonde_heap_pass_end,
};
