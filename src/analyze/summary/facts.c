/* facts.c: collects the facts behind the summary and its notes (summary/facts.h). */
#include "analyze/summary/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/resource/series.h"
#include "analyze/statistics/stats.h"

static uint64_t zones_count(struct sonde_session *session)
{
	size_t sites = sonde_session_site_count(session);
	struct sonde_zone_stat *stats = sites ? calloc(sites + 1, sizeof *stats) : NULL;
	uint64_t count = 0;
	if (stats && sonde_session_zone_stats(session, stats) != -ENOMEM) /* excluding unreadable chunks */
		for (size_t i = 0; i <= sites; i++)
			count += stats[i].count;
	free(stats);
	return count;
}

/* An attached process is not waited for: the CPU time of its tree is the change from the first reading to the last. */
static void cpu_from_readings(struct sonde_summary_facts *facts)
{
	struct sonde_series_sums sums;
	struct sonde_cpu_time *cpu = &facts->cpu;
	size_t user, system, all = sonde_session_process_count(facts->session);
	if (cpu->known || !facts->run->closed || !sonde_session_info(facts->session, "run.attached_pid") ||
	    sonde_session_info(facts->session, "option.keep_ns") || sonde_series_sums_read(&sums, facts->session, NULL))
		return;
	double user_ns = sonde_series_tree_change(&sums, SONDE_METRIC_CPU_USER, &user);
	double system_ns = sonde_series_tree_change(&sums, SONDE_METRIC_CPU_SYSTEM, &system);
	sonde_series_sums_fini(&sums);
	if (!user || user < all || system < all)
		return;
	cpu->user_ns = sonde_series_whole(user_ns);
	cpu->system_ns = sonde_series_whole(system_ns);
	cpu->ns = cpu->user_ns + cpu->system_ns;
	cpu->known = 1;
}

struct sonde_summary_facts sonde_summary_facts_of(const struct sonde_samples *samples)
{
	struct sonde_session *session = samples->session;
	struct sonde_summary_facts facts = {.session = session, .run = sonde_session_run(session), .samples = samples};
	facts.cpu = sonde_cpu_time_of(session, sonde_pass_selects(&samples->options) ? 0 : samples->all.ns);
	cpu_from_readings(&facts);
	facts.zones = zones_count(session);
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		facts.lost += lost->count;
		facts.lost_zones |= lost->count && strcmp(lost->source, "zones") == 0;
	}
	for (size_t i = 0; i < sonde_session_cost_count(session); i++) {
		const struct sonde_cost *cost = sonde_session_cost(session, i);
		if (strcmp(cost->what, "recorder.user_ns") && strcmp(cost->what, "recorder.system_ns"))
			continue;
		facts.cost_ns += cost->value;
		facts.cost_known = 1;
	}
	return facts;
}

double sonde_summary_cost_share(const struct sonde_summary_facts *facts)
{
	uint64_t whole = facts->cpu.known ? facts->cpu.ns : facts->run->wall_ns;
	return sonde_stats_share((double)facts->cost_ns, (double)whole);
}

int sonde_summary_is_cost_known(const struct sonde_summary_facts *facts)
{
	return facts->cost_known && (facts->cpu.known ? facts->cpu.ns > 0 : facts->run->closed);
}

const struct sonde_source_row *sonde_summary_source(const struct sonde_session *session, const char *name)
{
	for (size_t i = 0; i < sonde_session_source_count(session); i++)
		if (strcmp(sonde_session_source(session, i)->name, name) == 0)
			return sonde_session_source(session, i);
	return NULL;
}

/* True if the format of an imported file does not state losses: of all formats, only perf.data counts what was lost. */
static int is_silent(const char *from)
{
	return from && strcmp(from, "perf.data") != 0;
}

const char *sonde_summary_lost_unknown(const struct sonde_summary_facts *facts)
{
	const struct sonde_session *session = facts->session;
	size_t count = sonde_session_part_count(session);
	if (is_silent(sonde_session_info(session, "import.from")))
		return "unknown: the imported file does not say what was lost";
	if (!facts->run->closed && !facts->run->growing)
		return "unknown: the recording is incomplete, and losses are written at its end";
	for (size_t i = 0; count > 1 && i < count; i++) {
		char key[64];
		snprintf(key, sizeof key, "merged.%zu.import.from", i + 1);
		if (is_silent(sonde_session_info(session, key)))
			return "unknown: an imported part does not say what was lost";
		if (!sonde_session_part(session, i)->closed)
			return "unknown: a part is incomplete, and losses are written at its end";
	}
	return NULL;
}
