/* figure.h: human-readable figures: scaled, with unit and interval. Machine-readable formats use stored units
 * instead. */
#ifndef SONDE_EXPORT_TEXT_FIGURE_H
#define SONDE_EXPORT_TEXT_FIGURE_H

#include "report/report.h"
#include "util/buf.h"

/* Appends a non-text cell: "1.19 s", "4.20 MB", "27.8 ±5.1 %", "12,345"; a dash if absent. */
void sonde_figure(struct sonde_buf *out, enum sonde_unit unit, const struct sonde_cell *cell, int ascii);

/* Appends a value given in stored units. */
void sonde_figure_value(struct sonde_buf *out, enum sonde_unit unit, double value, int ascii);

#endif
