/* scale.c: scales of plots: suitable units, and ticks at 1, 2 or 5 times a power of ten. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/plot/plot.h"

enum { TICKS_ABOUT = 6, POWERS_MAX = 30 };

struct unit {
	const char *name;
	double size;
};

/* Chooses the largest unit that does not exceed the greatest value; else the first unit. */
static const struct unit times[] = {{"ns", 1},     {"µs", 1e3},   {"ms", 1e6}, {"s", 1e9},
				    {"min", 60e9}, {"h", 3600e9}, {NULL, 0}};
static const struct unit bytes[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {NULL, 0}};
static const struct unit ratios[] = {{"%", 0.01}, {NULL, 0}};
static const struct unit joules[] = {{"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {NULL, 0}};
static const struct unit numbers[] = {{"", 1}, {NULL, 0}};

static const struct unit *units_of(enum sonde_unit unit)
{
	return unit == SONDE_UNIT_NS       ? times
	       : unit == SONDE_UNIT_BYTES  ? bytes
	       : unit == SONDE_UNIT_RATIO  ? ratios
	       : unit == SONDE_UNIT_JOULES ? joules
					   : numbers;
}

static void choose_unit(struct sonde_plot_scale *scale, enum sonde_unit unit)
{
	const struct unit *units = units_of(unit), *best = units;
	for (const struct unit *at = units; at->name; at++)
		/* Minutes and hours only from five on: 90 s is easier to read than 1.5 min. */
		if (at->size <= scale->most && (at->size < 60e9 || at->size * 5 <= scale->most))
			best = at;
	scale->unit_name = best->name;
	scale->unit_size = best->size;
}

static void add_tick(struct sonde_plot_scale *scale, double value)
{
	double slack = scale->logarithmic ? scale->most * 1e-9 : (scale->most - scale->least) * 1e-9;
	if (scale->tick_count < SONDE_PLOT_TICKS_MAX && value >= scale->least - slack && value <= scale->most + slack)
		scale->ticks[scale->tick_count++] = value;
}

/* A round step that gives about TICKS_ABOUT ticks. */
static double step_of(double range)
{
	double raw = range / TICKS_ABOUT, power = pow(10, floor(log10(raw)));
	double times_power = raw / power;
	return (times_power <= 1 ? 1 : times_power <= 2 ? 2 : times_power <= 5 ? 5 : 10) * power;
}

static void choose_linear(struct sonde_plot_scale *scale)
{
	double step = step_of((scale->most - scale->least) / scale->unit_size);
	double first = ceil(scale->least / scale->unit_size / step - 1e-9);
	scale->decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
	for (int i = 0; i < SONDE_PLOT_TICKS_MAX; i++)
		add_tick(scale, (first + i) * step * scale->unit_size);
}

/* Chooses powers of ten as ticks; if they are few, also 2 and 5 times each of them. */
static void choose_logarithmic(struct sonde_plot_scale *scale)
{
	static const double parts[] = {1, 2, 5};
	int low = (int)floor(log10(scale->least)), high = (int)ceil(log10(scale->most));
	int is_fine = high - low <= 3, every = (high - low) / SONDE_PLOT_TICKS_MAX + 1;
	for (int power = low; power <= high && power - low < 2 * POWERS_MAX; power += every)
		for (size_t i = 0; i < (is_fine ? sizeof parts / sizeof *parts : 1); i++)
			add_tick(scale, parts[i] * pow(10, power));
}

void sonde_plot_scale_choose(struct sonde_plot_scale *out, enum sonde_unit unit, double least, double most,
			     int logarithmic)
{
	*out = (struct sonde_plot_scale){.least = least, .most = most, .logarithmic = logarithmic};
	if (!logarithmic && !(out->most > out->least))
		out->most = out->least + (out->least != 0 ? fabs(out->least) : 1);
	if (logarithmic && !(out->least > 0))
		out->least = 1;
	if (logarithmic && !(out->most > out->least))
		out->most = out->least * 10;
	choose_unit(out, unit);
	if (logarithmic)
		choose_logarithmic(out);
	else
		choose_linear(out);
}

double sonde_plot_scale_at(const struct sonde_plot_scale *scale, double value)
{
	double at = scale->logarithmic ? log(fmax(value, scale->least) / scale->least) / log(scale->most / scale->least)
				       : (value - scale->least) / (scale->most - scale->least);
	return fmin(fmax(at, 0), 1);
}

/* On a logarithmic scale, each tick has a unit of its own. */
void sonde_plot_scale_text(const struct sonde_plot_scale *scale, double tick, char *out, size_t out_b)
{
	const struct unit *best = NULL;
	if (!scale->logarithmic) {
		snprintf(out, out_b, "%.*f", scale->decimals, tick / scale->unit_size + 0.0);
		return;
	}
	const struct unit *const tables[] = {times, bytes};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (const struct unit *at = tables[i]; at->name; at++)
			if (!strcmp(at->name, scale->unit_name))
				for (best = tables[i];
				     best[1].name && best[1].size <= tick * (1 + 1e-9) && best[1].size < 60e9;)
					best++;
	if (best)
		snprintf(out, out_b, "%.3g %s", tick / best->size, best->name);
	else
		snprintf(out, out_b, "%.3g", tick);
}
