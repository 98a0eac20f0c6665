/* figures.h: named figures of one recording, the basis of comparisons (diff/recording.h). */
#ifndef SONDE_ANALYZE_DIFF_FIGURES_H
#define SONDE_ANALYZE_DIFF_FIGURES_H

#include <stddef.h>

#include "session/session.h"

/* Meaning of `value`: for zones all of these; for functions SELF and TOTAL, as shares; for iterations SELF, the mean of
 * stationary ones. */
enum sonde_diff_value {
	SONDE_DIFF_SELF = 0,
	SONDE_DIFF_TOTAL,
	SONDE_DIFF_MEDIAN,
	SONDE_DIFF_COUNT,
	SONDE_DIFF_VALUES,
};

struct sonde_diff_figure {
	const char *name, *module;       /* "" = none */
	double value[SONDE_DIFF_VALUES]; /* NAN = unknown */
};

struct sonde_diff_figures {
	struct sonde_diff_figure *row; /* sorted by name and module, without duplicates */
	size_t count, cap;
};

/* The row of that name; NULL = none. */
const struct sonde_diff_figure *sonde_diff_figure_find(const struct sonde_diff_figures *figures, const char *name,
						       const char *module);

/* Appends a row; the texts are borrowed. -ENOMEM with a message. */
int sonde_diff_figure_put(struct sonde_diff_figures *figures, const struct sonde_diff_figure *row);

/* Sorts the rows and sums those of one name; values that cannot be summed become unknown. */
void sonde_diff_figures_join(struct sonde_diff_figures *figures);
/* Orders figures by name and module, for qsort(). */
int sonde_diff_figure_by_name(const void *left, const void *right);

/* --- producers ---------------------------------------------------------------------------------------------------- */

/* Shares of CPU time (diff/functions.c), means of stationary iterations (diff/iterations.c); unsorted, with texts of
 * the session. */
int sonde_diff_functions_of(struct sonde_diff_figures *out, double *sampled_ns, struct sonde_session *session);
int sonde_diff_iterations_of(struct sonde_diff_figures *out, struct sonde_session *session);

#endif
