/* live_list.h: the rows of a source, one for each process that is alive, by id.
 *
 * A source that reads processes again and again keeps what it knows of each: refreshing gives those that came a row and
 * takes away those of processes that the recorder saw end. Rows move in memory when the list is refreshed.
 */
#ifndef SONDE_SOURCE_RESOURCE_LIVE_LIST_H
#define SONDE_SOURCE_RESOURCE_LIVE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "source/record/recorder.h"

/* What a list is of; the same for all its life. */
struct sonde_live_kind {
	size_t row_b; /* of a row, which begins with a struct sonde_recorder_live; a new one is zero but for that */
	void (*came)(void *context, void *row); /* NULL = nothing is to be done */
	void (*left)(void *context, void *row); /* before the row goes; NULL = nothing is to be done */
};

struct sonde_live_list {
	void *rows; /* ascending by id */
	size_t count, cap;
	uint32_t last; /* the highest id so far: what is new is above it */
};

/* Makes the rows those of the processes that are alive. 0; -ENOMEM: some that came are left out. */
int sonde_live_list_refresh(struct sonde_live_list *list, const struct sonde_live_kind *kind,
			    const struct sonde_recorder *recorder, void *context);

/* The row of a process; NULL when it has none. */
void *sonde_live_list_find(const struct sonde_live_list *list, const struct sonde_live_kind *kind, uint32_t id);

/* Says of all rows that they left. */
void sonde_live_list_fini(struct sonde_live_list *list, const struct sonde_live_kind *kind, void *context);

#endif
