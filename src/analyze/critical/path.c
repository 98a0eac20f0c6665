/* path.c: shows the longest chain of dependencies from start to end: its elements and its steps.
 *
 * Times of the elements add up to the span. There are two sections: elements by kind and name, and the steps in time
 * order, limited to the longest if there are many.
 */
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/critical/graph.h"
#include "analyze/critical/longest.h"
#include "analyze/critical/names.h"
#include "analyze/marks.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"

#define TITLE "Critical path"
#define PROCESSES "processes " /* prefix of causes that count processes without any records */
#define STEPS_TITLE "Segments of the critical path"

enum { DEFAULT_ROWS = 20, DEFAULT_STEPS = 100 };
enum { TIME, SHARE, COUNT, KIND, STATE, NAME, BASIS, COLUMNS };
enum { BEGINS, LASTS, STEP_KIND, STEP_STATE, STEP_NAME, THREAD, TID, STEP_COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TIME] = {SONDE_COLUMN_KEY(critical_path, time_ns), "on the path", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {SONDE_COLUMN_KEY(critical_path, share), "of span", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [COUNT] = {SONDE_COLUMN_KEY(critical_path, count), "count", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [KIND] = {SONDE_COLUMN_KEY(critical_path, kind), "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [STATE] = {SONDE_COLUMN_KEY(critical_path, state), "state", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [NAME] = {SONDE_COLUMN_KEY(critical_path, name), "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [BASIS] = {"basis", "basis", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
};

static const struct sonde_column step_columns[STEP_COLUMNS] = {
    [BEGINS] = {"start_ns", "start", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [LASTS] = {"duration_ns", "duration", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [STEP_KIND] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [STEP_STATE] = {"state", "state", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [STEP_NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [THREAD] = {"thread", "thread or queue", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [TID] = {"tid", "tid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 1},
};

struct asking {
	struct sonde_session *session;
	struct sonde_pass_options options;
};

static int path_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct asking *asking = state;
	*asking = (struct asking){session, *options};
	return 0;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

static double share_of(const struct sonde_critical_path *path, uint64_t ns)
{
	return 100 * sonde_stats_share((double)ns, (double)(path->to_ns - path->from_ns));
}

/* False if the share would be shown as 0.0 %: a note would be pointless. */
static int is_shown(const struct sonde_critical_path *path, uint64_t ns)
{
	return share_of(path, ns) >= 0.05;
}

static const char *why_unknown(const struct sonde_critical *critical)
{
	if (!critical->has_calls)
		return "no blocking calls were recorded: use record --threads, and --io for pipes";
	if (!critical->has_wakeups)
		return "wake-ups by futexes, sockets and other programs are not recorded";
	return "the wake-up came from an interrupt, or was not recorded";
}

static void notes_add(const struct sonde_critical *critical, const struct sonde_critical_path *path,
		      const struct sonde_critical_elements *elements, struct sonde_report *report,
		      struct sonde_section *section)
{
	const struct sonde_thread *last = sonde_session_thread(critical->session, critical->final);
	uint64_t blocked_ns = elements->by_state_ns[SONDE_CRITICAL_BLOCKED] - elements->external_ns;
	uint64_t unseen_ns = elements->by_state_ns[SONDE_CRITICAL_UNSEEN];
	uint64_t unborn_ns = elements->by_state_ns[SONDE_CRITICAL_UNBORN];
	sonde_report_note(report, section, 0,
			  "100 %% = %.6f s, up to the end of %s (tid %u); the path changes threads %zu time%s",
			  (double)(path->to_ns - path->from_ns) / 1e9, last->name, last->tid, path->handed_over,
			  sonde_plural(path->handed_over));
	if (is_shown(path, blocked_ns))
		sonde_report_note(report, section, 1, "%.1f %% of the path is blocked for an unknown reason: %s",
				  share_of(path, blocked_ns), why_unknown(critical));
	if (is_shown(path, unseen_ns))
		sonde_report_note(
		    report, section, 1,
		    "in %.1f %% of the path, context switches do not show whether the thread was on a CPU",
		    share_of(path, unseen_ns));
	if (is_shown(path, unborn_ns))
		sonde_report_note(report, section, 1,
				  "%.1f %% of the path lies before the start of a thread whose creator is unknown",
				  share_of(path, unborn_ns));
}

static uint64_t lost_activities(const struct sonde_session *session)
{
	uint64_t count = 0;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		if (!strcmp(lost->source, "gpu") && strncmp(lost->cause, PROCESSES, strlen(PROCESSES)) != 0)
			count += lost->count;
	}
	return count;
}

/* Notes the path's device steps, and what is unknown about them. */
static void devices_note(const struct sonde_critical *critical, const struct sonde_critical_path *path,
			 const struct sonde_critical_elements *elements, struct sonde_report *report,
			 struct sonde_section *section)
{
	uint64_t done_ns = elements->by_state_ns[SONDE_CRITICAL_DEVICE];
	uint64_t queued_ns = elements->by_state_ns[SONDE_CRITICAL_QUEUED];
	if (critical->devices_left_out) {
		sonde_report_note(
		    report, section, 1,
		    "GPUs are not on the path: %zu activities are too many (select fewer with --from and --to)",
		    critical->devices_left_out);
		return;
	}
	if (is_shown(path, done_ns) || is_shown(path, queued_ns))
		sonde_report_note(report, section, 0,
				  "%.1f %% of the path is GPU work that threads waited for; %.1f %% is waiting "
				  "for such work to start",
				  share_of(path, done_ns), share_of(path, queued_ns));
	if (path->unasked)
		sonde_report_note(
		    report, section, 1,
		    "the submitting thread of GPU work was unknown %zu time%s: the path stays in the waiting thread",
		    path->unasked, sonde_plural(path->unasked));
	if (critical->unended_waits)
		sonde_report_note(
		    report, section, 1,
		    "%zu of %zu calls that wait for GPUs match no GPU work: they count as their threads' own time",
		    critical->unended_waits, critical->device_waits);
	uint64_t lost = lost_activities(critical->session);
	if (lost && critical->device_waits)
		sonde_report_note(report, section, 1,
				  "%llu GPU activities were lost: a wait may be matched to an earlier one",
				  (unsigned long long)lost);
}

static void losses_note(const struct sonde_critical *critical, struct sonde_report *report,
			struct sonde_section *section)
{
	uint64_t calls = 0, others = 0;
	for (size_t i = 0; i < sonde_session_lost_count(critical->session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(critical->session, i);
		if (strncmp(lost->cause, PROCESSES, strlen(PROCESSES)) != 0)
			*(strcmp(lost->source, "waits") ? &others : &calls) += lost->count;
	}
	if (!calls && !others && !sonde_session_damaged_b(critical->session))
		return;
	sonde_report_note(report, section, 1,
			  "%llu blocking calls, %llu other events and %llu bytes were lost: lock owners may be missing",
			  (unsigned long long)calls, (unsigned long long)others,
			  (unsigned long long)sonde_session_damaged_b(critical->session));
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

static void row_add(const struct sonde_critical_element *element, const struct sonde_critical_path *path,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[TIME] = sonde_cell_int(element->ns);
	row[SHARE] = sonde_cell_real(share_of(path, element->ns) / 100, 0);
	row[COUNT] = sonde_cell_int(element->count);
	row[KIND] = sonde_cell_label(element->kind, (int)element->is);
	row[STATE] = sonde_cell_label(sonde_critical_state_name(element->state), element->state);
	row[NAME] = sonde_cell_text(element->name);
	row[BASIS] = sonde_cell_text(element->is_estimated ? "estimated from samples" : "measured");
}

static int elements_add(const struct sonde_critical_graph *graph, size_t limit, struct sonde_report *report)
{
	const struct sonde_critical *critical = &graph->critical;
	const struct sonde_critical_path *path = &graph->path;
	struct sonde_critical_elements elements;
	limit = limit ? limit : DEFAULT_ROWS;
	int rc = sonde_critical_elements_find(&elements, critical, path, report);
	if (rc < 0)
		return rc;
	struct sonde_section *section = sonde_report_table(report, "critical-path", TITLE, columns, COLUMNS);
	for (size_t i = 0; i < elements.count && i < limit; i++)
		row_add(&elements.rows[i], path, report, section);
	section->table.omitted = elements.count > limit ? elements.count - limit : 0;
	notes_add(critical, path, &elements, report, section);
	devices_note(critical, path, &elements, report, section);
	losses_note(critical, report, section);
	sonde_critical_elements_fini(&elements);
	return 0;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void step_add(const struct sonde_critical *critical, const struct sonde_critical_path *path, size_t i,
		     struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_critical_step *step = &path->steps[i];
	const struct sonde_thread *thread = sonde_session_thread(critical->session, step->thread);
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *name = sonde_critical_step_name(critical->session, step, report);
	const char *where = sonde_critical_step_where(critical->session, step, report);
	row[BEGINS] = sonde_cell_int(step->from_ns - sonde_session_run(critical->session)->start_ns);
	row[LASTS] = sonde_cell_int(sonde_critical_step_end(path, i) - step->from_ns);
	row[STEP_KIND] = sonde_cell_text(sonde_critical_step_kind(step));
	row[STEP_STATE] = sonde_cell_text(sonde_critical_state_name(step->kind));
	row[STEP_NAME] = sonde_cell_text(name);
	row[THREAD] = sonde_cell_text(where);
	row[TID] = step->queue ? sonde_cell_absent("the segment belongs to a GPU") : sonde_cell_int(thread->tid);
}

static int steps_add(const struct sonde_critical_graph *graph, size_t limit, struct sonde_report *report)
{
	const struct sonde_critical *critical = &graph->critical;
	const struct sonde_critical_path *path = &graph->path;
	struct sonde_critical_longest longest;
	size_t shown = 0;
	uint64_t shown_ns = 0;
	int rc = sonde_critical_longest_find(&longest, path, limit ? limit : DEFAULT_STEPS);
	if (rc)
		return rc;
	struct sonde_section *section =
	    sonde_report_table(report, "critical-steps", STEPS_TITLE, step_columns, STEP_COLUMNS);
	for (size_t i; (i = sonde_critical_longest_next(&longest)) < path->count; shown++) {
		step_add(critical, path, i, report, section);
		shown_ns += sonde_critical_step_end(path, i) - path->steps[i].from_ns;
	}
	section->table.omitted = path->count - shown;
	sonde_report_note(report, section, 0, "the %zu longest of %zu segments: %.1f %% of %.6f s", shown, path->count,
			  share_of(path, shown_ns), (double)(path->to_ns - path->from_ns) / 1e9);
	return 0;
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

static const char *why_none(const struct sonde_critical *critical)
{
	if (!critical->final || critical->to_ns == critical->from_ns)
		return "the recording has no thread in this time";
	if (!critical->has_switches && !critical->has_calls)
		return "neither context switches nor blocking calls were recorded: use sonde record --threads";
	return NULL;
}

static int finish(const struct asking *asking, struct sonde_report *report, const char *id, const char *title,
		  int (*show)(const struct sonde_critical_graph *, size_t limit, struct sonde_report *))
{
	const struct sonde_critical_graph *graph;
	int rc = sonde_critical_graph_acquire(&graph, asking->session, &asking->options);
	if (rc < 0)
		return rc;
	const char *why = why_none(&graph->critical);
	rc = why ? sonde_pass_nothing(&asking->options, report, id, title, why)
		 : show(graph, asking->options.limit, report);
	sonde_critical_graph_release(graph);
	return rc;
}

static int path_finish(void *state, struct sonde_report *report)
{
	return finish(state, report, "critical-path", TITLE, elements_add);
}

static int steps_finish(void *state, struct sonde_report *report)
{
	return finish(state, report, "critical-steps", STEPS_TITLE, steps_add);
}

const struct sonde_pass sonde_pass_critical_path = {
    .name = "critical-path",
    .needs = SONDE_NEEDS(SWITCHES) | SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES),
    .has = sonde_has_samples_or_waits,
    .title = "the longest chain of dependencies, and what it consists of",
    .state_b = sizeof(struct asking),
    .begin = path_begin,
    .finish = path_finish,
};

const struct sonde_pass sonde_pass_critical_steps = {
    .name = "critical-steps",
    .needs = SONDE_NEEDS(SWITCHES) | SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES),
    .has = sonde_has_samples_or_waits,
    .title = "the same chain, segment by segment",
    .state_b = sizeof(struct asking),
    .begin = path_begin,
    .finish = steps_finish,
};
