/* read.c: converts intervals of threads, and the calls in which they were blocked, into the segments of a graph.
 *
 * A blocked interval belongs to the call in progress at its end. If a thread was never switched, or switches were lost,
 * its time without known states is divided by its calls: during a call, it is assumed to be blocked, because the part
 * of the call in which it ran is unknown. If the recording has wakeups, the waker is known from the kernel, which takes
 * precedence over the calls.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/critical/devices.h"
#include "analyze/critical/segments.h"
#include "analyze/window.h"
#include "session/wait/cover.h"
#include "session/weigh.h"
#include "util/error.h"

#define WORKS_ON_NS 10000000u /* a thread active for longer works on: being killed takes less */

enum { AGO_MAX = 2 }; /* segments between wakeup and running: runnable, blocked */

struct reading {
	struct sonde_critical *critical;
	const struct sonde_pass_options *options;
	struct sonde_critical_causes *causes;
	struct sonde_wait_cover cover;
	struct sonde_wait_piece last; /* result of a query */
	const struct sonde_interval *interval;
	int error;
};

static int add_segment(struct sonde_critical *critical, uint32_t thread, enum sonde_interval_state state,
		       uint64_t to_ns)
{
	static const struct sonde_critical_cause none;
	struct sonde_critical_life *life = &critical->lives[thread];
	if (to_ns <= (life->last ? (uint64_t)critical->segments[life->last].to_ns : life->start_ns))
		return 0;
	const struct sonde_critical_segment segment = {
	    .to_ns = to_ns & ((UINT64_C(1) << 61) - 1), .state = state & 7u, .previous = life->last};
	return sonde_critical_segment_new(critical, &life->last, segment, &none);
}

static int add_blocked(struct reading *reading, const struct sonde_critical_call *call)
{
	struct sonde_critical *critical = reading->critical;
	size_t before = critical->count;
	int rc = add_segment(critical, call->thread, SONDE_INTERVAL_BLOCKED, call->to_ns);
	if (rc || critical->count == before)
		return rc;
	const struct sonde_critical_cause cause = sonde_critical_causes_find(reading->causes, call);
	return sonde_critical_cause_add(critical, critical->lives[call->thread].last, &cause);
}

/* A sampled wait represents the time around its sample, which may extend into the previous or next wait: the longest
 * overlapping wait is assumed to have blocked the thread. */
static void keep_piece(void *context, const struct sonde_wait_piece *piece)
{
	struct sonde_wait_piece *last = &((struct reading *)context)->last;
	if (!piece->is_sampled || !last->is_sampled || piece->ns > last->ns)
		*last = *piece;
}

static int take_blocked(struct reading *reading, const struct sonde_interval *interval)
{
	struct sonde_critical_call call = {
	    .from_ns = interval->from_ns, .to_ns = interval->to_ns, .thread = interval->thread};
	reading->last = (struct sonde_wait_piece){0};
	sonde_wait_cover_look(&reading->cover, interval->thread, interval->from_ns, interval->to_ns, keep_piece,
			      reading);
	int is_its_end = reading->last.from_ns + reading->last.ns == interval->to_ns;
	if (reading->last.ns && (is_its_end || reading->last.is_sampled)) {
		call.kind = reading->last.kind;
		call.object = reading->last.object;
		call.other = reading->last.other;
	}
	return add_blocked(reading, &call);
}

static void divide(void *context, const struct sonde_wait_piece *piece)
{
	struct reading *reading = context;
	uint32_t thread = reading->interval->thread;
	const struct sonde_critical_call call = {.from_ns = piece->from_ns,
						 .to_ns = piece->from_ns + piece->ns,
						 .thread = thread,
						 .object = piece->object,
						 .other = piece->other,
						 .kind = piece->kind};
	if (!reading->error)
		reading->error = add_segment(reading->critical, thread, SONDE_INTERVAL_UNSEEN, call.from_ns);
	if (!reading->error)
		reading->error = add_blocked(reading, &call);
}

static int take_unseen(struct reading *reading, const struct sonde_interval *interval)
{
	reading->interval = interval;
	if (!reading->cover.sampled)
		sonde_wait_cover_look(&reading->cover, interval->thread, interval->from_ns, interval->to_ns, divide,
				      reading);
	return reading->error
		   ? reading->error
		   : add_segment(reading->critical, interval->thread, SONDE_INTERVAL_UNSEEN, interval->to_ns);
}

/* Handles a thread that is on a CPU and was woken or created by another thread. */
static int take_waker(struct sonde_critical *critical, const struct sonde_interval *interval)
{
	struct sonde_critical_life *life = &critical->lives[interval->thread];
	uint32_t at = life->last;
	if (interval->by > critical->threads || interval->by == interval->thread)
		return 0;
	for (int i = 0; at && i < AGO_MAX; i++, at = critical->segments[at].previous) {
		struct sonde_critical_segment *segment = &critical->segments[at];
		if (segment->state != SONDE_INTERVAL_BLOCKED || segment->to_ns > interval->woken_ns)
			continue;
		struct sonde_critical_cause cause = critical->causes[segment->cause];
		cause.thread = interval->by;
		cause.at_ns = interval->woken_ns;
		cause.is_held = 0;
		if (segment->cause) {
			critical->causes[segment->cause] = cause;
			return 0;
		}
		return sonde_critical_cause_add(critical, at, &cause);
	}
	if (!at && interval->woken_ns <= interval->from_ns) {
		life->creator = interval->by;
		life->created_ns = interval->woken_ns;
	}
	return 0;
}

static int take_interval(void *context, const struct sonde_interval *interval)
{
	struct reading *reading = context;
	int rc = interval->state == SONDE_INTERVAL_ON_CPU && interval->by ? take_waker(reading->critical, interval) : 0;
	if (rc)
		return rc;
	if (interval->state == SONDE_INTERVAL_BLOCKED)
		return take_blocked(reading, interval);
	if (interval->state == SONDE_INTERVAL_UNSEEN)
		return take_unseen(reading, interval);
	return add_segment(reading->critical, interval->thread, (enum sonde_interval_state)interval->state,
			   interval->to_ns);
}

/* --- the span ----------------------------------------------------------------------------------------------------- */

/* Active time of a thread after time_ns. */
static uint64_t active_after(const struct sonde_critical *critical, uint32_t thread, uint64_t time_ns)
{
	uint64_t ns = 0;
	for (uint32_t id = critical->lives[thread].last; id && critical->segments[id].to_ns > time_ns;
	     id = critical->segments[id].previous) {
		uint64_t from_ns = sonde_critical_from(critical, thread, id);
		if (sonde_critical_is_active(critical->segments[id].state))
			ns += critical->segments[id].to_ns - (from_ns > time_ns ? from_ns : time_ns);
	}
	return ns;
}

static int is_main(const struct sonde_critical *critical, uint32_t id)
{
	const struct sonde_run *run = sonde_session_run(critical->session);
	const struct sonde_thread *thread = sonde_session_thread(critical->session, id);
	const struct sonde_process *process = sonde_session_process(critical->session, thread->process);
	return run->root_process && thread->process == run->root_process && process && thread->tid == process->pid;
}

static int is_wanted(const struct reading *reading, uint32_t id)
{
	const struct sonde_run *run = sonde_session_run(reading->critical->session);
	const struct sonde_thread *thread = sonde_session_thread(reading->critical->session, id);
	if (reading->options->selection.thread)
		return reading->options->selection.thread[id];
	return !run->root_process || thread->process == run->root_process;
}

/* With selected threads: the last of them to exit. Otherwise the main thread of the command, unless other threads of
 * the command continue to work after its exit; if attached, the last of all threads. Threads killed at process exit end
 * last, but do no more work. */
static void find_final(const struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	for (uint32_t id = 1; id <= critical->threads && !reading->options->selection.thread; id++)
		if (is_main(critical, id))
			critical->final = id;
	uint64_t main_ns = critical->final ? critical->lives[critical->final].end_ns : 0;
	for (uint32_t id = 1; id <= critical->threads; id++) {
		if (!is_wanted(reading, id) || (main_ns && active_after(critical, id, main_ns) < WORKS_ON_NS))
			continue;
		if (!critical->final || critical->lives[id].end_ns > critical->lives[critical->final].end_ns)
			critical->final = id;
	}
}

/* From the start of the main thread, otherwise of the recording, to the end of the final thread. */
static void find_span(const struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	const struct sonde_window window = sonde_window_of(critical->session, reading->options);
	find_final(reading);
	critical->from_ns = window.from_ns;
	critical->to_ns = window.to_ns;
	for (uint32_t id = 1; id <= critical->threads; id++)
		if (is_main(critical, id) && critical->lives[id].start_ns > critical->from_ns)
			critical->from_ns = critical->lives[id].start_ns;
	if (critical->final && critical->lives[critical->final].end_ns < critical->to_ns)
		critical->to_ns = critical->lives[critical->final].end_ns;
	if (!critical->final || critical->to_ns < critical->from_ns)
		critical->to_ns = critical->from_ns;
}

static void find_creators(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	for (uint32_t id = 1; id <= critical->threads; id++) {
		struct sonde_critical_life *life = &critical->lives[id];
		if (life->creator)
			continue;
		life->creator = sonde_critical_causes_creator(reading->causes, id);
		life->created_ns = life->start_ns;
	}
}

static int read_all(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	struct sonde_intervals seen;
	for (uint32_t id = 1; id <= critical->threads; id++)
		sonde_interval_life(critical->session, sonde_session_thread(critical->session, id),
				    &critical->lives[id].start_ns, &critical->lives[id].end_ns);
	int rc = sonde_critical_causes_new(&reading->causes, critical->session);
	rc = rc ? rc : sonde_wait_cover_read(&reading->cover, critical->session, NULL);
	rc = rc ? rc : sonde_intervals_walk(&seen, critical->session, take_interval, reading);
	if (rc)
		return rc;
	critical->has_switches = seen.has_switches;
	critical->has_wakeups = seen.has_wakeups;
	critical->has_calls = sonde_weigh_has(critical->session, SONDE_CHUNK_WAITS);
	find_creators(reading);
	find_span(reading);
	return sonde_critical_devices_read(critical);
}

int sonde_critical_read(struct sonde_critical *out, struct sonde_session *session,
			const struct sonde_pass_options *options)
{
	static const struct sonde_pass_options none = {0};
	struct reading reading = {.critical = out, .options = options ? options : &none};
	*out = (struct sonde_critical){
	    .session = session, .threads = (uint32_t)sonde_session_thread_count(session), .count = 1, .cause_count = 1};
	out->lives = calloc((size_t)out->threads + 1, sizeof *out->lives);
	out->segments = calloc(out->cap = 1024, sizeof *out->segments);
	out->causes = calloc(out->cause_cap = 1024, sizeof *out->causes);
	int rc = out->lives && out->segments && out->causes
		     ? read_all(&reading)
		     : sonde_error(ENOMEM, "out of memory for %u threads", out->threads);
	sonde_critical_causes_free(reading.causes);
	out->has_looks = reading.cover.sampled != 0;
	sonde_wait_cover_fini(&reading.cover);
	if (rc)
		sonde_critical_fini(out);
	return rc;
}
