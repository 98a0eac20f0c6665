/* iterations.c: iterations: their number, regularity, rate, and items per second.
 *
 * An iteration event ends an iteration that began at the previous event of the same thread; a thread's first event only
 * starts the clock. Throughput is Σ items ÷ Σ time of a thread, summed over concurrent threads.
 *
 * Each thread's iterations are tested for stationarity (statistics/stationarity.h); a row gets the worst verdict of its
 * threads, and its steady mean covers the stationary parts of all of them.
 */
#include "analyze/marks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "analyze/statistics/stationarity.h"
#include "util/error.h"

enum {
	NAME,
	COUNT,
	MEAN,
	STD,
	MIN,
	MAX,
	RATE,
	ITEMS,
	ITEM_RATE,
	STATIONARITY,
	WARM_UP,
	STATIONARY_MEAN,
	DRIFT,
	COLUMNS
};

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
    [STATIONARITY] = {"steady", "steady", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
    [WARM_UP] = {"warm_up", "warm-up", SONDE_UNIT_COUNT, SONDE_BASIS_ESTIMATED, 0, 1},
    [STATIONARY_MEAN] = {"steady_mean_ns", "steady mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [DRIFT] = {"drift_share", "drift", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
};

struct sums {
	struct sonde_moments intervals;
	uint64_t marks, min_ns, max_ns;
	double items, rate_hz, item_rate;
	/* These members cover only threads with enough iterations. */
	size_t looked_at, warm_up, stationary_count;
	enum sonde_stationarity_verdict verdict;    /* worst of all threads */
	double stationary_sum, stationary_variance; /* sum over stationary iterations, and its variance */
	double drift;                               /* Σ of drifts, weighted by iterations */
	size_t changes_at;
	double change;
};

static int iterations_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	sonde_marks_init(state, session, options, 1u << SONDE_EVENT_ITERATION);
	return 0;
}

/* Adds the iteration events of one thread and site, in time order. */
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

/* A thread with too few events is ignored, next to others that have enough. */
static int thread_check(struct sums *sums, const struct sonde_mark *marks, size_t count, size_t tests)
{
	struct sonde_stationarity stationarity;
	double *values = count > 1 ? malloc((count - 1) * sizeof *values) : NULL;
	if (count < 2)
		return 0;
	if (!values)
		return sonde_error(ENOMEM, "out of memory for %zu iterations", count);
	for (size_t i = 1; i < count; i++)
		values[i - 1] = (double)(marks[i].time_ns - marks[i - 1].time_ns);
	int rc = sonde_stationarity_check(&stationarity, values, count - 1, tests);
	free(values);
	if (rc || stationarity.verdict == SONDE_STATIONARITY_TOO_FEW)
		return rc;
	double stationary_count = (double)stationarity.count, half = stationarity.half * stationary_count;
	sums->looked_at++;
	sums->warm_up = stationarity.warm_up > sums->warm_up ? stationarity.warm_up : sums->warm_up;
	sums->stationary_count += stationarity.count;
	sums->stationary_sum += stationarity.mean * stationary_count;
	sums->stationary_variance += half * half;
	sums->drift += stationarity.drift * stationary_count;
	if (stationarity.verdict > sums->verdict ||
	    (stationarity.verdict == sums->verdict && fabs(stationarity.change) > fabs(sums->change))) {
		sums->changes_at = stationarity.changes_at;
		sums->change = stationarity.change;
	}
	sums->verdict = stationarity.verdict > sums->verdict ? stationarity.verdict : sums->verdict;
	return 0;
}

/* Notes what is not stationary. */
static void note_unstationary(const char *name, const struct sums *sums, struct sonde_report *report,
			      struct sonde_section *section)
{
	if (sums->verdict == SONDE_STATIONARITY_DRIFTS) {
		sonde_report_note(
		    report, section, 0, "%s is not steady: iterations become %.1f %% %s from first to last", name,
		    100 * fabs(sums->drift / (double)sums->stationary_count), sums->drift > 0 ? "longer" : "shorter");
	} else if (sums->verdict == SONDE_STATIONARITY_JUMPS) {
		sonde_report_note(report, section, 0,
				  "%s is not steady: at iteration %zu its time changes by %+.1f %%, too late for a "
				  "warm-up",
				  name, sums->changes_at + 1, 100 * sums->change);
	} else if (sums->verdict == SONDE_STATIONARITY_YES && sums->warm_up) {
		sonde_report_note(report, section, 0, "%s is steady after a warm-up of %zu iteration%s", name,
				  sums->warm_up, sums->warm_up == 1 ? "" : "s");
	}
}

static void stationary_cells(const struct sums *sums, struct sonde_cell *row)
{
	static const char *const words[] = {[SONDE_STATIONARITY_YES] = "yes",
					    [SONDE_STATIONARITY_DRIFTS] = "drifts",
					    [SONDE_STATIONARITY_JUMPS] = "jumps"};
	if (!sums->looked_at) {
		row[STATIONARITY] = row[WARM_UP] = row[STATIONARY_MEAN] = row[DRIFT] =
		    sonde_cell_absent("too few: 21 marks in one thread are needed");
		return;
	}
	row[STATIONARITY] = sonde_cell_text(words[sums->verdict]);
	row[DRIFT] = sonde_cell_real(sums->drift / (double)sums->stationary_count, 0);
	if (sums->verdict == SONDE_STATIONARITY_YES) {
		row[WARM_UP] = sonde_cell_int(sums->warm_up);
		row[STATIONARY_MEAN] =
		    sonde_cell_real(sums->stationary_sum / (double)sums->stationary_count,
				    sqrt(sums->stationary_variance) / (double)sums->stationary_count);
	} else {
		row[WARM_UP] = row[STATIONARY_MEAN] = sonde_cell_absent("not steady, so it has no mean");
	}
}

static void row_add(const struct sonde_annotations *marks, uint32_t id, const struct sums *sums,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_site *site = sonde_session_site(marks->session, id);
	row[NAME] = sonde_cell_text(site ? site->name : "(unnamed)");
	row[COUNT] = sonde_cell_int(sums->marks);
	row[ITEMS] = sonde_cell_real(sums->items, 0);
	if (!sums->intervals.count) {
		row[MEAN] = row[STD] = row[MIN] = row[MAX] = row[RATE] = row[ITEM_RATE] =
		    sonde_cell_absent("two marks in one thread are needed");
		stationary_cells(sums, row);
		return;
	}
	row[MEAN] = sonde_cell_real(sums->intervals.mean, 0);
	row[STD] = sums->intervals.count > 1 ? sonde_cell_real(sonde_moments_std(&sums->intervals), 0)
					     : sonde_cell_absent("one value has no spread");
	row[MIN] = sonde_cell_int(sums->min_ns);
	row[MAX] = sonde_cell_int(sums->max_ns);
	row[RATE] = sonde_cell_real(sums->rate_hz, 0);
	stationary_cells(sums, row);
	row[ITEM_RATE] = sums->items > 0 ? sonde_cell_real(sums->item_rate, 0) : sonde_cell_absent("no items given");
}

static size_t thread_end(const struct sonde_mark *marks, size_t count, size_t i)
{
	size_t end = i + 1;
	while (end < count && marks[end].thread == marks[i].thread)
		end++;
	return end;
}

/* Adds one site: its events, thread by thread. */
static int site_add(const struct sonde_annotations *all, const struct sonde_mark *marks, size_t count,
		    struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_site *site = sonde_session_site(all->session, marks[0].site);
	struct sums sums = {0};
	size_t tests = 0;
	int rc = 0;
	for (size_t i = 0, end; i < count; i = end) {
		end = thread_end(marks, count, i);
		thread_add(&sums, marks + i, end - i);
		tests += end - i > SONDE_STATIONARITY_LEAST;
	}
	for (size_t i = 0, end; rc == 0 && i < count; i = end) {
		end = thread_end(marks, count, i);
		rc = thread_check(&sums, marks + i, end - i, tests);
	}
	if (!rc)
		row_add(all, marks[0].site, &sums, report, section);
	if (!rc)
		note_unstationary(site ? site->name : "(unnamed)", &sums, report, section);
	return rc;
}

static int iterations_finish(void *state, struct sonde_report *report)
{
	struct sonde_annotations *marks = state;
	if (!marks->count)
		return sonde_pass_nothing(&marks->options, report, "iterations", "Iterations",
					  "no iteration marks: call sonde_iteration() (sonde/sonde.h) at the end of "
					  "each iteration of the main loop");
	sonde_marks_sort_by_thread(marks);
	struct sonde_section *section = sonde_report_table(report, "iterations", "Iterations", columns, COLUMNS);
	int rc = 0;
	for (size_t i = 0, end; rc == 0 && i < marks->count; i = end) {
		end = i + 1;
		while (end < marks->count && marks->marks[end].site == marks->marks[i].site)
			end++;
		rc = site_add(marks, marks->marks + i, end - i, report, section);
	}
	if (rc < 0)
		return rc;
	sonde_report_note(report, section, 0,
			  "steady: no significant change of 1 %% or more after warm-up; drift: slope of a line fit");
	sonde_report_note(
	    report, section, 0,
	    "an iteration starts at the thread's last mark; items/s: Σ items ÷ Σ time, summed over threads");
	return 0;
}

const struct sonde_pass sonde_pass_iterations = {
    .name = "iterations",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_iterations,
    .title = "iteration marks: intervals, iterations/s, items/s",
    .types = 1u << SONDE_CHUNK_EVENTS,
    .standard = 1,
    .state_b = sizeof(struct sonde_annotations),
    .begin = iterations_begin,
    .feed = sonde_marks_feed,
    .merge = sonde_marks_merge,
    .finish = iterations_finish,
    .end = sonde_marks_end,
};
