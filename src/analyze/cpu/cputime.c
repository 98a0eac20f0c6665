/* cputime.c: the CPU time of the whole run, from the kernel's figure and the threads' clocks. */
#include "analyze/cpu/cputime.h"

#include <string.h>

enum { SLACK_NS = 10000000 }; /* thread clocks are rounded, and read at other times than the kernel's figure */

static uint64_t clocks_ns(const struct sonde_session *session)
{
	uint64_t sum_ns = 0;
	for (uint32_t id = 1; id <= sonde_session_thread_count(session); id++)
		sum_ns += sonde_session_thread(session, id)->cpu_ns;
	return sum_ns;
}

static void find_stolen(const struct sonde_session *session, struct sonde_cpu_time *time)
{
	for (size_t i = 0; i < sonde_session_cost_count(session); i++) {
		const struct sonde_cost *cost = sonde_session_cost(session, i);
		if (strcmp(cost->what, "machine.stolen_ns") != 0)
			continue;
		time->stolen_ns = cost->value;
		time->stolen_known = 1;
	}
}

static int is_some_running(const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++)
		if (!sonde_session_process(session, id)->end_ns)
			return 1;
	return 0;
}

struct sonde_cpu_time sonde_cpu_time_of(const struct sonde_session *session, uint64_t sampled_ns)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_cpu_time time = {.ns = run->user_ns + run->system_ns,
				      .user_ns = run->user_ns,
				      .system_ns = run->system_ns,
				      .known = run->cpu_known};
	find_stolen(session, &time);
	uint64_t seen_ns = clocks_ns(session);
	if (sampled_ns > seen_ns && is_some_running(session))
		seen_ns = sampled_ns;
	if (!time.known && run->status == -1) /* attached, or the recording is incomplete: no better source */
		return time;
	if (time.known && sonde_session_process_count(session) < 2) /* a single process waited for no child */
		return time;
	if (seen_ns <= time.ns + time.stolen_ns + time.ns / 50 + SLACK_NS)
		return time;
	time.ns = seen_ns;
	time.known = time.at_least = 1;
	return time;
}
