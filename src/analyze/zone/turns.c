/* turns.c: durations of the iterations of a loop, in order: the loop with the most iterations, or --focus NAME, in the
 * thread that has the most of them. Excess iterations are merged into groups of equal size, with mean, min and max. */
#include <stdio.h>
#include <string.h>

#include "analyze/marks.h"

enum { DEFAULT_ROWS = 40, ROWS_MAX = 100000, WHY_MAX_B = 512 };
enum { FIRST, LAST, END, MEAN, MIN, MAX, ITEMS, COLUMNS };
#define TITLE "Iterations in order"

static const struct sonde_column columns[COLUMNS] = {
    [FIRST] = {"first", "from", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [LAST] = {"last", "to", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [END] = {"end_ns", "ended at", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [MIN] = {"min_ns", "min", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [MAX] = {"max_ns", "max", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [ITEMS] = {"items", "items", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 1},
};

/* Iteration events of one site in one thread. */
struct loop {
	const struct sonde_mark *marks;
	size_t count;
};

static int turns_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	sonde_marks_init(state, session, options, 1u << SONDE_EVENT_ITERATION);
	return 0;
}

static const char *name_of(const struct sonde_annotations *marks, uint32_t id)
{
	const struct sonde_site *site = sonde_session_site(marks->session, id);
	return site && *site->name ? site->name : "(unnamed)";
}

/* The loop to show; with fewer than two events there is no iteration. */
static struct loop choose(const struct sonde_annotations *marks)
{
	const char *focus = marks->options.focus;
	struct loop best = {NULL, 0};
	for (size_t i = 0, end; i < marks->count; i = end) {
		const struct sonde_mark *first = &marks->marks[i];
		for (end = i + 1; end < marks->count && marks->marks[end].site == first->site &&
				  marks->marks[end].thread == first->thread;)
			end++;
		if (end - i > best.count && (!focus || !strcmp(focus, name_of(marks, first->site))))
			best = (struct loop){first, end - i};
	}
	return best;
}

/* Adds the iterations from the event after `from` to that at `to`. */
static void row_add(const struct sonde_annotations *marks, const struct loop *loop, size_t from, size_t to,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	uint64_t min_ns = UINT64_MAX, max_ns = 0, start_ns = sonde_session_run(marks->session)->start_ns;
	double items = 0;
	for (size_t i = from + 1; i <= to; i++) {
		uint64_t ns = loop->marks[i].time_ns - loop->marks[i - 1].time_ns;
		min_ns = ns < min_ns ? ns : min_ns;
		max_ns = ns > max_ns ? ns : max_ns;
		items += loop->marks[i].value;
	}
	row[FIRST] = sonde_cell_int(from + 1);
	row[LAST] = sonde_cell_int(to);
	row[END] = sonde_cell_int(loop->marks[to].time_ns > start_ns ? loop->marks[to].time_ns - start_ns : 0);
	row[MEAN] =
	    sonde_cell_real((double)(loop->marks[to].time_ns - loop->marks[from].time_ns) / (double)(to - from), 0);
	row[MIN] = sonde_cell_int(min_ns);
	row[MAX] = sonde_cell_int(max_ns);
	row[ITEMS] = sonde_cell_real(items, 0);
}

/* --focus names no loop: lists the existing ones. */
static int no_such_loop(const struct sonde_annotations *marks, struct sonde_report *report)
{
	char why[WHY_MAX_B];
	uint32_t before = 0;
	int used = snprintf(why, sizeof why, "no iterations named %s", marks->options.focus);
	for (size_t i = 0, names = 0; i < marks->count && used > 0 && (size_t)used < sizeof why; i++) {
		if (names && marks->marks[i].site == before)
			continue;
		before = marks->marks[i].site;
		used += snprintf(why + used, sizeof why - (size_t)used, "%s%s", names++ ? ", " : "; there are ",
				 name_of(marks, before));
	}
	return sonde_pass_nothing(&marks->options, report, "turns", TITLE, why);
}

static int turns_finish(void *state, struct sonde_report *report)
{
	struct sonde_annotations *marks = state;
	sonde_marks_sort_by_thread(marks);
	struct loop loop = choose(marks);
	if (!loop.count && marks->count && marks->options.focus)
		return no_such_loop(marks, report);
	if (loop.count < 2)
		return sonde_pass_nothing(&marks->options, report, "turns", TITLE,
					  "no two iteration marks of one thread: call sonde_iteration() "
					  "(sonde/sonde.h) at the end of each iteration of the main loop");
	struct sonde_section *section = sonde_report_table(report, "turns", TITLE, columns, COLUMNS);
	size_t limit = marks->options.limit ? marks->options.limit : DEFAULT_ROWS, turns = loop.count - 1;
	limit = limit > ROWS_MAX ? ROWS_MAX : limit;
	size_t rows = turns < limit ? turns : limit;
	for (size_t i = 0; i < rows; i++)
		row_add(marks, &loop, i * turns / rows, (i + 1) * turns / rows, report, section);
	const struct sonde_thread *thread = sonde_session_thread(marks->session, loop.marks[0].thread);
	sonde_report_note(report, section, 0,
			  "%s: %zu iterations of thread %s (%u)%s; each starts at the mark before it",
			  name_of(marks, loop.marks[0].site), turns, thread ? thread->name : "?",
			  thread ? thread->tid : 0, turns > rows ? ", in groups" : "");
	return 0;
}

const struct sonde_pass sonde_pass_turns = {
    .name = "turns",
    .needs = SONDE_NEEDS(API),
    .title = "iterations of a loop, in order (--focus NAME)",
    .types = 1u << SONDE_CHUNK_EVENTS,
    .state_b = sizeof(struct sonde_annotations),
    .begin = turns_begin,
    .feed = sonde_marks_feed,
    .merge = sonde_marks_merge,
    .finish = turns_finish,
    .end = sonde_marks_end,
};
