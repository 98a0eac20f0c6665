/* exits.c: CPU time on the critical path that processes use after their last record, while the kernel frees their
 * memory.
 *
 * Where a thread waits for a child process, the path has a wake-up step: from the child's last record until the parent
 * is on a CPU again. For part of this step, the child is still on a CPU, but no record distinguishes this from the
 * parent's waiting for a CPU. The total of this time is the difference between the CPU time of the program, as counted
 * by the kernel, and the time for which its threads are recorded on a CPU. It was used by exiting processes, each
 * between its last record and the return of the call that waited for it. Outside of the path's wake-ups, such intervals
 * have room for only part of it; the remaining part must therefore have been used within the wake-ups. If no call
 * waited for a process, its interval lasts to the end of the run.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/critical/graph.h"
#include "analyze/findings/rules.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define UNKNOWN_MAX 10000u /* each looks at all processes */

/* Part of the time between the last record of a process and the end of the call that waited for it. */
struct exiting {
	uint64_t from_ns, to_ns;
};

/* When a thread that had waited for an unknown child got on a CPU again. */
struct ended {
	uint64_t at_ns;
	uint32_t thread;
};

struct exits {
	const struct sonde_critical_path *path;
	struct sonde_session *session;
	uint64_t *waking_ns; /* by step: total duration of the wake-up steps before it */
	struct exiting *processes;
	size_t count;
};

/* The program's CPU time beyond the time for which its threads are recorded on a CPU; 0 = none, or unknown. */
static double unrecorded_ns(const struct sonde_facts *facts, const struct sonde_critical *critical)
{
	double cpu_ns = 1e9 * sonde_summary_value(&facts->columns, timing, cpu_time_s), recorded_ns = 0;
	for (uint32_t thread = 1; thread <= critical->threads; thread++)
		for (uint32_t id = critical->lives[thread].last; id; id = critical->segments[id].previous)
			if (sonde_critical_is_active(critical->segments[id].state))
				recorded_ns +=
				    (double)(critical->segments[id].to_ns - sonde_critical_from(critical, thread, id));
	return cpu_ns > recorded_ns ? cpu_ns - recorded_ns : 0;
}

/* A process may have unrecorded CPU time from the first exit of one of its threads on. A thread whose exit is not
 * recorded may have exited at any time, so its start counts instead. */
static void find_ends(struct exits *exits)
{
	for (size_t i = 0; i <= exits->count; i++)
		exits->processes[i] = (struct exiting){UINT64_MAX, exits->path->to_ns};
	for (uint32_t id = 1; id <= sonde_session_thread_count(exits->session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(exits->session, id);
		struct exiting *of = &exits->processes[thread->process <= exits->count ? thread->process : 0];
		uint64_t from_ns = thread->end_ns ? thread->end_ns : thread->start_ns;
		of->from_ns = from_ns < of->from_ns ? from_ns : of->from_ns;
	}
}

static int by_time(const void *left, const void *right)
{
	uint64_t a = ((const struct ended *)left)->at_ns, b = ((const struct ended *)right)->at_ns;
	return (a > b) - (a < b);
}

/* Ends the interval of a thread's process: a call that waited for the process returned. */
static void is_over(struct exits *exits, uint32_t id, uint64_t at_ns)
{
	const struct sonde_thread *thread = sonde_session_thread(exits->session, id);
	struct exiting *of = thread && thread->process <= exits->count ? &exits->processes[thread->process] : NULL;
	if (of && at_ns >= of->from_ns && at_ns < of->to_ns)
		of->to_ns = at_ns;
}

static void take_calls(struct exits *exits, const struct sonde_waits_columns *waits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (waits->kind[i] == SONDE_WAIT_CHILD)
			is_over(exits, waits->other[i], waits->start_ns[i] + waits->dur_ns[i]);
}

/* The only child whose records had ended when a thread of the parent got on a CPU again, after being blocked in a call
 * that waits for children; 0 = none, or several. */
static uint32_t only_child(const struct exits *exits, uint32_t parent, uint64_t at_ns)
{
	uint32_t only = 0;
	for (uint32_t id = 1; id <= exits->count; id++) {
		const struct exiting *of = &exits->processes[id];
		const struct sonde_process *process = sonde_session_process(exits->session, id);
		if (!process || process->parent != parent || of->from_ns > at_ns || of->to_ns <= at_ns)
			continue;
		if (only)
			return 0;
		only = id;
	}
	return only;
}

/* A thread that was blocked in a call that waits for children gets on a CPU again once the child has left its CPU. */
static int take_blocked(struct exits *exits, const struct sonde_critical *critical)
{
	struct ended *unknown = NULL;
	size_t count = 0, cap = 0;
	for (uint32_t thread = 1; thread <= critical->threads; thread++)
		for (uint32_t id = critical->lives[thread].last; id; id = critical->segments[id].previous) {
			const struct sonde_critical_segment *segment = &critical->segments[id];
			const struct sonde_critical_cause *cause = &critical->causes[segment->cause];
			if (cause->kind != SONDE_WAIT_CHILD)
				continue;
			if (cause->thread)
				is_over(exits, cause->thread, segment->to_ns);
			else if (SONDE_ARRAY_RESERVE(unknown, cap, count + 1))
				return free(unknown), sonde_error(ENOMEM, "out of memory for calls");
			else
				unknown[count++] = (struct ended){segment->to_ns, thread};
		}
	if (count)
		qsort(unknown, count, sizeof *unknown, by_time);
	for (size_t i = 0; i < count && i < UNKNOWN_MAX; i++) {
		uint32_t parent = sonde_session_thread(exits->session, unknown[i].thread)->process;
		uint32_t child = only_child(exits, parent, unknown[i].at_ns);
		if (child)
			exits->processes[child].to_ns = unknown[i].at_ns;
	}
	free(unknown);
	return 0;
}

static int find_calls(struct exits *exits)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, exits->session, 1u << SONDE_CHUNK_WAITS);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		if (rc > 0)
			take_calls(exits, &batch->waits, batch->count);
	sonde_cursor_close(cursor);
	return rc;
}

static void sum_wakeups(struct exits *exits)
{
	uint64_t sum_ns = 0;
	for (size_t i = 0; i < exits->path->count; i++) {
		const struct sonde_critical_step *step = &exits->path->steps[i];
		exits->waking_ns[i] = sum_ns;
		if (step->kind == SONDE_CRITICAL_WAKING)
			sum_ns += sonde_critical_step_end(exits->path, i) - step->from_ns;
	}
	exits->waking_ns[exits->path->count] = sum_ns;
}

/* The total duration, up to `at_ns`, of the path's wake-up steps. */
static uint64_t waking_before(const struct exits *exits, uint64_t at_ns)
{
	const struct sonde_critical_path *path = exits->path;
	size_t i = SONDE_SEARCH(k, 0, path->count, path->steps[k].from_ns < at_ns);
	if (!i)
		return 0;
	uint64_t end_ns = sonde_critical_step_end(path, --i), to_ns = at_ns < end_ns ? at_ns : end_ns;
	return exits->waking_ns[i] +
	       (path->steps[i].kind == SONDE_CRITICAL_WAKING ? to_ns - path->steps[i].from_ns : 0);
}

/* The time outside of wake-ups in which each exiting process can have used CPU time. */
static double outside_ns(const struct exits *exits)
{
	double sum_ns = 0;
	for (size_t i = 0; i <= exits->count; i++) {
		const struct exiting *process = &exits->processes[i];
		if (process->from_ns >= process->to_ns)
			continue;
		uint64_t waking_ns = waking_before(exits, process->to_ns) - waking_before(exits, process->from_ns);
		sum_ns += (double)(process->to_ns - process->from_ns - waking_ns);
	}
	return sum_ns;
}

static int exits_read(struct exits *exits, const struct sonde_facts *facts, const struct sonde_critical *critical,
		      double *out_ns)
{
	const struct sonde_run *run = sonde_session_run(facts->session);
	double all_ns = unrecorded_ns(facts, critical), span_ns = (double)(exits->path->to_ns - exits->path->from_ns);
	exits->count = sonde_session_process_count(facts->session);
	exits->processes = calloc(exits->count + 1, sizeof *exits->processes);
	exits->waking_ns = calloc(exits->path->count + 1, sizeof *exits->waking_ns);
	if (!exits->processes || !exits->waking_ns)
		return sonde_error(ENOMEM, "out of memory for %zu processes", exits->count);
	find_ends(exits);
	int rc = find_calls(exits);
	rc = rc ? rc : take_blocked(exits, critical);
	if (rc)
		return rc;
	sum_wakeups(exits);
	/* The command used part of the CPU time before its first record, and after its last one. */
	double beyond_ns = fmax((double)(run->end_ns - run->start_ns) - span_ns, 0);
	double waking_ns = (double)exits->waking_ns[exits->path->count];
	*out_ns = fmin(fmax(all_ns - outside_ns(exits) - beyond_ns, 0), waking_ns);
	return 0;
}

/* True if the recording is complete: processes that are not recorded may have used CPU time at any time. */
static int is_whole(const struct sonde_facts *facts)
{
	const struct sonde_session *session = facts->session;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		if (sonde_session_lost(session, i)->count)
			return 0;
	return sonde_session_run(session)->closed && !sonde_session_damaged_b(session) &&
	       sonde_session_part_count(session) <= 1 && !sonde_session_part_of(session, 0)->attached &&
	       !sonde_pass_selects(facts->options);
}

int sonde_finding_exits(const struct sonde_facts *facts, double *out_ns)
{
	const struct sonde_critical_graph *graph;
	*out_ns = 0;
	if (!is_whole(facts) || sonde_session_process_count(facts->session) < 2)
		return 0;
	int rc = sonde_critical_graph_acquire(&graph, facts->session, facts->options);
	if (rc)
		return rc;
	struct exits exits = {.path = &graph->path, .session = facts->session};
	rc = graph->path.count ? exits_read(&exits, facts, &graph->critical, out_ns) : 0;
	free(exits.processes);
	free(exits.waking_ns);
	sonde_critical_graph_release(graph);
	return rc;
}
