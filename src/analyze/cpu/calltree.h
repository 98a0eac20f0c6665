/* calltree.h: builds a tree of functions, root first, from weighted stacks. */
#ifndef SONDE_ANALYZE_CPU_CALLTREE_H
#define SONDE_ANALYZE_CPU_CALLTREE_H

#include "analyze/cpu/samples.h"

/* Folds `samples` and adds its tree below `root`, whose figures are the totals. If `calls` is given (sorted by stack,
 * covering everything in `samples`), each stack ends in the kind of its blocking call. */
int sonde_calltree_fill(struct sonde_samples *samples, const struct sonde_weights *calls, struct sonde_report *report,
			struct sonde_tree_node *root);

#endif
