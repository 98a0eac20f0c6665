/* plots.h: plots by name, drawn from sections of a report. */
#ifndef SONDE_EXPORT_PLOT_PLOTS_H
#define SONDE_EXPORT_PLOT_PLOTS_H

#include <stddef.h>

#include "export/format.h"

struct sonde_plot_builder;

struct sonde_plot_row {
	const char *name;     /* "cpu" */
	const char *title;    /* one line for help */
	const char *sections; /* sections that it is drawn from, comma-separated */
	struct sonde_format svg, png;
	int (*build)(struct sonde_plot_builder *builder);
};

extern const struct sonde_plot_row sonde_plots[];
extern const size_t sonde_plot_count;

/* Plots of `sonde diff`. */
extern const struct sonde_plot_row sonde_diff_plots[];
extern const size_t sonde_diff_plot_count;

/* Formats that list which plots the report's sections contain enough data for, and why the other plots are not
 * available. */
extern const struct sonde_format sonde_format_plots, sonde_format_diff_plots;

#endif
