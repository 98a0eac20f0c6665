/* noise.c: whether other programs or a hypervisor used so much of the CPUs that waits prove nothing.
 *
 * A thread that waits for a CPU holds its lock longer and reaches its barrier later: which thread waits for which, and
 * for how long, then depends on other load. So do waits for files, and the rates of zones that report their work. What
 * a single thread computes is not affected, and its waiting for a CPU is accounted for (`stretch`). Findings about time
 * are therefore withheld if the recording has one of these three and the noise exceeds its threshold. Noise is the
 * critical path's waiting for a CPU, times the share of used CPU time that other programs had, plus the share of its
 * running time that a hypervisor stole. Waiting caused by the cgroup's own quota does not count. Without system-wide
 * readings the noise is unknown, and nothing is withheld.
 */
#include <math.h>
#include <string.h>

#include "analyze/findings/rules.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/resource/series.h"
#include "util/error.h"

#define WANTS 0.05 /* share of the span on a CPU or waiting for one, from which a thread's waits matter */

static double or_0(double value)
{
	return value > 0 ? value : 0;
}

static size_t wanting_threads(const struct sonde_facts *facts)
{
	const struct sonde_columns_threads *threads = &facts->columns.threads;
	size_t count = 0;
	for (size_t i = 0; i < threads->of.rows; i++)
		count += or_0(sonde_column_ns(threads, i, on_cpu_ns)) + or_0(sonde_column_ns(threads, i, runnable_ns)) >
			 WANTS * facts->span_ns;
	return count;
}

/* Share of the used CPU time, over all CPUs of the system, that other programs had; 0 = unknown. */
static int others_read(const struct sonde_facts *facts, double *others)
{
	struct sonde_series_sums sums;
	*others = 0;
	int rc = sonde_series_sums_read(&sums, facts->session, facts->options);
	if (rc)
		return rc;
	struct sonde_machine_cpu cpu = sonde_machine_cpu_of(&sums);
	sonde_series_sums_fini(&sums);
	double cpus_s = sonde_machine_cores(facts->session) * sonde_summary_value(&facts->columns, timing, wall_time_s);
	double used_s = (cpu.busy + cpu.stolen) * cpus_s;
	double own_s = sonde_summary_value(&facts->columns, timing, cpu_time_s) +
		       or_0(sonde_summary_value(&facts->columns, cost, recorder_cpu_time_s));
	if (cpu.known && used_s > 0 && own_s >= 0)
		*others = or_0(1 - own_s / used_s);
	return 0;
}

/* True if the findings would differ with other programs on the CPUs. */
static int can_be_disturbed(const struct sonde_facts *facts, const struct sonde_found *found)
{
	int rests_on_waits = 0;
	for (size_t i = 0; i < found->count; i++)
		rests_on_waits |= (found->rows[i].rule->needs & SONDE_NEEDS_WAITS) != 0;
	return rests_on_waits || facts->columns.roofline.of.rows || wanting_threads(facts) >= 2;
}

int sonde_finding_noise(const struct sonde_facts *facts, const struct sonde_found *found, double *out)
{
	double others = 0, throttled_ns = 0;
	*out = 0;
	if (!facts->has_path || !can_be_disturbed(facts, found))
		return 0;
	int rc = others_read(facts, &others);
	rc = rc ? rc : sonde_finding_throttled(facts, &throttled_ns);
	double waits =
	    or_0(sonde_facts_on_path(facts, NULL, NULL, SONDE_CRITICAL_RUNNABLE) - throttled_ns) / facts->span_ns;
	double cpu_s = sonde_summary_value(&facts->columns, timing, cpu_time_s);
	double stolen = or_0(sonde_summary_value(&facts->columns, timing, stolen_time_s)) / cpu_s;
	*out = waits * others + (cpu_s > 0 ? fmin(stolen, 1) * facts->running_ns / facts->span_ns : 0);
	return rc;
}
