/* flop_rows.c: the section of FLOP and bytes: a row for all library calls, one per counted zone, and the share of the
 * run that they cover. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/work/flop.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { NAME, KIND, CALLS, TOTAL_NS, FLOP, FLOP_RATE, BYTES, BYTES_RATE, INTENSITY, MEDIAN, SIZE, SIZE_SHARE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [KIND] = {"counted_by", "counted by", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {"total_ns", "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [FLOP] = {"flop", "FLOP", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [FLOP_RATE] = {"flop_per_sec", "FLOP/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [BYTES] = {"bytes", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MODELLED, 0, 3},
    [BYTES_RATE] = {"bytes_per_sec", "B/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MODELLED, 0, 4},
    [INTENSITY] = {"flop_per_byte", "FLOP/B", SONDE_UNIT_NUMBER, SONDE_BASIS_MODELLED, 0, 2},
    [MEDIAN] = {"flop_per_call_median", "median/call", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 2},
    [SIZE] = {"commonest_size", "commonest size", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
    [SIZE_SHARE] = {"commonest_size_share", "of calls", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 4},
};

static struct sonde_cell rate(double amount, uint64_t total_ns)
{
	if (amount <= 0)
		return sonde_cell_absent("not counted");
	return total_ns ? sonde_cell_real(amount / ((double)total_ns / 1e9), 0) : sonde_cell_absent("too short");
}

static void row_fill(struct sonde_cell *row, const struct sonde_flop_zone *zone, int by_library)
{
	row[KIND] = sonde_cell_text(by_library ? "library call" : "program");
	row[CALLS] = sonde_cell_int(zone->calls);
	row[TOTAL_NS] = sonde_cell_int(zone->total_ns);
	row[FLOP] = zone->flop > 0 ? sonde_cell_real(zone->flop, 0) : sonde_cell_absent("not counted");
	row[FLOP_RATE] = rate(zone->flop, zone->total_ns);
	row[BYTES] = zone->bytes > 0 ? sonde_cell_real(zone->bytes, 0) : sonde_cell_absent("not counted");
	row[BYTES_RATE] = rate(zone->bytes, zone->total_ns);
	row[INTENSITY] = zone->flop > 0 && zone->bytes > 0 ? sonde_cell_real(zone->flop / zone->bytes, 0)
							   : sonde_cell_absent("FLOP and bytes are not both known");
	row[MEDIAN] = row[SIZE] = row[SIZE_SHARE] = sonde_cell_absent("only single zones have one");
}

static int compare_sizes(const void *left, const void *right)
{
	return memcmp((*(const struct sonde_flop_report *const *)left)->size,
		      (*(const struct sonde_flop_report *const *)right)->size, sizeof(int64_t) * SONDE_FLOP_SIZES);
}

static const char *size_text(struct sonde_report *report, const int64_t *size)
{
	static const char titles[SONDE_FLOP_SIZES] = {'m', 'n', 'k'};
	const char *text = "";
	for (int i = 0; i < SONDE_FLOP_SIZES; i++)
		if (size[i] >= 0)
			text = sonde_report_text(report, "%s%s%c=%lld", text, *text ? " " : "", titles[i],
						 (long long)size[i]);
	return text;
}

/* Fills in the most frequent sizes. */
static int sizes_fill(const struct sonde_flop *flop, const struct sonde_flop_zone *zone, struct sonde_report *report,
		      struct sonde_cell *row)
{
	const struct sonde_flop_report **sorted = malloc(zone->reports * sizeof *sorted);
	size_t most = 0, run = 0;
	const struct sonde_flop_report *commonest = NULL;
	if (!sorted)
		return sonde_error(ENOMEM, "out of memory for %llu calls", (unsigned long long)zone->reports);
	for (size_t i = 0; i < zone->reports; i++)
		sorted[i] = flop->charged[zone->first + i].report;
	qsort(sorted, zone->reports, sizeof *sorted, compare_sizes);
	for (size_t i = 0; i < zone->reports; i++) {
		run = i && !compare_sizes(&sorted[i - 1], &sorted[i]) ? run + 1 : 1;
		if (run > most) {
			most = run;
			commonest = sorted[i];
		}
	}
	free(sorted);
	const char *text = commonest ? size_text(report, commonest->size) : NULL;
	if (!text)
		return sonde_error(ENOMEM, "out of memory for a size");
	row[SIZE] = sonde_cell_text(text);
	row[SIZE_SHARE] = sonde_cell_real((double)most / (double)zone->reports, 0);
	return 0;
}

static int row_add(const struct sonde_flop *flop, uint32_t id, struct sonde_report *report,
		   struct sonde_section *section)
{
	const struct sonde_flop_zone *zone = &flop->zones[id];
	const struct sonde_site *site = id ? sonde_session_site(flop->session, id) : NULL;
	struct sonde_cell *row = sonde_report_row(report, section);
	int by_library = sonde_flop_is_library_id(flop, id);
	row_fill(row, zone, by_library);
	row[NAME] = sonde_cell_text(site ? site->name : "(unknown)");
	if (!zone->reports)
		row[MEDIAN] = sonde_cell_absent("no call was counted");
	if (zone->reports && zone->flop > 0)
		row[MEDIAN] = sonde_cell_real(flop->charged[zone->first + (zone->reports - 1) / 2].report->flop, 0);
	return zone->reports && by_library ? sizes_fill(flop, zone, report, row) : 0;
}

/* Adds the sum of all zones of a kind. The time of nested zones would count twice, so times are added only for library
 * calls, which never nest. */
static void sum_add(const struct sonde_flop_zone *sum, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row_fill(row, sum, 1);
	row[NAME] = sonde_cell_text("(all library calls)");
}

/* Adds what hardware counters counted for the whole run, whatever part is selected. */
static void run_add(const struct sonde_flop *flop, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_run *run = sonde_session_run(flop->session);
	uint64_t wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	struct sonde_flop_zone all = {.flop = flop->counted.flop, .total_ns = wall_ns};
	struct sonde_cell *row = sonde_report_row(report, section);
	row_fill(row, &all, 0);
	row[NAME] = sonde_cell_text("(whole run)");
	row[KIND] = sonde_cell_text("processor");
	row[CALLS] = sonde_cell_absent("no calls");
}

static struct sonde_flop_zone sum_of(const struct sonde_flop *flop, int by_library)
{
	struct sonde_flop_zone sum = {0};
	for (uint32_t id = 0; id < flop->sites; id++) {
		const struct sonde_flop_zone *zone = &flop->zones[id];
		if (sonde_flop_is_library_id(flop, id) != by_library)
			continue;
		sum.calls += zone->calls;
		sum.total_ns += zone->total_ns;
		sum.reports += zone->reports;
		sum.short_calls += zone->short_calls;
		sum.flop += zone->flop;
		sum.bytes += zone->bytes;
	}
	return sum;
}

static void coverage_note(const struct sonde_flop *flop, struct sonde_report *report, struct sonde_section *section)
{
	uint64_t covered_ns = 0;
	for (size_t i = 0; i < flop->sample_count; i++)
		covered_ns += flop->samples[i].is_covered ? flop->samples[i].weight_ns : 0;
	if (!flop->sampled_ns) {
		sonde_report_note(
		    report, section, 1,
		    "counted zones took %.3f s of their threads; their share of CPU time is unknown without samples",
		    (double)flop->covered_ns / 1e9);
		return;
	}
	sonde_report_note(
	    report, section, 0,
	    "counted zones took %.3f s and %.1f %% of sampled CPU time (%.3f s); uncovered work is unknown, not 0",
	    (double)flop->covered_ns / 1e9, 100 * sonde_stats_share((double)covered_ns, (double)flop->sampled_ns),
	    (double)flop->sampled_ns / 1e9);
}

static void library_notes(const struct sonde_flop_zone *sum, struct sonde_report *report, struct sonde_section *section)
{
	uint64_t uncounted = sum->calls > sum->reports ? sum->calls - sum->reports : 0;
	sonde_report_note(
	    report, section, 0,
	    "library calls: FLOP follow from the sizes; bytes are modelled, each operand once (docs/WORK.md)");
	if (sum->short_calls)
		sonde_report_note(
		    report, section, 0,
		    "%llu call%s took less than 10 µs, of which recording is about 0.5 µs: rates are lower bounds",
		    (unsigned long long)sum->short_calls, sonde_plural(sum->short_calls));
	if (uncounted)
		sonde_report_note(report, section, 1,
				  "%llu library call%s failed or had nothing to compute: no FLOP are counted for %s",
				  (unsigned long long)uncounted, sonde_plural(uncounted),
				  uncounted == 1 ? "it" : "them");
}

static void notes_add(const struct sonde_flop *flop, const struct sonde_flop_zone *by_library,
		      const struct sonde_flop_zone *by_program, struct sonde_report *report,
		      struct sonde_section *section)
{
	double most = by_library->flop > by_program->flop ? by_library->flop : by_program->flop;
	if (flop->has_any)
		coverage_note(flop, report, section);
	else
		sonde_report_note(report, section, 0,
				  "no zone or library call has FLOP or bytes: use record --blas, or "
				  "SONDE_ZONE_WORK() (sonde/sonde.h)");
	sonde_flop_counted_note(&flop->counted,
				flop->options.selection.from_ns || flop->options.selection.to_ns ? 0 : most, report,
				section);
	if (by_library->calls)
		library_notes(by_library, report, section);
	if (by_program->reports)
		sonde_report_note(
		    report, section, 0, "counted by program: FLOP and bytes as reported with SONDE_ZONE_WORK%s%s",
		    by_program->bytes > 0 && by_library->bytes > 0 ? "; only library calls' bytes are modelled" : "",
		    by_library->calls ? "; library calls inside may be the same work, so they are not added" : "");
	if (flop->outside)
		sonde_report_note(report, section, 1, "%llu report%s of work came from outside every zone",
				  (unsigned long long)flop->outside, sonde_plural(flop->outside));
	sonde_works_note(&flop->works, report, section);
	if (flop->beyond) {
		sonde_report_note(report, section, 1,
				  "%llu samples beyond the first %d count as not covered: " SONDE_CHOOSE_TIME,
				  (unsigned long long)flop->beyond, SONDE_FLOP_SAMPLES_MAX);
		sonde_report_advise(report, section, SONDE_ACTION_TIME, SONDE_CHOOSE_TIME);
	}
	if (flop->unread)
		sonde_report_note(report, section, 1, "some zones could not be read: sums are lower bounds");
}

static int compare_rows(const void *left, const void *right, void *state)
{
	const struct sonde_flop_zone *zones = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (zones[a].flop < zones[b].flop || zones[a].flop > zones[b].flop)
		return zones[a].flop < zones[b].flop ? 1 : -1;
	if (zones[a].total_ns != zones[b].total_ns)
		return zones[a].total_ns < zones[b].total_ns ? 1 : -1;
	return (a > b) - (a < b);
}

/* The bytes of library calls are a model; programs report their own. */
static const struct sonde_column *columns_of(struct sonde_report *report, const struct sonde_flop_zone *by_library,
					     const struct sonde_flop_zone *by_program)
{
	static const int by_bytes[] = {BYTES, BYTES_RATE, INTENSITY};
	if (!(by_program->bytes > 0))
		return columns;
	struct sonde_column *out = sonde_report_columns(report, columns, COLUMNS);
	for (size_t i = 0; i < sizeof by_bytes / sizeof *by_bytes; i++)
		out[by_bytes[i]].basis = by_library->bytes > 0 ? SONDE_BASIS_MODELLED : SONDE_BASIS_MEASURED;
	return out;
}

int sonde_flop_section_add(const struct sonde_flop *flop, struct sonde_report *report)
{
	size_t limit = flop->options.limit ? flop->options.limit : DEFAULT_ROWS, count = 0;
	struct sonde_flop_zone by_library = sum_of(flop, 1), by_program = sum_of(flop, 0);
	uint32_t *ids = malloc(flop->sites * sizeof *ids);
	const struct sonde_column *shown = columns_of(report, &by_library, &by_program);
	struct sonde_section *section = sonde_report_table(report, SONDE_FLOP_ID, SONDE_FLOP_TITLE, shown, COLUMNS);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for FLOP");
	for (uint32_t id = 0; ids && id < flop->sites; id++)
		if (flop->zones[id].calls || flop->zones[id].reports)
			ids[count++] = id;
	if (ids)
		qsort_r(ids, count, sizeof *ids, compare_rows, flop->zones);
	if (rc == 0 && flop->counted.is_known)
		run_add(flop, report, section);
	if (rc == 0 && by_library.calls)
		sum_add(&by_library, report, section);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		rc = row_add(flop, ids[i], report, section);
	free(ids);
	if (rc < 0)
		return rc;
	section->table.omitted = count > limit ? count - limit : 0;
	notes_add(flop, &by_library, &by_program, report, section);
	return 0;
}
