/* io_phases.c: phases in which a process mainly reads files: how data is loaded.
 *
 * Reads alternate with gaps in which the data is processed. Gaps of a few µs within a thread are bridged on arrival, so
 * that memory grows with the number of phases rather than calls. Then, for each process, the parts are found that spend
 * at least a quarter of their time reading. They are maximal scoring subsequences (Ruzzo and Tompa 1999), where a ns of
 * reading scores 3 and any other ns −1. A gap of over a millisecond ends a part. Parts separated by less than a fifth
 * of the shorter one are joined to one phase. No other length is assumed, so that phases of a millisecond in each
 * iteration of a loop are found as well as a minute at start-up.
 *
 * Next to reads, opening and closing files counts as reading, too. Pipes, sockets and devices do not count: waiting for
 * them loads no data.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/wait/io_phases.h"
#include "analyze/marks.h"
#include "analyze/statistics/stats.h"
#include "analyze/wait/sums.h"
#include "analyze/words.h"
#include "util/error.h"

#define TITLE "Loading phases"
#define CONSIDERABLE 0.1 /* fraction of the run */

enum { DEFAULT_ROWS = 20 };
enum { BEGIN, DURATION, CALLS, READ_B, RATE, IN_READS, ALONE, END, ZONE, PROCESS, PID, FILE_NAME, WHERE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [BEGIN] = {"begin_ns", "start", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [DURATION] = {SONDE_COLUMN_KEY(io_phases, duration_ns), "duration", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {"reads", "reads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [READ_B] = {SONDE_COLUMN_KEY(io_phases, read_b), "read", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"read_b_per_s", "per s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [IN_READS] = {"share_in_reads", "in reads", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [ALONE] = {SONDE_COLUMN_KEY(io_phases, share_blocked), "nothing else", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0,
	       0},
    [END] = {"end_ns", "ends", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 7},
    [ZONE] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 6},
    [FILE_NAME] = {SONDE_COLUMN_KEY(io_phases, file), "mostly", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [WHERE] = {SONDE_COLUMN_KEY(io_phases, most_in), "most in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 5},
};

struct phases {
	struct sonde_wait_sums sums; /* only for its names: nothing is summed in it */
	struct sonde_io_bursts bursts;
};

static void phases_end(void *state)
{
	struct phases *phases = state;
	sonde_wait_sums_end(&phases->sums);
	sonde_io_bursts_fini(&phases->bursts);
}

static int phases_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct phases *phases = state;
	int rc = sonde_wait_sums_begin(&phases->sums, session, options);
	return rc ? rc : sonde_io_bursts_init(&phases->bursts, session, options);
}

static int phases_feed(void *state, const struct sonde_batch *batch)
{
	struct phases *phases = state;
	return sonde_io_bursts_feed(&phases->bursts, batch);
}

static int phases_merge(void *state, void *other)
{
	struct phases *into = state, *from = other;
	return sonde_io_bursts_merge(&into->bursts, &from->bursts);
}

static int row_add(const struct phases *phases, const struct sonde_io_phase *phase, struct sonde_report *report,
		   struct sonde_section *section)
{
	struct sonde_session *session = phases->sums.session;
	const struct sonde_process *process = sonde_session_process(session, phase->process);
	const struct sonde_site *zone = sonde_session_site(session, phase->zone);
	const char *where = sonde_wait_place_text(&phases->sums, report, phase->stack);
	const char *file = sonde_wait_object_name(&phases->sums, report, phase->object);
	uint64_t start_ns = sonde_session_run(session)->start_ns, dur_ns = phase->to_ns - phase->from_ns;
	struct sonde_cell *row = sonde_report_row(report, section);
	if (!process)
		return sonde_error(ENOMEM, "out of memory for a row");
	row[BEGIN] = sonde_cell_int(phase->from_ns - start_ns);
	row[END] = sonde_cell_int(phase->to_ns - start_ns);
	row[DURATION] = sonde_cell_int(dur_ns);
	row[CALLS] = sonde_cell_int(phase->reads);
	row[READ_B] = sonde_cell_int(phase->read_b);
	row[RATE] = sonde_cell_int((uint64_t)((double)phase->read_b * 1e9 / (double)dur_ns));
	row[IN_READS] = sonde_cell_real((double)phase->reading_ns / (double)dur_ns, 0);
	row[ALONE] = phase->alone_known ? sonde_cell_real((double)phase->alone_ns / (double)dur_ns, 0)
					: sonde_cell_absent("no context switches were recorded");
	row[ZONE] = zone ? sonde_cell_text(zone->name) : sonde_cell_absent("none");
	row[PROCESS] = sonde_cell_text(process->name);
	row[PID] = sonde_cell_int(process->pid);
	row[FILE_NAME] = sonde_cell_text(file);
	row[WHERE] = sonde_cell_text(where);
	return 0;
}

static int compare_lengths(const void *left, const void *right)
{
	const struct sonde_io_phase *a = left, *b = right;
	uint64_t a_ns = a->to_ns - a->from_ns, b_ns = b->to_ns - b->from_ns;
	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int compare_times(const void *left, const void *right)
{
	const struct sonde_io_phase *a = left, *b = right;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

/* Notes one process's phases, which are adjacent. */
static void note_process(const struct phases *phases, const struct sonde_io_phase *all, size_t count,
			 struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_process *process = sonde_session_process(phases->sums.session, all->process);
	double run_s = sonde_window_s(&phases->sums.window), phases_s = 0, alone_s = 0, bytes = 0;
	int known = 1;
	for (size_t i = 0; i < count; i++) {
		phases_s += (double)(all[i].to_ns - all[i].from_ns) / 1e9;
		alone_s += (double)all[i].alone_ns / 1e9;
		bytes += (double)all[i].read_b;
		known = known && all[i].alone_known;
	}
	if (!process || phases_s < CONSIDERABLE * run_s)
		return;
	const char *alone = known ? sonde_report_text(report, "; for %.3f s (%.1f %% of the run) no other thread ran",
						      alone_s, 100 * sonde_stats_share(alone_s, run_s))
				  : "";
	sonde_report_note(report, section, 0,
			  "loading: %s (%u) mainly read for %.3f s (%.1f %% of the run), in %zu phase%s, "
			  "%.3f MB%s",
			  process->name, process->pid, phases_s, 100 * sonde_stats_share(phases_s, run_s), count,
			  sonde_plural(count), bytes / 1e6, alone);
}

/* Sorts by process; keeps the longest phases, in order of time. */
static int table_fill(const struct phases *phases, struct sonde_io_phase *all, size_t count,
		      struct sonde_report *report)
{
	size_t limit = phases->sums.options.limit ? phases->sums.options.limit : DEFAULT_ROWS;
	size_t shown = count < limit ? count : limit;
	struct sonde_section *section = sonde_report_table(report, "io-phases", TITLE, columns, COLUMNS);
	int rc = 0;
	for (size_t i = 0, end; !rc && i < count; i = end) {
		for (end = i + 1; end < count && all[end].process == all[i].process;)
			end++;
		note_process(phases, all + i, end - i, report, section);
	}
	qsort(all, count, sizeof *all, compare_lengths);
	qsort(all, shown, sizeof *all, compare_times);
	for (size_t i = 0; !rc && i < shown; i++)
		rc = row_add(phases, &all[i], report, section);
	if (rc)
		return rc;
	section->table.omitted = count - shown;
	sonde_report_note(
	    report, section, 0,
	    "phases of 1 ms or more with 25 %% of the time in file reads; \"nothing else\": no other thread ran");
	return 0;
}

static int phases_finish(void *state, struct sonde_report *report)
{
	struct phases *phases = state;
	struct sonde_io_phase *all = NULL;
	ptrdiff_t count = sonde_io_phases_make(&all, &phases->bursts);
	int rc = count > 0 ? table_fill(phases, all, (size_t)count, report)
		 : count < 0
		     ? sonde_error(ENOMEM, "out of memory for phases")
		     : sonde_pass_nothing(&phases->sums.options, report, "io-phases", TITLE,
					  "no phase that mainly reads files: record them with sonde record --io");
	free(all);
	return rc;
}

const struct sonde_pass sonde_pass_io_phases = {
    .name = "io-phases",
    .needs = SONDE_NEEDS(FILES),
    .has = sonde_has_waits,
    .nothing = "no phase that mainly reads files",
    .title = "phases that mainly read files: loading of data",
    .types = 1u << SONDE_CHUNK_WAITS,
    .standard = 1,
    .state_b = sizeof(struct phases),
    .begin = phases_begin,
    .feed = phases_feed,
    .merge = phases_merge,
    .finish = phases_finish,
    .end = phases_end,
};
