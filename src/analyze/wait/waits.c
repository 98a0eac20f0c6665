/* waits.c: where threads wait in C library calls, by function and kind.
 *
 * Times of several threads add up and may exceed the run. Waits that delay nothing (an idle worker) count like all
 * others: the kind tells them apart. Waits sampled from outside have a section of their own.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/marks.h"
#include "analyze/wait/losses.h"
#include "analyze/wait/sums.h"
#include "analyze/wait/waits_sampled.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { TOTAL, CALLS, MEAN, LONGEST, KIND, FUNCTION, MODULE, SHARE, COLUMNS };

#define GROUPS                                                                                   \
	(1u << SONDE_WAIT_GROUP_LOCK | 1u << SONDE_WAIT_GROUP_IO | 1u << SONDE_WAIT_GROUP_TIME | \
	 1u << SONDE_WAIT_GROUP_CHILD)

static const struct sonde_column columns[COLUMNS] = {
    [TOTAL] = {"total_ns", "waited", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {SONDE_COLUMN_KEY(waits, calls), "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {SONDE_COLUMN_KEY(waits, mean_ns), "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [LONGEST] = {"longest_ns", "longest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [KIND] = {SONDE_COLUMN_KEY(waits, kind), "for", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [FUNCTION] = {SONDE_COLUMN_KEY(waits, function), "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
    [SHARE] = {"share", "of all waiting", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
};

static void row_add(const struct sonde_wait_sums *sums, const struct sonde_wait_place_row *place, uint64_t all_ns,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_function *function = sonde_session_function(sums->session, place->function);
	const struct sonde_module *module = function ? sonde_session_module(sums->session, function->module) : NULL;
	row[TOTAL] = sonde_cell_int(place->sum.total_ns);
	row[CALLS] = sonde_cell_int(place->sum.calls);
	row[MEAN] = sonde_wait_sum_mean(&place->sum);
	row[LONGEST] = sonde_cell_int(place->sum.longest_ns);
	row[KIND] = sonde_cell_label(sonde_wait_row(place->kind)->name, (int)place->kind);
	row[FUNCTION] = sonde_cell_text(function ? function->name : "(no stack)");
	row[MODULE] = sonde_cell_text(module ? module->name : "");
	row[SHARE] = all_ns ? sonde_cell_real((double)place->sum.total_ns / (double)all_ns, 0)
			    : sonde_cell_absent("no thread waited");
}

static void notes_add(const struct sonde_wait_sums *sums, uint64_t all_ns, uint64_t calls, struct sonde_report *report,
		      struct sonde_section *section)
{
	sonde_report_note(report, section, 0, "%.3f s blocked in %llu libc call%s (all threads)", (double)all_ns / 1e9,
			  (unsigned long long)calls, sonde_plural(calls));
	if (sums->cut)
		sonde_report_note(report, section, 0, "stacks of %llu call%s are incomplete",
				  (unsigned long long)sums->cut, sonde_plural(sums->cut));
}

static int waits_finish(void *state, struct sonde_report *report)
{
	const struct sonde_wait_sums *sums = state;
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS;
	struct sonde_wait_place_row *rows = NULL;
	uint64_t all_ns = 0, calls = 0;
	ptrdiff_t count = sonde_wait_places(&rows, sums, GROUPS, 0);
	if (count < 0)
		return sonde_error(ENOMEM, "out of memory for %zu places that wait", sums->measured.count);
	if (!count) {
		free(rows);
		if (sums->sampled.count)
			return sonde_waits_sampled_places(sums, GROUPS, report);
		return sonde_pass_nothing(&sums->options, report, "waits", "Where threads wait",
					  "no blocking call was recorded: use sonde record --threads or --io");
	}
	struct sonde_section *section = sonde_report_table(report, "waits", "Where threads wait", columns, COLUMNS);
	for (ptrdiff_t i = 0; i < count; i++) {
		all_ns += rows[i].sum.total_ns;
		calls += rows[i].sum.calls;
	}
	for (size_t i = 0; i < (size_t)count && i < limit; i++)
		row_add(sums, &rows[i], all_ns, report, section);
	section->table.omitted = (size_t)count > limit ? (size_t)count - limit : 0;
	free(rows);
	notes_add(sums, all_ns, calls, report, section);
	sonde_wait_losses_note(sums, report, section);
	return sonde_waits_sampled_places(sums, GROUPS, report);
}

const struct sonde_pass sonde_pass_waits = {
    .name = "waits",
    .needs = SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES),
    .has = sonde_has_waits,
    .nothing = "no recorded call blocked",
    .title = "where threads wait: for locks, I/O, time and other tasks",
    .types = 1u << SONDE_CHUNK_WAITS,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_wait_sums),
    .begin = sonde_wait_sums_begin,
    .feed = sonde_wait_sums_feed,
    .merge = sonde_wait_sums_merge,
    .finish = waits_finish,
    .end = sonde_wait_sums_end,
};
