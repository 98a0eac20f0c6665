/* locks.c: contended locks: which threads waited where, for how long, and which threads held them meanwhile.
 *
 * A lock is an address in a process: locks allocated one after another at the same address count as one. A HELD row
 * starts when the first waiter finds the lock taken, and has the stack that released it. Concurrent readers hold a lock
 * together: this is one row, from when the first reader enters until the last one leaves, with the stack of the last
 * one. No holder is named if the recorded holding explains little of the waiting: then another, unrecorded thread held
 * the lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/marks.h"
#include "analyze/wait/losses.h"
#include "analyze/wait/sums.h"
#include "analyze/wait/waits_sampled.h"
#include "analyze/words.h"
#include "format/wait.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { WAITED, WAITS, MEAN, LONGEST, WAITERS, HELD, HELD_MEAN, HOLDERS, KIND, LOCK, WHERE, HOLDER, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [WAITED] = {SONDE_COLUMN_KEY(locks, waited_ns), "waited", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [WAITS] = {SONDE_COLUMN_KEY(locks, waits), "waits", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [LONGEST] = {"longest_ns", "longest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [WAITERS] = {SONDE_COLUMN_KEY(locks, waiters), "threads", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [HELD] = {"held_ns", "held", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [HELD_MEAN] = {"held_mean_ns", "mean hold", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [HOLDERS] = {"holders", "owners", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [KIND] = {SONDE_COLUMN_KEY(locks, kind), "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [LOCK] = {SONDE_COLUMN_KEY(locks, lock), "lock", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [WHERE] = {SONDE_COLUMN_KEY(locks, waits_in), "most waits in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [HOLDER] = {SONDE_COLUMN_KEY(locks, held_in), "while held in", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
};

struct lock {
	uint32_t object, kind;
	struct sonde_wait_sum waits, holds;
	uint32_t waiters, holders;
	uint32_t wait_stack, hold_stack; /* stacks of the cells with the longest time */
	uint64_t wait_ns, hold_ns;
};

static void add_cell(struct lock *lock, const struct sonde_wait_cell *cell)
{
	int held = cell->kind == SONDE_WAIT_HELD;
	uint64_t *most_ns = held ? &lock->hold_ns : &lock->wait_ns;
	sonde_wait_sum_add(held ? &lock->holds : &lock->waits, &cell->sum);
	if (!held && !lock->kind)
		lock->kind = cell->kind;
	if (cell->sum.total_ns < *most_ns)
		return;
	*most_ns = cell->sum.total_ns;
	*(held ? &lock->hold_stack : &lock->wait_stack) = cell->stack;
	if (!held)
		lock->kind = cell->kind;
}

/* Returns the locks by object id; rows of uncontended locks stay empty. */
static struct lock *locks_of(const struct sonde_wait_sums *sums)
{
	size_t objects = sonde_session_object_count(sums->session);
	struct lock *locks = calloc(objects + 1, sizeof *locks);
	for (size_t i = 0; locks && i < sums->measured.count; i++) {
		const struct sonde_wait_cell *cell = &sums->measured.rows[i];
		enum sonde_wait_group group = sonde_wait_group_of(cell);
		if (group == SONDE_WAIT_GROUP_LOCK || group == SONDE_WAIT_GROUP_HELD)
			add_cell(&locks[cell->object], cell);
	}
	for (size_t i = 0; locks && i < sums->party_count; i++) {
		const struct sonde_wait_party *party = &sums->parties[i];
		locks[party->object].waiters += !party->held;
		locks[party->object].holders += party->held != 0;
	}
	for (size_t i = 0; locks && i <= objects; i++)
		locks[i].object = (uint32_t)i;
	return locks;
}

static int compare(const void *left, const void *right)
{
	const struct lock *a = left, *b = right;
	if (a->waits.total_ns != b->waits.total_ns)
		return a->waits.total_ns < b->waits.total_ns ? 1 : -1;
	return (a->object > b->object) - (a->object < b->object);
}

/* True if the recorded holding explains the waiting. Waiters may all wait at the same time, so holding is compared with
 * the waiting time per waiter. It must cover at least half of that: on a busy machine, the other half may be the delay
 * between release and acquisition. */
static int is_explained(const struct lock *lock)
{
	return lock->holds.total_ns * 2 >= lock->waits.total_ns / (lock->waiters ? lock->waiters : 1);
}

static const char *unseen_why(const struct sonde_wait_sums *sums)
{
	return sums->options.selection.thread ? "lock holding by other threads was not selected"
					      : "holding is recorded from the first contention on";
}

/* Semaphore posts and condition signals are HELD rows without a duration. */
static int is_held(const struct lock *lock)
{
	return lock->holders && lock->kind != SONDE_WAIT_SEMAPHORE && lock->kind != SONDE_WAIT_CONDITION;
}

static void row_add(const struct sonde_wait_sums *sums, const struct lock *lock, struct sonde_report *report,
		    struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *name = sonde_wait_object_name(sums, report, lock->object);
	const char *where = sonde_wait_place_text(sums, report, lock->wait_stack);
	const char *holder = sonde_wait_place_text(sums, report, lock->hold_stack);
	row[WAITED] = sonde_cell_int(lock->waits.total_ns);
	row[WAITS] = sonde_cell_int(lock->waits.calls);
	row[MEAN] = sonde_wait_sum_mean(&lock->waits);
	row[LONGEST] = sonde_cell_int(lock->waits.longest_ns);
	row[WAITERS] = sonde_cell_int(lock->waiters);
	row[KIND] = sonde_cell_label(sonde_wait_row(lock->kind)->name, (int)lock->kind);
	row[LOCK] = sonde_cell_text(name);
	row[WHERE] = sonde_cell_text(where);
	row[HELD] = row[HELD_MEAN] = row[HOLDERS] = row[HOLDER] = sonde_cell_absent(unseen_why(sums));
	if (!is_held(lock))
		return;
	row[HELD] = sonde_cell_int(lock->holds.total_ns);
	row[HELD_MEAN] = sonde_wait_sum_mean(&lock->holds);
	row[HOLDERS] = sonde_cell_int(lock->holders);
	if (sums->options.selection.thread) /* the holder is another thread, which may not be selected */
		row[HOLDER] = sonde_cell_absent(unseen_why(sums));
	else if (is_explained(lock))
		row[HOLDER] = sonde_cell_text(holder);
	else
		row[HOLDER] = sonde_cell_absent("recorded holds explain less than half of the waiting");
}

static int is_shared(const struct lock *lock)
{
	return lock->kind == SONDE_WAIT_READ_LOCK || lock->kind == SONDE_WAIT_WRITE_LOCK;
}

/* Notes what holding means, and where it cannot tell which thread was waited for. */
static void notes_add(const struct sonde_wait_sums *sums, const struct lock *locks, size_t count,
		      struct sonde_report *report, struct sonde_section *section)
{
	size_t shared = 0, unexplained = 0;
	for (size_t i = 0; i < count; i++) {
		shared += is_held(&locks[i]) && is_shared(&locks[i]);
		unexplained += is_held(&locks[i]) && !is_explained(&locks[i]);
	}
	if (shared)
		sonde_report_note(report, section, 0,
				  "shared by readers: held from the first in to the last out; the function "
				  "shown is the last one's");
	if (!unexplained || sums->options.selection.thread)
		return;
	sonde_report_note(report, section, 0,
			  "for %zu lock%s, recorded holds explain less than half of the waiting: %s", unexplained,
			  sonde_plural(unexplained), unseen_why(sums));
}

/* Returns 1, or 0 without adding a section if there are no rows. */
static int table_fill(const struct sonde_wait_sums *sums, struct lock *locks, struct sonde_report *report)
{
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS, count = 0;
	size_t objects = sonde_session_object_count(sums->session);
	uint64_t waited_ns = 0;
	for (size_t i = 0; i <= objects; i++) {
		if (!locks[i].waits.calls && !locks[i].waits.total_ns)
			continue;
		waited_ns += locks[i].waits.total_ns;
		locks[count++] = locks[i];
	}
	if (!count)
		return 0;
	qsort(locks, count, sizeof *locks, compare);
	struct sonde_section *section = sonde_report_table(report, "locks", "Lock contention", columns, COLUMNS);
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(sums, &locks[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_report_note(report, section, 0, "%zu lock%s, waited for %.3f s (all threads)", count, sonde_plural(count),
			  (double)waited_ns / 1e9);
	notes_add(sums, locks, count < limit ? count : limit, report, section);
	sonde_wait_losses_note(sums, report, section);
	return 1;
}

static const char *why_none(const struct sonde_session *session)
{
	const struct sonde_source_row *waits = sonde_session_source_named(session, "waits");
	if (!waits || waits->state == SONDE_SOURCE_OFF || !strcmp(waits->method, SONDE_WAIT_METHOD_FILES))
		return "no lock contention was recorded: use sonde record --threads";
	if (waits->state != SONDE_SOURCE_ON && *waits->detail)
		return waits->detail;
	return sonde_session_info(session, "option.keep_ns")
		   ? "no lock contention in what the flight recorder saved (--keep): no libc call found a lock taken"
		   : "no lock contention: no libc call found a lock taken (a program's own locks are not seen)";
}

static int locks_finish(void *state, struct sonde_report *report)
{
	const struct sonde_wait_sums *sums = state;
	struct lock *locks = locks_of(sums);
	int rc = locks ? table_fill(sums, locks, report) : sonde_error(ENOMEM, "out of memory for locks");
	int sampled = rc < 0 ? rc : sonde_waits_sampled_locks(sums, report);
	free(locks);
	if (rc < 0 || sampled < 0)
		return rc < 0 ? rc : sampled;
	return rc || sampled ? 0
			     : sonde_pass_nothing(&sums->options, report, "locks", "Locks", why_none(sums->session));
}

const struct sonde_pass sonde_pass_locks = {
    .name = "locks",
    .needs = SONDE_NEEDS(LOCKS),
    .has = sonde_has_waits,
    .title = "lock contention: time waited for locks, and their owners",
    .types = 1u << SONDE_CHUNK_WAITS,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_wait_sums),
    .begin = sonde_wait_sums_begin,
    .feed = sonde_wait_sums_feed,
    .merge = sonde_wait_sums_merge,
    .finish = locks_finish,
    .end = sonde_wait_sums_end,
};
