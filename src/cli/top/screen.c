/* screen.c: the main loop: wait for a key, poll the feed for a new interval, draw.
 *
 * The header has four lines: the process, the system, the views, and an error if there is one. Then comes the table,
 * whose lines are those of the text format, cut to the screen, and at the bottom the keys. A view's table is formatted
 * only when it changes, so that scrolling costs nothing.
 */
#include "cli/top/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/common/output.h"
#include "cli/top/curses.h"
#include "cli/top/model.h"
#include "export/clean.h"
#include "export/text/figure.h"
#include "export/text/text.h"
#include "util/error.h"

#define ROWS 200 /* maximum number of rows of a view; further rows are only counted */
#define KEY_WAIT_MS 250
#define HEAD_LINES 4
#define FAR (1 << 20) /* number of rows that always moves to the first or last row */
#define LINE_MAX_B 4096
#define CTRL_L 014                 /* redraws, as in other programs */
#define LEAST_EVERY_NS 1000000000u /* recorders flush once a second */
#define MOST_EVERY_NS 60000000000u

/* The table of a view as lines, the heading first. */
struct lines {
	char *text; /* each line ends with NUL */
	size_t size_b;
	char **line;
	size_t count;
};

struct screen {
	struct sonde_top_target target;
	struct sonde_top_feed *feed;
	struct sonde_format_options style;
	struct sonde_top_model model; /* its `report` is NULL until there is an interval */
	enum sonde_top_view view;
	enum sonde_top_sort sort[SONDE_TOP_VIEWS];
	size_t at[SONDE_TOP_VIEWS], top[SONDE_TOP_VIEWS]; /* rows: selected, first visible */
	struct lines table;
	double seconds; /* length of the interval shown */
	uint64_t due_ns;
	int is_paused, is_help, is_stale, is_torn, is_quit;
	char message[512]; /* why nothing new arrives */
};

static volatile sig_atomic_t is_told_to_end;
static volatile sig_atomic_t is_hung_up; /* the terminal was closed */

static const char *const view_names[] = {"Functions", "Threads", "Memory and I/O", "Machine"};
static const char *const sort_names[SONDE_TOP_SORTS] = {"CPU", "memory", "time", "name"};
enum { VIEWS_SHOWN = sizeof view_names / sizeof *view_names };

static const char *const help[] = {
    "Keys",
    "",
    "  F1 h ?        this help",
    "  Tab F4        the next view; 1 functions, 2 threads, 3 memory and I/O,",
    "                4 system",
    "  t             functions or threads",
    "  F6 >          the next order of rows",
    "  P M T N       rows by CPU, by memory, by time, by name",
    "  arrows, PgUp, PgDn, Home, End: move",
    "  space p       pause, resume",
    "  + -           longer, shorter intervals",
    "  F10 q         quit; the program keeps running",
    "",
    "self: CPU time in the function itself; total: including callees. 100 % is",
    "all CPU time of the interval; ± is the 95 % interval. On CPU, runnable (waiting",
    "for a CPU) and blocked are shares of a thread's time. CPU of a process: 100 %",
    "is one core. CPU time counts from the start of the thread or process. read/s,",
    "wrote/s: from and to storage.",
};

/* --- figures ----------------------------------------------------------------------------------------------------- */

static void put_figure(const struct screen *screen, struct sonde_buf *out, const char *name, const char *key,
		       enum sonde_unit unit)
{
	const struct sonde_cell *cell = sonde_report_cell(screen->model.view[SONDE_TOP_PROCESSES], 0, key);
	if (cell->kind == SONDE_CELL_ABSENT)
		return;
	sonde_buf_printf(out, "%s%s ", out->len_b ? "  " : "", name);
	sonde_figure(out, unit, cell, screen->style.ascii);
}

static void put_line(int line, enum sonde_curses_look look, struct sonde_buf *text)
{
	sonde_curses_line(line, look, sonde_buf_string(text));
	sonde_buf_clear(text);
}

/* Writes "machine: CPU 57.2 % memory 2.8 %". */
static void put_machine(const struct screen *screen, struct sonde_buf *out)
{
	const struct sonde_section *section = screen->model.view[SONDE_TOP_MACHINE];
	size_t count = section ? section->table.row_count : 0;
	sonde_buf_printf(out, "machine:");
	for (size_t i = 0; i < count && i < 5; i++) {
		const struct sonde_cell *what = &section->table.cells[i * section->table.column_count];
		const struct sonde_cell *of = sonde_report_cell(section, i, "object"),
					*mean = sonde_report_cell(section, i, "mean");
		if (what->kind != SONDE_CELL_TEXT || mean->kind == SONDE_CELL_ABSENT || strstr(what->text, "waited"))
			continue;
		sonde_buf_printf(out, "  ");
		sonde_clean(out, what->text, screen->style.ascii);
		if (of->kind == SONDE_CELL_TEXT) {
			sonde_buf_printf(out, " ");
			sonde_clean(out, of->text, screen->style.ascii);
		}
		sonde_buf_printf(out, " ");
		sonde_figure(out, SONDE_UNIT_RATIO, mean, screen->style.ascii);
	}
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

static void lines_free(struct lines *lines)
{
	free(lines->text);
	free(lines->line);
	*lines = (struct lines){0};
}

static int lines_split(struct lines *lines)
{
	size_t count = 0;
	for (size_t i = 0; i < lines->size_b; i++)
		count += lines->text[i] == '\n';
	lines->line = calloc(count + 1, sizeof *lines->line);
	if (!lines->line)
		return -ENOMEM;
	char *at = lines->text;
	for (; lines->count < count; lines->count++) {
		lines->line[lines->count] = at;
		at = strchr(at, '\n');
		*at++ = '\0';
	}
	return 0;
}

/* Prints the table, or the text shown in its place. */
static void view_print(const struct screen *screen, const struct sonde_section *section, FILE *out)
{
	if (section && section->table.row_count) {
		sonde_text_table(&section->table, &screen->style, out);
		return;
	}
	fputc('\n', out);
	for (const struct sonde_note *note = section ? section->notes : NULL; note; note = note->next) {
		struct sonde_buf clean;
		sonde_buf_init(&clean, LINE_MAX_B);
		fputs("  ", out);
		sonde_text_wrap(out, sonde_clean_text(&clean, note->text), screen->style.width, 2);
		sonde_buf_fini(&clean);
	}
	if (!section || !section->notes)
		fputs("  nothing in this interval\n", out);
}

static size_t row_count(const struct screen *screen)
{
	const struct sonde_section *section = screen->model.view[screen->view];
	size_t rows = section ? section->table.row_count : 0;
	return rows < screen->table.count ? rows : screen->table.count;
}

static void table_make(struct screen *screen)
{
	lines_free(&screen->table);
	screen->is_stale = 0;
	if (!screen->model.report)
		return;
	sonde_top_model_sort(&screen->model, screen->view, screen->sort[screen->view]);
	FILE *out = open_memstream(&screen->table.text, &screen->table.size_b);
	if (!out)
		return;
	view_print(screen, screen->model.view[screen->view], out);
	if (screen->view == SONDE_TOP_MACHINE && screen->model.view[SONDE_TOP_MOVED]) {
		fputc('\n', out);
		sonde_text_table(&screen->model.view[SONDE_TOP_MOVED]->table, &screen->style, out);
	}
	if (fclose(out) || lines_split(&screen->table))
		lines_free(&screen->table);
}

/* --- drawing ----------------------------------------------------------------------------------------------------- */

static void draw_head(const struct screen *screen, struct sonde_buf *text)
{
	const char *name = screen->model.report ? screen->model.report->title : "";
	sonde_buf_printf(text, "sonde top  %d  ", (int)screen->target.pid);
	sonde_clean(text, name ? name : "", screen->style.ascii);
	put_line(0, SONDE_CURSES_BOLD, text);
	if (!screen->model.report)
		return;
	put_figure(screen, text, "CPU", "cpu_utilization", SONDE_UNIT_RATIO);
	put_figure(screen, text, "RSS", "rss_b", SONDE_UNIT_BYTES);
	put_figure(screen, text, "threads", "threads", SONDE_UNIT_COUNT);
	put_figure(screen, text, "read/s", "read_b_per_s", SONDE_UNIT_BYTES);
	put_figure(screen, text, "wrote/s", "written_b_per_s", SONDE_UNIT_BYTES);
	sonde_buf_printf(text, "  in %.1f s", screen->seconds);
	put_line(1, SONDE_CURSES_PLAIN, text);
	put_machine(screen, text);
	put_line(2, SONDE_CURSES_PLAIN, text);
}

static void draw_views(const struct screen *screen, struct sonde_buf *text)
{
	for (int i = 0; i < VIEWS_SHOWN; i++)
		sonde_buf_printf(text, i == (int)screen->view ? " [%s]" : "  %s ", view_names[i]);
	if (sonde_top_model_can_sort(screen->view, screen->sort[screen->view]))
		sonde_buf_printf(text, "   by %s", sort_names[screen->sort[screen->view]]);
	put_line(3, SONDE_CURSES_GOOD, text);
}

static void draw_foot(const struct screen *screen, struct sonde_buf *text, int line)
{
	const struct sonde_section *section = screen->model.view[screen->view];
	if (*screen->message) {
		sonde_clean(text, screen->message, screen->style.ascii);
		put_line(line, SONDE_CURSES_BAD, text);
		return;
	}
	sonde_buf_printf(text, "F1 Help  Tab View  F6 Sort  Space %s  F10 Quit",
			 screen->is_paused ? "Resume" : "Pause");
	if (section && section->table.row_count)
		sonde_buf_printf(text, "   row %zu of %zu", screen->at[screen->view] + 1,
				 section->table.row_count + section->table.omitted);
	if (screen->is_paused)
		sonde_buf_printf(text, "   PAUSED");
	put_line(line, SONDE_CURSES_BAR, text);
}

static void draw_table(struct screen *screen, int first, int count)
{
	size_t rows = row_count(screen), capacity = count > 1 ? (size_t)count - 1 : 0, view = screen->view;
	size_t *at = &screen->at[view], *top = &screen->top[view];
	*at = rows && *at >= rows ? rows - 1 : rows ? *at : 0;
	*top = *at < *top ? *at : capacity && *at >= *top + capacity ? *at - capacity + 1 : *top;
	if (screen->table.count)
		sonde_curses_line(first, rows ? SONDE_CURSES_BAR : SONDE_CURSES_PLAIN, screen->table.line[0]);
	for (size_t i = 0; i < capacity && *top + i + 1 < screen->table.count; i++)
		sonde_curses_line(first + 1 + (int)i, rows && *top + i == *at ? SONDE_CURSES_BOLD : SONDE_CURSES_PLAIN,
				  screen->table.line[*top + i + 1]);
}

static void draw(struct screen *screen)
{
	struct sonde_buf text;
	int lines, columns;
	sonde_curses_size(&lines, &columns);
	if (columns != screen->style.width || screen->is_stale) {
		screen->style.width = columns;
		table_make(screen);
	}
	sonde_buf_init(&text, LINE_MAX_B);
	sonde_curses_clear(screen->is_torn);
	screen->is_torn = 0;
	if (screen->is_help) {
		for (int i = 0; i < (int)(sizeof help / sizeof *help) && i < lines - 1; i++)
			sonde_curses_line(i, i ? SONDE_CURSES_PLAIN : SONDE_CURSES_BOLD, help[i]);
		sonde_curses_line(lines - 1, SONDE_CURSES_BAR, "any key: back");
	} else {
		draw_head(screen, &text);
		draw_views(screen, &text);
		if (screen->model.report)
			draw_table(screen, HEAD_LINES, lines - HEAD_LINES - 1);
		else if (!*screen->message)
			sonde_curses_line(HEAD_LINES + 1, SONDE_CURSES_PLAIN,
					  "  the first interval is being recorded …");
		draw_foot(screen, &text, lines - 1);
	}
	sonde_curses_show();
	sonde_buf_fini(&text);
}

/* --- keys -------------------------------------------------------------------------------------------------------- */

static void view_choose(struct screen *screen, int view)
{
	screen->view = (enum sonde_top_view)view;
	screen->is_stale = 1;
}

static void sort_choose(struct screen *screen, enum sonde_top_sort sort)
{
	if (sort == SONDE_TOP_BY_MEMORY)
		view_choose(screen, SONDE_TOP_PROCESSES); /* only that view has the column */
	if (!sonde_top_model_can_sort(screen->view, sort))
		return;
	screen->sort[screen->view] = sort;
	screen->at[screen->view] = 0;
	screen->is_stale = 1;
}

static void sort_next(struct screen *screen)
{
	for (int i = 1; i < SONDE_TOP_SORTS; i++) {
		int sort = ((int)screen->sort[screen->view] + i) % SONDE_TOP_SORTS;
		if (!sonde_top_model_can_sort(screen->view, (enum sonde_top_sort)sort))
			continue;
		sort_choose(screen, (enum sonde_top_sort)sort);
		return;
	}
}

static void move(struct screen *screen, long rows)
{
	long at = (long)screen->at[screen->view] + rows, last = (long)row_count(screen) - 1;
	screen->at[screen->view] = at < 0 || last < 0 ? 0 : (size_t)(at > last ? last : at);
}

static void pace(struct screen *screen, int longer)
{
	uint64_t ns = longer ? screen->target.every_ns * 2 : screen->target.every_ns / 2;
	ns = ns < LEAST_EVERY_NS ? LEAST_EVERY_NS : ns > MOST_EVERY_NS ? MOST_EVERY_NS : ns;
	screen->target.every_ns = ns;
	sonde_top_feed_every(screen->feed, ns);
	screen->due_ns = 0;
}

static void act_on_move(struct screen *screen, int key)
{
	int lines, columns;
	sonde_curses_size(&lines, &columns);
	long page = lines > HEAD_LINES + 3 ? lines - HEAD_LINES - 3 : 1;
	const struct {
		int key;
		long rows;
	} moves[] = {{SONDE_KEY_UP, -1},          {SONDE_KEY_DOWN, 1},    {SONDE_KEY_PAGE_UP, -page},
		     {SONDE_KEY_PAGE_DOWN, page}, {SONDE_KEY_HOME, -FAR}, {SONDE_KEY_END, FAR}};
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
		if (moves[i].key == key)
			move(screen, moves[i].rows);
}

static void act(struct screen *screen, int key)
{
	screen->is_torn = key == SONDE_KEY_RESIZE || key == CTRL_L;
	if (key == 'q' || key == SONDE_KEY_F0 + 10)
		screen->is_quit = 1;
	else if (screen->is_help)
		screen->is_help = key == SONDE_KEY_RESIZE;
	else if (key == 'h' || key == '?' || key == SONDE_KEY_F0 + 1)
		screen->is_help = 1;
	else if (key == '\t' || key == SONDE_KEY_F0 + 4 || key == SONDE_KEY_RIGHT)
		view_choose(screen, ((int)screen->view + 1) % VIEWS_SHOWN);
	else if (key == SONDE_KEY_LEFT)
		view_choose(screen, ((int)screen->view + VIEWS_SHOWN - 1) % VIEWS_SHOWN);
	else if (key >= '1' && key < '1' + VIEWS_SHOWN)
		view_choose(screen, key - '1');
	else if (key == 't')
		view_choose(screen, screen->view == SONDE_TOP_THREADS ? SONDE_TOP_FUNCTIONS : SONDE_TOP_THREADS);
	else if (key == '>' || key == '.' || key == SONDE_KEY_F0 + 6)
		sort_next(screen);
	else if (key == 'P')
		sort_choose(screen, SONDE_TOP_BY_CPU);
	else if (key == 'M')
		sort_choose(screen, SONDE_TOP_BY_MEMORY);
	else if (key == 'T')
		sort_choose(screen, SONDE_TOP_BY_TIME);
	else if (key == 'N')
		sort_choose(screen, SONDE_TOP_BY_NAME);
	else if (key == ' ' || key == 'p')
		screen->is_paused = !screen->is_paused;
	else if (key == '+' || key == '-')
		pace(screen, key == '+');
	else
		act_on_move(screen, key);
}

/* --- the loop ---------------------------------------------------------------------------------------------------- */

/* Polls the feed; true if something changed. When the process or a recorder has ended, the last interval stays on the
 * screen. */
static int look(struct screen *screen)
{
	struct sonde_top_model model;
	struct sonde_session *session;
	struct sonde_top_ask ask = {.limit = ROWS};
	if (screen->is_paused || *screen->message || sonde_clock_now_ns() < screen->due_ns)
		return 0;
	int rc = sonde_top_feed_next(screen->feed, &session, &ask.from_ns, &ask.to_ns);
	if (rc == 0)
		return 0;
	rc = rc < 0 ? rc : sonde_top_model_make(&model, session, &ask);
	if (rc < 0) {
		snprintf(screen->message, sizeof screen->message, "%s: q quits", sonde_error_text());
		return 1;
	}
	sonde_top_model_fini(&screen->model);
	screen->model = model;
	screen->seconds = (double)(ask.to_ns - ask.from_ns) / 1e9;
	screen->is_stale = 1;
	screen->due_ns = sonde_clock_now_ns() + screen->target.every_ns * 3 / 4;
	return 1;
}

static void on_end(int number)
{
	if (number == SIGHUP)
		is_hung_up = 1;
	is_told_to_end = 1;
}

static void loop(struct screen *screen)
{
	int is_changed = 1;
	while (!screen->is_quit && !is_told_to_end) {
		if (is_changed)
			draw(screen);
		int key = sonde_curses_key(KEY_WAIT_MS);
		is_changed = key != SONDE_KEY_NONE;
		if (is_changed)
			act(screen, key);
		else if (!isatty(STDIN_FILENO))
			is_told_to_end = is_hung_up = 1;
		is_changed += look(screen);
	}
}

int sonde_top_screen_is_hung_up(void)
{
	return is_hung_up;
}

int sonde_top_screen_check(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return sonde_error(ENOTTY, "the screen needs a terminal; --once and --json do not");
	return sonde_curses_load();
}

int sonde_top_screen_run(const struct sonde_top_target *target)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct screen screen = {.target = *target};
	if (screen.target.every_ns < LEAST_EVERY_NS)
		screen.target.every_ns = LEAST_EVERY_NS;
	sonde_output_style(&screen.style, stdout);
	int color = screen.style.color;
	screen.style.color = 0; /* lines must not contain colours */
	screen.style.width = 0;
	int rc = sonde_top_feed_open(&screen.feed, &screen.target);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct sigaction action = {.sa_handler = on_end};
		sigaction(ends[i], &action, NULL);
	}
	rc = sonde_curses_open(color);
	if (!rc) {
		loop(&screen);
		sonde_curses_close();
	}
	lines_free(&screen.table);
	sonde_top_model_fini(&screen.model);
	sonde_top_feed_close(screen.feed);
	return rc;
}
