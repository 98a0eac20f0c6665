/* threads.c: how every thread spent its time: sampled and measured CPU time, on a CPU, waiting for one, blocked.
 *
 * Samples are fed; states are read once all have arrived (wait/states.h). If there are more threads than rows, threads
 * are also summed by name in a separate table, so that ten thousand threads stay readable.
 */
#include "analyze/cpu/thread_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/marks.h"
#include "analyze/wait/explain.h"
#include "analyze/wait/states.h"
#include "analyze/statistics/stats.h"
#include "analyze/wait/thread_facts.h"
#include "analyze/wait/thread_names.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum {
	SHARE,
	ON_CPU,
	RUNNABLE,
	BLOCKED,
	UNSEEN,
	SAMPLED_NS,
	MEASURED_NS,
	SAMPLES,
	ON_CPU_NS,
	RUNNABLE_NS,
	BLOCKED_NS,
	UNSEEN_NS,
	UNSURE_NS,
	LIFE_NS,
	EXPLAINED,
	EXPLAINED_NS,
	UNEXPLAINED_NS,
	IN_LOCKS_NS,
	IN_IO_NS,
	IN_TIME_NS,
	IN_CHILD_NS,
	VOLUNTARY,
	INVOLUNTARY,
	WAKEUPS,
	MIGRATIONS,
	THREAD,
	TID,
	PROCESS,
	PID,
	BLOCKED_IN,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [ON_CPU] = {"on_cpu_share", "on CPU", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [RUNNABLE] = {"runnable_share", "runnable", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BLOCKED] = {"blocked_share", "blocked", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [UNSEEN] = {"unseen_share", "unseen", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 4},
    [SAMPLED_NS] = {"sampled_ns", "sampled CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [MEASURED_NS] = {"cpu_ns", "measured CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 6},
    [ON_CPU_NS] = {SONDE_COLUMN_KEY(threads, on_cpu_ns), "on CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 8},
    [RUNNABLE_NS] = {SONDE_COLUMN_KEY(threads, runnable_ns), "runnable", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 8},
    [BLOCKED_NS] = {"blocked_ns", "blocked", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 8},
    [UNSEEN_NS] = {"unseen_ns", "unseen", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 8},
    [UNSURE_NS] = {"unsure_ns", "unsure", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 9},
    [LIFE_NS] = {SONDE_COLUMN_KEY(threads, life_ns), "lifetime", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [EXPLAINED] = {"explained_share", "explained", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 7},
    [EXPLAINED_NS] = {"explained_ns", "explained", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 8},
    [UNEXPLAINED_NS] = {"unexplained_ns", "unexplained", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 8},
    [IN_LOCKS_NS] = {SONDE_COLUMN_KEY(threads, blocked_locks_ns), "in locks", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0,
		     9},
    [IN_IO_NS] = {"blocked_io_ns", "in I/O", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 9},
    [IN_TIME_NS] = {"blocked_time_ns", "in sleep", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 9},
    [IN_CHILD_NS] = {SONDE_COLUMN_KEY(threads, blocked_tasks_ns), "for tasks", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0,
		     9},
    [VOLUNTARY] = {"voluntary_switches", "voluntary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [INVOLUNTARY] = {"involuntary_switches", "involuntary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [WAKEUPS] = {"wakeups", "wakeups", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 7},
    [MIGRATIONS] = {"migrations", "migrations", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [THREAD] = {"thread", "thread", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [TID] = {SONDE_COLUMN_KEY(threads, tid), "tid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 2},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 1},
    [BLOCKED_IN] = {"blocked_in", "blocked in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 3},
};

struct table {
	const struct sonde_thread_counters *counters;
	struct sonde_states states;
	struct sonde_explain explain;
	const char *why_none, *why_unexplained; /* why there are no states; why nothing explains blocked time */
	const char *untimed;                    /* why there are no times; NULL = there are */
	uint32_t *ids;                          /* ids of the selected threads, sorted */
	size_t count;
};

static uint64_t switches_of(const struct sonde_states_row *row)
{
	return row->voluntary + row->involuntary;
}

/* Compares two threads by the sort key, then by the next key, finally by id. */
static int compare(const void *left, const void *right, void *state)
{
	const struct table *table = state;
	const struct sonde_thread_counters *counters = table->counters;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sonde_thread *x = sonde_session_thread(counters->session, a);
	const struct sonde_thread *y = sonde_session_thread(counters->session, b);
	const struct sonde_states_row *x_row = &table->states.rows[a], *y_row = &table->states.rows[b];
	if (counters->options.sort == SONDE_SORT_NAME && strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	uint64_t keys[][2] = {
	    {counters->options.sort == SONDE_SORT_COUNT ? switches_of(x_row) : 0,
	     counters->options.sort == SONDE_SORT_COUNT ? switches_of(y_row) : 0},
	    {counters->by_thread[a].ns, counters->by_thread[b].ns},
	    {x->cpu_ns, y->cpu_ns},
	    {x_row->on_cpu_ns, y_row->on_cpu_ns},
	    {x_row->runnable_ns, y_row->runnable_ns},
	};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? 1 : -1;
	return (a > b) - (a < b);
}

static void state_cells(const struct table *table, const struct sonde_states_row *row, struct sonde_cell *cells)
{
	const uint64_t parts_ns[][2] = {{ON_CPU, row->on_cpu_ns},
					{RUNNABLE, row->runnable_ns},
					{BLOCKED, row->blocked_ns},
					{UNSEEN, row->unseen_ns}};
	static const uint8_t as_ns[] = {
	    [ON_CPU] = ON_CPU_NS, [RUNNABLE] = RUNNABLE_NS, [BLOCKED] = BLOCKED_NS, [UNSEEN] = UNSEEN_NS};
	static const uint8_t counted[] = {VOLUNTARY, INVOLUNTARY, WAKEUPS, MIGRATIONS};
	const uint64_t counts[] = {row->voluntary, row->involuntary, row->wakeups, row->migrations};
	const char *why = table->why_none;
	for (size_t i = 0; i < sizeof parts_ns / sizeof *parts_ns; i++) {
		uint64_t at = parts_ns[i][0], ns = parts_ns[i][1];
		double share = sonde_stats_share((double)ns, (double)row->life_ns);
		cells[at] = row->by && row->life_ns ? sonde_cell_real(share, 0) : sonde_cell_absent(why);
		cells[as_ns[at]] = row->by ? sonde_cell_int(ns) : sonde_cell_absent(why);
	}
	cells[UNSURE_NS] = row->by ? sonde_cell_int(row->unsure_ns) : sonde_cell_absent(why);
	cells[LIFE_NS] = table->untimed ? sonde_cell_absent(table->untimed) : sonde_cell_int(row->life_ns);
	for (size_t i = 0; i < sizeof counted; i++) {
		int known = i < 2 ? row->counts_switches : row->counts_moves;
		cells[counted[i]] = known ? sonde_cell_int(counts[i])
				    : row->by == SONDE_STATES_READINGS
					? sonde_cell_absent("needs context-switch records (perf events)")
					: sonde_cell_absent(why);
	}
	if (row->by == SONDE_STATES_SWITCHES) /* switches exist, whatever is known about CPUs */
		cells[WAKEUPS] = sonde_cell_int(row->wakeups);
}

/* Fills the cells that show in which calls a thread was blocked. */
static void explain_cells(const struct table *table, uint32_t id, struct sonde_report *report, struct sonde_cell *cells)
{
	static const uint8_t of_group[] = {[SONDE_WAIT_GROUP_LOCK] = IN_LOCKS_NS,
					   [SONDE_WAIT_GROUP_IO] = IN_IO_NS,
					   [SONDE_WAIT_GROUP_TIME] = IN_TIME_NS,
					   [SONDE_WAIT_GROUP_CHILD] = IN_CHILD_NS};
	const struct sonde_states_row *row = &table->states.rows[id];
	const char *why = table->explain.known ? table->why_none : table->why_unexplained;
	char text[160];
	if (!table->explain.known || row->by != SONDE_STATES_SWITCHES) {
		if (table->explain.known && row->by == SONDE_STATES_READINGS)
			why = "needs context-switch records (perf events)";
		for (size_t i = EXPLAINED; i <= IN_CHILD_NS; i++)
			cells[i] = sonde_cell_absent(why);
		cells[BLOCKED_IN] = sonde_cell_absent(why);
		return;
	}
	struct sonde_explained explained;
	uint64_t group_ns[SONDE_WAIT_GROUP_HELD + 1] = {0};
	sonde_explain_thread(&table->explain, row, id, &explained);
	for (size_t i = 0; i < explained.kinds; i++)
		group_ns[sonde_wait_row(explained.most[i].kind)->group] += explained.most[i].ns;
	double share = sonde_stats_share((double)explained.ns, (double)row->blocked_ns);
	cells[EXPLAINED] = row->blocked_ns ? sonde_cell_real(share, 0) : sonde_cell_absent("it was not blocked");
	cells[EXPLAINED_NS] = sonde_cell_int(explained.ns);
	cells[UNEXPLAINED_NS] = sonde_cell_int(row->blocked_ns - explained.ns);
	for (size_t i = SONDE_WAIT_GROUP_LOCK; i < sizeof of_group; i++)
		cells[of_group[i]] = sonde_cell_int(group_ns[i]);
	sonde_explained_say(&explained, row->blocked_ns, text, sizeof text);
	const char *kept = sonde_report_text(report, "%s", text);
	cells[BLOCKED_IN] = row->blocked_ns ? sonde_cell_text(kept) : sonde_cell_absent("it was not blocked");
}

static void row_add(const struct table *table, uint32_t id, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_thread_counters *counters = table->counters;
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_thread *thread = sonde_session_thread(counters->session, id);
	const struct sonde_process *process = sonde_session_process(counters->session, thread->process);
	const struct sonde_weight *weight = &counters->by_thread[id];
	sonde_thread_counters_cells(counters, *weight, &row[SHARE], &row[SAMPLED_NS], &row[SAMPLES]);
	row[MEASURED_NS] = sonde_thread_counters_clock(counters, thread->cpu_ns);
	state_cells(table, &table->states.rows[id], row);
	row[THREAD] = sonde_cell_text(thread->name);
	row[TID] = sonde_cell_int(thread->tid);
	row[PROCESS] = sonde_cell_text(process ? process->name : "");
	if (process)
		row[PID] = sonde_cell_int(process->pid);
	explain_cells(table, id, report, row);
}

static int ids_sort(struct table *table)
{
	const struct sonde_thread_counters *counters = table->counters;
	table->ids = malloc(counters->count * sizeof *table->ids);
	if (!table->ids)
		return sonde_error(ENOMEM, "out of memory for threads");
	for (uint32_t id = 1; id < counters->count && id < table->states.count; id++) {
		const struct sonde_thread *thread = sonde_session_thread(counters->session, id);
		if (thread && (!counters->options.selection.thread || counters->options.selection.thread[id]))
			table->ids[table->count++] = id;
	}
	qsort_r(table->ids, table->count, sizeof *table->ids, compare, table);
	return 0;
}

static int sections_add(struct table *table, struct sonde_report *report)
{
	const struct sonde_thread_counters *counters = table->counters;
	table->why_none = sonde_thread_facts_why_none(&table->states, counters->session, report);
	const char *missing = sonde_pass_missing(counters->session, SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES), report);
	table->why_unexplained = missing ? missing : "no blocking call was made";
	table->untimed = sonde_pass_untimed(counters->session);
	size_t limit = counters->options.limit ? counters->options.limit : DEFAULT_ROWS, count = table->count;
	struct sonde_thread_facts facts = {.session = counters->session,
					   .options = &counters->options,
					   .states = &table->states,
					   .explain = &table->explain,
					   .why_none = table->why_none,
					   .ids = table->ids,
					   .count = count};
	int rc = count > limit ? sonde_thread_names_add(&facts, counters->by_thread, limit, report) : 0;
	if (rc < 0)
		return rc;
	struct sonde_section *section = sonde_report_table(report, "threads", "Threads by CPU time", columns, COLUMNS);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(table, table->ids[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_thread_counters_note(counters, report, section);
	return sonde_thread_facts_note(&facts, report, section);
}

static int threads_finish(void *state, struct sonde_report *report)
{
	struct table table = {.counters = state};
	const struct sonde_thread_counters *counters = state;
	const struct sonde_pass_options *options = &counters->options;
	if (!options->requested && sonde_session_thread_count(counters->session) < 2)
		return 0;
	int rc = sonde_explain_init(&table.explain, counters->session, options);
	if (rc == 0)
		rc = sonde_states_read(&table.states, counters->session, options->selection.from_ns,
				       options->selection.to_ns, &table.explain.also);
	int is_any = sonde_weight_is_any(counters->all) || table.states.has_switches || table.states.has_readings;
	if (rc == 0 && (options->requested || is_any)) {
		rc = ids_sort(&table);
		rc = rc < 0 ? rc : sections_add(&table, report);
	}
	free(table.ids);
	sonde_explain_fini(&table.explain);
	sonde_states_fini(&table.states);
	return rc;
}

const struct sonde_pass sonde_pass_threads = {
    .name = "threads",
    .title = "CPU time of every thread, and its time waiting and blocked",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct sonde_thread_counters),
    .begin = sonde_thread_counters_begin,
    .feed = sonde_thread_counters_feed,
    .merge = sonde_thread_counters_merge,
    .finish = threads_finish,
    .end = sonde_thread_counters_end,
};
