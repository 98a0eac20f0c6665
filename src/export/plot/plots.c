/* plots.c: defines which columns of which report sections each plot shows. Plots show no figures that the report
 * lacks. */
#include "export/plot/plots.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/text/figure.h"
#include "export/plot/plot.h"
#include "export/plot/raster.h"
#include "export/text/text.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/error.h"

enum { FIGURE_MAX_B = 256, WHY_MAX_B = 1024, LIST_INDENT = 13, LIST_WIDTH = 80 };
#define BAR_WIDTH 0.42 /* width of each of the two bars that share a name */

struct sonde_plot_builder {
	const struct sonde_report *report;
	struct sonde_arena arena;
	struct sonde_plot plot;
};

/* --- the report --------------------------------------------------------------------------------------------------- */

/* Returns the value of a cell; NaN if it is absent. */
static double value_of(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	return cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->kind == SONDE_CELL_REAL ? cell->real : NAN;
}

static const char *figure_of(struct sonde_plot_builder *builder, enum sonde_unit unit, double value)
{
	struct sonde_buf text;
	sonde_buf_init(&text, FIGURE_MAX_B);
	sonde_figure_value(&text, unit, value, 0);
	const char *copy = sonde_arena_printf(&builder->arena, "%s", sonde_buf_string(&text));
	sonde_buf_fini(&text);
	return copy ? copy : "";
}

/* Fails with the reason why a section has no values in a column, taken from the column's first cell or the section's
 * note: -ENODATA. */
static int nothing(const struct sonde_section *section, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, 0, key);
	if (section && section->table.row_count && cell->text)
		return sonde_error(ENODATA, "%s", cell->text);
	return sonde_error(ENODATA, "%s",
			   section && section->notes ? section->notes->text : "no data was recorded for it");
}

/* Shows the section's notes about lost or missing data below the picture, after existing notes. */
static int take_warnings(struct sonde_plot_builder *builder, const struct sonde_section *section)
{
	struct sonde_plot *plot = &builder->plot;
	for (const struct sonde_note *note = section ? section->notes : NULL; note; note = note->next) {
		if (!note->warning)
			continue;
		plot->note = sonde_arena_printf(&builder->arena, "%s%s%s", plot->note ? plot->note : "",
						plot->note ? "; " : "", note->text);
		if (!plot->note)
			return sonde_error(ENOMEM, "out of memory for a plot's note");
	}
	return 0;
}

/* --- series ------------------------------------------------------------------------------------------------------- */

struct columns {
	const char *from, *to, *value; /* to NULL: up to the next row */
	const char *low, *high;        /* NULL = none */
};

static double *column_of(struct sonde_plot_builder *builder, const struct sonde_section *section, const char *key)
{
	size_t count = section->table.row_count;
	double *values = key ? sonde_arena_alloc(&builder->arena, count * sizeof *values) : NULL;
	for (size_t i = 0; values && i < count; i++)
		values[i] = value_of(section, i, key);
	return values;
}

/* Returns numbers for rows without a column of numbers, counting from `first`. */
static double *numbers_of(struct sonde_plot_builder *builder, size_t count, double first)
{
	double *values = sonde_arena_alloc(&builder->arena, count * sizeof *values);
	for (size_t i = 0; values && i < count; i++)
		values[i] = first + (double)i;
	return values;
}

static double *next_of(struct sonde_plot_builder *builder, const double *from, size_t count)
{
	double *values = sonde_arena_alloc(&builder->arena, count * sizeof *values);
	for (size_t i = 0; values && i < count; i++)
		values[i] = i + 1 < count ? from[i + 1] : i ? from[i] + (from[i] - from[i - 1]) : from[i] + 1;
	return values;
}

/* Adds a series from a section's rows, if it has any; 0 or -ENOMEM. */
static int add(struct sonde_plot_builder *builder, const struct sonde_section *section, const struct columns *columns,
	       struct sonde_plot_series series)
{
	size_t count = section ? section->table.row_count : 0;
	int has_value = 0;
	if (!count)
		return 0;
	series.count = count;
	series.from = columns->from ? column_of(builder, section, columns->from) : numbers_of(builder, count, 0);
	series.to = columns->to     ? column_of(builder, section, columns->to)
		    : columns->from ? next_of(builder, series.from, count)
				    : numbers_of(builder, count, 1);
	series.values = column_of(builder, section, columns->value);
	series.low = column_of(builder, section, columns->low);
	series.high = column_of(builder, section, columns->high);
	if (!series.from || !series.to || !series.values)
		return sonde_error(ENOMEM, "out of memory for a plot of %zu rows", count);
	for (size_t i = 0; i < count; i++)
		has_value |= !isnan(series.values[i]);
	if (has_value)
		builder->plot.series[builder->plot.series_count++] = series;
	return 0;
}

static void annotate(struct sonde_plot_builder *builder, double x, const char *name)
{
	struct sonde_plot *plot = &builder->plot;
	if (!isnan(x) && plot->annotation_count < SONDE_PLOT_ANNOTATIONS_MAX)
		plot->annotations[plot->annotation_count++] = (struct sonde_plot_annotation){x, name};
}

static const char *const *names_of(struct sonde_plot_builder *builder, const struct sonde_section *section,
				   const char *key)
{
	size_t count = section->table.row_count;
	const char **names = sonde_arena_alloc(&builder->arena, count * sizeof *names);
	for (size_t i = 0; names && i < count; i++) {
		const struct sonde_cell *cell = sonde_report_cell(section, i, key);
		names[i] = cell->kind == SONDE_CELL_TEXT
			       ? cell->text
			       : figure_of(builder, SONDE_UNIT_COUNT, value_of(section, i, key));
	}
	return names;
}

/* --- the plots ---------------------------------------------------------------------------------------------------- */

static const struct sonde_plot_axis time_axis = {.title = "time since the start", .unit = SONDE_UNIT_NS};

static int build_cpu(struct sonde_plot_builder *builder)
{
	const struct sonde_section *usage = sonde_report_find(builder->report, "usage");
	const struct columns user = {"from_ns", "to_ns", "user_cpus", NULL, NULL},
			     system = {"from_ns", "to_ns", "system_cpus", NULL, NULL};
	struct sonde_plot *plot = &builder->plot;
	plot->title = "CPU utilisation over time";
	plot->x = time_axis;
	plot->y = (struct sonde_plot_axis){.title = "CPUs used, all processes", .unit = SONDE_UNIT_NUMBER};
	int rc = add(builder, usage, &system,
		     (struct sonde_plot_series){.key = "system", .name = "kernel", .form = SONDE_PLOT_AREA});
	rc = rc ? rc
		: add(builder, usage, &user,
		      (struct sonde_plot_series){.key = "user", .name = "user code", .form = SONDE_PLOT_AREA});
	rc = rc ? rc : take_warnings(builder, usage);
	return rc ? rc : plot->series_count ? 0 : nothing(usage, "user_cpus");
}

/* Annotates the highest value of a series; `of` names the values. */
static void annotate_peak(struct sonde_plot_builder *builder, const struct sonde_plot_series *series, const char *of)
{
	size_t best = 0;
	for (size_t i = 0; i < series->count; i++)
		if (isnan(series->values[best]) || series->values[i] > series->values[best])
			best = i;
	const char *name = sonde_arena_printf(&builder->arena, "%s %s", of,
					      figure_of(builder, SONDE_UNIT_BYTES, series->values[best]));
	annotate(builder, (series->from[best] + series->to[best]) / 2, name ? name : of);
}

static int build_memory(struct sonde_plot_builder *builder)
{
	const struct sonde_section *usage = sonde_report_find(builder->report, "usage"),
				   *heap = sonde_report_find(builder->report, "timeline");
	const struct columns resident = {"from_ns", "to_ns", "rss_b", NULL, NULL},
			     alive = {"from_ns", NULL, "peak_b", NULL, NULL};
	struct sonde_plot *plot = &builder->plot;
	plot->title = "Memory over time";
	plot->x = time_axis;
	plot->y = (struct sonde_plot_axis){.title = "memory", .unit = SONDE_UNIT_BYTES};
	int rc =
	    add(builder, usage, &resident,
		(struct sonde_plot_series){.key = "resident", .name = "RSS, all processes", .form = SONDE_PLOT_LINE});
	rc = rc ? rc
		: add(builder, heap, &alive,
		      (struct sonde_plot_series){
			  .key = "alive", .name = "allocated: peak of the largest heap", .form = SONDE_PLOT_LINE});
	for (size_t i = 0; i < plot->series_count && !rc; i++)
		annotate_peak(builder, &plot->series[i],
			      *plot->series[i].key == 'r' ? "RSS: highest mean of an interval" : "allocated: peak");
	rc = rc ? rc : take_warnings(builder, usage);
	rc = rc ? rc : take_warnings(builder, heap);
	return rc ? rc : plot->series_count ? 0 : nothing(usage, "rss_b");
}

static int build_io(struct sonde_plot_builder *builder)
{
	const struct sonde_section *usage = sonde_report_find(builder->report, "usage");
	const struct columns read = {"from_ns", "to_ns", "read_b_per_s", NULL, NULL},
			     written = {"from_ns", "to_ns", "written_b_per_s", NULL, NULL};
	struct sonde_plot *plot = &builder->plot;
	plot->title = "System call I/O over time";
	plot->x = time_axis;
	plot->y = (struct sonde_plot_axis){
	    .title = "all processes, files and sockets", .unit = SONDE_UNIT_BYTES, .suffix = "/s"};
	int rc = add(builder, usage, &read,
		     (struct sonde_plot_series){.key = "read", .name = "read", .form = SONDE_PLOT_LINE});
	rc = rc ? rc
		: add(builder, usage, &written,
		      (struct sonde_plot_series){.key = "written", .name = "written", .form = SONDE_PLOT_LINE});
	rc = rc ? rc : take_warnings(builder, usage);
	return rc ? rc : plot->series_count ? 0 : nothing(usage, "read_b_per_s");
}

static int build_zones(struct sonde_plot_builder *builder)
{
	static const char *const points[][2] = {
	    {"p50_ns", "p50"}, {"p95_ns", "p95"}, {"p99_ns", "p99"}, {"max_ns", "max"}};
	const struct sonde_section *bars = sonde_report_find(builder->report, "zone-histogram"),
				   *zone = sonde_report_find(builder->report, "zone-durations");
	const struct columns columns = {"from_ns", "to_ns", "count", NULL, NULL};
	struct sonde_plot *plot = &builder->plot;
	int rc = add(builder, bars, &columns,
		     (struct sonde_plot_series){.key = "count", .name = "instances", .form = SONDE_PLOT_BARS});
	if (rc || !plot->series_count)
		return rc ? rc : nothing(bars, "count");
	plot->title =
	    sonde_arena_printf(&builder->arena, "%s: duration of %s instances", sonde_report_cell_text(zone, 0, "zone"),
			       figure_of(builder, SONDE_UNIT_COUNT, value_of(zone, 0, "count")));
	plot->x = (struct sonde_plot_axis){.title = "duration (log scale)", .unit = SONDE_UNIT_NS, .logarithmic = 1};
	plot->y = (struct sonde_plot_axis){.title = "instances", .unit = SONDE_UNIT_COUNT};
	for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
		double at = value_of(zone, 0, points[i][0]);
		const char *name =
		    sonde_arena_printf(&builder->arena, "%s %s", points[i][1], figure_of(builder, SONDE_UNIT_NS, at));
		annotate(builder, at, name ? name : points[i][1]);
	}
	return plot->title ? 0 : sonde_error(ENOMEM, "out of memory for a plot");
}

/* Adds the minimum and maximum to the mean if a row is a group of several iterations. */
static int build_iterations(struct sonde_plot_builder *builder)
{
	static const char *const values[][3] = {
	    {"mean_ns", "mean", "duration"}, {"min_ns", "least", "shortest"}, {"max_ns", "most", "longest"}};
	const struct sonde_section *turns = sonde_report_find(builder->report, "turns");
	struct sonde_plot *plot = &builder->plot;
	size_t rows = turns ? turns->table.row_count : 0;
	size_t lines = rows && value_of(turns, rows - 1, "last") > (double)rows ? 3 : 1;
	plot->title = "Durations of iterations, in order";
	plot->x = (struct sonde_plot_axis){.title = "iteration", .unit = SONDE_UNIT_COUNT};
	plot->y = (struct sonde_plot_axis){.title = "duration", .unit = SONDE_UNIT_NS};
	plot->note = turns && turns->notes ? turns->notes->text : NULL;
	for (size_t i = 0; i < lines; i++) {
		int rc = add(builder, turns, &(struct columns){"first", NULL, values[i][0], NULL, NULL},
			     (struct sonde_plot_series){.key = values[i][1],
							.name = lines == 1 ? values[i][2] : values[i][i ? 2 : 1],
							.form = SONDE_PLOT_LINE});
		if (rc)
			return rc;
	}
	return plot->series_count ? 0 : nothing(turns, "mean_ns");
}

/* Bars by name; `key`: the column of names. */
static int build_bars(struct sonde_plot_builder *builder, const struct sonde_section *section, const char *key,
		      const struct columns *columns, struct sonde_plot_series series)
{
	series.form = SONDE_PLOT_BARS;
	int rc = add(builder, section, columns, series);
	if (rc || !builder->plot.series_count)
		return rc ? rc : nothing(section, columns->value);
	builder->plot.x.names = names_of(builder, section, key);
	return builder->plot.x.names ? 0 : sonde_error(ENOMEM, "out of memory for a plot");
}

static int build_parallelism(struct sonde_plot_builder *builder)
{
	builder->plot.title = "Runnable threads";
	builder->plot.x = (struct sonde_plot_axis){.title = "threads", .unit = SONDE_UNIT_COUNT};
	builder->plot.y = (struct sonde_plot_axis){.title = "time with so many", .unit = SONDE_UNIT_RATIO};
	return build_bars(builder, sonde_report_find(builder->report, "parallelism"), "threads",
			  &(struct columns){NULL, NULL, "share", NULL, NULL},
			  (struct sonde_plot_series){.key = "share", .name = "share of the time"});
}

static int build_energy(struct sonde_plot_builder *builder)
{
	builder->plot.title = "Energy by meter";
	builder->plot.x = (struct sonde_plot_axis){.title = "meter", .unit = SONDE_UNIT_COUNT};
	builder->plot.y = (struct sonde_plot_axis){.title = "energy", .unit = SONDE_UNIT_JOULES};
	return build_bars(builder, sonde_report_find(builder->report, "energy"), "meter",
			  &(struct columns){NULL, NULL, "energy_j", "energy_low_j", "energy_high_j"},
			  (struct sonde_plot_series){.key = "energy", .name = "energy"});
}

/* --- comparisons ------------------------------------------------------------------------------------------------- */

/* With one run per side the change cell contains its interval; with several runs there are separate columns. */
static int take_spread(struct sonde_plot_builder *builder, const struct sonde_section *section,
		       struct sonde_plot_series *series)
{
	size_t count = series->count;
	if (series->low || !count)
		return 0;
	series->low = sonde_arena_alloc(&builder->arena, count * sizeof *series->low);
	series->high = sonde_arena_alloc(&builder->arena, count * sizeof *series->high);
	if (!series->low || !series->high)
		return sonde_error(ENOMEM, "out of memory for a plot of %zu rows", count);
	for (size_t i = 0; i < count; i++) {
		double half = sonde_report_cell(section, i, "share_change")->plus_minus;
		series->low[i] = half > 0 ? series->values[i] - half : NAN;
		series->high[i] = half > 0 ? series->values[i] + half : NAN;
	}
	return 0;
}

static int build_diff_functions(struct sonde_plot_builder *builder)
{
	const struct sonde_section *functions = sonde_report_find(builder->report, "diff-functions");
	int has_columns = functions && functions->table.row_count &&
			  sonde_report_cell(functions, 0, "ci95_low")->kind == SONDE_CELL_REAL;
	builder->plot.title = "Change of CPU shares by function";
	builder->plot.x = (struct sonde_plot_axis){.title = "function", .unit = SONDE_UNIT_COUNT};
	builder->plot.y = (struct sonde_plot_axis){
	    .title = "candidate − baseline, with 95 % interval", .unit = SONDE_UNIT_RATIO, .below_zero = 1};
	int rc = build_bars(builder, functions, "function",
			    &(struct columns){NULL, NULL, "share_change", has_columns ? "ci95_low" : NULL,
					      has_columns ? "ci95_high" : NULL},
			    (struct sonde_plot_series){.key = "change", .name = "change of the share"});
	rc = rc ? rc : take_spread(builder, functions, &builder->plot.series[0]);
	return rc ? rc : take_warnings(builder, functions);
}

/* Narrows each interval to BAR_WIDTH, starting at the fraction `from`, so that a zone's two bars are next to each
 * other. */
static void narrow(struct sonde_plot_series *series, double from)
{
	for (size_t i = 0; i < series->count; i++) {
		series->from[i] += from;
		series->to[i] = series->from[i] + BAR_WIDTH;
	}
}

static int build_diff_zones(struct sonde_plot_builder *builder)
{
	const struct sonde_section *zones = sonde_report_find(builder->report, "diff-zones");
	struct sonde_plot *plot = &builder->plot;
	plot->title = "Self time of shared zones";
	plot->x =
	    (struct sonde_plot_axis){.title = "zone: left the baseline, right the candidate", .unit = SONDE_UNIT_COUNT};
	plot->y = (struct sonde_plot_axis){.title = "self time", .unit = SONDE_UNIT_NS};
	int rc = build_bars(builder, zones, "zone", &(struct columns){NULL, NULL, "baseline_self_ns", NULL, NULL},
			    (struct sonde_plot_series){.key = "baseline", .name = "baseline"});
	rc = rc ? rc
		: build_bars(builder, zones, "zone", &(struct columns){NULL, NULL, "candidate_self_ns", NULL, NULL},
			     (struct sonde_plot_series){.key = "candidate", .name = "candidate"});
	for (size_t i = 0; i < plot->series_count && !rc; i++)
		narrow(&plot->series[i], *plot->series[i].key == 'c' ? 0.5 : 0.5 - BAR_WIDTH);
	return rc ? rc : take_warnings(builder, zones);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int draw(const void *plot, FILE *out)
{
	return sonde_plot_svg(plot, out);
}

static void begin(struct sonde_plot_builder *builder, const struct sonde_report *report)
{
	*builder = (struct sonde_plot_builder){.report = report};
	builder->plot.subtitle = report->title ? report->title : "";
	for (const struct sonde_note *note = report->notes; note && !builder->plot.note; note = note->next)
		if (!strncmp(note->text, "selected: ", strlen("selected: ")))
			builder->plot.note = note->text;
}

struct drawn {
	int (*build)(struct sonde_plot_builder *builder);
	const char *name, *of; /* `of`: name of this recording, or names of the two */
};

static int render(const struct sonde_report *report, const struct drawn *drawn, int is_png, FILE *out)
{
	struct sonde_plot_builder builder;
	begin(&builder, report);
	int rc = drawn->build(&builder);
	if (rc == -ENODATA) {
		char why[WHY_MAX_B];
		snprintf(why, sizeof why, "%s", sonde_error_text());
		rc = sonde_error(ENODATA, "no plot %s of %s: %s (--plot list names the available ones)", drawn->name,
				 drawn->of, why);
	}
	if (!rc)
		rc = is_png ? sonde_raster_png(draw, &builder.plot, SONDE_PLOT_WIDTH, SONDE_PLOT_HEIGHT, out)
			    : sonde_plot_svg(&builder.plot, out);
	sonde_arena_fini(&builder.arena);
	return rc;
}

#define SONDE_PLOT_OF(id, text, what)                                                                                 \
	static int svg_##id(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out) \
	{                                                                                                             \
		(void)options;                                                                                        \
		return render(report, &(struct drawn){build_##id, text, what}, 0, out);                               \
	}                                                                                                             \
	static int png_##id(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out) \
	{                                                                                                             \
		(void)options;                                                                                        \
		return render(report, &(struct drawn){build_##id, text, what}, 1, out);                               \
	}
#define SONDE_PLOT(id, text, from, words) SONDE_PLOT_OF(id, text, "this recording")
#define SONDE_DIFF_PLOT(id, text, from, words) SONDE_PLOT_OF(id, text, "these recordings")
#include "export/plot/plots.def"
#undef SONDE_PLOT
#undef SONDE_DIFF_PLOT

#define SONDE_PLOT_ROW(id, text, from, words)                                                          \
	{.name = text,                                                                                 \
	 .title = words,                                                                               \
	 .sections = from,                                                                             \
	 .svg = {.name = "svg", .extension = ".svg", .title = words, .render = svg_##id},              \
	 .png = {.name = "png", .extension = ".png", .title = words, .binary = 1, .render = png_##id}, \
	 .build = build_##id},
#define SONDE_DIFF_PLOT(id, text, from, words)
#define SONDE_PLOT SONDE_PLOT_ROW
const struct sonde_plot_row sonde_plots[] = {
#include "export/plot/plots.def"
};
#undef SONDE_PLOT
#undef SONDE_DIFF_PLOT
#define SONDE_PLOT(id, text, from, words)
#define SONDE_DIFF_PLOT SONDE_PLOT_ROW
const struct sonde_plot_row sonde_diff_plots[] = {
#include "export/plot/plots.def"
};
#undef SONDE_PLOT
#undef SONDE_DIFF_PLOT
const size_t sonde_plot_count = sizeof sonde_plots / sizeof *sonde_plots;
const size_t sonde_diff_plot_count = sizeof sonde_diff_plots / sizeof *sonde_diff_plots;

/* --- list of plots ------------------------------------------------------------------------------------------------ */

/* Lists a plot and whether it is available. `of`: name of this recording, or names of the two. */
static int list_row(const struct sonde_report *report, const struct sonde_plot_row *row, const char *of, FILE *out)
{
	struct sonde_plot_builder builder;
	struct sonde_buf text;
	begin(&builder, report);
	int rc = row->build(&builder);
	sonde_arena_fini(&builder.arena);
	if (rc && rc != -ENODATA)
		return rc;
	fprintf(out, "%-12s ", row->name);
	sonde_text_wrap(out, row->title, LIST_WIDTH, LIST_INDENT);
	if (!rc)
		return 0;
	sonde_buf_init(&text, WHY_MAX_B);
	sonde_buf_printf(&text, "not of %s: %s", of, sonde_error_text());
	fprintf(out, "%*s", LIST_INDENT + 2, "");
	sonde_text_wrap(out, sonde_buf_string(&text), LIST_WIDTH, LIST_INDENT + 2);
	sonde_buf_fini(&text);
	return 0;
}

static int render_list(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	int rc = 0;
	(void)options;
	for (size_t i = 0; i < sonde_plot_count && !rc; i++)
		rc = list_row(report, &sonde_plots[i], "this recording", out);
	return rc;
}

static int render_diff_list(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	int rc = 0;
	(void)options;
	for (size_t i = 0; i < sonde_diff_plot_count && !rc; i++)
		rc = list_row(report, &sonde_diff_plots[i], "these recordings", out);
	return rc;
}

const struct sonde_format sonde_format_plots = {
    .name = "text", .extension = ".txt", .title = "available plots", .render = render_list};
const struct sonde_format sonde_format_diff_plots = {
    .name = "text", .extension = ".txt", .title = "available plots of a comparison", .render = render_diff_list};
