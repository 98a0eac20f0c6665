/* replay.c: replays the segments of all threads forward, with some segments shortened.
 *
 * Everything happens in the recorded order: ends of segments, unblocking, creation of threads. The state of a thread
 * has three parts: its position in the recording, its position in the hypothetical run, and the time when it was last
 * active. The last part determines when the threads that wait for it continue, as in the backward walk. Segments that
 * were added late (at the ends of threads) are sorted first. A thread that runs less also waits less for a CPU: CPUs
 * are time-shared, so for each ns of running, it waits as long as in the recording, no matter which thread had the CPU.
 * Its waits within scaled parts are therefore scaled as well.
 */
#include "analyze/critical/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

/* A point in time in both runs; recorded_ns 0 = none. */
struct moment {
	uint64_t recorded_ns, other_ns;
};

struct clock {
	struct moment now, active; /* active: when it was last active */
	uint32_t next;             /* next segment; 0 = exited */
};

/* Queries about the position of a thread at a time. Ends of device activities come last, because an activity may be
 * submitted at the same time. */
enum question { AT_CAUSE, AT_BIRTH, AT_LAUNCH, AT_WORK_END };

struct requested {
	uint64_t at_ns;
	uint32_t thread;
	uint32_t id; /* id of the cause, of the created thread, or of the device activity */
	enum question question;
};

struct replay {
	const struct sonde_critical *critical;
	struct sonde_critical_scaled scaled;
	struct clock *clocks;        /* by thread */
	uint32_t *following;         /* by segment: the following one of its thread */
	uint32_t *owner;             /* by segment: its thread */
	uint32_t *order;             /* segments sorted by end */
	struct moment *let_go;       /* by cause: when the other thread unblocked this one */
	struct moment *launched;     /* by device activity: position of the submitting thread */
	struct moment *done;         /* by device activity: its end */
	struct requested *questions; /* sorted by time */
	size_t question_count;
};

/* --- order -------------------------------------------------------------------------------------------------------- */

static int compare_ends(const void *left, const void *right, void *context)
{
	const struct sonde_critical_segment *segments = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (segments[a].to_ns != segments[b].to_ns)
		return segments[a].to_ns < segments[b].to_ns ? -1 : 1;
	return (a > b) - (a < b);
}

static int compare_questions(const void *left, const void *right)
{
	const struct requested *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	if (a->question != b->question)
		return a->question < b->question ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Most segments are in order: only late ones are sorted and merged in. */
static int put_in_order(struct replay *replay)
{
	const struct sonde_critical *critical = replay->critical;
	const struct sonde_critical_segment *segments = critical->segments;
	uint32_t *late = malloc(critical->count * sizeof *late), *timely = replay->order;
	size_t late_count = 0, count = 0;
	if (!late)
		return sonde_error(ENOMEM, "out of memory for %zu segments", critical->count);
	uint64_t last_ns = 0;
	for (uint32_t id = 1; id < critical->count; id++) {
		if (segments[id].to_ns < last_ns) {
			late[late_count++] = id;
			continue;
		}
		last_ns = segments[id].to_ns;
		timely[count++] = id;
	}
	qsort_r(late, late_count, sizeof *late, compare_ends, critical->segments);
	for (size_t at = count + late_count; late_count;) {
		int is_late = !count || compare_ends(&late[late_count - 1], &timely[count - 1], critical->segments) > 0;
		timely[--at] = is_late ? late[--late_count] : timely[--count];
	}
	free(late);
	return 0;
}

static void ask_one(struct replay *replay, enum question question, uint32_t id, uint32_t thread, uint64_t at_ns)
{
	if (thread && thread <= replay->critical->threads)
		replay->questions[replay->question_count++] =
		    (struct requested){.at_ns = at_ns, .thread = thread, .id = id, .question = question};
}

static int ask(struct replay *replay)
{
	const struct sonde_critical *critical = replay->critical;
	size_t count = critical->cause_count + critical->threads + 2 * critical->work_count;
	replay->questions = malloc((count + 1) * sizeof *replay->questions);
	if (!replay->questions)
		return sonde_error(ENOMEM, "out of memory for %zu causes", count);
	for (uint32_t id = 1; id < critical->cause_count; id++)
		ask_one(replay, AT_CAUSE, id, critical->causes[id].thread, critical->causes[id].at_ns);
	for (uint32_t id = 1; id <= critical->threads; id++)
		ask_one(replay, AT_BIRTH, id, critical->lives[id].creator, critical->lives[id].created_ns);
	for (uint32_t id = 1; id < critical->work_count; id++) {
		const struct sonde_critical_work *work = &critical->works[id];
		if (work->requested_ns)
			ask_one(replay, AT_LAUNCH, id, work->thread, work->requested_ns);
		ask_one(replay, AT_WORK_END, id, critical->final, work->end_ns);
	}
	qsort(replay->questions, replay->question_count, sizeof *replay->questions, compare_questions);
	return 0;
}

static int begin(struct replay *replay)
{
	const struct sonde_critical *critical = replay->critical;
	replay->clocks = calloc((size_t)critical->threads + 1, sizeof *replay->clocks);
	replay->following = calloc(critical->count, sizeof *replay->following);
	replay->owner = calloc(critical->count, sizeof *replay->owner);
	replay->order = calloc(critical->count, sizeof *replay->order);
	replay->let_go = calloc(critical->cause_count, sizeof *replay->let_go);
	replay->launched = calloc(critical->work_count + 1, sizeof *replay->launched);
	replay->done = calloc(critical->work_count + 1, sizeof *replay->done);
	if (!replay->clocks || !replay->following || !replay->owner || !replay->order || !replay->let_go ||
	    !replay->launched || !replay->done)
		return sonde_error(ENOMEM, "out of memory for %zu segments", critical->count);
	for (uint32_t thread = 1; thread <= critical->threads; thread++) {
		uint32_t next = 0;
		for (uint32_t id = critical->lives[thread].last; id; id = critical->segments[id].previous) {
			replay->following[id] = next;
			replay->owner[id] = thread;
			next = id;
		}
		replay->clocks[thread].next = next;
		replay->clocks[thread].now =
		    (struct moment){critical->lives[thread].start_ns, critical->lives[thread].start_ns};
	}
	int rc = put_in_order(replay);
	return rc ? rc : ask(replay);
}

/* --- the hypothetical run ----------------------------------------------------------------------------------------- */

/* Advances a thread that runs, or waits for a CPU, to a time. */
static void pass_time(struct replay *replay, uint32_t thread, uint64_t to_ns)
{
	struct clock *clock = &replay->clocks[thread];
	if (to_ns <= clock->now.recorded_ns)
		return;
	uint64_t all_ns = to_ns - clock->now.recorded_ns;
	double saved_ns = sonde_critical_scaled_saved(&replay->scaled, thread, clock->now.recorded_ns, to_ns);
	int64_t whole_ns = llround(saved_ns);
	clock->now.other_ns += whole_ns < (int64_t)all_ns ? (uint64_t)((int64_t)all_ns - whole_ns) : 0;
	clock->now.recorded_ns = to_ns;
}

/* Advances an active thread to a time. */
static void get_on(struct replay *replay, uint32_t thread, uint64_t to_ns)
{
	struct clock *clock = &replay->clocks[thread];
	if (to_ns <= clock->now.recorded_ns)
		return;
	pass_time(replay, thread, to_ns);
	clock->active = clock->now;
}

static void end_segment(struct replay *replay, uint32_t id)
{
	const struct sonde_critical_segment *segment = &replay->critical->segments[id];
	uint32_t thread = replay->owner[id];
	struct clock *clock = &replay->clocks[thread];
	uint32_t work = replay->critical->causes[segment->cause].work;
	const struct moment *let_go = work ? &replay->done[work] : &replay->let_go[segment->cause];
	uint64_t to_ns = segment->to_ns, from_ns = sonde_critical_from(replay->critical, thread, id);
	if (sonde_critical_is_active(segment->state)) {
		get_on(replay, thread, to_ns);
	} else if (segment->state == SONDE_INTERVAL_RUNNABLE) {
		pass_time(replay, thread, to_ns);
	} else if (segment->state == SONDE_INTERVAL_BLOCKED && let_go->recorded_ns > from_ns) {
		uint64_t then_ns = let_go->other_ns + (to_ns - let_go->recorded_ns);
		clock->now.other_ns = then_ns > clock->now.other_ns ? then_ns : clock->now.other_ns;
	} else {
		clock->now.other_ns += to_ns - clock->now.recorded_ns;
	}
	clock->now.recorded_ns = to_ns;
	clock->next = replay->following[id];
}

/* When a thread was last active, up to a time. */
static struct moment last_active(struct replay *replay, uint32_t thread, uint64_t at_ns)
{
	const struct clock *clock = &replay->clocks[thread];
	const struct sonde_critical_segment *segment = &replay->critical->segments[clock->next];
	if (clock->next && sonde_critical_is_active(segment->state))
		get_on(replay, thread, at_ns < segment->to_ns ? at_ns : (uint64_t)segment->to_ns);
	return clock->active;
}

static void be_born(struct replay *replay, uint32_t thread, const struct moment *moment)
{
	struct clock *created = &replay->clocks[thread];
	if (moment->recorded_ns && created->now.recorded_ns >= moment->recorded_ns)
		created->now.other_ns = moment->other_ns + (created->now.recorded_ns - moment->recorded_ns);
}

/* An activity starts as long after the event that it waited for as in the recording, but not before its other
 * dependency. Without a known dependency it has no end, because no thread waited for it. */
static void end_work(struct replay *replay, uint32_t id)
{
	const struct sonde_critical_work *work = &replay->critical->works[id];
	const struct moment *before = &replay->done[work->before], *launched = &replay->launched[id];
	const struct moment *waited = work->is_after ? before : launched, *other = work->is_after ? launched : before;
	if (!waited->recorded_ns || waited->recorded_ns > work->start_ns)
		return;
	uint64_t start_ns = waited->other_ns + (work->start_ns - waited->recorded_ns);
	if (other->recorded_ns && other->other_ns > start_ns)
		start_ns = other->other_ns;
	double takes_ns =
	    (double)(work->end_ns - work->start_ns) * sonde_critical_scaled_takes(&replay->scaled, work->operation);
	replay->done[id] = (struct moment){work->end_ns, start_ns + (uint64_t)llround(takes_ns)};
}

static void answer(struct replay *replay, const struct requested *question)
{
	if (question->question == AT_WORK_END) {
		end_work(replay, question->id);
		return;
	}
	struct moment moment = last_active(replay, question->thread, question->at_ns);
	if (question->question == AT_CAUSE)
		replay->let_go[question->id] = moment;
	else if (question->question == AT_LAUNCH)
		replay->launched[question->id] = moment;
	else
		be_born(replay, question->id, &moment);
}

/* Queries about a time are answered before segments that end then. */
static void run(struct replay *replay)
{
	const struct sonde_critical *critical = replay->critical;
	size_t at = 0;
	for (size_t i = 0; i + 1 < critical->count; i++) {
		uint32_t id = replay->order[i];
		if (critical->segments[id].to_ns > critical->to_ns)
			break;
		for (; at < replay->question_count && replay->questions[at].at_ns <= critical->segments[id].to_ns; at++)
			answer(replay, &replay->questions[at]);
		if (replay->owner[id]) /* a segment without an owner was replaced by a wait for a device */
			end_segment(replay, id);
	}
}

/* The span may end within a segment. */
static uint64_t span_of(struct replay *replay)
{
	const struct sonde_critical *critical = replay->critical;
	struct clock *clock = &replay->clocks[critical->final];
	last_active(replay, critical->final, critical->to_ns);
	if (clock->next && critical->segments[clock->next].state == SONDE_INTERVAL_RUNNABLE)
		pass_time(replay, critical->final, critical->to_ns);
	uint64_t remainder_ns = critical->to_ns > clock->now.recorded_ns ? critical->to_ns - clock->now.recorded_ns : 0;
	uint64_t end_ns = clock->now.other_ns + remainder_ns;
	return end_ns > critical->from_ns ? end_ns - critical->from_ns : 0;
}

int sonde_critical_replay(struct sonde_critical_outcome *out, const struct sonde_critical *critical,
			  const struct sonde_critical_scale *scales, size_t count)
{
	struct replay replay = {.critical = critical};
	int rc = sonde_critical_scaled_read(&replay.scaled, critical, scales, count);
	*out = (struct sonde_critical_outcome){.is_found = replay.scaled.is_found, .assumed = replay.scaled.assumed};
	rc = rc ? rc : begin(&replay);
	if (!rc && critical->final) {
		run(&replay);
		out->span_ns = span_of(&replay);
	}
	sonde_critical_scaled_fini(&replay.scaled);
	free(replay.clocks);
	free(replay.following);
	free(replay.owner);
	free(replay.order);
	free(replay.let_go);
	free(replay.launched);
	free(replay.done);
	free(replay.questions);
	return rc;
}

/* --- scale options ------------------------------------------------------------------------------------------------ */

static const char *const of_names[SONDE_CRITICAL_OFS] = {
    [SONDE_CRITICAL_OF_ZONE] = "zone",     [SONDE_CRITICAL_OF_FUNCTION] = "function",
    [SONDE_CRITICAL_OF_LOCK] = "lock",     [SONDE_CRITICAL_OF_THREAD] = "thread",
    [SONDE_CRITICAL_OF_KERNEL] = "kernel", [SONDE_CRITICAL_OF_COPY] = "copy"};

const char *sonde_critical_of_name(enum sonde_critical_of of)
{
	return of_names[of < SONDE_CRITICAL_OFS ? of : SONDE_CRITICAL_OF_ZONE];
}

#define SPEED_LEAST 0.001 /* smaller speeds would overflow times */
#define SPEED_MOST 1e9

static int parse_speed(double *out, const char *text)
{
	char *end = NULL;
	double speed = strcmp(text, "inf") ? strtod(text, &end) : INFINITY;
	if (strcmp(text, "inf") && (*end || end == text || !(speed >= SPEED_LEAST && speed <= SPEED_MOST)))
		return -EINVAL;
	*out = speed;
	return 0;
}

/* Names may contain commas and equal signs, so the name ends at the last ",speed=". */
int sonde_critical_scale_parse(struct sonde_critical_scale *out, const char *text)
{
	static const char mark[] = ",speed=";
	const char *speed = NULL;
	for (const char *at = text; (at = strstr(at, mark)); at++)
		speed = at;
	for (size_t of = 0; speed && of < SONDE_CRITICAL_OFS; of++) {
		size_t name_b = strlen(of_names[of]);
		if (strncmp(text, of_names[of], name_b) != 0 || text[name_b] != '=')
			continue;
		const char *name = text + name_b + 1;
		struct sonde_critical_scale scale = {.of = (enum sonde_critical_of)of};
		if (speed <= name || (size_t)(speed - name) >= sizeof scale.name ||
		    parse_speed(&scale.speed, speed + sizeof mark - 1))
			break;
		memcpy(scale.name, name, (size_t)(speed - name));
		*out = scale;
		return 0;
	}
	return sonde_error(EINVAL,
			   "'%s' is not KIND=NAME,speed=N, where KIND is zone, function, lock, thread, kernel or copy, "
			   "and N is from 0.001 to 1e9, or inf; for example zone=parse,speed=2",
			   text);
}
