/* preorder.c: keeps a stack of the nodes above the current one, which grows with the depth of the tree. */
#include "export/text/preorder.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/error.h"

int sonde_preorder_walk(const struct sonde_tree_node *root, sonde_preorder_visit visit, void *context)
{
	struct sonde_preorder *path = NULL;
	size_t cap = 0, count = 0, depth = 0;
	int rc = 0;
	for (const struct sonde_tree_node *node = root; node && !rc;) {
		if (SONDE_ARRAY_RESERVE(path, cap, depth + 1)) {
			rc = sonde_error(ENOMEM, "out of memory for a tree %zu levels deep", depth);
			break;
		}
		path[depth] = (struct sonde_preorder){node, count++, depth ? path[depth - 1].index : 0, depth};
		rc = visit(context, &path[depth]);
		if (node->child) {
			node = node->child;
			depth++;
			continue;
		}
		while (depth && !path[depth].node->next)
			depth--;
		node = depth ? path[depth].node->next : NULL;
	}
	free(path);
	return rc;
}
