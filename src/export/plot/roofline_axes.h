/* roofline_axes.h: what pictures of ceilings share: axes, both logarithmic, lines below them, and their labels. For the
 * machine (plot/roofline_svg.c) and for devices (plot/roofline_devices.c).
 *
 * Places on the axes are decimal logarithms of FLOP/byte and GFLOP/s. Labels are written as they are: names of ours.
 */
#ifndef SONDE_EXPORT_PLOT_ROOFLINE_AXES_H
#define SONDE_EXPORT_PLOT_ROOFLINE_AXES_H

#include <stddef.h>
#include <stdio.h>

enum { SONDE_ROOFLINE_WIDTH = 1200, SONDE_ROOFLINE_LEFT = 76, SONDE_ROOFLINE_RIGHT = 850, SONDE_ROOFLINE_KEY_X = 880 };
enum { SONDE_ROOFLINE_LABELS_MAX = 48 };

struct sonde_roofline_axes {
	FILE *out;
	int top, bottom; /* of the frame, in pixels */
	double x_min, x_max, y_min, y_max;
	double labels[SONDE_ROOFLINE_LABELS_MAX]; /* heights of labels at the right edge */
	size_t label_count;
	struct {
		double x, y;
	} memory[SONDE_ROOFLINE_LABELS_MAX]; /* where labels along diagonals begin */
	size_t memory_count;
};

struct sonde_roofline_line {
	double rate;         /* GFLOP/s of a peak, GB/s of memory */
	double meets;        /* of the other kind: where the two lines meet, this one ends; ≤ 0 = it goes on */
	const char *classes; /* "maker", … of the style */
	const char *label;
};

/* Whether an axis, with a line for each power of ten, can hold it: what is not known is negative. */
int sonde_roofline_has_place(double value);
/* A range of logarithms gets room for a value; what is not known changes nothing. */
void sonde_roofline_widen(double *low, double *high, double value);

/* Pixels. */
double sonde_roofline_x(const struct sonde_roofline_axes *axes, double x);
double sonde_roofline_y(const struct sonde_roofline_axes *axes, double y);

/* "66.91 TFLOP/s": a rate in 10⁹ a second with the unit that leaves few digits. */
void sonde_roofline_rate_put(FILE *out, double giga, const char *unit);

void sonde_roofline_axes_put(const struct sonde_roofline_axes *axes);
/* A horizontal line, from where memory reaches it; a diagonal, up to a peak. What is out of sight is left out. */
void sonde_roofline_peak_put(struct sonde_roofline_axes *axes, const struct sonde_roofline_line *line);
void sonde_roofline_memory_put(struct sonde_roofline_axes *axes, const struct sonde_roofline_line *line);

#endif
