/* starved.c: the rule about runnable threads without a CPU, due to a quota or to too many threads. */
#include <math.h>

#include "analyze/findings/rules.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/resource/series.h"

/* Waiting caused by the cgroup's quota. The kernel reports throttled time summed over CPUs, for all threads of the
 * group, including other programs, so it is an upper limit for this program. Throttled threads are runnable, so with a
 * higher quota, at most this much of the path's runnable time disappears. */
struct throttled {
	double periods_share, held_ns, saves_ns;
};

static int throttled_read(const struct sonde_facts *facts, struct throttled *out)
{
	struct sonde_series_sums sums;
	*out = (struct throttled){0};
	int rc = sonde_series_sums_read(&sums, facts->session, facts->options);
	if (rc)
		return rc;
	double periods = sonde_machine_change(sonde_series_sum_of(&sums, 0, SONDE_METRIC_CGROUP_PERIODS));
	double held = sonde_machine_change(sonde_series_sum_of(&sums, 0, SONDE_METRIC_CGROUP_THROTTLED_PERIODS));
	out->periods_share = periods > 0 ? fmin(held / periods, 1) : 0;
	out->held_ns = sonde_machine_change(sonde_series_sum_of(&sums, 0, SONDE_METRIC_CGROUP_THROTTLED));
	if (facts->has_path && out->periods_share > facts->threshold[SONDE_THRESHOLD_THROTTLED])
		out->saves_ns = fmin(out->held_ns, sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNABLE));
	sonde_series_sums_fini(&sums);
	return 0;
}

int sonde_finding_throttled(const struct sonde_facts *facts, double *out_ns)
{
	struct throttled throttled;
	int rc = throttled_read(facts, &throttled);
	*out_ns = throttled.saves_ns;
	return rc;
}

static int throttled_add(const struct sonde_facts *facts, struct sonde_found *found, const struct throttled *throttled)
{
	if (!(throttled->periods_share > facts->threshold[SONDE_THRESHOLD_THROTTLED]))
		return 0;
	const char *where = facts->has_path
				? sonde_report_text(found->report, "at most %.3f s of the critical path are due to it",
						    throttled->saves_ns / 1e9)
				: "its share of the critical path is unknown: no path was recorded";
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = "the cgroup's CPU quota",
		.evidence = sonde_report_text(
		    found->report,
		    "the quota ran out in %.1f %% of its periods; threads were stopped for %.3f s, summed over CPUs; "
		    "%s",
		    100 * throttled->periods_share, throttled->held_ns / 1e9, where),
		.saves_ns = throttled->saves_ns,
		.weighs = facts->has_path ? fmin(throttled->saves_ns / facts->span_ns, 1) : throttled->periods_share});
}

/* If other programs had the CPUs, there is nothing to fix in this one. */
SONDE_EVALUATE(starved)
{
	struct throttled throttled;
	int rc = throttled_read(facts, &throttled);
	rc = rc ? rc : throttled_add(facts, found, &throttled);
	double waits_ns = sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNABLE) - throttled.saves_ns;
	double share = waits_ns / facts->span_ns, busy = sonde_facts_busy_threads(facts);
	if (rc || !facts->has_path || !(share > facts->threshold[SONDE_THRESHOLD_STARVED]) || !(facts->cores > 0))
		return rc;
	int is_own = busy > facts->cores;
	const char *evidence =
	    is_own
		? sonde_report_text(
		      found->report,
		      "%.3f s of the critical path (%.1f %%) were spent waiting for a CPU: %.0f threads for %.0f CPUs",
		      waits_ns / 1e9, 100 * share, busy, facts->cores)
		: sonde_report_text(
		      found->report,
		      "%.3f s of the critical path (%.1f %%) were spent waiting for a CPU that another program used",
		      waits_ns / 1e9, 100 * share);
	return sonde_found_add(
	    found, &(struct sonde_finding){.subject = sonde_report_text(found->report, "%.0f CPUs", facts->cores),
					   .evidence = evidence,
					   .saves_ns = is_own ? waits_ns : 0,
					   .confidence = is_own ? 0 : 0.1,
					   .weighs = is_own ? fmin(share, 1) : 0.04});
}
