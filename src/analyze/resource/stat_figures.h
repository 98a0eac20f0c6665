/* stat_figures.h: what a run used, figure by figure (resource/stat_figures.def): the command with all its descendants,
 * and the system during that time. */
#ifndef SONDE_ANALYZE_RESOURCE_STAT_FIGURES_H
#define SONDE_ANALYZE_RESOURCE_STAT_FIGURES_H

#include "analyze/resource/series.h"

enum sonde_stat {
#define SONDE_STAT(id, group, key, unit, meaning) SONDE_STAT_##id,
#include "analyze/resource/stat_figures.def"
#undef SONDE_STAT
	SONDE_STAT_COUNT
};

/* Reasons for absent FLOP and GPU figures that were not requested. */
#define SONDE_STAT_FLOP_UNASKED "hardware counters were not used: --flop"
#define SONDE_STAT_DEVICES_UNASKED "GPUs were not read: --gpu"

struct sonde_stat_row {
	const char *group, *key;
	enum sonde_unit unit;
	const char *meaning;
};

const struct sonde_stat_row *sonde_stat_row(enum sonde_stat figure);

struct sonde_stat_figures {
	struct sonde_cell cell[SONDE_STAT_COUNT]; /* absent ones have a reason */
	int at_least;                             /* CPU time is a lower bound: not every process was waited for */
	int count_at_least;                       /* some processes may have been missed */
	int is_exact;          /* CPU time, peak RSS, faults and switches are the kernel's figures from wait(2) */
	int is_limited;        /* memory is that of a control group */
	int is_peak_sum;       /* the peak is a total over several processes */
	uint64_t peak_below_b; /* RSS before exec, if the kernel's peak is no higher; else 0 */
	char why_no_peak[96];  /* why the peak is absent, if the cause is peak_below_b; the cell points here: copy it to
				  outlive this struct */
};

/* `sums` must be finished. */
void sonde_stat_figures_of(struct sonde_stat_figures *out, const struct sonde_series_sums *sums);

/* A figure's value, 0 if it is absent. */
double sonde_stat_value(const struct sonde_stat_figures *figures, enum sonde_stat figure);
int sonde_stat_known(const struct sonde_stat_figures *figures, enum sonde_stat figure);

#endif
