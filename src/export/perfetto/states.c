/* states.c: what each thread did, as a track below it: "running", "runnable", "blocked", with the CPU; and
 * arrows from who woke a thread to where it runs.
 *
 * Kernels' own events of switches say more than is known here (who ran instead), so states are slices. Time that was
 * not seen has none. Where there are very many, short ones share slices, "switching", which say what they add up to, so
 * that sums stay exact (states.h). An arrow begins at a mark in the track of who woke.
 */
#include "export/perfetto/perfetto.h"
#include "export/states.h"

static uint64_t track_of(struct sonde_perfetto *perfetto, uint32_t thread)
{
	int is_new;
	uint64_t parent = sonde_perfetto_thread(perfetto, thread);
	uint64_t track = sonde_perfetto_track(perfetto, SONDE_PERFETTO_STATES, thread, 0, &is_new);
	if (is_new)
		sonde_perfetto_describe(perfetto, track, parent, "states", NULL);
	return track;
}

static void begin(struct sonde_perfetto *perfetto, const char *name, uint64_t track, uint64_t from_ns)
{
	sonde_perfetto_begin(
	    perfetto,
	    &(struct sonde_perfetto_event){
		.type = SONDE_PERFETTO_BEGIN, .track = track, .time_ns = from_ns, .category = "state", .name = name});
}

static void put_shared(void *context, uint32_t thread, const struct sonde_export_states_shared *shared)
{
	struct sonde_perfetto *perfetto = context;
	uint64_t track = track_of(perfetto, thread);
	begin(perfetto, "switching", track, shared->from_ns);
	for (size_t i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES; i++)
		sonde_perfetto_arg_uint(perfetto, sonde_export_states_keys[i], shared->ns[i]);
	sonde_perfetto_arg_uint(perfetto, "states", shared->count);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, shared->to_ns, NULL);
}

/* Where the mark of who woke a thread stands; the arrow's number, 0 = there is none. */
static uint64_t put_waker(struct sonde_perfetto *perfetto, const struct sonde_interval *whole,
			  const struct sonde_interval *part)
{
	if (whole->state != SONDE_INTERVAL_ON_CPU || !whole->by ||
	    whole->by > sonde_session_thread_count(perfetto->session) || part->from_ns != whole->from_ns ||
	    !sonde_format_takes(perfetto->options, whole->woken_ns, whole->by))
		return 0;
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_INSTANT,
								      .track = track_of(perfetto, whole->by),
								      .time_ns = whole->woken_ns,
								      .category = "wake-up",
								      .name = "wakes"});
	sonde_perfetto_flow(perfetto, ++perfetto->flow_count, 0);
	sonde_perfetto_end(perfetto, NULL);
	return perfetto->flow_count;
}

static int put(void *context, const struct sonde_interval *whole, const struct sonde_interval *part)
{
	struct sonde_perfetto *perfetto = context;
	uint64_t track = track_of(perfetto, part->thread), flow = put_waker(perfetto, whole, part);
	begin(perfetto, sonde_interval_name(part->state), track, part->from_ns);
	if (part->cpu)
		sonde_perfetto_arg_uint(perfetto, "cpu", part->cpu - 1);
	if (part->unsure)
		sonde_perfetto_arg_text(perfetto, "woken", "not known: its end may be runnable");
	if (flow)
		sonde_perfetto_flow(perfetto, flow, 1);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, part->to_ns, NULL);
	return perfetto->error;
}

int sonde_perfetto_states(struct sonde_perfetto *perfetto)
{
	struct sonde_export_states states = {.session = perfetto->session,
					     .options = perfetto->options,
					     .put = put,
					     .put_shared = put_shared,
					     .context = perfetto};
	int rc = sonde_export_states_count(&states);
	rc = rc > 0 ? sonde_export_states_put(&states) : rc;
	perfetto->states_shared = states.shared_count;
	perfetto->states_least_ns = states.shared_count ? states.share.least_ns : 0;
	return rc;
}
