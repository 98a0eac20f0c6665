/* plot.h: a plot with axes, drawn as SVG: lines, stacked areas or bars; the x axis is time, a quantity, or names.
 *
 * Axes have units and ticks at round numbers, and fit the values. Every interval of the picture shows its figures as
 * hover text, and has them in attributes for programs: data-from, data-to and data-SERIES (stored units).
 */
#ifndef SONDE_EXPORT_PLOT_PLOT_H
#define SONDE_EXPORT_PLOT_PLOT_H

#include <stddef.h>
#include <stdio.h>

#include "report/report.h"

enum { SONDE_PLOT_WIDTH = 960, SONDE_PLOT_HEIGHT = 540, SONDE_PLOT_SERIES_MAX = 6, SONDE_PLOT_ANNOTATIONS_MAX = 8 };

enum sonde_plot_form {
	SONDE_PLOT_LINE, /* a step from one interval to the next */
	SONDE_PLOT_AREA, /* a filled step, stacked on the previous areas */
	SONDE_PLOT_BARS,
};

/* One value per interval; NaN = unknown. */
struct sonde_plot_series {
	const char *key;  /* in the name of its data attribute: "user" → data-user */
	const char *name; /* for the legend */
	enum sonde_plot_form form;
	double *from, *to, *values; /* intervals ascend and do not overlap */
	double *low, *high;         /* confidence intervals of bars; NULL = exact, or unknown */
	size_t count;
};

struct sonde_plot_axis {
	const char *title; /* "RSS"; the unit is appended */
	enum sonde_unit unit;
	const char *suffix;       /* appended to the unit: "/s"; NULL = none */
	const char *const *names; /* names of the intervals; NULL = numbers */
	int logarithmic;          /* x only */
	int below_zero;           /* y only: negative bars hang down from 0; otherwise the axis starts at 0 */
};

/* An annotation at a value of x. */
struct sonde_plot_annotation {
	double x;
	const char *name;
};

struct sonde_plot {
	const char *title, *subtitle;
	struct sonde_plot_axis x, y;
	struct sonde_plot_series series[SONDE_PLOT_SERIES_MAX];
	size_t series_count;
	struct sonde_plot_annotation annotations[SONDE_PLOT_ANNOTATIONS_MAX];
	size_t annotation_count;
	const char *note; /* below the picture; NULL = none */
};

/* Writes an <svg> element. -ENODATA with a message if no series has a value. */
int sonde_plot_svg(const struct sonde_plot *plot, FILE *out);

/* --- ticks (plot/scale.c) ----------------------------------------------------------------------------------------- */

enum { SONDE_PLOT_TICKS_MAX = 24 };

/* A scale of a quantity: `unit_name` is `unit_size` stored units. */
struct sonde_plot_scale {
	double least, most; /* stored units; both positive if logarithmic */
	int logarithmic;
	const char *unit_name;
	double unit_size;
	double ticks[SONDE_PLOT_TICKS_MAX]; /* stored units, ascending, within the scale */
	size_t tick_count;
	int decimals;
};

/* Chooses a scale for values from `least` to `most`; a linear one starts at 0 if from_zero. */
void sonde_plot_scale_choose(struct sonde_plot_scale *out, enum sonde_unit unit, double least, double most,
			     int logarithmic);
/* Relative position of a value, 0 … 1. */
double sonde_plot_scale_at(const struct sonde_plot_scale *scale, double value);
/* Formats a tick's number, without its unit. */
void sonde_plot_scale_text(const struct sonde_plot_scale *scale, double tick, char *out, size_t out_b);

#endif
