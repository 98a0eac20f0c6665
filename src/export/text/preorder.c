/* preorder.c: keeps a stack of the nodes above the current one, which grows with the depth of the tree. */
#include "export/text/preorder.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

struct path {
	struct sonde_preorder *at;
	size_t cap;
};

static int ensure_capacity(struct path *path, size_t depth)
{
	if (depth < path->cap)
		return 0;
	size_t cap = path->cap ? path->cap * 2 : 64;
	struct sonde_preorder *at = realloc(path->at, cap * sizeof *at);
	if (!at)
		return sonde_error(ENOMEM, "out of memory for a tree %zu levels deep", depth);
	*path = (struct path){at, cap};
	return 0;
}

int sonde_preorder_walk(const struct sonde_tree_node *root, sonde_preorder_visit visit, void *context)
{
	struct path path = {0};
	size_t count = 0, depth = 0;
	int rc = 0;
	for (const struct sonde_tree_node *node = root; node && !rc;) {
		rc = ensure_capacity(&path, depth);
		if (rc)
			break;
		path.at[depth] = (struct sonde_preorder){node, count++, depth ? path.at[depth - 1].index : 0, depth};
		rc = visit(context, &path.at[depth]);
		if (node->child) {
			node = node->child;
			depth++;
			continue;
		}
		while (depth && !path.at[depth].node->next)
			depth--;
		node = depth ? path.at[depth].node->next : NULL;
	}
	free(path.at);
	return rc;
}
