/* runs.h: several recordings a side, run against run. */
#ifndef SONDE_ANALYZE_DIFF_RUNS_H
#define SONDE_ANALYZE_DIFF_RUNS_H

#include <stddef.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/recording.h"

enum { SONDE_DIFF_BASELINE = 0, SONDE_DIFF_CANDIDATE, SONDE_DIFF_SIDES };

struct sonde_diff_runs {
	const struct sonde_diff_recording *run[SONDE_DIFF_SIDES]; /* the caller's */
	size_t count[SONDE_DIFF_SIDES];
	const struct sonde_diff_options *options;
	struct sonde_report *report;
	/* What it came to. */
	enum sonde_verdict verdict;
	int is_comparable;
	int is_other_program; /* next to nothing that ran is in both */
	double common_share;  /* then: of the candidate's CPU time in functions that both have */
	int is_in_turn;       /* runs of both sides were made at one time, mixed */
};

/* Adds the sections `diff`, `diff-iterations`, `diff-zones` and `diff-functions` and the facts `verdict`, `speedup` and
 * so on. 0 or a negative errno with a sentence. */
int sonde_diff_runs(struct sonde_diff_runs *runs);

/* --- parts of it ------------------------------------------------------------------------------------------------- */

/* A figure of each run, before and after. */
struct sonde_diff_compared {
	double median[SONDE_DIFF_SIDES]; /* NAN = not known of any */
	struct sonde_shift shift;
};

enum sonde_diff_kind { SONDE_DIFF_ZONES, SONDE_DIFF_ITERATIONS, SONDE_DIFF_FUNCTIONS };

/* `get`: the figure of a run, NAN = not known. As a difference, or as a ratio where all are above 0. -ENOMEM. */
int sonde_diff_compare(struct sonde_diff_compared *out, const struct sonde_diff_runs *runs,
		       double (*get)(const struct sonde_diff_recording *run, const void *context), const void *context,
		       int as_difference);

/* Every name that a run of either side has, once; malloc'ed, with texts of the runs. */
int sonde_diff_names(struct sonde_diff_figures *out, const struct sonde_diff_runs *runs, enum sonde_diff_kind kind);

/* The lowest p that so many runs can have. */
double sonde_diff_least_p(size_t baseline, size_t candidate);

int sonde_diff_zones_table(struct sonde_diff_runs *runs);
int sonde_diff_shares_table(struct sonde_diff_runs *runs);

#endif
