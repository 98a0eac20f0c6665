/* plots.h: plots by name, drawn from sections of a report. */
#ifndef SONDE_EXPORT_PLOT_PLOTS_H
#define SONDE_EXPORT_PLOT_PLOTS_H

#include <stddef.h>

#include "export/format.h"

struct sonde_plot_row {
	const char *name;     /* "cpu" */
	const char *title;    /* one line for help */
	const char *sections; /* that it is drawn from, with commas between them */
	struct sonde_format svg, png;
};

extern const struct sonde_plot_row sonde_plots[];
extern const size_t sonde_plot_count;

/* The same of what `sonde diff` says. */
extern const struct sonde_plot_row sonde_diff_plots[];
extern const size_t sonde_diff_plot_count;

/* Which plots the report's sections are enough for, in words, and why not for the others. */
extern const struct sonde_format sonde_format_plots, sonde_format_diff_plots;

#endif
