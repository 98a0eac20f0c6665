/* runs.h: compares several recordings per side, run against run. */
#ifndef SONDE_ANALYZE_DIFF_RUNS_H
#define SONDE_ANALYZE_DIFF_RUNS_H

#include <stddef.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/recording.h"

enum { SONDE_DIFF_BASELINE = 0, SONDE_DIFF_CANDIDATE, SONDE_DIFF_SIDES };

struct sonde_diff_runs {
	const struct sonde_diff_recording *run[SONDE_DIFF_SIDES]; /* owned by the caller */
	size_t count[SONDE_DIFF_SIDES];
	const struct sonde_diff_options *options;
	struct sonde_report *report;
	/* Results. */
	enum sonde_verdict verdict;
	int is_comparable;
	int is_other_program; /* the recordings have almost nothing in common */
	double common_share;  /* if so: share of the candidate's CPU time in functions common to both */
	int is_in_turn;       /* the runs of both sides were interleaved */
};

/* Adds the sections `diff`, `diff-iterations`, `diff-zones` and `diff-functions` and the facts `verdict`, `speedup` and
 * so on. 0, or a negative errno with a message. */
int sonde_diff_runs(struct sonde_diff_runs *runs);

/* --- its parts ---------------------------------------------------------------------------------------------------- */

/* A figure of each run, before and after. */
struct sonde_diff_compared {
	double median[SONDE_DIFF_SIDES]; /* NAN = unknown for all runs */
	struct sonde_change change;
};

enum sonde_diff_kind { SONDE_DIFF_ZONES, SONDE_DIFF_ITERATIONS, SONDE_DIFF_FUNCTIONS };

/* `get` returns the figure of a run, NAN = unknown. Compared by difference, or if all are positive, by ratio.
 * -ENOMEM. */
int sonde_diff_compare(struct sonde_diff_compared *out, const struct sonde_diff_runs *runs,
		       double (*get)(const struct sonde_diff_recording *run, const void *context), const void *context,
		       int as_difference);

/* All distinct names of either side; the caller frees the rows, whose texts belong to the runs. */
int sonde_diff_names(struct sonde_diff_figures *out, const struct sonde_diff_runs *runs, enum sonde_diff_kind kind);

/* The lowest p-value that this many runs can reach. */
double sonde_diff_least_p(size_t baseline, size_t candidate);

int sonde_diff_zones_table(struct sonde_diff_runs *runs);
int sonde_diff_shares_table(struct sonde_diff_runs *runs);

#endif
