/* selection.h: the threads that a report is about, by number or by name.
 *
 * The kernel reuses tids, and many threads may have the same name: a number or name selects all threads that have it.
 *
 * One struct sonde_selection (session/session.h) states which part of a recording is read by passes, tracks and
 * formats: a range of time and a set of threads. It has no processes, because no option selects processes (SQL does,
 * with WHERE). The set could hold the threads of a process: an option --process would find them here, as --thread does.
 */
#ifndef SONDE_ANALYZE_SELECTION_H
#define SONDE_ANALYZE_SELECTION_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_thread_selection {
	uint8_t *threads; /* by id: 1 = selected; freed by the caller */
	size_t count;     /* number of selected threads */
	int by_name;
};

/* `which`: a tid, or a name if no thread has that tid. -ESRCH if there is no such thread. */
int sonde_thread_selection_find(struct sonde_thread_selection *out, const struct sonde_session *session,
				const char *which);

#endif
