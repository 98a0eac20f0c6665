/* model.h: the contents of `sonde top` for one interval: functions, threads, processes and the system, as report tables
 * made by passes, with fewer columns. */
#ifndef SONDE_CLI_TOP_MODEL_H
#define SONDE_CLI_TOP_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "session/session.h"

enum sonde_top_view {
	SONDE_TOP_FUNCTIONS = 0,
	SONDE_TOP_THREADS,
	SONDE_TOP_PROCESSES,
	SONDE_TOP_MACHINE,
	SONDE_TOP_MOVED, /* shown together with the view of the system */
	SONDE_TOP_VIEWS
};

/* Sort keys of views; not every view has all of them. */
enum sonde_top_sort {
	SONDE_TOP_BY_CPU = 0,
	SONDE_TOP_BY_MEMORY,
	SONDE_TOP_BY_TIME,
	SONDE_TOP_BY_NAME,
	SONDE_TOP_SORTS
};

struct sonde_top_ask {
	uint64_t from_ns, to_ns; /* 0 = the whole session */
	size_t limit;            /* maximum rows of a view */
};

struct sonde_top_model {
	struct sonde_report *report;                 /* the views, in order */
	struct sonde_section *view[SONDE_TOP_VIEWS]; /* NULL = nothing to show */
	struct sonde_report *passes;                 /* owner of the texts in the report */
};

/* Makes the views of an interval. They borrow from the session, which must not be refreshed while they exist. After a
 * negative errno, nothing needs to be freed. */
int sonde_top_model_make(struct sonde_top_model *model, struct sonde_session *session, const struct sonde_top_ask *ask);
void sonde_top_model_fini(struct sonde_top_model *model);

/* True if the view has a column for the sort key. */
int sonde_top_model_can_sort(enum sonde_top_view view, enum sonde_top_sort sort);
/* Sorts a view, stably; a view without a column for the sort key is unchanged. */
void sonde_top_model_sort(struct sonde_top_model *model, enum sonde_top_view view, enum sonde_top_sort sort);

#endif
