/* diff.h: finds differences between two recordings, and whether they are more than chance. */
#ifndef SONDE_ANALYZE_DIFF_DIFF_H
#define SONDE_ANALYZE_DIFF_DIFF_H

#include <stddef.h>

#include "analyze/statistics/change.h"
#include "report/report.h"
#include "session/session.h"

#define SONDE_DIFF_MARGIN 0.01 /* default margin */

struct sonde_diff_options {
	double margin;        /* largest change that does not matter, as a fraction */
	size_t limit;         /* maximum rows; 0 = 20, or 200 frames of the call tree */
	const char *sections; /* "diff-functions,diff-calltree"; NULL = all except the call tree */
};

/* The two recordings, and the results of the parts. */
struct sonde_diff {
	struct sonde_session *baseline, *candidate;
	const struct sonde_diff_options *options;
	struct sonde_report *report;
	enum sonde_verdict verdict;
	int is_comparable;
	int is_other_program; /* the recordings have almost nothing in common */
	double common_share;  /* if so: share of the candidate's CPU time in functions common to both */
	/* if so: a message that only the module names of the functions differ; NULL = more differs */
	const char *renamed;
	int is_whole;               /* no events of either were lost, and all can be read */
	struct sonde_change change; /* change.by is NAN if unknown */
	const char *iteration;      /* name of the iterations that verdict and change are based on; NULL = none */
};

/* Adds the sections `diff`, `diff-iterations`, `diff-zones` and `diff-functions`, or those that the options name, which
 * may include `diff-calltree`. Also adds the facts `verdict`, `speedup` and so on, which are always based on all
 * sections. 0, or a negative errno with a message. */
int sonde_diff_run(struct sonde_diff *diff);

/* True if a comma-separated list of sections contains a name; NULL contains none. */
int sonde_diff_has_section(const char *sections, const char *name);

/* -EINVAL with a message if the list contains an unknown section, or is empty. NULL is valid. */
int sonde_diff_check_sections(const char *sections);

/* Removes the sections that a list does not name from a report; NULL keeps all. */
void sonde_diff_choose(struct sonde_report *report, const char *sections);

/* --- its parts ---------------------------------------------------------------------------------------------------- */

/* Notes differences between machines, kernels and programs; clears is_comparable if times cannot be compared. */
int sonde_diff_machines(struct sonde_diff *diff);

/* Notes what is missing from either recording. Call after everything was read. */
int sonde_diff_losses(struct sonde_diff *diff);

/* Compares iterations common to both: the verdict is based on those with the largest total time. */
int sonde_diff_iterations(struct sonde_diff *diff);

/* Compares the zones of one run each, without a verdict. */
int sonde_diff_zones(struct sonde_diff *diff);

/* Compares shares of CPU time by function, tested together. */
int sonde_diff_functions(struct sonde_diff *diff);

/* Compares CPU time by call path. */
int sonde_diff_tree(struct sonde_diff *diff);

#endif
