/* weights.c: sums up blocking calls by stack, thread and kind; memory grows with stacks, not with calls.
 *
 * One pass over the WAITS chunks. A call counts with the part that lies within the recording, so the sums match the
 * sections about waiting. A flight recording extends from its first event to its last.
 */
#include "session/wait/weights.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

struct taking {
	struct sonde_weights *out;
	size_t cap;
	struct sonde_map map;
	struct sonde_selection range, all; /* the requested range; the recording */
};

struct sonde_selection sonde_weigh_range(const struct sonde_session *session, const struct sonde_selection *wanted)
{
	const struct sonde_run *run = sonde_session_run(session);
	int held = sonde_session_info(session, "option.keep_ns") != NULL;
	struct sonde_selection range = {.from_ns = held ? run->first_event_ns : run->start_ns,
					.to_ns = held ? run->last_event_ns : run->end_ns,
					.thread = wanted->thread};
	if (wanted->from_ns > range.from_ns)
		range.from_ns = wanted->from_ns;
	if (wanted->to_ns && wanted->to_ns < range.to_ns)
		range.to_ns = wanted->to_ns;
	return range;
}

/* The row being looked for is stored after the last row. */
static int is_row(const void *context, uint32_t value)
{
	const struct sonde_weights *out = context;
	const struct sonde_weights_row *new = &out->rows[out->row_count], *old = &out->rows[value - 1];
	return new->stack == old->stack &&new->thread == old->thread &&new->kind == old->kind;
}

static int add(struct taking *taking, struct sonde_weights_row row)
{
	struct sonde_weights *out = taking->out;
	if (out->row_count >= UINT32_MAX || SONDE_ARRAY_RESERVE(out->rows, taking->cap, out->row_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu stacks that wait", out->row_count + 1);
	out->rows[out->row_count] = row;
	uint64_t hash = sonde_hash_pair((uint64_t)row.kind << 32 | row.thread, row.stack);
	uint32_t at = sonde_map_find(&taking->map, hash, is_row, out);
	if (at) {
		out->rows[at - 1].count += row.count;
		out->rows[at - 1].weight += row.weight;
	} else if (sonde_map_add(&taking->map, hash, (uint32_t)++out->row_count))
		return sonde_error(ENOMEM, "out of memory for %zu stacks that wait", out->row_count);
	out->count += row.count;
	out->weight += row.weight;
	return 0;
}

static int add_batch(struct taking *taking, uint32_t groups, const struct sonde_batch *batch)
{
	const struct sonde_selection *range = &taking->range;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint64_t start_ns = batch->waits.start_ns[i], dur_ns = batch->waits.dur_ns[i];
		if (!(groups & 1u << sonde_wait_row(batch->waits.kind[i])->group) ||
		    (range->thread && !range->thread[batch->waits.thread[i]]) ||
		    !sonde_weigh_cut(range, &start_ns, &dur_ns))
			continue;
		struct sonde_weights_row row = {.stack = batch->waits.stack[i],
						.thread = batch->waits.thread[i],
						.status = sonde_sample_status(batch->waits.status[i]),
						.kind = batch->waits.kind[i],
						.count = start_ns == batch->waits.start_ns[i],
						.weight = dur_ns};
		if (batch->waits.status[i] & SONDE_WAIT_SAMPLED) {
			row.weight =
			    sonde_weigh_sampled(&taking->all, range, batch->waits.start_ns[i], batch->waits.dur_ns[i]);
			taking->out->sampled += row.weight;
		}
		rc = add(taking, row);
	}
	return rc;
}

int sonde_wait_weights_take(struct sonde_weights *out, struct sonde_session *session,
			    const struct sonde_weigh_view *view)
{
	struct taking taking = {.out = out, .range = sonde_weigh_range(session, &view->range)};
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	taking.all = sonde_weigh_range(session, &(struct sonde_selection){0});
	int error = 0, rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_WAITS);
	if (rc)
		return rc;
	while (!error && (rc = sonde_cursor_next(cursor, &batch)) != 0) {
		if (rc > 0)
			error = add_batch(&taking, sonde_weigh_rows[view->weigh.by].groups, batch);
		else if (rc == -ENOMEM || rc == -EIO)
			error = rc;
	}
	sonde_cursor_close(cursor);
	sonde_map_fini(&taking.map);
	return error;
}
