/* chrome_states.c: what each thread did as a track of its own: "running", "runnable", "blocked", with the CPU, and with
 * what a blocked one waited for.
 *
 * A track is a thread of the viewer with a number above those that kernels give, since slices of states would not nest
 * with zones and calls. Time that was not seen has no slice.
 *
 * Where it is known who woke a thread, an arrow leads from there to where it runs; none where that shares a slice.
 *
 * A million switches would be a file of 300 MB, which no viewer opens. So what is short is put together where there is
 * much (chrome_share.h): a first walk counts durations; long intervals keep a slice each, neighbours that are shorter
 * share one, "switching", which says what they add up to. So sums stay exact, and a part of the recording, which
 * options choose, has its detail. What was put together is said behind the events (otherData).
 */
#include <errno.h>
#include <stdlib.h>

#include "export/chrome.h"
#include "export/chrome_share.h"
#include "session/intervals.h"
#include "session/wait_cover.h"
#include "util/error.h"

#define TRACK_LEAST (1u << 30) /* + thread id; pids are below 2^22 */

/* Neighbours that share a slice. */
struct shared {
	uint64_t from_ns, to_ns, count;
	uint64_t ns[SONDE_INTERVAL_STATES];
};

struct states {
	struct sonde_chrome *chrome;
	struct sonde_wait_cover cover;
	struct sonde_chrome_share share;
	struct shared *shared; /* by thread id */
	uint8_t *named;
	size_t threads;
	/* Of the interval that is being written */
	uint64_t waits_ns[SONDE_WAIT_KINDS];
	uint32_t object;
	uint64_t object_ns;
};

/* Cuts an interval to what is wanted; 0: nothing of it, or nobody saw what it was. */
static int cut(const struct states *states, struct sonde_interval *interval)
{
	const struct sonde_format_options *options = states->chrome->options;
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
	uint64_t ns = part.to_ns - part.from_ns;
	sonde_chrome_share_count(&states->share, ns);
	states->share.lives_ns += ns;
	return 0;
}

static void begin_slice(struct states *states, const char *name, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct sonde_chrome *chrome = states->chrome;
	struct sonde_chrome_event event = {.phase = "X",
					   .name = name,
					   .category = "state",
					   .thread = thread,
					   .track = TRACK_LEAST + thread,
					   .time_ns = from_ns};
	const struct sonde_thread *row = sonde_session_thread(chrome->session, thread);
	if (!states->named[thread]) {
		char title[300];
		struct sonde_chrome_event names = event;
		states->named[thread] = 1;
		snprintf(title, sizeof title, "%.255s (%u): states", row->name, row->tid);
		names.phase = "M";
		names.name = "thread_name";
		names.category = "__metadata";
		names.time_ns = chrome->base_ns;
		sonde_chrome_begin(chrome, &names);
		sonde_chrome_args(chrome);
		sonde_json_put_text(&chrome->json, "name", title);
		sonde_chrome_end(chrome);
	}
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", to_ns - from_ns);
	sonde_chrome_args(chrome);
	chrome->state_slices++;
}

static void end_shared(struct states *states, uint32_t thread)
{
	static const char *const keys[] = {[SONDE_INTERVAL_ON_CPU] = "running_ns",
					   [SONDE_INTERVAL_RUNNABLE] = "runnable_ns",
					   [SONDE_INTERVAL_BLOCKED] = "blocked_ns"};
	struct shared *shared = &states->shared[thread];
	if (!shared->count)
		return;
	begin_slice(states, "switching", thread, shared->from_ns, shared->to_ns);
	for (size_t i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES; i++)
		sonde_json_put_uint(&states->chrome->json, keys[i], shared->ns[i]);
	sonde_json_put_uint(&states->chrome->json, "states", shared->count);
	sonde_chrome_end(states->chrome);
	states->chrome->states_shared += shared->count;
	*shared = (struct shared){0};
}

static void add_wait(void *context, const struct sonde_wait_piece *piece)
{
	struct states *states = context;
	states->waits_ns[piece->kind] += piece->ns;
	if (piece->object && piece->ns > states->object_ns) {
		states->object_ns = piece->ns;
		states->object = piece->object;
	}
}

/* The kind of call that covers the most of it. */
static void put_wait(struct states *states, const struct sonde_interval *interval)
{
	struct sonde_json *json = &states->chrome->json;
	uint32_t most = 0;
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		states->waits_ns[kind] = 0;
	states->object = 0;
	states->object_ns = 0;
	sonde_wait_cover_look(&states->cover, interval->thread, interval->from_ns, interval->to_ns, add_wait, states);
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		if (states->waits_ns[kind] > states->waits_ns[most])
			most = kind;
	if (!states->waits_ns[most])
		return;
	sonde_json_put_text(json, "waits_for", sonde_wait_row(most)->name);
	sonde_json_put_uint(json, "waits_for_ns", states->waits_ns[most]);
	if (states->object_ns == states->waits_ns[most])
		sonde_chrome_object(states->chrome, states->object);
}

static void put_interval(struct states *states, const struct sonde_interval *interval)
{
	struct sonde_json *json = &states->chrome->json;
	begin_slice(states, sonde_interval_name(interval->state), interval->thread, interval->from_ns, interval->to_ns);
	if (interval->cpu)
		sonde_json_put_uint(json, "cpu", interval->cpu - 1);
	if (interval->state == SONDE_INTERVAL_BLOCKED)
		put_wait(states, interval);
	if (interval->unsure)
		sonde_json_put_text(json, "woken", "not known: its end may be runnable");
	sonde_chrome_end(states->chrome);
}

/* From who woke it; `part` is what is wanted of the interval. */
static void put_arrow(struct states *states, const struct sonde_interval *interval, const struct sonde_interval *part)
{
	struct sonde_chrome *chrome = states->chrome;
	if (interval->state != SONDE_INTERVAL_ON_CPU || !interval->by || interval->by >= states->threads ||
	    part->from_ns != interval->from_ns ||
	    !sonde_format_takes(chrome->options, interval->woken_ns, interval->by))
		return;
	struct sonde_chrome_moment from = {interval->by, TRACK_LEAST + interval->by, interval->woken_ns};
	struct sonde_chrome_moment to = {interval->thread, TRACK_LEAST + interval->thread, interval->from_ns};
	sonde_chrome_arrow(chrome, "wake-up", ++chrome->wake_arrows, &from, &to);
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
	if (is_wanted && !is_short) {
		put_interval(states, &part);
		put_arrow(states, interval, &part);
	}
	if (!is_short)
		return 0;
	if (!shared->count)
		shared->from_ns = part.from_ns;
	shared->to_ns = part.to_ns;
	shared->ns[part.state] += part.to_ns - part.from_ns;
	shared->count++;
	return 0;
}

int sonde_chrome_states(struct sonde_chrome *chrome)
{
	struct states states = {.chrome = chrome, .threads = sonde_session_thread_count(chrome->session) + 1};
	struct sonde_intervals seen;
	int rc = sonde_intervals_walk(&seen, chrome->session, count, &states);
	if (rc < 0 || !states.share.lives_ns)
		return rc;
	sonde_chrome_share_choose(&states.share);
	states.shared = calloc(states.threads, sizeof *states.shared);
	states.named = calloc(states.threads, 1);
	rc = states.shared && states.named
		 ? sonde_wait_cover_read(&states.cover, chrome->session, chrome->options->thread)
		 : sonde_error(ENOMEM, "out of memory for %zu threads", states.threads);
	rc = rc ? rc : sonde_intervals_walk(&seen, chrome->session, put, &states);
	for (uint32_t id = 1; rc == 0 && id < states.threads; id++)
		end_shared(&states, id);
	chrome->states_least_ns = chrome->states_shared ? states.share.least_ns : 0;
	sonde_wait_cover_fini(&states.cover);
	free(states.shared);
	free(states.named);
	return rc;
}
