/* roofline_axes.c: axes of rooflines and their ceilings (plot/roofline_axes.h). */
#include "export/plot/roofline_axes.h"

#include <math.h>
#include <stdlib.h>

enum { POWERS_MAX = 30, LABEL_WIDTH = 170, LABEL_STEPS = 4 };
enum { LEFT = SONDE_ROOFLINE_LEFT, RIGHT = SONDE_ROOFLINE_RIGHT };

int sonde_roofline_has_place(double value)
{
	return isfinite(value) && value > 0 && fabs(log10(value)) <= POWERS_MAX;
}

void sonde_roofline_widen(double *low, double *high, double value)
{
	if (value <= 0)
		return;
	*low = log10(value) < *low ? log10(value) : *low;
	*high = log10(value) > *high ? log10(value) : *high;
}

double sonde_roofline_x(const struct sonde_roofline_axes *axes, double x)
{
	return LEFT + (x - axes->x_min) / (axes->x_max - axes->x_min) * (RIGHT - LEFT);
}

double sonde_roofline_y(const struct sonde_roofline_axes *axes, double y)
{
	return axes->bottom - (y - axes->y_min) / (axes->y_max - axes->y_min) * (axes->bottom - axes->top);
}

/* --- axes --------------------------------------------------------------------------------------------------------- */

/* Writes powers of ten from 10⁵ on in exponent form. */
static void put_power(FILE *out, int power)
{
	static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
	if (power >= -4 && power < 5) {
		fprintf(out, "%g", pow(10, power));
		return;
	}
	fprintf(out, "10%s", power < 0 ? "⁻" : "");
	if (abs(power) >= 10)
		fputs(digits[abs(power) / 10 % 10], out);
	fputs(digits[abs(power) % 10], out);
}

static void put_ticks(const struct sonde_roofline_axes *axes)
{
	FILE *out = axes->out;
	for (int x = (int)ceil(axes->x_min); x <= floor(axes->x_max); x++) {
		double at = sonde_roofline_x(axes, x);
		fprintf(out,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text class=\"sub\" "
			"x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
			at, axes->top, at, axes->bottom, at, axes->bottom + 18);
		put_power(out, x);
		fputs("</text>\n", out);
	}
	for (int y = (int)ceil(axes->y_min); y <= floor(axes->y_max); y++) {
		double at = sonde_roofline_y(axes, y);
		fprintf(out,
			"<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text class=\"sub\" "
			"x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, at, RIGHT, at, LEFT - 8, at + 4);
		put_power(out, y);
		fputs("</text>\n", out);
	}
}

void sonde_roofline_axes_put(const struct sonde_roofline_axes *axes)
{
	FILE *out = axes->out;
	put_ticks(axes);
	fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, axes->top,
		RIGHT - LEFT, axes->bottom - axes->top);
	fprintf(out, "<text class=\"sub\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">intensity, FLOP/byte</text>\n",
		(LEFT + RIGHT) / 2, axes->bottom + 40);
	fprintf(
	    out,
	    "<text class=\"sub\" transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n",
	    (axes->top + axes->bottom) / 2);
}

void sonde_roofline_rate_put(FILE *out, double giga, const char *unit)
{
	static const char prefixes[] = {'G', 'T', 'P', 'E'};
	size_t i = 0;
	for (; giga >= 1e4 && i + 1 < sizeof prefixes; i++)
		giga /= 1e3;
	fprintf(out, "%.4g %c%s", giga, prefixes[i], unit);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* Reserves a position for a label at the right edge, unless it is taken. */
static int label_takes(struct sonde_roofline_axes *axes, double y)
{
	for (size_t i = 0; i < axes->label_count; i++)
		if (fabs(axes->labels[i] - y) < 13)
			return 0;
	if (axes->label_count == SONDE_ROOFLINE_LABELS_MAX)
		return 0;
	axes->labels[axes->label_count++] = y;
	return 1;
}

void sonde_roofline_peak_put(struct sonde_roofline_axes *axes, const struct sonde_roofline_line *line)
{
	double from = line->meets > 0 ? log10(line->rate / line->meets) : axes->x_min, y;
	if (line->rate <= 0 || log10(line->rate) > axes->y_max || log10(line->rate) < axes->y_min)
		return;
	from = from < axes->x_min ? axes->x_min : from > axes->x_max ? axes->x_max : from;
	y = sonde_roofline_y(axes, log10(line->rate));
	fprintf(axes->out, "<line class=\"cpu %s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"><title>%s ",
		line->classes, sonde_roofline_x(axes, from), y, RIGHT, y, line->label);
	sonde_roofline_rate_put(axes->out, line->rate, "FLOP/s");
	fputs("</title></line>\n", axes->out);
	if (!label_takes(axes, y))
		return;
	fprintf(axes->out, "<text class=\"cpul\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s ", RIGHT - 6, y - 4,
		line->label);
	sonde_roofline_rate_put(axes->out, line->rate, "FLOP/s");
	fputs("</text>\n", axes->out);
}

/* Returns how far a label must be moved along its line so that it overlaps no other label; all lines have the same
 * slope. */
static double label_shift(struct sonde_roofline_axes *axes, double x, double y, double slope)
{
	double shift = 0;
	for (int step = 0; step < LABEL_STEPS; step++) {
		int taken = 0;
		for (size_t i = 0; i < axes->memory_count; i++) {
			double dx = axes->memory[i].x - x - shift, dy = axes->memory[i].y - y - shift * slope;
			taken |= fabs(dx) < LABEL_WIDTH && fabs(dy - dx * slope) < 16;
		}
		if (!taken)
			break;
		shift += LABEL_WIDTH;
	}
	if (axes->memory_count < SONDE_ROOFLINE_LABELS_MAX) {
		axes->memory[axes->memory_count].x = x + shift;
		axes->memory[axes->memory_count++].y = y + shift * slope;
	}
	return shift;
}

void sonde_roofline_memory_put(struct sonde_roofline_axes *axes, const struct sonde_roofline_line *line)
{
	if (line->rate <= 0)
		return;
	double slope = log10(line->rate), from = axes->x_min;
	double to = (line->meets > 0 ? log10(line->meets) : axes->y_max) - slope;
	from = from + slope < axes->y_min ? axes->y_min - slope : from;
	to = to > axes->x_max ? axes->x_max : to;
	if (to <= from)
		return;
	double x1 = sonde_roofline_x(axes, from), y1 = sonde_roofline_y(axes, from + slope);
	double x2 = sonde_roofline_x(axes, to), y2 = sonde_roofline_y(axes, to + slope);
	fprintf(axes->out, "<line class=\"mem %s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", line->classes,
		x1, y1, x2, y2);
	double along = 8 + label_shift(axes, x1, y1, (y2 - y1) / (x2 - x1));
	double above = along > 8 ? -19 : 5; /* below its line if another line is just above it */
	fprintf(axes->out, "<text class=\"meml\" transform=\"translate(%.1f %.1f) rotate(%.1f)\">%s ", x1 + along,
		y1 - above - along * (y1 - y2) / (x2 - x1), -atan2(y1 - y2, x2 - x1) * 180 / 3.14159265358979,
		line->label);
	sonde_roofline_rate_put(axes->out, line->rate, "B/s");
	fputs("</text>\n", axes->out);
}
