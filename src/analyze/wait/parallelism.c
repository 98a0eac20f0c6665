/* parallelism.c: the number of runnable and of running threads at any time.
 *
 * Each thread is a state machine: a switch-in starts running, every switch-out ends it, and blocking or exiting also
 * ends being runnable; preemption does not. The state before a thread's first switch follows from that switch: if it is
 * a switch-out, the thread ran since it started. All transitions, sorted by time, form two step functions.
 *
 * The number of running threads is limited to the number of CPUs that the run had on average, for two reasons. A lost
 * switch would leave a thread running forever. And threads under a quota briefly run side by side, then wait for the
 * rest of the period.
 */
#include "analyze/wait/parallelism.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics/stats.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

struct change {
	uint64_t time_ns;
	uint32_t thread;
	uint8_t kind; /* enum sonde_switch_kind */
};

struct step {
	uint64_t time_ns;
	int8_t could, ran; /* changes of the two levels */
	uint32_t level;    /* runnable threads from time_ns on; valid after settle */
	uint32_t running;
};

struct sonde_parallelism {
	struct sonde_session *session;
	struct change *changes;
	size_t count, cap;
	uint8_t *sampled; /* by thread id */
	size_t threads;
	double cpus; /* 0 = unknown */
	struct step *steps;
	size_t step_count;
	uint64_t *times_ns; /* by level */
	uint32_t levels;
	uint64_t whole_ns;
};

/* The CPUs that the run was allowed, else the machine's; a quota may be fractional. 0 = unknown. */
static double cpus_of(const struct sonde_session *session)
{
	const char *text = sonde_session_info(session, "run.cpus");
	if (!text)
		text = sonde_session_info(session, "host.cpus");
	double cpus = text ? strtod(text, NULL) : 0;
	return cpus > 0 && isfinite(cpus) ? cpus : 0;
}

int sonde_parallelism_new(struct sonde_parallelism **out, struct sonde_session *session)
{
	struct sonde_parallelism *parallelism = calloc(1, sizeof *parallelism);
	size_t threads = sonde_session_thread_count(session) + 1;
	if (!parallelism || !(parallelism->sampled = calloc(threads, 1))) {
		free(parallelism);
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	}
	parallelism->session = session;
	parallelism->threads = threads;
	parallelism->cpus = cpus_of(session);
	*out = parallelism;
	return 0;
}

void sonde_parallelism_free(struct sonde_parallelism *parallelism)
{
	if (!parallelism)
		return;
	free(parallelism->changes);
	free(parallelism->sampled);
	free(parallelism->steps);
	free(parallelism->times_ns);
	free(parallelism);
}

static int ensure_capacity(struct sonde_parallelism *parallelism, size_t more)
{
	return SONDE_ARRAY_RESERVE(parallelism->changes, parallelism->cap, parallelism->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu context switches", parallelism->count + more)
		   : 0;
}

int sonde_parallelism_feed(struct sonde_parallelism *parallelism, const struct sonde_batch *batch)
{
	int rc = ensure_capacity(parallelism, batch->count);
	for (size_t i = 0; rc == 0 && i < batch->count; i++)
		if (batch->switches.thread[i] && batch->switches.thread[i] < parallelism->threads)
			parallelism->changes[parallelism->count++] = (struct change){
			    batch->switches.time_ns[i], batch->switches.thread[i], batch->switches.kind[i]};
	return rc;
}

void sonde_parallelism_seen(struct sonde_parallelism *parallelism, uint32_t thread)
{
	if (thread < parallelism->threads)
		parallelism->sampled[thread] = 1;
}

int sonde_parallelism_merge(struct sonde_parallelism *parallelism, const struct sonde_parallelism *other)
{
	int rc = ensure_capacity(parallelism, other->count);
	if (rc < 0)
		return rc;
	if (other->count)
		memcpy(parallelism->changes + parallelism->count, other->changes,
		       other->count * sizeof *other->changes);
	parallelism->count += other->count;
	for (size_t i = 0; i < parallelism->threads && i < other->threads; i++)
		parallelism->sampled[i] |= other->sampled[i];
	return 0;
}

int sonde_parallelism_known(const struct sonde_parallelism *parallelism)
{
	return parallelism->count > 0;
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int compare_steps(const void *left, const void *right)
{
	const struct step *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void step_add(struct sonde_parallelism *parallelism, uint64_t time_ns, int could, int ran)
{
	if (could || ran)
		parallelism->steps[parallelism->step_count++] =
		    (struct step){.time_ns = time_ns, .could = (int8_t)could, .ran = (int8_t)ran};
}

/* The steps of one thread, from its changes[0 … count), sorted by time. */
static void thread_steps(struct sonde_parallelism *parallelism, uint32_t id, const struct change *changes, size_t count)
{
	const struct sonde_thread *thread = sonde_session_thread(parallelism->session, id);
	const struct sonde_part *part = sonde_session_part_of(parallelism->session, thread ? thread->process : 0);
	const struct sonde_run *run = sonde_session_run(parallelism->session);
	uint64_t start_ns = thread && thread->start_ns > part->start_ns ? thread->start_ns : part->start_ns;
	int could = count ? changes[0].kind != SONDE_SWITCH_IN : parallelism->sampled[id], ran = could;
	step_add(parallelism, start_ns, could, ran);
	for (size_t i = 0; i < count; i++) {
		int runs = changes[i].kind == SONDE_SWITCH_IN;
		int can = changes[i].kind == SONDE_SWITCH_OUT_PREEMPTED ? could : runs;
		step_add(parallelism, changes[i].time_ns, can - could, runs - ran);
		could = can;
		ran = runs;
	}
	if (thread && (thread->end_ns || part->end_ns < run->end_ns))
		step_add(parallelism, thread->end_ns ? thread->end_ns : part->end_ns, -could, -ran);
}

static void steps_level(struct sonde_parallelism *parallelism)
{
	int64_t level = 0, running = 0;
	qsort(parallelism->steps, parallelism->step_count, sizeof *parallelism->steps, compare_steps);
	for (size_t i = 0; i < parallelism->step_count; i++) {
		level += parallelism->steps[i].could;
		running += parallelism->steps[i].ran;
		parallelism->steps[i].level = level > 0 ? (uint32_t)level : 0;
		parallelism->steps[i].running = running > 0 ? (uint32_t)running : 0;
		if (parallelism->steps[i].level >= parallelism->levels)
			parallelism->levels = parallelism->steps[i].level + 1;
	}
}

/* Adds the time between two steps to its level. */
static void level_time(struct sonde_parallelism *parallelism, uint32_t level, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns > from_ns)
		parallelism->times_ns[level] += to_ns - from_ns;
}

static void levels_time(struct sonde_parallelism *parallelism, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t at_ns = from_ns;
	uint32_t level = 0;
	for (size_t i = 0; i < parallelism->step_count; i++) {
		uint64_t next_ns = parallelism->steps[i].time_ns < to_ns ? parallelism->steps[i].time_ns : to_ns;
		level_time(parallelism, level, at_ns, next_ns);
		at_ns = next_ns > at_ns ? next_ns : at_ns;
		level = parallelism->steps[i].level;
	}
	level_time(parallelism, level, at_ns, to_ns);
	parallelism->whole_ns = to_ns > from_ns ? to_ns - from_ns : 0;
}

int sonde_parallelism_settle(struct sonde_parallelism *parallelism, uint64_t from_ns, uint64_t to_ns)
{
	const struct sonde_run *run = sonde_session_run(parallelism->session);
	parallelism->steps = malloc((parallelism->count + 2 * parallelism->threads) * sizeof *parallelism->steps);
	if (!parallelism->steps)
		return sonde_error(ENOMEM, "out of memory for %zu context switches", parallelism->count);
	if (parallelism->count)
		qsort(parallelism->changes, parallelism->count, sizeof *parallelism->changes, compare_changes);
	size_t at = 0;
	for (uint32_t id = 1; id < parallelism->threads; id++) {
		size_t end = at;
		while (end < parallelism->count && parallelism->changes[end].thread == id)
			end++;
		thread_steps(parallelism, id, parallelism->changes + at, end - at);
		at = end;
	}
	parallelism->levels = 2; /* levels 0 and 1 can always be queried */
	steps_level(parallelism);
	parallelism->times_ns = calloc(parallelism->levels, sizeof *parallelism->times_ns);
	if (!parallelism->times_ns)
		return sonde_error(ENOMEM, "out of memory for parallelism");
	levels_time(parallelism, from_ns ? from_ns : run->start_ns, to_ns ? to_ns : run->end_ns);
	return 0;
}

double sonde_parallelism_running(const struct sonde_parallelism *parallelism, uint64_t time_ns)
{
	size_t next = SONDE_SEARCH(i, 0, parallelism->step_count, parallelism->steps[i].time_ns <= time_ns);
	double running = fmax(next ? parallelism->steps[next - 1].running : 0, 1);
	return parallelism->cpus > 0 ? fmin(running, parallelism->cpus) : running;
}

double sonde_parallelism_cpus(const struct sonde_parallelism *parallelism)
{
	return parallelism->cpus;
}

uint32_t sonde_parallelism_levels(const struct sonde_parallelism *parallelism)
{
	return parallelism->levels;
}

uint64_t sonde_parallelism_time_ns(const struct sonde_parallelism *parallelism, uint32_t level)
{
	return level < parallelism->levels ? parallelism->times_ns[level] : 0;
}

double sonde_parallelism_share(const struct sonde_parallelism *parallelism, uint32_t level)
{
	return sonde_stats_share((double)sonde_parallelism_time_ns(parallelism, level), (double)parallelism->whole_ns);
}

double sonde_parallelism_busy_share(const struct sonde_parallelism *parallelism)
{
	return 1 - sonde_parallelism_share(parallelism, 0);
}
