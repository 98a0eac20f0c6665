/* zones_report.c: how an attempt changed each zone: time before and after, and whether the change is more than chance.
 *
 * A zone may be faster because another zone does its work now, so a zone gives no verdict on the attempt. Runs that
 * were not interleaved are treated like those of whole commands: a change below SONDE_CHANGE_DRIFT gets no verdict.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/try/zones.h"
#include "util/error.h"

enum { NUMBER, ZONE, CALLS_BEFORE, CALLS_AFTER, BEFORE, AFTER, GAIN, LOW, HIGH, P, VERDICT, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NUMBER] = {"attempt", "attempt", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},
    [ZONE] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLS_BEFORE] = {"calls_before", "calls before", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 2},
    [CALLS_AFTER] = {"calls_after", "after", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 2},
    [BEFORE] = {"before_ns", "time before", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [AFTER] = {"after_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [GAIN] = {"improvement", "improvement", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOW] = {"ci95_low", "95 % from", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [HIGH] = {"ci95_high", "to", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 3},
    [VERDICT] = {"verdict", "verdict", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
};

struct sonde_section *sonde_try_zones_section(struct sonde_report *report)
{
	struct sonde_section *section = sonde_report_table(
	    report, "try-zones", "Zones of attempts, recorded separately (--zones)", columns, COLUMNS);
	sonde_report_note(
	    report, section, 0,
	    "times: medians of separately recorded runs, all threads, nested zones included; p is corrected");
	return section;
}

/* A zone with its figures on both sides, one of which may lack it. */
struct pair {
	const char *name;
	const double *ns[SONDE_SIDES];
	size_t runs[SONDE_SIDES];
	double calls[SONDE_SIDES]; /* per run */
	struct sonde_change change;
	int is_paired, is_requested;
};

static int is_there(const struct pair *pair, enum sonde_versus_side side)
{
	return pair->calls[side] > 0;
}

static void side_set(struct pair *pair, enum sonde_versus_side side, const struct sonde_try_zones *zones,
		     const struct sonde_try_zone *zone, enum sonde_versus_side of)
{
	pair->ns[side] = zone->ns[of];
	pair->runs[side] = zones->runs;
	pair->calls[side] = (double)zone->calls[of] / (double)zones->runs;
}

static const struct sonde_try_zone *named(const struct sonde_try_zones *zones, const char *name)
{
	for (size_t i = 0; zones && i < zones->count; i++)
		if (!strcmp(zones->zone[i].name, name))
			return &zones->zone[i];
	return NULL;
}

/* Makes the pairs: first the zones of the attempt, then those that only the earlier runs have. */
static size_t pairs_make(struct pair *pairs, const struct sonde_try_zones *zones, const struct sonde_try_zones *before)
{
	size_t count = 0;
	for (size_t i = 0; i < zones->count; i++) {
		const struct sonde_try_zone *zone = &zones->zone[i], *was = named(before, zone->name);
		struct pair *pair = &pairs[count++];
		*pair = (struct pair){.name = zone->name, .is_paired = zones->has_baseline};
		side_set(pair, SONDE_CANDIDATE, zones, zone, SONDE_CANDIDATE);
		if (zones->has_baseline)
			side_set(pair, SONDE_BASELINE, zones, zone, SONDE_BASELINE);
		else if (was)
			side_set(pair, SONDE_BASELINE, before, was, SONDE_CANDIDATE);
	}
	for (size_t i = 0; before && !zones->has_baseline && i < before->count; i++)
		if (!named(zones, before->zone[i].name)) {
			pairs[count] = (struct pair){.name = before->zone[i].name};
			side_set(&pairs[count++], SONDE_BASELINE, before, &before->zone[i], SONDE_CANDIDATE);
		}
	return count;
}

static int pairs_evaluate(struct pair *pairs, size_t count)
{
	double *p = calloc(count + 1, sizeof *p);
	size_t requested = 0;
	int code = p ? 0 : -ENOMEM;
	for (size_t i = 0; !code && i < count; i++) {
		struct pair *pair = &pairs[i];
		pair->is_requested = is_there(pair, SONDE_CANDIDATE) && is_there(pair, SONDE_BASELINE);
		if (!pair->is_requested)
			continue;
		code = pair->is_paired
			   ? sonde_change_paired(&pair->change, pair->ns[SONDE_BASELINE], pair->ns[SONDE_CANDIDATE],
						 pair->runs[SONDE_BASELINE])
			   : sonde_change_unpaired(&pair->change, pair->ns[SONDE_BASELINE], pair->runs[SONDE_BASELINE],
						   pair->ns[SONDE_CANDIDATE], pair->runs[SONDE_CANDIDATE]);
		p[requested++] = pair->change.p;
	}
	code = code ? code : sonde_change_correct(p, requested);
	requested = 0;
	for (size_t i = 0; !code && i < count; i++)
		if (pairs[i].is_requested)
			pairs[i].change.p = p[requested++];
	free(p);
	return code;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static struct sonde_cell median(const struct pair *pair, enum sonde_versus_side side)
{
	size_t count = pair->runs[side];
	double *sorted = is_there(pair, side) ? malloc((count + 1) * sizeof *sorted) : NULL;
	if (!sorted)
		return sonde_cell_absent("not in any of these runs");
	memcpy(sorted, pair->ns[side], count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, by_value);
	double value = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return sonde_cell_int((uint64_t)value);
}

/* Returns the gain that corresponds to a ratio baseline ÷ candidate. */
static struct sonde_cell gain(const struct sonde_change *change, double by)
{
	int is_known = change->is_ratio && isfinite(by) && by > 0;
	return is_known ? sonde_cell_real(1 - 1 / by, 0)
			: sonde_cell_absent(change->is_ratio ? "too few runs" : "0 in some run, so it has no ratio");
}

static void row_add(struct sonde_report *report, struct sonde_section *section, size_t number, const struct pair *pair,
		    double margin)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *name = sonde_report_text(report, "%s", pair->name);
	row[NUMBER] = sonde_cell_int(number);
	row[ZONE] = sonde_cell_text(name);
	row[CALLS_BEFORE] = sonde_cell_real(pair->calls[SONDE_BASELINE], 0);
	row[CALLS_AFTER] = sonde_cell_real(pair->calls[SONDE_CANDIDATE], 0);
	row[BEFORE] = median(pair, SONDE_BASELINE);
	row[AFTER] = median(pair, SONDE_CANDIDATE);
	row[GAIN] = row[LOW] = row[HIGH] = row[P] = row[VERDICT] = sonde_cell_absent("only one side has it");
	if (!pair->is_requested)
		return;
	margin = pair->is_paired || margin > SONDE_CHANGE_DRIFT ? margin : SONDE_CHANGE_DRIFT;
	row[GAIN] = gain(&pair->change, pair->change.by);
	row[LOW] = gain(&pair->change, pair->change.low);
	row[HIGH] = gain(&pair->change, pair->change.high);
	row[P] = sonde_cell_real(pair->change.p, 0);
	row[VERDICT] = pair->change.is_ratio
			   ? sonde_cell_text(sonde_verdict_name(sonde_change_verdict(&pair->change, margin)))
			   : sonde_cell_absent("0 in some run, so it has no ratio");
}

int sonde_try_zones_rows(struct sonde_report *report, struct sonde_section *section, size_t number,
			 const struct sonde_try_zones *zones, const struct sonde_try_zones *before, double margin)
{
	before = before && before->runs ? before : NULL;
	size_t most = zones->count + (before ? before->count : 0), count;
	struct pair *pairs = calloc(most + 1, sizeof *pairs);
	if (!pairs)
		return sonde_error(ENOMEM, "out of memory for zones");
	count = pairs_make(pairs, zones, before);
	int code = pairs_evaluate(pairs, count) ? sonde_error(ENOMEM, "out of memory for zones") : 0;
	for (size_t i = 0; !code && i < count; i++)
		row_add(report, section, number, &pairs[i], margin);
	if (!code && zones->left_out)
		sonde_report_note(report, section, 1, "attempt %zu: zones beyond the first %d are left out", number,
				  SONDE_TRY_ZONES_MOST);
	free(pairs);
	return code;
}
