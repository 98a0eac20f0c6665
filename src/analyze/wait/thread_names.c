/* thread_names.c: merges threads of a process whose names differ only in a trailing number.
 *
 * Threads are sorted by process and name, consecutive ones form groups, and groups are sorted by CPU time.
 */
#include "analyze/wait/thread_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics/stats.h"
#include "util/error.h"

enum { SHARE, ON_CPU, RUNNABLE, BLOCKED, CPU_NS, LIFE_NS, VOLUNTARY, INVOLUNTARY, THREADS, NAME, PROCESS, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SHARE] = {"on_cpu_of_all", "share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [ON_CPU] = {"on_cpu_share", "on CPU", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [RUNNABLE] = {"runnable_share", "runnable", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BLOCKED] = {"blocked_share", "blocked", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [CPU_NS] = {"on_cpu_ns", "on CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [LIFE_NS] = {"life_ns", "lifetime", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [VOLUNTARY] = {"voluntary_switches", "voluntary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [INVOLUNTARY] = {"involuntary_switches", "involuntary", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [THREADS] = {"threads", "threads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
};

struct group {
	uint32_t first; /* index of its first thread */
	size_t threads;
	struct sonde_states_row sum;
	uint64_t sampled_ns;
};

/* Length of a name without its trailing number; a name that is only a number is kept. */
static size_t stem_b(const char *name)
{
	size_t all_b = strlen(name), b = all_b;
	while (b && name[b - 1] >= '0' && name[b - 1] <= '9')
		b--;
	return b ? b : all_b;
}

static int compare_names(const struct sonde_session *session, uint32_t a, uint32_t b)
{
	const struct sonde_thread *x = sonde_session_thread(session, a), *y = sonde_session_thread(session, b);
	size_t x_b = stem_b(x->name), y_b = stem_b(y->name);
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	int order = strncmp(x->name, y->name, x_b < y_b ? x_b : y_b);
	return order ? order : (x_b > y_b) - (x_b < y_b);
}

static int compare_threads(const void *left, const void *right, void *session)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = compare_names(session, a, b);
	return order ? order : (a > b) - (a < b);
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;
	if (a->sum.on_cpu_ns != b->sum.on_cpu_ns)
		return a->sum.on_cpu_ns < b->sum.on_cpu_ns ? 1 : -1;
	if (a->sampled_ns != b->sampled_ns)
		return a->sampled_ns < b->sampled_ns ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

/* Forms the groups of sorted threads; returns their number. */
static size_t groups_make(const struct sonde_thread_facts *facts, const struct sonde_weight *weights,
			  const uint32_t *ids, struct group *groups)
{
	size_t count = 0;
	for (size_t i = 0; i < facts->count; i++) {
		if (!i || compare_names(facts->session, ids[i - 1], ids[i]))
			groups[count++] = (struct group){.first = ids[i]};
		struct group *group = &groups[count - 1];
		sonde_states_add(&group->sum, &facts->states->rows[ids[i]]);
		group->sampled_ns += weights[ids[i]].ns;
		group->threads++;
	}
	qsort(groups, count, sizeof *groups, compare_groups);
	return count;
}

static void row_add(const struct sonde_thread_facts *facts, const struct group *group, uint64_t all_ns,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_thread *thread = sonde_session_thread(facts->session, group->first);
	const struct sonde_process *process = sonde_session_process(facts->session, thread->process);
	const struct sonde_states_row *sum = &group->sum;
	const char *why = facts->why_none;
	const uint64_t parts_ns[][2] = {
	    {ON_CPU, sum->on_cpu_ns}, {RUNNABLE, sum->runnable_ns}, {BLOCKED, sum->blocked_ns}};
	size_t name_b = stem_b(thread->name);
	const char *star = group->threads > 1 && thread->name[name_b] ? "*" : "";
	const char *name =
	    group->threads > 1 ? sonde_report_text(report, "%.*s%s", (int)name_b, thread->name, star) : thread->name;
	for (size_t i = 0; i < sizeof parts_ns / sizeof *parts_ns; i++)
		row[parts_ns[i][0]] =
		    sum->by ? sonde_cell_real(sonde_stats_share((double)parts_ns[i][1], (double)sum->life_ns), 0)
			    : sonde_cell_absent(why);
	row[SHARE] = sum->by ? sonde_cell_real(sonde_stats_share((double)sum->on_cpu_ns, (double)all_ns), 0)
			     : sonde_cell_absent(why);
	row[CPU_NS] = sum->by ? sonde_cell_int(sum->on_cpu_ns) : sonde_cell_absent(why);
	row[LIFE_NS] = sonde_cell_int(sum->life_ns);
	row[VOLUNTARY] = sum->counts_switches ? sonde_cell_int(sum->voluntary)
					      : sonde_cell_absent("not known for all of these "
								  "threads");
	row[INVOLUNTARY] = sum->counts_switches ? sonde_cell_int(sum->involuntary)
						: sonde_cell_absent("not known for all of these "
								    "threads");
	row[THREADS] = sonde_cell_int(group->threads);
	row[NAME] = sonde_cell_text(name);
	row[PROCESS] = sonde_cell_text(process ? process->name : "");
}

static void section_add(const struct sonde_thread_facts *facts, const struct group *groups, size_t count, size_t limit,
			struct sonde_report *report)
{
	struct sonde_section *section =
	    sonde_report_table(report, "thread-names", "Threads of the same name", columns, COLUMNS);
	uint64_t all_ns = 0;
	for (size_t i = 0; i < count; i++)
		all_ns += groups[i].sum.on_cpu_ns;
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(facts, &groups[i], all_ns, report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_report_note(report, section, 0, "100 %% = %.3f s on CPUs, of %zu threads", (double)all_ns / 1e9,
			  facts->count);
}

int sonde_thread_names_add(const struct sonde_thread_facts *facts, const struct sonde_weight *weights, size_t limit,
			   struct sonde_report *report)
{
	uint32_t *ids = malloc((facts->count + 1) * sizeof *ids);
	struct group *groups = malloc((facts->count + 1) * sizeof *groups);
	int rc = ids && groups ? 0 : sonde_error(ENOMEM, "out of memory for %zu threads", facts->count);
	if (rc == 0) {
		memcpy(ids, facts->ids, facts->count * sizeof *ids);
		qsort_r(ids, facts->count, sizeof *ids, compare_threads, facts->session);
		size_t count = groups_make(facts, weights, ids, groups);
		if (count < facts->count)
			section_add(facts, groups, count, limit, report);
	}
	free(ids);
	free(groups);
	return rc;
}
