/* roofline_axes.h: shared by roofline pictures: two logarithmic axes, the ceilings, and their labels. Used for the
 * machine (plot/roofline_svg.c) and for GPUs (plot/roofline_devices.c).
 *
 * Coordinates are decimal logarithms of FLOP/byte and GFLOP/s. Labels are our own texts and are written unescaped.
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
	} memory[SONDE_ROOFLINE_LABELS_MAX]; /* starts of labels along diagonals */
	size_t memory_count;
};

struct sonde_roofline_line {
	double rate;         /* GFLOP/s of a peak, GB/s of memory */
	double meets;        /* the rate of the other ceiling at which this line starts or ends; ≤ 0 = it is not cut */
	const char *classes; /* CSS classes: "maker", … */
	const char *label;
};

/* True if a logarithmic axis can show the value; unknown values are negative. */
int sonde_roofline_has_place(double value);
/* Extends a range of logarithms to include a value; unknown values are ignored. */
void sonde_roofline_widen(double *low, double *high, double value);

/* Convert a coordinate to pixels. */
double sonde_roofline_x(const struct sonde_roofline_axes *axes, double x);
double sonde_roofline_y(const struct sonde_roofline_axes *axes, double y);

/* Writes "66.91 TFLOP/s": a rate in 10⁹ per second, in the unit that needs the fewest digits. */
void sonde_roofline_rate_put(FILE *out, double giga, const char *unit);

void sonde_roofline_axes_put(const struct sonde_roofline_axes *axes);
/* The first function draws a peak, as a horizontal line that starts where memory bandwidth reaches it; the second draws
 * a memory bandwidth, as a diagonal up to a peak. Lines outside the frame are skipped. */
void sonde_roofline_peak_put(struct sonde_roofline_axes *axes, const struct sonde_roofline_line *line);
void sonde_roofline_memory_put(struct sonde_roofline_axes *axes, const struct sonde_roofline_line *line);

#endif
