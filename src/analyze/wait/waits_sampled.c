/* waits_sampled.c: where threads wait, according to samples from outside (source/wait/blocked.c): by function, by kind,
 * and by lock.
 *
 * A sum is the time represented by the samples that found a thread waiting: an estimate. Its interval assumes that each
 * wait found began and ended independently of the others. A row is one wait, found by n samples that represent a time d
 * each; it adds at most d² to the variance. The number of waits is unknown; only those found are counted.
 */
#include "analyze/wait/waits_sampled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { TOTAL, SHARE, LOOKS, FOUND, KIND, FUNCTION, OBJECT, MODULE, PLACE_COLUMNS };
enum { KIND_NAME, KIND_TOTAL, KIND_SHARE, KIND_LOOKS, KIND_FOUND, KIND_WHAT, KIND_COLUMNS };
enum { LOCK_TOTAL, LOCK_SHARE, LOCK_LOOKS, LOCK_FOUND, LOCK_KIND, LOCK_NAME, LOCK_WHERE, LOCK_COLUMNS };

static const struct sonde_column place_columns[PLACE_COLUMNS] = {
    [TOTAL] = {"total_ns", "waited", SONDE_UNIT_NS, SONDE_BASIS_ESTIMATED, 0, 0},
    [SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 2},
    [LOOKS] = {"looks", "polls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [FOUND] = {"waits_found", "waits found", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [KIND] = {"kind", "for", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [OBJECT] = {"most_for", "most for", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
};

static const struct sonde_column kind_columns[KIND_COLUMNS] = {
    [KIND_NAME] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [KIND_TOTAL] = {"total_ns", "time", SONDE_UNIT_NS, SONDE_BASIS_ESTIMATED, 0, 0},
    [KIND_SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [KIND_LOOKS] = {"looks", "polls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [KIND_FOUND] = {"waits_found", "waits found", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [KIND_WHAT] = {"what", "call", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 3},
};

static const struct sonde_column lock_columns[LOCK_COLUMNS] = {
    [LOCK_TOTAL] = {"waited_ns", "waited", SONDE_UNIT_NS, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOCK_SHARE] = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [LOCK_LOOKS] = {"looks", "polls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [LOCK_FOUND] = {"waits_found", "waits found", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [LOCK_KIND] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [LOCK_NAME] = {"lock", "lock", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [LOCK_WHERE] = {"waits_in", "most waits in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

static struct sonde_cell time_of(const struct sonde_wait_sum *sum)
{
	return sonde_cell_real((double)sum->total_ns, 1.96 * sqrt(sum->variance));
}

static struct sonde_cell share_of(const struct sonde_wait_sum *sum, const struct sonde_wait_sum *all)
{
	return all->total_ns ? sonde_cell_real((double)sum->total_ns / (double)all->total_ns, 0)
			     : sonde_cell_absent("no thread waited");
}

static void place_add(const struct sonde_wait_sums *sums, const struct sonde_wait_place_row *place,
		      const struct sonde_wait_sum *all, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_function *function = sonde_session_function(sums->session, place->function);
	const struct sonde_module *module = function ? sonde_session_module(sums->session, function->module) : NULL;
	uint32_t object = sonde_wait_object_sampled(sums, place->function, place->kind);
	const char *name = object ? sonde_wait_object_name(sums, report, object) : "";
	row[TOTAL] = time_of(&place->sum);
	row[SHARE] = share_of(&place->sum, all);
	row[LOOKS] = sonde_cell_int(place->sum.amount);
	row[FOUND] = sonde_cell_int(place->sum.calls);
	row[KIND] = sonde_cell_text(sonde_wait_row(place->kind)->name);
	row[FUNCTION] = sonde_cell_text(function ? function->name : "(no stack)");
	row[OBJECT] = object ? sonde_cell_text(name) : sonde_cell_absent("such calls have no single object");
	row[MODULE] = sonde_cell_text(module ? module->name : "");
}

static void note_basis(const struct sonde_wait_sum *all, struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(report, section, 0,
			  "sampled: %llu poll%s found a thread waiting, for about %.3f s (all threads)",
			  (unsigned long long)all->amount, sonde_plural(all->amount), (double)all->total_ns / 1e9);
}

static void places_notes(const struct sonde_wait_sums *sums, const struct sonde_wait_sum *all,
			 struct sonde_report *report, struct sonde_section *section)
{
	note_basis(all, report, section);
	if (sums->sampled_cut)
		sonde_report_note(
		    report, section, 0,
		    "stacks of %llu wait%s are incomplete: of a blocked thread only the stack pointer and pc are known",
		    (unsigned long long)sums->sampled_cut, sonde_plural(sums->sampled_cut));
	if (sums->sampled_bare)
		sonde_report_note(report, section, 0, "%llu wait%s without a stack: the thread had resumed",
				  (unsigned long long)sums->sampled_bare,
				  sonde_word(sums->sampled_bare, " is", "s are"));
}

int sonde_waits_sampled_places(const struct sonde_wait_sums *sums, uint32_t groups, struct sonde_report *report)
{
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS;
	struct sonde_wait_place_row *rows = NULL;
	struct sonde_wait_sum all = {0};
	if (!sums->sampled.count)
		return 0;
	ptrdiff_t count = sonde_wait_places_sampled(&rows, sums, groups);
	if (count < 0)
		return sonde_error(ENOMEM, "out of memory for %zu places that wait", sums->sampled.count);
	struct sonde_section *section =
	    sonde_report_table(report, "waits-sampled", "Where threads wait, sampled", place_columns, PLACE_COLUMNS);
	for (ptrdiff_t i = 0; i < count; i++)
		sonde_wait_sum_add(&all, &rows[i].sum);
	for (size_t i = 0; i < (size_t)count && i < limit; i++)
		place_add(sums, &rows[i], &all, report, section);
	section->table.omitted = (size_t)count > limit ? (size_t)count - limit : 0;
	free(rows);
	places_notes(sums, &all, report, section);
	return 0;
}

static void kind_add(const struct sonde_wait_sum *sum, uint32_t kind, const struct sonde_wait_sum *all,
		     struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[KIND_NAME] = sonde_cell_text(sonde_wait_row(kind)->name);
	row[KIND_TOTAL] = time_of(sum);
	row[KIND_SHARE] = share_of(sum, all);
	row[KIND_LOOKS] = sonde_cell_int(sum->amount);
	row[KIND_FOUND] = sonde_cell_int(sum->calls);
	row[KIND_WHAT] = sonde_cell_text(sonde_wait_row(kind)->title);
}

void sonde_waits_sampled_kinds(const struct sonde_wait_sums *sums, struct sonde_report *report)
{
	struct sonde_wait_sum kinds[SONDE_WAIT_KINDS] = {0}, all = {0};
	if (!sums->sampled.count)
		return;
	for (size_t i = 0; i < sums->sampled.count; i++) {
		sonde_wait_sum_add(&kinds[sums->sampled.rows[i].kind], &sums->sampled.rows[i].sum);
		sonde_wait_sum_add(&all, &sums->sampled.rows[i].sum);
	}
	struct sonde_section *section = sonde_report_table(
	    report, "wait-kinds-sampled", "Blocking calls by kind, sampled", kind_columns, KIND_COLUMNS);
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		if (kinds[kind].amount || kinds[kind].total_ns)
			kind_add(&kinds[kind], kind, &all, report, section);
	note_basis(&all, report, section);
}

/* The cells of one object: their sum, and the cell with the longest time. */
struct lock {
	struct sonde_wait_sum sum;
	const struct sonde_wait_cell *most;
};

static int compare_locks(const void *left, const void *right)
{
	const struct lock *a = left, *b = right;
	if (a->sum.total_ns != b->sum.total_ns)
		return a->sum.total_ns < b->sum.total_ns ? 1 : -1;
	return (a->most->object > b->most->object) - (a->most->object < b->most->object);
}

/* The locks that threads were found waiting for, longest first. */
static size_t locks_of(struct lock *locks, const struct sonde_wait_sums *sums)
{
	size_t kept = 0, objects = sonde_session_object_count(sums->session);
	for (size_t i = 0; i < sums->sampled.count; i++) {
		const struct sonde_wait_cell *cell = &sums->sampled.rows[i];
		struct lock *lock = &locks[cell->object];
		if (sonde_wait_group_of(cell) != SONDE_WAIT_GROUP_LOCK)
			continue;
		sonde_wait_sum_add(&lock->sum, &cell->sum);
		if (!lock->most || cell->sum.total_ns > lock->most->sum.total_ns)
			lock->most = cell;
	}
	for (size_t i = 0; i <= objects; i++)
		if (locks[i].most)
			locks[kept++] = locks[i];
	qsort(locks, kept, sizeof *locks, compare_locks);
	return kept;
}

static void lock_add(const struct sonde_wait_sums *sums, const struct lock *lock, const struct sonde_wait_sum *all,
		     struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *name = sonde_wait_object_name(sums, report, lock->most->object);
	const char *where = sonde_wait_place_text(sums, report, lock->most->stack);
	row[LOCK_TOTAL] = time_of(&lock->sum);
	row[LOCK_SHARE] = share_of(&lock->sum, all);
	row[LOCK_LOOKS] = sonde_cell_int(lock->sum.amount);
	row[LOCK_FOUND] = sonde_cell_int(lock->sum.calls);
	row[LOCK_KIND] = sonde_cell_text(sonde_wait_row(lock->most->kind)->name);
	row[LOCK_NAME] = sonde_cell_text(name);
	row[LOCK_WHERE] = sonde_cell_text(where);
}

static void locks_table(const struct sonde_wait_sums *sums, const struct lock *locks, size_t count,
			struct sonde_report *report)
{
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS;
	struct sonde_wait_sum all = {0};
	struct sonde_section *section =
	    sonde_report_table(report, "locks-sampled", "Lock contention, sampled", lock_columns, LOCK_COLUMNS);
	for (size_t i = 0; i < count; i++)
		sonde_wait_sum_add(&all, &locks[i].sum);
	for (size_t i = 0; i < count && i < limit; i++)
		lock_add(sums, &locks[i], &all, report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	note_basis(&all, report, section);
	sonde_report_note(report, section, 0,
			  "lock owners are unknown from outside, and a condition variable looks like a lock");
}

int sonde_waits_sampled_locks(const struct sonde_wait_sums *sums, struct sonde_report *report)
{
	struct lock *locks = calloc(sonde_session_object_count(sums->session) + 1, sizeof *locks);
	if (!locks)
		return sonde_error(ENOMEM, "out of memory for locks");
	size_t count = locks_of(locks, sums);
	if (count)
		locks_table(sums, locks, count, report);
	free(locks);
	return count > 0;
}
