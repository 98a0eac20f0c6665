/* preorder.h: visits a tree depth first, parents before children, without recursion, because trees may be very deep. */
#ifndef SONDE_EXPORT_TEXT_PREORDER_H
#define SONDE_EXPORT_TEXT_PREORDER_H

#include "report/report.h"

struct sonde_preorder {
	const struct sonde_tree_node *node;
	size_t index;  /* index of this node in preorder, from 0 */
	size_t parent; /* its parent's index; 0 for the root */
	size_t depth;  /* 0 = the root */
};

typedef int (*sonde_preorder_visit)(void *context, const struct sonde_preorder *at);

/* Calls `visit` for the root (NULL: does nothing) and every node below it; the first error ends the walk and is
 * returned. */
int sonde_preorder_walk(const struct sonde_tree_node *root, sonde_preorder_visit visit, void *context);

#endif
