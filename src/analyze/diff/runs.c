/* runs.c: compares the totals and iterations of several runs, and gives the verdict (diff/runs.h).
 *
 * Each run is one value: rank tests over runs (Mann and Whitney) separate changes from the variation between runs. Five
 * runs of each side are the minimum for significance. If the runs of one side were made after those of the other, the
 * difference includes drift of the machine: a change below SONDE_CHANGE_DRIFT then gets no verdict.
 */
#include "analyze/diff/runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/machines.h"
#include "analyze/diff/table.h"
#include "util/error.h"

enum { REQUESTED = 3 }; /* number of totals that are tested: the first ones */

#define BUSY_LEAST 0.9
#define BUSY_MOST 1.05

static const struct {
	const char *label, *unit;
	double scale;
} totals[SONDE_DIFF_TOTALS] = {
    [SONDE_DIFF_WALL] = {"wall", "µs", 1e3},      [SONDE_DIFF_CPU] = {"CPU", "µs", 1e3},
    [SONDE_DIFF_USER] = {"user", "µs", 1e3},      [SONDE_DIFF_SYSTEM] = {"system", "µs", 1e3},
    [SONDE_DIFF_PEAK_RSS] = {"peak RSS", "B", 1},
};

/* --- machines and order ------------------------------------------------------------------------------------------ */

static const struct sonde_diff_recording *run_at(const struct sonde_diff_runs *runs, size_t i)
{
	size_t baseline = runs->count[SONDE_DIFF_BASELINE];
	return i < baseline ? &runs->run[SONDE_DIFF_BASELINE][i] : &runs->run[SONDE_DIFF_CANDIDATE][i - baseline];
}

static int check_machines(struct sonde_diff_runs *runs)
{
	size_t all = runs->count[0] + runs->count[1];
	for (size_t k = 0; k < sonde_machine_key_count && k < SONDE_DIFF_HOST_KEYS; k++)
		for (size_t i = 1; i < all; i++) {
			const char *a = run_at(runs, 0)->host[k], *b = run_at(runs, i)->host[k];
			if (!a || !b || !strcmp(a, b))
				continue;
			const struct sonde_machine_key *key = &sonde_machine_keys[k];
			runs->is_comparable &= !key->decides;
			sonde_report_note(runs->report, NULL, 1, "the %s differ: %s, %s%s", key->what, a, b,
					  key->decides ? ": the recordings are not comparable" : "");
			break;
		}
	return 0;
}

struct start {
	uint64_t ns;
	int is_candidate;
};

static int by_start(const void *left, const void *right)
{
	const struct start *a = left, *b = right;
	int order = (a->ns > b->ns) - (a->ns < b->ns);
	return order ? order : a->is_candidate - b->is_candidate;
}

/* Sides are interleaved if neither gradual drift nor a sudden change of the machine can be mistaken for their
 * difference. With all runs ordered by start, two conditions must hold. (1) The side changes at least half as often as
 * the smaller side has runs. (2) Of all pairs of a baseline run and a candidate run, the baseline comes first in a
 * quarter to three quarters. That share is a half for well-mixed runs, 0 or 1 for two blocks, and close to 0 or 1 if
 * only one run of a block came late. */
static int is_mixed(const struct start *sorted, const size_t count[SONDE_DIFF_SIDES])
{
	size_t changes = 0, baselines = 0;
	double first = 0, pairs = (double)count[0] * (double)count[1];
	for (size_t i = 0; i < count[0] + count[1]; i++) {
		changes += i && sorted[i].is_candidate != sorted[i - 1].is_candidate;
		if (sorted[i].is_candidate)
			first += (double)baselines;
		else
			baselines++;
	}
	size_t smaller = count[0] < count[1] ? count[0] : count[1];
	return 2 * changes >= smaller && 4 * first >= pairs && 4 * first <= 3 * pairs;
}

static int find_order(struct sonde_diff_runs *runs)
{
	size_t all = runs->count[0] + runs->count[1];
	struct start *starts = calloc(all + 1, sizeof *starts);
	if (!starts)
		return sonde_error(ENOMEM, "out of memory for %zu runs", all);
	for (size_t i = 0; i < all; i++)
		starts[i] = (struct start){run_at(runs, i)->start_ns, i >= runs->count[SONDE_DIFF_BASELINE]};
	qsort(starts, all, sizeof *starts, by_start);
	runs->is_in_turn = is_mixed(starts, runs->count);
	free(starts);
	return 0;
}

/* Start times are relative to a boot: they have no order if the boots differ, or if a boot is unknown. */
static int is_one_boot(const struct sonde_diff_runs *runs)
{
	const char *boot = run_at(runs, 0)->boot;
	int is_one = *boot != '\0';
	for (size_t i = 1; i < runs->count[0] + runs->count[1]; i++)
		is_one &= !strcmp(run_at(runs, i)->boot, boot);
	return is_one;
}

static int check_order(struct sonde_diff_runs *runs)
{
	const char *how = "the two sides were recorded one after the other";
	int code = 0;
	runs->is_in_turn = 0;
	if (is_one_boot(runs))
		code = find_order(runs);
	else
		how = "the order of the recordings is unknown";
	if (code || runs->is_in_turn)
		return code;
	sonde_report_note(
	    runs->report, NULL, 1,
	    "%s: the system may have changed, so a change below %.0f %% gets no verdict; interleave the runs", how,
	    100 * SONDE_CHANGE_DRIFT);
	return 0;
}

static double margin_of(const struct sonde_diff_runs *runs)
{
	double margin = runs->options->margin;
	return runs->is_in_turn || margin > SONDE_CHANGE_DRIFT ? margin : SONDE_CHANGE_DRIFT;
}

/* --- totals ------------------------------------------------------------------------------------------------------ */

static double total_of(const struct sonde_diff_recording *run, const void *context)
{
	return run->total[*(const enum sonde_diff_total *)context];
}

/* Returns CPU time if every run kept one core busy, because other programs affect CPU time less; else wall time. */
static enum sonde_diff_total main_total(const struct sonde_diff_runs *runs)
{
	for (size_t i = 0; i < runs->count[0] + runs->count[1]; i++) {
		const double *total = run_at(runs, i)->total;
		double busy = total[SONDE_DIFF_CPU] / total[SONDE_DIFF_WALL];
		if (!(busy >= BUSY_LEAST && busy <= BUSY_MOST))
			return SONDE_DIFF_WALL;
	}
	return SONDE_DIFF_CPU;
}

static void cells_set(struct sonde_cell *row, const struct sonde_diff_compared *compared, double scale, const char *why)
{
	const struct sonde_diff_pair pair = {.count = {compared->change.baseline, compared->change.candidate},
					     .median = {compared->median[0], compared->median[1]},
					     .scale = scale,
					     .why = why};
	sonde_diff_cells(row, &pair);
	sonde_diff_change_cells(row, &compared->change);
}

static int total_add(struct sonde_diff_runs *runs, struct sonde_section *section, enum sonde_diff_total total,
		     const struct sonde_diff_compared *compared)
{
	const struct sonde_change *change = &compared->change;
	struct sonde_cell *row = sonde_report_row(runs->report, section);
	row[SONDE_COMPARED_METRIC] = sonde_cell_text(totals[total].label);
	row[SONDE_COMPARED_UNIT] = sonde_cell_text(totals[total].unit);
	cells_set(row, compared, totals[total].scale, "in no recording");
	row[SONDE_COMPARED_VERDICT] = sonde_cell_absent("not tested: it is part of another metric");
	if ((int)total < REQUESTED)
		row[SONDE_COMPARED_VERDICT] = sonde_cell_text(sonde_verdict_name(
		    runs->is_comparable && change->is_ratio ? sonde_change_verdict(change, margin_of(runs))
							    : SONDE_VERDICT_INCONCLUSIVE));
	else
		row[SONDE_COMPARED_P] = sonde_cell_absent("not tested: it is part of another metric");
	return 0;
}

static int put_totals(struct sonde_diff_runs *runs, struct sonde_diff_compared compared[SONDE_DIFF_TOTALS])
{
	double p[REQUESTED];
	struct sonde_section *section = sonde_diff_table(runs->report, "diff", "Run times");
	int code = 0;
	for (int i = 0; !code && i < SONDE_DIFF_TOTALS; i++) {
		enum sonde_diff_total total = (enum sonde_diff_total)i;
		code = sonde_diff_compare(&compared[i], runs, total_of, &total, 0);
	}
	for (int i = 0; !code && i < REQUESTED; i++)
		p[i] = compared[i].change.p;
	if (!code && sonde_change_correct(p, REQUESTED))
		code = sonde_error(ENOMEM, "out of memory for a section");
	for (int i = 0; !code && i < REQUESTED; i++)
		compared[i].change.p = p[i];
	for (int i = 0; !code && i < SONDE_DIFF_TOTALS; i++)
		code = total_add(runs, section, (enum sonde_diff_total)i, &compared[i]);
	if (!code)
		sonde_report_note(runs->report, section, 0,
				  "medians of runs (Hodges-Lehmann, Mann-Whitney), p corrected (Benjamini-Hochberg)");
	return code;
}

/* --- iterations -------------------------------------------------------------------------------------------------- */

static double iteration_of(const struct sonde_diff_recording *run, const void *context)
{
	const struct sonde_diff_figure *figure = sonde_diff_figure_find(&run->iterations, context, "");
	return figure ? figure->value[SONDE_DIFF_SELF] : NAN;
}

static int iteration_add(struct sonde_diff_runs *runs, struct sonde_section *section, const char *name,
			 const struct sonde_diff_compared *compared)
{
	struct sonde_cell *row = sonde_report_row(runs->report, section);
	const char *copy = sonde_report_text(runs->report, "%s", name);
	row[SONDE_COMPARED_METRIC] = sonde_cell_text(copy);
	row[SONDE_COMPARED_UNIT] = sonde_cell_text("µs");
	cells_set(row, compared, 1e3, "no recording of this side has it");
	row[SONDE_COMPARED_VERDICT] = sonde_cell_text(sonde_verdict_name(
	    runs->is_comparable && compared->change.is_ratio ? sonde_change_verdict(&compared->change, margin_of(runs))
							     : SONDE_VERDICT_INCONCLUSIVE));
	return 0;
}

static int put_iterations(struct sonde_diff_runs *runs)
{
	struct sonde_diff_figures names;
	int code = sonde_diff_names(&names, runs, SONDE_DIFF_ITERATIONS);
	struct sonde_diff_compared *compared = calloc(names.count + 1, sizeof *compared);
	double *p = calloc(names.count + 1, sizeof *p);
	struct sonde_section *section = NULL;
	if (!code && (!compared || !p))
		code = sonde_error(ENOMEM, "out of memory for iterations");
	for (size_t i = 0; !code && i < names.count; i++) {
		code = sonde_diff_compare(&compared[i], runs, iteration_of, names.row[i].name, 0);
		p[i] = compared[i].change.p;
	}
	if (!code && sonde_change_correct(p, names.count))
		code = sonde_error(ENOMEM, "out of memory for iterations");
	if (!code && names.count)
		section = sonde_diff_table(runs->report, "diff-iterations", "Iterations: means of steady ones, by run");
	for (size_t i = 0; !code && i < names.count; i++) {
		compared[i].change.p = p[i];
		code = iteration_add(runs, section, names.row[i].name, &compared[i]);
	}
	free(names.row);
	free(compared);
	free(p);
	return code;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static int note_losses(struct sonde_diff_runs *runs)
{
	size_t damaged = 0, lossy = 0, open = 0, all = runs->count[0] + runs->count[1];
	for (size_t i = 0; i < all; i++) {
		damaged += run_at(runs, i)->damaged_b != 0;
		lossy += run_at(runs, i)->lost != 0;
		open += !run_at(runs, i)->closed;
	}
	if (damaged)
		sonde_report_note(runs->report, NULL, 1, "%zu recordings: %zu are partly unreadable", all, damaged);
	if (open)
		sonde_report_note(runs->report, NULL, 1,
				  "%zu recordings: %zu are incomplete, so their run times are unknown", all, open);
	if (lossy)
		sonde_report_note(runs->report, NULL, 1, "%zu recordings: %zu lost records while they ran", all, lossy);
	return 0;
}

static int say_verdict(struct sonde_diff_runs *runs, const struct sonde_diff_compared *compared,
		       enum sonde_diff_total by)
{
	const struct sonde_change *change = &compared[by].change;
	struct sonde_report *report = runs->report;
	int is_known = change->is_ratio && !isnan(change->by);
	if (runs->is_comparable && is_known)
		runs->verdict = sonde_change_verdict(change, margin_of(runs));
	sonde_diff_facts(report, runs->verdict, change, by == SONDE_DIFF_CPU ? "cpu" : "wall", runs->is_comparable);
	if (runs->is_other_program) {
		sonde_report_note_first(
		    report, sonde_report_text(report,
					      "different programs, not comparable: they share functions with only %.1f "
					      "%% of the candidate's CPU time",
					      100 * runs->common_share));
		return 0;
	}
	if (!is_known) {
		sonde_report_note(report, NULL, 1, "inconclusive: the run times of one side are unknown");
		return 0;
	}
	sonde_report_note(report, NULL, 0,
			  change->p < 0.001 ? "%s: %s by %s time (%zu and %zu runs, p < 0.001)"
					    : "%s: %s by %s time (%zu and %zu runs, p = %.3f)",
			  sonde_verdict_name(runs->verdict), sonde_change_words(change->by).text, totals[by].label,
			  change->baseline, change->candidate, change->p);
	double least = sonde_diff_least_p(change->baseline, change->candidate), alone = fmin(REQUESTED * least, 1);
	const struct sonde_change_why why = sonde_change_why(change, margin_of(runs), "runs");
	if (runs->is_comparable && alone < 0.01 && *why.text)
		sonde_report_note(report, NULL, 1, "%s", why.text);
	if (runs->verdict == SONDE_VERDICT_INCONCLUSIVE && alone >= 0.01)
		sonde_report_note(report, NULL, 1,
				  "with %zu and %zu runs, p cannot be below %.3f (%.3f if only one metric "
				  "differs): use at least 6 runs",
				  change->baseline, change->candidate, least, alone);
	return 0;
}

int sonde_diff_runs(struct sonde_diff_runs *runs)
{
	struct sonde_diff_compared compared[SONDE_DIFF_TOTALS];
	runs->verdict = SONDE_VERDICT_INCONCLUSIVE;
	runs->is_comparable = 1;
	int code = check_machines(runs);
	code = code ? code : check_order(runs);
	code = code ? code : note_losses(runs);
	code = code ? code : put_totals(runs, compared);
	code = code ? code : put_iterations(runs);
	code = code ? code : sonde_diff_zones_table(runs);
	code = code ? code : sonde_diff_shares_table(runs);
	return code ? code : say_verdict(runs, compared, main_total(runs));
}
