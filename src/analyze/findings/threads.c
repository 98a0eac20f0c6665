/* threads.c: rules about threads and processes: which one waits for which, and whether the wait is necessary. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/rules.h"
#include "analyze/cpu/thread_entries.h"
#include "util/error.h"

#define WORKS 0.05 /* share of the span on a CPU that makes a thread a worker */

static double or_0(double value)
{
	return value > 0 ? value : 0;
}

/* --- locks -------------------------------------------------------------------------------------------------------- */

static int is_lock(enum sonde_wait_kind kind)
{
	return kind == SONDE_WAIT_MUTEX || kind == SONDE_WAIT_READ_LOCK || kind == SONDE_WAIT_WRITE_LOCK ||
	       kind == SONDE_WAIT_SPINLOCK || kind == SONDE_WAIT_FUTEX;
}

static int is_interpreter(const char *name)
{
	return !strncmp(name, "_PyRuntime", 10) || !strncmp(name, "gil_", 4) || !strcmp(name, "interpreter_lock");
}

/* Lower limit of the span if no thread waited for locks. It is the largest of three times: that which the busiest lock
 * user spends on everything else; the CPU time of the busiest thread; and all CPU time divided by the number of CPUs.
 * Joins are not counted as a thread's own time. */
static double without_locks_ns(const struct sonde_facts *facts)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	double most_ns = facts->cores > 0 ? facts->cpu_ns / facts->cores : 0;
	for (size_t i = 0; i < threads->of.rows; i++) {
		double life_ns = sonde_column_ns(threads, i, life_ns);
		double locks_ns = or_0(sonde_column_ns(threads, i, blocked_locks_ns));
		double own_ns = life_ns - locks_ns - or_0(sonde_column_ns(threads, i, blocked_tasks_ns));
		most_ns = fmax(most_ns, or_0(sonde_column_ns(threads, i, on_cpu_ns)));
		most_ns = locks_ns > 0 ? fmax(most_ns, or_0(own_ns)) : most_ns;
	}
	return most_ns;
}

SONDE_EVALUATE(lock)
{
	const struct sonde_columns_locks *locks = &facts->columns.locks;
	double without_ns = without_locks_ns(facts);
	int rc = 0;
	for (size_t i = 0; !rc && i < locks->of.rows; i++) {
		enum sonde_wait_kind kind = sonde_column_label(locks, i, kind);
		const char *name = sonde_column_text(locks, i, lock);
		double waited_ns = sonde_column_ns(locks, i, waited_ns),
		       waiters = sonde_column_count(locks, i, waiters);
		double waits = sonde_column_count(locks, i, waits), share = waited_ns / waiters / facts->span_ns;
		if (!is_lock(kind) || is_interpreter(name) || !(share > facts->threshold[SONDE_THRESHOLD_LOCK]))
			continue;
		double saves_ns = fmin(or_0(facts->span_ns - without_ns), waited_ns);
		const char *held = sonde_column_text(locks, i, held_in), *where = sonde_column_text(locks, i, waits_in);
		rc = sonde_found_add(
		    found,
		    &(struct sonde_finding){
			.subject =
			    sonde_report_text(found->report, "%s %s", sonde_column_label_text(locks, i, kind), name),
			.evidence = sonde_report_text(
			    found->report,
			    "%.0f threads waited for it %.0f times, %.3f s in all (%.1f %% of the span each)%s%s%s%s",
			    waiters, waits, waited_ns / 1e9, 100 * share, *where ? ", most in " : "", where,
			    *held ? ", while held in " : "", held),
			.saves_ns = saves_ns,
			.place = {.function = *where ? where : NULL, .also = *held ? held : NULL},
			.weighs = fmin(saves_ns / facts->span_ns, 1)});
	}
	return rc;
}

SONDE_EVALUATE(interpreter_lock)
{
	const struct sonde_columns_locks *locks = &facts->columns.locks;
	double waited_ns = 0, waiters = 0, waits = 0;
	for (size_t i = 0; i < locks->of.rows; i++) {
		if (!is_interpreter(sonde_column_text(locks, i, lock)))
			continue;
		waited_ns += sonde_column_ns(locks, i, waited_ns);
		waits += sonde_column_count(locks, i, waits);
		waiters = fmax(waiters, sonde_column_count(locks, i, waiters));
	}
	double each_ns = waiters > 0 ? waited_ns / waiters : 0, share = each_ns / facts->span_ns;
	if (!(share > facts->threshold[SONDE_THRESHOLD_GIL]) || waiters < 2)
		return 0;
	double saves_ns = fmin(each_ns, or_0(facts->span_ns - facts->cpu_ns / facts->cores));
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = "the lock of the Python interpreter (GIL)",
		.evidence = sonde_report_text(
		    found->report, "%.0f threads waited for it %.0f times, %.3f s in all (%.1f %% of the span each)",
		    waiters, waits, waited_ns / 1e9, 100 * share),
		.saves_ns = saves_ns,
		.weighs = fmin(saves_ns / facts->span_ns, 1)});
}

/* --- load balance ------------------------------------------------------------------------------------------------- */

struct group {
	uint32_t busiest; /* thread id; 0 = none */
	double count, most_ns, sum_ns, ended_early_ns;
	uint64_t from_ns, to_ns; /* earliest start, latest end */
};

static uint64_t end_of(const struct sonde_facts *facts, const struct sonde_thread *thread)
{
	return thread->end_ns ? thread->end_ns : sonde_session_run(facts->session)->end_ns;
}

/* Compares threads to one by their zones (does a thread have zones, and any in common with it?) and by their entry
 * functions. */
struct alike {
	uint32_t of;                 /* thread id */
	uint32_t *entries;           /* by thread id: its entry function, 0 = unknown */
	uint8_t *sites;              /* by site id: has that thread the zone? */
	uint8_t *has_zones, *shares; /* by thread id */
	size_t site_count, thread_count;
};

static int take_sites(void *context, uint32_t process, uint32_t thread, const struct sonde_zone_stat *stat)
{
	struct alike *alike = context;
	(void)process;
	if (thread == alike->of && stat->site < alike->site_count)
		alike->sites[stat->site] = 1;
	return 0;
}

static int take_sharing(void *context, uint32_t process, uint32_t thread, const struct sonde_zone_stat *stat)
{
	struct alike *alike = context;
	(void)process;
	if (thread < alike->thread_count) {
		alike->has_zones[thread] = 1;
		alike->shares[thread] |= stat->site < alike->site_count && alike->sites[stat->site];
	}
	return 0;
}

static void alike_fini(struct alike *alike)
{
	free(alike->entries);
	free(alike->sites);
	free(alike->has_zones);
	free(alike->shares);
}

static int alike_read(struct alike *out, const struct sonde_facts *facts, uint32_t of)
{
	size_t threads = sonde_session_thread_count(facts->session) + 1;
	*out = (struct alike){
	    .of = of, .site_count = sonde_session_site_count(facts->session) + 1, .thread_count = threads};
	out->sites = calloc(out->site_count, 1);
	out->has_zones = calloc(threads, 1);
	out->shares = calloc(threads, 1);
	if (!out->sites || !out->has_zones || !out->shares) {
		alike_fini(out);
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	}
	/* Unreadable chunks are skipped, which the report notes. */
	sonde_session_zone_stats_each(facts->session, take_sites, out);
	sonde_session_zone_stats_each(facts->session, take_sharing, out);
	int rc = sonde_thread_entries(facts->session, &out->entries);
	if (rc)
		alike_fini(out);
	return rc;
}

/* Zones and entry functions tell what threads do: threads that have none in common do different things. */
static int may_be_alike(const struct alike *alike, uint32_t thread)
{
	uint32_t entry = alike->entries[thread], other = alike->entries[alike->of];
	if (entry && other && entry != other)
		return 0;
	return alike->shares[thread] || !alike->has_zones[thread] || !alike->has_zones[alike->of];
}

/* The threads of one process that share a name and overlap with its busiest one for at least half of the shorter
 * lifetime. Excludes the main thread, which starts the others. */
static struct group group_of(const struct sonde_facts *facts, const struct alike *alike)
{
	const struct sonde_thread *most = sonde_session_thread(facts->session, alike->of);
	uint64_t most_end_ns = end_of(facts, most);
	struct group group = {
	    .busiest = alike->of, .most_ns = (double)most->cpu_ns, .from_ns = most->start_ns, .to_ns = most_end_ns};
	for (uint32_t id = 1; id <= sonde_session_thread_count(facts->session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(facts->session, id);
		const struct sonde_process *process = sonde_session_process(facts->session, thread->process);
		if (thread->process != most->process || !process || thread->tid == process->pid || !thread->cpu_ns ||
		    strcmp(thread->name, most->name) != 0 || !may_be_alike(alike, id))
			continue;
		uint64_t end_ns = end_of(facts, thread);
		uint64_t from_ns = thread->start_ns > most->start_ns ? thread->start_ns : most->start_ns;
		uint64_t to_ns = end_ns < most_end_ns ? end_ns : most_end_ns;
		if (to_ns <= from_ns || 2 * (to_ns - from_ns) < end_ns - thread->start_ns)
			continue;
		group.count++;
		group.from_ns = thread->start_ns < group.from_ns ? thread->start_ns : group.from_ns;
		group.to_ns = end_ns > group.to_ns ? end_ns : group.to_ns;
		group.sum_ns += (double)thread->cpu_ns;
		group.ended_early_ns += (double)(most_end_ns - to_ns);
	}
	return group;
}

/* The thread with the most CPU time, other than main threads. */
static uint32_t busiest_thread(const struct sonde_facts *facts)
{
	uint64_t most_ns = 0;
	uint32_t busiest = 0;
	for (uint32_t id = 1; id <= sonde_session_thread_count(facts->session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(facts->session, id);
		const struct sonde_process *process = sonde_session_process(facts->session, thread->process);
		if (!process || thread->tid == process->pid || thread->cpu_ns <= most_ns)
			continue;
		most_ns = thread->cpu_ns;
		busiest = id;
	}
	return busiest;
}

/* Time on a CPU or waiting for one. */
static double wanted_ns(const struct sonde_facts *facts, const struct sonde_thread *thread)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	for (size_t i = 0; i < threads->of.rows; i++)
		if (sonde_column_id(threads, i, tid) == thread->tid)
			return or_0(sonde_column_ns(threads, i, on_cpu_ns)) +
			       or_0(sonde_column_ns(threads, i, runnable_ns));
	return 0;
}

static double waited_for(const struct sonde_facts *facts, enum sonde_wait_kind kind)
{
	const struct sonde_columns_locks *locks = &facts->columns.locks;
	double sum_ns = 0;
	for (size_t i = 0; i < locks->of.rows; i++)
		if (sonde_column_label(locks, i, kind) == kind)
			sum_ns += sonde_column_ns(locks, i, waited_ns);
	return sum_ns;
}

/* Requires evidence that the other threads exited early or waited at a barrier: threads that do different things are
 * not unequal shares of the same work. */
SONDE_EVALUATE(imbalance)
{
	uint32_t busiest = busiest_thread(facts);
	struct alike alike;
	if (!busiest)
		return 0;
	int rc = alike_read(&alike, facts, busiest);
	if (rc)
		return rc;
	struct group worst = group_of(facts, &alike);
	alike_fini(&alike);
	if (worst.count < 2)
		return 0;
	const struct sonde_thread *thread = sonde_session_thread(facts->session, busiest);
	double mean_ns = worst.sum_ns / worst.count, excess_ns = worst.most_ns - mean_ns;
	/* The work cannot take less than its total CPU time ÷ the number of CPUs, which exceeds the mean if there are
	 * more threads than CPUs (`cores` is NAN if unknown: fmax() then ignores it). */
	double least_ns = fmax(mean_ns, worst.sum_ns / facts->cores);
	double wanted = worst.count > facts->cores ? wanted_ns(facts, thread) : 0;
	double active_ns = fmax(worst.most_ns, wanted);
	double idle_ns = worst.count * worst.most_ns - worst.sum_ns;
	double seen_ns = worst.ended_early_ns + waited_for(facts, SONDE_WAIT_BARRIER);
	if (!(excess_ns / worst.most_ns > facts->threshold[SONDE_THRESHOLD_IMBALANCE]) ||
	    mean_ns < WORKS * facts->span_ns / worst.count || seen_ns < 0.5 * idle_ns || !(active_ns > least_ns))
		return 0;
	/* `wanted` already includes the waits for CPUs; otherwise `stretch` adds them. The work itself remains. */
	double unequal_ns = active_ns - least_ns;
	double saves_ns = wanted > worst.most_ns ? unequal_ns : sonde_facts_stretched(facts, unequal_ns);
	saves_ns = fmin(saves_ns, or_0(facts->span_ns - least_ns));
	double share = saves_ns / facts->span_ns;
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = sonde_report_text(found->report, "%.0f threads %s", worst.count, thread->name),
		.evidence = sonde_report_text(
		    found->report,
		    "tid %u used %.3f s of CPU time, the mean of these threads is %.3f s: the others waited for it, "
		    "or exited early",
		    thread->tid, worst.most_ns / 1e9, mean_ns / 1e9),
		.saves_ns = saves_ns,
		.place = {.ns = (double)(worst.to_ns - worst.from_ns)},
		.has_waits = !(wanted > worst.most_ns),
		.weighs = share});
}

struct life {
	uint64_t from_ns, to_ns;
};

static int compare_lives(const void *left, const void *right)
{
	const struct life *a = left, *b = right;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static uint64_t union_ns(struct life *lives, size_t count)
{
	uint64_t sum = 0, to_ns = 0;
	if (count)
		qsort(lives, count, sizeof *lives, compare_lives);
	for (size_t i = 0; i < count; i++) {
		uint64_t from_ns = lives[i].from_ns > to_ns ? lives[i].from_ns : to_ns;
		if (lives[i].to_ns <= from_ns)
			continue;
		sum += lives[i].to_ns - from_ns;
		to_ns = lives[i].to_ns;
	}
	return sum;
}

/* Time in which a process that divides its work among threads had only its main thread. Idle thread pools are not
 * detected. */
SONDE_EVALUATE(serial)
{
	size_t count = sonde_session_thread_count(facts->session), workers = 0;
	const struct sonde_run *run = sonde_session_run(facts->session);
	struct life *lives = calloc(count + 1, sizeof *lives);
	if (!lives)
		return sonde_found_add(found, &(struct sonde_finding){0});
	for (uint32_t id = 1; id <= count; id++) {
		const struct sonde_thread *thread = sonde_session_thread(facts->session, id);
		const struct sonde_process *process = sonde_session_process(facts->session, thread->process);
		uint64_t end_ns = thread->end_ns ? thread->end_ns : run->end_ns;
		if (process && process->id == run->root_process && process->pid != thread->tid &&
		    (double)thread->cpu_ns > WORKS * facts->span_ns)
			lives[workers++] = (struct life){thread->start_ns, end_ns};
	}
	double together_ns = (double)union_ns(lives, workers), alone_ns = facts->span_ns - together_ns;
	free(lives);
	double running_ns = sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNING);
	alone_ns = fmin(alone_ns, running_ns);
	if (workers < 2 || !(facts->cores >= 2) ||
	    !(alone_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_SERIAL]))
		return 0;
	double among = fmin((double)workers, facts->cores),
	       saves_ns = sonde_facts_stretched(facts, alone_ns * (1 - 1 / among));
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = "the first thread",
		.evidence = sonde_report_text(
		    found->report,
		    "ran alone for %.3f s of %.3f s, before, between or after the phases in which %zu threads share "
		    "work; %.0f CPUs",
		    alone_ns / 1e9, facts->span_ns / 1e9, workers, facts->cores),
		.saves_ns = saves_ns,
		.has_waits = 1,
		.place = {.ns = facts->span_ns - together_ns},
		.weighs = saves_ns / facts->span_ns});
}

/* --- latency ------------------------------------------------------------------------------------------------------ */

SONDE_EVALUATE(hand_overs)
{
	const struct sonde_columns_wait_kinds *kinds = &facts->columns.wait_kinds;
	double waking_ns = sonde_facts_in_state(facts, SONDE_CRITICAL_WAKING), calls = 0, median_ns = 0;
	double blocked_ns = sonde_facts_on_path(facts, sonde_critical_element_of_wait(SONDE_WAIT_CONDITION), NULL,
						SONDE_CRITICAL_BLOCKED) +
			    sonde_facts_on_path(facts, sonde_critical_element_of_wait(SONDE_WAIT_SEMAPHORE), NULL,
						SONDE_CRITICAL_BLOCKED);
	for (size_t i = 0; i < kinds->of.rows; i++) {
		enum sonde_wait_kind kind = sonde_column_label(kinds, i, kind);
		if (kind != SONDE_WAIT_CONDITION && kind != SONDE_WAIT_SEMAPHORE)
			continue;
		calls += sonde_column_count(kinds, i, calls);
		median_ns = fmax(median_ns, sonde_column_ns(kinds, i, p50_ns));
	}
	static const char *const calls_of[] = {"__x64_sys_futex", "__arm64_sys_futex", "do_futex", "futex_wait"};
	double futex_ns = sonde_facts_cpu_on_path(facts, NULL, 0, sonde_facts_most_total_ns(facts, calls_of, 4));
	double saves_ns = fmin((waking_ns + blocked_ns + futex_ns) * facts->stretch, facts->span_ns),
	       share = saves_ns / facts->span_ns;
	if (!facts->has_path || !(share > facts->threshold[SONDE_THRESHOLD_HANDOVER]) || !(calls >= 1000) ||
	    median_ns > 1e6)
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = "condition variables and semaphores",
		       .evidence = sonde_report_text(found->report,
						     "%.0f waits, half of them shorter than %.0f µs; on the critical "
						     "path, woken threads took %.3f s to start running, and such "
						     "waits took %.3f s",
						     calls, median_ns / 1e3, waking_ns / 1e9, blocked_ns / 1e9),
		       .saves_ns = saves_ns,
		       .has_waits = 1,
		       .place = {.waits = SONDE_PLACE_WAITS(CONDITION) | SONDE_PLACE_WAITS(SEMAPHORE)},
		       .weighs = fmin(share, 1)});
}

/* Time, number of parts and their mean are those on the path; the number of calls is that of the whole thread. */
SONDE_EVALUATE(sleeping)
{
	const struct sonde_columns_waits *waits = &facts->columns.waits;
	const struct sonde_columns_critical_path *path = &facts->columns.critical_path;
	double asleep_ns = sonde_facts_on_path(facts, sonde_critical_element_of_wait(SONDE_WAIT_SLEEP), NULL,
					       SONDE_CRITICAL_KINDS),
	       share = asleep_ns / facts->span_ns;
	if (!(share > facts->threshold[SONDE_THRESHOLD_SLEEP]))
		return 0;
	size_t row = 0;
	while (row < waits->of.rows && sonde_column_label(waits, row, kind) != SONDE_WAIT_SLEEP)
		row++;
	const char *where = sonde_column_text(waits, row, function);
	double calls = sonde_column_count(waits, row, calls), mean_ns = sonde_column_ns(waits, row, mean_ns);
	double parts = 0;
	for (size_t i = 0; i < path->of.rows; i++)
		if (sonde_column_label(path, i, kind) == sonde_critical_element_of_wait(SONDE_WAIT_SLEEP))
			parts += or_0(sonde_column_count(path, i, count));
	if (!(calls >= 10) || !(parts > 0)) /* a deliberate pause */
		return 0;
	const char *part = sonde_figure_text(found->report, asleep_ns / parts / 1e6);
	const char *mean = sonde_figure_text(found->report, mean_ns / 1e6);
	if (!part || !mean)
		return sonde_found_add(found, &(struct sonde_finding){0});
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){.subject = *where ? sonde_report_text(found->report, "%s", where) : "sleep",
				    .evidence = sonde_report_text(found->report,
								  "%.3f s of the critical path were spent asleep, in "
								  "%.0f sleeps of %s ms; in all, %s slept %.0f times, "
								  "%s ms on average",
								  asleep_ns / 1e9, parts, part,
								  *where ? where : "the program", calls, mean),
				    .saves_ns = asleep_ns,
				    .place = {.waits = SONDE_PLACE_WAITS(SLEEP)},
				    .weighs = fmin(share, 1)});
}

SONDE_EVALUATE(spawn)
{
	double sum_ns = 0, count = 0;
	const char *name = "";
	struct life *lives = calloc(sonde_session_process_count(facts->session) + 1, sizeof *lives);
	if (!lives)
		return sonde_found_add(found, &(struct sonde_finding){0});
	for (uint32_t id = 1; id <= sonde_session_process_count(facts->session); id++) {
		const struct sonde_process *process = sonde_session_process(facts->session, id);
		if (!process->parent || !process->end_ns || process->end_ns < process->start_ns)
			continue;
		double life_ns = (double)(process->end_ns - process->start_ns);
		if (!(life_ns < facts->threshold[SONDE_THRESHOLD_SPAWN_NS]))
			continue;
		sum_ns += life_ns;
		lives[(size_t)count++] = (struct life){process->start_ns, process->end_ns};
		name = process->name;
	}
	double together_ns = (double)union_ns(lives, (size_t)count);
	free(lives);
	/* Functions that start processes: their CPU time is the starting thread's cost. */
	static const char *const begins[] = {"fork",     "__libc_fork", "vfork",  "posix_spawn",
					     "__spawni", "do_system",   "system", NULL};
	double begins_ns = sonde_facts_cpu_on_path(facts, NULL, 0, sonde_facts_most_total_ns(facts, begins, 7));
	double share = together_ns / facts->span_ns;
	if (count < 50 || !(share > facts->threshold[SONDE_THRESHOLD_SPAWN]))
		return 0;
	double saves_ns = fmin(together_ns + begins_ns, facts->span_ns);
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = sonde_report_text(found->report, "%.0f processes such as %s", count, name),
		       .evidence = sonde_report_text(found->report,
						     "mean lifetime %.3g ms; for %.3f s at least one of them ran",
						     sum_ns / count / 1e6, together_ns / 1e9),
		       .saves_ns = saves_ns,
		       .place = {.functions = begins, .waits = SONDE_PLACE_WAITS(CHILD)},
		       .weighs = fmin(share, 1)});
}
