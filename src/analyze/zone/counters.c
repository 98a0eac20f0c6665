/* counters.c: counters, count-only zones and gauges.
 *
 * A counter's event contains one thread's running total, so the counter's value is the sum over threads of their last
 * totals: two cells per thread are kept instead of the events. For a selected time it is the sum of the increments in
 * that time: the last total in it minus the last one before it (0 if the thread had not counted yet). A flight
 * recording lacks earlier events: there the first total in it is subtracted, which gives a lower bound. A gauge belongs
 * to the whole process. Its events are kept, because its mean is weighted by how long each value was held: from one
 * event to the next, and from the last one to the end of the run.
 */
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "analyze/window.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "util/error.h"

enum { NAME, KIND, VALUE, RATE, MIN, MAX, MEAN, UPDATES, UNIT, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [KIND] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [VALUE] = {"value", "total or last", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"per_sec", "per s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [MIN] = {"min", "min", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [MAX] = {"max", "max", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [MEAN] = {"mean", "mean", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [UPDATES] = {"updates", "updates", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
};

/* A running total at its latest (or earliest) event. */
struct total {
	uint64_t time_ns;
	double value;
};

struct last {
	uint64_t updates;          /* number of updates in the selected time */
	struct total last, before; /* last total in the selected time, and before it; time_ns 0 = none */
	struct total first;        /* first total in the selected time */
};

struct counters {
	struct sonde_annotations gauges;
	struct last **last; /* by site, then thread; NULL = not a counter */
	size_t sites, threads;
	struct sonde_window window;
};

static void counters_end(void *state)
{
	struct counters *counters = state;
	for (size_t i = 0; counters->last && i < counters->sites; i++)
		free(counters->last[i]);
	free(counters->last);
	sonde_marks_end(&counters->gauges);
}

static int counters_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct counters *counters = state;
	counters->window = sonde_window_of(session, options);
	counters->sites = sonde_session_site_count(session) + 1;
	counters->threads = sonde_session_thread_count(session) + 1;
	counters->last = calloc(counters->sites, sizeof *counters->last);
	if (!counters->last)
		return sonde_error(ENOMEM, "out of memory for counters");
	sonde_marks_init(&counters->gauges, session, options, 1u << SONDE_EVENT_GAUGE);
	return 0;
}

static struct last *last_of(struct counters *counters, uint32_t site, uint32_t thread)
{
	if (site >= counters->sites || thread >= counters->threads)
		return NULL;
	if (!counters->last[site])
		counters->last[site] = calloc(counters->threads, sizeof **counters->last);
	return counters->last[site] ? &counters->last[site][thread] : NULL;
}

static void keep_later(struct total *total, uint64_t time_ns, double value)
{
	if (time_ns >= total->time_ns)
		*total = (struct total){time_ns, value};
}

static void keep_earlier(struct total *total, uint64_t time_ns, double value)
{
	if (!total->time_ns || time_ns < total->time_ns)
		*total = (struct total){time_ns, value};
}

static int counters_feed(void *state, const struct sonde_batch *batch)
{
	struct counters *counters = state;
	const struct sonde_pass_options *options = &counters->gauges.options;
	for (size_t i = 0; batch->type == SONDE_CHUNK_EVENTS && i < batch->count; i++) {
		struct sonde_mark mark;
		uint16_t type = batch->events[i]->type;
		if ((type != SONDE_EVENT_COUNTER && type != SONDE_EVENT_COUNT) ||
		    !sonde_mark_read(&mark, batch->events[i], batch) ||
		    (options->selection.thread && !options->selection.thread[mark.thread]) ||
		    (options->selection.to_ns && mark.time_ns >= options->selection.to_ns))
			continue;
		struct last *last = last_of(counters, mark.site, mark.thread);
		if (!last)
			continue;
		if (mark.time_ns < options->selection.from_ns) {
			keep_later(&last->before, mark.time_ns, mark.value);
			continue;
		}
		last->updates++;
		keep_later(&last->last, mark.time_ns, mark.value);
		keep_earlier(&last->first, mark.time_ns, mark.value);
	}
	return sonde_marks_feed(&counters->gauges, batch);
}

static int counters_merge(void *state, void *other_state)
{
	struct counters *counters = state, *other = other_state;
	for (uint32_t site = 0; site < other->sites; site++) {
		for (uint32_t thread = 0; other->last[site] && thread < other->threads; thread++) {
			const struct last *more = &other->last[site][thread];
			struct last *last = last_of(counters, site, thread);
			if (!last)
				continue;
			last->updates += more->updates;
			keep_later(&last->before, more->before.time_ns, more->before.value);
			keep_later(&last->last, more->last.time_ns, more->last.value);
			if (more->first.time_ns)
				keep_earlier(&last->first, more->first.time_ns, more->first.value);
		}
	}
	return sonde_marks_merge(&counters->gauges, &other->gauges);
}

static struct sonde_cell *row_begin(const struct counters *counters, uint32_t id, const char *kind,
				    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_site *site = sonde_session_site(counters->gauges.session, id);
	row[NAME] = sonde_cell_text(site ? site->name : "(unknown)");
	row[KIND] = sonde_cell_text(kind);
	row[UNIT] = sonde_cell_text(site ? site->unit : "");
	return row;
}

static int is_selected(const struct counters *counters)
{
	return counters->gauges.options.selection.from_ns || counters->gauges.options.selection.to_ns;
}

/* What one thread added in the selected time. */
static double added_of(const struct counters *counters, const struct last *last)
{
	if (!last->before.time_ns && counters->window.held)
		return last->last.value - last->first.value;
	return last->last.value - last->before.value;
}

static void counter_add(const struct counters *counters, uint32_t id, struct sonde_report *report,
			struct sonde_section *section)
{
	const struct sonde_site *site = sonde_session_site(counters->gauges.session, id);
	int selected = is_selected(counters);
	double value = 0, added = 0;
	uint64_t updates = 0;
	for (size_t thread = 0; thread < counters->threads; thread++) {
		const struct last *last = &counters->last[id][thread];
		if (!last->updates)
			continue;
		value += last->last.value;
		added += added_of(counters, last);
		updates += last->updates;
	}
	if (!updates)
		return;
	struct sonde_cell *row =
	    row_begin(counters, id, site && site->kind == SONDE_SITE_COUNT ? "calls" : "counter", report, section);
	row[VALUE] = sonde_cell_real(selected ? added : value, 0);
	row[RATE] = sonde_cell_real(sonde_stats_share(added, sonde_window_s(&counters->window)), 0);
	row[UPDATES] = sonde_cell_int(updates);
}

/* Adds one gauge from its values, in time order. */
static void gauge_add(const struct counters *counters, const struct sonde_mark *marks, size_t count,
		      struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_run *run = sonde_session_run(counters->gauges.session);
	uint64_t to_ns =
		     counters->gauges.options.selection.to_ns ? counters->gauges.options.selection.to_ns : run->end_ns,
		 whole_ns = 0;
	double min = marks[0].value, max = marks[0].value, sum = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t next_ns = i + 1 < count ? marks[i + 1].time_ns : to_ns;
		uint64_t held_ns = next_ns > marks[i].time_ns ? next_ns - marks[i].time_ns : 0;
		min = marks[i].value < min ? marks[i].value : min;
		max = marks[i].value > max ? marks[i].value : max;
		sum += marks[i].value * (double)held_ns;
		whole_ns += held_ns;
	}
	struct sonde_cell *row = row_begin(counters, marks[0].site, "gauge", report, section);
	row[VALUE] = sonde_cell_real(marks[count - 1].value, 0);
	row[MIN] = sonde_cell_real(min, 0);
	row[MAX] = sonde_cell_real(max, 0);
	row[MEAN] = whole_ns ? sonde_cell_real(sum / (double)whole_ns, 0) : sonde_cell_absent("no value lasted");
	row[UPDATES] = sonde_cell_int(count);
}

static void gauges_add(struct counters *counters, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_mark *marks = counters->gauges.marks;
	size_t count = counters->gauges.count;
	sonde_marks_sort_by_site(&counters->gauges);
	for (size_t i = 0, end; i < count; i = end) {
		end = i + 1;
		while (end < count && marks[end].site == marks[i].site)
			end++;
		gauge_add(counters, marks + i, end - i, report, section);
	}
}

static int counters_finish(void *state, struct sonde_report *report)
{
	struct counters *counters = state;
	size_t count = counters->gauges.count;
	for (size_t i = 0; i < counters->sites; i++)
		for (size_t thread = 0; counters->last[i] && thread < counters->threads; thread++)
			count += counters->last[i][thread].updates;
	if (!count)
		return sonde_pass_nothing(
		    &counters->gauges.options, report, "counters", "Counters and gauges",
		    "no counters or gauges: add sonde_counter_add() and sonde_gauge_set() (sonde/sonde.h)");
	struct sonde_section *section = sonde_report_table(report, "counters", "Counters and gauges", columns, COLUMNS);
	for (uint32_t id = 0; id < counters->sites; id++)
		if (counters->last[id])
			counter_add(counters, id, report, section);
	gauges_add(counters, report, section);
	if ((is_selected(counters) || counters->window.held))
		sonde_report_note(report, section, 0, "counters per s: the sum ÷ %.3f s of %s%s",
				  sonde_window_s(&counters->window), counters->window.what,
				  is_selected(counters) ? "; their values: the sum within that time" : "");
	if (counters->gauges.count)
		sonde_report_note(report, section, 0, "mean of a gauge: weighted by time");
	return 0;
}

const struct sonde_pass sonde_pass_counters = {
    .name = "counters",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_counters,
    .title = "counters, count-only zones and gauges",
    .types = 1u << SONDE_CHUNK_EVENTS,
    .standard = 1,
    .state_b = sizeof(struct counters),
    .begin = counters_begin,
    .feed = counters_feed,
    .merge = counters_merge,
    .finish = counters_finish,
    .end = counters_end,
};
