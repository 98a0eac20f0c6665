/* resources.c: the section `resources`: what every process used, and all of them together.
 *
 * The figures of a process come from its readings. For a run with a single process, they are the kernel's own figures,
 * where it reports them: those are exact up to the process's end. The first row is for all processes
 * (resource/stat_figures.h): the memory that they had together at one time, and sums of everything that accumulates.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/marks.h"
#include "analyze/resource/stat_figures.h"
#include "analyze/words.h"
#include "util/error.h"

#define TITLE "Resources of processes"

enum { DEFAULT_ROWS = 20 };
enum {
	PROCESS,
	PID,
	WALL,
	CPU,
	USE,
	SHARE,
	USER,
	SYSTEM,
	PEAK,
	LAST,
	FIRST,
	MEAN,
	MOST,
	PSS,
	PSS_MOST,
	SWAP_MOST,
	MINOR,
	MAJOR,
	WAITED,
	PREEMPTED,
	MOVES,
	RUNNABLE,
	THREADS,
	THREADS_LAST,
	FILES,
	FILES_LAST,
	READ,
	WRITTEN,
	READ_ALL,
	WRITTEN_ALL,
	READINGS,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 4},
    [WALL] = {"wall_ns", "wall", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [CPU] = {"cpu_ns", "CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [USE] = {"cpu_utilization", "of a core", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"cpu_machine_share", "of all cores", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 6},
    [USER] = {"user_ns", "user", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [SYSTEM] = {"system_ns", "system", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [PEAK] = {"peak_rss_b", "peak RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [LAST] = {"rss_last_b", "last RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [FIRST] = {"rss_first_b", "first RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 7},
    [MEAN] = {"rss_mean_b", "mean RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 4},
    [MOST] = {"rss_max_b", "peak RSS read", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 9},
    [PSS] = {"pss_last_b", "last PSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 8},
    [PSS_MOST] = {"pss_max_b", "peak PSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 6},
    [SWAP_MOST] = {"swap_max_b", "peak swap", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 7},
    [MINOR] = {SONDE_COLUMN_KEY(resources, faults_minor), "minor faults", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 6},
    [MAJOR] = {SONDE_COLUMN_KEY(resources, faults_major), "major faults", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 6},
    [WAITED] = {"switches_voluntary", "voluntary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [PREEMPTED] = {"switches_involuntary", "involuntary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 6},
    [MOVES] = {"migrations", "migrations", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 9},
    [RUNNABLE] = {"runnable_ns", "waiting for CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [THREADS] = {"threads_max", "threads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [THREADS_LAST] = {"threads_last", "last threads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 9},
    [FILES] = {"files_max", "descriptors", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 7},
    [FILES_LAST] = {"files_last", "last descriptors", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 9},
    [READ] = {"read_b", "read", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [WRITTEN] = {"written_b", "written", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [READ_ALL] = {"read_all_b", "read (calls)", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 8},
    [WRITTEN_ALL] = {"written_all_b", "written (calls)", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 8},
    [READINGS] = {"readings", "readings", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 10},
};

struct resources {
	struct sonde_series_sums sums;
	struct sonde_stat_figures all;
	struct sonde_pass_options options;
	double cores;
};

/* Columns that show the last or largest value of a gauge, or the change of a total; and the figure for all
 * processes. */
static const struct {
	int column;
	enum { IS_FIRST, IS_LAST, IS_MOST, IS_CHANGE } is;
	enum sonde_metric metric;
	enum sonde_stat all;
} cells[] = {
    {FIRST, IS_FIRST, SONDE_METRIC_MEMORY_RSS, SONDE_STAT_FIRST_RSS},
    {LAST, IS_LAST, SONDE_METRIC_MEMORY_RSS, SONDE_STAT_LAST_RSS},
    {PEAK, IS_MOST, SONDE_METRIC_MEMORY_PEAK_RSS, SONDE_STAT_PEAK_RSS},
    {PSS, IS_LAST, SONDE_METRIC_MEMORY_PSS, SONDE_STAT_LAST_PSS},
    {PSS_MOST, IS_MOST, SONDE_METRIC_MEMORY_PSS, SONDE_STAT_PEAK_PSS},
    {SWAP_MOST, IS_MOST, SONDE_METRIC_MEMORY_SWAP, SONDE_STAT_PEAK_SWAP},
    {USER, IS_CHANGE, SONDE_METRIC_CPU_USER, SONDE_STAT_USER},
    {SYSTEM, IS_CHANGE, SONDE_METRIC_CPU_SYSTEM, SONDE_STAT_SYSTEM},
    {MINOR, IS_CHANGE, SONDE_METRIC_FAULTS_MINOR, SONDE_STAT_FAULTS_MINOR},
    {MAJOR, IS_CHANGE, SONDE_METRIC_FAULTS_MAJOR, SONDE_STAT_FAULTS_MAJOR},
    {WAITED, IS_CHANGE, SONDE_METRIC_SWITCHES_VOLUNTARY, SONDE_STAT_VOLUNTARY},
    {PREEMPTED, IS_CHANGE, SONDE_METRIC_SWITCHES_INVOLUNTARY, SONDE_STAT_INVOLUNTARY},
    {MOVES, IS_CHANGE, SONDE_METRIC_MIGRATIONS, SONDE_STAT_MIGRATIONS},
    {RUNNABLE, IS_CHANGE, SONDE_METRIC_CPU_RUNNABLE, SONDE_STAT_RUNNABLE},
    {THREADS, IS_MOST, SONDE_METRIC_THREADS, SONDE_STAT_THREADS_PEAK},
    {THREADS_LAST, IS_LAST, SONDE_METRIC_THREADS, SONDE_STAT_THREADS_LAST},
    {FILES, IS_MOST, SONDE_METRIC_FILES, SONDE_STAT_FILES_PEAK},
    {FILES_LAST, IS_LAST, SONDE_METRIC_FILES, SONDE_STAT_FILES_LAST},
    {READ, IS_CHANGE, SONDE_METRIC_IO_READ, SONDE_STAT_READ},
    {WRITTEN, IS_CHANGE, SONDE_METRIC_IO_WRITTEN, SONDE_STAT_WRITTEN},
    {READ_ALL, IS_CHANGE, SONDE_METRIC_IO_READ_ALL, SONDE_STAT_READ_ALL},
    {WRITTEN_ALL, IS_CHANGE, SONDE_METRIC_IO_WRITTEN_ALL, SONDE_STAT_WRITTEN_ALL},
};

/* --- rows -------------------------------------------------------------------------------------------------------- */

static double cpu_of(const struct sonde_series_sums *sums, size_t row)
{
	const struct sonde_series_sum *user = sonde_series_sum_of(sums, row, SONDE_METRIC_CPU_USER);
	const struct sonde_series_sum *system = sonde_series_sum_of(sums, row, SONDE_METRIC_CPU_SYSTEM);
	return (user ? sonde_series_change(sums, user, row) : 0) +
	       (system ? sonde_series_change(sums, system, row) : 0);
}

/* The share uses the time up to the last reading, like the CPU time. */
static void cpu_cells(const struct resources *resources, size_t row, struct sonde_cell *cells_of)
{
	const struct sonde_series_sums *sums = &resources->sums;
	const struct sonde_series_sum *user = sonde_series_sum_of(sums, row, SONDE_METRIC_CPU_USER);
	uint64_t from_ns, to_ns;
	if (!user)
		return;
	sonde_series_life(sums, sums->process[row], &from_ns, &to_ns);
	double cpu_ns = cpu_of(sums, row);
	if (sonde_session_part_of(sums->session, sums->process[row])->attached && !user->has_before &&
	    user->first_ns > from_ns)
		from_ns = user->first_ns;
	uint64_t last_ns = user->has_after ? sums->to_ns : user->last_ns;
	double time_ns = last_ns > from_ns ? (double)(last_ns - from_ns) : 0;
	cells_of[CPU] = sonde_cell_int(sonde_series_whole(cpu_ns));
	if (time_ns <= 0)
		return;
	cells_of[USE] = sonde_cell_real(cpu_ns / time_ns, 0);
	if (resources->cores > 0)
		cells_of[SHARE] = sonde_cell_real(cpu_ns / time_ns / resources->cores, 0);
}

static void series_cells(const struct resources *resources, size_t row, struct sonde_cell *out)
{
	const struct sonde_series_sums *sums = &resources->sums;
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
		const struct sonde_series_sum *sum = sonde_series_sum_of(sums, row, cells[i].metric);
		int64_t value = !sum                      ? 0
				: cells[i].is == IS_FIRST ? sum->first
				: cells[i].is == IS_LAST  ? sum->last
				: cells[i].is == IS_MOST
				    ? sum->max
				    : (int64_t)sonde_series_whole(sonde_series_change(sums, sum, row));
		if (sum)
			out[cells[i].column] = sonde_cell_int(value > 0 ? (uint64_t)value : 0);
	}
	const struct sonde_series_sum *rss = sonde_series_sum_of(sums, row, SONDE_METRIC_MEMORY_RSS);
	if (rss) {
		out[READINGS] = sonde_cell_int(rss->count);
		out[MOST] = out[MEAN] = sonde_cell_absent("a single reading");
	}
	if (rss && rss->count > 1) {
		out[MOST] = sonde_cell_int(rss->max > 0 ? (uint64_t)rss->max : 0);
		out[MEAN] = sonde_cell_int(sonde_series_whole(sonde_series_mean(rss)));
	}
	/* The polled peak (VmHWM) can be below the highest RSS: it is polled less often, and the kernel keeps neither
	 * exactly. */
	if (rss && out[PEAK].kind == SONDE_CELL_INT && rss->max > 0 && out[PEAK].integer < (uint64_t)rss->max)
		out[PEAK] = sonde_cell_int((uint64_t)rss->max);
}

static struct sonde_cell *row_make(struct sonde_report *report, struct sonde_section *section, const char *why)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	for (size_t i = 0; row && i < COLUMNS; i++)
		row[i] = sonde_cell_absent(why);
	return row;
}

/* Fills the cells with the figures for all processes; with a single process, these are its own. The reason for an
 * absent peak is copied to the report, which outlives the figures. */
static void figure_cells(const struct resources *resources, struct sonde_report *report, struct sonde_cell *out)
{
	const struct sonde_stat_figures *all = &resources->all;
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		out[cells[i].column] = all->cell[cells[i].all];
	out[WALL] = all->cell[SONDE_STAT_WALL];
	out[CPU] = all->cell[SONDE_STAT_CPU];
	out[USE] = all->cell[SONDE_STAT_UTILIZATION];
	out[SHARE] = all->cell[SONDE_STAT_MACHINE_SHARE];
	out[MEAN] = all->cell[SONDE_STAT_MEAN_RSS];
	out[READINGS] = all->cell[SONDE_STAT_READINGS];
	out[MOST] = resources->sums.tree[SONDE_TREE_RSS].rounds
			? sonde_cell_int(sonde_series_whole((double)resources->sums.tree[SONDE_TREE_RSS].max))
			: all->cell[SONDE_STAT_LAST_RSS];
	if (out[PEAK].kind == SONDE_CELL_ABSENT && out[PEAK].text == all->why_no_peak)
		out[PEAK].text = sonde_report_text(report, "%s", all->why_no_peak);
}

static void all_add(const struct resources *resources, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = row_make(report, section, "");
	const char *name =
	    sonde_report_text(report, resources->all.count_at_least ? "all processes, %zu seen" : "all %zu processes",
			      sonde_session_process_count(resources->sums.session));
	figure_cells(resources, report, row);
	row[PROCESS] = sonde_cell_text(name);
	row[PID] = sonde_cell_absent("of all processes");
}

/* The cell for the time that a process's threads waited for a CPU. Only threads have this figure; it is absent if it is
 * not known for all of them, because their sum would be too low. */
static struct sonde_cell waited(const struct resources *resources, size_t row, struct sonde_report *report)
{
	const struct sonde_series_sums *sums = &resources->sums;
	const struct sonde_series_sum *at_once = sonde_series_sum_of(sums, row, SONDE_METRIC_THREADS);
	size_t read, all = 0;
	double waited_ns = sonde_series_waited(sums, sums->process[row], &read);
	for (uint32_t id = 1; id <= sonde_session_thread_count(sums->session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(sums->session, id);
		all += thread->process == sums->process[row] && (!thread->end_ns || thread->end_ns > sums->from_ns) &&
		       (!sums->to_ns || thread->start_ns < sums->to_ns);
	}
	if (at_once && at_once->max > (int64_t)all)
		all = (size_t)at_once->max;
	if (read && read >= all)
		return sonde_cell_int(sonde_series_whole(waited_ns));
	return sonde_cell_absent(sonde_report_text(report, "%zu of its %zu threads were read", read, all));
}

static void row_add(const struct resources *resources, size_t row, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_series_sums *sums = &resources->sums;
	const struct sonde_process *process = sonde_session_process(sums->session, sums->process[row]);
	struct sonde_cell *out = row_make(report, section, "it could not be read");
	uint64_t from_ns, to_ns;
	sonde_series_life(sums, process->id, &from_ns, &to_ns);
	out[WALL] = sonde_cell_int(to_ns - from_ns);
	series_cells(resources, row, out);
	cpu_cells(resources, row, out);
	if (sonde_session_process_count(sums->session) == 1 && resources->all.is_exact)
		figure_cells(resources, report, out);
	out[RUNNABLE] = waited(resources, row, report);
	out[PROCESS] = sonde_cell_text(*process->command ? process->command
				       : *process->name  ? process->name
							 : "(unknown)");
	out[PID] = sonde_cell_int(process->pid);
}

/* Adds the only process, which exited before its first reading, with the figures from wait(2). */
static void lone_add(const struct resources *resources, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_process *process = sonde_session_process(resources->sums.session, 1);
	struct sonde_cell *out = row_make(report, section, "");
	figure_cells(resources, report, out);
	out[PROCESS] = sonde_cell_text(*process->command ? process->command : process->name);
	out[PID] = sonde_cell_int(process->pid);
}

static int compare(const void *left, const void *right, void *state)
{
	const struct resources *resources = state;
	const struct sonde_series_sums *sums = &resources->sums;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (resources->options.sort == SONDE_SORT_NAME) {
		int order = strcmp(sonde_session_process(sums->session, sums->process[a])->name,
				   sonde_session_process(sums->session, sums->process[b])->name);
		if (order)
			return order;
	}
	double of_a = cpu_of(sums, a), of_b = cpu_of(sums, b);
	return of_a != of_b ? (of_a < of_b ? 1 : -1) : (a > b) - (a < b);
}

static int rows_add(struct resources *resources, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_series_sums *sums = &resources->sums;
	size_t limit = resources->options.limit ? resources->options.limit : DEFAULT_ROWS;
	size_t processes = sonde_session_process_count(sums->session);
	if (processes == 1 && !sums->row_count) {
		lone_add(resources, report, section);
		return 0;
	}
	uint32_t *rows = calloc(sums->row_count + 1, sizeof *rows);
	int rc = rows ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", sums->row_count);
	size_t count = 0;
	for (uint32_t row = 1; rows && row <= sums->row_count; row++)
		if (sonde_series_sum_of(sums, row, SONDE_METRIC_CPU_USER) ||
		    sonde_series_sum_of(sums, row, SONDE_METRIC_MEMORY_RSS))
			rows[count++] = row;
	if (rows)
		qsort_r(rows, count, sizeof *rows, compare, resources);
	if (rc == 0 && processes > 1)
		all_add(resources, report, section);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(resources, rows[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	free(rows);
	if (rc == 0 && count < processes && (processes > 1 || count))
		sonde_report_note(report, section, 0,
				  "%zu of %zu processes exited before they could be read; those waited for are in "
				  "the command's totals",
				  processes - count, processes);
	return rc;
}

/* --- notes ------------------------------------------------------------------------------------------------------- */

static void note_pace(const struct resources *resources, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_series_sums *sums = &resources->sums;
	const char *requested = sums->requested_ns ? sonde_report_text(report, " (every %.4g ms requested)",
								       (double)sums->requested_ns / 1e6)
						   : "";
	if (!sums->readings)
		return;
	if (!sums->between.count)
		sonde_report_note(report, section, 0, "%llu reading%s%s", (unsigned long long)sums->readings,
				  sonde_plural(sums->readings), requested);
	else
		sonde_report_note(report, section, 0,
				  "%llu readings%s: %.1f ms apart, standard deviation %.1f ms, the longest %.1f ms",
				  (unsigned long long)sums->readings, requested, sums->between.mean / 1e6,
				  sonde_moments_std(&sums->between) / 1e6, (double)sums->longest_ns / 1e6);
}

/* Notes the age at the first reading, because a program's memory grows within its first milliseconds. */
static void note_first(const struct sonde_series_sums *sums, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_process *root =
	    sonde_session_process(sums->session, sonde_session_run(sums->session)->root_process);
	const struct sonde_series_sum *rss =
	    root && sums->row_of[root->id] ? sonde_series_sum_of(sums, sums->row_of[root->id], SONDE_METRIC_MEMORY_RSS)
					   : NULL;
	if (!rss || sums->attached || rss->has_before || rss->first_ns < root->start_ns)
		return;
	sonde_report_note(report, section, 0, "first RSS: read %.1f ms after the command started",
			  (double)(rss->first_ns - root->start_ns) / 1e6);
}

static void notes_add(const struct resources *resources, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_series_sums *sums = &resources->sums;
	note_pace(resources, report, section);
	sonde_report_note(report, section, 0,
			  "of a core: CPU time ÷ wall time; peak RSS: by the kernel or polled%s; means are over time",
			  resources->all.is_peak_sum ? ", all processes together" : "");
	if (sonde_session_process_count(sums->session) > 1)
		sonde_report_note(
		    report, section, 0,
		    "figures of a process end at its last reading; shared pages count in the RSS of each, in PSS once");
	if ((sums->from_ns || sums->to_ns))
		sonde_report_note(report, section, 0, "between two readings, counters are interpolated evenly");
	note_first(sums, report, section);
	if (sonde_session_info(sums->session, "option.keep_ns"))
		sonde_report_note(
		    report, section, 0,
		    "flight recorder: counters start with each process, the rest covers the recorded time");
	if (sums->attached)
		sonde_report_note(report, section, 0,
				  "attached: counters start with the first reading of each process");
	if (resources->all.at_least)
		sonde_report_note(report, section, 1,
				  "CPU time of all is a lower bound: not every process was waited for");
}

/* --- the pass ---------------------------------------------------------------------------------------------------- */

static int resources_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct resources *resources = state;
	resources->options = *options;
	resources->cores = sonde_machine_cores(session);
	return sonde_series_sums_init(&resources->sums, session, options);
}

static void resources_end(void *state)
{
	struct resources *resources = state;
	sonde_series_sums_fini(&resources->sums);
}

static int resources_feed(void *state, const struct sonde_batch *batch)
{
	return sonde_series_sums_feed(&((struct resources *)state)->sums, batch);
}

static int resources_finish(void *state, struct sonde_report *report)
{
	struct resources *resources = state;
	const struct sonde_pass_options *options = &resources->options;
	if (!resources->sums.count || !sonde_session_process_count(resources->sums.session))
		return sonde_pass_nothing(options, report, "resources", TITLE,
					  "the recording has no readings of resources");
	sonde_series_sums_finish(&resources->sums);
	if (!resources->sums.readings && (options->selection.from_ns || options->selection.to_ns))
		return sonde_pass_nothing(options, report, "resources", TITLE, "no reading falls in the selected time");
	sonde_stat_figures_of(&resources->all, &resources->sums);
	struct sonde_section *section = sonde_report_table(report, "resources", TITLE, columns, COLUMNS);
	int rc = rows_add(resources, report, section);
	if (!rc)
		notes_add(resources, report, section);
	return rc;
}

const struct sonde_pass sonde_pass_resources = {
    .name = "resources",
    .needs = SONDE_NEEDS(READINGS),
    .has = sonde_has_readings,
    .title = "CPU, memory, switches, faults, threads, descriptors and I/O by process",
    .types = 1u << SONDE_CHUNK_SERIES,
    .standard = 1,
    .state_b = sizeof(struct resources),
    .begin = resources_begin,
    .feed = resources_feed,
    .finish = resources_finish,
    .end = resources_end,
};
