/* diff.h: what differs between two recordings, and whether that is more than chance. */
#ifndef SONDE_ANALYZE_DIFF_DIFF_H
#define SONDE_ANALYZE_DIFF_DIFF_H

#include <stddef.h>

#include "analyze/statistics/shift.h"
#include "report/report.h"
#include "session/session.h"

#define SONDE_DIFF_MARGIN 0.01 /* when nobody says another */

struct sonde_diff_options {
	double margin;        /* a share that does not matter */
	size_t limit;         /* rows; 0 = 20, frames of the call tree 200 */
	const char *sections; /* "diff-functions,diff-calltree"; NULL = all but the call tree */
};

/* The two, and what their parts came to. */
struct sonde_diff {
	struct sonde_session *baseline, *candidate;
	const struct sonde_diff_options *options;
	struct sonde_report *report;
	enum sonde_verdict verdict;
	int is_comparable;
	int is_other_program; /* next to nothing that ran is in both */
	double common_share;  /* then: of the candidate's CPU time in functions that both have */
	const char *renamed;  /* then: they are the same but for the name of their module, which this says; NULL = no */
	int is_whole;         /* no events of either were lost, or cannot be read */
	struct sonde_shift shift; /* by: NAN = not known */
	const char *iteration;    /* that verdict and shift are of; NULL = of none */
};

/* Adds the sections `diff`, `diff-iterations`, `diff-zones` and `diff-functions`, or those that options name,
 * `diff-calltree` among them; and the facts `verdict`, `speedup` and so on, which are of all of them in any case. 0 or
 * a negative errno with a sentence. */
int sonde_diff_run(struct sonde_diff *diff);

/* Whether a list of sections has a name, which stands between commas; NULL has none. */
int sonde_diff_has_section(const char *sections, const char *name);

/* -EINVAL with a sentence where a list names what is no section of a comparison, or nothing. NULL is fine. */
int sonde_diff_check_sections(const char *sections);

/* Takes out of a report what a list does not name; NULL leaves all. */
void sonde_diff_choose(struct sonde_report *report, const char *sections);

/* --- parts of it ------------------------------------------------------------------------------------------------- */

/* Machines, kernels and programs that differ, as notes; clears is_comparable where times of one say nothing of the
 * other. */
int sonde_diff_machines(struct sonde_diff *diff);

/* What of either recording is missing, as notes. After all was read. */
int sonde_diff_losses(struct sonde_diff *diff);

/* Iterations that both have: the verdict is of those that took the longest. */
int sonde_diff_iterations(struct sonde_diff *diff);

/* Zones that either has, of one run each: without a verdict. */
int sonde_diff_zones(struct sonde_diff *diff);

/* CPU time by function: shares, tested together. */
int sonde_diff_functions(struct sonde_diff *diff);

/* CPU time by call path. */
int sonde_diff_tree(struct sonde_diff *diff);

#endif
