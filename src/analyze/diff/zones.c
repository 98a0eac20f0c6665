/* zones.c: compares zones by name: calls, durations, and with several runs whether changes are more than chance.
 *
 * The verdict is based on self time, because that is where a change happens; the totals of enclosing zones follow. Self
 * times, totals and medians of all zones are corrected together. A zone that is missing from a run with zones ran 0
 * times there.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/diff/runs.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum {
	NAME,
	BASE_CALLS,
	CALLS,
	BASE_SELF,
	SELF,
	SPEEDUP,
	LOW,
	HIGH,
	P,
	VERDICT,
	BASE_TOTAL,
	TOTAL,
	TOTAL_SPEEDUP,
	TOTAL_P,
	BASE_MEDIAN,
	MEDIAN,
	MEDIAN_SPEEDUP,
	MEDIAN_P,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [BASE_CALLS] = {"baseline_calls", "calls before", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [CALLS] = {"candidate_calls", "after", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [BASE_SELF] = {"baseline_self_ns", "self before", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SELF] = {"candidate_self_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SPEEDUP] = {"self_speedup", "speed-up", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOW] = {"self_ci95_low", "95 % from", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 2},
    [HIGH] = {"self_ci95_high", "to", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 2},
    [P] = {"self_p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 2},
    [VERDICT] = {"verdict", "verdict", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
    [BASE_TOTAL] = {"baseline_total_ns", "total before", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [TOTAL] = {"candidate_total_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [TOTAL_SPEEDUP] = {"total_speedup", "speed-up", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 5},
    [TOTAL_P] = {"total_p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 5},
    [BASE_MEDIAN] = {"baseline_median_ns", "median before", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [MEDIAN] = {"candidate_median_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [MEDIAN_SPEEDUP] = {"median_speedup", "speed-up", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 5},
    [MEDIAN_P] = {"median_p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 5},
};

struct requested {
	const char *name;
	enum sonde_diff_value value;
};

struct zone {
	const char *name;
	struct sonde_diff_compared by[SONDE_DIFF_VALUES];
	double change_ns;
};

static double value_of(const struct sonde_diff_recording *run, const void *context)
{
	const struct requested *requested = context;
	const struct sonde_diff_figure *figure = sonde_diff_figure_find(&run->zones, requested->name, "");
	if (figure)
		return figure->value[requested->value];
	return run->has_zones && requested->value != SONDE_DIFF_MEDIAN ? 0 : NAN;
}

static int by_change(const void *left, const void *right)
{
	const struct zone *a = left, *b = right;
	return (a->change_ns < b->change_ns) - (a->change_ns > b->change_ns);
}

static int zone_compare(struct zone *zone, const struct sonde_diff_runs *runs, const char *name)
{
	int code = 0;
	zone->name = name;
	for (int k = 0; !code && k < SONDE_DIFF_VALUES; k++) {
		struct requested requested = {name, (enum sonde_diff_value)k};
		code = sonde_diff_compare(&zone->by[k], runs, value_of, &requested, 0);
	}
	const double *self = zone->by[SONDE_DIFF_SELF].median;
	zone->change_ns = isnan(self[0]) || isnan(self[1]) ? 0 : fabs(self[1] - self[0]);
	return code;
}

/* Corrects all p-values of all zones for each other. */
static int correct(struct zone *zones, size_t count)
{
	double *p = calloc(SONDE_DIFF_COUNT * count + 1, sizeof *p);
	size_t requested = 0;
	for (size_t i = 0; p && i < count; i++)
		for (int k = 0; k < SONDE_DIFF_COUNT; k++)
			p[requested++] = zones[i].by[k].change.p;
	int code =
	    !p || sonde_change_correct(p, requested) ? sonde_error(ENOMEM, "out of memory for %zu zones", count) : 0;
	requested = 0;
	for (size_t i = 0; !code && i < count; i++)
		for (int k = 0; k < SONDE_DIFF_COUNT; k++)
			zones[i].by[k].change.p = p[requested++];
	free(p);
	return code;
}

static struct sonde_cell median_cell(double value)
{
	return isnan(value) ? sonde_cell_absent("unknown on this side") : sonde_cell_real(value, 0);
}

static void put_speedup(struct sonde_cell *speedup, struct sonde_cell *p, const struct sonde_diff_compared *compared)
{
	const struct sonde_change *change = &compared->change;
	const char *why = change->is_ratio ? "unknown on both sides" : "0 in some run, so it has no ratio";
	*speedup = change->is_ratio && !isnan(change->by) ? sonde_cell_real(change->by, 0) : sonde_cell_absent(why);
	if (change->baseline > 1 && change->candidate > 1)
		*p = sonde_cell_real(change->p, 0);
	else
		*p = sonde_cell_absent("one run each shows no run-to-run variation");
}

static enum sonde_verdict verdict_of(const struct sonde_diff_runs *runs, const struct sonde_change *change)
{
	double margin = runs->options->margin;
	if (!runs->is_in_turn && margin < SONDE_CHANGE_DRIFT)
		margin = SONDE_CHANGE_DRIFT;
	return runs->is_comparable && change->is_ratio ? sonde_change_verdict(change, margin)
						       : SONDE_VERDICT_INCONCLUSIVE;
}

static int row_add(struct sonde_diff_runs *runs, struct sonde_section *section, const struct zone *zone)
{
	const struct sonde_diff_compared *by = zone->by;
	const struct sonde_change *self = &by[SONDE_DIFF_SELF].change;
	struct sonde_cell *row = sonde_report_row(runs->report, section);
	const char *name = sonde_report_text(runs->report, "%s", zone->name);
	row[NAME] = sonde_cell_text(name);
	row[BASE_CALLS] = median_cell(by[SONDE_DIFF_COUNT].median[0]);
	row[CALLS] = median_cell(by[SONDE_DIFF_COUNT].median[1]);
	row[BASE_SELF] = median_cell(by[SONDE_DIFF_SELF].median[0]);
	row[SELF] = median_cell(by[SONDE_DIFF_SELF].median[1]);
	row[BASE_TOTAL] = median_cell(by[SONDE_DIFF_TOTAL].median[0]);
	row[TOTAL] = median_cell(by[SONDE_DIFF_TOTAL].median[1]);
	row[BASE_MEDIAN] = median_cell(by[SONDE_DIFF_MEDIAN].median[0]);
	row[MEDIAN] = median_cell(by[SONDE_DIFF_MEDIAN].median[1]);
	put_speedup(&row[SPEEDUP], &row[P], &by[SONDE_DIFF_SELF]);
	put_speedup(&row[TOTAL_SPEEDUP], &row[TOTAL_P], &by[SONDE_DIFF_TOTAL]);
	put_speedup(&row[MEDIAN_SPEEDUP], &row[MEDIAN_P], &by[SONDE_DIFF_MEDIAN]);
	row[LOW] = row[HIGH] = sonde_cell_absent("too few runs");
	if (self->is_ratio && isfinite(self->high)) {
		row[LOW] = sonde_cell_real(self->low, 0);
		row[HIGH] = sonde_cell_real(self->high, 0);
	}
	row[VERDICT] = self->baseline > 1 && self->candidate > 1
			   ? sonde_cell_text(sonde_verdict_name(verdict_of(runs, self)))
			   : sonde_cell_absent("one run each has none");
	return 0;
}

static int put_table(struct sonde_diff_runs *runs, const struct zone *zones, size_t count)
{
	size_t limit = runs->options->limit ? runs->options->limit : DEFAULT_ROWS;
	int is_one = runs->count[0] < 2 || runs->count[1] < 2;
	struct sonde_section *section =
	    sonde_report_table(runs->report, "diff-zones", "Zones by change of self time", columns, COLUMNS);
	int code = 0;
	for (size_t i = 0; !code && i < count && i < limit; i++)
		code = row_add(runs, section, &zones[i]);
	if (code)
		return code;
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_report_note(runs->report, section, 0,
			  is_one ? "one run each: run-to-run variation is unknown; compare several recordings a side"
				 : "medians of runs (Hodges-Lehmann, Mann-Whitney); p is corrected for all zones");
	return 0;
}

int sonde_diff_zones_table(struct sonde_diff_runs *runs)
{
	struct sonde_diff_figures names;
	int code = sonde_diff_names(&names, runs, SONDE_DIFF_ZONES);
	struct zone *zones = calloc(names.count + 1, sizeof *zones);
	if (!code && !zones)
		code = sonde_error(ENOMEM, "out of memory for %zu zones", names.count);
	for (size_t i = 0; !code && i < names.count; i++)
		code = zone_compare(&zones[i], runs, names.row[i].name);
	code = code ? code : correct(zones, names.count);
	if (!code && names.count) {
		qsort(zones, names.count, sizeof *zones, by_change);
		code = put_table(runs, zones, names.count);
	}
	free(zones);
	free(names.row);
	return code;
}

int sonde_diff_zones(struct sonde_diff *diff)
{
	struct sonde_diff_recording one[SONDE_DIFF_SIDES] = {0};
	struct sonde_session *sessions[SONDE_DIFF_SIDES] = {diff->baseline, diff->candidate};
	struct sonde_diff_runs runs = {
	    .run = {&one[0], &one[1]}, .count = {1, 1}, .options = diff->options, .report = diff->report};
	int code = 0;
	for (int side = 0; side < SONDE_DIFF_SIDES; side++) {
		sonde_arena_init(&one[side].arena);
		code = code ? code : sonde_diff_recording_zones(&one[side], sessions[side]);
	}
	if (!code && one[0].has_zones && one[1].has_zones)
		code = sonde_diff_zones_table(&runs);
	for (int side = 0; side < SONDE_DIFF_SIDES; side++)
		sonde_diff_recording_fini(&one[side]);
	return code;
}
