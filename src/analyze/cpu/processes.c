/* processes.c: the CPU time of every process: sampled, and measured by the clocks of its threads.
 *
 * The kernel's own figure for an exited process includes the children that it waited for: the command's figure covers
 * the whole run (see the summary) and does not belong among figures of single processes.
 */
#include "analyze/cpu/thread_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/marks.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { SHARE, SAMPLED_NS, MEASURED_NS, WALL_NS, SAMPLES, PROCESS, PID, STATUS, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SAMPLED_NS] = {"sampled_ns", "sampled CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [MEASURED_NS] = {"cpu_ns", "measured CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [WALL_NS] = {"wall_ns", "wall", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 1},
    [STATUS] = {"status", "ended", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
};

struct sums {
	const struct sonde_thread_counters *counters;
	struct process *by_process;
};

struct process {
	struct sonde_weight sampled;
	uint64_t clocks_ns; /* sum of measured thread clocks */
	uint64_t clockless; /* number of threads without a clock */
};

static int compare(const void *left, const void *right, void *state)
{
	const struct sums *sums = state;
	const struct sonde_session *session = sums->counters->session;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sonde_process *x = sonde_session_process(session, a), *y = sonde_session_process(session, b);
	uint64_t x_ns = sums->by_process[a].sampled.ns, y_ns = sums->by_process[b].sampled.ns;
	if (sums->counters->options.sort == SONDE_SORT_NAME && strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	if (x_ns == y_ns) {
		x_ns = sums->by_process[a].clocks_ns;
		y_ns = sums->by_process[b].clocks_ns;
	}
	return x_ns != y_ns ? (x_ns < y_ns ? 1 : -1) : (a > b) - (a < b);
}

static const char *status_text(const struct sonde_session *session, const struct sonde_process *process,
			       struct sonde_report *report)
{
	if (!process->end_ns)
		return sonde_session_info(session, "import.from") ? "not known" : "still running";
	if (process->status == -1)
		return "ended";
	if (WIFSIGNALED(process->status))
		return sonde_report_text(report, "signal %d", WTERMSIG(process->status));
	return sonde_report_text(report, "exit %d", WEXITSTATUS(process->status));
}

static void row_add(const struct sums *sums, uint32_t id, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_process *process = sonde_session_process(sums->counters->session, id);
	const struct process *sum = &sums->by_process[id];
	uint64_t end_ns =
	    process->end_ns ? process->end_ns : sonde_session_part_of(sums->counters->session, id)->end_ns;
	sonde_thread_counters_cells(sums->counters, sum->sampled, &row[SHARE], &row[SAMPLED_NS], &row[SAMPLES]);
	row[MEASURED_NS] = sonde_thread_counters_clock(sums->counters, sum->clocks_ns);
	const char *untimed = sonde_pass_untimed(sums->counters->session);
	row[WALL_NS] = untimed ? sonde_cell_absent(untimed)
			       : sonde_cell_int(end_ns > process->start_ns ? end_ns - process->start_ns : 0);
	row[PROCESS] = sonde_cell_text(*process->command ? process->command : process->name);
	row[PID] = sonde_cell_int(process->pid);
	row[STATUS] = sonde_cell_text(status_text(sums->counters->session, process, report));
}

static void sum_up(struct sums *sums, size_t process_count)
{
	for (uint32_t id = 1; id < sums->counters->count; id++) {
		const struct sonde_thread *thread = sonde_session_thread(sums->counters->session, id);
		if (!thread || thread->process > process_count)
			continue;
		struct process *sum = &sums->by_process[thread->process];
		sonde_weight_add(&sum->sampled, sums->counters->by_thread[id]);
		sum->clocks_ns += thread->cpu_ns;
		sum->clockless += !thread->cpu_ns;
	}
}

/* Notes the threads without a clock: they were still running, or their start was not seen. */
static void note_clocks(const struct sums *sums, size_t process_count, struct sonde_report *report,
			struct sonde_section *section)
{
	const struct sonde_pass_options *options = &sums->counters->options;
	uint64_t measured = 0, partly = 0;
	if (options->selection.from_ns || options->selection.to_ns)
		return;
	for (size_t id = 1; id <= process_count; id++) {
		measured += sums->by_process[id].clocks_ns != 0;
		partly += sums->by_process[id].clocks_ns && sums->by_process[id].clockless;
	}
	if (measured)
		sonde_report_note(report, section, 0,
				  "measured CPU: clocks of the process's own threads, without children");
	if (!partly)
		return;
	sonde_report_note(report, section, 1,
			  "not all threads of %llu process%s were measured: measured CPU is a lower bound there",
			  (unsigned long long)partly, sonde_word(partly, "", "es"));
}

static void table_fill(struct sums *sums, uint32_t *ids, size_t process_count, struct sonde_report *report)
{
	const struct sonde_thread_counters *counters = sums->counters;
	size_t limit = counters->options.limit ? counters->options.limit : DEFAULT_ROWS, count = 0;
	struct sonde_section *section =
	    sonde_report_table(report, "processes", "Processes by CPU time", columns, COLUMNS);
	sum_up(sums, process_count);
	for (uint32_t id = 1; id <= process_count; id++)
		if (sonde_session_process(counters->session, id))
			ids[count++] = id;
	qsort_r(ids, count, sizeof *ids, compare, sums);
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(sums, ids[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_thread_counters_note(counters, report, section);
	note_clocks(sums, process_count, report, section);
}

static int processes_finish(void *state, struct sonde_report *report)
{
	struct sonde_thread_counters *counters = state;
	size_t count = sonde_session_process_count(counters->session);
	int empty = !sonde_weight_is_any(counters->all) && sonde_pass_selects(&counters->options);
	if (!counters->options.requested && (count < 2 || empty))
		return 0;
	struct sums sums = {counters, calloc(count + 1, sizeof *sums.by_process)};
	uint32_t *ids = malloc((count + 1) * sizeof *ids);
	int rc = sums.by_process && ids ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", count);
	if (!rc)
		table_fill(&sums, ids, count, report);
	free(sums.by_process);
	free(ids);
	return rc;
}

const struct sonde_pass sonde_pass_processes = {
    .name = "processes",
    .title = "CPU time of every process",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct sonde_thread_counters),
    .begin = sonde_thread_counters_begin,
    .feed = sonde_thread_counters_feed,
    .merge = sonde_thread_counters_merge,
    .finish = processes_finish,
    .end = sonde_thread_counters_end,
};
