/* text.c: what a run used, as text: groups of lines with a figure and related values.
 *
 * A line whose figure is unknown is left out, and listed at the end with the reason; a line about something rare that
 * did not happen (swap, throttling) is left out, too.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/resource/machine_sums.h"
#include "analyze/resource/machine_devices.h"
#include "cli/stat/lines.h"
#include "cli/stat/show.h"
#include "export/clean.h"
#include "export/text/figure.h"
#include "export/text/text.h"
#include "util/buf.h"

enum { WIDE = 110 };

#define LONG_NS 1e9 /* above this duration, start-up hardly matters */

static void line_if_known(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure)
{
	if (sonde_stat_line_begin(text, label, figure))
		sonde_stat_line_end(text);
}

/* --- the program ------------------------------------------------------------------------------------------------- */

static void put_times(struct sonde_stat_lines *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	double cpu_ns = sonde_stat_value(figures, SONDE_STAT_CPU);
	text->group = "Timing";
	line_if_known(text, "wall", SONDE_STAT_WALL);
	if (sonde_stat_line_begin(text, figures->at_least ? "CPU, at least" : "CPU", SONDE_STAT_CPU)) {
		sonde_stat_line_more(text, "", SONDE_STAT_UTILIZATION, " of a core");
		sonde_stat_line_more(text, "most ", SONDE_STAT_UTILIZATION_MAX, "");
		sonde_stat_line_more(text, "", SONDE_STAT_MACHINE_SHARE, " of ");
		if (sonde_stat_known(figures, SONDE_STAT_MACHINE_SHARE))
			sonde_buf_printf(&text->remark, "%.0f cores", sonde_stat_value(figures, SONDE_STAT_CORES));
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "  user", SONDE_STAT_USER)) {
		if (cpu_ns > 0)
			sonde_stat_line_more_value(text, SONDE_UNIT_RATIO,
						   sonde_stat_value(figures, SONDE_STAT_USER) / cpu_ns, " of CPU time");
		sonde_stat_line_end(text);
	}
	line_if_known(text, "  system", SONDE_STAT_SYSTEM);
}

/* Only if requested. */
static void put_flop(struct sonde_stat_lines *text)
{
	const struct sonde_cell *flop = &text->show->figures->cell[SONDE_STAT_FLOP];
	int is_requested =
	    sonde_stat_known(text->show->figures, SONDE_STAT_FLOP) || strcmp(flop->text, SONDE_STAT_FLOP_UNASKED);
	if (!is_requested || !sonde_stat_line_begin(text, "FLOP", SONDE_STAT_FLOP))
		return;
	sonde_stat_line_say(text, "of user code, from hardware counters");
	sonde_stat_line_more(text, "", SONDE_STAT_FLOP_RATE, " a second");
	sonde_stat_line_end(text);
}

static void put_memory(struct sonde_stat_lines *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	double count = sonde_stat_value(figures, SONDE_STAT_PROCESSES);
	text->group = "Memory";
	if (sonde_stat_line_begin(text, "peak RSS", SONDE_STAT_PEAK_RSS)) {
		if (count > 1)
			sonde_stat_line_say(text,
					    figures->is_peak_sum ? "all processes together" : "of the largest process");
		else if (figures->peak_below_b)
			sonde_stat_line_say(text, "when polled");
		else if (figures->is_exact)
			sonde_stat_line_say(text, "by the kernel");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "mean RSS", SONDE_STAT_MEAN_RSS)) {
		sonde_stat_line_more(text, "first ", SONDE_STAT_FIRST_RSS, "");
		sonde_stat_line_more(text, "last ", SONDE_STAT_LAST_RSS, "");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "PSS peak", SONDE_STAT_PEAK_PSS)) {
		sonde_stat_line_more(text, "last ", SONDE_STAT_LAST_PSS, "; shared pages are split");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin_some(text, "swap peak", SONDE_STAT_PEAK_SWAP))
		sonde_stat_line_end(text);
	if (sonde_stat_line_begin(text, "page faults", SONDE_STAT_FAULTS_MINOR)) {
		sonde_stat_line_more(text, "without I/O; ", SONDE_STAT_FAULTS_MAJOR, " read from a disk");
		sonde_stat_line_end(text);
	}
}

static void put_waiting(struct sonde_stat_lines *text)
{
	text->group = "Waiting";
	if (sonde_stat_line_begin(text, "runnable", SONDE_STAT_RUNNABLE)) {
		sonde_stat_line_say(text, "waiting for a CPU");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "switches", SONDE_STAT_VOLUNTARY)) {
		sonde_stat_line_say(text, "voluntary");
		sonde_stat_line_more(text, "", SONDE_STAT_INVOLUNTARY, " involuntary");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin_some(text, "migrations", SONDE_STAT_MIGRATIONS)) {
		sonde_stat_line_say(text, "migrations between CPUs");
		sonde_stat_line_end(text);
	}
}

static void put_io(struct sonde_stat_lines *text)
{
	text->group = "I/O";
	if (sonde_stat_line_begin(text, "read", SONDE_STAT_READ)) {
		sonde_stat_line_say(text, "from storage");
		sonde_stat_line_more(text, "", SONDE_STAT_READ_ALL, " by all calls");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "written", SONDE_STAT_WRITTEN)) {
		sonde_stat_line_say(text, "to storage");
		sonde_stat_line_more(text, "", SONDE_STAT_WRITTEN_ALL, " by all calls");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "descriptors", SONDE_STAT_FILES_PEAK)) {
		sonde_stat_line_say(text, "maximum at one time");
		sonde_stat_line_more(text, "", SONDE_STAT_FILES_LAST, " last");
		sonde_stat_line_end(text);
	}
	text->group = "Processes";
	if (sonde_stat_value(text->show->figures, SONDE_STAT_PROCESSES) > 1 &&
	    sonde_stat_line_begin(text, "processes", SONDE_STAT_PROCESSES)) {
		sonde_stat_line_say(text, text->show->figures->count_at_least ? "were seen; there may have been more"
									      : "were seen");
		sonde_stat_line_more(text, "", SONDE_STAT_PROCESSES_PEAK, " at most at one time");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "threads", SONDE_STAT_THREADS_PEAK)) {
		sonde_stat_line_say(text, "maximum at one time");
		sonde_stat_line_more(text, "", SONDE_STAT_THREADS_LAST, " last");
		sonde_stat_line_end(text);
	}
}

/* --- the system -------------------------------------------------------------------------------------------------- */

static void put_object(struct sonde_stat_lines *text, const char *kind, const struct sonde_machine_object *object,
		       const char *in, const char *out)
{
	char label[64];
	double read = sonde_machine_change(object->in), written = sonde_machine_change(object->out);
	double busy = sonde_machine_share(object->busy);
	if (read <= 0 && written <= 0 && busy <= 0)
		return;
	snprintf(label, sizeof label, "%s %.40s", kind, object->name);
	sonde_buf_clear(&text->figure);
	sonde_buf_clear(&text->remark);
	text->label = label;
	if (object->busy && busy >= 0) {
		sonde_figure_value(&text->figure, SONDE_UNIT_RATIO, busy, text->style->ascii);
		sonde_stat_line_say(text, "of the time busy");
	} else {
		sonde_figure_value(&text->figure, SONDE_UNIT_BYTES, read, text->style->ascii);
		sonde_stat_line_say(text, in);
	}
	if (object->busy && busy >= 0)
		sonde_stat_line_more_value(text, SONDE_UNIT_BYTES, read, in);
	sonde_stat_line_more_value(text, SONDE_UNIT_BYTES, written, out);
	sonde_stat_line_end(text);
}

static void put_objects(struct sonde_stat_lines *text)
{
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	size_t count = sonde_machine_objects(text->show->sums, SONDE_MACHINE_DISKS, objects);
	for (size_t i = 0; i < count; i++)
		put_object(text, "disk", &objects[i], " read", " written");
	count = sonde_machine_objects(text->show->sums, SONDE_MACHINE_NETWORKS, objects);
	for (size_t i = 0; i < count; i++)
		put_object(text, "net", &objects[i], "received", " sent");
}

static void put_pressure(struct sonde_stat_lines *text)
{
	static const struct {
		const char *label, *what;
		enum sonde_stat some, full;
	} pressures[] = {
	    {"CPU pressure", "of the time some task waited", SONDE_STAT_PRESSURE_CPU, SONDE_STAT_PRESSURE_CPU_FULL},
	    {"mem pressure", "of the time some task waited", SONDE_STAT_PRESSURE_MEMORY,
	     SONDE_STAT_PRESSURE_MEMORY_FULL},
	    {"I/O pressure", "of the time some task waited", SONDE_STAT_PRESSURE_IO, SONDE_STAT_PRESSURE_IO_FULL},
	};
	for (size_t i = 0; i < 3; i++) {
		if (!sonde_stat_known(text->show->figures, pressures[i].some)) {
			sonde_stat_line_miss(text, pressures[i].label,
					     text->show->figures->cell[pressures[i].some].text);
			continue;
		}
		if (!sonde_stat_line_begin_some(text, pressures[i].label, pressures[i].some))
			continue;
		sonde_stat_line_say(text, pressures[i].what);
		if (sonde_stat_value(text->show->figures, pressures[i].full) > 0)
			sonde_stat_line_more(text, "", pressures[i].full, " all tasks");
		sonde_stat_line_end(text);
	}
}

static void put_machine(struct sonde_stat_lines *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	text->group = "System";
	if (sonde_stat_line_begin(text, "CPU", SONDE_STAT_MACHINE_CPU)) {
		sonde_buf_printf(&text->remark, "of %.0f cores", sonde_stat_value(figures, SONDE_STAT_CORES));
		sonde_stat_line_more(text, "least ", SONDE_STAT_MACHINE_CPU_MIN, "");
		sonde_stat_line_more(text, "most ", SONDE_STAT_MACHINE_CPU_MAX, "");
		if (sonde_stat_value(figures, SONDE_STAT_MACHINE_IOWAIT) > 0)
			sonde_stat_line_more(text, "waiting for a disk ", SONDE_STAT_MACHINE_IOWAIT, "");
		if (sonde_stat_value(figures, SONDE_STAT_MACHINE_STOLEN) > 0)
			sonde_stat_line_more(text, "stolen by the hypervisor ", SONDE_STAT_MACHINE_STOLEN, "");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "load", SONDE_STAT_LOAD)) {
		sonde_stat_line_more(text, "over a minute, at most ", SONDE_STAT_LOAD_MAX, "");
		sonde_stat_line_end(text);
	}
	if (sonde_stat_line_begin(text, "memory", SONDE_STAT_MACHINE_MEMORY)) {
		sonde_stat_line_more(text, "of ", SONDE_STAT_MACHINE_MEMORY_ALL,
				     figures->is_limited ? ", the cgroup's limit" : "");
		sonde_stat_line_more(text, "most ", SONDE_STAT_MACHINE_MEMORY_MAX, "");
		sonde_stat_line_end(text);
	}
	put_objects(text);
	put_pressure(text);
	if (sonde_stat_line_begin_some(text, "throttled", SONDE_STAT_THROTTLED)) {
		sonde_stat_line_more(text, "by the cgroup's quota, in ", SONDE_STAT_THROTTLED_PERIODS,
				     " of its periods");
		sonde_stat_line_end(text);
	}
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

static void more_bytes(struct sonde_stat_lines *text, const char *before, double value_b)
{
	if (value_b < 0)
		return;
	sonde_stat_line_say(text, before);
	sonde_figure_value(&text->remark, SONDE_UNIT_BYTES, value_b, text->style->ascii);
}

/* "GPU 0 NAME": the label has the number. */
static void put_device(struct sonde_stat_lines *text, const struct sonde_machine_device *device)
{
	const char *name = strncmp(device->name, "GPU ", 4) ? NULL : strchr(device->name + 4, ' ');
	char label[16];
	snprintf(label, sizeof label, "%.*s", name ? (int)(name - device->name) : (int)sizeof label - 1, device->name);
	sonde_buf_clear(&text->figure);
	sonde_buf_clear(&text->remark);
	text->label = label;
	if (device->busy >= 0) {
		sonde_figure_value(&text->figure, SONDE_UNIT_RATIO, device->busy, text->style->ascii);
		sonde_stat_line_say(text, "of the time a kernel ran");
		sonde_stat_line_say(text, "most ");
		sonde_figure_value(&text->remark, SONDE_UNIT_RATIO, device->busy_most, text->style->ascii);
	} else {
		sonde_buf_text(&text->figure, "-");
		sonde_stat_line_say(text, "utilisation: not reported by the driver");
	}
	more_bytes(text, "memory at most ", device->memory_most_b);
	if (device->memory_most_b >= 0 && device->memory_all_b >= 0) {
		sonde_buf_text(&text->remark, " of ");
		sonde_figure_value(&text->remark, SONDE_UNIT_BYTES, device->memory_all_b, text->style->ascii);
	}
	more_bytes(text, "by the command's largest process ", device->own_most_b);
	sonde_stat_line_say(text, name ? name + 1 : "");
	sonde_stat_line_end(text);
}

/* Only if requested. */
static void put_devices(struct sonde_stat_lines *text)
{
	const struct sonde_cell *count = &text->show->figures->cell[SONDE_STAT_DEVICES];
	const char *names[SONDE_MACHINE_DEVICES_MAX];
	if (count->kind == SONDE_CELL_ABSENT) {
		if (strcmp(count->text, SONDE_STAT_DEVICES_UNASKED))
			sonde_stat_line_miss(text, "devices", count->text);
		return;
	}
	text->group = "GPUs, by their driver";
	size_t read = sonde_machine_devices(text->show->sums, names);
	for (size_t i = 0; i < read; i++) {
		struct sonde_machine_device device;
		sonde_machine_device_of(&device, text->show->sums, names[i]);
		put_device(text, &device);
	}
}

static void put_readings(struct sonde_stat_lines *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	double cost = sonde_stat_value(figures, SONDE_STAT_COST), wall = sonde_stat_value(figures, SONDE_STAT_WALL);
	text->group = "Readings";
	if (!sonde_stat_line_begin(text, "readings", SONDE_STAT_READINGS))
		return;
	sonde_stat_line_more(text, "every ", SONDE_STAT_REQUESTED, " requested");
	sonde_stat_line_more(text, "", SONDE_STAT_INTERVAL, " achieved");
	sonde_stat_line_more(text, "deviation ", SONDE_STAT_JITTER, "");
	sonde_stat_line_more(text, "longest ", SONDE_STAT_LONGEST, "");
	if (sonde_stat_known(figures, SONDE_STAT_COST)) {
		sonde_stat_line_more(text, "sonde took ", SONDE_STAT_COST, " of CPU time");
		if (wall >= LONG_NS)
			sonde_stat_line_more_value(text, SONDE_UNIT_RATIO, cost / wall, " of a core");
	}
	sonde_stat_line_end(text);
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

static void put_title(struct sonde_stat_lines *text)
{
	const struct sonde_stat_show *show = text->show;
	struct sonde_buf line, cut;
	char how[64] = "";
	if (show->status != -1 && WIFSIGNALED(show->status))
		snprintf(how, sizeof how, "killed by signal %d: ", WTERMSIG(show->status));
	else if (show->status != -1 && WEXITSTATUS(show->status))
		snprintf(how, sizeof how, "exit code %d: ", WEXITSTATUS(show->status));
	else if (show->attached)
		snprintf(how, sizeof how, "process %d", show->attached);
	sonde_buf_init(&line, SONDE_STAT_TEXT_MAX_B);
	sonde_buf_text(&line, how);
	sonde_clean(&line, show->command, text->style->ascii);
	sonde_buf_init(&cut, SONDE_STAT_TEXT_MAX_B);
	sonde_clean_cut(&cut, sonde_buf_string(&line), (size_t)text->style->width, text->style->ascii);
	fprintf(text->out, text->style->color ? "\033[1m%s\033[0m\n" : "%s\n", sonde_buf_string(&cut));
	sonde_buf_fini(&cut);
	sonde_buf_fini(&line);
}

/* True if a column is shown here: only those that fit are. A report has all of them. */
static int is_shown(const struct sonde_stat_lines *text, const struct sonde_column *column)
{
	int is_wide = text->style->width >= WIDE;
	return column->detail <= 1 || (is_wide && (column->detail == 2 || strcmp(column->key, "pid") == 0));
}

static void put_processes(struct sonde_stat_lines *text)
{
	const struct sonde_report *report = text->show->report;
	const struct sonde_table *all = report && report->first ? &report->first->table : NULL;
	if (!all || all->row_count < 2)
		return;
	struct sonde_column *columns = calloc(all->column_count, sizeof *columns);
	struct sonde_cell *cells = calloc(all->column_count * all->row_count, sizeof *cells);
	struct sonde_table shown = {
	    .columns = columns, .cells = cells, .row_count = all->row_count, .omitted = all->omitted};
	for (size_t i = 0; columns && i < all->column_count; i++)
		if (is_shown(text, &all->columns[i]))
			columns[shown.column_count++] = all->columns[i];
	for (size_t i = 0, at = 0; cells && i < all->column_count * all->row_count; i++)
		if (is_shown(text, &all->columns[i % all->column_count]))
			cells[at++] = all->cells[i];
	if (columns && cells) {
		fprintf(text->out, text->style->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", "By process");
		sonde_text_table(&shown, text->style, text->out);
	}
	free(columns);
	free(cells);
}

static void put_warning(struct sonde_stat_lines *text, const char *what)
{
	struct sonde_buf line;
	sonde_buf_init(&line, SONDE_STAT_TEXT_MAX_B);
	sonde_clean(&line, what, text->style->ascii);
	fprintf(text->out, "\n! ");
	sonde_text_wrap(text->out, sonde_buf_string(&line), text->style->width, 2);
	sonde_buf_fini(&line);
}

static void put_notes(struct sonde_stat_lines *text)
{
	const struct sonde_stat_show *show = text->show;
	const struct sonde_session *session = show->sums->session;
	sonde_stat_lines_missed(text);
	if (show->figures->at_least)
		put_warning(text, "CPU time is a lower bound: not every process was waited for");
	for (size_t i = 0; i < sonde_session_source_count(session); i++) {
		const char *detail = sonde_session_source(session, i)->detail;
		if (*detail && !sonde_stat_lines_has_said(text, detail))
			put_warning(text, detail);
	}
	if (show->error)
		put_warning(text, show->error);
}

void sonde_stat_devices(struct sonde_buf *line, double busy, const struct sonde_stat_figures *figures, int ascii)
{
	double count = sonde_stat_value(figures, SONDE_STAT_DEVICES);
	sonde_buf_text(line, ", GPU Util: ");
	sonde_figure_value(line, SONDE_UNIT_RATIO, busy, ascii);
	if (count > 1)
		sonde_buf_printf(line, " of %.0f", count);
}

void sonde_stat_summary(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out)
{
	const struct sonde_stat_figures *figures = show->figures;
	struct sonde_buf line;
	sonde_buf_init(&line, SONDE_STAT_TEXT_MAX_B);
	if (sonde_stat_known(figures, SONDE_STAT_PEAK_RSS)) {
		sonde_buf_text(&line, "Peak RAM: ");
		sonde_figure(&line, SONDE_UNIT_BYTES, &figures->cell[SONDE_STAT_PEAK_RSS], style->ascii);
		sonde_buf_text(&line, ", ");
	} else if (figures->peak_below_b) {
		sonde_buf_text(&line, "Peak RAM: < ");
		sonde_figure_value(&line, SONDE_UNIT_BYTES, (double)figures->peak_below_b, style->ascii);
		sonde_buf_text(&line, ", ");
	}
	sonde_buf_text(&line, "Wall Time: ");
	sonde_figure(&line, SONDE_UNIT_NS, &figures->cell[SONDE_STAT_WALL], style->ascii);
	if (sonde_stat_known(figures, SONDE_STAT_UTILIZATION)) {
		sonde_buf_text(&line, ", CPU Util: ");
		sonde_figure(&line, SONDE_UNIT_RATIO, &figures->cell[SONDE_STAT_UTILIZATION], style->ascii);
	}
	if (sonde_stat_known(figures, SONDE_STAT_DEVICE_BUSY))
		sonde_stat_devices(&line, sonde_stat_value(figures, SONDE_STAT_DEVICE_BUSY), figures, style->ascii);
	fprintf(out, "%.*s\n", (int)line.len_b, (const char *)line.data);
	sonde_buf_fini(&line);
}

void sonde_stat_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out)
{
	struct sonde_stat_lines text = {.show = show, .style = style, .out = out};
	sonde_buf_init(&text.figure, SONDE_STAT_TEXT_MAX_B);
	sonde_buf_init(&text.remark, SONDE_STAT_TEXT_MAX_B);
	put_title(&text);
	put_times(&text);
	put_flop(&text);
	put_memory(&text);
	put_waiting(&text);
	put_io(&text);
	put_machine(&text);
	put_devices(&text);
	put_readings(&text);
	put_notes(&text);
	put_processes(&text);
	putc('\n', out);
	sonde_stat_summary(show, style, out);
	sonde_buf_fini(&text.figure);
	sonde_buf_fini(&text.remark);
}
