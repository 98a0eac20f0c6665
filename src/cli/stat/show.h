/* show.h: prints what a run used, for `sonde stat`: as text, and as JSON. */
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
	const struct sonde_report *report; /* includes the section `resources`; NULL = none */
	const char *command;               /* "" = attached */
	int status;                        /* exit status as from wait(2); −1 = unknown */
	int attached;                      /* pid of the process; 0 = not attached */
	const char *error;                 /* an error of recording; NULL = none */
	/* repeated runs, instead of figures, sums and status; NULL = a single run */
	const struct sonde_stat_runs *runs;
};

/* One of a command's repeated runs. */
struct sonde_stat_run {
	struct sonde_stat_figures figures; /* the reasons in it live as long as the runs */
	int status;                        /* as from wait(2) */
};

struct sonde_stat_runs {
	struct sonde_stat_run *run;
	size_t count, cap, requested;
	size_t warmups; /* warm-up runs, not in `count` */
	int failed;     /* status of the first failed run, including warm-ups; 0 = none */
	struct sonde_arena reasons;
};

/* Copies the figures. −ENOMEM with a message. */
int sonde_stat_runs_add(struct sonde_stat_runs *runs, const struct sonde_stat_figures *figures, int status);
void sonde_stat_runs_fini(struct sonde_stat_runs *runs);

/* Computes the spread of a figure over the runs in which it is known; `values` must have capacity for all runs, and
 * receives the values sorted. */
void sonde_stat_runs_spread(struct sonde_spread *out, const struct sonde_stat_runs *runs, enum sonde_stat figure,
			    double *values);

/* Prints groups of lines, omitting empty ones, then the line of sonde_stat_summary(). */
void sonde_stat_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out);

/* Prints "Peak RAM: 2.40 GB, Wall Time: 45.2s, CPU Util: 113%", and with GPUs "GPU Util: 78%". */
void sonde_stat_summary(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out);

/* Appends ", GPU Util: 78 %" to that line, or for several GPUs ", GPU Util: 20 % of 2". */
void sonde_stat_devices(struct sonde_buf *line, double busy, const struct sonde_stat_figures *figures, int ascii);

/* Prints a table of means, the outliers, then a line like that of sonde_stat_summary(); with `is_brief` only that
 * line. */
void sonde_stat_runs_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, int is_brief,
			  FILE *out);

/* Writes the figures as JSON. Keys are those of analyze/resource/stat_figures.def; unknown figures are null, with the
 * reason in their group's "absent". Repeated runs are written as "runs", and as "summary" with the mean, interval and
 * so on of each figure. */
void sonde_stat_json(const struct sonde_stat_show *show, FILE *out);

#endif
