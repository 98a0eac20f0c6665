/* intervals.c: each thread is a state machine driven by its context switches.
 *
 * The state before the first switch follows from that switch and from whether the thread is older than the recording. A
 * thread first switched out was on a CPU. A thread first switched in was waiting for a CPU since its creation or, if it
 * is older than the recording, was off the CPU for an unknown reason. Two switches of the same kind in a row mean that
 * the one between them was lost: the time between them is unseen. A thread ends in its last state.
 *
 * A blocked thread is off the CPU until it is switched in. If the recording has its wakeup, it is runnable from then
 * on. A wakeup of a thread that is not blocked (it was about to block) or is just being created changes nothing.
 */
#include "session/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

#define WOKEN 3                  /* SWITCHES: the thread became runnable */
#define BORN_WITHIN_NS 10000000u /* started this soon after the recording's start: existed before it */

struct walk {
	uint64_t at_ns; /* start of the current state */
	uint64_t end_ns;
	uint32_t cpu;
	uint32_t gaps; /* value of walking.gaps when the state began */
	uint32_t by;
	uint64_t woken_ns;
	uint8_t state, begun, unsure, is_met;
};

struct walking {
	struct sonde_intervals *out;
	struct sonde_session *session;
	int (*take)(void *context, const struct sonde_interval *interval);
	void *context;
	struct walk *walks; /* by thread id */
	uint32_t count;
	uint32_t gaps; /* unreadable chunks so far */
	int is_kept;
	struct sonde_cursor *cursor;
};

const char *sonde_interval_name(enum sonde_interval_state state)
{
	static const char *const names[] = {[SONDE_INTERVAL_UNSEEN] = "unseen",
					    [SONDE_INTERVAL_ON_CPU] = "running",
					    [SONDE_INTERVAL_RUNNABLE] = "runnable",
					    [SONDE_INTERVAL_BLOCKED] = "blocked"};
	return names[state < SONDE_INTERVAL_STATES ? state : SONDE_INTERVAL_UNSEEN];
}

void sonde_interval_life(const struct sonde_session *session, const struct sonde_thread *thread, uint64_t *out_from_ns,
			 uint64_t *out_to_ns)
{
	const struct sonde_part *part = sonde_session_part_of(session, thread->process);
	*out_from_ns = thread->start_ns > part->start_ns ? thread->start_ns : part->start_ns;
	*out_to_ns = thread->end_ns && thread->end_ns < part->end_ns ? thread->end_ns : part->end_ns;
}

/* Ends the current state of a thread at `time_ns`. */
static int end_state(struct walking *walking, uint32_t id, uint64_t time_ns)
{
	struct walk *walk = &walking->walks[id];
	time_ns = time_ns < walk->end_ns ? time_ns : walk->end_ns;
	time_ns = time_ns > walk->at_ns ? time_ns : walk->at_ns;
	if (walk->gaps != walking->gaps) /* an unreadable chunk may contain switches in between */
		walk->state = SONDE_INTERVAL_UNSEEN;
	walk->gaps = walking->gaps;
	const struct sonde_interval interval = {.from_ns = walk->at_ns,
						.to_ns = time_ns,
						.thread = id,
						.cpu = walk->cpu,
						.state = walk->state,
						.begun = walk->begun,
						.by = walk->by,
						.woken_ns = walk->woken_ns,
						.unsure = walk->state == SONDE_INTERVAL_BLOCKED && walk->unsure};
	walk->at_ns = time_ns;
	return interval.begun || interval.to_ns > interval.from_ns ? walking->take(walking->context, &interval) : 0;
}

/* Sets the state of a thread before its first row. */
static void meet(const struct walking *walking, uint32_t id, uint8_t kind, uint32_t cpu)
{
	const struct sonde_thread *thread = sonde_session_thread(walking->session, id);
	const struct sonde_part *part = sonde_session_part_of(walking->session, thread->process);
	struct walk *walk = &walking->walks[id];
	int was_there = part->attached && thread->start_ns <= part->start_ns + BORN_WITHIN_NS;
	walk->is_met = 1;
	if (walking->is_kept) /* a flight recorder dropped what was before */
		walk->state = SONDE_INTERVAL_UNSEEN;
	else if (kind == SONDE_SWITCH_OUT_BLOCKED || kind == SONDE_SWITCH_OUT_PREEMPTED)
		walk->state = SONDE_INTERVAL_ON_CPU;
	else
		walk->state = was_there ? SONDE_INTERVAL_BLOCKED : SONDE_INTERVAL_RUNNABLE;
	walk->cpu = walk->state == SONDE_INTERVAL_ON_CPU ? cpu : 0;
}

static int take_switch(struct walking *walking, uint64_t time_ns, uint32_t id, uint8_t kind, uint32_t cpu)
{
	static const uint8_t next[] = {[SONDE_SWITCH_IN] = SONDE_INTERVAL_ON_CPU,
				       [SONDE_SWITCH_OUT_BLOCKED] = SONDE_INTERVAL_BLOCKED,
				       [SONDE_SWITCH_OUT_PREEMPTED] = SONDE_INTERVAL_RUNNABLE,
				       [WOKEN] = SONDE_INTERVAL_RUNNABLE};
	struct walk *walk = &walking->walks[id];
	if (!id || id >= walking->count || kind >= sizeof next)
		return 0;
	int is_woken = kind == WOKEN;
	int is_first = !walk->is_met;
	if (is_first)
		meet(walking, id, kind, cpu);
	/* Kernel records report who created a thread even if wakeups are not recorded. */
	walking->out->has_wakeups |= is_woken && !(is_first && walk->state == SONDE_INTERVAL_RUNNABLE);
	if (is_woken && (walk->state == SONDE_INTERVAL_ON_CPU || walk->state == SONDE_INTERVAL_RUNNABLE))
		return 0;
	if (!is_first && !is_woken && (walk->state == SONDE_INTERVAL_ON_CPU) == (kind == SONDE_SWITCH_IN))
		walk->state = SONDE_INTERVAL_UNSEEN; /* a switch between them was lost */
	walk->unsure = !is_woken;
	int rc = end_state(walking, id, time_ns);
	walk->cpu = is_woken ? walk->cpu : cpu;
	walk->state = next[kind];
	walk->begun = (uint8_t)(kind + 1);
	walk->by = 0;
	walk->woken_ns = 0;
	return rc;
}

/* A row with a wakeup time stands for two transitions. */
static int take_row(struct walking *walking, const struct sonde_batch *batch, size_t i)
{
	uint64_t time_ns = batch->switches.time_ns[i], waited_ns = batch->switches.waited_ns[i];
	uint32_t id = batch->switches.thread[i];
	int rc = 0, is_woken = batch->switches.kind[i] == SONDE_SWITCH_IN && waited_ns && waited_ns <= time_ns;
	if (is_woken)
		rc = take_switch(walking, time_ns - (waited_ns - 1), id, WOKEN, 0);
	if (!rc)
		rc = take_switch(walking, time_ns, id, batch->switches.kind[i], batch->switches.cpu[i]);
	if (is_woken && id && id < walking->count && batch->switches.by[i]) {
		walking->walks[id].by = batch->switches.by[i];
		walking->walks[id].woken_ns = time_ns - (waited_ns - 1);
	}
	return rc;
}

/* Reads the next chunk of switches, NULL for an unreadable one: 1, 0 at the end, or -ENOMEM. */
static int next_batch(struct walking *walking, const struct sonde_batch **out)
{
	int rc = sonde_cursor_next(walking->cursor, out);
	if (!rc || rc == -ENOMEM)
		return rc;
	walking->gaps += rc < 0;
	*out = rc > 0 ? *out : NULL;
	walking->out->has_switches |= *out && (*out)->count > 0;
	return 1;
}

/* A thread ends in its current state. */
static int take_end(struct walking *walking, uint32_t id)
{
	walking->walks[id].unsure = !walking->out->has_wakeups;
	return end_state(walking, id, walking->walks[id].end_ns);
}

static int begin(struct walking *walking)
{
	struct sonde_session *session = walking->session;
	walking->count = (uint32_t)sonde_session_thread_count(session) + 1;
	walking->is_kept = sonde_session_info(session, "option.keep_ns") != NULL;
	walking->walks = calloc(walking->count, sizeof *walking->walks);
	*walking->out = (struct sonde_intervals){0};
	if (!walking->walks)
		return sonde_error(ENOMEM, "out of memory for %u threads", walking->count);
	for (uint32_t id = 1; id < walking->count; id++)
		sonde_interval_life(session, sonde_session_thread(session, id), &walking->walks[id].at_ns,
				    &walking->walks[id].end_ns);
	return sonde_cursor_open(&walking->cursor, session, 1u << SONDE_CHUNK_SWITCHES);
}

static void end(struct walking *walking)
{
	sonde_cursor_close(walking->cursor);
	free(walking->walks);
}

int sonde_intervals_walk(struct sonde_intervals *out, struct sonde_session *session,
			 int (*take)(void *context, const struct sonde_interval *interval), void *context)
{
	struct walking walking = {.out = out, .session = session, .take = take, .context = context};
	const struct sonde_batch *batch;
	int error = begin(&walking), rc = 0;
	while (!error && (rc = next_batch(&walking, &batch)) > 0)
		for (size_t i = 0; batch && i < batch->count && !error; i++)
			error = take_row(&walking, batch, i);
	error = error ? error : rc;
	for (uint32_t id = 1; !error && id < walking.count; id++)
		error = take_end(&walking, id);
	end(&walking);
	return error;
}

/* --- iteration ---------------------------------------------------------------------------------------------------- */

struct sonde_intervals_cursor {
	struct walking walking;
	struct sonde_intervals seen;
	const struct sonde_batch *batch; /* NULL = no current batch */
	size_t at;                       /* next row of the batch */
	uint32_t ended;                  /* at the end: threads up to this one have been ended */
	int is_at_end;
	struct sonde_interval rows[2]; /* intervals produced by one row or by the end of a thread */
	size_t next, row_count;
};

static int keep(void *context, const struct sonde_interval *interval)
{
	struct sonde_intervals_cursor *cursor = context;
	cursor->rows[cursor->row_count++] = *interval;
	return 0;
}

int sonde_intervals_open(struct sonde_intervals_cursor **out, struct sonde_session *session)
{
	struct sonde_intervals_cursor *cursor = calloc(1, sizeof *cursor);
	if (!cursor)
		return sonde_error(ENOMEM, "out of memory for the states of threads");
	cursor->walking = (struct walking){.out = &cursor->seen, .session = session, .take = keep, .context = cursor};
	int rc = begin(&cursor->walking);
	if (rc)
		sonde_intervals_close(cursor);
	else
		*out = cursor;
	return rc;
}

int sonde_intervals_next(struct sonde_intervals_cursor *cursor, const struct sonde_interval **out)
{
	while (cursor->next == cursor->row_count) {
		int rc = 1;
		cursor->next = cursor->row_count = 0;
		if (cursor->batch && cursor->at < cursor->batch->count) {
			take_row(&cursor->walking, cursor->batch, cursor->at++);
		} else if (!cursor->is_at_end) {
			rc = next_batch(&cursor->walking, &cursor->batch);
			cursor->at = 0;
			cursor->is_at_end = !rc;
			cursor->batch = rc > 0 ? cursor->batch : NULL;
		} else if (++cursor->ended < cursor->walking.count) {
			take_end(&cursor->walking, cursor->ended);
		} else {
			cursor->ended--;
			return 0;
		}
		if (rc < 0)
			return rc;
	}
	*out = &cursor->rows[cursor->next++];
	return 1;
}

void sonde_intervals_close(struct sonde_intervals_cursor *cursor)
{
	if (!cursor)
		return;
	end(&cursor->walking);
	free(cursor);
}
