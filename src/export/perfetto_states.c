/* perfetto_states.c: what each thread did, as a track below it: "running", "runnable", "blocked", with the CPU; and
 * arrows from who woke a thread to where it runs.
 *
 * Kernels' own events of switches say more than is known here (who ran instead), so states are slices. Time that was
 * not seen has none. Where there are very many, short ones share slices, "switching", which say what they add up to, so
 * that sums stay exact (chrome_share.h). An arrow begins at a mark in the track of who woke.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/chrome_share.h"
#include "export/perfetto.h"
#include "session/intervals.h"
#include "util/error.h"

/* Neighbours that share a slice. */
struct shared {
	uint64_t from_ns, to_ns, count;
	uint64_t ns[SONDE_INTERVAL_STATES];
};

struct states {
	struct sonde_perfetto *perfetto;
	struct sonde_chrome_share share;
	struct shared *shared; /* by thread id */
	size_t threads;
};

/* Cuts an interval to what is wanted; 0: nothing of it, or nobody saw what it was. */
static int cut(const struct states *states, struct sonde_interval *interval)
{
	const struct sonde_format_options *options = states->perfetto->options;
	if (interval->from_ns < options->from_ns)
		interval->from_ns = options->from_ns;
	if (options->to_ns && interval->to_ns > options->to_ns)
		interval->to_ns = options->to_ns;
	return interval->state != SONDE_INTERVAL_UNSEEN && interval->from_ns < interval->to_ns &&
	       interval->thread < states->threads && (!options->thread || options->thread[interval->thread]);
}

static int count(void *context, const struct sonde_interval *interval)
{
	struct states *states = context;
	struct sonde_interval part = *interval;
	if (!cut(states, &part))
		return 0;
	sonde_chrome_share_count(&states->share, part.to_ns - part.from_ns);
	states->share.lives_ns += part.to_ns - part.from_ns;
	return 0;
}

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

static void end_shared(struct states *states, uint32_t thread)
{
	static const char *const keys[] = {[SONDE_INTERVAL_ON_CPU] = "running_ns",
					   [SONDE_INTERVAL_RUNNABLE] = "runnable_ns",
					   [SONDE_INTERVAL_BLOCKED] = "blocked_ns"};
	struct sonde_perfetto *perfetto = states->perfetto;
	struct shared *shared = &states->shared[thread];
	if (!shared->count)
		return;
	uint64_t track = track_of(perfetto, thread);
	begin(perfetto, "switching", track, shared->from_ns);
	for (size_t i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES; i++)
		sonde_perfetto_arg_uint(perfetto, keys[i], shared->ns[i]);
	sonde_perfetto_arg_uint(perfetto, "states", shared->count);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, shared->to_ns, NULL);
	perfetto->states_shared += shared->count;
	*shared = (struct shared){0};
}

/* Where the mark of who woke a thread stands; the arrow's number, 0 = there is none. */
static uint64_t put_waker(struct states *states, const struct sonde_interval *whole, const struct sonde_interval *part)
{
	struct sonde_perfetto *perfetto = states->perfetto;
	if (whole->state != SONDE_INTERVAL_ON_CPU || !whole->by || whole->by >= states->threads ||
	    part->from_ns != whole->from_ns || !sonde_format_takes(perfetto->options, whole->woken_ns, whole->by))
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

static void put_interval(struct states *states, const struct sonde_interval *whole, const struct sonde_interval *part)
{
	struct sonde_perfetto *perfetto = states->perfetto;
	uint64_t track = track_of(perfetto, part->thread), flow = put_waker(states, whole, part);
	begin(perfetto, sonde_interval_name(part->state), track, part->from_ns);
	if (part->cpu)
		sonde_perfetto_arg_uint(perfetto, "cpu", part->cpu - 1);
	if (part->unsure)
		sonde_perfetto_arg_text(perfetto, "woken", "not known: its end may be runnable");
	if (flow)
		sonde_perfetto_flow(perfetto, flow, 1);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, part->to_ns, NULL);
}

static int put(void *context, const struct sonde_interval *interval)
{
	struct states *states = context;
	struct sonde_interval part = *interval;
	if (interval->thread >= states->threads)
		return 0;
	struct shared *shared = &states->shared[interval->thread];
	int is_wanted = cut(states, &part), is_short = is_wanted && part.to_ns - part.from_ns < states->share.least_ns;
	if (!is_short || (shared->count && part.to_ns - shared->from_ns > states->share.grid_ns))
		end_shared(states, interval->thread);
	if (is_wanted && !is_short)
		put_interval(states, interval, &part);
	if (!is_short)
		return states->perfetto->error;
	if (!shared->count)
		shared->from_ns = part.from_ns;
	shared->to_ns = part.to_ns;
	shared->ns[part.state] += part.to_ns - part.from_ns;
	shared->count++;
	return 0;
}

int sonde_perfetto_states(struct sonde_perfetto *perfetto)
{
	struct states states = {.perfetto = perfetto, .threads = sonde_session_thread_count(perfetto->session) + 1};
	struct sonde_intervals seen;
	int rc = sonde_intervals_walk(&seen, perfetto->session, count, &states);
	if (rc < 0 || !states.share.lives_ns)
		return rc;
	sonde_chrome_share_choose(&states.share);
	states.shared = calloc(states.threads, sizeof *states.shared);
	rc = states.shared ? sonde_intervals_walk(&seen, perfetto->session, put, &states)
			   : sonde_error(ENOMEM, "out of memory for %zu threads", states.threads);
	for (uint32_t id = 1; rc == 0 && id < states.threads; id++)
		end_shared(&states, id);
	perfetto->states_least_ns = perfetto->states_shared ? states.share.least_ns : 0;
	free(states.shared);
	return rc;
}
