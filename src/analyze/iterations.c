/* iterations.c: iteration marks: how many, how regular, how many a second, how many items a second.
 *
 * A mark ends an iteration that began at the mark before it in the same thread; the first mark of a thread only starts
 * the clock. Throughput is Σ items ÷ Σ time of a thread, added over threads that work side by side.
 */
#include "analyze/marks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/stats.h"
#include "util/error.h"

enum { NAME, COUNT, MEAN, STD, MIN, MAX, RATE, ITEMS, ITEM_RATE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"iteration", "iteration", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [COUNT] = {"marks", "marks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [STD] = {"std_ns", "std", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [MIN] = {"min_ns", "min", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [MAX] = {"max_ns", "max", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"iterations_per_sec", "iterations/s", SONDE_UNIT_HZ, SONDE_BASIS_MEASURED, 0, 0},
    [ITEMS] = {"items", "items", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [ITEM_RATE] = {"samples_per_sec", "items/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
};

struct sums {
	struct sonde_moments intervals;
	uint64_t marks, min_ns, max_ns;
	double items, rate_hz, item_rate;
};

static int iterations_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	return sonde_marks_new(state, session, options, 1u << SONDE_EVENT_ITERATION);
}

static int compare(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The marks of one thread and site, in time order. */
static void thread_add(struct sums *sums, const struct sonde_mark *marks, size_t count)
{
	double items = 0, seconds = (double)(marks[count - 1].time_ns - marks[0].time_ns) / 1e9;
	sums->marks += count;
	for (size_t i = 0; i < count; i++) {
		sums->items += marks[i].value;
		if (i == 0)
			continue;
		uint64_t interval_ns = marks[i].time_ns - marks[i - 1].time_ns;
		sums->min_ns = !sums->intervals.count || interval_ns < sums->min_ns ? interval_ns : sums->min_ns;
		sums->max_ns = interval_ns > sums->max_ns ? interval_ns : sums->max_ns;
		sonde_moments_add(&sums->intervals, (double)interval_ns);
		items += marks[i].value;
	}
	sums->rate_hz += sonde_stats_share((double)(count - 1), seconds);
	sums->item_rate += sonde_stats_share(items, seconds);
}

static int row_add(const struct sonde_marks *marks, uint32_t id, const struct sums *sums, struct sonde_report *report,
		   struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_site *site = sonde_session_site(marks->session, id);
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a row");
	row[NAME] = sonde_cell_text(site ? site->name : "(unnamed)");
	row[COUNT] = sonde_cell_int(sums->marks);
	row[ITEMS] = sonde_cell_real(sums->items, 0);
	if (!sums->intervals.count) {
		row[MEAN] = row[STD] = row[MIN] = row[MAX] = row[RATE] = row[ITEM_RATE] =
		    sonde_cell_absent("needs two marks in one thread");
		return 0;
	}
	row[MEAN] = sonde_cell_real(sums->intervals.mean, 0);
	row[STD] = sums->intervals.count > 1 ? sonde_cell_real(sonde_moments_std(&sums->intervals), 0)
					     : sonde_cell_absent("one value has no spread");
	row[MIN] = sonde_cell_int(sums->min_ns);
	row[MAX] = sonde_cell_int(sums->max_ns);
	row[RATE] = sonde_cell_real(sums->rate_hz, 0);
	row[ITEM_RATE] = sums->items > 0 ? sonde_cell_real(sums->item_rate, 0) : sonde_cell_absent("no items given");
	return 0;
}

/* One site: its marks, thread after thread. */
static int site_add(const struct sonde_marks *all, const struct sonde_mark *marks, size_t count,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sums sums = {0};
	for (size_t i = 0, end; i < count; i = end) {
		end = i + 1;
		while (end < count && marks[end].thread == marks[i].thread)
			end++;
		thread_add(&sums, marks + i, end - i);
	}
	return row_add(all, marks[0].site, &sums, report, section);
}

static int iterations_finish(void *state, struct sonde_report *report)
{
	struct sonde_marks *marks = state;
	if (!marks->count)
		return sonde_pass_nothing(
		    &marks->options, report, "iterations", "Iterations",
		    "no iteration marks: call sonde_iteration() (sonde/sonde.h) at the end of each turn "
		    "of the main loop");
	qsort(marks->marks, marks->count, sizeof *marks->marks, compare);
	struct sonde_section *section = sonde_report_table(report, "iterations", "Iterations", columns, COLUMNS);
	int rc = section ? 0 : sonde_error(ENOMEM, "out of memory for iterations");
	for (size_t i = 0, end; rc == 0 && i < marks->count; i = end) {
		end = i + 1;
		while (end < marks->count && marks->marks[end].site == marks->marks[i].site)
			end++;
		rc = site_add(marks, marks->marks + i, end - i, report, section);
	}
	if (rc < 0)
		return rc;
	return sonde_report_note(
	    report, section, 0,
	    "an iteration lasts from the mark before it in the same thread; items/s = Σ items ÷ Σ time, "
	    "added over threads");
}

const struct sonde_pass sonde_pass_iterations = {
    .name = "iterations",
    .title = "iteration marks: intervals, iterations/s, items/s",
    .types = 1u << SONDE_CHUNK_EVENTS,
    .standard = 1,
    .begin = iterations_begin,
    .feed = sonde_marks_feed,
    .merge = sonde_marks_merge,
    .finish = iterations_finish,
    .end = sonde_marks_end,
};
