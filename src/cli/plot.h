/* plot.h: finds the plot that --plot names, and its format. Both functions print a message if there is none. */
#ifndef SONDE_CLI_PLOT_H
#define SONDE_CLI_PLOT_H

#include <stddef.h>

#include "export/plot/plots.h"

struct sonde_plot_requested {
	const struct sonde_plot_row *rows; /* all `count` plots */
	const char *name, *command;
	const char *format, *output; /* -f and -o; NULL = not given */
	size_t count;
};

/* Returns the row of the requested plot; NULL after a message, which suggests the closest name. */
const struct sonde_plot_row *sonde_plot_find(const struct sonde_plot_requested *requested);

/* Chooses SVG or PNG, by -f or the output's name; NULL after a message. */
const struct sonde_format *sonde_plot_form(const struct sonde_plot_requested *requested,
					   const struct sonde_plot_row *row);

#endif
