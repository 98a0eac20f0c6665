/* stat_text.c: what a run used, for people: groups of lines of one figure and what belongs to it.
 *
 * A line whose figure is not known is left out, and named below with the reason; one that would only say that there was
 * none of something that is rare (swap, throttling) is left out, too.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/machine.h"
#include "cli/stat_show.h"
#include "export/clean.h"
#include "export/figure.h"
#include "export/text.h"
#include "util/buf.h"

enum { LABEL = 14, FIGURE = 10, REMARK = 2 + LABEL + FIGURE + 2, TEXT_MAX_B = 1 << 16, MISSED_MAX = 32, WIDE = 110 };

#define LONG_NS 1e9 /* starting up counts for less */

struct text {
	const struct sonde_stat_show *show;
	const struct sonde_format_options *style;
	FILE *out;
	const char *group; /* to be printed before the next line; NULL = it was */
	const char *label;
	struct sonde_buf figure, remark;
	struct miss {
		const char *label, *why;
	} miss[MISSED_MAX]; /* figures that are not known */
	size_t missed;
};

/* --- lines ------------------------------------------------------------------------------------------------------- */

static void put_figure(struct text *text, struct sonde_buf *to, enum sonde_stat figure)
{
	const struct sonde_cell *cell = &text->show->figures->cell[figure];
	sonde_figure(to, sonde_stat_row(figure)->unit, cell, text->style->ascii);
}

static void miss(struct text *text, const char *label, const char *why)
{
	label += strspn(label, " ");
	if (text->missed < MISSED_MAX)
		text->miss[text->missed++] = (struct miss){label, why};
}

/* Those with the same reason are told together. */
static void put_missed(struct text *text)
{
	struct sonde_buf line;
	sonde_buf_init(&line, TEXT_MAX_B);
	for (size_t i = 0; i < text->missed; i++) {
		const char *why = text->miss[i].why, *comma = "";
		if (!text->miss[i].label)
			continue;
		sonde_buf_clear(&line);
		sonde_buf_text(&line, "Not measured: ");
		for (size_t k = i; k < text->missed; k++) {
			if (!text->miss[k].label || strcmp(text->miss[k].why, why) != 0)
				continue;
			sonde_buf_printf(&line, "%s%s", comma, text->miss[k].label);
			text->miss[k].label = NULL;
			comma = ", ";
		}
		sonde_buf_printf(&line, ": %s", why);
		if (!sonde_buf_append(&line, "", 1)) {
			putc('\n', text->out);
			sonde_text_wrap(text->out, (const char *)line.data, text->style->width, 2);
		}
	}
	sonde_buf_fini(&line);
}

/* Below the table a label of the machine's group could be the program's. */
static const char *name_of(const char *label, enum sonde_stat figure)
{
	return figure == SONDE_STAT_MACHINE_CPU      ? "the machine's CPU"
	       : figure == SONDE_STAT_MACHINE_MEMORY ? "the machine's memory"
						     : label;
}

/* Begins a line; 0 where the figure is not known. */
static int begin(struct text *text, const char *label, enum sonde_stat figure)
{
	sonde_buf_clear(&text->figure);
	sonde_buf_clear(&text->remark);
	text->label = label;
	if (!sonde_stat_known(text->show->figures, figure)) {
		miss(text, name_of(label, figure), text->show->figures->cell[figure].text);
		return 0;
	}
	put_figure(text, &text->figure, figure);
	return 1;
}

/* The same, but only of what there was. */
static int begin_some(struct text *text, const char *label, enum sonde_stat figure)
{
	return sonde_stat_value(text->show->figures, figure) > 0 && begin(text, label, figure);
}

static void comma(struct text *text, const char *before)
{
	sonde_buf_printf(&text->remark, "%s%s", text->remark.len_b ? ", " : "", before);
}

static void more(struct text *text, const char *before, enum sonde_stat figure, const char *after)
{
	if (!sonde_stat_known(text->show->figures, figure))
		return;
	comma(text, before);
	put_figure(text, &text->remark, figure);
	sonde_buf_text(&text->remark, after);
}

static void more_value(struct text *text, enum sonde_unit unit, double value, const char *after)
{
	comma(text, "");
	sonde_figure_value(&text->remark, unit, value, text->style->ascii);
	sonde_buf_text(&text->remark, after);
}

/* Ends the line that was begun. */
static void end(struct text *text)
{
	struct sonde_buf clean;
	sonde_buf_init(&clean, TEXT_MAX_B);
	if (text->group)
		fprintf(text->out, text->style->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text->group);
	text->group = NULL;
	if (!sonde_buf_append(&text->figure, "", 1) && !sonde_buf_append(&text->remark, "", 1)) {
		int width = (int)sonde_clean_columns((const char *)text->figure.data);
		int label = (int)sonde_clean_columns(text->label);
		fprintf(text->out, "  %s%*s%s", text->label,
			LABEL + FIGURE - label > width ? LABEL + FIGURE - label - width : 1, "",
			(const char *)text->figure.data);
		sonde_clean(&clean, (const char *)text->remark.data, text->style->ascii);
		if (*text->remark.data && !sonde_buf_append(&clean, "", 1)) {
			fprintf(text->out, "  ");
			sonde_text_wrap(text->out, (const char *)clean.data, text->style->width, REMARK);
		} else {
			putc('\n', text->out);
		}
	}
	sonde_buf_fini(&clean);
}

static void line_if_known(struct text *text, const char *label, enum sonde_stat figure)
{
	if (begin(text, label, figure))
		end(text);
}

/* --- the program ------------------------------------------------------------------------------------------------- */

static void put_times(struct text *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	double cpu_ns = sonde_stat_value(figures, SONDE_STAT_CPU);
	text->group = "Timing";
	line_if_known(text, "wall", SONDE_STAT_WALL);
	if (begin(text, figures->at_least ? "CPU, at least" : "CPU", SONDE_STAT_CPU)) {
		more(text, "", SONDE_STAT_UTILIZATION, " of a core");
		more(text, "most ", SONDE_STAT_UTILIZATION_MAX, "");
		more(text, "", SONDE_STAT_MACHINE_SHARE, " of ");
		if (sonde_stat_known(figures, SONDE_STAT_MACHINE_SHARE))
			sonde_buf_printf(&text->remark, "%.0f cores", sonde_stat_value(figures, SONDE_STAT_CORES));
		end(text);
	}
	if (begin(text, "  user", SONDE_STAT_USER)) {
		if (cpu_ns > 0)
			more_value(text, SONDE_UNIT_RATIO, sonde_stat_value(figures, SONDE_STAT_USER) / cpu_ns,
				   " of CPU time");
		end(text);
	}
	line_if_known(text, "  system", SONDE_STAT_SYSTEM);
}

static void put_memory(struct text *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	double count = sonde_stat_value(figures, SONDE_STAT_PROCESSES);
	text->group = "Memory";
	if (begin(text, "resident peak", SONDE_STAT_PEAK_RSS)) {
		if (count > 1)
			comma(text, figures->is_peak_sum ? "all processes together" : "of the largest process");
		else if (figures->peak_below_b)
			comma(text, "at a reading");
		else if (figures->is_exact)
			comma(text, "by the kernel");
		end(text);
	}
	if (begin(text, "resident mean", SONDE_STAT_MEAN_RSS)) {
		more(text, "first ", SONDE_STAT_FIRST_RSS, "");
		more(text, "last ", SONDE_STAT_LAST_RSS, "");
		end(text);
	}
	if (begin(text, "PSS peak", SONDE_STAT_PEAK_PSS)) {
		more(text, "last ", SONDE_STAT_LAST_PSS, "; pages shared with others divided");
		end(text);
	}
	if (begin_some(text, "swap peak", SONDE_STAT_PEAK_SWAP))
		end(text);
	if (begin(text, "page faults", SONDE_STAT_FAULTS_MINOR)) {
		more(text, "without I/O; ", SONDE_STAT_FAULTS_MAJOR, " read from a disk");
		end(text);
	}
}

static void put_waiting(struct text *text)
{
	text->group = "Waiting";
	if (begin(text, "runnable", SONDE_STAT_RUNNABLE)) {
		comma(text, "and waiting for a CPU");
		end(text);
	}
	if (begin(text, "switches", SONDE_STAT_VOLUNTARY)) {
		comma(text, "it waited");
		more(text, "", SONDE_STAT_INVOLUNTARY, " when it could have gone on");
		end(text);
	}
	if (begin_some(text, "migrations", SONDE_STAT_MIGRATIONS)) {
		comma(text, "of threads to another CPU");
		end(text);
	}
}

static void put_io(struct text *text)
{
	text->group = "I/O";
	if (begin(text, "read", SONDE_STAT_READ)) {
		comma(text, "from storage");
		more(text, "", SONDE_STAT_READ_ALL, " by all calls");
		end(text);
	}
	if (begin(text, "written", SONDE_STAT_WRITTEN)) {
		comma(text, "to storage");
		more(text, "", SONDE_STAT_WRITTEN_ALL, " by all calls");
		end(text);
	}
	if (begin(text, "descriptors", SONDE_STAT_FILES_PEAK)) {
		comma(text, "at once at most");
		more(text, "", SONDE_STAT_FILES_LAST, " last");
		end(text);
	}
	text->group = "Processes";
	if (sonde_stat_value(text->show->figures, SONDE_STAT_PROCESSES) > 1 &&
	    begin(text, "processes", SONDE_STAT_PROCESSES)) {
		comma(text, "were seen");
		more(text, "", SONDE_STAT_PROCESSES_PEAK, " at once at most");
		end(text);
	}
	if (begin(text, "threads", SONDE_STAT_THREADS_PEAK)) {
		comma(text, "at once at most");
		more(text, "", SONDE_STAT_THREADS_LAST, " last");
		end(text);
	}
}

/* --- the machine ------------------------------------------------------------------------------------------------- */

static void put_object(struct text *text, const char *kind, const struct sonde_machine_object *object, const char *in,
		       const char *out)
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
		comma(text, "of the time busy");
	} else {
		sonde_figure_value(&text->figure, SONDE_UNIT_BYTES, read, text->style->ascii);
		comma(text, in);
	}
	if (object->busy && busy >= 0)
		more_value(text, SONDE_UNIT_BYTES, read, in);
	more_value(text, SONDE_UNIT_BYTES, written, out);
	end(text);
}

static void put_objects(struct text *text)
{
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	size_t count = sonde_machine_objects(text->show->sums, SONDE_MACHINE_DISKS, objects);
	for (size_t i = 0; i < count; i++)
		put_object(text, "disk", &objects[i], " read", " written");
	count = sonde_machine_objects(text->show->sums, SONDE_MACHINE_NETWORKS, objects);
	for (size_t i = 0; i < count; i++)
		put_object(text, "net", &objects[i], "received", " sent");
}

static void put_pressure(struct text *text)
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
			miss(text, pressures[i].label, text->show->figures->cell[pressures[i].some].text);
			continue;
		}
		if (!begin_some(text, pressures[i].label, pressures[i].some))
			continue;
		comma(text, pressures[i].what);
		if (sonde_stat_value(text->show->figures, pressures[i].full) > 0)
			more(text, "", pressures[i].full, " all tasks");
		end(text);
	}
}

static void put_machine(struct text *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	text->group = "The machine meanwhile";
	if (begin(text, "CPU", SONDE_STAT_MACHINE_CPU)) {
		sonde_buf_printf(&text->remark, "of %.0f cores", sonde_stat_value(figures, SONDE_STAT_CORES));
		more(text, "least ", SONDE_STAT_MACHINE_CPU_MIN, "");
		more(text, "most ", SONDE_STAT_MACHINE_CPU_MAX, "");
		if (sonde_stat_value(figures, SONDE_STAT_MACHINE_IOWAIT) > 0)
			more(text, "idle for a disk ", SONDE_STAT_MACHINE_IOWAIT, "");
		if (sonde_stat_value(figures, SONDE_STAT_MACHINE_STOLEN) > 0)
			more(text, "stolen by a hypervisor ", SONDE_STAT_MACHINE_STOLEN, "");
		end(text);
	}
	if (begin(text, "load", SONDE_STAT_LOAD)) {
		more(text, "of a minute, most ", SONDE_STAT_LOAD_MAX, "");
		end(text);
	}
	if (begin(text, "memory", SONDE_STAT_MACHINE_MEMORY)) {
		more(text, "of ", SONDE_STAT_MACHINE_MEMORY_ALL,
		     figures->is_limited ? ", the control group's limit" : "");
		more(text, "most ", SONDE_STAT_MACHINE_MEMORY_MAX, "");
		end(text);
	}
	put_objects(text);
	put_pressure(text);
	if (begin_some(text, "throttled", SONDE_STAT_THROTTLED)) {
		more(text, "by the control group's quota, in ", SONDE_STAT_THROTTLED_PERIODS, " of its periods");
		end(text);
	}
}

static void put_readings(struct text *text)
{
	const struct sonde_stat_figures *figures = text->show->figures;
	double cost = sonde_stat_value(figures, SONDE_STAT_COST), wall = sonde_stat_value(figures, SONDE_STAT_WALL);
	text->group = "Readings";
	if (!begin(text, "readings", SONDE_STAT_READINGS))
		return;
	more(text, "each ", SONDE_STAT_ASKED, " asked for");
	more(text, "", SONDE_STAT_INTERVAL, " kept");
	more(text, "deviation ", SONDE_STAT_JITTER, "");
	more(text, "longest ", SONDE_STAT_LONGEST, "");
	if (sonde_stat_known(figures, SONDE_STAT_COST)) {
		more(text, "sonde took ", SONDE_STAT_COST, " of CPU time");
		if (wall >= LONG_NS)
			more_value(text, SONDE_UNIT_RATIO, cost / wall, " of a core");
	}
	end(text);
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

static void put_title(struct text *text)
{
	const struct sonde_stat_show *show = text->show;
	struct sonde_buf line;
	char how[64] = "";
	if (show->status != -1 && WIFSIGNALED(show->status))
		snprintf(how, sizeof how, "ended by signal %d: ", WTERMSIG(show->status));
	else if (show->status != -1 && WEXITSTATUS(show->status))
		snprintf(how, sizeof how, "exit code %d: ", WEXITSTATUS(show->status));
	else if (show->attached)
		snprintf(how, sizeof how, "process %d", show->attached);
	sonde_buf_init(&line, TEXT_MAX_B);
	sonde_buf_text(&line, how);
	sonde_clean(&line, show->command, text->style->ascii);
	if (!sonde_buf_append(&line, "", 1)) {
		struct sonde_buf cut;
		sonde_buf_init(&cut, TEXT_MAX_B);
		sonde_clean_cut(&cut, (const char *)line.data, (size_t)text->style->width, text->style->ascii);
		fprintf(text->out, text->style->color ? "\033[1m%.*s\033[0m\n" : "%.*s\n", (int)cut.len_b,
			(const char *)cut.data);
		sonde_buf_fini(&cut);
	}
	sonde_buf_fini(&line);
}

/* The columns that have room; a report has them all. */
static int is_shown(const struct text *text, const struct sonde_column *column)
{
	int is_wide = text->style->width >= WIDE;
	return column->detail <= 1 || (is_wide && (column->detail == 2 || strcmp(column->key, "pid") == 0));
}

static void put_processes(struct text *text)
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

static void put_warning(struct text *text, const char *what)
{
	struct sonde_buf line;
	sonde_buf_init(&line, TEXT_MAX_B);
	sonde_clean(&line, what, text->style->ascii);
	if (!sonde_buf_append(&line, "", 1)) {
		fprintf(text->out, "\n! ");
		sonde_text_wrap(text->out, (const char *)line.data, text->style->width, 2);
	}
	sonde_buf_fini(&line);
}

static void put_notes(struct text *text)
{
	const struct sonde_stat_show *show = text->show;
	const struct sonde_session *session = show->sums->session;
	put_missed(text);
	if (show->figures->at_least)
		put_warning(text, "CPU time is a lower bound: not every process was waited for");
	for (size_t i = 0; i < sonde_session_source_count(session); i++)
		if (*sonde_session_source(session, i)->detail)
			put_warning(text, sonde_session_source(session, i)->detail);
	if (show->error)
		put_warning(text, show->error);
}

void sonde_stat_summary(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out)
{
	const struct sonde_stat_figures *figures = show->figures;
	struct sonde_buf line;
	sonde_buf_init(&line, TEXT_MAX_B);
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
	fprintf(out, "%.*s\n", (int)line.len_b, (const char *)line.data);
	sonde_buf_fini(&line);
}

void sonde_stat_text(const struct sonde_stat_show *show, const struct sonde_format_options *style, FILE *out)
{
	struct text text = {.show = show, .style = style, .out = out};
	sonde_buf_init(&text.figure, TEXT_MAX_B);
	sonde_buf_init(&text.remark, TEXT_MAX_B);
	put_title(&text);
	put_times(&text);
	put_memory(&text);
	put_waiting(&text);
	put_io(&text);
	put_machine(&text);
	put_readings(&text);
	put_notes(&text);
	put_processes(&text);
	putc('\n', out);
	sonde_stat_summary(show, style, out);
	sonde_buf_fini(&text.figure);
	sonde_buf_fini(&text.remark);
}
