/* machine_sums.c: derives figures of the system from sums of series. */
#include "analyze/resource/machine_sums.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_NS 50000000u /* CPU accounting has a granularity of at most 10 ms */

/* Bytes in and out, and busy time; −1 = not reported. */
static const struct {
	enum sonde_metric in, out;
	int busy, stacked;
} kinds[] = {
    [SONDE_MACHINE_DISKS] = {SONDE_METRIC_DISK_READ, SONDE_METRIC_DISK_WRITTEN, SONDE_METRIC_DISK_BUSY, -1},
    [SONDE_MACHINE_NETWORKS] = {SONDE_METRIC_NETWORK_RECEIVED, SONDE_METRIC_NETWORK_SENT, -1,
				SONDE_METRIC_NETWORK_STACKED},
    [SONDE_MACHINE_PCIE] = {SONDE_METRIC_DEVICE_PCIE_RECEIVED, SONDE_METRIC_DEVICE_PCIE_SENT, -1, -1},
    [SONDE_MACHINE_NVLINK] = {SONDE_METRIC_DEVICE_NVLINK_RECEIVED, SONDE_METRIC_DEVICE_NVLINK_SENT, -1, -1},
};

static const struct sonde_series_sum *sum_or_none(const struct sonde_series_sums *sums, int metric, const char *object)
{
	return metric < 0 ? NULL : sonde_series_sum_of_object(sums, (enum sonde_metric)metric, object);
}

size_t sonde_machine_objects(const struct sonde_series_sums *sums, enum sonde_machine_kind kind,
			     struct sonde_machine_object *out)
{
	size_t count = 0;
	for (uint32_t id = 1; id <= sums->count && count < SONDE_MACHINE_OBJECTS_MAX; id++) {
		const struct sonde_series *series = sonde_session_series(sums->session, id);
		if (sums->metric[id] != (int)kinds[kind].in || series->process || !sums->sum[id].count)
			continue;
		out[count++] = (struct sonde_machine_object){
		    .name = series->object,
		    .in = &sums->sum[id],
		    .out = sonde_series_sum_of_object(sums, kinds[kind].out, series->object),
		    .busy = sum_or_none(sums, kinds[kind].busy, series->object),
		    .is_stacked = sum_or_none(sums, kinds[kind].stacked, series->object) != NULL};
	}
	return count;
}

double sonde_machine_change(const struct sonde_series_sum *sum)
{
	double change = sum ? (double)sum->last - (double)sum->first : 0;
	return change > 0 ? change : 0;
}

double sonde_machine_share(const struct sonde_series_sum *sum)
{
	if (!sum || sum->last_ns == sum->first_ns)
		return -1;
	return fmin(sonde_machine_change(sum) / (double)(sum->last_ns - sum->first_ns), 1);
}

struct sonde_machine_cpu sonde_machine_cpu_of(const struct sonde_series_sums *sums)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_CPU_USER, SONDE_METRIC_CPU_SYSTEM,
						    SONDE_METRIC_CPU_IDLE, SONDE_METRIC_CPU_IOWAIT,
						    SONDE_METRIC_CPU_STOLEN};
	double change[5], all = 0;
	for (size_t i = 0; i < 5; i++)
		all += change[i] = sonde_machine_change(sonde_series_sum_of(sums, 0, metrics[i]));
	const struct sonde_series_sum *idle = sonde_series_sum_of(sums, 0, SONDE_METRIC_CPU_IDLE);
	struct sonde_machine_cpu cpu = {.known = all > 0 && idle && idle->last_ns - idle->first_ns >= LEAST_NS};
	cpu.busy = sonde_stats_share(change[0] + change[1], all);
	cpu.iowait = sonde_stats_share(change[3], all);
	cpu.stolen = sonde_stats_share(change[4], all);
	return cpu;
}

struct sonde_machine_memory sonde_machine_memory_of(const struct sonde_series_sums *sums)
{
	const struct sonde_series_sum *all = sonde_series_sum_of(sums, 0, SONDE_METRIC_MEMORY_TOTAL);
	const struct sonde_series_sum *left = sonde_series_sum_of(sums, 0, SONDE_METRIC_MEMORY_AVAILABLE);
	struct sonde_machine_memory memory = {.known = all && left && all->last > 0};
	if (!memory.known)
		return memory;
	memory.all_b = (uint64_t)all->last;
	memory.mean = 1 - sonde_series_mean(left) / (double)all->last;
	memory.max = 1 - (double)left->min / (double)all->last;
	memory.min = 1 - (double)left->max / (double)all->last;
	return memory;
}

/* True if the series of the machine's memory is that of the control group. If the group's limit is lower than the
 * machine's memory, the recorder stores the limit as the total, and leaves reclaimable memory out of the used part. It
 * does not if the limit appeared midway, when the command moved to its group. */
static int is_all(const struct sonde_series_sum *limit, const struct sonde_series_sum *all)
{
	return limit && all && limit->last == all->last && all->min == all->max;
}

struct sonde_machine_memory sonde_machine_group_memory_of(const struct sonde_series_sums *sums)
{
	const struct sonde_series_sum *limit = sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_MEMORY_LIMIT);
	const struct sonde_series_sum *used = sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_MEMORY);
	const struct sonde_series_sum *all = sonde_series_sum_of(sums, 0, SONDE_METRIC_MEMORY_TOTAL);
	struct sonde_machine_memory memory = {.known = limit && used && limit->last > 0 &&
						       (!all || limit->last <= all->last)};
	if (!memory.known)
		return memory;
	if (is_all(limit, all))
		return sonde_machine_memory_of(sums);
	memory.all_b = (uint64_t)limit->last;
	memory.mean = sonde_series_mean(used) / (double)limit->last;
	memory.max = (double)used->max / (double)limit->last;
	memory.min = (double)used->min / (double)limit->last;
	return memory;
}

double sonde_machine_cores(const struct sonde_session *session)
{
	const char *text = sonde_session_info(session, "host.cpus");
	return text ? strtod(text, NULL) : 0;
}
