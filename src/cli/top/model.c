/* model.c: the views of `sonde top`: tables of passes with the columns that fit a terminal (top/model.h).
 *
 * Passes compute an interval's figures; each view selects some of their columns by key, so that a figure means the same
 * as in a report. Only two things are added: bytes per second, the bytes of the interval ÷ its length, and total CPU
 * time of a thread or process, from its last reading.
 */
#include "cli/top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pass.h"
#include "analyze/window.h"
#include "util/error.h"

#define COLUMNS_MAX 16

/* The source of a column. */
enum from { FROM_PASS = 0, FROM_PASS_A_SECOND, FROM_CLOCK };

struct view_column {
	struct sonde_column shown;
	const char *key; /* key of the pass's column */
	enum from from;
};

struct view {
	const char *id, *title;
	const char *pass; /* the section on which the view is based */
	const char *who;  /* key of the column with the pid or tid, by which CPU times are found */
	const struct view_column *columns;
	int sort[SONDE_TOP_SORTS]; /* by sort key: column + 1; 0 = none */
};

#define TEXT SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED
#define RATIO SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED
#define TIME SONDE_UNIT_NS, SONDE_BASIS_MEASURED
#define COUNT SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED
#define BYTES SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED
#define ID SONDE_UNIT_ID, SONDE_BASIS_MEASURED

static const struct view_column functions[] = {
    {{"self_share", "self", RATIO, 0, 0}, "self_share", FROM_PASS},
    {{"total_share", "total", RATIO, 0, 1}, "total_share", FROM_PASS},
    {{"self_ns", "self time", TIME, 0, 0}, "self_ns", FROM_PASS},
    {{"function", "function", TEXT, 1, 0}, "function", FROM_PASS},
    {{"module", "module", TEXT, 0, 0}, "module", FROM_PASS},
    {{"file", "file", TEXT, 0, 4}, "file", FROM_PASS},
    {{"line", "line", ID, 0, 4}, "line", FROM_PASS},
    {{0}, NULL, FROM_PASS},
};

static const struct view_column threads[] = {
    {{"tid", "tid", ID, 0, 0}, "tid", FROM_PASS},
    {{"on_cpu_share", "on CPU", RATIO, 0, 0}, "on_cpu_share", FROM_PASS},
    {{"runnable_share", "runnable", RATIO, 0, 0}, "runnable_share", FROM_PASS},
    {{"blocked_share", "blocked", RATIO, 0, 0}, "blocked_share", FROM_PASS},
    {{"unseen_share", "unseen", RATIO, 0, 4}, "unseen_share", FROM_PASS},
    {{"time_ns", "CPU time", TIME, 0, 0}, NULL, FROM_CLOCK},
    {{"voluntary_switches", "voluntary", COUNT, 0, 2}, "voluntary_switches", FROM_PASS},
    {{"involuntary_switches", "involuntary", COUNT, 0, 3}, "involuntary_switches", FROM_PASS},
    {{"pid", "pid", ID, 0, 3}, "pid", FROM_PASS},
    {{"thread", "thread", TEXT, 1, 0}, "thread", FROM_PASS},
    {{0}, NULL, FROM_PASS},
};

static const struct view_column processes[] = {
    {{"pid", "pid", ID, 0, 0}, "pid", FROM_PASS},
    {{"cpu_utilization", "CPU", RATIO, 0, 0}, "cpu_utilization", FROM_PASS},
    {{"time_ns", "CPU time", TIME, 0, 0}, NULL, FROM_CLOCK},
    {{"rss_b", "RSS", BYTES, 0, 0}, "rss_last_b", FROM_PASS},
    {{"peak_rss_b", "peak RSS", BYTES, 0, 4}, "peak_rss_b", FROM_PASS},
    {{"threads", "threads", COUNT, 0, 2}, "threads_last", FROM_PASS},
    {{"files", "files", COUNT, 0, 3}, "files_last", FROM_PASS},
    {{"read_b_per_s", "read/s", BYTES, 0, 1}, "read_b", FROM_PASS_A_SECOND},
    {{"written_b_per_s", "wrote/s", BYTES, 0, 1}, "written_b", FROM_PASS_A_SECOND},
    {{"read_all_b_per_s", "read/s (calls)", BYTES, 0, 5}, "read_all_b", FROM_PASS_A_SECOND},
    {{"written_all_b_per_s", "written/s (calls)", BYTES, 0, 5}, "written_all_b", FROM_PASS_A_SECOND},
    {{"faults_minor", "faults", COUNT, 0, 6}, "faults_minor", FROM_PASS},
    {{"process", "process", TEXT, 1, 0}, "process", FROM_PASS},
    {{0}, NULL, FROM_PASS},
};

/* The views. A view without columns shows all columns of its pass. */
static const struct view views[SONDE_TOP_VIEWS] = {
    [SONDE_TOP_FUNCTIONS] = {"functions", "Functions", "functions", NULL, functions, {1, 0, 3, 4}},
    [SONDE_TOP_THREADS] = {"threads", "Threads", "threads", "tid", threads, {2, 0, 6, 10}},
    [SONDE_TOP_PROCESSES] = {"processes", "Memory and I/O", "resources", "pid", processes, {2, 4, 3, 13}},
    [SONDE_TOP_MACHINE] = {"machine", "System", "machine", NULL, NULL, {0}},
    [SONDE_TOP_MOVED] = {"machine-io", "Bytes moved by disks and networks", "machine-io", NULL, NULL, {0}},
};

/* Total CPU time by id; 0 = unknown. */
struct clocks {
	uint64_t *thread_ns, *process_ns;
};

struct making {
	struct sonde_top_model *model;
	struct sonde_session *session;
	struct clocks clocks;
	double seconds; /* length of the interval */
};

/* --- clocks ------------------------------------------------------------------------------------------------------ */

static void clock_take(const struct sonde_session *session, struct clocks *clocks, uint32_t id, uint64_t value,
		       uint64_t *last)
{
	const struct sonde_series *series = sonde_session_series(session, id);
	if (!series)
		return;
	int is_thread = series->thread && strcmp(series->name, "cpu.time") == 0;
	int is_process = !series->thread && series->process &&
			 (strcmp(series->name, "cpu.user") == 0 || strcmp(series->name, "cpu.system") == 0);
	if (is_thread)
		clocks->thread_ns[series->thread] = value;
	else if (is_process)
		clocks->process_ns[series->process] += value - last[id];
	last[id] = value;
}

static int clocks_read(struct clocks *out, struct sonde_session *session, uint64_t to_ns)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t count = sonde_session_series_count(session);
	uint64_t *last = calloc(count + 1, sizeof *last);
	out->thread_ns = calloc(sonde_session_thread_count(session) + 1, sizeof *out->thread_ns);
	out->process_ns = calloc(sonde_session_process_count(session) + 1, sizeof *out->process_ns);
	int rc = last && out->thread_ns && out->process_ns ? 0 : -ENOMEM;
	rc = rc ? rc : sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SERIES);
	if (rc) {
		free(last);
		return rc;
	}
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		for (size_t i = 0; rc > 0 && i < batch->count; i++)
			if ((!to_ns || batch->series.time_ns[i] < to_ns) && batch->series.series[i] <= count)
				clock_take(session, out, batch->series.series[i], (uint64_t)batch->series.value[i],
					   last);
	sonde_cursor_close(cursor);
	free(last);
	return rc;
}

/* Returns the total CPU time of the thread or process with a number; if the number was reused, that of the latest
 * one. */
static struct sonde_cell clock_of(const struct making *making, const char *who, const struct sonde_cell *number)
{
	const struct sonde_session *session = making->session;
	int is_thread = strcmp(who, "tid") == 0;
	uint64_t ns = 0;
	size_t id = is_thread ? sonde_session_thread_count(session) : sonde_session_process_count(session);
	if (!number || number->kind != SONDE_CELL_INT)
		return sonde_cell_absent(NULL);
	for (; id > 0 && !ns; id--) {
		uint32_t at = (uint32_t)id;
		if (is_thread && sonde_session_thread(session, at)->tid == number->integer)
			ns = making->clocks.thread_ns[id];
		else if (!is_thread && sonde_session_process(session, at)->pid == number->integer)
			ns = making->clocks.process_ns[id];
	}
	return ns ? sonde_cell_int(ns) : sonde_cell_absent("not read");
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

static struct sonde_section *section_named(const struct sonde_report *report, const char *id)
{
	for (struct sonde_section *section = report->first; section; section = section->next)
		if (strcmp(section->id, id) == 0 && section->kind == SONDE_SECTION_TABLE)
			return section;
	return NULL;
}

/* Returns the cell of the column with a key; NULL = there is no such column. */
static const struct sonde_cell *cell_named(const struct sonde_table *table, const struct sonde_cell *row,
					   const char *key)
{
	for (size_t i = 0; key && i < table->column_count; i++)
		if (strcmp(table->columns[i].key, key) == 0)
			return &row[i];
	return NULL;
}

static struct sonde_cell cell_make(const struct making *making, const struct view *view,
				   const struct view_column *column, const struct sonde_table *table,
				   const struct sonde_cell *row)
{
	if (column->from == FROM_CLOCK)
		return clock_of(making, view->who, cell_named(table, row, view->who));
	const struct sonde_cell *cell = cell_named(table, row, column->key);
	if (!cell)
		return sonde_cell_absent(NULL);
	if (column->from == FROM_PASS || cell->kind != SONDE_CELL_INT || making->seconds <= 0)
		return *cell;
	return sonde_cell_int((uint64_t)((double)cell->integer / making->seconds + 0.5));
}

static void notes_copy(struct sonde_report *report, struct sonde_section *to, const struct sonde_note *note)
{
	for (; note; note = note->next)
		sonde_report_note(report, to, note->warning, "%s", note->text);
}

static int table_copy(const struct making *making, const struct view *view, const struct sonde_section *from,
		      struct sonde_section *to)
{
	const struct sonde_table *table = &from->table;
	for (size_t i = 0; i < table->row_count; i++) {
		const struct sonde_cell *source = &table->cells[i * table->column_count];
		struct sonde_cell *row = sonde_report_row(making->model->report, to);
		for (size_t at = 0; at < to->table.column_count; at++)
			row[at] =
			    view->columns ? cell_make(making, view, &view->columns[at], table, source) : source[at];
	}
	to->table.omitted = table->omitted;
	notes_copy(making->model->report, to, from->notes);
	return 0;
}

static int view_make(const struct making *making, enum sonde_top_view which)
{
	const struct view *view = &views[which];
	struct sonde_report *report = making->model->report;
	const struct sonde_section *from = section_named(making->model->passes, view->pass);
	if (!from)
		return 0;
	const struct sonde_column *columns = from->table.columns;
	size_t count = from->table.column_count;
	if (view->columns) {
		struct sonde_column *chosen = sonde_arena_alloc(&report->arena, COLUMNS_MAX * sizeof *chosen);
		if (!chosen)
			return -ENOMEM;
		for (count = 0; view->columns[count].shown.key; count++)
			chosen[count] = view->columns[count].shown;
		columns = chosen;
	}
	struct sonde_section *section = sonde_report_table(report, view->id, view->title, columns, count);
	making->model->view[which] = section;
	return section ? table_copy(making, view, from, section) : -ENOMEM;
}

static int views_make(struct making *making, const struct sonde_pass_options *options)
{
	struct sonde_top_model *model = making->model;
	struct sonde_window window = sonde_window_of(making->session, options);
	making->seconds = sonde_window_s(&window);
	int rc = clocks_read(&making->clocks, making->session, options->selection.to_ns);
	model->report->title = model->passes->title;
	model->report->path = "seen by sonde top";
	if (!rc)
		notes_copy(model->report, NULL, model->passes->notes);
	for (int i = 0; i < SONDE_TOP_VIEWS && rc == 0; i++)
		rc = view_make(making, (enum sonde_top_view)i);
	free(making->clocks.thread_ns);
	free(making->clocks.process_ns);
	rc = rc ? rc : sonde_report_status(model->report);
	return rc == -ENOMEM ? sonde_error(ENOMEM, "out of memory for tables") : rc;
}

int sonde_top_model_make(struct sonde_top_model *model, struct sonde_session *session, const struct sonde_top_ask *ask)
{
	const struct sonde_pass_options options = {
	    .limit = ask->limit, .selection.from_ns = ask->from_ns, .selection.to_ns = ask->to_ns, .requested = 1};
	const struct sonde_pass *passes[SONDE_TOP_VIEWS];
	size_t count = 0;
	*model = (struct sonde_top_model){0};
	struct making making = {.model = model, .session = session};
	for (size_t i = 0; i < SONDE_TOP_VIEWS; i++)
		if (sonde_pass_find(views[i].pass))
			passes[count++] = sonde_pass_find(views[i].pass);
	int rc = sonde_report_new(&model->report);
	rc = rc ? rc : sonde_report_new(&model->passes);
	rc = rc ? rc : sonde_pass_run(session, passes, count, &options, model->passes);
	rc = rc ? rc : views_make(&making, &options);
	if (rc)
		sonde_top_model_fini(model);
	return rc;
}

void sonde_top_model_fini(struct sonde_top_model *model)
{
	sonde_report_free(model->report);
	sonde_report_free(model->passes);
	*model = (struct sonde_top_model){0};
}

/* --- order ------------------------------------------------------------------------------------------------------- */

int sonde_top_model_can_sort(enum sonde_top_view view, enum sonde_top_sort sort)
{
	return views[view].sort[sort] != 0;
}

static double number_of(const struct sonde_cell *cell)
{
	return cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->kind == SONDE_CELL_REAL ? cell->real : -1;
}

/* True if row a comes before row b: names ascend, numbers descend. */
static int is_before(const struct sonde_cell *a, const struct sonde_cell *b)
{
	if (a->kind == SONDE_CELL_TEXT && b->kind == SONDE_CELL_TEXT)
		return strcmp(a->text, b->text) < 0;
	return number_of(a) > number_of(b);
}

void sonde_top_model_sort(struct sonde_top_model *model, enum sonde_top_view view, enum sonde_top_sort sort)
{
	int column = views[view].sort[sort] - 1;
	if (column < 0 || !model->view[view])
		return;
	struct sonde_table *table = &model->view[view]->table;
	size_t width = table->column_count, row_b = width * sizeof *table->cells;
	struct sonde_cell held[COLUMNS_MAX];
	for (size_t i = 1; i < table->row_count; i++) { /* rows are few, and nearly sorted */
		size_t at = i;
		memcpy(held, &table->cells[i * width], row_b);
		while (at > 0 && is_before(&held[column], &table->cells[(at - 1) * width + (size_t)column])) {
			memcpy(&table->cells[at * width], &table->cells[(at - 1) * width], row_b);
			at--;
		}
		memcpy(&table->cells[at * width], held, row_b);
	}
}
