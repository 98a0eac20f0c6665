/* selection.c: the threads that a report is about, by number or by name. */
#include "analyze/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

static int read_tid(const char *text, uint32_t *out)
{
	char *end;
	errno = 0;
	unsigned long long tid = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || tid > UINT32_MAX)
		return 0;
	*out = (uint32_t)tid;
	return 1;
}

static void mark_tid(struct sonde_thread_selection *selection, const struct sonde_session *session, uint32_t tid)
{
	for (uint32_t id = 1; id <= sonde_session_thread_count(session); id++) {
		selection->threads[id] = sonde_session_thread(session, id)->tid == tid;
		selection->count += selection->threads[id];
	}
}

static void mark_name(struct sonde_thread_selection *selection, const struct sonde_session *session, const char *name)
{
	for (uint32_t id = 1; id <= sonde_session_thread_count(session); id++) {
		selection->threads[id] = strcmp(sonde_session_thread(session, id)->name, name) == 0;
		selection->count += selection->threads[id];
	}
}

int sonde_thread_selection_find(struct sonde_thread_selection *out, const struct sonde_session *session,
				const char *which)
{
	struct sonde_thread_selection selection = {.threads = calloc(sonde_session_thread_count(session) + 1, 1)};
	uint32_t tid;
	if (!selection.threads)
		return sonde_error(ENOMEM, "out of memory for %zu threads", sonde_session_thread_count(session));
	if (read_tid(which, &tid))
		mark_tid(&selection, session, tid);
	if (!selection.count) {
		selection.by_name = 1;
		mark_name(&selection, session, which);
	}
	if (!selection.count) {
		free(selection.threads);
		return sonde_error(
		    ESRCH, "no thread %s in the recording; list them with sonde report --section threads", which);
	}
	*out = selection;
	return 0;
}
