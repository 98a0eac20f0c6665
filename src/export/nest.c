/* nest.c: a zone must not start before its last sibling's end, and it must enclose its children. */
#include "export/nest.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

int sonde_nest_add(struct sonde_nest *nest, uint64_t start_ns, uint64_t end_ns, uint32_t depth)
{
	if (nest->count < (size_t)depth + 2) {
		size_t count = ((size_t)depth + 2) * 2;
		struct sonde_nest_level *levels = realloc(nest->levels, count * sizeof *levels);
		if (!levels)
			return sonde_error(ENOMEM, "out of memory for zones %zu deep", count);
		for (size_t i = nest->count; i < count; i++)
			levels[i] = (struct sonde_nest_level){.end_ns = 0, .start_ns = UINT64_MAX};
		nest->levels = levels;
		nest->count = count;
	}
	struct sonde_nest_level *own = &nest->levels[depth], *below = own + 1;
	int has_children = below->start_ns != UINT64_MAX;
	if (end_ns < start_ns || start_ns < own->end_ns ||
	    (has_children && (below->start_ns < start_ns || below->end_ns > end_ns)))
		return 0;
	own->end_ns = end_ns;
	if (start_ns < own->start_ns)
		own->start_ns = start_ns;
	below->start_ns = UINT64_MAX;
	return 1;
}

void sonde_nest_fini(struct sonde_nest *nest)
{
	free(nest->levels);
	*nest = (struct sonde_nest){0};
}
