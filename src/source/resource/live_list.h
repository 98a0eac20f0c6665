/* live_list.h: the rows of a source, one per live process, by id.
 *
 * For a source that reads processes periodically and keeps state for each. A refresh adds rows for new processes, and
 * removes those of processes that the recorder saw exit. A refresh may move rows in memory.
 */
#ifndef SONDE_SOURCE_RESOURCE_LIVE_LIST_H
#define SONDE_SOURCE_RESOURCE_LIVE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "source/record/recorder.h"

/* The properties of a list, which are the same in all calls for it. */
struct sonde_live_kind {
	size_t row_b; /* row size; a row begins with a struct sonde_recorder_live, the rest starts as zeros */
	void (*came)(void *context, void *row); /* may be NULL */
	void (*left)(void *context, void *row); /* called before the row is removed; may be NULL */
};

struct sonde_live_list {
	void *rows; /* ascending by id */
	size_t count, cap;
	uint32_t last; /* highest id so far: new processes have higher ones */
};

/* Updates the rows to the live processes. 0; -ENOMEM: some new processes are missing. */
int sonde_live_list_refresh(struct sonde_live_list *list, const struct sonde_live_kind *kind,
			    const struct sonde_recorder *recorder, void *context);

/* The row of a process; NULL if it has none. */
void *sonde_live_list_find(const struct sonde_live_list *list, const struct sonde_live_kind *kind, uint32_t id);

/* Calls `left` for all rows, and frees. */
void sonde_live_list_fini(struct sonde_live_list *list, const struct sonde_live_kind *kind, void *context);

#endif
