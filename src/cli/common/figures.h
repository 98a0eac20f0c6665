/* figures.h: tables of figures and remarks about them: how `stat` and `bench` print the results of repeated runs. */
#ifndef SONDE_CLI_COMMON_FIGURES_H
#define SONDE_CLI_COMMON_FIGURES_H

#include <stdio.h>

#include "analyze/statistics/spread.h"
#include "export/format.h"
#include "report/report.h"
#include "util/buf.h"
#include "util/json.h"

enum { SONDE_FIGURES_LABEL = 16, SONDE_FIGURES_WIDTH = 10 };

struct sonde_figures {
	FILE *out;
	const struct sonde_format_options *style;
	struct sonde_buf line; /* a cell is built here before it is placed */
};

void sonde_figures_init(struct sonde_figures *figures, FILE *out, const struct sonde_format_options *style);
void sonde_figures_fini(struct sonde_figures *figures);

/* Prints right-aligned in a column, by display width: a text, or `line`, which is then cleared. */
void sonde_figures_right(struct sonde_figures *figures, const char *text, int width);
void sonde_figures_line_right(struct sonde_figures *figures, int width);

/* Prints a name in the label column, then a command, cut at the end of the line. `command` "" = prints nothing. */
void sonde_figures_command(struct sonde_figures *figures, const char *name, const char *command);

/* The first function prints headings, the second a row: mean, interval, standard deviation, min, median, max. The row
 * does not end with a newline. */
void sonde_figures_spread_headings(struct sonde_figures *figures);
void sonde_figures_spread(struct sonde_figures *figures, const char *label, enum sonde_unit unit,
			  const struct sonde_spread *spread);

/* Writes count, mean, interval and so on as members of the open object; times in seconds. */
void sonde_figures_spread_json(struct sonde_json *json, enum sonde_unit unit, const struct sonde_spread *spread);

/* Prints `line`, wrapped, after a mark, and clears it. */
void sonde_figures_sentence(struct sonde_figures *figures, const char *mark);

#endif
