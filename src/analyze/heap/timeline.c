/* timeline.c: one heap over time: live bytes and allocated bytes in equal intervals.
 *
 * Heaps are not added up: they peak at different times, and a pool is inside another heap. The heap with the highest
 * peak is shown; --thread selects another process, --heap-of another kind.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/heap/pass.h"
#include "analyze/sizes.h"
#include "analyze/statistics/stats.h"
#include "util/error.h"

#define CHOOSE "choose with --thread or --heap-of (--section heaps)"

enum { DEFAULT_ROWS = 40, ROWS_MAX = 100000 };
enum { FROM, PEAK_B, PEAK_BLOCKS, LIVE_B, LIVE_BLOCKS, CALLS, BYTES, BEGINS, BEGUN_B, MARK, BAR, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [FROM] = {"from_ns", "from", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {"peak_b", "max live", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_BLOCKS] = {"peak_blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [LIVE_B] = {"live_b", "at its end", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [LIVE_BLOCKS] = {"live_blocks", "blocks at end", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [CALLS] = {"allocations_per_sec", "calls/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [BYTES] = {"allocated_b_per_sec", "allocated/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {"allocations", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 6},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 6},
    [MARK] = {"mark", "", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [BAR] = {"bar", "", SONDE_UNIT_BAR, SONDE_BASIS_MEASURED, 0, 1},
};

struct drawing {
	const struct sonde_heap_pass *pass;
	struct sonde_selection range; /* including both ends */
	struct sonde_heap_interval *rows;
	size_t count;
	uint64_t peak_b;
};

static uint64_t edge_ns(const struct drawing *drawing, size_t i)
{
	double span = (double)(drawing->range.to_ns - drawing->range.from_ns);
	return drawing->range.from_ns + (uint64_t)(span * (double)i / (double)drawing->count);
}

static void row_add(const struct drawing *drawing, size_t i, int is_peak, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_heap_interval *interval = &drawing->rows[i];
	uint64_t start_ns = sonde_session_run(drawing->pass->session)->start_ns, from_ns = edge_ns(drawing, i);
	double seconds = (double)(edge_ns(drawing, i + 1) - from_ns) / 1e9;
	struct sonde_cell *row = sonde_report_row(report, section);
	row[FROM] = sonde_cell_int(from_ns > start_ns ? from_ns - start_ns : 0);
	row[PEAK_B] = sonde_heap_cell(drawing->pass, interval->peak_b, 0);
	row[PEAK_BLOCKS] = sonde_heap_cell(drawing->pass, interval->peak_blocks, 0);
	row[LIVE_B] = sonde_heap_cell(drawing->pass, interval->live_b, 0);
	row[LIVE_BLOCKS] = sonde_heap_cell(drawing->pass, interval->live_blocks, 0);
	row[CALLS] = sonde_cell_real(sonde_stats_share((double)interval->begins, seconds), 0);
	row[BYTES] = sonde_cell_real(sonde_stats_share((double)interval->begun_b, seconds), 0);
	row[BEGINS] = sonde_cell_int(interval->begins);
	row[BEGUN_B] = sonde_cell_int(interval->begun_b);
	row[MARK] = sonde_cell_text(is_peak ? "peak" : "");
	row[BAR] = sonde_cell_real(sonde_stats_share((double)interval->peak_b, (double)drawing->peak_b), 0);
}

/* The time from a heap's first allocation to the exit of its process, within the selected time. */
static struct sonde_selection range_of(const struct sonde_heap_pass *pass, uint32_t heap)
{
	const struct sonde_heap *row = sonde_session_heap(pass->session, heap);
	const struct sonde_process *process = row ? sonde_session_process(pass->session, row->process) : NULL;
	struct sonde_selection range = {pass->window.from_ns, pass->window.to_ns, pass->options.selection.thread};
	uint64_t first_ns = pass->sums.heaps[heap].first_ns;
	if (first_ns > range.from_ns && first_ns < range.to_ns)
		range.from_ns = first_ns;
	if (process && process->end_ns && process->end_ns + 1 < range.to_ns && process->end_ns > range.from_ns)
		range.to_ns = process->end_ns + 1;
	return range;
}

static void note_what(const struct drawing *drawing, uint32_t heap, size_t used, struct sonde_report *report,
		      struct sonde_section *section)
{
	const struct sonde_heap_pass *pass = drawing->pass;
	const char *size = sonde_size_text(report, pass->sums.heaps[heap].peak_b, 0);
	sonde_report_note(report, section, 0,
			  "max live: the highest point of each interval; the peak, %s, was at %.3f s", size,
			  sonde_heap_second(pass, pass->sums.heaps[heap].peak_ns));
	if (used < 2 || pass->options.weigh.heap)
		return;
	sonde_report_note(report, section, 0, "of %zu heaps, the one with the highest peak; " CHOOSE, used);
	sonde_report_advise(report, section, SONDE_ACTION_PROCESS, CHOOSE);
}

static void rows_add(struct drawing *drawing, uint64_t peak_ns, struct sonde_report *report,
		     struct sonde_section *section)
{
	size_t at = drawing->count;
	for (size_t i = 0; i < drawing->count && at == drawing->count; i++)
		if (drawing->rows[i].peak_b == drawing->peak_b && peak_ns < edge_ns(drawing, i + 1))
			at = i;
	for (size_t i = 0; i < drawing->count; i++)
		row_add(drawing, i, i == at, report, section);
}

static int draw(const struct sonde_heap_pass *pass, uint32_t heap, size_t used, struct sonde_report *report)
{
	struct drawing drawing = {.pass = pass, .range = range_of(pass, heap)};
	const char *name = sonde_heap_text(pass, report, heap);
	const char *title = name ? sonde_report_text(report, "The heap over time: %s", name) : NULL;
	const struct sonde_column *shown = sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "timeline", title, shown, COLUMNS);
	int is_given = pass->options.requested && pass->options.limit; /* in a whole report the limit applies to rows */
	size_t count = is_given ? pass->options.limit : DEFAULT_ROWS;
	drawing.count = count < ROWS_MAX ? count : ROWS_MAX;
	drawing.rows = calloc(drawing.count, sizeof *drawing.rows);
	if (!drawing.rows)
		return sonde_error(ENOMEM, "out of memory for a timeline");
	/* Other errors are damaged chunks, which the notes report. */
	int rc = sonde_session_heap_timeline(pass->session, heap, &drawing.range, drawing.rows, drawing.count);
	if (rc != -ENOMEM) {
		drawing.peak_b = pass->sums.heaps[heap].peak_b;
		note_what(&drawing, heap, used, report, section);
		sonde_heap_pass_notes(pass, report, section);
		rows_add(&drawing, pass->sums.heaps[heap].peak_ns, report, section);
	}
	free(drawing.rows);
	return rc == -ENOMEM ? rc : 0;
}

/* The heap with the highest peak among those of the kind given by --heap-of; there is at least one. */
static uint32_t highest_of(const struct sonde_heap_pass *pass)
{
	uint32_t best = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_count(pass->session); id++)
		if (sonde_weigh_is_of(&pass->options.weigh, sonde_session_heap(pass->session, id)) &&
		    (!best || pass->sums.heaps[id].peak_b > pass->sums.heaps[best].peak_b))
			best = id;
	return best;
}

static int timeline_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	uint32_t highest;
	int rc = sonde_heap_pass_read(pass, report, "timeline", "The heap over time");
	if (rc)
		return rc < 0 ? rc : 0;
	size_t used = sonde_heap_used(pass, &highest);
	return draw(pass, pass->options.weigh.heap ? highest_of(pass) : highest, used, report);
}

const struct sonde_pass sonde_pass_timeline = {
    .name = "timeline",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "heap over time: live bytes, allocations per second",
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = timeline_finish,
    .end = sonde_heap_pass_end,
};
