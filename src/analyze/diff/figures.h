/* figures.h: figures with names, of one recording: what it is compared by (diff/recording.h). */
#ifndef SONDE_ANALYZE_DIFF_FIGURES_H
#define SONDE_ANALYZE_DIFF_FIGURES_H

#include <stddef.h>

#include "session/session.h"

/* Of a zone: `value` by these; of a function by SELF and TOTAL, shares; of iterations by SELF, the mean of steady ones.
 */
enum sonde_diff_value {
	SONDE_DIFF_SELF = 0,
	SONDE_DIFF_TOTAL,
	SONDE_DIFF_MEDIAN,
	SONDE_DIFF_COUNT,
	SONDE_DIFF_VALUES,
};

struct sonde_diff_figure {
	const char *name, *module;       /* "" = none */
	double value[SONDE_DIFF_VALUES]; /* NAN = not known */
};

struct sonde_diff_figures {
	struct sonde_diff_figure *row; /* sorted by name and module, each once */
	size_t count, cap;
};

/* The row of that name; NULL = none. */
const struct sonde_diff_figure *sonde_diff_figure_find(const struct sonde_diff_figures *figures, const char *name,
						       const char *module);

/* Appends; the texts are borrowed. -ENOMEM with a sentence. */
int sonde_diff_figure_put(struct sonde_diff_figures *figures, const struct sonde_diff_figure *row);

/* Sorts them; rows of one name become their sum, and what is no sum is not known of them then. */
void sonde_diff_figures_join(struct sonde_diff_figures *figures);
/* By name and module, for qsort() of figures. */
int sonde_diff_figure_by_name(const void *left, const void *right);

/* --- who fills them ---------------------------------------------------------------------------------------------- */

/* Shares of CPU time (diff/functions.c), means of steady iterations (diff/iterations.c); unsorted, with texts of the
 * session. */
int sonde_diff_functions_of(struct sonde_diff_figures *out, double *sampled_ns, struct sonde_session *session);
int sonde_diff_iterations_of(struct sonde_diff_figures *out, struct sonde_session *session);

#endif
