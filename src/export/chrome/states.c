/* states.c: what each thread did as a track of its own: "running", "runnable", "blocked", with the CPU, and with
 * what a blocked one waited for.
 *
 * A track is a thread of the viewer with a number above those that kernels give, since slices of states would not nest
 * with zones and calls. Time that was not seen has no slice.
 *
 * Where it is known who woke a thread, an arrow leads from there to where it runs; none where that shares a slice.
 *
 * A million switches would be a file of 300 MB, which no viewer opens. So what is short is put together where there is
 * much (chrome/share.h): a first walk counts durations; long intervals keep a slice each, neighbours that are shorter
 * share one, "switching", which says what they add up to. So sums stay exact, and a part of the recording, which
 * options choose, has its detail. What was put together is said behind the events (otherData).
 */
#include <errno.h>
#include <stdlib.h>

#include "export/chrome/event.h"
#include "export/states.h"
#include "session/wait/cover.h"
#include "util/error.h"

#define TRACK_LEAST (1u << 30) /* + thread id; pids are below 2^22 */

struct states {
	struct sonde_chrome *chrome;
	struct sonde_wait_cover cover;
	uint8_t *named; /* by thread id */
	/* Of the interval that is being written */
	uint64_t waits_ns[SONDE_WAIT_KINDS];
	uint32_t object;
	uint64_t object_ns;
};

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
		states->named[thread] = 1;
		snprintf(title, sizeof title, "%.255s (%u): states", row->name, row->tid);
		sonde_chrome_metadata(chrome, "thread_name", event, title);
	}
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", to_ns - from_ns);
	sonde_chrome_args(chrome);
	chrome->state_slices++;
}

static void put_shared(void *context, uint32_t thread, const struct sonde_export_states_shared *shared)
{
	struct states *states = context;
	begin_slice(states, "switching", thread, shared->from_ns, shared->to_ns);
	for (size_t i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES; i++)
		sonde_json_put_uint(&states->chrome->json, sonde_export_states_keys[i], shared->ns[i]);
	sonde_json_put_uint(&states->chrome->json, "states", shared->count);
	sonde_chrome_end(states->chrome);
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
static void put_arrow(struct sonde_chrome *chrome, const struct sonde_interval *interval,
		      const struct sonde_interval *part)
{
	if (interval->state != SONDE_INTERVAL_ON_CPU || !interval->by ||
	    interval->by > sonde_session_thread_count(chrome->session) || part->from_ns != interval->from_ns ||
	    !sonde_format_takes(chrome->options, interval->woken_ns, interval->by))
		return;
	struct sonde_chrome_moment from = {interval->by, TRACK_LEAST + interval->by, interval->woken_ns, 0};
	struct sonde_chrome_moment to = {interval->thread, TRACK_LEAST + interval->thread, interval->from_ns, 0};
	sonde_chrome_arrow(chrome, "wake-up", ++chrome->wake_arrows, &from, &to);
}

static int put(void *context, const struct sonde_interval *whole, const struct sonde_interval *part)
{
	struct states *states = context;
	put_interval(states, part);
	put_arrow(states->chrome, whole, part);
	return 0;
}

int sonde_chrome_states(struct sonde_chrome *chrome)
{
	struct states states = {.chrome = chrome};
	struct sonde_export_states shared = {.session = chrome->session,
					     .options = chrome->options,
					     .put = put,
					     .put_shared = put_shared,
					     .context = &states};
	int rc = sonde_export_states_count(&shared);
	if (rc <= 0)
		return rc;
	states.named = calloc(shared.threads, 1);
	rc = states.named ? sonde_wait_cover_read(&states.cover, chrome->session, chrome->options->thread)
			  : sonde_error(ENOMEM, "out of memory for %zu threads", shared.threads);
	rc = rc ? rc : sonde_export_states_put(&shared);
	chrome->states_shared = shared.shared_count;
	chrome->states_least_ns = shared.shared_count ? shared.share.least_ns : 0;
	sonde_wait_cover_fini(&states.cover);
	free(states.named);
	return rc;
}
