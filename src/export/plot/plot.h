/* plot.h: a plot with axes: lines, stacked areas or bars over time, a quantity or names; drawn as SVG.
 *
 * Axes have units, ticks at round numbers, and room for what they show. Every interval of the picture says its figures
 * in words to whoever points at it, and to programs in data-from, data-to and data-SERIES (stored units).
 */
#ifndef SONDE_EXPORT_PLOT_PLOT_H
#define SONDE_EXPORT_PLOT_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "report/report.h"

enum { SONDE_PLOT_WIDTH = 960, SONDE_PLOT_HEIGHT = 540, SONDE_PLOT_SERIES_MAX = 6, SONDE_PLOT_MARKS_MAX = 8 };

enum sonde_plot_form {
	SONDE_PLOT_LINE, /* a step from one interval to the next */
	SONDE_PLOT_AREA, /* the same, filled, on top of the areas before it */
	SONDE_PLOT_BARS,
};

/* One value an interval; NaN = not known there. */
struct sonde_plot_series {
	const char *key;  /* of its data: "user" */
	const char *name; /* for the legend */
	enum sonde_plot_form form;
	double *from, *to, *values; /* intervals rise and do not overlap */
	double *low, *high;         /* of bars: how sure they are; NULL = exact, or not known */
	size_t count;
};

struct sonde_plot_axis {
	const char *title; /* "resident memory"; the unit follows */
	enum sonde_unit unit;
	const char *suffix;       /* behind the unit: "/s"; NULL = none */
	const char *const *names; /* of the intervals, instead of numbers; NULL = numbers */
	int logarithmic;          /* x only */
	int below_zero;           /* y only: bars of negative values hang down from 0; else the axis begins at 0 */
};

/* A moment or value of x that is pointed out. */
struct sonde_plot_mark {
	double x;
	const char *name;
};

struct sonde_plot {
	const char *title, *subtitle;
	struct sonde_plot_axis x, y;
	struct sonde_plot_series series[SONDE_PLOT_SERIES_MAX];
	size_t series_count;
	struct sonde_plot_mark marks[SONDE_PLOT_MARKS_MAX];
	size_t mark_count;
	const char *note; /* below the picture; NULL = none */
};

/* Writes an <svg> element. -ENODATA with a sentence when no series has a value. */
int sonde_plot_svg(const struct sonde_plot *plot, FILE *out);

/* --- ticks (plot/scale.c) ----------------------------------------------------------------------------------------- */

enum { SONDE_PLOT_TICKS_MAX = 24 };

/* A scale of a quantity: `unit_name` of `unit_size` stored units. */
struct sonde_plot_scale {
	double least, most; /* stored units; of a logarithmic one both above 0 */
	int logarithmic;
	const char *unit_name;
	double unit_size;
	double ticks[SONDE_PLOT_TICKS_MAX]; /* stored units, rising, within the scale */
	size_t tick_count;
	int decimals;
};

/* For values from `least` to `most`; one that is not logarithmic begins at 0 where from_zero. */
void sonde_plot_scale_choose(struct sonde_plot_scale *out, enum sonde_unit unit, double least, double most,
			     int logarithmic);
/* Where a value lies, 0 … 1. */
double sonde_plot_scale_at(const struct sonde_plot_scale *scale, double value);
/* A tick's number, without its unit. */
void sonde_plot_scale_text(const struct sonde_plot_scale *scale, double tick, char *out, size_t out_b);

#endif
