/* table.c: columns and cells of comparisons, and their notes (diff/table.h). */
#include "analyze/diff/table.h"

#include <math.h>

static const struct sonde_column columns[SONDE_COMPARED_COLUMNS] = {
    [SONDE_COMPARED_METRIC] = {"metric", "metric", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [SONDE_COMPARED_BASE_COUNT] = {"baseline_count", "baseline's", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [SONDE_COMPARED_COUNT] = {"candidate_count", "candidate's", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [SONDE_COMPARED_BEFORE] = {"baseline", "baseline", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [SONDE_COMPARED_AFTER] = {"candidate", "candidate", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [SONDE_COMPARED_UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [SONDE_COMPARED_SPEEDUP] = {"speedup", "speed-up", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [SONDE_COMPARED_LOW] = {"ci95_low", "95 % from", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 1},
    [SONDE_COMPARED_HIGH] = {"ci95_high", "to", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 1},
    [SONDE_COMPARED_P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 1},
    [SONDE_COMPARED_VERDICT] = {"verdict", "verdict", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
};

struct sonde_section *sonde_diff_table(struct sonde_report *report, const char *id, const char *title)
{
	return sonde_report_table(report, id, title, columns, SONDE_COMPARED_COLUMNS);
}

void sonde_diff_cells(struct sonde_cell *row, const struct sonde_diff_pair *pair)
{
	static const int counts[2] = {SONDE_COMPARED_BASE_COUNT, SONDE_COMPARED_COUNT};
	static const int medians[2] = {SONDE_COMPARED_BEFORE, SONDE_COMPARED_AFTER};
	for (int side = 0; side < 2; side++) {
		row[counts[side]] = sonde_cell_int(pair->count[side]);
		row[medians[side]] = pair->count[side] ? sonde_cell_real(pair->median[side] / pair->scale, 0)
						       : sonde_cell_absent(pair->why);
	}
}

void sonde_diff_change_cells(struct sonde_cell *row, const struct sonde_change *change)
{
	const char *why = change->is_ratio ? "too few runs" : "0 in some run, so it has no ratio";
	row[SONDE_COMPARED_SPEEDUP] =
	    change->is_ratio && !isnan(change->by) ? sonde_cell_real(change->by, 0) : sonde_cell_absent(why);
	row[SONDE_COMPARED_LOW] = row[SONDE_COMPARED_HIGH] = sonde_cell_absent(why);
	if (change->is_ratio && isfinite(change->high)) {
		row[SONDE_COMPARED_LOW] = sonde_cell_real(change->low, 0);
		row[SONDE_COMPARED_HIGH] = sonde_cell_real(change->high, 0);
	}
	row[SONDE_COMPARED_P] = sonde_cell_real(change->p, 0);
}

void sonde_diff_facts(struct sonde_report *report, enum sonde_verdict verdict, const struct sonde_change *change,
		      const char *metric, int is_comparable)
{
	const char *none = metric ? "too few values to compare" : "no common iterations";
	int is_known = change->is_ratio && !isnan(change->by), has_interval = is_known && isfinite(change->high);
	const struct {
		const char *key;
		struct sonde_cell cell;
	} facts[] = {
	    {"verdict", sonde_cell_text(sonde_verdict_name(verdict))},
	    {"speedup", is_known ? sonde_cell_real(change->by, 0) : sonde_cell_absent(none)},
	    {"ci95_low", has_interval ? sonde_cell_real(change->low, 0) : sonde_cell_absent(none)},
	    {"ci95_high", has_interval ? sonde_cell_real(change->high, 0) : sonde_cell_absent(none)},
	    {"p", is_known ? sonde_cell_real(change->p, 0) : sonde_cell_absent(none)},
	    {"metric", metric ? sonde_cell_text(metric) : sonde_cell_absent(none)},
	    {"comparable", sonde_cell_int((uint64_t)is_comparable)},
	};
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		sonde_report_fact(report, facts[i].key, facts[i].cell);
}
