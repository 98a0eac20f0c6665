/* work.c: charges FLOP, bytes and items to zones.
 *
 * Zones arrive in the order in which they ended, so the first one that contains a report is the innermost. Reports wait
 * on a stack in time order: a zone takes the reports on top that are not older than its start. The remaining ones
 * belong to enclosing zones.
 */
#include "analyze/work/work.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

static int work_keep(struct sonde_works *works, const struct sonde_event *event, uint32_t thread, size_t most)
{
	const struct sonde_event_work *work = (const struct sonde_event_work *)event;
	if (event->type != SONDE_EVENT_WORK || (size_t)event->words * 8 < sizeof *work || thread >= works->threads)
		return 0;
	if (works->count == most) {
		works->beyond++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(works->works, works->cap, works->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu work events", works->count + 1);
	works->works[works->count++] = (struct sonde_work){
	    .time_ns = event->time, .thread = thread, .flop = work->flop, .bytes = work->bytes, .items = work->items};
	return 0;
}

static int works_collect(struct sonde_works *works, struct sonde_session *session, size_t most)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_EVENTS);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		int kept = 0;
		for (size_t i = 0; rc > 0 && kept == 0 && i < batch->count; i++)
			kept = work_keep(works, batch->events[i], batch->thread, most);
		if (kept < 0) {
			rc = kept;
			break;
		}
	}
	sonde_cursor_close(cursor);
	return rc < 0 ? rc : 0;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_work *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

int sonde_works_read(struct sonde_works *works, struct sonde_session *session, size_t most)
{
	*works = (struct sonde_works){.threads = sonde_session_thread_count(session) + 1};
	int rc = works_collect(works, session, most);
	if (rc < 0 || !works->count)
		return rc;
	qsort(works->works, works->count, sizeof *works->works, compare);
	works->first = calloc(works->threads + 1, sizeof *works->first);
	works->stack = malloc(works->count * sizeof *works->stack);
	if (!works->first || !works->stack)
		return sonde_error(ENOMEM, "out of memory for work events");
	for (size_t i = 0; i < works->count; i++)
		works->first[works->works[i].thread + 1]++;
	for (size_t i = 0; i < works->threads; i++)
		works->first[i + 1] += works->first[i];
	return 0;
}

void sonde_works_fini(struct sonde_works *works)
{
	free(works->works);
	free(works->first);
	free(works->stack);
	*works = (struct sonde_works){0};
}

/* The first report of works[from … to) at or after time_ns. */
static size_t search(const struct sonde_work *works, size_t from, size_t to, uint64_t time_ns)
{
	return SONDE_SEARCH(i, from, to, works[i].time_ns < time_ns);
}

void sonde_works_charge(struct sonde_works *works, const struct sonde_batch *batch)
{
	if (!works->count || batch->thread >= works->threads || !batch->count)
		return;
	uint64_t from_ns = UINT64_MAX;
	for (size_t i = 0; i < batch->count; i++)
		from_ns = batch->zones.start_ns[i] < from_ns ? batch->zones.start_ns[i] : from_ns;
	size_t end = works->first[batch->thread + 1], waiting = 0;
	size_t next = search(works->works, works->first[batch->thread], end, from_ns);
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t zone_end_ns = batch->zones.start_ns[i] + batch->zones.dur_ns[i];
		for (; next < end && works->works[next].time_ns <= zone_end_ns; next++)
			works->stack[waiting++] = (uint32_t)next;
		while (waiting && works->works[works->stack[waiting - 1]].time_ns >= batch->zones.start_ns[i]) {
			struct sonde_work *work = &works->works[works->stack[--waiting]];
			if (batch->zones.depth[i] + 1u > work->depth) {
				work->depth = batch->zones.depth[i] + 1u;
				work->site = batch->zones.site[i];
			}
		}
	}
}

void sonde_works_merge(struct sonde_works *works, const struct sonde_works *other)
{
	for (size_t i = 0; i < works->count && i < other->count; i++) {
		if (other->works[i].depth <= works->works[i].depth)
			continue;
		works->works[i].depth = other->works[i].depth;
		works->works[i].site = other->works[i].site;
	}
}

void sonde_works_note(const struct sonde_works *works, struct sonde_report *report, struct sonde_section *section)
{
	if (!works->beyond)
		return;
	sonde_report_note(
	    report, section, 1,
	    "%llu reports of work beyond the first %zu of the file are in no zone: work and rates are lower bounds",
	    (unsigned long long)works->beyond, works->count);
}
