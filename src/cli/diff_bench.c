/* diff_bench.c: two results of `sonde bench --json`, of other times: nothing connects their runs (diff_bench.h).
 *
 * What the machine did between the two is in no run of either, so less than SONDE_SHIFT_DRIFT gets no verdict; `sonde
 * bench --vs` runs both in turn and needs no such margin.
 */
#include "cli/diff_bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_file.h"
#include "util/error.h"

enum { METRIC, BASE_COUNT, COUNT, BEFORE, AFTER, UNIT, SPEEDUP, LOW, HIGH, P, VERDICT, COLUMNS };
enum { BASELINE, CANDIDATE, FILES };

static const struct sonde_column columns[COLUMNS] = {
    [METRIC] = {"metric", "metric", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [BASE_COUNT] = {"baseline_count", "baseline's", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [COUNT] = {"candidate_count", "candidate's", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [BEFORE] = {"baseline", "baseline", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [AFTER] = {"candidate", "candidate", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [SPEEDUP] = {"speedup", "speed-up", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOW] = {"ci95_low", "95 % from", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 1},
    [HIGH] = {"ci95_high", "to", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 1},
    [P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 1},
    [VERDICT] = {"verdict", "verdict", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
};

static int row_add(struct sonde_diff_bench *diff, struct sonde_section *section, const struct sonde_versus *versus,
		   enum sonde_versus_metric metric)
{
	const struct sonde_versus_row *what = sonde_versus_row(metric);
	const struct sonde_spread *before = &versus->spread[SONDE_BASELINE][metric];
	const struct sonde_spread *after = &versus->spread[SONDE_CANDIDATE][metric];
	const struct sonde_shift *shift = &versus->shift[metric];
	double scale = what->unit == SONDE_UNIT_NS ? 1e3 : 1;
	if (!before->count && !after->count)
		return 0;
	struct sonde_cell *row = sonde_report_row(diff->report, section);
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a row");
	row[METRIC] = sonde_cell_text(what->label + strspn(what->label, " "));
	row[UNIT] = sonde_cell_text(what->unit == SONDE_UNIT_NS ? "µs" : what->unit == SONDE_UNIT_BYTES ? "B" : "");
	row[BASE_COUNT] = sonde_cell_int(before->count);
	row[COUNT] = sonde_cell_int(after->count);
	row[BEFORE] = before->count ? sonde_cell_real(before->median / scale, 0) : sonde_cell_absent("not known");
	row[AFTER] = after->count ? sonde_cell_real(after->median / scale, 0) : sonde_cell_absent("not known");
	row[SPEEDUP] = row[LOW] = row[HIGH] =
	    sonde_cell_absent(shift->is_ratio ? "too few runs" : "it is 0 in some run, and has no ratio");
	if (shift->is_ratio && !isnan(shift->by))
		row[SPEEDUP] = sonde_cell_real(shift->by, 0);
	if (shift->is_ratio && isfinite(shift->high)) {
		row[LOW] = sonde_cell_real(shift->low, 0);
		row[HIGH] = sonde_cell_real(shift->high, 0);
	}
	row[P] = row[VERDICT] = sonde_cell_absent("not asked: it is a part of another");
	if (!sonde_versus_is_asked(metric))
		return 0;
	row[P] = sonde_cell_real(shift->p, 0);
	row[VERDICT] = sonde_cell_text(
	    sonde_verdict_name(diff->is_comparable ? versus->verdict[metric] : SONDE_VERDICT_INCONCLUSIVE));
	return 0;
}

static void say_difference(void *context, const char *sentence)
{
	struct sonde_diff_bench *diff = context;
	sonde_report_note(diff->report, NULL, 1, "%s", sentence);
}

static int note_files(struct sonde_diff_bench *diff, const struct sonde_bench_file *files)
{
	int code = 0;
	for (int i = 0; !code && i < FILES; i++) {
		const char *name = i == BASELINE ? "baseline" : "candidate";
		if (!sonde_bench_machine_is_known(&files[i].machine))
			code = sonde_report_note(
			    diff->report, NULL, 1,
			    "the %s does not say which machine it is of: whether the two are comparable is "
			    "not known",
			    name);
		if (!code && files[i].failed)
			code = sonde_report_note(diff->report, NULL, 1,
						 "%zu runs of the %s failed, and count all the same", files[i].failed,
						 name);
		if (!code && files[i].is_cut_short)
			code = sonde_report_note(diff->report, NULL, 1,
						 "the %s ended early, at a moment that was not its own", name);
	}
	return code;
}

static int put_table(struct sonde_diff_bench *diff, const struct sonde_versus *versus)
{
	struct sonde_section *section =
	    sonde_report_table(diff->report, "diff", "What the runs took", columns, COLUMNS);
	int code = section ? 0 : sonde_error(ENOMEM, "out of memory for a section");
	for (int i = 0; !code && i < SONDE_VERSUS_COUNT; i++)
		code = row_add(diff, section, versus, (enum sonde_versus_metric)i);
	return code ? code
		    : sonde_report_note(
			  diff->report, section, 0,
			  "medians of runs; speed-up: baseline ÷ candidate (Hodges-Lehmann, Mann-Whitney), p "
			  "corrected for what is asked together (Benjamini-Hochberg); the two were measured at "
			  "other times, so that less than %.3g %% gets no verdict: sonde bench --vs runs both "
			  "in turn",
			  100 * versus->margin);
}

static int say_verdict(struct sonde_diff_bench *diff, const struct sonde_versus *versus)
{
	const struct sonde_shift *shift = &versus->shift[versus->by];
	int is_known = shift->is_ratio && !isnan(shift->by), has_interval = is_known && isfinite(shift->high);
	const char *none = "too few runs";
	if (diff->is_comparable)
		diff->verdict = sonde_versus_verdict(versus);
	const struct {
		const char *key;
		struct sonde_cell cell;
	} facts[] = {
	    {"verdict", sonde_cell_text(sonde_verdict_name(diff->verdict))},
	    {"speedup", is_known ? sonde_cell_real(shift->by, 0) : sonde_cell_absent(none)},
	    {"ci95_low", has_interval ? sonde_cell_real(shift->low, 0) : sonde_cell_absent(none)},
	    {"ci95_high", has_interval ? sonde_cell_real(shift->high, 0) : sonde_cell_absent(none)},
	    {"p", sonde_cell_real(shift->p, 0)},
	    {"metric", sonde_cell_text(sonde_versus_row(versus->by)->key)},
	    {"comparable", sonde_cell_int((uint64_t)diff->is_comparable)},
	};
	int code = 0;
	for (size_t i = 0; !code && i < sizeof facts / sizeof *facts; i++)
		code = sonde_report_fact(diff->report, facts[i].key, facts[i].cell);
	if (code || !is_known)
		return code ? code
			    : sonde_report_note(diff->report, NULL, 1, "inconclusive: one of the two has no runs");
	return sonde_report_note(diff->report, NULL, 0, "%s: speed-up %.3f by %s time, p = %.3f",
				 sonde_verdict_name(diff->verdict), shift->by,
				 versus->by == SONDE_VERSUS_CPU ? "CPU" : "wall", shift->p);
}

int sonde_diff_bench(struct sonde_diff_bench *diff)
{
	struct sonde_bench_file files[FILES] = {0};
	struct sonde_versus versus = {.has_baseline = 1, .is_unpaired = 1};
	struct sonde_versus_pair *pairs = NULL;
	versus.margin = diff->margin > SONDE_SHIFT_DRIFT ? diff->margin : SONDE_SHIFT_DRIFT;
	diff->verdict = SONDE_VERDICT_INCONCLUSIVE;
	int code = sonde_bench_file_read(&files[BASELINE], diff->path[BASELINE]);
	code = code ? code : sonde_bench_file_read(&files[CANDIDATE], diff->path[CANDIDATE]);
	if (!code) {
		diff->is_comparable = sonde_bench_machine_compare(&files[BASELINE].machine, &files[CANDIDATE].machine,
								  say_difference, diff);
		code = sonde_bench_file_join(&pairs, &versus.count, files[BASELINE].pairs, files[BASELINE].count,
					     files[CANDIDATE].pairs, files[CANDIDATE].count);
	}
	versus.pair = pairs;
	if (!code && sonde_versus_judge(&versus))
		code = sonde_error(ENOMEM, "out of memory for %zu runs", versus.count);
	code = code ? code : note_files(diff, files);
	code = code ? code : put_table(diff, &versus);
	code = code ? code : say_verdict(diff, &versus);
	free(pairs);
	for (int i = 0; i < FILES; i++)
		sonde_bench_file_fini(&files[i]);
	return code;
}
