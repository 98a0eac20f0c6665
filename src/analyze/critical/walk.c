/* walk.c: finds the critical path: from the end of the span back to its start, always in the thread that had to be
 * waited for.
 *
 * Active time of a thread belongs to that thread. Where a thread was blocked, the path continues in the thread that
 * unblocked it, at the time of the unblocking; from then until it was on a CPU, the blocked thread was waking. If the
 * unblocking thread is unknown or not recorded, the blocked time is a step of its own. The steps therefore cover the
 * span without gaps or overlaps. Each thread is traversed backward only once, so the time is proportional to the number
 * of segments.
 *
 * Where a thread waited for a device, the path goes through the activity it waited for, back through the queue as long
 * as each activity waited for its predecessor, and from there to the thread that submitted the first of these
 * activities, at the time of that submission.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/critical/critical.h"
#include "util/array.h"
#include "util/error.h"

struct walk {
	const struct sonde_critical *critical;
	struct sonde_critical_path *path; /* last step first */
	uint32_t *at;                     /* by thread: its last segment that begins before `now_ns`, or a later one */
	uint64_t now_ns;
	uint32_t thread;
};

static const struct sonde_critical_segment *segment_of(const struct walk *walk, uint32_t id)
{
	return &walk->critical->segments[id];
}

static uint64_t from_of(const struct walk *walk, uint32_t thread, uint32_t id)
{
	return sonde_critical_from(walk->critical, thread, id);
}

/* The segment of a thread just before a time; 0 = the thread had not started yet. */
static uint32_t segment_before(struct walk *walk, uint32_t thread, uint64_t time_ns)
{
	uint32_t *at = &walk->at[thread];
	while (*at && from_of(walk, thread, *at) >= time_ns)
		*at = segment_of(walk, *at)->previous;
	return *at;
}

/* Moves back to `from_ns` and adds the time in between as a step. */
static int step(struct walk *walk, uint64_t from_ns, struct sonde_critical_step step)
{
	struct sonde_critical_path *path = walk->path;
	from_ns = from_ns > path->from_ns ? from_ns : path->from_ns;
	if (from_ns >= walk->now_ns)
		return 0;
	step.from_ns = walk->now_ns = from_ns;
	step.thread = walk->thread;
	struct sonde_critical_step *last = path->count ? &path->steps[path->count - 1] : NULL;
	if (last && last->thread == step.thread && last->kind == step.kind && last->call == step.call &&
	    last->object == step.object && step.kind != SONDE_CRITICAL_BLOCKED && !step.queue) {
		last->from_ns = from_ns;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(path->steps, path->cap, path->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu steps of the critical path", path->count + 1);
	path->steps[path->count++] = step;
	return 0;
}

/* The last time in (least_ns, at_ns] at which a thread was active; 0 = none. */
static uint64_t last_active(struct walk *walk, uint32_t thread, uint64_t at_ns, uint64_t least_ns)
{
	uint32_t id = segment_before(walk, thread, at_ns);
	while (id && !sonde_critical_is_active(segment_of(walk, id)->state) && from_of(walk, thread, id) > least_ns)
		id = segment_of(walk, id)->previous;
	if (!id || !sonde_critical_is_active(segment_of(walk, id)->state))
		return 0;
	uint64_t to_ns = segment_of(walk, id)->to_ns < at_ns ? (uint64_t)segment_of(walk, id)->to_ns : at_ns;
	return to_ns > least_ns ? to_ns : 0;
}

/* Continues in the thread that unblocked this one. 1, or 0 if unknown. */
static int go_over(struct walk *walk, const struct sonde_critical_cause *cause, uint64_t from_ns, int *error)
{
	if (!cause->thread || cause->thread > walk->critical->threads)
		return 0;
	uint64_t at_ns = cause->at_ns < walk->now_ns ? cause->at_ns : walk->now_ns;
	uint64_t moment_ns = at_ns > from_ns ? last_active(walk, cause->thread, at_ns, from_ns) : 0;
	if (!moment_ns)
		return 0;
	*error = step(walk, moment_ns, (struct sonde_critical_step){.kind = SONDE_CRITICAL_WAKING});
	walk->thread = cause->thread;
	walk->path->handed_over++;
	return 1;
}

/* Moves back through device activities, from the one that ended last to the submitter of the first. */
static int leave_device(struct walk *walk, uint32_t id)
{
	const struct sonde_critical_work *works = walk->critical->works, *work = &works[id];
	int rc = step(walk, work->end_ns, (struct sonde_critical_step){.kind = SONDE_CRITICAL_NOTICING});
	for (; !rc; work = &works[work->before]) {
		const struct sonde_operation *operation =
		    sonde_session_operation(walk->critical->session, work->operation);
		struct sonde_critical_step what = {.kind = SONDE_CRITICAL_DEVICE,
						   .object = work->operation,
						   .queue = work->queue,
						   .call = operation ? (uint8_t)operation->kind : 0};
		rc = step(walk, work->start_ns, what);
		what.kind = SONDE_CRITICAL_QUEUED;
		what.call = 0;
		if (!rc)
			rc = step(walk, work->is_after ? works[work->before].end_ns : work->requested_ns, what);
		if (!work->is_after)
			break;
	}
	walk->path->unasked += work->is_unasked;
	walk->path->handed_over += work->thread != walk->thread;
	walk->thread = work->thread;
	return rc;
}

static int leave_blocked(struct walk *walk, uint32_t id)
{
	const struct sonde_critical *critical = walk->critical;
	const struct sonde_critical_segment *segment = segment_of(walk, id);
	const struct sonde_critical_cause *cause = &critical->causes[segment->cause];
	uint64_t from_ns = from_of(walk, walk->thread, id);
	int rc = 0;
	if (cause->work && cause->at_ns <= walk->now_ns) {
		uint64_t now_ns = walk->now_ns;
		uint32_t thread = walk->thread;
		rc = leave_device(walk, cause->work);
		if (rc || walk->now_ns < now_ns)
			return rc;
		walk->thread = thread; /* no time passed in the device: continue in the waiting thread */
	}
	/* If the selected time ends while the thread is blocked, the cause came later and does not count. */
	if (segment->to_ns <= walk->now_ns && go_over(walk, cause, from_ns, &rc))
		return rc;
	return step(
	    walk, from_ns,
	    (struct sonde_critical_step){.kind = SONDE_CRITICAL_BLOCKED, .call = cause->kind, .object = cause->object});
}

/* Moves back beyond the start of a thread. */
static int leave_life(struct walk *walk)
{
	const struct sonde_critical_life *life = &walk->critical->lives[walk->thread];
	uint64_t created_ns = life->created_ns < walk->now_ns ? life->created_ns : walk->now_ns;
	uint64_t moment_ns = life->creator ? last_active(walk, life->creator, created_ns, walk->path->from_ns) : 0;
	if (!moment_ns)
		return step(walk, 0, (struct sonde_critical_step){.kind = SONDE_CRITICAL_UNBORN});
	int rc = step(walk, moment_ns, (struct sonde_critical_step){.kind = SONDE_CRITICAL_WAKING});
	walk->thread = life->creator;
	walk->path->handed_over++;
	return rc;
}

static int walk_back(struct walk *walk)
{
	static const uint8_t kinds[] = {[SONDE_INTERVAL_ON_CPU] = SONDE_CRITICAL_RUNNING,
					[SONDE_INTERVAL_UNSEEN] = SONDE_CRITICAL_UNSEEN,
					[SONDE_INTERVAL_RUNNABLE] = SONDE_CRITICAL_RUNNABLE};
	int rc = 0;
	while (!rc && walk->now_ns > walk->path->from_ns) {
		uint32_t id = segment_before(walk, walk->thread, walk->now_ns);
		const struct sonde_critical_segment *segment = segment_of(walk, id);
		if (!id)
			rc = leave_life(walk);
		else if (segment->to_ns < walk->now_ns) /* the thread had already ended */
			rc = step(walk, segment->to_ns, (struct sonde_critical_step){.kind = SONDE_CRITICAL_UNSEEN});
		else if (segment->state == SONDE_INTERVAL_BLOCKED)
			rc = leave_blocked(walk, id);
		else
			rc = step(walk, from_of(walk, walk->thread, id),
				  (struct sonde_critical_step){.kind = kinds[segment->state]});
	}
	return rc;
}

int sonde_critical_walk(struct sonde_critical_path *out, const struct sonde_critical *critical)
{
	struct walk walk = {.critical = critical, .path = out, .now_ns = critical->to_ns, .thread = critical->final};
	*out = (struct sonde_critical_path){.from_ns = critical->from_ns, .to_ns = critical->to_ns};
	if (!critical->final)
		return 0;
	walk.at = malloc(((size_t)critical->threads + 1) * sizeof *walk.at);
	if (!walk.at)
		return sonde_error(ENOMEM, "out of memory for %u threads", critical->threads);
	for (uint32_t id = 0; id <= critical->threads; id++)
		walk.at[id] = critical->lives[id].last;
	int rc = walk_back(&walk);
	free(walk.at);
	if (rc) {
		sonde_critical_path_fini(out);
		return rc;
	}
	for (size_t i = 0; i < out->count / 2; i++) {
		struct sonde_critical_step other = out->steps[i];
		out->steps[i] = out->steps[out->count - 1 - i];
		out->steps[out->count - 1 - i] = other;
	}
	return 0;
}

void sonde_critical_path_fini(struct sonde_critical_path *path)
{
	free(path->steps);
	*path = (struct sonde_critical_path){0};
}
