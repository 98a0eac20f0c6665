/* text.c: `sonde bench` as text: a table, a one-line conclusion, and remarks. */
#include <math.h>
#include <string.h>

#include "analyze/words.h"
#include "cli/bench/show.h"
#include "cli/common/figures.h"
#include "export/text/figure.h"

enum { PAIR = 18, FACTOR = 8, INTERVAL = 17, NAMED_MAX = 5 };

struct table {
	const struct sonde_bench_show *show;
	const struct sonde_versus *versus;
	struct sonde_figures figures;
};

static void put_counts_apart(struct table *table)
{
	const struct sonde_versus *versus = table->versus;
	size_t now = versus->spread[SONDE_CANDIDATE][SONDE_VERSUS_WALL].count;
	size_t then = versus->spread[SONDE_BASELINE][SONDE_VERSUS_WALL].count;
	fprintf(table->figures.out, "%zu run%s; the baseline's %zu are those of %s\n\n", now, sonde_plural(now), then,
		table->show->baseline_at);
}

static void put_counts(struct table *table)
{
	if (table->versus->is_unpaired) {
		put_counts_apart(table);
		return;
	}
	const char *one = table->versus->has_baseline ? "pair" : "run";
	fprintf(table->figures.out, "%zu %s%s", table->versus->count, one, sonde_plural(table->versus->count));
	if (table->show->warmups)
		fprintf(table->figures.out, " after %zu warm-up run%s", table->show->warmups,
			table->show->warmups == 1 ? "" : "s");
	fputs(table->versus->has_baseline ? ", interleaved\n\n" : "\n\n", table->figures.out);
}

/* --- one command ------------------------------------------------------------------------------------------------- */

/* Prints a table of metrics; metrics that are always zero have no row. */
static void put_one(struct table *table)
{
	sonde_figures_command(&table->figures, "", table->show->command[SONDE_CANDIDATE]);
	put_counts(table);
	sonde_figures_spread_headings(&table->figures);
	for (int i = 0; i < SONDE_VERSUS_COUNT; i++) {
		const struct sonde_versus_row *row = sonde_versus_row((enum sonde_versus_metric)i);
		const struct sonde_spread *spread = &table->versus->spread[SONDE_CANDIDATE][i];
		if (!spread->count || spread->max <= 0)
			continue;
		sonde_figures_spread(&table->figures, row->label, row->unit, spread);
		putc('\n', table->figures.out);
	}
}

/* --- two commands ------------------------------------------------------------------------------------------------ */

/* Writes "1.203 s ±0.4 %". */
static void put_mean(struct table *table, enum sonde_versus_side side, enum sonde_versus_metric metric)
{
	const struct sonde_spread *spread = &table->versus->spread[side][metric];
	if (spread->count)
		sonde_figure_value(&table->figures.line, sonde_versus_row(metric)->unit, spread->mean,
				   table->figures.style->ascii);
	else
		sonde_buf_text(&table->figures.line, "-");
	if (spread->count > 1 && spread->mean > 0)
		sonde_buf_printf(&table->figures.line, " %s%.1f %%", table->figures.style->ascii ? "+-" : "±",
				 100 * spread->half / spread->mean);
	sonde_figures_line_right(&table->figures, PAIR);
}

static void put_factor(struct table *table, const struct sonde_change *change)
{
	if (change->is_ratio && !isnan(change->by))
		sonde_buf_printf(&table->figures.line, "%.3f", change->by);
	else
		sonde_buf_text(&table->figures.line, "-");
	sonde_figures_line_right(&table->figures, FACTOR);
	if (change->is_ratio && isfinite(change->high))
		sonde_buf_printf(&table->figures.line, "%.3f to %.3f", change->low, change->high);
	else
		sonde_buf_text(&table->figures.line, "-");
	sonde_figures_line_right(&table->figures, INTERVAL);
}

static void put_change(struct table *table, enum sonde_versus_metric metric)
{
	const struct sonde_versus *versus = table->versus;
	if (!versus->spread[SONDE_CANDIDATE][metric].count && !versus->spread[SONDE_BASELINE][metric].count)
		return;
	fprintf(table->figures.out, "  %-*s", SONDE_FIGURES_LABEL - 2, sonde_versus_row(metric)->label);
	put_mean(table, SONDE_BASELINE, metric);
	put_mean(table, SONDE_CANDIDATE, metric);
	put_factor(table, &versus->change[metric]);
	putc('\n', table->figures.out);
}

static void put_two(struct table *table)
{
	sonde_figures_command(&table->figures, "baseline", table->show->command[SONDE_BASELINE]);
	sonde_figures_command(&table->figures, "candidate", table->show->command[SONDE_CANDIDATE]);
	put_counts(table);
	fprintf(table->figures.out, "%*s", SONDE_FIGURES_LABEL, "");
	sonde_figures_right(&table->figures, "baseline", PAIR);
	sonde_figures_right(&table->figures, "candidate", PAIR);
	sonde_figures_right(&table->figures, "speed-up", FACTOR);
	sonde_figures_right(&table->figures, "95 %", INTERVAL);
	putc('\n', table->figures.out);
	for (int i = 0; i < SONDE_VERSUS_COUNT; i++)
		put_change(table, (enum sonde_versus_metric)i);
}

/* --- remarks ----------------------------------------------------------------------------------------------------- */

static const char *name_of(enum sonde_versus_metric metric)
{
	const char *label = sonde_versus_row(metric)->label;
	return label + strspn(label, " ");
}

/* Writes "improved: 1.225× faster by CPU time (95 %: 1.219 to 1.231), p < 0.001". */
static void put_verdict(struct table *table)
{
	const struct sonde_versus *versus = table->versus;
	const struct sonde_change *change = &versus->change[versus->by];
	putc('\n', table->figures.out);
	sonde_buf_printf(&table->figures.line, "%s: ", sonde_verdict_name(sonde_versus_verdict(versus)));
	if (!change->is_ratio || isnan(change->by))
		sonde_buf_printf(&table->figures.line, "too few runs measured %s", name_of(versus->by));
	else
		sonde_buf_printf(&table->figures.line, "%s by %s time", sonde_change_words(change->by).text,
				 name_of(versus->by));
	int is_slower = change->by < 1; /* if so, write the factor and its interval as candidate ÷ baseline */
	if (change->is_ratio && isfinite(change->high))
		sonde_buf_printf(&table->figures.line, " (95 %%: %.3f to %.3f)",
				 is_slower ? 1 / change->high : change->low,
				 is_slower ? 1 / change->low : change->high);
	sonde_buf_printf(&table->figures.line, change->p < 0.001 ? ", p < 0.001" : ", p = %.3f", change->p);
	sonde_figures_sentence(&table->figures, "");
}

/* True if there are too few runs to reach p < 0.01, even if all runs of one side are faster than all runs of the other
 * and only this metric differs. */
static int is_too_few(const struct sonde_versus *versus, const struct sonde_change *change)
{
	return versus->is_unpaired ? change->baseline < 6 || change->candidate < 6 : change->baseline < 10;
}

static void put_why_inconclusive(struct table *table)
{
	const struct sonde_versus *versus = table->versus;
	const struct sonde_change *change = &versus->change[versus->by];
	if (sonde_versus_verdict(versus) != SONDE_VERDICT_INCONCLUSIVE)
		return;
	if (!isfinite(change->high) && versus->is_unpaired)
		sonde_buf_text(&table->figures.line,
			       "intervals need at least 4 runs of each, a significant difference at least 6: use more "
			       "--runs");
	else if (!isfinite(change->high))
		sonde_buf_text(
		    &table->figures.line,
		    "intervals need at least 6 pairs, a significant difference at least 10: use more --runs");
	else if (change->p < 0.01)
		sonde_buf_printf(&table->figures.line,
				 "the commands differ, but the difference may be within the margin of %.3g %% "
				 "(--margin)",
				 100 * versus->margin);
	else if (is_too_few(versus, change))
		sonde_buf_printf(&table->figures.line,
				 "with fewer than %s, a difference in a single metric is never significant: use more "
				 "--runs",
				 versus->is_unpaired ? "6 runs of each" : "10 pairs");
	else
		sonde_buf_printf(&table->figures.line,
				 "neither a difference nor its absence (within %.3g %%) is certain: use more --runs "
				 "or a quieter machine",
				 100 * versus->margin);
	sonde_figures_sentence(&table->figures, "! ");
}

/* Notes other metrics that changed: "peak RSS: regressed (0.512)". */
static void put_others(struct table *table)
{
	const struct sonde_versus *versus = table->versus;
	for (int i = 0; i < SONDE_VERSUS_COUNT; i++) {
		enum sonde_verdict verdict = versus->verdict[i];
		if (i == (int)versus->by || (verdict != SONDE_VERDICT_IMPROVED && verdict != SONDE_VERDICT_REGRESSED))
			continue;
		sonde_buf_printf(&table->figures.line, "%s: %s (%.3f, 95 %%: %.3f to %.3f)",
				 name_of((enum sonde_versus_metric)i), sonde_verdict_name(verdict),
				 versus->change[i].by, versus->change[i].low, versus->change[i].high);
		sonde_figures_sentence(&table->figures, "");
	}
}

static void put_outliers(struct table *table, enum sonde_versus_side side)
{
	const struct sonde_versus *versus = table->versus;
	const struct sonde_spread *spread = &versus->spread[side][versus->by];
	size_t count = 0;
	sonde_buf_printf(&table->figures.line, "outliers in %s time of the %s's runs: ", name_of(versus->by),
			 side == SONDE_BASELINE ? "baseline" : "candidate");
	for (size_t i = 0; i < versus->count; i++) {
		double value = versus->pair[i].value[side][versus->by];
		if (!sonde_spread_is_outlier(spread, value) || count++ >= NAMED_MAX)
			continue;
		sonde_buf_printf(&table->figures.line, "%s%zu (", count > 1 ? ", " : "", i + 1);
		sonde_figure_value(&table->figures.line, sonde_versus_row(versus->by)->unit, value,
				   table->figures.style->ascii);
		sonde_buf_text(&table->figures.line, ")");
	}
	if (count > NAMED_MAX)
		sonde_buf_printf(&table->figures.line, " and %zu more", count - NAMED_MAX);
	sonde_buf_text(&table->figures.line, "; another program may have run: the median is less affected");
	if (count)
		sonde_figures_sentence(&table->figures, "! ");
	sonde_buf_clear(&table->figures.line);
}

static void put_stationarity(struct table *table, enum sonde_versus_side side)
{
	const struct sonde_versus *versus = table->versus;
	const struct sonde_stationarity *stationarity = &versus->stationarity[side];
	const char *whose = side == SONDE_BASELINE ? "the baseline's" : "the candidate's";
	if (stationarity->verdict == SONDE_STATIONARITY_DRIFTS)
		sonde_buf_printf(&table->figures.line, "%s runs drift by %+.1f %% from first to last", whose,
				 100 * stationarity->drift);
	else if (stationarity->verdict == SONDE_STATIONARITY_JUMPS)
		sonde_buf_printf(&table->figures.line, "%s runs change by %+.1f %% at run %zu", whose,
				 100 * stationarity->change, stationarity->changes_at + 1);
	else if (stationarity->verdict == SONDE_STATIONARITY_YES && stationarity->warm_up)
		sonde_buf_printf(&table->figures.line, "%s first %zu runs are a warm-up: --warmup %zu leaves them out",
				 whose, stationarity->warm_up, stationarity->warm_up + table->show->warmups);
	else
		return;
	sonde_figures_sentence(&table->figures, "! ");
}

static void put_notes(struct table *table)
{
	const struct sonde_bench_show *show = table->show;
	const struct sonde_versus *versus = table->versus;
	for (int side = 0; side <= versus->has_baseline; side++) {
		put_outliers(table, (enum sonde_versus_side)side);
		put_stationarity(table, (enum sonde_versus_side)side);
	}
	if (show->failed) {
		sonde_buf_printf(&table->figures.line, "%zu run%s failed, but count%s anyway", show->failed,
				 sonde_plural(show->failed), show->failed == 1 ? "s" : "");
		sonde_figures_sentence(&table->figures, "! ");
	}
	double wall = versus->spread[SONDE_CANDIDATE][SONDE_VERSUS_WALL].mean;
	if ((double)show->shell_ns > 0.05 * wall) {
		sonde_buf_text(&table->figures.line, "each run includes about ");
		sonde_figure_value(&table->figures.line, SONDE_UNIT_NS, (double)show->shell_ns,
				   table->figures.style->ascii);
		sonde_buf_text(&table->figures.line,
			       versus->has_baseline
				   ? " of shell start-up in both, which pulls the ratio towards 1"
				   : " of shell start-up; a command given as separate words needs no shell");
		sonde_figures_sentence(&table->figures, "! ");
	}
	if (show->error) {
		sonde_buf_text(&table->figures.line, "interrupted: the figures cover the runs so far");
		sonde_figures_sentence(&table->figures, "! ");
	}
	if (show->baseline_at) {
		sonde_buf_printf(&table->figures.line,
				 "the baseline was not run again: the machine may have changed, so a difference below "
				 "%.3g %% gets no verdict",
				 100 * versus->margin);
		sonde_figures_sentence(&table->figures, "! ");
	}
	if (show->interrupted) {
		sonde_buf_text(&table->figures.line, "interrupted: the figures cover the runs so far");
		sonde_figures_sentence(&table->figures, "! ");
	}
}

/* Writes "attempt 3 a table instead of a switch". */
static void put_experiment(struct table *table)
{
	const struct sonde_bench_show *show = table->show;
	char label[SONDE_FIGURES_LABEL];
	if (!show->experiment)
		return;
	sonde_figures_command(&table->figures, "experiment", show->experiment);
	snprintf(label, sizeof label, "attempt %zu", show->attempt);
	if (show->attempt)
		sonde_figures_command(&table->figures, label, show->what);
}

void sonde_bench_text(const struct sonde_bench_show *show, const struct sonde_format_options *style, FILE *out)
{
	struct table table = {.show = show, .versus = show->versus};
	sonde_figures_init(&table.figures, out, style);
	put_experiment(&table);
	if (show->versus->has_baseline) {
		put_two(&table);
		put_verdict(&table);
		put_why_inconclusive(&table);
		put_others(&table);
	} else {
		put_one(&table);
	}
	put_notes(&table);
	sonde_figures_fini(&table.figures);
}
