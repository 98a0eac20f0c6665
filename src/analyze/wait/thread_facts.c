/* thread_facts.c: notes about thread states. There is at most one note, about the first of these facts that applies. A
 * user can act on any of them: too few CPUs, one thread that does all the work, threads that wait for something
 * else. */
#include "analyze/wait/thread_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/marks.h"

#include "analyze/statistics/stats.h"
#include "analyze/words.h"

#define LEAST_NS 10000000u     /* shorter times are not significant */
#define WAITS_LEAST 0.1        /* least share of a thread's lifetime spent waiting for a CPU */
#define ALL_WORK 0.8           /* share of all time on CPU with which one thread does all the work */
#define HARDLY_ANY 0.05        /* largest share of all lifetimes on CPU for a run that mostly waits */
#define UNSURE_LEAST 0.01      /* least share of all lifetimes that is reported */
#define INTERRUPTED_LEAST 0.01 /* least share of the time on CPU that is reported */

static struct sonde_states_row sum(const struct sonde_thread_facts *facts)
{
	struct sonde_states_row all = {0};
	for (size_t i = 0; i < facts->count; i++)
		sonde_states_add(&all, &facts->states->rows[facts->ids[i]]);
	return all;
}

static double share(uint64_t part_ns, uint64_t whole_ns)
{
	return sonde_stats_share((double)part_ns, (double)whole_ns);
}

const char *sonde_thread_facts_why_none(const struct sonde_states *states, const struct sonde_session *session,
					struct sonde_report *report)
{
	int is_known = states->has_switches || states->has_readings;
	const struct sonde_source_row *row = sonde_session_source_named(session, "threads");
	if (!is_known && row && *row->detail)
		return row->detail;
	const char *missing = sonde_pass_missing(session, SONDE_NEEDS(SWITCHES) | SONDE_NEEDS(READINGS), report);
	if (missing)
		return missing;
	return is_known ? "it was never switched out, and its counters were not read"
			: "the recording has neither context switches nor scheduler counters";
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

/* Notes threads that wait for a CPU, and how many CPUs there are: "the machine has 2", or fewer that the run may use.
 */
static int note_waiting(const struct sonde_thread_facts *facts, struct sonde_report *report,
			struct sonde_section *section)
{
	struct sonde_states_row waiting = {0};
	size_t count = 0;
	for (size_t i = 0; i < facts->count; i++) {
		const struct sonde_states_row *row = &facts->states->rows[facts->ids[i]];
		if (row->life_ns < LEAST_NS || share(row->runnable_ns, row->life_ns) < WAITS_LEAST)
			continue;
		sonde_states_add(&waiting, row);
		count++;
	}
	const char *has = sonde_session_info(facts->session, "host.cpus");
	const char *may = sonde_session_info(facts->session, "run.cpus");
	double cpus = may ? strtod(may, NULL) : 0;
	int limited = cpus > 0 && has && cpus < strtod(has, NULL);
	cpus = cpus > 0 ? cpus : has ? strtod(has, NULL) : 0;
	if (!count)
		return 0;
	char where[64] = "";
	if (cpus > 0 && isfinite(cpus))
		snprintf(where, sizeof where, limited ? " (usable CPUs: %.3g)" : " (CPUs of the machine: %.3g)", cpus);
	sonde_report_note(report, section, 0, "%zu thread%s wait%s %.0f %% of %s time for a CPU%s", count,
			  sonde_plural(count), count == 1 ? "s" : "", 100 * share(waiting.runnable_ns, waiting.life_ns),
			  count == 1 ? "its" : "their", where);
	return 1;
}

static int note_alone(const struct sonde_thread_facts *facts, const struct sonde_states_row *all,
		      struct sonde_report *report, struct sonde_section *section)
{
	uint32_t busiest = facts->ids[0];
	for (size_t i = 0; i < facts->count; i++)
		if (facts->states->rows[facts->ids[i]].on_cpu_ns > facts->states->rows[busiest].on_cpu_ns)
			busiest = facts->ids[i];
	const struct sonde_states_row *row = &facts->states->rows[busiest];
	const struct sonde_thread *thread = sonde_session_thread(facts->session, busiest);
	if (facts->count < 3 || row->life_ns < LEAST_NS || share(row->on_cpu_ns, all->on_cpu_ns) < ALL_WORK ||
	    share(row->on_cpu_ns, row->life_ns) < 0.5)
		return 0;
	sonde_report_note(
	    report, section, 0,
	    "one of %zu threads does %.0f %% of the work: %s (tid %u) is on a CPU for %.0f %% of its time",
	    facts->count, 100 * share(row->on_cpu_ns, all->on_cpu_ns), *thread->name ? thread->name : "it", thread->tid,
	    100 * share(row->on_cpu_ns, row->life_ns));
	return 1;
}

static int note_fact(const struct sonde_thread_facts *facts, const struct sonde_states_row *all,
		     struct sonde_report *report, struct sonde_section *section)
{
	int rc = note_waiting(facts, report, section);
	rc = rc ? rc : note_alone(facts, all, report, section);
	if (rc || all->life_ns < LEAST_NS || share(all->on_cpu_ns + all->unseen_ns, all->life_ns) > HARDLY_ANY)
		return rc < 0 ? rc : 0;
	sonde_report_note(report, section, 0,
			  "threads are blocked for %.0f %% of their time: they wait for something other than a CPU",
			  100 * share(all->blocked_ns, all->life_ns));
	return 0;
}

/* --- reliability -------------------------------------------------------------------------------------------------- */

static void note_method(const struct sonde_thread_facts *facts, const struct sonde_states_row *all,
			struct sonde_report *report, struct sonde_section *section)
{
	double unsure = share(all->unsure_ns, all->life_ns), unseen = share(all->unseen_ns, all->life_ns);
	if (all->by)
		sonde_report_note(report, section, 0,
				  "on CPU, runnable (waiting for one), blocked: shares of each thread's lifetime");
	if (all->by == SONDE_STATES_READINGS && !facts->states->has_switches)
		sonde_report_note(
		    report, section, 0,
		    "states: from polled scheduler counters (schedstat); they cover %.1f %% of the threads' time",
		    100 * (1 - unseen));
	else if (all->by && unseen >= UNSURE_LEAST)
		sonde_report_note(report, section, 1, "%.1f %% of the threads' time is unknown", 100 * unseen);
	if (all->by && !facts->states->has_readings && !facts->states->has_wakeups)
		sonde_report_note(report, section, 0,
				  "a woken thread counts as blocked until it gets a CPU: wake-ups are not recorded");
	else if (unsure >= UNSURE_LEAST)
		sonde_report_note(
		    report, section, 0,
		    "up to %.3f s of the time blocked (%.1f %% of the threads' time) may be waiting for a CPU",
		    (double)all->unsure_ns / 1e9, 100 * unsure);
}

/* Notes what the blocked time of all threads consists of. */
static void note_explained(const struct sonde_thread_facts *facts, struct sonde_report *report,
			   struct sonde_section *section)
{
	struct sonde_explained all = {0}, one;
	uint64_t blocked_ns = 0;
	char text[160];
	for (size_t i = 0; facts->explain->known && i < facts->count; i++) {
		const struct sonde_states_row *row = &facts->states->rows[facts->ids[i]];
		if (row->by != SONDE_STATES_SWITCHES)
			continue;
		sonde_explain_thread(facts->explain, row, facts->ids[i], &one);
		sonde_explained_add(&all, &one);
		blocked_ns += row->blocked_ns;
	}
	if (!blocked_ns)
		return;
	sonde_explained_say(&all, blocked_ns, text, sizeof text);
	sonde_report_note(report, section, 0, "of %.3f s blocked, recorded calls%s explain %.3f s (%.1f %%): %s",
			  (double)blocked_ns / 1e9, facts->explain->cover.sampled ? " and sampled waits" : "",
			  (double)all.ns / 1e9, 100 * share(all.ns, blocked_ns), text);
}

static void note_doubts(const struct sonde_thread_facts *facts, const struct sonde_states_row *all,
			struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_run *run = sonde_session_run(facts->session);
	uint64_t taken_ns = all->clocked_ns > all->clock_ns ? all->clocked_ns - all->clock_ns : 0;
	if (all->clock_ns && taken_ns > LEAST_NS && share(taken_ns, all->clocked_ns) >= INTERRUPTED_LEAST)
		sonde_report_note(report, section, 0,
				  "interrupts and the hypervisor took %.3f s (%.1f %%) of the time on a CPU",
				  (double)taken_ns / 1e9, 100 * share(taken_ns, all->clocked_ns));
	for (size_t i = 0; facts->states->has_switches && i < sonde_session_lost_count(facts->session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(facts->session, i);
		if (strcmp(lost->source, "cpu") || !strstr(lost->cause, "buffer") || lost->to_ns < run->start_ns)
			continue;
		sonde_report_note(report, section, 1,
				  "kernel records were lost from %.3f s to %.3f s: thread states may be wrong there",
				  (double)(lost->from_ns - run->start_ns) / 1e9,
				  (double)(lost->to_ns - run->start_ns) / 1e9);
	}
}

int sonde_thread_facts_note(const struct sonde_thread_facts *facts, struct sonde_report *report,
			    struct sonde_section *section)
{
	struct sonde_states_row all = sum(facts);
	if (!facts->count)
		return 0;
	int rc = note_fact(facts, &all, report, section);
	if (rc == 0 && !all.by)
		sonde_report_note(report, section, 1, "no thread states: %s", facts->why_none);
	else if (rc == 0 && !facts->options->selection.thread && !facts->states->has_switches)
		sonde_report_note(report, section, 0,
				  "%zu thread%s seen: those living between two readings are missing", facts->count,
				  sonde_word(facts->count, " was", "s were"));
	else if (rc == 0 && !facts->options->selection.thread)
		sonde_report_note(report, section, 0, "%zu thread%s, at most %u at a time", facts->count,
				  sonde_plural(facts->count), facts->states->peak);
	if (rc >= 0)
		note_explained(facts, report, section);
	if (rc >= 0)
		note_method(facts, &all, report, section);
	if (rc >= 0)
		note_doubts(facts, &all, report, section);
	return rc;
}
