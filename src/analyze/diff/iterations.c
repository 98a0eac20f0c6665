/* iterations.c: compares iterations of the same name.
 *
 * Consecutive iterations resemble each other, but a rank test assumes independent values. So means of consecutive
 * iterations after the warm-up (statistics/stationarity.h) are compared: at most 40 per recording. Their number is
 * reduced, and each covers more iterations, until one mean no longer predicts the next better than chance. The
 * variation between runs is not visible within a run: a verdict therefore requires at least twice the margin,
 * stationary iterations, and more change than other programs can have caused (diff/noise.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/figures.h"
#include "analyze/diff/noise.h"
#include "analyze/marks.h"
#include "analyze/statistics/stationarity.h"
#include "util/array.h"
#include "util/error.h"

enum { GROUPS = 40, LEAST = 8 };
enum { NAME, BASE_COUNT, COUNT, BASE_MEAN, MEAN, SPEEDUP, LOW, HIGH, P, VERDICT, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"iteration", "iteration", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [BASE_COUNT] = {"baseline_count", "baseline's", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [COUNT] = {"candidate_count", "candidate's", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [BASE_MEAN] = {"baseline_ns", "baseline", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"candidate_ns", "candidate", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SPEEDUP] = {"speedup", "speed-up", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOW] = {"ci95_low", "95 % from", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [HIGH] = {"ci95_high", "to", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 2},
    [VERDICT] = {"verdict", "verdict", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
};

/* Stationary iterations of one site, of all threads one after another. */
struct series {
	double *values;
	size_t count;
	double groups[GROUPS];
	size_t group_count;
	double mean;
	int unsteady;
};

static int marks_read(struct sonde_annotations *out, struct sonde_session *session)
{
	static const struct sonde_pass_options all;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	sonde_marks_init(out, session, &all, 1u << SONDE_EVENT_ITERATION);
	int code = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_EVENTS);
	while (!code) {
		int got = sonde_cursor_next(cursor, &batch);
		if (!got)
			break;
		code = got > 0 ? sonde_marks_feed(out, batch) : got == -ENOMEM ? got : 0;
	}
	sonde_cursor_close(cursor);
	if (!code)
		sonde_marks_sort_by_thread(out);
	return code;
}

/* Appends the intervals of one thread's iteration events, without their warm-up. */
static int thread_add(struct series *series, const struct sonde_mark *marks, size_t count)
{
	struct sonde_stationarity stationarity;
	double *first = series->values + series->count;
	for (size_t i = 1; i < count; i++)
		first[i - 1] = (double)(marks[i].time_ns - marks[i - 1].time_ns);
	int code = count > 1 ? sonde_stationarity_check(&stationarity, first, count - 1, 1) : 0;
	if (code || count < 2)
		return code;
	size_t left = count - 1 - stationarity.warm_up;
	memmove(first, first + stationarity.warm_up, left * sizeof *first);
	series->count += left;
	series->unsteady |=
	    stationarity.verdict == SONDE_STATIONARITY_DRIFTS || stationarity.verdict == SONDE_STATIONARITY_JUMPS;
	return 0;
}

static void group(struct series *series, size_t count)
{
	series->group_count = count;
	for (size_t i = 0; i < count; i++) {
		size_t from = i * series->count / count, to = (i + 1) * series->count / count;
		double sum = 0;
		for (size_t k = from; k < to; k++)
			sum += series->values[k];
		series->groups[i] = sum / (double)(to - from);
	}
}

/* Correlation of neighbouring means. */
static double correlation(const struct series *series)
{
	double mean = 0, product = 0, square = 0;
	for (size_t i = 0; i < series->group_count; i++)
		mean += series->groups[i] / (double)series->group_count;
	for (size_t i = 0; i < series->group_count; i++) {
		double x = series->groups[i] - mean;
		square += x * x;
		product += i ? x * (series->groups[i - 1] - mean) : 0;
	}
	return square > 0 ? product / square : 0;
}

static void group_until_independent(struct series *series)
{
	size_t count = series->count < GROUPS ? series->count : GROUPS;
	double sum = 0;
	for (size_t i = 0; i < series->count; i++)
		sum += series->values[i];
	series->mean = series->count ? sum / (double)series->count : 0;
	for (group(series, count); count >= LEAST && correlation(series) > 2 / sqrt((double)count);
	     group(series, count))
		count = count * 2 / 3;
}

/* Reads the iterations of the site with that name. */
static int series_of(struct series *out, const struct sonde_annotations *marks, const char *name)
{
	*out = (struct series){.values = calloc(marks->count + 1, sizeof *out->values)};
	if (!out->values)
		return sonde_error(ENOMEM, "out of memory for %zu iterations", marks->count);
	int code = 0;
	for (size_t i = 0, end; !code && i < marks->count; i = end) {
		const struct sonde_site *site = sonde_session_site(marks->session, marks->marks[i].site);
		for (end = i + 1; end < marks->count && marks->marks[end].site == marks->marks[i].site &&
				  marks->marks[end].thread == marks->marks[i].thread;
		     end++)
			;
		if (site && !strcmp(site->name, name))
			code = thread_add(out, marks->marks + i, end - i);
	}
	if (!code)
		group_until_independent(out);
	return code;
}

/* Iterations that both recordings have. */
struct compared {
	const char *name;
	struct series baseline, candidate; /* without their values */
	struct sonde_change change;
	int is_enough;
	int is_noise; /* the whole difference can be noise */
	enum sonde_verdict verdict;
};

struct comparisons {
	struct compared *rows;
	size_t count, cap;
};

static int put(struct comparisons *all, const struct compared *row)
{
	if (SONDE_ARRAY_RESERVE(all->rows, all->cap, all->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu kinds of iterations", all->count + 1);
	all->rows[all->count++] = *row;
	return 0;
}

static int compare_name(struct comparisons *all, const struct sonde_annotations *marks[2], const char *name)
{
	struct compared row = {.name = name};
	int code = series_of(&row.baseline, marks[0], name);
	code = code ? code : series_of(&row.candidate, marks[1], name);
	if (!code && row.baseline.count && row.candidate.count) {
		row.is_enough = row.baseline.group_count >= LEAST && row.candidate.group_count >= LEAST;
		if (sonde_change_unpaired(&row.change, row.baseline.groups, row.baseline.group_count,
					  row.candidate.groups, row.candidate.group_count))
			code = sonde_error(ENOMEM, "out of memory for iterations");
		row.is_enough &= row.change.is_ratio;
		code = code ? code : put(all, &row);
	}
	free(row.baseline.values);
	free(row.candidate.values);
	return code;
}

/* True if noise can explain the whole difference: without noise, the slower side would have been faster by up to its
 * share noise[]. */
static int can_be_noise(const struct compared *row, const double noise[2])
{
	return (row->verdict == SONDE_VERDICT_IMPROVED && row->change.by * (1 - noise[0]) <= 1) ||
	       (row->verdict == SONDE_VERDICT_REGRESSED && row->change.by >= 1 - noise[1]);
}

/* Verdicts of all names, whose p-values are corrected for each other. */
static int evaluate(struct sonde_diff *diff, struct comparisons *all, const double noise[2])
{
	double *p = calloc(all->count + 1, sizeof *p), most = 0;
	size_t requested = 0;
	if (!p)
		return sonde_error(ENOMEM, "out of memory for iterations");
	for (size_t i = 0; i < all->count; i++)
		if (all->rows[i].is_enough)
			p[requested++] = all->rows[i].change.p;
	int code = sonde_change_correct(p, requested) ? sonde_error(ENOMEM, "out of memory for iterations") : 0;
	requested = 0;
	for (size_t i = 0; !code && i < all->count; i++) {
		struct compared *row = &all->rows[i];
		double took = row->baseline.mean * (double)row->baseline.count;
		if (row->is_enough)
			row->change.p = p[requested++];
		if (row->is_enough && diff->is_comparable && !row->baseline.unsteady && !row->candidate.unsteady)
			row->verdict = sonde_change_verdict(&row->change, 2 * diff->options->margin);
		row->is_noise = can_be_noise(row, noise);
		if (row->is_noise)
			row->verdict = SONDE_VERDICT_INCONCLUSIVE;
		if (took <= most)
			continue;
		most = took;
		diff->iteration = row->name;
		diff->verdict = row->verdict;
		diff->change = row->is_enough ? row->change : (struct sonde_change){.by = NAN};
	}
	free(p);
	return code;
}

static int note_noise(struct sonde_diff *diff, struct sonde_section *section, const struct compared *from,
		      const double noise[2])
{
	int is_candidate = from->change.by < 1;
	sonde_report_note(diff->report, section, 1,
			  "noisy run: other programs had the CPUs for %.0f %% of the %s; %s can differ by that alone",
			  100 * noise[is_candidate], is_candidate ? "candidate" : "baseline", from->name);
	return 0;
}

static int row_add(struct sonde_diff *diff, struct sonde_section *section, const struct compared *from,
		   const double noise[2])
{
	struct sonde_cell *row = sonde_report_row(diff->report, section);
	row[NAME] = sonde_cell_text(from->name);
	row[BASE_COUNT] = sonde_cell_int(from->baseline.count);
	row[COUNT] = sonde_cell_int(from->candidate.count);
	row[BASE_MEAN] = sonde_cell_real(from->baseline.mean, 0);
	row[MEAN] = sonde_cell_real(from->candidate.mean, 0);
	row[VERDICT] = sonde_cell_text(sonde_verdict_name(from->verdict));
	row[SPEEDUP] = row[LOW] = row[HIGH] = row[P] =
	    sonde_cell_absent("needs 8 independent means of steady iterations in both");
	if (from->is_enough) {
		row[SPEEDUP] = sonde_cell_real(from->change.by, 0);
		row[LOW] = sonde_cell_real(from->change.low, 0);
		row[HIGH] = sonde_cell_real(from->change.high, 0);
		row[P] = sonde_cell_real(from->change.p, 0);
	}
	if (from->is_noise)
		return note_noise(diff, section, from, noise);
	if (from->baseline.unsteady || from->candidate.unsteady) {
		sonde_report_note(diff->report, section, 1, "%s is not steady in the %s, so it gets no verdict",
				  from->name, from->baseline.unsteady ? "baseline" : "candidate");
		return 0;
	}
	return 0;
}

/* True if an earlier site has the same name: one name may have several call sites. */
static int is_repeated(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_site *site = sonde_session_site(session, id);
	for (uint32_t before = 1; before < id; before++) {
		const struct sonde_site *other = sonde_session_site(session, before);
		if (other->kind == site->kind && !strcmp(other->name, site->name))
			return 1;
	}
	return 0;
}

static int table_fill(struct sonde_diff *diff, const struct comparisons *all, const double noise[2])
{
	struct sonde_section *section =
	    sonde_report_table(diff->report, "diff-iterations", "Shared iterations", columns, COLUMNS);
	int code = 0;
	for (size_t i = 0; !code && i < all->count; i++)
		code = row_add(diff, section, &all->rows[i], noise);
	if (!code)
		sonde_report_note(diff->report, section, 0,
				  "ratios of means of groups of iterations, after warm-up; a verdict needs p < 0.01 "
				  "and a %.3g %% change",
				  200 * diff->options->margin);
	return code;
}

static int compare_all(struct sonde_diff *diff, const struct sonde_annotations *marks[2])
{
	struct comparisons all = {0};
	double noise[2] = {0, 0};
	int code = sonde_diff_noise(&noise[0], diff->baseline);
	code = code ? code : sonde_diff_noise(&noise[1], diff->candidate);
	for (uint32_t id = 1; !code && id <= sonde_session_site_count(diff->baseline); id++) {
		const struct sonde_site *site = sonde_session_site(diff->baseline, id);
		if (site->kind == SONDE_SITE_ITERATION && !is_repeated(diff->baseline, id))
			code = compare_name(&all, marks, site->name);
	}
	if (!code && all.count)
		code = evaluate(diff, &all, noise);
	if (!code && all.count)
		code = table_fill(diff, &all, noise);
	free(all.rows);
	return code;
}

int sonde_diff_iterations(struct sonde_diff *diff)
{
	struct sonde_annotations marks[2] = {0};
	int code = marks_read(&marks[0], diff->baseline);
	code = code ? code : marks_read(&marks[1], diff->candidate);
	if (!code && marks[0].count && marks[1].count)
		code = compare_all(diff, (const struct sonde_annotations *[2]){&marks[0], &marks[1]});
	for (int i = 0; i < 2; i++)
		sonde_marks_end(&marks[i]);
	return code;
}

int sonde_diff_iterations_of(struct sonde_diff_figures *out, struct sonde_session *session)
{
	struct sonde_annotations marks;
	int code = marks_read(&marks, session);
	for (uint32_t id = 1; !code && marks.count && id <= sonde_session_site_count(session); id++) {
		const struct sonde_site *site = sonde_session_site(session, id);
		struct series series;
		if (site->kind != SONDE_SITE_ITERATION || is_repeated(session, id))
			continue;
		code = series_of(&series, &marks, site->name);
		struct sonde_diff_figure row = {
		    .name = site->name,
		    .module = "",
		    .value = {series.mean, NAN, NAN, (double)series.count},
		};
		if (!code && series.count)
			code = sonde_diff_figure_put(out, &row);
		free(series.values);
	}
	sonde_marks_end(&marks);
	return code;
}
