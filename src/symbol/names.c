/* names.c: grows, sorts and searches named ranges. */
#include "symbol/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

#define NAMES_MAX ((size_t)64 << 20)
#define LOOK_BACK 16 /* ranges may lie inside others: labels in assembly, code that a JIT reused in part */

void sonde_names_fini(struct sonde_names *names)
{
	free(names->items);
	for (size_t i = 0; i < names->block_count; i++)
		free(names->blocks[i]);
	*names = (struct sonde_names){0};
}

int sonde_names_add(struct sonde_names *names, const struct sonde_name *name)
{
	if (names->count == names->capacity) {
		size_t capacity = names->capacity ? names->capacity * 2 : 1024;
		void *grown = capacity > NAMES_MAX ? NULL : realloc(names->items, capacity * sizeof *names->items);
		if (!grown)
			return sonde_error(ENOMEM, "no memory for %zu symbols", capacity);
		names->items = grown;
		names->capacity = capacity;
	}
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
	size_t kept = 0;
	if (names->count)
		qsort(names->items, names->count, sizeof *names->items, by_start);
	for (size_t i = 0; i < names->count; i++) {
		if (!kept || names->items[i].start != names->items[kept - 1].start)
			names->items[kept++] = names->items[i];
	}
	names->count = kept;
}

struct sonde_name *sonde_names_find(const struct sonde_names *names, uint64_t address)
{
	size_t low = 0, high = names->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (names->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t back = 0; low && back < LOOK_BACK; back++, low--) {
		struct sonde_name *name = &names->items[low - 1];
		if (address - name->start < name->size_b || (!name->size_b && !back))
			return name;
	}
	return NULL;
}
