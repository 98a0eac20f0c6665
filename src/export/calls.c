/* calls.c: two passes: the first counts durations and lock holders; the second keeps calls that are long enough. */
#include "export/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/holds.h"
#include "tracks/share.h"
#include "session/weigh.h"
#include "util/array.h"
#include "util/error.h"

struct reading {
	struct sonde_calls *calls;
	struct sonde_session *session;
	const struct sonde_format_options *options;
	struct sonde_selection range;
	struct sonde_track_share share;
	struct sonde_holds holds;
};

int sonde_call_take(struct sonde_call *out, const struct sonde_selection *range, const struct sonde_batch *batch,
		    size_t i)
{
	uint64_t start_ns = batch->waits.start_ns[i], dur_ns = batch->waits.dur_ns[i];
	uint32_t thread = batch->waits.thread[i];
	const struct sonde_wait_row *row = sonde_wait_row(batch->waits.kind[i]);
	if (!row->name || row->group == SONDE_WAIT_GROUP_HELD || (range->thread && !range->thread[thread]) ||
	    !sonde_weigh_cut(range, &start_ns, &dur_ns))
		return 0;
	*out = (struct sonde_call){.from_ns = start_ns,
				   .to_ns = start_ns + dur_ns,
				   .amount = batch->waits.amount[i],
				   .thread = thread,
				   .object = batch->waits.object[i],
				   .other = batch->waits.other[i],
				   .kind = batch->waits.kind[i],
				   .status = batch->waits.status[i]};
	return 1;
}

static int count(void *context, const struct sonde_batch *batch)
{
	struct reading *reading = context;
	struct sonde_call call;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		rc = sonde_holds_add(&reading->holds, batch, i);
		if (sonde_call_take(&call, &reading->range, batch, i))
			sonde_track_share_count(&reading->share, call.to_ns - call.from_ns);
	}
	return rc;
}

static int keep(void *context, const struct sonde_batch *batch)
{
	struct reading *reading = context;
	struct sonde_calls *calls = reading->calls;
	struct sonde_call call;
	for (size_t i = 0; i < batch->count; i++) {
		if (!sonde_call_take(&call, &reading->range, batch, i))
			continue;
		if (call.to_ns - call.from_ns < reading->share.least_ns) {
			calls->left++;
			calls->left_ns += call.to_ns - call.from_ns;
			continue;
		}
		const struct sonde_hold *hold =
		    sonde_holds_giver(&reading->holds, reading->session, reading->options, batch, i);
		if (hold) {
			call.given_ns = hold->end_ns;
			call.given_by = hold->thread;
		}
		if (SONDE_ARRAY_RESERVE(calls->rows, calls->cap, calls->count + 1))
			return sonde_error(ENOMEM, "out of memory for %zu calls", calls->count + 1);
		calls->rows[calls->count++] = call;
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_call *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	if (a->to_ns != b->to_ns)
		return a->to_ns > b->to_ns ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

int sonde_calls_read(struct sonde_calls *out, struct sonde_session *session, const struct sonde_format_options *options)
{
	const struct sonde_selection wanted = options->selection;
	struct reading reading = {
	    .calls = out, .session = session, .options = options, .range = sonde_weigh_range(session, &wanted)};
	*out = (struct sonde_calls){0};
	int rc = sonde_session_batches(session, 1u << SONDE_CHUNK_WAITS, count, &reading);
	if (!rc) {
		sonde_holds_sort(&reading.holds);
		sonde_track_share_choose(&reading.share);
		rc = sonde_session_batches(session, 1u << SONDE_CHUNK_WAITS, keep, &reading);
	}
	out->least_ns = out->left ? reading.share.least_ns : 0;
	if (out->count)
		qsort(out->rows, out->count, sizeof *out->rows, compare);
	sonde_holds_fini(&reading.holds);
	return rc;
}

void sonde_calls_fini(struct sonde_calls *calls)
{
	free(calls->rows);
	*calls = (struct sonde_calls){0};
}

const char *sonde_call_object(const struct sonde_session *session, uint32_t id, char *out, size_t out_b)
{
	const struct sonde_object *object = sonde_session_object(session, id);
	*out = 0;
	if (object && *object->name)
		snprintf(out, out_b, "%s", object->name);
	else if (object && object->address)
		snprintf(out, out_b, "0x%" PRIx64, object->address);
	return out;
}
