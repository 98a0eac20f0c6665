/* plot.c: draws a plot: frame and ticks, then the series, then annotations, then an invisible rectangle per interval
 * that holds its figures. */
#include "export/plot/plot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/plot/palette.h"
#include "util/buf.h"
#include "util/error.h"

enum {
	LEFT = 78,
	RIGHT = 936,
	TOP = 96,
	BOTTOM = 460,
	LETTER = 7,
	TITLE_COLUMNS = 96,
	NOTE_COLUMNS = TITLE_COLUMNS + 30
};
#define TEXT_MAX_B (1 << 16)
#define HEADROOM 1.06 /* height of the axis relative to the highest value */
#define HEADROOM_FOR_ANNOTATIONS 1.25

struct drawing {
	const struct sonde_plot *plot;
	FILE *out;
	struct sonde_buf scratch;
	struct sonde_plot_scale x, y;
};

/* --- helpers ------------------------------------------------------------------------------------------------------ */

static double x_of(const struct drawing *drawing, double value)
{
	return LEFT + (RIGHT - LEFT) * sonde_plot_scale_at(&drawing->x, value);
}

static double y_of(const struct drawing *drawing, double value)
{
	return BOTTOM - (BOTTOM - TOP) * sonde_plot_scale_at(&drawing->y, value);
}

/* Writes a cleaned text in at most `columns` columns. */
static void put_text(struct drawing *drawing, const char *text, size_t columns)
{
	sonde_buf_clear(&drawing->scratch);
	sonde_clean_cut(&drawing->scratch, text, columns, 0);
	sonde_clean_markup(drawing->out, sonde_buf_string(&drawing->scratch));
}

static void put_label(struct drawing *drawing, double x, double y, const char *anchor, const char *text)
{
	fprintf(drawing->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	put_text(drawing, text, TITLE_COLUMNS);
	fputs("</text>\n", drawing->out);
}

static uint32_t colour_of(size_t series)
{
	return sonde_palette_tone(series);
}

/* --- scales ------------------------------------------------------------------------------------------------------- */

/* The height of a series in interval i; that of an area includes the areas below it. */
static double top_of(const struct sonde_plot *plot, size_t series, size_t i)
{
	const struct sonde_plot_series *row = &plot->series[series];
	double top = isnan(row->values[i]) ? 0 : row->values[i];
	for (size_t below = 0; row->form == SONDE_PLOT_AREA && below < series; below++)
		if (plot->series[below].form == SONDE_PLOT_AREA && i < plot->series[below].count &&
		    !isnan(plot->series[below].values[i]))
			top += plot->series[below].values[i];
	return top;
}

static int choose_scales(struct drawing *drawing)
{
	const struct sonde_plot *plot = drawing->plot;
	double from = INFINITY, to = -INFINITY, most = 0, least = 0;
	int has_value = 0;
	for (size_t s = 0; s < plot->series_count; s++)
		for (size_t i = 0; i < plot->series[s].count; i++) {
			const struct sonde_plot_series *row = &plot->series[s];
			has_value |= !isnan(row->values[i]);
			from = fmin(from, row->from[i]);
			to = fmax(to, row->to[i]);
			most = fmax(most, top_of(plot, s, i));
			if (row->high)
				most = fmax(most, isnan(row->high[i]) ? 0 : row->high[i]);
			least = fmin(least, isnan(row->values[i]) ? 0 : row->values[i]);
			if (row->low)
				least = fmin(least, isnan(row->low[i]) ? 0 : row->low[i]);
		}
	if (!has_value)
		return sonde_error(ENODATA, "the recording has no data for this plot");
	sonde_plot_scale_choose(&drawing->x, plot->x.unit, from, to, plot->x.logarithmic);
	least = plot->y.below_zero ? least * HEADROOM : 0;
	sonde_plot_scale_choose(
	    &drawing->y, plot->y.unit, least,
	    most > 0 || least < 0 ? most * (plot->annotation_count ? HEADROOM_FOR_ANNOTATIONS : HEADROOM) : 1, 0);
	return 0;
}

/* --- frame, ticks ------------------------------------------------------------------------------------------------- */

static void put_axis_title(struct drawing *drawing, const struct sonde_plot_axis *axis,
			   const struct sonde_plot_scale *scale, const char *place)
{
	const char *suffix = axis->suffix ? axis->suffix : "";
	int has_unit = !axis->names && !scale->logarithmic && (*scale->unit_name || *suffix);
	fprintf(drawing->out, "<text class=\"axis\" %s text-anchor=\"middle\">", place);
	put_text(drawing, axis->title, TITLE_COLUMNS);
	if (has_unit)
		fprintf(drawing->out, " (%s%s)", scale->unit_name, suffix);
	fputs("</text>\n", drawing->out);
}

static void put_x_ticks(struct drawing *drawing)
{
	char text[40];
	for (size_t i = 0; i < drawing->x.tick_count && !drawing->plot->x.names; i++) {
		double x = x_of(drawing, drawing->x.ticks[i]);
		fprintf(drawing->out, "<path class=\"tick\" d=\"M%.1f %dV%d\"/>\n", x, BOTTOM, BOTTOM + 5);
		sonde_plot_scale_text(&drawing->x, drawing->x.ticks[i], text, sizeof text);
		put_label(drawing, x, BOTTOM + 20, "middle", text);
	}
}

/* Writes names of intervals instead of numbers; if there are many, only some of the names. */
static void put_names(struct drawing *drawing)
{
	const struct sonde_plot_series *row = &drawing->plot->series[0];
	size_t every = row->count / 24 + 1;
	double space = (double)(RIGHT - LEFT) / (double)row->count * (double)every;
	for (size_t i = 0; i < row->count; i += every) {
		double x = x_of(drawing, (double)i + 0.5); /* intervals with names are numbered */
		size_t columns = (size_t)fmax(space / LETTER - 1, 3);
		fprintf(drawing->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x, BOTTOM + 20);
		put_text(drawing, drawing->plot->x.names[i], columns);
		fputs("</text>\n", drawing->out);
	}
}

static void put_y_ticks(struct drawing *drawing)
{
	char text[40];
	for (size_t i = 0; i < drawing->y.tick_count; i++) {
		double y = y_of(drawing, drawing->y.ticks[i]);
		fprintf(drawing->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, RIGHT);
		sonde_plot_scale_text(&drawing->y, drawing->y.ticks[i], text, sizeof text);
		put_label(drawing, LEFT - 8, y + 4, "end", text);
	}
}

static void put_frame(struct drawing *drawing)
{
	const struct sonde_plot *plot = drawing->plot;
	char place[80];
	put_y_ticks(drawing);
	fprintf(drawing->out, "<path class=\"tick\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
	if (drawing->y.least < 0)
		fprintf(drawing->out, "<path class=\"tick\" d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(drawing, 0), RIGHT);
	if (plot->x.names)
		put_names(drawing);
	else
		put_x_ticks(drawing);
	snprintf(place, sizeof place, "x=\"%d\" y=\"%d\"", (LEFT + RIGHT) / 2, BOTTOM + 44);
	put_axis_title(drawing, &plot->x, &drawing->x, place);
	snprintf(place, sizeof place, "transform=\"translate(20 %d) rotate(-90)\"", (TOP + BOTTOM) / 2);
	put_axis_title(drawing, &plot->y, &drawing->y, place);
}

/* --- series ------------------------------------------------------------------------------------------------------- */

static void put_line(struct drawing *drawing, const struct sonde_plot_series *row, size_t number)
{
	int is_open = 0;
	fprintf(drawing->out, "<path class=\"line\" stroke=\"#%06x\" d=\"", colour_of(number));
	for (size_t i = 0; i < row->count; i++) {
		if (isnan(row->values[i])) {
			is_open = 0;
			continue;
		}
		double y = y_of(drawing, row->values[i]);
		fprintf(drawing->out, "%c%.1f %.1fH%.1f", is_open ? 'L' : 'M', x_of(drawing, row->from[i]), y,
			x_of(drawing, row->to[i]));
		is_open = 1;
	}
	fputs("\"/>\n", drawing->out);
}

/* Unknown values are drawn as zero. Areas come from rows of a single section. */
static void put_area(struct drawing *drawing, const struct sonde_plot_series *row, size_t number)
{
	fprintf(drawing->out, "<path class=\"area\" fill=\"#%06x\" d=\"M%.1f %d", colour_of(number),
		x_of(drawing, row->from[0]), BOTTOM);
	for (size_t i = 0; i < row->count; i++)
		fprintf(drawing->out, "L%.1f %.1fH%.1f", x_of(drawing, row->from[i]),
			y_of(drawing, top_of(drawing->plot, number, i)), x_of(drawing, row->to[i]));
	fprintf(drawing->out, "L%.1f %dZ\"/>\n", x_of(drawing, row->to[row->count - 1]), BOTTOM);
}

static int has_range(const struct sonde_plot_series *series, size_t i)
{
	return series->low && series->high && !isnan(series->low[i]) && !isnan(series->high[i]);
}

static void put_bars(struct drawing *drawing, const struct sonde_plot_series *row, size_t number)
{
	for (size_t i = 0; i < row->count; i++) {
		if (isnan(row->values[i]))
			continue;
		double from = x_of(drawing, row->from[i]), to = x_of(drawing, row->to[i]);
		double y = y_of(drawing, row->values[i]), zero = y_of(drawing, 0),
		       gap = drawing->plot->x.names ? (to - from) * 0.15 : 0.5;
		fprintf(drawing->out,
			"<rect class=\"bar\" fill=\"#%06x\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
			colour_of(number), from + gap, fmin(y, zero), fmax(to - from - 2 * gap, 0.5), fabs(zero - y));
		if (has_range(row, i))
			fprintf(drawing->out, "<path class=\"tick\" d=\"M%.1f %.1fV%.1f\"/>\n", (from + to) / 2,
				y_of(drawing, row->low[i]), y_of(drawing, row->high[i]));
	}
}

/* Draws areas from the topmost down, so that each covers the lower part of those above it. */
static void put_series(struct drawing *drawing)
{
	const struct sonde_plot *plot = drawing->plot;
	for (size_t s = plot->series_count; s > 0; s--)
		if (plot->series[s - 1].form == SONDE_PLOT_AREA && plot->series[s - 1].count)
			put_area(drawing, &plot->series[s - 1], s - 1);
	for (size_t s = 0; s < plot->series_count; s++)
		if (plot->series[s].form == SONDE_PLOT_BARS)
			put_bars(drawing, &plot->series[s], s);
	for (size_t s = 0; s < plot->series_count; s++)
		if (plot->series[s].form == SONDE_PLOT_LINE)
			put_line(drawing, &plot->series[s], s);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static void put_line_of_note(struct drawing *drawing, int y, const char *text)
{
	fprintf(drawing->out, "<text class=\"axis\" x=\"%d\" y=\"%d\">", LEFT, y);
	put_text(drawing, text, NOTE_COLUMNS);
	fputs("</text>\n", drawing->out);
}

/* Writes the note; if it is too long for a line, breaks it at a space into two. */
static void put_note(struct drawing *drawing, const char *note)
{
	char first[NOTE_COLUMNS + 1];
	size_t first_b = strlen(note);
	if (first_b > NOTE_COLUMNS)
		for (first_b = NOTE_COLUMNS; first_b && note[first_b] != ' ';)
			first_b--;
	snprintf(first, sizeof first, "%.*s", (int)first_b, note);
	if (!note[first_b] || !first_b) {
		put_line_of_note(drawing, SONDE_PLOT_HEIGHT - 12, note);
		return;
	}
	put_line_of_note(drawing, SONDE_PLOT_HEIGHT - 20, first);
	put_line_of_note(drawing, SONDE_PLOT_HEIGHT - 6, note + first_b + 1);
}

static void put_heading(struct drawing *drawing)
{
	const struct sonde_plot *plot = drawing->plot;
	double x = LEFT;
	fprintf(drawing->out, "<text class=\"title\" x=\"%d\" y=\"30\">", LEFT);
	put_text(drawing, plot->title, TITLE_COLUMNS);
	fprintf(drawing->out, "</text>\n<text class=\"axis\" x=\"%d\" y=\"50\">", LEFT);
	put_text(drawing, plot->subtitle, TITLE_COLUMNS + 20);
	fputs("</text>\n", drawing->out);
	for (size_t s = 0; s < plot->series_count && plot->series_count > 1; s++) {
		fprintf(drawing->out, "<rect x=\"%.1f\" y=\"64\" width=\"14\" height=\"10\" fill=\"#%06x\"/>\n", x,
			colour_of(s));
		put_label(drawing, x + 20, 74, "start", plot->series[s].name);
		x += 20 + (double)(strlen(plot->series[s].name) * LETTER) + 24;
	}
	if (plot->note)
		put_note(drawing, plot->note);
}

/* Draws all lines before the labels, so that no line crosses a label; a label moves down if it would overlap the
 * previous one. */
static void put_annotations(struct drawing *drawing)
{
	const struct sonde_plot *plot = drawing->plot;
	double before = -1e9;
	int row = 0;
	for (size_t i = 0; i < plot->annotation_count; i++)
		fprintf(drawing->out, "<path class=\"mark\" d=\"M%.1f %dV%d\"/>\n",
			x_of(drawing, plot->annotations[i].x), TOP, BOTTOM);
	fputs("<g class=\"over\">\n", drawing->out);
	for (size_t i = 0; i < plot->annotation_count; i++) {
		double x = x_of(drawing, plot->annotations[i].x),
		       length = (double)(strlen(plot->annotations[i].name) * LETTER);
		int is_right = x + length + 8 > RIGHT;
		row = fabs(x - before) < length + 12 ? (row + 1) % 4 : 0;
		before = x;
		put_label(drawing, is_right ? x - 5 : x + 5, TOP + 12 + 15 * row, is_right ? "end" : "start",
			  plot->annotations[i].name);
	}
	fputs("</g>\n", drawing->out);
}

/* --- figures of intervals ----------------------------------------------------------------------------------------- */

static void put_figure(struct drawing *drawing, const struct sonde_plot_axis *axis, double value)
{
	sonde_buf_clear(&drawing->scratch);
	sonde_figure_value(&drawing->scratch, axis->unit, value, 0);
	sonde_clean_markup(drawing->out, sonde_buf_string(&drawing->scratch));
	if (axis->suffix)
		fputs(axis->suffix, drawing->out);
}

/* True if two series have the same interval i. */
static int is_same_interval(const struct sonde_plot_series *a, const struct sonde_plot_series *b, size_t i)
{
	return i < b->count && a->from[i] == b->from[i] && a->to[i] == b->to[i];
}

static void put_data(struct drawing *drawing, const struct sonde_plot_series *series, size_t i)
{
	fprintf(drawing->out, " data-%s=\"%.17g\"", series->key, series->values[i]);
	if (has_range(series, i))
		fprintf(drawing->out, " data-%s-low=\"%.17g\" data-%s-high=\"%.17g\"", series->key, series->low[i],
			series->key, series->high[i]);
}

static void put_interval(struct drawing *drawing, const struct sonde_plot_series *first, size_t i)
{
	const struct sonde_plot *plot = drawing->plot;
	double from = x_of(drawing, first->from[i]), to = x_of(drawing, first->to[i]);
	fprintf(drawing->out,
		"<rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" data-from=\"%.17g\" "
		"data-to=\"%.17g\"",
		from, TOP, fmax(to - from, 0.5), BOTTOM - TOP, first->from[i], first->to[i]);
	for (size_t s = 0; s < plot->series_count; s++)
		if (is_same_interval(first, &plot->series[s], i) && !isnan(plot->series[s].values[i]))
			put_data(drawing, &plot->series[s], i);
	fputs("><title>", drawing->out);
	if (plot->x.names)
		put_text(drawing, plot->x.names[i], TITLE_COLUMNS);
	else {
		put_figure(drawing, &plot->x, first->from[i]);
		fputs(" – ", drawing->out);
		put_figure(drawing, &plot->x, first->to[i]);
	}
	for (size_t s = 0; s < plot->series_count; s++) {
		if (!is_same_interval(first, &plot->series[s], i))
			continue;
		fprintf(drawing->out, "\n%s: ", plot->series[s].name);
		if (isnan(plot->series[s].values[i]))
			fputs("not known", drawing->out);
		else
			put_figure(drawing, &plot->y, plot->series[s].values[i]);
		if (has_range(&plot->series[s], i)) {
			fputs(" (", drawing->out);
			put_figure(drawing, &plot->y, plot->series[s].low[i]);
			fputs(" to ", drawing->out);
			put_figure(drawing, &plot->y, plot->series[s].high[i]);
			putc(')', drawing->out);
		}
	}
	fputs("</title></rect>\n", drawing->out);
}

/* Draws the intervals of each series that no earlier series had. */
static void put_intervals(struct drawing *drawing)
{
	const struct sonde_plot *plot = drawing->plot;
	for (size_t s = 0; s < plot->series_count; s++)
		for (size_t i = 0; i < plot->series[s].count; i++) {
			int is_new = 1;
			for (size_t before = 0; before < s; before++)
				is_new &= !is_same_interval(&plot->series[s], &plot->series[before], i);
			if (is_new)
				put_interval(drawing, &plot->series[s], i);
		}
}

static void put_head(struct drawing *drawing)
{
	fprintf(
	    drawing->out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
	    "<style>text{font:12px system-ui,sans-serif;fill:#1b1f24}.title{font-size:18px;font-weight:600}"
	    ".axis{fill:#57606a}.grid{stroke:#d8dee4;fill:none}.tick{stroke:#57606a;fill:none}"
	    ".over{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
	    ".line{fill:none;stroke-width:2;stroke-linejoin:round}.area{stroke:none}.mark{stroke:#1b1f24;"
	    "stroke-dasharray:4 3;fill:none}.hit{fill:#000;fill-opacity:0}.hit:hover{fill-opacity:.06}</style>\n",
	    SONDE_PLOT_WIDTH, SONDE_PLOT_HEIGHT, SONDE_PLOT_WIDTH, SONDE_PLOT_HEIGHT);
	fputs("<title>", drawing->out);
	put_text(drawing, drawing->plot->title, TITLE_COLUMNS);
	fprintf(drawing->out, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", SONDE_PLOT_WIDTH,
		SONDE_PLOT_HEIGHT);
}

int sonde_plot_svg(const struct sonde_plot *plot, FILE *out)
{
	struct drawing drawing = {.plot = plot, .out = out};
	int rc = choose_scales(&drawing);
	if (rc)
		return rc;
	sonde_buf_init(&drawing.scratch, TEXT_MAX_B);
	put_head(&drawing);
	put_frame(&drawing);
	put_series(&drawing);
	put_heading(&drawing);
	put_annotations(&drawing);
	put_intervals(&drawing);
	fputs("</svg>\n", out);
	rc = sonde_buf_error(&drawing.scratch);
	sonde_buf_fini(&drawing.scratch);
	return rc;
}
