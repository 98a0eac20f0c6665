/* model.h: what `sonde top` shows of an interval: functions, threads, processes and the machine, as the tables of a
 * report that passes made, with fewer columns. */
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
	SONDE_TOP_MOVED, /* with the machine's */
	SONDE_TOP_VIEWS
};

/* What the rows of a view are sorted by; not each view has each. */
enum sonde_top_sort {
	SONDE_TOP_BY_CPU = 0,
	SONDE_TOP_BY_MEMORY,
	SONDE_TOP_BY_TIME,
	SONDE_TOP_BY_NAME,
	SONDE_TOP_SORTS
};

struct sonde_top_ask {
	uint64_t from_ns, to_ns; /* 0 = the session's */
	size_t limit;            /* rows of a view */
};

struct sonde_top_model {
	struct sonde_report *report;                 /* the views in their order */
	struct sonde_section *view[SONDE_TOP_VIEWS]; /* NULL = there is nothing of it */
	struct sonde_report *passes;                 /* whose texts the report uses */
};

/* Borrows from the session, which must not be refreshed meanwhile. A negative errno leaves nothing to free. */
int sonde_top_model_make(struct sonde_top_model *model, struct sonde_session *session, const struct sonde_top_ask *ask);
void sonde_top_model_fini(struct sonde_top_model *model);

/* Whether the view has a column for it. */
int sonde_top_model_can_sort(enum sonde_top_view view, enum sonde_top_sort sort);
/* Stable; a view without that column stays as it is. */
void sonde_top_model_sort(struct sonde_top_model *model, enum sonde_top_view view, enum sonde_top_sort sort);

#endif
