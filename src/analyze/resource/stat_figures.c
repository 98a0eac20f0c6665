/* stat_figures.c: what a run used: from the kernel's final figures where they exist, else from polling.
 *
 * wait(2) returns figures for the command that include descendants only if each was waited for; polling misses what a
 * process did after its last reading. Both are lower bounds of accumulating figures, so the larger one is used. The
 * peak memory of several processes is their highest total at a reading, or the kernel's peak RSS of the largest process
 * if that is more.
 */
#include "analyze/resource/stat_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/cputime.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/resource/machine_devices.h"

#define PEAK_NEEDS 3   /* minimum number of readings: fewer may all precede the program's main allocations */
#define SEEN_SHARE 0.8 /* readings that cover less of the CPU time cannot tell how it was distributed */
#define ENDING_NS 2e6  /* CPU time for tearing down a process, after its last reading */

static const char too_short[] = "too short for two readings";
static const char unread[] = "it exited before it could be read";
static const char between[] = "processes started or exited between readings";
static const char before[] = "most of it was used before the first reading";

static const struct sonde_stat_row rows[] = {
#define SONDE_STAT(id, group, key, unit, meaning) {group, key, SONDE_UNIT_##unit, meaning},
#include "analyze/resource/stat_figures.def"
#undef SONDE_STAT
};

const struct sonde_stat_row *sonde_stat_row(enum sonde_stat figure)
{
	return &rows[figure];
}

int sonde_stat_known(const struct sonde_stat_figures *figures, enum sonde_stat figure)
{
	return figures->cell[figure].kind != SONDE_CELL_ABSENT;
}

double sonde_stat_value(const struct sonde_stat_figures *figures, enum sonde_stat figure)
{
	const struct sonde_cell *cell = &figures->cell[figure];
	return cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->kind == SONDE_CELL_REAL ? cell->real : 0;
}

struct filling {
	const struct sonde_series_sums *sums;
	const struct sonde_run *run;
	const struct sonde_process *root; /* the process whose wait(2) figures apply; NULL = none */
	struct sonde_stat_figures *out;
	const char *why_unread;  /* why polling gave no figures of processes */
	const char *why_machine; /* nothing about the system is known; else NULL */
	const char *why_missed;  /* polling alone missed much of the run; else NULL */
	uint64_t wall_ns;
};

static void put(struct filling *filling, enum sonde_stat figure, double value, const char *why_not)
{
	filling->out->cell[figure] = why_not ? sonde_cell_absent(why_not)
				     : rows[figure].unit == SONDE_UNIT_RATIO || rows[figure].unit == SONDE_UNIT_NUMBER
					 ? sonde_cell_real(value, 0)
					 : sonde_cell_int(sonde_series_whole(value));
}

/* --- processes --------------------------------------------------------------------------------------------------- */

/* Why a source was unavailable; NULL if it was available. */
static const char *why_unavailable(const struct sonde_session *session, const char *name)
{
	const struct sonde_source_row *source = sonde_session_source_named(session, name);
	return source && source->state == SONDE_SOURCE_UNAVAILABLE && *source->detail ? source->detail : NULL;
}

static const char *why_unread(const struct sonde_series_sums *sums)
{
	const struct sonde_session *session = sums->session;
	const char *why = why_unavailable(session, "resources");
	if (why)
		return why;
	const struct sonde_run *run = sonde_session_run(session);
	int is_short = sums->requested_ns && run->wall_ns < sums->requested_ns;
	return sums->readings && !is_short ? "not reported by the kernel" : unread;
}

/* True if the readings cover nearly all CPU time. While a process ends, it uses CPU time but can no longer be read.
 * That time is allowed for, because it is most of the CPU time of a process that did nothing. */
static int have_seen(const struct filling *filling, double read_ns, double cpu_ns)
{
	const struct sonde_series_sums *sums = filling->sums;
	size_t processes = sonde_session_process_count(sums->session), read = 0;
	for (size_t row = 1; row <= sums->row_count; row++)
		read += sonde_series_sum_of(sums, row, SONDE_METRIC_CPU_USER) != NULL;
	int is_short = !sums->requested_ns || filling->wall_ns < 2 * sums->requested_ns;
	double ending_ns = is_short || read < processes ? 0 : ENDING_NS * (double)processes;
	return read_ns >= SEEN_SHARE * cpu_ns || read_ns + ending_ns >= cpu_ns;
}

static void fill_times(struct filling *filling)
{
	const struct sonde_series_sums *sums = filling->sums;
	struct sonde_cpu_time cpu = sonde_cpu_time_of(sums->session, 0);
	size_t known = 0, too = 0;
	double user_ns = sonde_series_tree_change(sums, SONDE_METRIC_CPU_USER, &known);
	double system_ns = sonde_series_tree_change(sums, SONDE_METRIC_CPU_SYSTEM, &too);
	double cores = sonde_machine_cores(sums->session), wall_ns = (double)filling->wall_ns;
	const char *why = known || too ? NULL : filling->why_unread, *why_split = why;
	double cpu_ns = user_ns + system_ns, read_ns = cpu_ns;
	if (filling->root && cpu.known) {
		why = NULL;
		filling->out->at_least = cpu.at_least || cpu_ns > 1.02 * (double)cpu.ns + 20e6;
		cpu_ns = (double)cpu.ns > cpu_ns || !filling->out->at_least ? (double)cpu.ns : cpu_ns;
		user_ns = filling->out->at_least && user_ns > (double)cpu.user_ns ? user_ns : (double)cpu.user_ns;
		system_ns =
		    filling->out->at_least && system_ns > (double)cpu.system_ns ? system_ns : (double)cpu.system_ns;
		why_split = NULL;
	}
	if (filling->root && cpu.known && !have_seen(filling, read_ns, cpu_ns))
		filling->why_missed = known || too ? between : unread;
	put(filling, SONDE_STAT_WALL, wall_ns, NULL);
	put(filling, SONDE_STAT_CPU, cpu_ns, why);
	put(filling, SONDE_STAT_USER, user_ns, why_split);
	put(filling, SONDE_STAT_SYSTEM, system_ns, why_split);
	put(filling, SONDE_STAT_UTILIZATION, sonde_stats_share(cpu_ns, wall_ns), wall_ns > 0 ? why : "no wall time");
	const char *why_range = !sums->cpu.count                                     ? too_short
				: !have_seen(filling, read_ns, cpu_ns)               ? between
				: sums->cpu.max < sonde_stats_share(cpu_ns, wall_ns) ? before
										     : NULL;
	put(filling, SONDE_STAT_UTILIZATION_MAX, sums->cpu.max, why_range);
	put(filling, SONDE_STAT_UTILIZATION_MIN, sums->cpu.min, why_range);
	put(filling, SONDE_STAT_CORES, cores, cores > 0 ? NULL : "not reported");
	put(filling, SONDE_STAT_MACHINE_SHARE, sonde_stats_share(cpu_ns, cores * wall_ns),
	    cores > 0 && wall_ns > 0 ? why : "the number of cores is unknown");
}

static void fill_gauge(struct filling *filling, enum sonde_stat figure, enum sonde_tree_gauge gauge, int is_last)
{
	const struct sonde_tree_sum *sum = &filling->sums->tree[gauge];
	put(filling, figure, is_last ? (double)sum->last : (double)sum->max,
	    sum->rounds ? filling->why_missed : filling->why_unread);
}

/* The RSS of the process before its exec; 0 = unknown. The kernel's peak RSS includes it, so a lower peak of the
 * command is not visible. */
static uint64_t held_b(const struct filling *filling)
{
	const char *text = filling->root ? sonde_session_info(filling->sums->session, "run.held_rss_b") : NULL;
	return text ? strtoull(text, NULL, 10) : 0;
}

static double highest_reading(const struct filling *filling)
{
	double highest = 0;
	for (size_t row = 1; row <= filling->sums->row_count; row++) {
		const struct sonde_series_sum *mark =
		    sonde_series_sum_of(filling->sums, row, SONDE_METRIC_MEMORY_PEAK_RSS);
		if (mark && !filling->sums->from_ns && (double)mark->max > highest)
			highest = (double)mark->max;
	}
	return highest;
}

/* The kernel's peak RSS of the largest process, or the highest peak that polling saw; 0 = neither is known. */
static double highest_mark(struct filling *filling)
{
	uint64_t told_b = filling->root ? filling->root->peak_rss_b : 0, before_b = held_b(filling);
	if (told_b > before_b)
		return (double)told_b;
	filling->out->peak_below_b = before_b;
	snprintf(filling->out->why_no_peak, sizeof filling->out->why_no_peak,
		 "less than the %u kB that the process had before its program started", (unsigned)(before_b / 1000));
	return !before_b || filling->sums->tree[SONDE_TREE_RSS].rounds >= PEAK_NEEDS ? highest_reading(filling) : 0;
}

/* Fills in PSS. It is polled rarely: if there is a single reading, that is from the start and does not count. */
static void fill_pss(struct filling *filling)
{
	const struct sonde_series_sums *sums = filling->sums;
	uint64_t most = 0;
	for (size_t row = 1; row <= sums->row_count; row++) {
		const struct sonde_series_sum *pss = sonde_series_sum_of(sums, row, SONDE_METRIC_MEMORY_PSS);
		most = pss && pss->count > most ? pss->count : most;
	}
	const char *why = most > 1 ? filling->why_missed : most ? "read once, at the start" : filling->why_unread;
	put(filling, SONDE_STAT_PEAK_PSS, (double)sums->tree[SONDE_TREE_PSS].max, why);
	put(filling, SONDE_STAT_LAST_PSS, (double)sums->tree[SONDE_TREE_PSS].last, why);
}

static void fill_memory(struct filling *filling)
{
	const struct sonde_series_sums *sums = filling->sums;
	const struct sonde_tree_sum *rss = &sums->tree[SONDE_TREE_RSS];
	double mark = highest_mark(filling), mean = sonde_series_tree_mean(sums, SONDE_METRIC_MEMORY_RSS);
	int several = sonde_session_process_count(sums->session) > 1;
	filling->out->is_peak_sum = several && rss->rounds && (double)rss->max > mark;
	double peak = (double)rss->max > mark && (mark <= 0 || filling->out->is_peak_sum) ? (double)rss->max : mark;
	const char *why = rss->rounds ? NULL : filling->why_unread;
	if (filling->out->peak_below_b && mark <= 0)
		why = filling->out->why_no_peak;
	put(filling, SONDE_STAT_PEAK_RSS, peak, mark > 0 ? NULL : why);
	put(filling, SONDE_STAT_MEAN_RSS, mean, mean >= 0 ? filling->why_missed : filling->why_unread);
	put(filling, SONDE_STAT_FIRST_RSS, (double)rss->first, rss->rounds ? NULL : filling->why_unread);
	fill_gauge(filling, SONDE_STAT_LAST_RSS, SONDE_TREE_RSS, 1);
	fill_pss(filling);
	fill_gauge(filling, SONDE_STAT_PEAK_SWAP, SONDE_TREE_SWAP, 0);
	fill_gauge(filling, SONDE_STAT_FILES_PEAK, SONDE_TREE_FILES, 0);
	fill_gauge(filling, SONDE_STAT_FILES_LAST, SONDE_TREE_FILES, 1);
	fill_gauge(filling, SONDE_STAT_THREADS_PEAK, SONDE_TREE_THREADS, 0);
	fill_gauge(filling, SONDE_STAT_THREADS_LAST, SONDE_TREE_THREADS, 1);
	fill_gauge(filling, SONDE_STAT_PROCESSES_PEAK, SONDE_TREE_PROCESSES, 0);
	put(filling, SONDE_STAT_PROCESSES, (double)sonde_session_process_count(sums->session), NULL);
	filling->out->count_at_least = sonde_session_info(sums->session, "run.processes_missed") != NULL ||
				       why_unavailable(sums->session, "resources") != NULL;
}

/* An accumulating figure. `reported`: the value from wait(2). */
static void fill_total(struct filling *filling, enum sonde_stat figure, enum sonde_metric metric, uint64_t reported)
{
	size_t known = 0;
	double read = sonde_series_tree_change(filling->sums, metric, &known);
	int is_reported = filling->root && figure != SONDE_STAT_MIGRATIONS && figure != SONDE_STAT_READ_ALL &&
			  figure != SONDE_STAT_WRITTEN_ALL;
	put(filling, figure, is_reported && (double)reported > read ? (double)reported : read,
	    is_reported ? NULL
	    : known     ? filling->why_missed
			: filling->why_unread);
}

static void fill_totals(struct filling *filling)
{
	static const struct sonde_process nothing;
	const struct sonde_process *reported = filling->root ? filling->root : &nothing;
	fill_total(filling, SONDE_STAT_FAULTS_MINOR, SONDE_METRIC_FAULTS_MINOR, reported->minor_faults);
	fill_total(filling, SONDE_STAT_FAULTS_MAJOR, SONDE_METRIC_FAULTS_MAJOR, reported->major_faults);
	fill_total(filling, SONDE_STAT_VOLUNTARY, SONDE_METRIC_SWITCHES_VOLUNTARY, reported->voluntary_switches);
	fill_total(filling, SONDE_STAT_INVOLUNTARY, SONDE_METRIC_SWITCHES_INVOLUNTARY, reported->involuntary_switches);
	fill_total(filling, SONDE_STAT_READ, SONDE_METRIC_IO_READ, reported->read_b);
	fill_total(filling, SONDE_STAT_WRITTEN, SONDE_METRIC_IO_WRITTEN, reported->written_b);
	fill_total(filling, SONDE_STAT_READ_ALL, SONDE_METRIC_IO_READ_ALL, 0);
	fill_total(filling, SONDE_STAT_WRITTEN_ALL, SONDE_METRIC_IO_WRITTEN_ALL, 0);
	fill_total(filling, SONDE_STAT_MIGRATIONS, SONDE_METRIC_MIGRATIONS, 0);
}

/* --- FLOP -------------------------------------------------------------------------------------------------------- */

static void fill_flop(struct filling *filling)
{
	size_t known = 0;
	double flop = sonde_series_tree_change(filling->sums, SONDE_METRIC_FLOP, &known);
	double wall_s = (double)filling->wall_ns / 1e9;
	const char *why = known ? NULL : why_unavailable(filling->sums->session, "flop");
	why = known || why ? why : SONDE_STAT_FLOP_UNASKED;
	put(filling, SONDE_STAT_FLOP, flop, why);
	put(filling, SONDE_STAT_FLOP_RATE, wall_s > 0 ? flop / wall_s : 0, wall_s > 0 ? why : "no wall time");
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

/* Fills in the time for which threads waited for a CPU: it is read from threads, not from processes. */
static void fill_runnable(struct filling *filling)
{
	size_t threads;
	double sum_ns = sonde_series_waited(filling->sums, 0, &threads);
	const char *why = why_unavailable(filling->sums->session, "threads");
	put(filling, SONDE_STAT_RUNNABLE, sum_ns, threads ? filling->why_missed : why ? why : "no thread was read");
}

/* --- the machine ------------------------------------------------------------------------------------------------- */

static const char *why_machine(const struct filling *filling)
{
	return filling->why_machine ? filling->why_machine : "the system was not read";
}

static void fill_machine_cpu(struct filling *filling)
{
	const struct sonde_series_sums *sums = filling->sums;
	struct sonde_machine_cpu cpu = sonde_machine_cpu_of(sums);
	const struct sonde_series_sum *load = sonde_series_sum_of(sums, 0, SONDE_METRIC_LOAD);
	const char *why = sonde_series_sum_of(sums, 0, SONDE_METRIC_CPU_IDLE) ? too_short : why_machine(filling);
	put(filling, SONDE_STAT_MACHINE_CPU, cpu.busy, cpu.known ? NULL : why);
	put(filling, SONDE_STAT_MACHINE_CPU_MAX, sums->busy.max, sums->busy.count ? NULL : why);
	put(filling, SONDE_STAT_MACHINE_CPU_MIN, sums->busy.min, sums->busy.count ? NULL : why);
	put(filling, SONDE_STAT_MACHINE_IOWAIT, cpu.iowait, cpu.known ? NULL : why);
	put(filling, SONDE_STAT_MACHINE_STOLEN, cpu.stolen, cpu.known ? NULL : why);
	put(filling, SONDE_STAT_LOAD, load ? sonde_series_mean(load) / 1000 : 0, load ? NULL : why_machine(filling));
	put(filling, SONDE_STAT_LOAD_MAX, load ? (double)load->max / 1000 : 0, load ? NULL : why_machine(filling));
}

static void fill_machine_memory(struct filling *filling)
{
	struct sonde_machine_memory memory = sonde_machine_group_memory_of(filling->sums);
	const struct sonde_series_sum *group = sonde_series_sum_of(filling->sums, 0, SONDE_METRIC_CGROUP_MEMORY);
	filling->out->is_limited = memory.known;
	if (!memory.known)
		memory = sonde_machine_memory_of(filling->sums);
	const char *why = memory.known ? NULL : why_machine(filling);
	put(filling, SONDE_STAT_MACHINE_MEMORY, memory.mean, why);
	put(filling, SONDE_STAT_MACHINE_MEMORY_MAX, memory.max, why);
	put(filling, SONDE_STAT_MACHINE_MEMORY_ALL, (double)memory.all_b, why);
	put(filling, SONDE_STAT_CGROUP_MEMORY, group ? (double)group->max : 0,
	    group                  ? NULL
	    : filling->why_machine ? filling->why_machine
				   : "no cgroup with memory accounting");
}

static void fill_objects(struct filling *filling)
{
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	size_t count = sonde_machine_objects(filling->sums, SONDE_MACHINE_DISKS, objects), others = 0;
	double busy = -1, in = 0, out = 0;
	for (size_t i = 0; i < count; i++) {
		double share = sonde_machine_share(objects[i].busy);
		busy = share > busy ? share : busy;
		in += sonde_machine_change(objects[i].in);
		out += sonde_machine_change(objects[i].out);
	}
	const char *why = count ? NULL : filling->why_machine ? filling->why_machine : "no disk was read";
	put(filling, SONDE_STAT_DISK_BUSY, busy, why ? why : busy < 0 ? too_short : NULL);
	put(filling, SONDE_STAT_DISK_READ, in, why);
	put(filling, SONDE_STAT_DISK_WRITTEN, out, why);
	count = sonde_machine_objects(filling->sums, SONDE_MACHINE_NETWORKS, objects);
	in = out = 0;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(objects[i].name, "lo") == 0 || objects[i].is_stacked)
			continue;
		others++;
		in += sonde_machine_change(objects[i].in);
		out += sonde_machine_change(objects[i].out);
	}
	why = others ? NULL : filling->why_machine ? filling->why_machine : "no interface but loopback was read";
	put(filling, SONDE_STAT_RECEIVED, in, why);
	put(filling, SONDE_STAT_SENT, out, why);
}

static void fill_pressure(struct filling *filling)
{
	static const struct {
		enum sonde_stat figure;
		enum sonde_metric metric;
		const char *object;
	} pressures[] = {
	    {SONDE_STAT_PRESSURE_CPU, SONDE_METRIC_PRESSURE_SOME, "cpu"},
	    {SONDE_STAT_PRESSURE_CPU_FULL, SONDE_METRIC_PRESSURE_FULL, "cpu"},
	    {SONDE_STAT_PRESSURE_MEMORY, SONDE_METRIC_PRESSURE_SOME, "memory"},
	    {SONDE_STAT_PRESSURE_MEMORY_FULL, SONDE_METRIC_PRESSURE_FULL, "memory"},
	    {SONDE_STAT_PRESSURE_IO, SONDE_METRIC_PRESSURE_SOME, "io"},
	    {SONDE_STAT_PRESSURE_IO_FULL, SONDE_METRIC_PRESSURE_FULL, "io"},
	};
	for (size_t i = 0; i < sizeof pressures / sizeof *pressures; i++) {
		const struct sonde_series_sum *sum =
		    sonde_series_sum_of_object(filling->sums, pressures[i].metric, pressures[i].object);
		double share = sonde_machine_share(sum);
		put(filling, pressures[i].figure, share,
		    share >= 0             ? NULL
		    : sum                  ? too_short
		    : filling->why_machine ? filling->why_machine
					   : "the kernel has no pressure figures (/proc/pressure)");
	}
}

static void fill_group(struct filling *filling)
{
	const char *why = filling->why_machine ? filling->why_machine : "no cgroup with a CPU quota";
	const struct sonde_series_sums *sums = filling->sums;
	const struct sonde_series_sum *held = sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_THROTTLED);
	const struct sonde_series_sum *periods = sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_PERIODS);
	double count = sonde_machine_change(periods);
	double throttled = sonde_machine_change(sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_THROTTLED_PERIODS));
	put(filling, SONDE_STAT_THROTTLED, sonde_machine_change(held), held && count > 0 ? NULL : why);
	put(filling, SONDE_STAT_THROTTLED_PERIODS, sonde_stats_share(throttled, count), count > 0 ? NULL : why);
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static const char *why_no_device(const struct filling *filling)
{
	const struct sonde_source_row *nvml = sonde_session_source_named(filling->sums->session, "nvml");
	return !nvml ? SONDE_STAT_DEVICES_UNASKED : *nvml->detail ? nvml->detail : unread;
}

static void fill_devices(struct filling *filling)
{
	const char *names[SONDE_MACHINE_DEVICES_MAX], *untold = "not reported by the driver";
	size_t count = sonde_machine_devices(filling->sums, names), reported = 0;
	double busy = 0, most = -1, memory_b = -1, own_b = -1;
	for (size_t i = 0; i < count; i++) {
		struct sonde_machine_device device;
		sonde_machine_device_of(&device, filling->sums, names[i]);
		reported += device.busy >= 0;
		busy += device.busy >= 0 ? device.busy : 0;
		most = larger(most, device.busy_most);
		memory_b = larger(memory_b, device.memory_most_b);
		own_b = larger(own_b, device.own_most_b);
	}
	const char *why = count ? NULL : why_no_device(filling);
	const char *why_busy = why ? why : reported ? NULL : untold;
	put(filling, SONDE_STAT_DEVICES, (double)count, why);
	put(filling, SONDE_STAT_DEVICE_BUSY, reported ? busy / (double)reported : 0, why_busy);
	put(filling, SONDE_STAT_DEVICE_BUSY_MAX, most, why_busy);
	put(filling, SONDE_STAT_DEVICE_MEMORY, memory_b, why ? why : memory_b < 0 ? untold : NULL);
	put(filling, SONDE_STAT_DEVICE_MEMORY_OWN, own_b,
	    why         ? why
	    : own_b < 0 ? "the driver reported no process of the command on a GPU"
			: NULL);
}

static void fill_sampling(struct filling *filling)
{
	const struct sonde_series_sums *sums = filling->sums;
	const char *why = sums->between.count ? NULL : too_short;
	double cost_ns = 0;
	int known = 0;
	for (size_t i = 0; i < sonde_session_cost_count(sums->session); i++) {
		const struct sonde_cost *cost = sonde_session_cost(sums->session, i);
		if (strcmp(cost->what, "recorder.user_ns") && strcmp(cost->what, "recorder.system_ns"))
			continue;
		cost_ns += (double)cost->value;
		known = 1;
	}
	put(filling, SONDE_STAT_READINGS, (double)sums->readings, NULL);
	put(filling, SONDE_STAT_REQUESTED, (double)sums->requested_ns, sums->requested_ns ? NULL : "not reported");
	put(filling, SONDE_STAT_INTERVAL, sums->between.mean, why);
	put(filling, SONDE_STAT_JITTER, sonde_moments_std(&sums->between), sums->between.count > 1 ? NULL : too_short);
	put(filling, SONDE_STAT_LONGEST, (double)sums->longest_ns, why);
	put(filling, SONDE_STAT_COST, cost_ns, known ? NULL : "not reported");
}

/* Sums the wait(2) figures of all commands of a merged recording; 0: some are missing. */
static int add_commands(const struct sonde_session *session, struct sonde_process *sum)
{
	*sum = (struct sonde_process){0};
	for (size_t i = 0; i < sonde_session_part_count(session); i++) {
		const struct sonde_part *part = sonde_session_part(session, i);
		const struct sonde_process *reported = sonde_session_process(session, part->root_process);
		if (!reported || !reported->end_ns || part->attached)
			return 0;
		sum->peak_rss_b = reported->peak_rss_b > sum->peak_rss_b ? reported->peak_rss_b : sum->peak_rss_b;
		sum->minor_faults += reported->minor_faults;
		sum->major_faults += reported->major_faults;
		sum->voluntary_switches += reported->voluntary_switches;
		sum->involuntary_switches += reported->involuntary_switches;
		sum->read_b += reported->read_b;
		sum->written_b += reported->written_b;
	}
	return sonde_session_part_count(session) > 1;
}

void sonde_stat_figures_of(struct sonde_stat_figures *out, const struct sonde_series_sums *sums)
{
	const struct sonde_run *run = sonde_session_run(sums->session);
	const struct sonde_process *root = sonde_session_process(sums->session, run->root_process);
	struct filling filling = {.sums = sums,
				  .run = run,
				  .out = out,
				  .why_unread = why_unread(sums),
				  .why_machine = why_unavailable(sums->session, "resources")};
	uint64_t from_ns = run->start_ns, to_ns = run->end_ns;
	int is_whole = !sums->from_ns && !sums->to_ns;
	memset(out, 0, sizeof *out);
	if (root && !sums->attached)
		sonde_series_life(sums, root->id, &from_ns, &to_ns);
	filling.wall_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	if (root && !sums->attached && is_whole && root->end_ns && run->cpu_known)
		filling.root = root;
	struct sonde_process commands;
	if (!root && is_whole && run->cpu_known && add_commands(sums->session, &commands))
		filling.root = &commands;
	out->is_exact = filling.root != NULL;
	fill_times(&filling);
	fill_memory(&filling);
	fill_totals(&filling);
	fill_flop(&filling);
	fill_runnable(&filling);
	fill_machine_cpu(&filling);
	fill_machine_memory(&filling);
	fill_objects(&filling);
	fill_pressure(&filling);
	fill_group(&filling);
	fill_devices(&filling);
	fill_sampling(&filling);
}
