/* figures.h: tables of figures, and sentences about them: how `stat` and `bench` print what repeated runs came to. */
#ifndef SONDE_CLI_COMMON_FIGURES_H
#define SONDE_CLI_COMMON_FIGURES_H

#include <stdio.h>

#include "analyze/statistics/spread.h"
#include "export/format.h"
#include "report/report.h"
#include "util/buf.h"

enum { SONDE_FIGURES_LABEL = 16, SONDE_FIGURES_WIDTH = 10 };

struct sonde_figures {
	FILE *out;
	const struct sonde_format_options *style;
	struct sonde_buf line; /* is made, and then put at its place */
};

void sonde_figures_init(struct sonde_figures *figures, FILE *out, const struct sonde_format_options *style);
void sonde_figures_fini(struct sonde_figures *figures);

/* At the right of a column, whatever bytes it has: a text, or the line, which is empty then. */
void sonde_figures_right(struct sonde_figures *figures, const char *text, int width);
void sonde_figures_line_right(struct sonde_figures *figures, int width);
/* A dash where it is not known. */
void sonde_figures_value(struct sonde_figures *figures, enum sonde_unit unit, double value, int is_known);

/* A command, cut at the end of the line, behind a name in the labels' column; "" = none. */
void sonde_figures_command(struct sonde_figures *figures, const char *name, const char *command);

/* Mean, its interval, deviation, least, median, most; a row does not end its line. */
void sonde_figures_spread_heads(struct sonde_figures *figures);
void sonde_figures_spread(struct sonde_figures *figures, const char *label, enum sonde_unit unit,
			  const struct sonde_spread *spread);

/* The line, wrapped, behind a mark; it is empty then. */
void sonde_figures_sentence(struct sonde_figures *figures, const char *mark);

#endif
