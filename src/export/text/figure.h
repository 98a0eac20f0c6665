/* figure.h: figures as people read them: scaled, with unit and interval. Machines get stored units instead. */
#ifndef SONDE_EXPORT_TEXT_FIGURE_H
#define SONDE_EXPORT_TEXT_FIGURE_H

#include "report/report.h"
#include "util/buf.h"

/* Appends a cell that is not text: "1.19 s", "4.20 MB", "27.8 ±5.1 %", "12,345"; absent: a dash. */
void sonde_figure(struct sonde_buf *out, enum sonde_unit unit, const struct sonde_cell *cell, int ascii);

/* A value in stored units. */
void sonde_figure_value(struct sonde_buf *out, enum sonde_unit unit, double value, int ascii);

#endif
