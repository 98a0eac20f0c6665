/* kinds.c: blocking calls by kind: percentiles of their durations, and bytes read or written. */

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/marks.h"
#include "analyze/wait/losses.h"
#include "analyze/wait/sums.h"
#include "analyze/wait/waits_sampled.h"

enum {
	KIND,
	CALLS,
	TOTAL,
	FIRST_DURATION,
	AMOUNT = FIRST_DURATION + SONDE_DURATION_CELLS,
	SIZE,
	WHAT,
	COLUMNS,
};

static const struct sonde_column columns[COLUMNS] = {
    [KIND] = {SONDE_COLUMN_KEY(wait_kinds, kind), "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {SONDE_COLUMN_KEY(wait_kinds, calls), "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL] = {SONDE_COLUMN_KEY(wait_kinds, total_ns), "time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    SONDE_DURATION_COLUMNS(FIRST_DURATION),
    [AMOUNT] = {"amount_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [SIZE] = {"mean_b", "mean size", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 4},
    [WHAT] = {"what", "call", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 5},
};

static struct sonde_wait_sum sum_of(const struct sonde_wait_sums *sums, uint32_t kind)
{
	struct sonde_wait_sum sum = {0};
	for (size_t i = 0; i < sums->measured.count; i++)
		if (sums->measured.rows[i].kind == kind)
			sonde_wait_sum_add(&sum, &sums->measured.rows[i].sum);
	return sum;
}

static void row_add(const struct sonde_wait_sums *sums, uint32_t kind, struct sonde_report *report,
		    struct sonde_section *section)
{
	struct sonde_wait_sum sum = sum_of(sums, kind);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[KIND] = sonde_cell_label(sonde_wait_row(kind)->name, (int)kind);
	row[CALLS] = sonde_cell_int(sum.calls);
	row[TOTAL] = sonde_cell_int(sum.total_ns);
	sonde_durations_cells(&sums->kinds[kind], &row[FIRST_DURATION]);
	row[WHAT] = sonde_cell_text(sonde_wait_row(kind)->title);
	row[AMOUNT] = row[SIZE] = sonde_cell_absent("nothing is read or written");
	if (!sum.amount)
		return;
	row[AMOUNT] = sonde_cell_int(sum.amount);
	row[SIZE] = sum.calls ? sonde_cell_int(sum.amount / sum.calls) : sonde_cell_absent("none started");
}

/* True if there is any call of the kind. A call that began before the selected time adds time, but no duration. */
static int has_any(const struct sonde_wait_sums *sums, uint32_t kind)
{
	return sums->kinds[kind].count || sum_of(sums, kind).total_ns;
}

static int kinds_finish(void *state, struct sonde_report *report)
{
	const struct sonde_wait_sums *sums = state;
	uint64_t fewest = UINT64_MAX;
	int found = 0;
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++) {
		found |= has_any(sums, kind);
		if (sums->kinds[kind].count && sums->kinds[kind].count < fewest)
			fewest = sums->kinds[kind].count;
	}
	if (!found && sums->sampled.count) {
		sonde_waits_sampled_kinds(sums, report);
		return 0;
	}
	if (!found)
		return sonde_pass_nothing(&sums->options, report, "wait-kinds", "Blocking calls",
					  "no blocking call was recorded: use sonde record --threads or --io");
	struct sonde_section *section =
	    sonde_report_table(report, "wait-kinds", "Blocking calls by kind", columns, COLUMNS);
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		if (has_any(sums, kind))
			row_add(sums, kind, report, section);
	sonde_durations_note(fewest, report, section);
	if ((sums->options.selection.from_ns || sums->options.selection.to_ns))
		sonde_report_note(report, section, 0,
				  "times lie within the selection; other columns cover whole calls that started "
				  "in it");
	sonde_wait_losses_note(sums, report, section);
	sonde_waits_sampled_kinds(sums, report);
	return 0;
}

const struct sonde_pass sonde_pass_wait_kinds = {
    .name = "wait-kinds",
    .needs = SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES),
    .has = sonde_has_waits,
    .nothing = "no recorded call blocked",
    .title = "blocking calls by kind, with percentiles of their duration",
    .types = 1u << SONDE_CHUNK_WAITS,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_wait_sums),
    .begin = sonde_wait_sums_begin,
    .feed = sonde_wait_sums_feed,
    .merge = sonde_wait_sums_merge,
    .finish = kinds_finish,
    .end = sonde_wait_sums_end,
};
