/* show.h: how `sonde stat` shows what a run used: for people, and as JSON. */
#ifndef SONDE_CLI_STAT_SHOW_H
#define SONDE_CLI_STAT_SHOW_H

#include <stdio.h>

#include "analyze/resource/series.h"
#include "analyze/statistics/spread.h"
#include "analyze/resource/stat_figures.h"
#include "export/format.h"
#include "report/report.h"
#include "util/arena.h"
#include "util/buf.h"

struct sonde_stat_show {
	const struct sonde_series_sums *sums; /* finished */
	const struct sonde_stat_figures *figures;
	const struct sonde_report *report;  /* with the section `resources`; NULL = none */
	const char *command;                /* "" = attached */
	int status;                         /* of the command, as wait(2); −1 = not known */
	int attached;                       /* the process's number; 0 = not attached */
	const char *error;                  /* what went wrong with the recording; NULL = nothing */
	const struct sonde_stat_runs *runs; /* of repeated ones, in the place of figures, sums and status; NULL = one */
};

/* A command that was run again and again. */
struct sonde_stat_run {
	struct sonde_stat_figures figures; /* reasons live as long as the runs */
	int status;                        /* as wait(2) */
};

struct sonde_stat_runs {
	struct sonde_stat_run *run;
	size_t count, cap, asked;
	size_t warmups; /* before them, not counted */
	int failed;     /* status of the first run that did not end with 0, warm-ups too; 0 = none */
	struct sonde_arena reasons;
};

/* Copies. −ENOMEM with a sentence. */
int sonde_stat_runs_add(struct sonde_stat_runs *runs, const struct sonde_stat_figures *figures, int status);
void sonde_stat_runs_fini(struct sonde_stat_runs *runs);

/* Of the runs that know the figure; `values` has room for all and gets them, sorted. */
void sonde_stat_runs_spread(struct sonde_spread *out, const struct sonde_stat_runs *runs, enum sonde_stat figure,
			    double *values);

/* Groups of lines, without those that have nothing to say, then the line of sonde_stat_summary(). */
void sonde_stat_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out);

/* "Peak RAM: 2.40 GB, Wall Time: 45.2s, CPU Util: 113%", and with devices "GPU Util: 78%" */
void sonde_stat_summary(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out);

/* ", GPU Util: 78 %", of several devices ", GPU Util: 20 % of 2" for that line. */
void sonde_stat_devices(struct sonde_buf *line, double busy, const struct sonde_stat_figures *figures, int ascii);

/* A table of means, the outliers, then a line as that of sonde_stat_summary(), which stands alone with `is_brief`. */
void sonde_stat_runs_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, int is_brief,
			  FILE *out);

/* Keys of analyze/resource/stat_figures.def; figures that are not known are null, with the reason in their group's "absent". Of repeated
 * runs: "runs", and "summary" with mean, interval and so on of each figure. */
void sonde_stat_json(const struct sonde_stat_show *show, FILE *out);

#endif
