/* calls.c: blocking calls as slices on tracks below their threads: "mutex", "read"; and arrows from the thread that
 * released a lock to the one that acquired it.
 *
 * A call that overlaps another call of its thread without nesting goes to a second track. If there are very many, only
 * the longest get slices (calls.h); the total of the others is reported at the end.
 */
#include <stdlib.h>

#include "export/calls.h"
#include "export/perfetto/perfetto.h"

enum { LANES_MAX = 8, OPEN_MAX = 64 };

/* Tracks of a thread, each with the end times of its open slices. */
struct lanes {
	struct sonde_perfetto *perfetto;
	uint64_t track[LANES_MAX];
	uint64_t ends_ns[LANES_MAX][OPEN_MAX];
	size_t open[LANES_MAX];
	size_t count;
	uint32_t thread;
};

/* --- slices ------------------------------------------------------------------------------------------------------- */

static void put_object(struct sonde_perfetto *perfetto, uint32_t id)
{
	char object[SONDE_CHROME_TEXT_B];
	if (*sonde_call_object(perfetto->session, id, object, sizeof object))
		sonde_perfetto_arg_text(perfetto, "object", object);
}

static void put_begin(struct sonde_perfetto *perfetto, const struct sonde_call *call, uint64_t track)
{
	const struct sonde_wait_row *row = sonde_wait_row(call->kind);
	const struct sonde_thread *other = sonde_session_thread(perfetto->session, call->other);
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_BEGIN,
								      .track = track,
								      .time_ns = call->from_ns,
								      .category = "wait",
								      .name = row->name});
	put_object(perfetto, call->object);
	if (call->status & SONDE_WAIT_SAMPLED) /* the number of times it was sampled from outside */
		sonde_perfetto_arg_uint(perfetto, "sampled_looks", call->amount);
	else if (call->amount && row->group != SONDE_WAIT_GROUP_LOCK)
		sonde_perfetto_arg_uint(perfetto, "bytes", call->amount);
	if (other) {
		sonde_perfetto_arg_text(perfetto, "held_by", other->name);
		sonde_perfetto_arg_uint(perfetto, "held_by_tid", other->tid);
	}
	sonde_perfetto_end(perfetto, NULL);
}

/* Closes the slices of a track that end at or before `time_ns`. */
static void end_until(struct lanes *lanes, size_t lane, uint64_t time_ns)
{
	while (lanes->open[lane] && lanes->ends_ns[lane][lanes->open[lane] - 1] <= time_ns) {
		uint64_t end_ns = lanes->ends_ns[lane][--lanes->open[lane]];
		sonde_perfetto_close(lanes->perfetto, lanes->track[lane], end_ns, NULL);
	}
}

static void end_thread(struct lanes *lanes)
{
	for (size_t lane = 0; lane < lanes->count; lane++)
		end_until(lanes, lane, UINT64_MAX);
	lanes->count = 0;
}

/* Returns the first track in which a call nests; a new track if there is none. */
static size_t lane_of(struct lanes *lanes, const struct sonde_call *call)
{
	for (size_t lane = 0; lane < lanes->count; lane++) {
		end_until(lanes, lane, call->from_ns);
		size_t open = lanes->open[lane];
		if (open < OPEN_MAX && (!open || lanes->ends_ns[lane][open - 1] >= call->to_ns))
			return lane;
	}
	return lanes->count;
}

static uint64_t make_lane(struct lanes *lanes, size_t lane)
{
	struct sonde_perfetto *perfetto = lanes->perfetto;
	int is_new;
	uint64_t track = lane < LANES_MAX
			     ? sonde_perfetto_track(perfetto, SONDE_PERFETTO_CALLS, lanes->thread, lane, &is_new)
			     : sonde_perfetto_track_new(perfetto);
	sonde_perfetto_describe(perfetto, track, sonde_perfetto_thread(perfetto, lanes->thread), "blocking calls",
				NULL);
	return track;
}

static void put_handover(struct sonde_perfetto *perfetto, const struct sonde_call *call, uint64_t track)
{
	uint64_t flow = ++perfetto->flow_count;
	sonde_perfetto_begin(perfetto,
			     &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_INSTANT,
							    .track = sonde_perfetto_thread(perfetto, call->given_by),
							    .time_ns = call->given_ns,
							    .category = "lock",
							    .name = "unlock"});
	put_object(perfetto, call->object);
	sonde_perfetto_flow(perfetto, flow, 0);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_INSTANT,
								      .track = track,
								      .time_ns = call->to_ns,
								      .category = "lock",
								      .name = "locked"});
	sonde_perfetto_flow(perfetto, flow, 1);
	sonde_perfetto_end(perfetto, NULL);
}

static void put_call(struct lanes *lanes, const struct sonde_call *call)
{
	if (call->thread != lanes->thread) {
		end_thread(lanes);
		lanes->thread = call->thread;
	}
	size_t lane = lane_of(lanes, call);
	uint64_t track = lane < lanes->count ? lanes->track[lane] : make_lane(lanes, lane);
	put_begin(lanes->perfetto, call, track);
	if (call->given_ns)
		put_handover(lanes->perfetto, call, track);
	if (lane >= LANES_MAX) {
		sonde_perfetto_close(lanes->perfetto, track, call->to_ns, NULL);
		return;
	}
	if (lane == lanes->count) {
		lanes->track[lanes->count] = track;
		lanes->open[lanes->count++] = 0;
	}
	lanes->ends_ns[lane][lanes->open[lane]++] = call->to_ns;
	if (call->to_ns == call->from_ns)
		end_until(lanes, lane, call->to_ns);
}

int sonde_perfetto_calls(struct sonde_perfetto *perfetto)
{
	struct sonde_calls calls;
	struct lanes lanes = {.perfetto = perfetto};
	int rc = sonde_calls_read(&calls, perfetto->session, perfetto->options);
	for (size_t i = 0; i < calls.count && !rc; i++) {
		put_call(&lanes, &calls.rows[i]);
		rc = perfetto->error;
	}
	end_thread(&lanes);
	perfetto->calls_left = calls.left;
	perfetto->calls_left_ns = calls.left_ns;
	perfetto->calls_least_ns = calls.least_ns;
	sonde_calls_fini(&calls);
	return rc;
}
