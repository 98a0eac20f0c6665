/* usage.c: total resource use over time, in equal intervals: CPUs, RSS, bytes read and written.
 *
 * Based on polling each process. The increase of a total between two readings is spread evenly over the time between
 * them; memory is interpolated linearly between readings, and constant from the last one to the exit of the process
 * (resource/series.h). So intervals shorter than the polling interval show no detail of their own, and a process that
 * started and exited between two readings is missing. A note therefore compares the CPU time in the intervals with that
 * of the whole run. RSS before a process's first reading is unknown: an interval that consists mostly of such time has
 * no figure; in other intervals, the figure is a lower bound.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/marks.h"
#include "analyze/pass.h"
#include "analyze/cpu/samples.h"
#include "analyze/statistics/stats.h"
#include "analyze/window.h"
#include "format/metric.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 40, ROWS_MAX = 100000 };
/* KNOWN and UNREAD are not columns: process time in ns after and before the first reading of memory. */
enum { FROM, TO, USER, SYSTEM, RSS, READ, WRITTEN, COLUMNS, FIRST = USER, KNOWN = COLUMNS, UNREAD, SUMS };
#define LEFT_OUT_MUCH 0.05 /* share of the CPU time outside the intervals: more is a warning */
#define UNREAD_LITTLE 1e-3 /* share of an interval's process time: a first reading takes this long */

static const struct sonde_column columns[COLUMNS] = {
    [FROM] = {"from_ns", "from", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TO] = {"to_ns", "to", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [USER] = {"user_cpus", "CPUs, user", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [SYSTEM] = {"system_cpus", "CPUs, kernel", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [RSS] = {"rss_b", "resident", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [READ] = {"read_b_per_s", "read/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [WRITTEN] = {"written_b_per_s", "written/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
};

static const enum sonde_metric metrics[COLUMNS] = {[USER] = SONDE_METRIC_CPU_USER,
						   [SYSTEM] = SONDE_METRIC_CPU_SYSTEM,
						   [RSS] = SONDE_METRIC_MEMORY_RSS,
						   [READ] = SONDE_METRIC_IO_READ_ALL,
						   [WRITTEN] = SONDE_METRIC_IO_WRITTEN_ALL};

/* The last reading of a process. */
struct last {
	uint64_t time_ns; /* 0 = none yet */
	double value;
};

struct usage {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	size_t rows, processes;
	double *sums[SUMS]; /* by interval: in the metric's unit; for memory B × ns */
	struct last *last[COLUMNS];
	uint64_t *first_ns; /* by process: first reading of memory; 0 = none yet */
	uint64_t readings[COLUMNS], below_0;
	uint8_t *column_of; /* by series id: 0 = none */
	size_t series_count;
};

/* By process id: 1 = the process counts. Processes are read as a whole, so if threads were selected, the processes of
 * these threads count. */
static uint8_t *wanted_of(const struct usage *usage)
{
	const uint8_t *chosen = usage->options.selection.thread;
	uint8_t *wanted = calloc(usage->processes + 1, 1);
	if (!wanted)
		return NULL;
	if (!chosen)
		memset(wanted, 1, usage->processes + 1);
	for (uint32_t id = 1; chosen && id <= sonde_session_thread_count(usage->session); id++) {
		const struct sonde_thread *thread = sonde_session_thread(usage->session, id);
		if (chosen[id] && thread && thread->process <= usage->processes)
			wanted[thread->process] = 1;
	}
	return wanted;
}

static int columns_find(struct usage *usage)
{
	uint8_t *wanted = wanted_of(usage);
	if (!wanted)
		return -ENOMEM;
	for (uint32_t id = 1; id < usage->series_count; id++) {
		const struct sonde_series *series = sonde_session_series(usage->session, id);
		if (!series || !series->process || series->thread || series->process > usage->processes ||
		    !wanted[series->process])
			continue;
		for (uint8_t i = FIRST; i < COLUMNS; i++)
			if (!strcmp(series->name, sonde_metric_row(metrics[i])->name))
				usage->column_of[id] = i;
	}
	free(wanted);
	return 0;
}

static int usage_make(struct usage *usage)
{
	usage->series_count = sonde_session_series_count(usage->session) + 1;
	usage->column_of = calloc(usage->series_count, 1);
	usage->first_ns = calloc(usage->processes + 1, sizeof *usage->first_ns);
	int is_short = !usage->column_of || !usage->first_ns;
	for (size_t i = FIRST; i < SUMS; i++) {
		usage->sums[i] = calloc(usage->rows, sizeof *usage->sums[i]);
		is_short |= !usage->sums[i];
	}
	for (size_t i = FIRST; i < COLUMNS; i++) {
		usage->last[i] = calloc(usage->processes + 1, sizeof *usage->last[i]);
		is_short |= !usage->last[i];
	}
	if (is_short || columns_find(usage))
		return sonde_error(ENOMEM, "out of memory for %zu processes over time", usage->processes);
	return 0;
}

static void usage_end(void *state)
{
	struct usage *usage = state;
	for (size_t i = FIRST; i < SUMS; i++)
		free(usage->sums[i]);
	for (size_t i = FIRST; i < COLUMNS; i++)
		free(usage->last[i]);
	free(usage->column_of);
	free(usage->first_ns);
}

static int usage_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct usage *usage = state;
	usage->session = session;
	usage->options = *options;
	usage->window = sonde_window_of(session, options);
	usage->rows = options->limit ? options->limit : DEFAULT_ROWS;
	usage->rows = usage->rows > ROWS_MAX ? ROWS_MAX : usage->rows;
	usage->processes = sonde_session_process_count(session);
	return usage_make(usage);
}

static double edge_ns(const struct usage *usage, size_t i)
{
	return (double)(usage->window.to_ns - usage->window.from_ns) * (double)i / (double)usage->rows;
}

/* Spreads a rate that changes linearly from one value per ns to another over a time, as far as it is within the
 * window. */
static void spread(struct usage *usage, size_t column, const struct last *first, const struct last *second)
{
	const struct sonde_window *window = &usage->window;
	uint64_t from_ns = first->time_ns < window->from_ns ? window->from_ns : first->time_ns;
	uint64_t to_ns = second->time_ns > window->to_ns ? window->to_ns : second->time_ns;
	if (from_ns >= to_ns)
		return;
	double from = (double)(from_ns - window->from_ns), to = (double)(to_ns - window->from_ns);
	double slope = (second->value - first->value) / (double)(second->time_ns - first->time_ns);
	double before = (double)first->time_ns - (double)window->from_ns;
	size_t row = (size_t)(from / edge_ns(usage, 1));
	for (row = row < usage->rows ? row : usage->rows - 1; row < usage->rows && edge_ns(usage, row) < to; row++) {
		double begin = fmax(from, edge_ns(usage, row)), end = fmin(to, edge_ns(usage, row + 1));
		double middle = first->value + slope * ((begin + end) / 2 - before);
		if (end > begin)
			usage->sums[column][row] += middle * (end - begin);
	}
}

/* Adds `rose`, the increase of a total up to its first reading, to the interval that contains `time_ns`. */
static void put(struct usage *usage, size_t column, uint64_t time_ns, double rose)
{
	const struct sonde_window *window = &usage->window;
	if (time_ns < window->from_ns || time_ns >= window->to_ns)
		return;
	size_t row = (size_t)((double)(time_ns - window->from_ns) / edge_ns(usage, 1));
	usage->sums[column][row < usage->rows ? row : usage->rows - 1] += rose;
}

static void take(struct usage *usage, size_t column, uint32_t id, uint64_t time_ns, double value)
{
	const struct sonde_process *process = sonde_session_process(usage->session, id);
	struct last *last = &usage->last[column][id];
	uint64_t start_ns = sonde_session_run(usage->session)->start_ns;
	const struct last now = {time_ns, value};
	if (value < 0) { /* no kernel reports this */
		usage->below_0++;
		return;
	}
	if (column == RSS && !usage->first_ns[id])
		usage->first_ns[id] = time_ns;
	/* Totals of a process that started within the recording started at 0. */
	if (!last->time_ns && column != RSS && process->start_ns >= start_ns)
		*last = (struct last){.time_ns = process->start_ns};
	double rose = value - last->value;
	if (last->time_ns && column == RSS)
		spread(usage, column, last, &now);
	else if (last->time_ns && rose > 0 && time_ns > last->time_ns) {
		double rate = rose / (double)(time_ns - last->time_ns);
		spread(usage, column, &(struct last){last->time_ns, rate}, &(struct last){time_ns, rate});
	} else if (last->time_ns && rose > 0)
		put(usage, column, time_ns, rose);
	*last = now;
	usage->readings[column]++;
}

static int usage_feed(void *state, const struct sonde_batch *batch)
{
	struct usage *usage = state;
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_series *series = sonde_session_series(usage->session, batch->series.series[i]);
		size_t column = series && series->id < usage->series_count ? usage->column_of[series->id] : 0;
		if (column && sonde_session_process(usage->session, series->process))
			take(usage, column, series->process, batch->series.time_ns[i], (double)batch->series.value[i]);
	}
	return 0;
}

/* Extends each process's memory from its last reading to its exit, and sums the time after and before its first reading
 * (KNOWN, UNREAD). */
static void hold(struct usage *usage)
{
	uint64_t run_end_ns = sonde_session_run(usage->session)->end_ns;
	for (uint32_t id = 1; id <= usage->processes; id++) {
		const struct sonde_process *process = sonde_session_process(usage->session, id);
		const struct last *last = &usage->last[RSS][id];
		uint64_t end_ns = process->end_ns ? process->end_ns : run_end_ns;
		if (!last->time_ns)
			continue;
		uint64_t first_ns = usage->first_ns[id], start_ns = sonde_session_part_of(usage->session, id)->start_ns;
		start_ns = process->start_ns > start_ns ? process->start_ns : start_ns;
		end_ns = end_ns > last->time_ns ? end_ns : last->time_ns;
		spread(usage, RSS, last, &(struct last){end_ns, last->value});
		spread(usage, UNREAD, &(struct last){start_ns, 1}, &(struct last){first_ns, 1});
		spread(usage, KNOWN, &(struct last){first_ns, 1}, &(struct last){end_ns, 1});
	}
}

static struct sonde_cell cell_of(const struct usage *usage, size_t column, size_t row)
{
	double length_ns = edge_ns(usage, row + 1) - edge_ns(usage, row), sum = usage->sums[column][row];
	if (!usage->readings[column])
		return sonde_cell_absent(
		    "no process was read while it ran: it exited before, or reading is impossible here");
	if (column == RSS && usage->sums[UNREAD][row] > usage->sums[KNOWN][row])
		return sonde_cell_absent("too few readings in this interval");
	if (column == RSS)
		return sonde_cell_int((uint64_t)(sonde_stats_share(sum, length_ns) + 0.5));
	return sonde_cell_real(sonde_stats_share(sum, column < RSS ? length_ns : length_ns / 1e9), 0);
}

static void rows_add(const struct usage *usage, struct sonde_report *report, struct sonde_section *section)
{
	uint64_t before_ns = usage->window.from_ns - sonde_session_run(usage->session)->start_ns;
	for (size_t i = 0; i < usage->rows; i++) {
		struct sonde_cell *row = sonde_report_row(report, section);
		row[FROM] = sonde_cell_int(before_ns + (uint64_t)edge_ns(usage, i));
		row[TO] = sonde_cell_int(before_ns + (uint64_t)edge_ns(usage, i + 1));
		for (size_t column = FIRST; column < COLUMNS; column++)
			row[column] = cell_of(usage, column, i);
	}
}

/* Notes how much of the whole run's CPU time the intervals contain. */
static void note_remainder(const struct usage *usage, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_run *run = sonde_session_run(usage->session);
	double whole_s = (double)(run->user_ns + run->system_ns) / 1e9, here_s = 0;
	for (size_t i = 0; i < usage->rows; i++)
		here_s += (usage->sums[USER][i] + usage->sums[SYSTEM][i]) / 1e9;
	if (!run->cpu_known || whole_s <= 0 || sonde_pass_selects(&usage->options))
		return;
	sonde_report_note(report, section, here_s < (1 - LEFT_OUT_MUCH) * whole_s,
			  "intervals cover %.3f s of %.3f s of CPU time; the rest was used between or after readings",
			  here_s, whole_s);
}

/* Notes memory before a first reading, and impossible readings. */
static void note_unread(const struct usage *usage, struct sonde_report *report, struct sonde_section *section)
{
	size_t partly = 0, mostly = 0;
	for (size_t i = 0; i < usage->rows; i++) {
		double unread = usage->sums[UNREAD][i], known = usage->sums[KNOWN][i];
		mostly += unread > known;
		partly += unread <= known && unread > UNREAD_LITTLE * known;
	}
	if (partly + mostly)
		sonde_report_note(
		    report, section, 0,
		    "RSS before a process's first reading is unknown; intervals: %zu with a lower bound, %zu without",
		    partly, mostly);
	if (usage->below_0)
		sonde_report_note(report, section, 1, "%llu readings below 0 were left out",
				  (unsigned long long)usage->below_0);
	if (usage->options.selection.thread)
		sonde_report_note(report, section, 0,
				  "resources are counted per process: all threads of the processes of %s",
				  usage->options.thread_is ? usage->options.thread_is : "the selected threads");
}

static int usage_finish(void *state, struct sonde_report *report)
{
	struct usage *usage = state;
	uint64_t readings = 0;
	for (size_t i = FIRST; i < COLUMNS; i++)
		readings += usage->readings[i];
	if (!readings || usage->window.to_ns <= usage->window.from_ns)
		return sonde_pass_nothing(&usage->options, report, "usage", "Resources over time",
					  "no process was read while it ran: too short, or recorded without resources");
	struct sonde_section *section = sonde_report_table(report, "usage", "Resources over time", columns, COLUMNS);
	hold(usage);
	rows_add(usage, report, section);
	note_unread(usage, report, section);
	note_remainder(usage, report, section);
	return 0;
}

const struct sonde_pass sonde_pass_usage = {
    .name = "usage",
    .needs = SONDE_NEEDS(READINGS),
    .title = "CPUs, memory and I/O of all processes over time",
    .types = 1u << SONDE_CHUNK_SERIES,
    .state_b = sizeof(struct usage),
    .begin = usage_begin,
    .feed = usage_feed,
    .finish = usage_finish,
    .end = usage_end,
};
