/* runs.c: statistics of a command's repeated runs, as text.
 *
 * Each run is recorded and read like a single one; only its figures are kept. The 95 % interval of the mean shows the
 * variation (analyze/statistics/spread.h); outliers are reported, not dropped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/words.h"
#include "cli/common/figures.h"
#include "cli/stat/show.h"
#include "export/clean.h"
#include "export/text/figure.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/error.h"

enum { NAMED_MAX = 5 };

/* --- the runs ---------------------------------------------------------------------------------------------------- */

/* Copies the reason for an unknown figure, or returns the previous run's copy if the text is equal, which is usual. */
static const char *keep_reason(struct sonde_stat_runs *runs, enum sonde_stat figure, const char *text)
{
	const struct sonde_cell *before = runs->count ? &runs->run[runs->count - 1].figures.cell[figure] : NULL;
	if (!text || (before && before->kind == SONDE_CELL_ABSENT && before->text && !strcmp(before->text, text)))
		return text ? before->text : NULL;
	return sonde_arena_strndup(&runs->reasons, text, strlen(text));
}

int sonde_stat_runs_add(struct sonde_stat_runs *runs, const struct sonde_stat_figures *figures, int status)
{
	if (SONDE_ARRAY_RESERVE(runs->run, runs->cap, runs->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu runs", runs->count + 1);
	struct sonde_stat_run *run = &runs->run[runs->count];
	*run = (struct sonde_stat_run){.figures = *figures, .status = status};
	for (int i = 0; i < SONDE_STAT_COUNT; i++)
		if (run->figures.cell[i].kind == SONDE_CELL_ABSENT)
			run->figures.cell[i].text = keep_reason(runs, (enum sonde_stat)i, run->figures.cell[i].text);
	runs->count++;
	return 0;
}

void sonde_stat_runs_fini(struct sonde_stat_runs *runs)
{
	free(runs->run);
	sonde_arena_fini(&runs->reasons);
	*runs = (struct sonde_stat_runs){0};
}

void sonde_stat_runs_spread(struct sonde_spread *out, const struct sonde_stat_runs *runs, enum sonde_stat figure,
			    double *values)
{
	size_t count = 0;
	for (size_t i = 0; i < runs->count; i++)
		if (sonde_stat_known(&runs->run[i].figures, figure))
			values[count++] = sonde_stat_value(&runs->run[i].figures, figure);
	sonde_spread_of(out, values, count);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static const struct {
	const char *label;
	enum sonde_stat figure;
} rows[] = {
    {"wall", SONDE_STAT_WALL},
    {"CPU", SONDE_STAT_CPU},
    {"  user", SONDE_STAT_USER},
    {"  system", SONDE_STAT_SYSTEM},
    {"of a core", SONDE_STAT_UTILIZATION},
    {"peak RSS", SONDE_STAT_PEAK_RSS},
    {"page faults", SONDE_STAT_FAULTS_MINOR},
    {"  from a disk", SONDE_STAT_FAULTS_MAJOR},
    {"runnable", SONDE_STAT_RUNNABLE},
    {"voluntary switches", SONDE_STAT_VOLUNTARY},
    {"  involuntary", SONDE_STAT_INVOLUNTARY},
    {"read", SONDE_STAT_READ_ALL},
    {"  from storage", SONDE_STAT_READ},
    {"written", SONDE_STAT_WRITTEN_ALL},
    {"  to storage", SONDE_STAT_WRITTEN},
    {"processes", SONDE_STAT_PROCESSES},
    {"system CPU", SONDE_STAT_MACHINE_CPU},
    {"GPU busy", SONDE_STAT_DEVICE_BUSY},
    {"GPU memory", SONDE_STAT_DEVICE_MEMORY},
};

struct table {
	const struct sonde_stat_show *show;
	double *values; /* capacity for all runs */
	struct sonde_figures figures;
};

/* Prints the row of a figure, unless the figure is zero in all runs. */
static void put_row(struct table *table, const char *label, enum sonde_stat figure)
{
	enum sonde_unit unit = sonde_stat_row(figure)->unit;
	struct sonde_spread spread;
	sonde_stat_runs_spread(&spread, table->show->runs, figure, table->values);
	if (!spread.count || spread.max <= 0)
		return;
	sonde_figures_spread(&table->figures, label, unit, &spread);
	putc('\n', table->figures.out);
}

static void put_rows(struct table *table)
{
	const struct sonde_stat_runs *runs = table->show->runs;
	sonde_figures_command(&table->figures, "", table->show->command);
	fprintf(table->figures.out, "%zu run%s", runs->count, sonde_plural(runs->count));
	if (runs->warmups)
		fprintf(table->figures.out, " after %zu warm-up run%s", runs->warmups, runs->warmups == 1 ? "" : "s");
	fputs("\n\n", table->figures.out);
	sonde_figures_spread_headings(&table->figures);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		put_row(table, rows[i].label, rows[i].figure);
}

/* --- remarks ----------------------------------------------------------------------------------------------------- */

/* Writes "run 3 (1.20 s), 7 (1.31 s) and 4 more"; returns the number. */
static size_t name_outliers(struct table *table, enum sonde_stat figure, const struct sonde_spread *spread)
{
	const struct sonde_stat_runs *runs = table->show->runs;
	size_t count = 0;
	for (size_t i = 0; i < runs->count; i++) {
		const struct sonde_stat_figures *figures = &runs->run[i].figures;
		double value = sonde_stat_value(figures, figure);
		if (!sonde_stat_known(figures, figure) || !sonde_spread_is_outlier(spread, value))
			continue;
		if (count++ >= NAMED_MAX)
			continue;
		sonde_buf_printf(&table->figures.line, "%s%zu (", count > 1 ? ", " : "run ", i + 1);
		sonde_figure_value(&table->figures.line, sonde_stat_row(figure)->unit, value,
				   table->figures.style->ascii);
		sonde_buf_text(&table->figures.line, ")");
	}
	if (count > NAMED_MAX)
		sonde_buf_printf(&table->figures.line, " and %zu more", count - NAMED_MAX);
	return count;
}

static void put_outliers(struct table *table)
{
	static const struct {
		enum sonde_stat figure;
		const char *what;
	} looked_at[] = {{SONDE_STAT_WALL, "wall time"}, {SONDE_STAT_CPU, "CPU time"}};
	const struct sonde_stat_runs *runs = table->show->runs;
	for (size_t i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
		struct sonde_spread spread;
		sonde_stat_runs_spread(&spread, runs, looked_at[i].figure, table->values);
		sonde_buf_clear(&table->figures.line);
		sonde_buf_printf(&table->figures.line, "outliers in %s: ", looked_at[i].what);
		if (!name_outliers(table, looked_at[i].figure, &spread))
			continue;
		int is_first =
		    sonde_spread_is_outlier(&spread, sonde_stat_value(&runs->run[0].figures, looked_at[i].figure));
		sonde_buf_text(&table->figures.line,
			       is_first && !runs->warmups
				   ? "; the first run starts with cold caches: --warmup 1 leaves it out"
				   : "; another program may have run: the median is less affected");
		sonde_figures_sentence(&table->figures, "\n! ");
	}
}

static void put_failures(struct table *table)
{
	const struct sonde_stat_runs *runs = table->show->runs;
	size_t count = 0;
	sonde_buf_clear(&table->figures.line);
	for (size_t i = 0; i < runs->count; i++) {
		int status = runs->run[i].status;
		if (!status || status == -1 || count++ >= NAMED_MAX)
			continue;
		sonde_buf_printf(&table->figures.line, "%s%zu (%s %d)", count > 1 ? ", " : "run ", i + 1,
				 WIFSIGNALED(status) ? "signal" : "exit code",
				 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	if (count > NAMED_MAX)
		sonde_buf_printf(&table->figures.line, " and %zu more", count - NAMED_MAX);
	sonde_buf_printf(&table->figures.line, " failed, but count");
	if (count)
		sonde_figures_sentence(&table->figures, "\n! ");
}

/* Notes which figures are missing because the runs are too short. */
static void put_missing(struct table *table)
{
	size_t count = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sonde_spread spread;
		sonde_stat_runs_spread(&spread, table->show->runs, rows[i].figure, table->values);
		if (!spread.count || spread.max <= 0 || spread.count == table->show->runs->count)
			continue;
		sonde_buf_printf(&table->figures.line, "%s%s (%zu)", count++ ? ", " : "measured in fewer runs: ",
				 rows[i].label + strspn(rows[i].label, " "), spread.count);
	}
	if (count)
		sonde_figures_sentence(&table->figures, "\n! ");
}

/* Notes a requested figure that is unknown, with the reason from the first run. */
static void put_unknown(struct table *table, const char *what, enum sonde_stat figure, const char *unasked)
{
	const struct sonde_stat_figures *figures = &table->show->runs->run[0].figures;
	if (sonde_stat_known(figures, figure) || !strcmp(figures->cell[figure].text, unasked))
		return;
	sonde_buf_printf(&table->figures.line, "%s are unknown: ", what);
	sonde_clean(&table->figures.line, figures->cell[figure].text, table->figures.style->ascii);
	sonde_figures_sentence(&table->figures, "\n! ");
	sonde_buf_clear(&table->figures.line);
}

static void put_notes(struct table *table)
{
	const struct sonde_stat_runs *runs = table->show->runs;
	size_t lower = 0;
	put_outliers(table);
	put_failures(table);
	put_missing(table);
	for (size_t i = 0; i < runs->count; i++)
		lower += runs->run[i].figures.at_least != 0;
	sonde_buf_clear(&table->figures.line);
	sonde_buf_printf(&table->figures.line,
			 "CPU time is a lower bound in %zu of %zu runs: not every process was waited for", lower,
			 runs->count);
	if (lower)
		sonde_figures_sentence(&table->figures, "\n! ");
	sonde_buf_clear(&table->figures.line);
	sonde_buf_printf(&table->figures.line, "interrupted: %zu of %zu runs were made", runs->count, runs->requested);
	if (runs->count < runs->requested)
		sonde_figures_sentence(&table->figures, "\n! ");
	sonde_buf_clear(&table->figures.line);
	put_unknown(table, "FLOP", SONDE_STAT_FLOP, SONDE_STAT_FLOP_UNASKED);
	put_unknown(table, "devices", SONDE_STAT_DEVICES, SONDE_STAT_DEVICES_UNASKED);
	sonde_clean(&table->figures.line, table->show->error ? table->show->error : "", table->figures.style->ascii);
	if (table->show->error)
		sonde_figures_sentence(&table->figures, "\n! ");
}

/* "Peak RAM: 2.40 GB, Wall Time: 45.2 s ± 0.3 s (10 runs), CPU Util: 113 %": the peak is the maximum over all runs. */
static void put_line(struct table *table)
{
	const struct sonde_stat_runs *runs = table->show->runs;
	struct sonde_buf *line = &table->figures.line;
	struct sonde_spread spread;
	sonde_buf_clear(line);
	double peak_b = 0; /* for a tiny program, only an upper bound may be known */
	for (size_t i = 0; i < runs->count; i++)
		if ((double)runs->run[i].figures.peak_below_b > peak_b)
			peak_b = (double)runs->run[i].figures.peak_below_b;
	sonde_stat_runs_spread(&spread, runs, SONDE_STAT_PEAK_RSS, table->values);
	int is_bound = peak_b > spread.max;
	if (is_bound || spread.count) {
		sonde_buf_text(line, is_bound ? "Peak RAM: < " : "Peak RAM: ");
		sonde_figure_value(line, SONDE_UNIT_BYTES, is_bound ? peak_b : spread.max, table->figures.style->ascii);
		sonde_buf_text(line, ", ");
	}
	sonde_stat_runs_spread(&spread, runs, SONDE_STAT_WALL, table->values);
	sonde_buf_text(line, "Wall Time: ");
	sonde_figure_value(line, SONDE_UNIT_NS, spread.mean, table->figures.style->ascii);
	if (spread.count > 1) {
		sonde_buf_text(line, table->figures.style->ascii ? " +- " : " ± ");
		sonde_figure_value(line, SONDE_UNIT_NS, spread.half, table->figures.style->ascii);
	}
	sonde_buf_printf(line, " (%zu run%s)", runs->count, sonde_plural(runs->count));
	sonde_stat_runs_spread(&spread, runs, SONDE_STAT_UTILIZATION, table->values);
	if (spread.count) {
		sonde_buf_text(line, ", CPU Util: ");
		sonde_figure_value(line, SONDE_UNIT_RATIO, spread.mean, table->figures.style->ascii);
	}
	sonde_stat_runs_spread(&spread, runs, SONDE_STAT_DEVICE_BUSY, table->values);
	if (spread.count)
		sonde_stat_devices(line, spread.mean, &runs->run[0].figures, table->figures.style->ascii);
	fprintf(table->figures.out, "%.*s\n", (int)line->len_b, (const char *)line->data);
}

void sonde_stat_runs_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, int is_brief,
			  FILE *out)
{
	struct table table = {.show = show};
	table.values = calloc(show->runs->count + 1, sizeof *table.values);
	sonde_figures_init(&table.figures, out, style);
	if (table.values && show->runs->count) {
		if (!is_brief) {
			put_rows(&table);
			put_notes(&table);
			putc('\n', out);
		}
		put_line(&table);
	}
	free(table.values);
	sonde_figures_fini(&table.figures);
}
