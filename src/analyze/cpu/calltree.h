/* calltree.h: stacks with weights as a tree of functions, root first. */
#ifndef SONDE_ANALYZE_CPU_CALLTREE_H
#define SONDE_ANALYZE_CPU_CALLTREE_H

#include "analyze/cpu/samples.h"

/* Hangs the tree of what was added to `samples`, which is folded here, below `root`, whose figures are the sums. With
 * `calls`, sorted by stack and all that `samples` has, each stack ends in what kind of call it waited in. */
int sonde_calltree_fill(struct sonde_samples *samples, const struct sonde_weights *calls, struct sonde_report *report,
			struct sonde_tree_node *root);

#endif
