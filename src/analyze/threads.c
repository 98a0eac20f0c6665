/* threads.c: the CPU time of every thread: sampled, and measured where the recorder could read it. */
#include "analyze/tallies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { SHARE, SAMPLED_NS, MEASURED_NS, SAMPLES, THREAD, TID, PROCESS, PID, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SAMPLED_NS] = {"sampled_ns", "sampled CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [MEASURED_NS] = {"cpu_ns", "measured CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [THREAD] = {"thread", "thread", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [TID] = {"tid", "tid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 2},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 1},
};

static int compare(const void *left, const void *right, void *state)
{
	const struct sonde_tallies *tallies = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sonde_thread *x = sonde_session_thread(tallies->session, a);
	const struct sonde_thread *y = sonde_session_thread(tallies->session, b);
	uint64_t x_ns = tallies->by_thread[a].ns, y_ns = tallies->by_thread[b].ns;
	if (tallies->options.sort == SONDE_SORT_NAME && strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	if (x_ns == y_ns) {
		x_ns = x->cpu_ns;
		y_ns = y->cpu_ns;
	}
	return x_ns != y_ns ? (x_ns < y_ns ? 1 : -1) : (a > b) - (a < b);
}

static int row_add(const struct sonde_tallies *tallies, uint32_t id, struct sonde_report *report,
		   struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_thread *thread = sonde_session_thread(tallies->session, id);
	const struct sonde_process *process = sonde_session_process(tallies->session, thread->process);
	const struct sonde_weight *weight = &tallies->by_thread[id];
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a row");
	sonde_tallies_cells(tallies, *weight, &row[SHARE], &row[SAMPLED_NS], &row[SAMPLES]);
	row[MEASURED_NS] = sonde_tallies_clock(tallies, thread->cpu_ns);
	row[THREAD] = sonde_cell_text(thread->name);
	row[TID] = sonde_cell_int(thread->tid);
	row[PROCESS] = sonde_cell_text(process ? process->name : "");
	if (process)
		row[PID] = sonde_cell_int(process->pid);
	return 0;
}

static uint32_t *ids_sorted(struct sonde_tallies *tallies, size_t *out_count)
{
	uint32_t *ids = malloc(tallies->count * sizeof *ids);
	*out_count = 0;
	for (uint32_t id = 1; ids && id < tallies->count; id++) {
		const struct sonde_thread *thread = sonde_session_thread(tallies->session, id);
		if (thread && (!tallies->options.thread || tallies->options.thread[id]))
			ids[(*out_count)++] = id;
	}
	if (ids)
		qsort_r(ids, *out_count, sizeof *ids, compare, tallies);
	return ids;
}

static int threads_finish(void *state, struct sonde_report *report)
{
	struct sonde_tallies *tallies = state;
	size_t limit = tallies->options.limit ? tallies->options.limit : DEFAULT_ROWS, count;
	if (!tallies->options.asked &&
	    (!sonde_weight_is_any(tallies->all) || sonde_session_thread_count(tallies->session) < 2))
		return 0;
	uint32_t *ids = ids_sorted(tallies, &count);
	struct sonde_section *section = sonde_report_table(report, "threads", "Threads by CPU time", columns, COLUMNS);
	int rc = ids && section ? 0 : sonde_error(ENOMEM, "out of memory for threads");
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		rc = row_add(tallies, ids[i], report, section);
	free(ids);
	if (rc < 0)
		return rc;
	section->table.omitted = count > limit ? count - limit : 0;
	return sonde_tallies_note(tallies, report, section);
}

const struct sonde_pass sonde_pass_threads = {
    .name = "threads",
    .title = "CPU time of every thread",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .begin = sonde_tallies_begin,
    .feed = sonde_tallies_feed,
    .merge = sonde_tallies_merge,
    .finish = threads_finish,
    .end = sonde_tallies_end,
};
