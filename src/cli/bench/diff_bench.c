/* diff_bench.c: compares two results of `sonde bench --json` from different times, whose runs are independent
 * (bench/diff_bench.h).
 *
 * If the speed of the machine drifted between the two results, neither of them shows it, so a change below
 * SONDE_CHANGE_DRIFT gets no verdict; `sonde bench --vs` interleaves both commands and needs no such margin.
 */
#include "cli/bench/diff_bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/table.h"
#include "cli/bench/file.h"
#include "util/error.h"

enum { BASELINE, CANDIDATE, FILES };

static int row_add(struct sonde_diff_bench *diff, struct sonde_section *section, const struct sonde_versus *versus,
		   enum sonde_versus_metric metric)
{
	const struct sonde_versus_row *what = sonde_versus_row(metric);
	const struct sonde_spread *before = &versus->spread[SONDE_BASELINE][metric];
	const struct sonde_spread *after = &versus->spread[SONDE_CANDIDATE][metric];
	const struct sonde_change *change = &versus->change[metric];
	double scale = what->unit == SONDE_UNIT_NS ? 1e3 : 1;
	if (!before->count && !after->count)
		return 0;
	struct sonde_cell *row = sonde_report_row(diff->report, section);
	const struct sonde_diff_pair pair = {.count = {before->count, after->count},
					     .median = {before->median, after->median},
					     .scale = scale,
					     .why = "not known"};
	row[SONDE_COMPARED_METRIC] = sonde_cell_text(what->label + strspn(what->label, " "));
	row[SONDE_COMPARED_UNIT] = sonde_cell_text(what->unit == SONDE_UNIT_NS      ? "µs"
						   : what->unit == SONDE_UNIT_BYTES ? "B"
										    : "");
	sonde_diff_cells(row, &pair);
	sonde_diff_change_cells(row, change);
	if (!sonde_versus_is_requested(metric)) {
		row[SONDE_COMPARED_P] = row[SONDE_COMPARED_VERDICT] =
		    sonde_cell_absent("not tested: it is part of another metric");
		return 0;
	}
	row[SONDE_COMPARED_VERDICT] = sonde_cell_text(
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
	for (int i = 0; i < FILES; i++) {
		const char *name = i == BASELINE ? "baseline" : "candidate";
		if (!sonde_bench_machine_is_known(&files[i].machine))
			sonde_report_note(diff->report, NULL, 1,
					  "the %s does not name its machine, so the two may not be comparable", name);
		if (files[i].failed)
			sonde_report_note(diff->report, NULL, 1, "%zu runs of the %s failed, but count",
					  files[i].failed, name);
		if (files[i].is_cut_short)
			sonde_report_note(diff->report, NULL, 1, "the %s was interrupted", name);
	}
	return 0;
}

static int put_table(struct sonde_diff_bench *diff, const struct sonde_versus *versus)
{
	struct sonde_section *section = sonde_diff_table(diff->report, "diff", "Run times");
	int code = 0;
	for (int i = 0; !code && i < SONDE_VERSUS_COUNT; i++)
		code = row_add(diff, section, versus, (enum sonde_versus_metric)i);
	if (!code)
		sonde_report_note(diff->report, section, 0,
				  "medians; measured at different times: below %.3g %% no verdict (sonde bench "
				  "--vs interleaves both)",
				  100 * versus->margin);
	return code;
}

static int say_verdict(struct sonde_diff_bench *diff, const struct sonde_versus *versus)
{
	const struct sonde_change *change = &versus->change[versus->by];
	int is_known = change->is_ratio && !isnan(change->by);
	if (diff->is_comparable)
		diff->verdict = sonde_versus_verdict(versus);
	sonde_diff_facts(diff->report, diff->verdict, change, sonde_versus_row(versus->by)->key, diff->is_comparable);
	if (!is_known) {
		sonde_report_note(diff->report, NULL, 1, "inconclusive: one of the two has no runs");
		return 0;
	}
	sonde_report_note(diff->report, NULL, 0,
			  change->p < 0.001 ? "%s: %s by %s time, p < 0.001" : "%s: %s by %s time, p = %.3f",
			  sonde_verdict_name(diff->verdict), sonde_change_words(change->by).text,
			  versus->by == SONDE_VERSUS_CPU ? "CPU" : "wall", change->p);
	const struct sonde_change_why why = sonde_change_why(change, versus->margin, "runs");
	if (*why.text && diff->is_comparable)
		sonde_report_note(diff->report, NULL, 1, "%s", why.text);
	return 0;
}

int sonde_diff_bench(struct sonde_diff_bench *diff)
{
	struct sonde_bench_file files[FILES] = {0};
	struct sonde_versus versus = {.has_baseline = 1, .is_unpaired = 1};
	struct sonde_versus_pair *pairs = NULL;
	versus.margin = diff->margin > SONDE_CHANGE_DRIFT ? diff->margin : SONDE_CHANGE_DRIFT;
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
	if (!code && sonde_versus_evaluate(&versus))
		code = sonde_error(ENOMEM, "out of memory for %zu runs", versus.count);
	code = code ? code : note_files(diff, files);
	code = code ? code : put_table(diff, &versus);
	code = code ? code : say_verdict(diff, &versus);
	free(pairs);
	for (int i = 0; i < FILES; i++)
		sonde_bench_file_fini(&files[i]);
	return code;
}
