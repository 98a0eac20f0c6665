/* live_list.c: merges the rows with the recorder's live processes, both sorted by id. A new process has a higher id
 * than all before it, so its row is appended: nothing is inserted, and removals only move rows forward.
 */
#include "source/resource/live_list.h"
#include "util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *row_at(const struct sonde_live_list *list, const struct sonde_live_kind *kind, size_t i)
{
	return (char *)list->rows + i * kind->row_b;
}

static uint32_t id_at(const struct sonde_live_list *list, const struct sonde_live_kind *kind, size_t i)
{
	return ((const struct sonde_recorder_live *)row_at(list, kind, i))->id;
}

static void leave(const struct sonde_live_list *list, const struct sonde_live_kind *kind, void *context, size_t i)
{
	if (kind->left)
		kind->left(context, row_at(list, kind, i));
}

/* Appends a row; NULL if out of memory. */
static void *add(struct sonde_live_list *list, const struct sonde_live_kind *kind,
		 const struct sonde_recorder_live *live)
{
	if (sonde_array_reserve(&list->rows, &list->cap, list->count + 1, kind->row_b))
		return NULL;
	void *row = row_at(list, kind, list->count++);
	memset(row, 0, kind->row_b);
	*(struct sonde_recorder_live *)row = *live;
	return row;
}

int sonde_live_list_refresh(struct sonde_live_list *list, const struct sonde_live_kind *kind,
			    const struct sonde_recorder *recorder, void *context)
{
	struct sonde_recorder_live live[64];
	size_t at = 0, kept = 0, known = list->count, found;
	uint32_t after = 0;
	int rc = 0;
	while ((found = sonde_recorder_live(recorder, after, live, sizeof live / sizeof *live))) {
		for (size_t i = 0; i < found; i++) {
			while (at < known && id_at(list, kind, at) < live[i].id)
				leave(list, kind, context, at++);
			void *row = NULL;
			if (at < known && id_at(list, kind, at) == live[i].id)
				row = row_at(list, kind, at++);
			else if (live[i].id > list->last) { /* otherwise it was skipped before */
				row = add(list, kind, &live[i]);
				rc = row ? rc : -ENOMEM;
				list->last = live[i].id;
				if (row && kind->came)
					kind->came(context, row);
			}
			if (row)
				memmove(row_at(list, kind, kept++), row, kind->row_b);
		}
		after = live[found - 1].id;
	}
	while (at < known)
		leave(list, kind, context, at++);
	list->count = kept;
	return rc;
}

void *sonde_live_list_find(const struct sonde_live_list *list, const struct sonde_live_kind *kind, uint32_t id)
{
	size_t from = 0, to = list->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (id_at(list, kind, middle) < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from < list->count && id_at(list, kind, from) == id ? row_at(list, kind, from) : NULL;
}

void sonde_live_list_fini(struct sonde_live_list *list, const struct sonde_live_kind *kind, void *context)
{
	for (size_t i = 0; i < list->count; i++)
		leave(list, kind, context, i);
	free(list->rows);
	*list = (struct sonde_live_list){0};
}
