/* noise.c: how much other programs or a hypervisor may have held up the program.
 *
 * A thread that waits for a CPU holds its locks longer, reaches barriers later, or no longer competes with other
 * threads for a lock. Which thread waits for which, and for how long, then depends on the load from other programs. The
 * effect of other programs is bounded: because of them, a thread waits for a CPU no longer than it was runnable, and no
 * longer than other programs ran, summed over all CPUs. An exited process that is still on a CPU holds up its parent,
 * but is not held up itself (exits.c). Waiting caused by the cgroup's own quota does not count. A hypervisor adds the
 * share of running time that it stole. Without system-wide readings, nothing is known, and the bounds are 0.
 *
 * `path` is an estimate instead: the critical path's waiting for a CPU, times the share of used CPU time that other
 * programs had. verdict.c judges what the bounds may change.
 */
#include <math.h>

#include "analyze/findings/rules.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/resource/series.h"

#define WANTS 0.05 /* share of the span on a CPU or waiting for one, from which a thread's waits matter */

static double or_0(double value)
{
	return value > 0 ? value : 0;
}

/* True if some thread besides the busiest, or all of them together, are on a CPU or runnable for a good part of the
 * run. */
static int is_shared(const struct sonde_facts *facts)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	double all_ns = 0, most_ns = 0;
	for (size_t i = 0; i < threads->of.rows; i++) {
		double wants_ns =
		    or_0(sonde_column_ns(threads, i, on_cpu_ns)) + or_0(sonde_column_ns(threads, i, runnable_ns));
		all_ns += wants_ns;
		most_ns = fmax(most_ns, wants_ns);
	}
	return all_ns - most_ns > WANTS * facts->span_ns;
}

/* CPU time of other programs, and its share of the used CPU time, over all CPUs of the system; 0 = unknown. */
struct others {
	double ns, share;
};

static int others_read(const struct sonde_facts *facts, struct others *out)
{
	struct sonde_series_sums sums;
	*out = (struct others){0};
	int rc = sonde_series_sums_read(&sums, facts->session, facts->options);
	if (rc)
		return rc;
	struct sonde_machine_cpu cpu = sonde_machine_cpu_of(&sums);
	sonde_series_sums_fini(&sums);
	double cpus_s = sonde_machine_cores(facts->session) * sonde_summary_value(&facts->columns, timing, wall_time_s);
	double used_s = (cpu.busy + cpu.stolen) * cpus_s;
	double own_s = sonde_summary_value(&facts->columns, timing, cpu_time_s) +
		       or_0(sonde_summary_value(&facts->columns, cost, recorder_cpu_time_s));
	if (cpu.known && used_s > 0 && own_s >= 0) {
		out->ns = 1e9 * or_0(used_s - own_s);
		out->share = or_0(1 - own_s / used_s);
	}
	return 0;
}

/* The longest time for which other programs can have held up a thread, or the path, whose parts are of many threads.
 * exits_ns: how long exited processes were on a CPU during wake-ups on the path. */
static double held_up_ns(const struct sonde_facts *facts, double others_ns, double throttled_ns, double exits_ns)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	double most_ns = sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNABLE) +
			 or_0(sonde_facts_in_state(facts, SONDE_CRITICAL_WAKING) - exits_ns);
	for (size_t i = 0; i < threads->of.rows; i++)
		most_ns = fmax(most_ns, or_0(sonde_column_ns(threads, i, runnable_ns)));
	return fmin(or_0(most_ns - throttled_ns), others_ns);
}

int sonde_finding_noise(const struct sonde_facts *facts, struct sonde_noise *out)
{
	struct others others;
	double throttled_ns = 0, exits_ns = 0;
	*out = (struct sonde_noise){.is_shared = is_shared(facts)};
	if (!facts->has_path)
		return 0;
	int rc = others_read(facts, &others);
	rc = rc ? rc : sonde_finding_throttled(facts, &throttled_ns);
	if (!rc && others.ns > 0)
		rc = sonde_finding_exits(facts, &exits_ns);
	double waits = or_0(sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNABLE) - throttled_ns) / facts->span_ns;
	double cpu_s = sonde_summary_value(&facts->columns, timing, cpu_time_s);
	double stolen = or_0(sonde_summary_value(&facts->columns, timing, stolen_time_s)) / cpu_s;
	double stolen_share = cpu_s > 0 ? fmin(stolen, 1) * facts->running_ns / facts->span_ns : 0;
	out->path = waits * others.share + stolen_share;
	out->held_up = fmin(held_up_ns(facts, others.ns, throttled_ns, exits_ns) / facts->span_ns + stolen_share, 1);
	out->slowed = fmax(out->held_up, others.share);
	return rc;
}
