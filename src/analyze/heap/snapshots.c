/* snapshots.c: snapshots of processes: their memory, each compared with the previous one of the same process; with
 * --diff, only the two that are compared, followed by the comparison (heap/snapshot_diff.c). */
#include "analyze/heap/snapshot_diff.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/marks.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 50 };

static int moments_read(struct sonde_snapshots_pass *snapshots)
{
	size_t count = sonde_session_snapshot_count(snapshots->session);
	snapshots->moments = calloc(count + 1, sizeof *snapshots->moments);
	if (!snapshots->moments)
		return sonde_error(ENOMEM, "out of memory for %zu snapshots", count);
	for (size_t i = 0; i < count; i++) {
		snapshots->moments[i].process = sonde_session_snapshot(snapshots->session, i)->process;
		snapshots->moments[i].time_ns = sonde_session_snapshot(snapshots->session, i)->time_ns;
	}
	int rc = sonde_session_heap_moments(snapshots->session, snapshots->moments, count);
	snapshots->unread = rc < 0;
	for (size_t i = 0; i < count; i++)
		snapshots->sampled |= snapshots->moments[i].mean_b != 0;
	return rc == -ENOMEM ? rc : 0;
}

static int snapshots_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_snapshots_pass *snapshots = state;
	snapshots->session = session;
	snapshots->options = *options;
	if (options->diff_from && options->diff_to) {
		snapshots->sides[0].snapshot = sonde_session_snapshot(session, options->diff_from - 1);
		snapshots->sides[1].snapshot = sonde_session_snapshot(session, options->diff_to - 1);
	}
	return moments_read(snapshots);
}

static void snapshots_end(void *state)
{
	struct sonde_snapshots_pass *snapshots = state;
	free(snapshots->moments);
}

static int compares(const struct sonde_snapshots_pass *snapshots)
{
	return snapshots->sides[0].snapshot && snapshots->sides[1].snapshot;
}

static uint32_t snapshots_wants(const void *state)
{
	return compares(state) ? 1u << SONDE_CHUNK_HEAP : 0;
}

static int snapshots_feed(void *state, const struct sonde_batch *batch)
{
	sonde_snapshot_diff_feed(state, batch);
	return 0;
}

static int snapshots_merge(void *state, void *other_state)
{
	struct sonde_snapshots_pass *snapshots = state;
	const struct sonde_snapshots_pass *other = other_state;
	for (size_t i = 0; i < 2; i++)
		for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++) {
			snapshots->sides[i].classes[c].blocks += other->sides[i].classes[c].blocks;
			snapshots->sides[i].classes[c].size_b += other->sides[i].classes[c].size_b;
		}
	return 0;
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

enum { NUMBER, LABEL, TIME, LIVE_B, CHANGE_B, BLOCKS, RSS, PSS, REASON, PROCESS, MAPPED, CHANGE_BLOCKS, LISTED };

#define LIST_COLUMNS(process_detail)                                                                                   \
	{                                                                                                              \
		[NUMBER] = {"number", "no.", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},                               \
		[LABEL] = {"label", "label", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},                             \
		[TIME] = {"time_ns", "after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},                              \
		[LIVE_B] = {"live_b", "live", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},                           \
		[CHANGE_B] = {"change_b", "change", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},                     \
		[BLOCKS] = {"blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},                         \
		[RSS] = {"rss_b", "RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0}, [PSS] = {"pss_b",              \
												 "PSS",                \
												 SONDE_UNIT_BYTES,     \
												 SONDE_BASIS_MEASURED, \
												 0,                    \
												 3},                   \
		[REASON] = {"reason", "from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},                            \
		[PROCESS] = {"process", "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, process_detail},          \
		[MAPPED] = {"mapped_b", "mapped", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 6},                       \
		[CHANGE_BLOCKS] = {"change_blocks", "by blocks", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 7},       \
	}

/* The process is shown if there are several. */
static const struct sonde_column list_of_one[LISTED] = LIST_COLUMNS(5), list_of_several[LISTED] = LIST_COLUMNS(0);

static const char *reason_text(uint32_t reason)
{
	static const char *const texts[] = {
	    [SONDE_SNAPSHOT_API] = "program",   [SONDE_SNAPSHOT_COMMAND] = "command",
	    [SONDE_SNAPSHOT_SIGNAL] = "signal", [SONDE_SNAPSHOT_INTERVAL] = "interval",
	    [SONDE_SNAPSHOT_END] = "end",
	};
	return reason < sizeof texts / sizeof *texts && texts[reason] ? texts[reason] : "(unknown)";
}

/* The snapshot that snapshot `at` is compared with: with --diff, the first of the two for the second; otherwise the
 * previous one of the same process. NULL = none. */
static const struct sonde_heap_moment *moment_before(const struct sonde_snapshots_pass *snapshots, size_t at)
{
	const struct sonde_heap_moment *moment = &snapshots->moments[at], *best = NULL;
	if (compares(snapshots))
		return at + 1 == snapshots->options.diff_to ? &snapshots->moments[snapshots->options.diff_from - 1]
							    : NULL;
	for (size_t i = 0; i < sonde_session_snapshot_count(snapshots->session); i++) {
		const struct sonde_heap_moment *other = &snapshots->moments[i];
		int is_before = other->time_ns < moment->time_ns || (other->time_ns == moment->time_ns && i < at);
		if (other->process == moment->process && is_before && (!best || other->time_ns >= best->time_ns))
			best = other;
	}
	return best;
}

static void cells_of_heap(struct sonde_cell *row, const struct sonde_heap_moment *moment,
			  const struct sonde_heap_moment *before)
{
	const char *why = "allocations were not recorded";
	row[LIVE_B] = row[BLOCKS] = row[CHANGE_B] = row[CHANGE_BLOCKS] = row[MAPPED] = sonde_cell_absent(why);
	if (!moment->known)
		return;
	double variance = moment->mean_b ? moment->live.variance : 0;
	row[LIVE_B] = sonde_snapshot_amount(moment->live.size_b, variance);
	row[BLOCKS] = sonde_snapshot_amount(moment->live.blocks, 0);
	row[MAPPED] = sonde_snapshot_amount(moment->mapped_b, 0);
	row[CHANGE_B] = row[CHANGE_BLOCKS] = sonde_cell_absent("it is the first snapshot");
	if (!before)
		return;
	row[CHANGE_B] = sonde_snapshot_change(before->live.size_b, moment->live.size_b,
					      moment->mean_b ? variance + before->live.variance : 0);
	row[CHANGE_BLOCKS] = sonde_snapshot_change(before->live.blocks, moment->live.blocks, 0);
}

static void listed_add(const struct sonde_snapshots_pass *snapshots, size_t at, struct sonde_report *report,
		       struct sonde_section *section)
{
	const struct sonde_snapshot *snapshot = sonde_session_snapshot(snapshots->session, at);
	const struct sonde_process *process = sonde_session_process(snapshots->session, snapshot->process);
	const struct sonde_heap_moment *before = moment_before(snapshots, at);
	uint64_t start_ns = sonde_session_run(snapshots->session)->start_ns;
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *name = sonde_report_text(report, "%s (%u)", process && *process->name ? process->name : "(unknown)",
					     process ? process->pid : 0);
	row[NUMBER] = sonde_cell_int(at + 1);
	row[LABEL] = *snapshot->label ? sonde_cell_text(snapshot->label) : sonde_cell_absent("it has no label");
	row[TIME] = sonde_cell_int(snapshot->time_ns > start_ns ? snapshot->time_ns - start_ns : 0);
	row[REASON] = sonde_cell_text(reason_text(snapshot->reason));
	row[PROCESS] = sonde_cell_text(name);
	row[RSS] = snapshot->rss_b ? sonde_cell_int(snapshot->rss_b) : sonde_cell_absent("the process had exited");
	row[PSS] = snapshot->pss_b
		       ? sonde_cell_int(snapshot->pss_b)
		       : sonde_cell_absent("not read: too expensive, not allowed, or the program had run on");
	cells_of_heap(row, &snapshots->moments[at], before);
}

static int list_notes(const struct sonde_snapshots_pass *snapshots, struct sonde_report *report,
		      struct sonde_section *section)
{
	int heap = 0, rc = 0;
	for (size_t i = 0; i < sonde_session_snapshot_count(snapshots->session); i++)
		heap |= snapshots->moments[i].known;
	if (heap)
		sonde_report_note(report, section, 0,
				  "live: allocated with malloc and not freed; change: since the snapshot %s",
				  compares(snapshots) ? "above" : "before it, of the same process");
	else
		sonde_report_note(report, section, 0, "live bytes are unknown: use sonde record --heap");
	if (rc == 0 && snapshots->sampled)
		sonde_report_note(
		    report, section, 0,
		    "blocks were sampled: live bytes are estimates, with the widest possible 95 %% interval");
	if (rc == 0 && snapshots->unread)
		sonde_report_note(report, section, 1, "some allocations could not be read and are left out");
	return rc;
}

static int list_build(struct sonde_snapshots_pass *snapshots, struct sonde_report *report)
{
	size_t limit = snapshots->options.limit ? snapshots->options.limit : DEFAULT_ROWS;
	size_t count = sonde_session_snapshot_count(snapshots->session), added = 0, left_out = 0;
	int two = compares(snapshots), several = 0;
	for (size_t i = 1; i < count; i++)
		several |= snapshots->moments[i].process != snapshots->moments[0].process;
	struct sonde_section *section =
	    sonde_report_table(report, "snapshots", two ? "The compared snapshots" : "Snapshots",
			       several ? list_of_several : list_of_one, LISTED);
	for (size_t i = 0; i < count; i++) {
		if (two && i + 1 != snapshots->options.diff_from && i + 1 != snapshots->options.diff_to)
			continue;
		if (added == limit) {
			left_out++;
			continue;
		}
		listed_add(snapshots, i, report, section);
		added++;
	}
	section->table.omitted = left_out;
	return list_notes(snapshots, report, section);
}

/* --- the section ------------------------------------------------------------------------------------------------- */

/* False if there are only exit snapshots, which every process has: not worth an unrequested section. */
static int is_worth_it(const struct sonde_snapshots_pass *snapshots)
{
	for (size_t i = 0; i < sonde_session_snapshot_count(snapshots->session); i++)
		if (sonde_session_snapshot(snapshots->session, i)->reason != SONDE_SNAPSHOT_END)
			return 1;
	return snapshots->options.requested;
}

static int has_heap(const struct sonde_snapshots_pass *snapshots)
{
	return snapshots->moments[snapshots->options.diff_from - 1].known ||
	       snapshots->moments[snapshots->options.diff_to - 1].known;
}

static int snapshots_finish(void *state, struct sonde_report *report)
{
	struct sonde_snapshots_pass *snapshots = state;
	if (!sonde_session_snapshot_count(snapshots->session))
		return sonde_pass_nothing(&snapshots->options, report, "snapshots", "Snapshots",
					  "no snapshots: take them with sonde_snapshot(), sonde snapshot -p PID or "
					  "sonde record --snapshot-every 10s");
	if (!is_worth_it(snapshots))
		return 0;
	int rc = list_build(snapshots, report);
	if (rc || !compares(snapshots) || !has_heap(snapshots))
		return rc;
	return sonde_snapshot_diff_build(snapshots, report);
}

const struct sonde_pass sonde_pass_snapshots = {
    .name = "snapshots",
    .has = sonde_has_snapshots,
    .title = "memory snapshots, and the change between two of them (--diff)",
    .types = 1u << SONDE_CHUNK_HEAP,
    .standard = 1,
    .state_b = sizeof(struct sonde_snapshots_pass),
    .begin = snapshots_begin,
    .wants = snapshots_wants,
    .feed = snapshots_feed,
    .merge = snapshots_merge,
    .finish = snapshots_finish,
    .end = snapshots_end,
};
