/* stat_show.h: how `sonde stat` shows what a run used: for people, and as JSON. */
#ifndef SONDE_CLI_STAT_SHOW_H
#define SONDE_CLI_STAT_SHOW_H

#include <stdio.h>

#include "analyze/series.h"
#include "analyze/stat_figures.h"
#include "export/format.h"
#include "report/report.h"

struct sonde_stat_show {
	const struct sonde_series_sums *sums; /* finished */
	const struct sonde_stat_figures *figures;
	const struct sonde_report *report; /* with the section `resources`; NULL = none */
	const char *command;               /* "" = attached */
	int status;                        /* of the command, as wait(2); −1 = not known */
	int attached;                      /* the process's number; 0 = not attached */
	const char *error;                 /* what went wrong with the recording; NULL = nothing */
};

/* Groups of lines, without those that have nothing to say, then the line of sonde_stat_summary(). */
void sonde_stat_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out);

/* "Peak RAM: 2.40 GB, Wall Time: 45.2s, CPU Util: 113%" */
void sonde_stat_summary(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out);

/* Keys of stat_figures.def; figures that are not known are null, with the reason in their group's "absent". */
void sonde_stat_json(const struct sonde_stat_show *show, FILE *out);

#endif
