/* active.c: attributes the active time of a critical path to zones, otherwise to sampled functions.
 *
 * Zones are exact: each gets its exclusive time on the path. The remaining time goes to functions: the active time
 * between two samples of a thread belongs to the function of the later sample, and the time after the last sample
 * belongs to the function of that sample. So the times of functions are estimates, but the sum of all times is the time
 * of the path, exactly to the nanosecond. Zones and samples are streamed; memory holds one slot per sample of threads
 * on the path, and one piece per step.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/by_function.h"
#include "analyze/critical/sums.h"
#include "util/error.h"
#include "util/search.h"

enum { DEPTH_MAX = 256 };

/* A part of the path in which a thread was active. */
struct piece {
	uint64_t from_ns, to_ns;
	uint64_t before_ns; /* sum of the thread's earlier pieces */
};

/* The time from the previous sample to this one. */
struct slot {
	uint64_t to_ns;   /* UINT64_MAX: the time after the last sample */
	uint64_t left_ns; /* time on the path outside zones */
	uint32_t function;
	uint8_t is_known;
};

/* By depth: path time of ended zones, kept until their enclosing zone ends. */
struct inner {
	uint64_t ns[DEPTH_MAX + 1];
};

struct naming {
	const struct sonde_critical *critical;
	const struct sonde_critical_path *path;
	uint8_t state; /* kind of steps to attribute */
	struct piece *pieces;
	size_t *piece_begin; /* by thread */
	struct slot *slots;
	size_t *slot_begin, *slot_fill;
	struct inner **inner; /* by thread */
	struct sonde_critical_sums *sums;
};

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static int make_pieces(struct naming *naming)
{
	const struct sonde_critical_path *path = naming->path;
	size_t threads = (size_t)naming->critical->threads + 2;
	naming->piece_begin = calloc(threads, sizeof *naming->piece_begin);
	naming->pieces = malloc((path->count + 1) * sizeof *naming->pieces);
	size_t *fill = calloc(threads, sizeof *fill);
	if (!naming->piece_begin || !naming->pieces || !fill) {
		free(fill);
		return sonde_error(ENOMEM, "out of memory for %zu steps", path->count);
	}
	for (size_t i = 0; i < path->count; i++)
		naming->piece_begin[path->steps[i].thread + 1] += path->steps[i].kind == naming->state;
	for (size_t id = 1; id < threads; id++)
		naming->piece_begin[id] += naming->piece_begin[id - 1];
	memcpy(fill, naming->piece_begin, threads * sizeof *fill);
	for (size_t i = 0; i < path->count; i++) {
		const struct sonde_critical_step *step = &path->steps[i];
		if (step->kind != naming->state)
			continue;
		size_t at = fill[step->thread]++;
		const struct piece *before = at > naming->piece_begin[step->thread] ? &naming->pieces[at - 1] : NULL;
		naming->pieces[at] =
		    (struct piece){.from_ns = step->from_ns,
				   .to_ns = sonde_critical_step_end(path, i),
				   .before_ns = before ? before->before_ns + (before->to_ns - before->from_ns) : 0};
	}
	free(fill);
	return 0;
}

static int has_pieces(const struct naming *naming, uint32_t thread)
{
	return thread && thread <= naming->critical->threads &&
	       naming->piece_begin[thread] < naming->piece_begin[thread + 1];
}

/* The active time of a thread on the path up to time_ns. */
static uint64_t passed(const struct naming *naming, uint32_t thread, uint64_t time_ns)
{
	size_t first = naming->piece_begin[thread], end = naming->piece_begin[thread + 1];
	size_t next = SONDE_SEARCH(i, first, end, naming->pieces[i].from_ns < time_ns);
	if (next == first)
		return 0;
	const struct piece *piece = &naming->pieces[next - 1];
	return piece->before_ns + (time_ns < piece->to_ns ? time_ns : piece->to_ns) - piece->from_ns;
}

/* --- slots of samples --------------------------------------------------------------------------------------------- */

static int take_samples(struct naming *naming, const struct sonde_batch *batch, int count_only)
{
	const struct sonde_session *session = naming->critical->session;
	for (size_t i = 0; i < batch->count; i++) {
		uint32_t thread = batch->samples.thread[i];
		int is_kernel = (batch->samples.status[i] & SONDE_SAMPLE_KERNEL) != 0;
		if (!has_pieces(naming, thread) || (!batch->samples.stack[i] && !is_kernel) ||
		    !sonde_sample_counts(batch->samples.status[i]))
			continue;
		if (count_only) {
			naming->slot_begin[thread + 1]++;
			continue;
		}
		const struct sonde_node *node = sonde_session_node(session, batch->samples.stack[i]);
		const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
		const struct sonde_module *module = frame ? sonde_session_module(session, frame->module) : NULL;
		struct slot slot = {.to_ns = batch->samples.time_ns[i], .is_known = 1};
		int has_name =
		    frame && frame->location_count && (!is_kernel || (module && module->flags & SONDE_MODULE_KERNEL));
		if (has_name)
			slot.function = sonde_function_of(session, frame, 0);
		naming->slots[naming->slot_fill[thread]++] = slot;
	}
	return 0;
}

static int read_samples(struct naming *naming, int count_only)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, naming->critical->session, 1u << SONDE_CHUNK_SAMPLES);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		if (rc > 0)
			take_samples(naming, batch, count_only);
	sonde_cursor_close(cursor);
	return rc;
}

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

/* Adds a slot for the time after the last sample of a thread. */
static void close_slots(struct naming *naming, uint32_t thread)
{
	struct slot *slots = naming->slots + naming->slot_begin[thread];
	size_t count = naming->slot_fill[thread] - naming->slot_begin[thread];
	if (!has_pieces(naming, thread))
		return;
	if (count)
		qsort(slots, count, sizeof *slots, compare_slots);
	slots[count] = count ? slots[count - 1] : (struct slot){0};
	slots[count].to_ns = UINT64_MAX;
	uint64_t before_ns = 0;
	for (size_t i = 0; i <= count; i++) {
		uint64_t passed_ns = passed(naming, thread, slots[i].to_ns);
		slots[i].left_ns = passed_ns - before_ns;
		before_ns = passed_ns;
	}
}

static int make_slots(struct naming *naming)
{
	size_t threads = (size_t)naming->critical->threads + 2;
	naming->slot_begin = calloc(threads, sizeof *naming->slot_begin);
	naming->slot_fill = calloc(threads, sizeof *naming->slot_fill);
	if (!naming->slot_begin || !naming->slot_fill)
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	int rc = read_samples(naming, 1);
	if (rc < 0)
		return rc;
	for (uint32_t id = 1; id <= naming->critical->threads; id++)
		naming->slot_begin[id + 1] += has_pieces(naming, id) ? 1 : 0;
	for (size_t id = 1; id < threads; id++)
		naming->slot_begin[id] += naming->slot_begin[id - 1];
	memcpy(naming->slot_fill, naming->slot_begin, threads * sizeof *naming->slot_fill);
	naming->slots = calloc(naming->slot_begin[threads - 1] + 1, sizeof *naming->slots);
	if (!naming->slots)
		return sonde_error(ENOMEM, "out of memory for %zu samples", naming->slot_begin[threads - 1]);
	rc = read_samples(naming, 0);
	for (uint32_t id = 1; rc >= 0 && id <= naming->critical->threads; id++)
		close_slots(naming, id);
	return rc;
}

/* Subtracts time in a zone from the slots, because it is not attributed to functions. */
static void take_off(struct naming *naming, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	size_t end = naming->slot_begin[thread + 1];
	size_t at = SONDE_SEARCH(i, naming->slot_begin[thread], end, naming->slots[i].to_ns <= from_ns);
	for (; at < end && from_ns < to_ns; at++) {
		struct slot *slot = &naming->slots[at];
		uint64_t stop_ns = slot->to_ns < to_ns ? slot->to_ns : to_ns;
		uint64_t ns = passed(naming, thread, stop_ns) - passed(naming, thread, from_ns);
		slot->left_ns -= ns < slot->left_ns ? ns : slot->left_ns;
		from_ns = stop_ns;
	}
}

static int add_slots(struct naming *naming)
{
	int rc = 0;
	for (uint32_t id = 1; id <= naming->critical->threads && !rc; id++)
		for (size_t i = naming->slot_begin[id]; i < naming->slot_begin[id + 1] && !rc; i++) {
			const struct slot *slot = &naming->slots[i];
			int is_sample = slot->to_ns != UINT64_MAX;
			rc = sonde_critical_sum_add(
			    naming->sums,
			    slot->is_known
				? sonde_critical_key(SONDE_CRITICAL_CLASS_FUNCTION, naming->state, 0, slot->function)
				: sonde_critical_key(SONDE_CRITICAL_CLASS_THREAD, naming->state, 0, id),
			    slot->left_ns, slot->is_known ? (uint64_t)is_sample : 1);
		}
	return rc;
}

/* --- zones -------------------------------------------------------------------------------------------------------- */

/* Zones of a thread come in order of their ends: inner before outer. */
static int take_zone(struct naming *naming, const struct sonde_batch *batch, size_t i)
{
	uint32_t thread = batch->thread;
	uint64_t from_ns = batch->zones.start_ns[i], to_ns = from_ns + batch->zones.dur_ns[i];
	uint16_t depth = batch->zones.depth[i] < DEPTH_MAX ? batch->zones.depth[i] : DEPTH_MAX - 1;
	uint64_t all_ns = passed(naming, thread, to_ns) - passed(naming, thread, from_ns);
	if (!naming->inner[thread])
		naming->inner[thread] = calloc(1, sizeof *naming->inner[thread]);
	if (!naming->inner[thread])
		return sonde_error(ENOMEM, "out of memory for zones");
	uint64_t *inner_ns = naming->inner[thread]->ns;
	uint64_t within_ns = inner_ns[depth + 1] < all_ns ? inner_ns[depth + 1] : all_ns;
	inner_ns[depth + 1] = 0;
	inner_ns[depth] += all_ns;
	if (depth == 0 && all_ns)
		take_off(naming, thread, from_ns, to_ns);
	return sonde_critical_sum_add(
	    naming->sums, sonde_critical_key(SONDE_CRITICAL_CLASS_ZONE, naming->state, 0, batch->zones.site[i]),
	    all_ns - within_ns, 1);
}

static int read_zones(struct naming *naming)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, naming->critical->session, 1u << SONDE_CHUNK_ZONES);
	if (rc < 0)
		return rc;
	naming->inner = calloc((size_t)naming->critical->threads + 1, sizeof *naming->inner);
	if (!naming->inner)
		error = sonde_error(ENOMEM, "out of memory for zones of %u threads", naming->critical->threads);
	while (!error && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		for (size_t i = 0; rc > 0 && i < batch->count && !error && has_pieces(naming, batch->thread); i++)
			error = take_zone(naming, batch, i);
	sonde_cursor_close(cursor);
	return error ? error : rc;
}

/* Makes the attributed time add up. If chunks are unreadable, zones may lack their enclosing zone, so that the
 * attributed time exceeds the path's time in this state or falls short of it. An excess is taken from the least exact
 * sums first (threads, then functions, then zones); missing time is attributed to an unknown thread. */
static int settle(struct naming *naming)
{
	uint64_t all_ns = 0, named_ns = 0;
	for (uint32_t id = 1; id <= naming->critical->threads; id++)
		all_ns += passed(naming, id, UINT64_MAX);
	for (size_t i = 0; i < naming->sums->count; i++)
		if ((naming->sums->row[i].key >> 48 & 0xff) == naming->state)
			named_ns += naming->sums->row[i].ns;
	for (int class = SONDE_CRITICAL_CLASS_THREAD; class >= SONDE_CRITICAL_CLASS_ZONE; class --)
		for (size_t i = 0; i < naming->sums->count && named_ns > all_ns; i++) {
			struct sonde_critical_sum *sum = &naming->sums->row[i];
			uint64_t over_ns = named_ns - all_ns;
			if (sum->key >> 48 != ((uint64_t) class << 8 | naming->state))
				continue;
			over_ns = over_ns < sum->ns ? over_ns : sum->ns;
			sum->ns -= over_ns;
			named_ns -= over_ns;
		}
	return sonde_critical_sum_add(
	    naming->sums, sonde_critical_key(SONDE_CRITICAL_CLASS_THREAD, naming->state, 0, 0), all_ns - named_ns, 1);
}

static void forget(struct naming *naming)
{
	for (uint32_t id = 0; naming->inner && id <= naming->critical->threads; id++)
		free(naming->inner[id]);
	free(naming->inner);
	free(naming->pieces);
	free(naming->piece_begin);
	free(naming->slots);
	free(naming->slot_begin);
	free(naming->slot_fill);
}

int sonde_critical_active_add(struct sonde_critical_sums *sums, const struct sonde_critical *critical,
			      const struct sonde_critical_path *path, uint8_t state)
{
	struct naming naming = {.critical = critical, .path = path, .state = state, .sums = sums};
	size_t steps = 0;
	for (size_t i = 0; i < path->count; i++)
		steps += path->steps[i].kind == state;
	if (!steps)
		return 0;
	int rc = make_pieces(&naming);
	rc = rc < 0 ? rc : make_slots(&naming);
	rc = rc < 0 ? rc : read_zones(&naming);
	rc = rc < 0 ? rc : add_slots(&naming);
	rc = rc < 0 ? rc : settle(&naming);
	forget(&naming);
	return rc;
}
