/* threads.c: allocations by the thread that made them, whichever thread freed them. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/heap/places.h"
#include "analyze/statistics/stats.h"
#include "analyze/window.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { THREAD, TID, PEAK_SHARE, PEAK_B, BEGUN_B, BEGINS, RATE, LEFT_B, LEFT_BLOCKS, HEAP, PROCESS, PID, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [THREAD] = {"thread", "thread", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [TID] = {"tid", "tid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_SHARE] = {"peak_share", "at peak", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {"peak_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {"allocations", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"per_sec", "calls/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [LEFT_B] = {"left_b", "at exit", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LEFT_BLOCKS] = {"left_blocks", "blocks at exit", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [HEAP] = {"heap", "heap", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 4},
};

/* One thread's part of one heap. */
struct row {
	uint32_t thread, heap;
	struct sonde_heap_sum sum;
};

static int compare_keys(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->heap > b->heap) - (a->heap < b->heap);
}

static int compare_values(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->sum.peak_b != b->sum.peak_b)
		return a->sum.peak_b < b->sum.peak_b ? 1 : -1;
	if (a->sum.begun_b != b->sum.begun_b)
		return a->sum.begun_b < b->sum.begun_b ? 1 : -1;
	return compare_keys(left, right);
}

/* Returns the number of rows; `rows` has capacity for every site. */
static size_t rows_take(const struct sonde_heap_pass *pass, struct row *rows)
{
	size_t count = 0, kept = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_site_count(pass->session); id++) {
		const struct sonde_heap_site *site = sonde_session_heap_site(pass->session, id);
		const struct sonde_heap_sum *sum = &pass->sums.sites[id];
		if (sum->begins || sum->ends || sum->peak_b || sum->left_b)
			rows[count++] = (struct row){site->thread, site->heap, *sum};
	}
	qsort(rows, count, sizeof *rows, compare_keys);
	for (size_t i = 0; i < count; i++) {
		if (kept && !compare_keys(&rows[kept - 1], &rows[i]))
			sonde_heap_sum_add(&rows[kept - 1].sum, &rows[i].sum);
		else
			rows[kept++] = rows[i];
	}
	qsort(rows, kept, sizeof *rows, compare_values);
	return kept;
}

static void row_add(const struct sonde_heap_pass *pass, const struct row *from, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_thread *thread = sonde_session_thread(pass->session, from->thread);
	const struct sonde_heap *heap = sonde_session_heap(pass->session, from->heap);
	const struct sonde_process *process = heap ? sonde_session_process(pass->session, heap->process) : NULL;
	const struct sonde_heap_sum *sum = &from->sum;
	double seconds = sonde_window_s(&pass->window);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[THREAD] = sonde_cell_text(thread ? thread->name : "(unknown)");
	row[TID] = thread ? sonde_cell_int(thread->tid) : sonde_cell_absent("not known");
	uint64_t peak_b = heap ? pass->sums.heaps[from->heap].peak_b : 0;
	row[PEAK_SHARE] = sonde_cell_real(sonde_stats_share((double)sum->peak_b, (double)peak_b), 0);
	row[PEAK_B] = sonde_heap_cell(pass, sum->peak_b, sum->peak_variance);
	row[BEGUN_B] = sonde_heap_cell(pass, sum->begun_b, sum->begun_variance);
	row[BEGINS] = sonde_heap_cell(pass, sum->begins, 0);
	row[RATE] = seconds > 0 ? sonde_cell_real((double)sum->begins / seconds, 0) : sonde_cell_absent("no wall time");
	row[LEFT_B] = sonde_heap_cell(pass, sum->left_b, sum->left_variance);
	row[LEFT_BLOCKS] = sonde_heap_cell(pass, sum->left_blocks, 0);
	row[HEAP] = sonde_heap_kind_cell(pass, heap);
	row[PROCESS] = process ? sonde_cell_text(process->name) : sonde_cell_absent("not known");
	row[PID] = process ? sonde_cell_int(process->pid) : sonde_cell_absent("not known");
}

static int threads_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	const char *title = "Allocations by thread";
	size_t limit = pass->options.limit ? pass->options.limit : DEFAULT_ROWS;
	int rc = sonde_heap_pass_read(pass, report, "heap-threads", title);
	if (rc)
		return rc < 0 ? rc : 0;
	const struct sonde_column *shown = sonde_heap_columns(pass, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "heap-threads", title, shown, COLUMNS);
	struct row *rows = calloc(sonde_session_heap_site_count(pass->session) + 1, sizeof *rows);
	if (!rows)
		return sonde_error(ENOMEM, "out of memory for threads");
	size_t count = rows_take(pass, rows);
	sonde_report_note(report, section, 0,
			  "blocks allocated by a thread, freed by any; shares are of the process's peak");
	if (!rc)
		sonde_heap_pass_notes(pass, report, section);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(pass, &rows[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	free(rows);
	return rc;
}

const struct sonde_pass sonde_pass_heap_threads = {
    .name = "heap-threads",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "allocations by thread",
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = threads_finish,
    .end = sonde_heap_pass_end,
};
