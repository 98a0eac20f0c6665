/* cover.c: blocking calls, sorted by thread and time, and flattened.
 *
 * Rows come in any order, though those of a thread are mostly sorted. They are grouped by thread and sorted only where
 * necessary. A sweep with a stack of the open calls turns them into parts that do not overlap, at most two per call.
 * Calls shorter than a microsecond are left out: a thread cannot be switched off and on in that time, and there may be
 * millions of them, such as reads from the page cache.
 */
#include "session/wait/cover.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/error.h"

#define LEAST_NS 1000u
enum { DEPTH_MAX = 16 }; /* nested signal handlers: deeper calls count as part of the call around them */

struct sonde_wait_part {
	uint64_t start_ns;
	uint64_t dur_ns : 56;
	uint64_t kind : 8;
	uint32_t thread, object, other;
	uint32_t is_sampled;
};

static uint64_t end_of(const struct sonde_wait_part *part)
{
	return part->start_ns + part->dur_ns;
}

static int add(struct sonde_wait_cover *cover, struct sonde_wait_part part)
{
	if (SONDE_ARRAY_RESERVE(cover->parts, cover->cap, cover->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu blocking calls", cover->count + 1);
	cover->parts[cover->count++] = part;
	return 0;
}

/* True if the call ended without getting what it waited for. */
static int is_in_vain(const struct sonde_batch *batch, size_t i)
{
	return sonde_wait_row(batch->waits.kind[i])->group == SONDE_WAIT_GROUP_LOCK &&
	       !(batch->waits.status[i] & SONDE_WAIT_SAMPLED) && batch->waits.amount[i] == SONDE_WAIT_IN_VAIN;
}

static int add_batch(struct sonde_wait_cover *cover, const struct sonde_batch *batch, const uint8_t *thread)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint32_t id = batch->waits.thread[i];
		enum sonde_wait_group group = sonde_wait_row(batch->waits.kind[i])->group;
		if (group == SONDE_WAIT_GROUP_HELD || group == SONDE_WAIT_GROUP_NONE || !id || id > cover->threads ||
		    (thread && !thread[id]))
			continue;
		cover->sampled |= batch->waits.status[i] & SONDE_WAIT_SAMPLED;
		cover->groups |= UINT64_C(1) << group;
		if (batch->waits.dur_ns[i] < LEAST_NS || batch->waits.dur_ns[i] >> 56)
			continue;
		rc = add(cover,
			 (struct sonde_wait_part){.start_ns = batch->waits.start_ns[i],
						  .dur_ns = batch->waits.dur_ns[i] & ((UINT64_C(1) << 56) - 1),
						  .kind = batch->waits.kind[i],
						  .thread = id,
						  .object = is_in_vain(batch, i) ? 0 : batch->waits.object[i],
						  .other = batch->waits.other[i],
						  .is_sampled = (batch->waits.status[i] & SONDE_WAIT_SAMPLED) != 0});
	}
	return rc;
}

static int read_calls(struct sonde_wait_cover *cover, struct sonde_session *session, const uint8_t *thread)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_WAITS);
	if (rc < 0)
		return rc;
	while (!error && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		error = rc > 0 ? add_batch(cover, batch, thread) : 0;
	sonde_cursor_close(cursor);
	return error ? error : rc;
}

/* Outer calls sort before the calls nested in them. */
static int compare(const void *left, const void *right)
{
	const struct sonde_wait_part *a = left, *b = right;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->dur_ns < b->dur_ns) - (a->dur_ns > b->dur_ns);
}

static void sort_if_needed(struct sonde_wait_part *parts, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare(&parts[i - 1], &parts[i]) > 0) {
			qsort(parts, count, sizeof *parts, compare);
			return;
		}
}

/* Finds the first part of each thread. */
static int find_threads(struct sonde_wait_cover *cover)
{
	size_t threads = (size_t)cover->threads + 2;
	free(cover->begin);
	cover->begin = calloc(2 * threads, sizeof *cover->begin);
	if (!cover->begin)
		return sonde_error(ENOMEM, "out of memory for %u threads", cover->threads);
	cover->next = cover->begin + threads;
	for (size_t i = 0; i < cover->count; i++)
		cover->begin[cover->parts[i].thread + 1]++;
	for (size_t id = 1; id < threads; id++)
		cover->begin[id] += cover->begin[id - 1];
	for (size_t id = 0; id < threads; id++)
		cover->next[id] = cover->begin[id];
	return 0;
}

static int sort_calls(struct sonde_wait_cover *cover)
{
	int rc = find_threads(cover);
	struct sonde_wait_part *sorted = rc ? NULL : malloc((cover->count + 1) * sizeof *sorted);
	if (!sorted)
		return rc ? rc : sonde_error(ENOMEM, "out of memory for %zu blocking calls", cover->count);
	for (size_t i = 0; i < cover->count; i++)
		sorted[cover->next[cover->parts[i].thread]++] = cover->parts[i];
	for (uint32_t id = 1; id <= cover->threads; id++)
		sort_if_needed(sorted + cover->begin[id], cover->begin[id + 1] - cover->begin[id]);
	free(cover->parts);
	cover->parts = sorted;
	return 0;
}

struct flat {
	struct sonde_wait_cover *cover;         /* the result */
	struct sonde_wait_part open[DEPTH_MAX]; /* innermost last */
	size_t depth;
	uint64_t at_ns; /* parts are complete up to this time */
	int error;
};

/* Gives the time up to `to_ns` to the innermost call. */
static void put(struct flat *flat, uint64_t to_ns)
{
	struct sonde_wait_part part = flat->open[flat->depth - 1];
	uint64_t from_ns = part.start_ns > flat->at_ns ? part.start_ns : flat->at_ns;
	if (to_ns <= from_ns)
		return;
	part.start_ns = from_ns;
	part.dur_ns = (to_ns - from_ns) & ((UINT64_C(1) << 56) - 1);
	flat->error = flat->error ? flat->error : add(flat->cover, part);
	flat->at_ns = to_ns;
}

/* Closes the calls that end by that time. */
static void close_until(struct flat *flat, uint64_t time_ns)
{
	while (flat->depth && end_of(&flat->open[flat->depth - 1]) <= time_ns) {
		put(flat, end_of(&flat->open[flat->depth - 1]));
		flat->depth--;
	}
	if (flat->depth && time_ns != UINT64_MAX)
		put(flat, time_ns);
}

/* True if no call is nested in another: the common case, without signal handlers. */
static int is_flat(const struct sonde_wait_cover *cover)
{
	for (size_t i = 1; i < cover->count; i++) {
		const struct sonde_wait_part *part = &cover->parts[i], *before = part - 1;
		if (before->thread == part->thread && end_of(before) > part->start_ns)
			return 0;
	}
	return 1;
}

static int lay_flat(struct sonde_wait_cover *cover)
{
	struct sonde_wait_cover made = {.threads = cover->threads};
	struct flat flat = {.cover = &made};
	if (is_flat(cover))
		return 0;
	for (size_t i = 0; i < cover->count && !flat.error; i++) {
		const struct sonde_wait_part *part = &cover->parts[i];
		int is_other = i && part[-1].thread != part->thread;
		close_until(&flat, is_other ? UINT64_MAX : part->start_ns);
		if (is_other || !i)
			flat.at_ns = 0;
		if (flat.depth < DEPTH_MAX)
			flat.open[flat.depth++] = *part;
	}
	close_until(&flat, UINT64_MAX);
	if (flat.error) {
		free(made.parts);
		return flat.error;
	}
	free(cover->parts);
	cover->parts = made.parts;
	cover->count = made.count;
	cover->cap = made.cap;
	return 0;
}

int sonde_wait_cover_read(struct sonde_wait_cover *out, struct sonde_session *session, const uint8_t *thread)
{
	*out = (struct sonde_wait_cover){.threads = (uint32_t)sonde_session_thread_count(session)};
	int rc = read_calls(out, session, thread);
	rc = rc ? rc : sort_calls(out);
	rc = rc ? rc : lay_flat(out);
	rc = rc ? rc : find_threads(out);
	if (rc < 0)
		sonde_wait_cover_fini(out);
	return rc;
}

void sonde_wait_cover_fini(struct sonde_wait_cover *cover)
{
	free(cover->parts);
	free(cover->begin);
	*cover = (struct sonde_wait_cover){0};
}

void sonde_wait_cover_look(struct sonde_wait_cover *cover, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			   void (*take)(void *context, const struct sonde_wait_piece *piece), void *context)
{
	if (!thread || thread > cover->threads)
		return;
	size_t at = cover->next[thread], end = cover->begin[thread + 1];
	while (at < end && end_of(&cover->parts[at]) <= from_ns)
		at++;
	cover->next[thread] = at;
	for (; at < end && cover->parts[at].start_ns < to_ns; at++) {
		const struct sonde_wait_part *part = &cover->parts[at];
		uint64_t start_ns = part->start_ns > from_ns ? part->start_ns : from_ns;
		uint64_t stop_ns = end_of(part) < to_ns ? end_of(part) : to_ns;
		if (stop_ns <= start_ns)
			continue;
		const struct sonde_wait_piece piece = {.from_ns = start_ns,
						       .ns = stop_ns - start_ns,
						       .object = part->object,
						       .other = part->other,
						       .kind = (uint8_t)part->kind,
						       .is_sampled = part->is_sampled != 0};
		take(context, &piece);
	}
}
