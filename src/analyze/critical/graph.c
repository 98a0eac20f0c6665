/* graph.c: the graph kept with a session, with reference counting.
 *
 * The key of a graph is everything it depends on: the selected time and threads. Limits on rows and sections are not
 * part of it.
 */
#include "analyze/critical/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

struct entry {
	struct sonde_critical_graph graph; /* must be first: callers hold a pointer to it */
	uint64_t from_ns, to_ns;
	uint8_t *threads; /* by id; NULL = all */
	size_t users;
	int is_kept; /* referenced by the session */
};

struct keeper {
	struct entry *entry; /* NULL = none */
	size_t builds;
};

static void entry_free(struct entry *entry)
{
	sonde_critical_path_fini(&entry->graph.path);
	sonde_critical_fini(&entry->graph.critical);
	free(entry->threads);
	free(entry);
}

static void entry_leave(struct keeper *keeper)
{
	struct entry *entry = keeper->entry;
	keeper->entry = NULL;
	if (!entry)
		return;
	entry->is_kept = 0;
	if (!entry->users)
		entry_free(entry);
}

static void keeper_free(void *data)
{
	entry_leave(data);
	free(data);
}

static struct keeper *keeper_of(struct sonde_session *session)
{
	struct sonde_session_kept *kept = sonde_session_kept(session, SONDE_KEPT_CRITICAL);
	if (!kept->free) {
		struct keeper *keeper = calloc(1, sizeof *keeper);
		if (!keeper)
			return NULL;
		*kept = (struct sonde_session_kept){keeper, keeper_free};
	}
	return kept->data;
}

static int is_for(const struct entry *entry, const struct sonde_pass_options *options)
{
	if (!entry || entry->from_ns != options->selection.from_ns || entry->to_ns != options->selection.to_ns ||
	    !entry->threads != !options->selection.thread)
		return 0;
	return !options->selection.thread ||
	       !memcmp(entry->threads, options->selection.thread, (size_t)entry->graph.critical.threads + 1);
}

static size_t size_b(const struct sonde_critical_graph *graph)
{
	const struct sonde_critical *critical = &graph->critical;
	return critical->cap * sizeof *critical->segments + critical->cause_cap * sizeof *critical->causes +
	       ((size_t)critical->threads + 1) * sizeof *critical->lives +
	       critical->work_count * sizeof *critical->works + graph->path.cap * sizeof *graph->path.steps;
}

static int entry_new(struct entry **out, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct entry *entry = calloc(1, sizeof *entry);
	if (!entry)
		return sonde_error(ENOMEM, "out of memory for the critical path");
	int rc = sonde_critical_read(&entry->graph.critical, session, options);
	rc = rc ? rc : sonde_critical_walk(&entry->graph.path, &entry->graph.critical);
	if (!rc && options->selection.thread) {
		size_t count = (size_t)entry->graph.critical.threads + 1;
		entry->threads = malloc(count);
		if (entry->threads)
			memcpy(entry->threads, options->selection.thread, count);
		else
			rc = sonde_error(ENOMEM, "out of memory for %zu threads", count);
	}
	if (rc) {
		entry_free(entry);
		return rc;
	}
	entry->from_ns = options->selection.from_ns;
	entry->to_ns = options->selection.to_ns;
	*out = entry;
	return 0;
}

int sonde_critical_graph_acquire(const struct sonde_critical_graph **out, struct sonde_session *session,
				 const struct sonde_pass_options *options)
{
	static const struct sonde_pass_options none = {0};
	struct keeper *keeper = keeper_of(session);
	if (!keeper)
		return sonde_error(ENOMEM, "out of memory for the critical path");
	options = options ? options : &none;
	if (!is_for(keeper->entry, options)) {
		/* frees the kept graph before the next one is built, so that only one is in memory */
		entry_leave(keeper);
		int rc = entry_new(&keeper->entry, session, options);
		if (rc)
			return rc;
		keeper->builds++;
		keeper->entry->is_kept = 1;
	}
	struct entry *entry = keeper->entry;
	entry->users++;
	if (size_b(&entry->graph) > SONDE_CRITICAL_KEPT_B)
		entry_leave(keeper);
	*out = &entry->graph;
	return 0;
}

void sonde_critical_graph_release(const struct sonde_critical_graph *graph)
{
	struct entry *entry = (struct entry *)graph;
	if (!--entry->users && !entry->is_kept)
		entry_free(entry);
}

size_t sonde_critical_graph_builds(struct sonde_session *session)
{
	const struct keeper *keeper = sonde_session_kept(session, SONDE_KEPT_CRITICAL)->data;
	return keeper ? keeper->builds : 0;
}
