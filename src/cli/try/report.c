/* report.c: attempts grouped by verdict (improved, regressed, unchanged, inconclusive), and every metric of every
 * attempt (try/report.h).
 *
 * An improvement is a share of the previous value: 20 % less time is a speed-up of 1.25. For rates, more is better; for
 * all other metrics, less. Each attempt is compared with the baseline that was current when it was run.
 */
#include "cli/try/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/words.h"
#include "util/error.h"

enum { NUMBER, WHAT, GAIN, LOW, HIGH, METRIC, BEFORE, AFTER, P, RUNS, HOW, TIME, COLUMNS };
enum { M_NUMBER, M_METRIC, M_BEFORE, M_AFTER, M_UNIT, M_GAIN, M_LOW, M_HIGH, M_P, M_VERDICT, M_COLUMNS };
enum { B_TIME, B_RUNS, B_WALL, B_CPU, B_PEAK, B_RATE, B_COMMAND, B_COLUMNS };
enum { N_NAME, N_ATTEMPTS, N_IMPROVED, N_REGRESSED, N_UNCHANGED, N_INCONCLUSIVE, N_BEST, N_WHAT, N_COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NUMBER] = {"attempt", "attempt", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},
    [WHAT] = {"what", "attempt", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [GAIN] = {"improvement", "improvement", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOW] = {"ci95_low", "95 % from", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [HIGH] = {"ci95_high", "to", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [METRIC] = {"metric", "by", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [BEFORE] = {"before_ns", "before", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [AFTER] = {"after_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 3},
    [RUNS] = {"runs", "runs", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [HOW] = {"baseline", "baseline", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
    [TIME] = {"time", "time", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 5},
};

static const struct sonde_column metric_columns[M_COLUMNS] = {
    [M_NUMBER] = {"attempt", "attempt", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},
    [M_METRIC] = {"metric", "metric", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [M_BEFORE] = {"before", "before", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [M_AFTER] = {"after", "after", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [M_UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [M_GAIN] = {"improvement", "improvement", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [M_LOW] = {"ci95_low", "95 % from", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [M_HIGH] = {"ci95_high", "to", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [M_P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 2},
    [M_VERDICT] = {"verdict", "verdict", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 0},
};

static const struct sonde_column baseline_columns[B_COLUMNS] = {
    [B_TIME] = {"time", "time", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [B_RUNS] = {"runs", "runs", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [B_WALL] = {"wall_ns", "wall", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [B_CPU] = {"cpu_ns", "CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [B_PEAK] = {"peak_rss_b", "peak RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [B_RATE] = {"runs_per_s", "runs/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 2},
    [B_COMMAND] = {"command", "command", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

static const struct sonde_column name_columns[N_COLUMNS] = {
    [N_NAME] = {"experiment", "experiment", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [N_ATTEMPTS] = {"attempts", "attempts", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [N_IMPROVED] = {"improved", "improved", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [N_REGRESSED] = {"regressed", "regressed", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [N_UNCHANGED] = {"unchanged", "unchanged", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [N_INCONCLUSIVE] = {"inconclusive", "inconclusive", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [N_BEST] = {"best_improvement", "best", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [N_WHAT] = {"best_what", "by", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
};

struct attempt {
	const struct sonde_try_entry *entry, *baseline; /* NULL: its line in the journal is damaged */
	size_t number;
	struct sonde_versus versus;
	struct sonde_versus_pair *pairs;
	enum sonde_verdict verdict;
	double gain; /* NAN = unknown */
};

struct attempts {
	struct attempt *row;
	size_t count, of[4]; /* by verdict */
};

/* Converts the ratio baseline ÷ candidate of a metric of which less is better to a gain. */
static double gain_of(double by)
{
	return isnan(by) || by <= 0 ? NAN : 1 - 1 / by;
}

static void attempts_fini(struct attempts *attempts)
{
	for (size_t i = 0; i < attempts->count; i++)
		free(attempts->row[i].pairs);
	free(attempts->row);
}

static int attempt_evaluate(struct attempt *row, const struct sonde_try_entries *entries)
{
	row->gain = NAN;
	row->baseline = sonde_try_baseline_of(entries, row->entry);
	if (!row->baseline && !row->entry->is_in_turn)
		return 0;
	int code = sonde_try_evaluate(&row->versus, &row->pairs, row->entry, row->baseline);
	const struct sonde_change *change = &row->versus.change[row->versus.by];
	row->verdict = sonde_versus_verdict(&row->versus);
	row->gain = change->is_ratio ? gain_of(change->by) : NAN;
	return code;
}

static int attempts_evaluate(struct attempts *out, const struct sonde_try_entries *entries)
{
	*out = (struct attempts){.row = calloc(entries->attempts + 1, sizeof *out->row)};
	int code = out->row ? 0 : sonde_error(ENOMEM, "out of memory for %zu attempts", entries->attempts);
	for (size_t i = 0; !code && i < entries->count; i++) {
		if (!entries->entry[i].is_attempt)
			continue;
		struct attempt *row = &out->row[out->count++];
		row->entry = &entries->entry[i];
		row->number = out->count;
		code = attempt_evaluate(row, entries);
		out->of[row->verdict]++;
	}
	return code;
}

static int by_effect(const void *left, const void *right)
{
	const struct attempt *a = left, *b = right;
	double x = isnan(a->gain) ? 0 : fabs(a->gain), y = isnan(b->gain) ? 0 : fabs(b->gain);
	return x < y ? 1 : x > y ? -1 : (a->number > b->number) - (a->number < b->number);
}

static int by_number(const void *left, const void *right)
{
	const struct attempt *a = left, *b = right;
	return (a->number > b->number) - (a->number < b->number);
}

static struct sonde_cell real_or(double value, const char *why)
{
	return isfinite(value) ? sonde_cell_real(value, 0) : sonde_cell_absent(why);
}

/* --- verdicts ---------------------------------------------------------------------------------------------------- */

static void cells_of_gain(struct sonde_cell *gain, struct sonde_cell *low, struct sonde_cell *high,
			  const struct sonde_change *change)
{
	const char *none = change->is_ratio ? "too few runs" : "0 in some run, so it has no ratio";
	*gain = real_or(change->is_ratio ? gain_of(change->by) : NAN, none);
	*low = real_or(change->is_ratio ? gain_of(change->low) : NAN, none);
	*high = real_or(change->is_ratio && isfinite(change->high) ? gain_of(change->high) : NAN, none);
}

static void row_add(struct sonde_report *report, struct sonde_section *section, const struct attempt *attempt)
{
	const struct sonde_versus *versus = &attempt->versus;
	const struct sonde_change *change = &versus->change[versus->by];
	struct sonde_cell *row = sonde_report_row(report, section);
	for (int i = 0; i < COLUMNS; i++)
		row[i] = sonde_cell_absent("the line of its baseline is damaged");
	row[NUMBER] = sonde_cell_int(attempt->number);
	row[WHAT] = sonde_cell_text(attempt->entry->what);
	row[TIME] = sonde_cell_text(attempt->entry->time);
	row[RUNS] = sonde_cell_int(attempt->entry->count);
	row[HOW] = sonde_cell_text(attempt->entry->is_in_turn ? "in turn"
				   : attempt->baseline        ? attempt->baseline->time
							      : attempt->entry->baseline);
	if (!versus->pair)
		return;
	cells_of_gain(&row[GAIN], &row[LOW], &row[HIGH], change);
	row[METRIC] = sonde_cell_text(versus->by == SONDE_VERSUS_CPU ? "CPU time" : "wall time");
	row[BEFORE] = sonde_cell_real(versus->spread[SONDE_BASELINE][versus->by].median, 0);
	row[AFTER] = sonde_cell_real(versus->spread[SONDE_CANDIDATE][versus->by].median, 0);
	row[P] = sonde_cell_real(change->p, 0);
}

static void put_verdict(struct sonde_report *report, const struct attempts *attempts, enum sonde_verdict verdict)
{
	static const struct {
		const char *id, *title;
	} names[] = {[SONDE_VERDICT_IMPROVED] = {"try-improved", "Improved, by effect"},
		     [SONDE_VERDICT_REGRESSED] = {"try-regressed", "Regressed, by effect"},
		     [SONDE_VERDICT_UNCHANGED] = {"try-unchanged", "Unchanged"},
		     [SONDE_VERDICT_INCONCLUSIVE] = {"try-inconclusive", "Inconclusive"}};
	if (!attempts->of[verdict])
		return;
	struct sonde_section *section =
	    sonde_report_table(report, names[verdict].id, names[verdict].title, columns, COLUMNS);
	for (size_t i = 0; i < attempts->count; i++)
		if (attempts->row[i].verdict == verdict)
			row_add(report, section, &attempts->row[i]);
}

/* --- metrics ----------------------------------------------------------------------------------------------------- */

static struct sonde_cell *metric_row(struct sonde_report *report, struct sonde_section *section, size_t number,
				     const char *metric, const char *unit)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[M_NUMBER] = sonde_cell_int(number);
	row[M_METRIC] = sonde_cell_text(metric);
	row[M_UNIT] = sonde_cell_text(unit);
	row[M_P] = row[M_VERDICT] = sonde_cell_absent("not tested: it follows from others");
	return row;
}

static void metric_add(struct sonde_report *report, struct sonde_section *section, const struct attempt *attempt,
		       enum sonde_versus_metric metric)
{
	const struct sonde_versus *versus = &attempt->versus;
	const struct sonde_versus_row *what = sonde_versus_row(metric);
	const struct sonde_spread *before = &versus->spread[SONDE_BASELINE][metric];
	const struct sonde_spread *after = &versus->spread[SONDE_CANDIDATE][metric];
	double scale = what->unit == SONDE_UNIT_NS ? 1e3 : 1;
	if (!before->count || !after->count)
		return;
	struct sonde_cell *row = metric_row(report, section, attempt->number, what->label + strspn(what->label, " "),
					    what->unit == SONDE_UNIT_NS      ? "µs"
					    : what->unit == SONDE_UNIT_BYTES ? "B"
									     : "");
	row[M_BEFORE] = sonde_cell_real(before->median / scale, 0);
	row[M_AFTER] = sonde_cell_real(after->median / scale, 0);
	cells_of_gain(&row[M_GAIN], &row[M_LOW], &row[M_HIGH], &versus->change[metric]);
	if (!sonde_versus_is_requested(metric))
		return;
	row[M_P] = sonde_cell_real(versus->change[metric].p, 0);
	row[M_VERDICT] = sonde_cell_text(sonde_verdict_name(versus->verdict[metric]));
}

/* Adds runs per second, of which more is better; and the number of busy CPUs, where neither direction is better. */
static void derived_add(struct sonde_report *report, struct sonde_section *section, const struct attempt *attempt)
{
	const struct sonde_versus *versus = &attempt->versus;
	const struct sonde_change *wall = &versus->change[SONDE_VERSUS_WALL];
	const struct sonde_spread(*spread)[SONDE_VERSUS_COUNT] = versus->spread;
	double before = spread[SONDE_BASELINE][SONDE_VERSUS_WALL].median;
	double after = spread[SONDE_CANDIDATE][SONDE_VERSUS_WALL].median;
	if (!(before > 0) || !(after > 0))
		return;
	struct sonde_cell *row = metric_row(report, section, attempt->number, "throughput", "runs/s");
	row[M_BEFORE] = sonde_cell_real(1e9 / before, 0);
	row[M_AFTER] = sonde_cell_real(1e9 / after, 0);
	row[M_GAIN] = real_or(wall->by - 1, "too few runs");
	row[M_LOW] = real_or(isfinite(wall->high) ? wall->low - 1 : NAN, "too few runs");
	row[M_HIGH] = real_or(wall->high - 1, "too few runs");
	row = metric_row(report, section, attempt->number, "CPU utilisation", "");
	row[M_BEFORE] = sonde_cell_real(spread[SONDE_BASELINE][SONDE_VERSUS_CPU].median / before, 0);
	row[M_AFTER] = sonde_cell_real(spread[SONDE_CANDIDATE][SONDE_VERSUS_CPU].median / after, 0);
	row[M_GAIN] = row[M_LOW] = row[M_HIGH] = sonde_cell_absent("neither direction is better");
}

static void put_metrics(struct sonde_report *report, const struct attempts *attempts)
{
	struct sonde_section *section =
	    sonde_report_table(report, "try-metrics", "All metrics of all attempts", metric_columns, M_COLUMNS);
	for (size_t i = 0; i < attempts->count; i++) {
		const struct attempt *attempt = &attempts->row[i];
		if (!attempt->versus.pair)
			continue;
		for (int k = 0; k < SONDE_VERSUS_COUNT; k++)
			metric_add(report, section, attempt, (enum sonde_versus_metric)k);
		derived_add(report, section, attempt);
	}
	sonde_report_note(report, section, 0,
			  "before, after: medians; improvement: share saved (throughput: gained), with "
			  "its 95 %% interval");
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

static int put_zones(struct sonde_report *report, const struct attempts *attempts)
{
	struct sonde_section *section = NULL;
	int code = 0;
	for (size_t i = 0; !code && i < attempts->count; i++) {
		const struct attempt *attempt = &attempts->row[i];
		if (!attempt->entry->zones.runs)
			continue;
		section = section ? section : sonde_try_zones_section(report);
		code =
		    sonde_try_zones_rows(report, section, attempt->number, &attempt->entry->zones,
					 attempt->baseline ? &attempt->baseline->zones : NULL, attempt->entry->margin);
	}
	return code;
}

/* --- baselines --------------------------------------------------------------------------------------------------- */

static const char *command_of(struct sonde_report *report, const struct sonde_try_entry *entry)
{
	const char *text = sonde_report_text(report, "%s", entry->words[0]);
	for (size_t i = 1; entry->words[i]; i++)
		text = sonde_report_text(report, "%s %s", text, entry->words[i]);
	return text;
}

static int baseline_add(struct sonde_report *report, struct sonde_section *section, const struct sonde_try_entry *entry)
{
	struct sonde_versus versus = {.pair = entry->pairs, .count = entry->count};
	struct sonde_cell *row = sonde_report_row(report, section);
	if (sonde_versus_evaluate(&versus))
		return sonde_error(ENOMEM, "out of memory for a row");
	const struct sonde_spread *spread = versus.spread[SONDE_CANDIDATE];
	row[B_TIME] = sonde_cell_text(entry->time);
	row[B_RUNS] = sonde_cell_int(entry->count);
	row[B_WALL] = sonde_cell_real(spread[SONDE_VERSUS_WALL].median, 0);
	row[B_CPU] = sonde_cell_real(spread[SONDE_VERSUS_CPU].median, 0);
	row[B_PEAK] = spread[SONDE_VERSUS_PEAK_RSS].count ? sonde_cell_real(spread[SONDE_VERSUS_PEAK_RSS].median, 0)
							  : sonde_cell_absent("not measured for so short a command");
	row[B_RATE] = real_or(1e9 / spread[SONDE_VERSUS_WALL].median, "its median time is 0");
	row[B_COMMAND] = sonde_cell_text(command_of(report, entry));
	return 0;
}

static int put_baselines(struct sonde_report *report, const struct sonde_try_entries *entries)
{
	struct sonde_section *section =
	    sonde_report_table(report, "try-baselines", "Baselines, medians of runs", baseline_columns, B_COLUMNS);
	int code = 0;
	for (size_t i = 0; !code && i < entries->count; i++)
		if (!entries->entry[i].is_attempt && entries->entry[i].count)
			code = baseline_add(report, section, &entries->entry[i]);
	return code;
}

/* --- reports ----------------------------------------------------------------------------------------------------- */

static void put_facts(struct sonde_report *report, const char *name, const struct attempts *attempts)
{
	static const struct {
		const char *key;
		enum sonde_verdict verdict;
	} keys[] = {{"improved", SONDE_VERDICT_IMPROVED},
		    {"regressed", SONDE_VERDICT_REGRESSED},
		    {"unchanged", SONDE_VERDICT_UNCHANGED},
		    {"inconclusive", SONDE_VERDICT_INCONCLUSIVE}};
	sonde_report_fact(report, "experiment", sonde_cell_text(name));
	sonde_report_fact(report, "attempts", sonde_cell_int(attempts->count));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		sonde_report_fact(report, keys[i].key, sonde_cell_int(attempts->of[keys[i].verdict]));
	sonde_report_note(report, NULL, 0,
			  "%zu attempt%s: %zu improved, %zu regressed, %zu unchanged, %zu inconclusive",
			  attempts->count, sonde_plural(attempts->count), attempts->of[SONDE_VERDICT_IMPROVED],
			  attempts->of[SONDE_VERDICT_REGRESSED], attempts->of[SONDE_VERDICT_UNCHANGED],
			  attempts->of[SONDE_VERDICT_INCONCLUSIVE]);
}

static void note_how(struct sonde_report *report, const struct attempts *attempts)
{
	size_t apart = 0;
	for (size_t i = 0; i < attempts->count; i++)
		apart += !attempts->row[i].entry->is_in_turn;
	if (!apart)
		return;
	sonde_report_note(report, NULL, 1,
			  "%zu of them %s compared with earlier baseline runs: below %.0f %% no verdict", apart,
			  sonde_word(apart, "is", "are"), 100 * SONDE_CHANGE_DRIFT);
}

static void note_damaged(struct sonde_report *report, const char *name, size_t damaged)
{
	if (damaged)
		sonde_report_note(
		    report, NULL, 1,
		    "%zu journal line%s of %s cannot be read and %s ignored: damaged, or from a later version", damaged,
		    sonde_plural(damaged), name, sonde_word(damaged, "is", "are"));
}

int sonde_try_report(struct sonde_report *report, const char *name, const struct sonde_try_entries *entries)
{
	static const enum sonde_verdict order[] = {SONDE_VERDICT_IMPROVED, SONDE_VERDICT_REGRESSED,
						   SONDE_VERDICT_UNCHANGED, SONDE_VERDICT_INCONCLUSIVE};
	struct attempts attempts;
	int code = attempts_evaluate(&attempts, entries);
	if (!code) {
		put_facts(report, name, &attempts);
		note_how(report, &attempts);
		note_damaged(report, name, entries->damaged);
		code = put_baselines(report, entries);
	}
	if (attempts.count)
		qsort(attempts.row, attempts.count, sizeof *attempts.row, by_effect);
	for (size_t i = 0; !code && i < sizeof order / sizeof *order; i++)
		put_verdict(report, &attempts, order[i]);
	if (attempts.count)
		qsort(attempts.row, attempts.count, sizeof *attempts.row, by_number);
	if (!code && attempts.count)
		put_metrics(report, &attempts);
	code = code ? code : put_zones(report, &attempts);
	attempts_fini(&attempts);
	return code;
}

static int name_add(struct sonde_report *report, struct sonde_section *section, const char *name,
		    const struct sonde_try_entries *entries)
{
	struct attempts attempts;
	const struct attempt *best = NULL;
	int code = attempts_evaluate(&attempts, entries);
	struct sonde_cell *row = code ? NULL : sonde_report_row(report, section);
	for (size_t i = 0; i < attempts.count; i++)
		if (attempts.row[i].verdict == SONDE_VERDICT_IMPROVED && (!best || attempts.row[i].gain > best->gain))
			best = &attempts.row[i];
	if (!code) {
		row[N_NAME] = sonde_cell_text(sonde_report_text(report, "%s", name));
		row[N_ATTEMPTS] = sonde_cell_int(attempts.count);
		row[N_IMPROVED] = sonde_cell_int(attempts.of[SONDE_VERDICT_IMPROVED]);
		row[N_REGRESSED] = sonde_cell_int(attempts.of[SONDE_VERDICT_REGRESSED]);
		row[N_UNCHANGED] = sonde_cell_int(attempts.of[SONDE_VERDICT_UNCHANGED]);
		row[N_INCONCLUSIVE] = sonde_cell_int(attempts.of[SONDE_VERDICT_INCONCLUSIVE]);
		row[N_BEST] = row[N_WHAT] = sonde_cell_absent("none improved");
		if (best) {
			row[N_BEST] = sonde_cell_real(best->gain, 0);
			row[N_WHAT] = sonde_cell_text(sonde_report_text(report, "%s", best->entry->what));
		}
	}
	attempts_fini(&attempts);
	return code;
}

int sonde_try_report_all(struct sonde_report *report, const struct sonde_journal *journal,
			 const struct sonde_journal_names *names)
{
	struct sonde_section *section = sonde_report_table(report, "try", "Experiments", name_columns, N_COLUMNS);
	int code = 0;
	for (size_t i = 0; !code && i < names->count; i++) {
		struct sonde_journal one = *journal;
		struct sonde_try_entries entries = {0};
		code = sonde_journal_name(&one, names->name[i]);
		code = code ? code : sonde_try_entries_read(&entries, &one);
		code = code ? code : name_add(report, section, names->name[i], &entries);
		if (!code)
			note_damaged(report, names->name[i], entries.damaged);
		sonde_try_entries_fini(&entries);
	}
	return code;
}
