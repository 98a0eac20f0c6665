/* causes.c: finds what unblocks threads that are blocked in calls, as far as recorded; critical/causes_find.c
 * determines the thread responsible.
 *
 * Lock: the thread that released it last before the wait ended, from the rows of holds, which exist for every hold that
 * ended while another thread waited; before the first such row, the thread that held the lock when the wait began.
 * Semaphore or condition: the thread that last posted or signalled before the wait ended. Barrier: the last thread to
 * arrive in that round. Join or wait for a child: the thread or child that exited. Pipe: the first thread that wrote to
 * the pipe after the reader blocked, or read from it after the writer blocked. Futexes are not covered, because their
 * wakers are not recorded. If calls of a process were lost, the last holder may be unrecorded, so locks have no cause.
 *
 * The creator of a thread is known from wakeups; otherwise, it is known only if a single thread existed that could have
 * created it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/causes.h"
#include "util/array.h"
#include "util/error.h"

#define PROCESSES "processes " /* prefix of causes that count processes */

/* A call at a barrier. */
struct arrival {
	uint64_t from_ns, to_ns;
	uint32_t object, thread;
};

static int add(struct sonde_critical_rows *rows, const void *row)
{
	if (sonde_array_reserve(&rows->data, &rows->cap, rows->count + 1, rows->row_b))
		return sonde_error(ENOMEM, "out of memory for %zu calls", rows->count + 1);
	memcpy((char *)rows->data + rows->count++ * rows->row_b, row, rows->row_b);
	return 0;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static int take_row(struct sonde_critical_causes *causes, const struct sonde_batch *batch, size_t i)
{
	uint8_t kind = batch->waits.kind[i];
	uint32_t object = batch->waits.object[i] <= causes->objects ? batch->waits.object[i] : 0;
	struct sonde_critical_release release = {.at_ns = batch->waits.start_ns[i], .thread = batch->waits.thread[i]};
	if (!object || batch->waits.status[i] & SONDE_WAIT_SAMPLED)
		return 0;
	if (kind == SONDE_WAIT_HELD) {
		release.at_ns += batch->waits.dur_ns[i];
		release.key = sonde_critical_cause_key(object, SONDE_CRITICAL_KEY_LOCK);
		return add(&causes->releases, &release);
	}
	if (kind == SONDE_WAIT_BARRIER) {
		const struct arrival arrival = {batch->waits.start_ns[i],
						batch->waits.start_ns[i] + batch->waits.dur_ns[i], object,
						batch->waits.thread[i]};
		return add(&causes->arrivals, &arrival);
	}
	if (!causes->pipe_of[object] || !(sonde_critical_is_giving(kind) || sonde_critical_is_taking(kind)))
		return 0;
	release.key = sonde_critical_cause_key(causes->pipe_of[object], sonde_critical_is_giving(kind)
									    ? SONDE_CRITICAL_KEY_WRITTEN
									    : SONDE_CRITICAL_KEY_READ);
	return add(&causes->releases, &release);
}

static int read_calls(struct sonde_critical_causes *causes)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, causes->session, 1u << SONDE_CHUNK_WAITS);
	if (rc < 0)
		return rc;
	while (!error && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		if (rc < 0) /* the holder of a lock may be in the unreadable chunk */
			causes->is_lossy = causes->lossy[0] = 1;
		for (size_t i = 0; rc > 0 && i < batch->count && !error; i++)
			error = take_row(causes, batch, i);
	}
	sonde_cursor_close(cursor);
	return error ? error : rc;
}

static int compare_arrivals(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* A barrier's round ends with the first arrival after one of its threads has continued; the thread that arrived last
 * unblocked the others. */
static int end_rounds(struct sonde_critical_causes *causes)
{
	struct arrival *arrivals = causes->arrivals.data;
	size_t count = causes->arrivals.count;
	int rc = 0;
	if (count)
		qsort(arrivals, count, sizeof *arrivals, compare_arrivals);
	uint64_t first_ns = UINT64_MAX; /* when the first thread of the round continued */
	for (size_t i = 0; i < count && !rc; i++) {
		const struct arrival *arrival = &arrivals[i], *next = arrival + 1;
		first_ns = arrival->to_ns < first_ns ? arrival->to_ns : first_ns;
		if (i + 1 < count && next->object == arrival->object && next->from_ns < first_ns)
			continue;
		const struct sonde_critical_release release = {
		    .at_ns = arrival->from_ns,
		    .key = sonde_critical_cause_key(arrival->object, SONDE_CRITICAL_KEY_LOCK),
		    .thread = arrival->thread};
		rc = add(&causes->releases, &release);
		first_ns = UINT64_MAX;
	}
	return rc;
}

static int compare_releases(const void *left, const void *right)
{
	const struct sonde_critical_release *a = left, *b = right;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void sort_if_needed(struct sonde_critical_release *releases, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (releases[i - 1].at_ns > releases[i].at_ns) {
			qsort(releases, count, sizeof *releases, compare_releases);
			return;
		}
}

/* By key, then time: mostly already sorted. */
static int sort_releases(struct sonde_critical_causes *causes)
{
	size_t keys = (causes->objects + 1) << SONDE_CRITICAL_KEY_BITS, count = causes->releases.count;
	struct sonde_critical_release *sorted = malloc((count + 1) * sizeof *sorted), *releases = causes->releases.data;
	causes->begin = calloc(keys + 2, sizeof *causes->begin);
	causes->hint = calloc(keys + 1, sizeof *causes->hint);
	if (!sorted || !causes->begin || !causes->hint) {
		free(sorted);
		return sonde_error(ENOMEM, "out of memory for %zu calls", count);
	}
	for (size_t i = 0; i < count; i++)
		causes->begin[releases[i].key + 1]++;
	for (size_t key = 1; key <= keys + 1; key++)
		causes->begin[key] += causes->begin[key - 1];
	memcpy(causes->hint, causes->begin, (keys + 1) * sizeof *causes->hint);
	for (size_t i = 0; i < count; i++)
		sorted[causes->hint[releases[i].key]++] = releases[i];
	for (size_t key = 0; key < keys; key++)
		sort_if_needed(sorted + causes->begin[key], causes->begin[key + 1] - causes->begin[key]);
	memcpy(causes->hint, causes->begin, (keys + 1) * sizeof *causes->hint);
	free(releases);
	causes->releases.data = sorted;
	return 0;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

struct named {
	const char *name;
	uint32_t id;
};

static int compare_names(const void *left, const void *right)
{
	return strcmp(((const struct named *)left)->name, ((const struct named *)right)->name);
}

/* Both ends of a pipe have the same name in all processes. */
static int find_pipes(struct sonde_critical_causes *causes)
{
	struct named *named = malloc((causes->objects + 1) * sizeof *named);
	size_t count = 0;
	if (!named)
		return sonde_error(ENOMEM, "out of memory for %zu objects", causes->objects);
	for (uint32_t id = 1; id <= causes->objects; id++) {
		const struct sonde_object *object = sonde_session_object(causes->session, id);
		if (object->kind == SONDE_OBJECT_PIPE && (strchr(object->name, '[') || *object->name == '/'))
			named[count++] = (struct named){object->name, id};
	}
	qsort(named, count, sizeof *named, compare_names);
	for (size_t i = 0; i < count; i++) {
		int is_same = i && !strcmp(named[i].name, named[i - 1].name);
		causes->pipe_of[named[i].id] = is_same ? causes->pipe_of[named[i - 1].id] : named[i].id;
	}
	free(named);
	return 0;
}

static void find_losses(struct sonde_critical_causes *causes)
{
	for (size_t i = 0; i < sonde_session_lost_count(causes->session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(causes->session, i);
		if (strcmp(lost->source, "waits") != 0)
			continue;
		causes->is_lossy = 1;
		/* Calls lost in processes without any records do not matter: such processes have locks of their own. */
		if (lost->process <= causes->processes && strncmp(lost->cause, PROCESSES, strlen(PROCESSES)) != 0)
			causes->lossy[lost->process] = 1;
	}
	if (sonde_session_damaged_b(causes->session))
		causes->lossy[0] = 1;
	causes->is_lossy |= causes->lossy[0];
}

static int compare_ends(const void *left, const void *right)
{
	const struct sonde_critical_end *a = left, *b = right;
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* Collects exits: of threads by their process, and of processes by their parent. */
static void find_ends(struct sonde_critical_causes *causes)
{
	for (uint32_t id = 1; id <= causes->threads; id++) {
		const struct sonde_thread *thread = sonde_session_thread(causes->session, id);
		uint32_t process = thread->process <= causes->processes ? thread->process : 0;
		const struct sonde_thread *last = sonde_session_thread(causes->session, causes->last_of[process]);
		causes->starts[id - 1] =
		    (struct sonde_critical_end){thread->start_ns, sonde_critical_cause_key(process, 0), id};
		if (thread->end_ns && (!last || thread->end_ns >= last->end_ns))
			causes->last_of[process] = id;
		if (thread->end_ns)
			causes->ends[causes->end_count++] =
			    (struct sonde_critical_end){thread->end_ns, sonde_critical_cause_key(process, 0), id};
	}
	for (uint32_t id = 1; id <= causes->processes; id++) {
		const struct sonde_process *process = sonde_session_process(causes->session, id);
		if (process->parent && process->end_ns && causes->last_of[id])
			causes->ends[causes->end_count++] = (struct sonde_critical_end){
			    process->end_ns, sonde_critical_cause_key(process->parent, 1), causes->last_of[id]};
	}
	qsort(causes->ends, causes->end_count, sizeof *causes->ends, compare_ends);
	qsort(causes->starts, causes->threads, sizeof *causes->starts, compare_ends);
	for (size_t i = 0; i < causes->threads; i++)
		causes->started[i + 1] = causes->started[i] ^ causes->starts[i].thread;
	for (size_t i = 0; i < causes->end_count; i++)
		causes->ended[i + 1] = causes->ended[i] ^ causes->ends[i].thread;
}

static int make_tables(struct sonde_critical_causes *causes)
{
	causes->objects = sonde_session_object_count(causes->session);
	causes->processes = sonde_session_process_count(causes->session);
	causes->threads = sonde_session_thread_count(causes->session);
	causes->pipe_of = calloc(causes->objects + 1, sizeof *causes->pipe_of);
	causes->last_of = calloc(causes->processes + 1, sizeof *causes->last_of);
	causes->starts = calloc(causes->threads + 1, sizeof *causes->starts);
	causes->started = calloc(causes->threads + 1, sizeof *causes->started);
	causes->ended = calloc(causes->threads + causes->processes + 1, sizeof *causes->ended);
	causes->lossy = calloc(causes->processes + 1, sizeof *causes->lossy);
	causes->ends = calloc(causes->threads + causes->processes + 1, sizeof *causes->ends);
	if (!causes->pipe_of || !causes->last_of || !causes->lossy || !causes->ends || !causes->starts ||
	    !causes->started || !causes->ended)
		return sonde_error(ENOMEM, "out of memory for %zu threads", causes->threads);
	find_losses(causes);
	find_ends(causes);
	return find_pipes(causes);
}

int sonde_critical_causes_new(struct sonde_critical_causes **out, struct sonde_session *session)
{
	struct sonde_critical_causes *causes = calloc(1, sizeof *causes);
	if (!causes)
		return sonde_error(ENOMEM, "out of memory for the causes of waits");
	causes->session = session;
	causes->releases.row_b = sizeof(struct sonde_critical_release);
	causes->arrivals.row_b = sizeof(struct arrival);
	int rc = make_tables(causes);
	rc = rc ? rc : read_calls(causes);
	rc = rc ? rc : end_rounds(causes);
	rc = rc ? rc : sort_releases(causes);
	if (rc) {
		sonde_critical_causes_free(causes);
		return rc;
	}
	*out = causes;
	return 0;
}

void sonde_critical_causes_free(struct sonde_critical_causes *causes)
{
	if (!causes)
		return;
	free(causes->releases.data);
	free(causes->arrivals.data);
	free(causes->ends);
	free(causes->pipe_of);
	free(causes->last_of);
	free(causes->starts);
	free(causes->started);
	free(causes->begin);
	free(causes->hint);
	free(causes->ended);
	free(causes->lossy);
	free(causes);
}
