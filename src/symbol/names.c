/* names.c: collects and sorts named ranges. */
#include "symbol/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

#define NAMES_MAX ((size_t)64 << 20)

void sonde_names_fini(struct sonde_names *names)
{
	free(names->items);
	for (size_t i = 0; i < names->block_count; i++)
		free(names->blocks[i]);
	*names = (struct sonde_names){0};
}

int sonde_names_add(struct sonde_names *names, const struct sonde_name *name)
{
	if (names->count >= NAMES_MAX || SONDE_ARRAY_RESERVE(names->items, names->capacity, names->count + 1))
		return sonde_error(ENOMEM, "no memory for %zu symbols", names->count + 1);
	names->items[names->count++] = *name;
	return 0;
}

int sonde_names_keep(struct sonde_names *names, void *block)
{
	if (names->block_count == sizeof names->blocks / sizeof *names->blocks) {
		free(block);
		return -ENOSPC;
	}
	names->blocks[names->block_count++] = block;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct sonde_name *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strcmp(x->text, y->text);
}

void sonde_names_sort(struct sonde_names *names)
{
	size_t kept = 0, ascending = 1;
	/* The kernel's list is sorted except for its modules. */
	while (ascending < names->count && by_start(&names->items[ascending - 1], &names->items[ascending]) <= 0)
		ascending++;
	if (ascending < names->count)
		qsort(names->items, names->count, sizeof *names->items, by_start);
	for (size_t i = 0; i < names->count; i++) {
		if (!kept || names->items[i].start != names->items[kept - 1].start)
			names->items[kept++] = names->items[i];
	}
	names->count = kept;
}
