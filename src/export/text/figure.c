/* figure.c: formats each unit with a ladder of steps: the highest step that the value reaches, with three digits. */
#include "export/text/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_COLUMNS = 16 };

struct step {
	double from; /* in stored units: from this value on, the previous step would need more than three digits */
	double scale;
	const char *name, *ascii;
};

static const struct step ns_steps[] = {
    {0, 1, " ns", NULL},        {999.5, 1e3, " µs", " us"},  {999.5e3, 1e6, " ms", NULL},
    {999.5e6, 1e9, " s", NULL}, {600e9, 60e9, " min", NULL}, {36000e9, 3600e9, " h", NULL},
};
static const struct step byte_steps[] = {
    {0, 1, " B", NULL},          {999.5, 1e3, " kB", NULL},    {999.5e3, 1e6, " MB", NULL},
    {999.5e6, 1e9, " GB", NULL}, {999.5e9, 1e12, " TB", NULL},
};
static const struct step hz_steps[] = {
    {0, 1, " Hz", NULL},
    {999.5, 1e3, " kHz", NULL},
    {999.5e3, 1e6, " MHz", NULL},
    {999.5e6, 1e9, " GHz", NULL},
};
static const struct step joule_steps[] = {
    {0, 1e-6, " µJ", " uJ"},   {999.5e-6, 1e-3, " mJ", NULL}, {999.5e-3, 1, " J", NULL},
    {999.5, 1e3, " kJ", NULL}, {999.5e3, 1e6, " MJ", NULL},
};
static const struct step gram_steps[] = {
    {0, 1e-6, " µg", " ug"},
    {999.5e-6, 1e-3, " mg", NULL},
    {999.5e-3, 1, " g", NULL},
    {999.5, 1e3, " kg", NULL},
};
static const struct step ratio_steps[] = {{0, 0.01, " %", NULL}};
static const struct step factor_steps[] = {{0, 1, "×", "x"}};
static const struct step plain_steps[] = {{0, 1, "", NULL}};

#define LADDER(steps)                               \
	{                                           \
		steps, sizeof steps / sizeof *steps \
	}
static const struct {
	const struct step *steps;
	size_t count;
} ladders[] = {
    [SONDE_UNIT_TEXT] = LADDER(plain_steps),    [SONDE_UNIT_COUNT] = LADDER(plain_steps),
    [SONDE_UNIT_NS] = LADDER(ns_steps),         [SONDE_UNIT_BYTES] = LADDER(byte_steps),
    [SONDE_UNIT_RATIO] = LADDER(ratio_steps),   [SONDE_UNIT_HZ] = LADDER(hz_steps),
    [SONDE_UNIT_FACTOR] = LADDER(factor_steps), [SONDE_UNIT_NUMBER] = LADDER(plain_steps),
    [SONDE_UNIT_ADDRESS] = LADDER(plain_steps), [SONDE_UNIT_ID] = LADDER(plain_steps),
    [SONDE_UNIT_BAR] = LADDER(plain_steps),     [SONDE_UNIT_JOULES] = LADDER(joule_steps),
    [SONDE_UNIT_GRAMS] = LADDER(gram_steps),
};

static const struct step *step_for(enum sonde_unit unit, double value)
{
	size_t i = ladders[unit].count - 1;
	while (i > 0 && fabs(value) < ladders[unit].steps[i].from)
		i--;
	return &ladders[unit].steps[i];
}

/* Returns the number of decimals with which a scaled value has three digits; ratios always have one decimal, whole base
 * units none. */
static int decimals_for(enum sonde_unit unit, const struct step *step, double scaled)
{
	if (unit == SONDE_UNIT_RATIO)
		return 1;
	int is_base =
	    unit == SONDE_UNIT_NS || unit == SONDE_UNIT_BYTES || unit == SONDE_UNIT_JOULES || unit == SONDE_UNIT_GRAMS;
	if (is_base && step == ladders[unit].steps && scaled == rint(scaled))
		return 0;
	double size = fabs(scaled);
	return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

/* Formats "1234567" with commas between thousands. */
static void put_grouped(struct sonde_buf *out, const char *digits)
{
	size_t whole = strspn(digits + (*digits == '-'), "0123456789") + (*digits == '-');
	for (size_t i = 0; i < whole; i++) {
		if (i > (size_t)(*digits == '-') && (whole - i) % 3 == 0)
			sonde_buf_text(out, ",");
		sonde_buf_append(out, digits + i, 1);
	}
	sonde_buf_text(out, digits + whole);
}

static void put_number(struct sonde_buf *out, double value, int decimals)
{
	char digits[400];
	snprintf(digits, sizeof digits, "%.*f", decimals, value);
	for (char *at = digits; *at; at++) /* the locale's decimal separator */
		if (!strchr("-.0123456789", *at))
			*at = '.';
	put_grouped(out, digits);
}

static void put_count(struct sonde_buf *out, uint64_t value)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%" PRIu64, value);
	put_grouped(out, digits);
}

static void put_scaled(struct sonde_buf *out, enum sonde_unit unit, double value, double plus_minus, int ascii)
{
	if (!isfinite(value)) {
		sonde_buf_text(out, ascii ? "-" : "–");
		return;
	}
	const struct step *step = step_for(unit, value);
	double scaled = value / step->scale;
	int decimals = decimals_for(unit, step, scaled);
	if ((unit == SONDE_UNIT_COUNT || unit == SONDE_UNIT_NUMBER) && scaled == rint(scaled) && plus_minus <= 0)
		decimals = 0;
	if (unit == SONDE_UNIT_RATIO && scaled > 0 && scaled < 0.05 && plus_minus <= 0)
		sonde_buf_text(out, "<0.1");
	else
		put_number(out, scaled, decimals);
	if (plus_minus > 0 && isfinite(plus_minus)) {
		sonde_buf_text(out, ascii ? " +-" : " ±");
		put_number(out, plus_minus / step->scale, decimals);
	}
	sonde_buf_text(out, ascii && step->ascii ? step->ascii : step->name);
}

/* Draws at least a thin bar for a value above zero. */
static void put_bar(struct sonde_buf *out, double share, int ascii)
{
	int halves = share > 0 ? (int)(share * 2 * BAR_COLUMNS + 0.5) : 0;
	halves = halves > 2 * BAR_COLUMNS ? 2 * BAR_COLUMNS : share > 0 && !halves ? 1 : halves;
	for (int i = 0; i < halves / 2; i++)
		sonde_buf_text(out, ascii ? "#" : "█");
	if (halves % 2)
		sonde_buf_text(out, ascii ? "-" : "▌");
}

void sonde_figure_value(struct sonde_buf *out, enum sonde_unit unit, double value, int ascii)
{
	put_scaled(out, unit, value, 0, ascii);
}

void sonde_figure(struct sonde_buf *out, enum sonde_unit unit, const struct sonde_cell *cell, int ascii)
{
	if (cell->kind != SONDE_CELL_INT && cell->kind != SONDE_CELL_REAL)
		sonde_buf_text(out, ascii ? "-" : "–");
	else if (unit == SONDE_UNIT_BAR)
		put_bar(out, cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->real, ascii);
	else if (cell->kind == SONDE_CELL_INT && unit == SONDE_UNIT_ADDRESS)
		sonde_buf_printf(out, "0x%" PRIx64, cell->integer);
	else if (cell->kind == SONDE_CELL_INT && unit == SONDE_UNIT_ID)
		sonde_buf_printf(out, "%" PRIu64, cell->integer);
	else if (cell->kind == SONDE_CELL_INT && (unit == SONDE_UNIT_COUNT || unit == SONDE_UNIT_NUMBER))
		put_count(out, cell->integer);
	else
		put_scaled(out, unit, cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->real,
			   cell->plus_minus, ascii);
}
