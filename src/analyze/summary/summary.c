/* summary.c: what was recorded, what was lost, what could not be measured and why, and the overhead.
 *
 * The section has the same facts as the notes (summary/notes.c), under stable keys, in the units that the keys name.
 */
#include <math.h>

#include "analyze/columns.h"
#include "analyze/work/flop_reports.h"
#include "analyze/heap/facts.h"
#include "analyze/marks.h"
#include "analyze/statistics/stats.h"
#include "analyze/summary/facts.h"

enum { METRIC, VALUE, UNIT, BASIS, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [METRIC] = {SONDE_COLUMN_KEY(summary, metric), "metric", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [VALUE] = {SONDE_COLUMN_KEY(summary, value), "value", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [BASIS] = {"basis", "basis", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1}, /* basis of this row's value */
};

/* --- the figures ------------------------------------------------------------------------------------------------ */

struct figure {
	const char *metric;
	struct sonde_cell value;
	const char *unit;
	const char *basis; /* NULL = measured */
};

static void row_add(struct sonde_report *report, struct sonde_section *section, const struct figure *figure)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[METRIC] = sonde_cell_text(figure->metric);
	row[VALUE] = figure->value;
	row[UNIT] = sonde_cell_text(figure->unit);
	row[BASIS] = figure->value.kind == SONDE_CELL_ABSENT
			 ? sonde_cell_absent("no value")
			 : sonde_cell_text(figure->basis ? figure->basis : "measured");
}

static struct sonde_cell seconds(const char *why_not, uint64_t ns)
{
	return why_not ? sonde_cell_absent(why_not) : sonde_cell_real((double)ns / 1e9, 0);
}

static uint64_t peak_rss_b(const struct sonde_session *session)
{
	uint64_t peak = 0;
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++) {
		const struct sonde_process *process = sonde_session_process(session, id);
		if (process && process->peak_rss_b > peak)
			peak = process->peak_rss_b;
	}
	return peak;
}

static struct sonde_cell count_or(const char *why_not, uint64_t value)
{
	return why_not ? sonde_cell_absent(why_not) : sonde_cell_int(value);
}

/* Estimates from samples get their 95 % interval. */
static struct sonde_cell bytes_or(const struct sonde_heap_facts *heap, uint64_t size_b, double variance)
{
	if (heap->why_not || !heap->mean_b)
		return count_or(heap->why_not, size_b);
	return sonde_cell_real((double)size_b, variance > 1 ? 1.96 * sqrt(variance) : 0);
}

static void heap_fill(const struct sonde_summary_facts *facts, struct sonde_report *report,
		      struct sonde_section *section)
{
	struct sonde_heap_facts heap;
	sonde_heap_facts_read(&heap, facts->session);
	const char *why = heap.why_not;
	const char *bytes = heap.mean_b ? "B, estimated" : "B", *basis = heap.mean_b ? "estimated" : NULL;
	uint64_t start_ns = facts->run->start_ns;
	const struct figure rows[] = {
	    {"memory.heap_peak_b", bytes_or(&heap, heap.peak_b, heap.peak_variance),
	     heap.processes < 2 ? bytes
	     : heap.mean_b      ? "B, of the process with the highest peak, estimated"
				: "B, of the process with the highest peak",
	     basis},
	    {"memory.heap_peak_at_s", seconds(why, heap.peak_ns > start_ns ? heap.peak_ns - start_ns : 0), "s", basis},
	    {"memory.heap_allocations", count_or(why, heap.begins), heap.mean_b ? "estimated" : "", basis},
	    {"memory.heap_allocated_b", bytes_or(&heap, heap.begun_b, heap.begun_variance), bytes, basis},
	    {"memory.heap_left_b", bytes_or(&heap, heap.left_b, heap.left_variance), bytes, basis},
	    {"memory.heap_largest_b", count_or(why, heap.largest_b), heap.mean_b ? "B, among sampled blocks" : "B",
	     NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		row_add(report, section, &rows[i]);
}

/* Adds the work of library calls, or that reported by the program, whichever is larger: the program's may include that
 * of its library calls. */
static int flop_fill(const struct sonde_summary_facts *facts, struct sonde_report *report,
		     struct sonde_section *section)
{
	struct sonde_flop_reports reports;
	const char *why = NULL;
	int rc = sonde_flop_reports_read(&reports, facts->session, 0);
	struct sonde_flop_sums library = sonde_flop_sums_of(&reports, 1), program = sonde_flop_sums_of(&reports, 0);
	sonde_flop_reports_fini(&reports);
	double flop = library.flop > program.flop ? library.flop : program.flop;
	if (rc)
		return rc;
	if (sonde_session_info(facts->session, "option.keep_ns"))
		why = "unknown: a flight recorder keeps only the last events";
	else if (!(flop > 0))
		why = "not counted: sonde record --blas, or SONDE_ZONE_WORK()";
	row_add(report, section,
		&(struct figure){"compute.estimated_flops", why ? sonde_cell_absent(why) : sonde_cell_real(flop, 0),
				 "FLOP counted, a lower bound (--section flop)", NULL});
	if (!why && !facts->run->wall_ns)
		why = "no wall time";
	row_add(report, section,
		&(struct figure){"compute.flops_per_second",
				 why ? sonde_cell_absent(why)
				     : sonde_cell_real(flop / ((double)facts->run->wall_ns / 1e9), 0),
				 "FLOP/s of wall time, at least", NULL});
	return 0;
}

static struct sonde_cell percent(const char *why_not, double share)
{
	return why_not ? sonde_cell_absent(why_not) : sonde_cell_real(100 * share, 0);
}

static const char *why_no_cpu_time(const struct sonde_summary_facts *facts)
{
	if (facts->cpu.known)
		return NULL;
	if (facts->run->closed && sonde_session_info(facts->session, "run.attached_pid"))
		return "unknown: not every process of the tree was read";
	return facts->run->closed ? "not measured" : "unknown: the recording is incomplete";
}

static const char *why_no_split(const struct sonde_summary_facts *facts)
{
	return facts->cpu.at_least ? "unknown: not every process was waited for" : why_no_cpu_time(facts);
}

static const char *why_no_stolen(const struct sonde_summary_facts *facts)
{
	if (facts->cpu.stolen_known)
		return NULL;
	return facts->cost_known ? "unknown: /proc/stat could not be read at start and end" : "not measured";
}

static struct sonde_cell lost_cell(const struct sonde_summary_facts *facts)
{
	const char *unknown = sonde_summary_lost_unknown(facts);
	return facts->lost || !unknown ? sonde_cell_int(facts->lost) : sonde_cell_absent(unknown);
}

/* The number of zones. It is 0 only if zones were recorded and nothing is unreadable; otherwise the cell is absent. */
static struct sonde_cell zones_cell(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const char *missing = facts->zones ? NULL : sonde_pass_missing(facts->session, SONDE_NEEDS(API), report);
	if (missing)
		return sonde_cell_absent(missing);
	return facts->zones || !sonde_session_damaged_b(facts->session)
		   ? sonde_cell_int(facts->zones)
		   : sonde_cell_absent("unknown: part of the recording cannot be read");
}

static int section_fill(const struct sonde_summary_facts *facts, struct sonde_report *report,
			struct sonde_section *section)
{
	const struct sonde_run *run = facts->run;
	const struct sonde_samples *samples = facts->samples;
	uint64_t peak_b = peak_rss_b(facts->session), count = samples->all.count;
	uint64_t stacks = sonde_samples_stacks(samples);
	double whole = sonde_stats_share((double)(stacks - sonde_samples_broken(samples)), (double)stacks);
	double busy = sonde_stats_share((double)facts->cpu.ns, (double)run->wall_ns);
	const char *no_cpu = why_no_cpu_time(facts), *no_split = why_no_split(facts);
	const char *no_cost = facts->cost_known ? NULL : "not measured";
	const char *missing = count ? NULL : sonde_pass_missing(facts->session, SONDE_NEEDS(CPU), report);
	if (!count && !missing &&
	    !sonde_samples_source(facts->session)) /* the source ran, but could sample no program */
		missing = sonde_samples_why_none(facts->session, &samples->options);
	const char *none = sonde_weight_is_any(samples->all) ? NULL
			   : missing                         ? missing
				     : sonde_samples_why_none(facts->session, &samples->options);
	int least = facts->cpu.at_least;
	const struct figure rows[] = {
	    {SONDE_SUMMARY_KEY(timing, wall_time_s), seconds(sonde_pass_untimed(facts->session), run->wall_ns), "s",
	     NULL},
	    {SONDE_SUMMARY_KEY(timing, cpu_time_s), seconds(no_cpu, facts->cpu.ns), least ? "s, at least" : "s", NULL},
	    {"timing.user_time_s", seconds(no_split, facts->cpu.user_ns), "s", NULL},
	    {SONDE_SUMMARY_KEY(timing, system_time_s), seconds(no_split, facts->cpu.system_ns), "s", NULL},
	    {SONDE_SUMMARY_KEY(timing, stolen_time_s), seconds(why_no_stolen(facts), facts->cpu.stolen_ns),
	     "s of all CPUs, by the hypervisor", NULL},
	    {"compute.cpu_utilization_percent", percent(run->wall_ns ? no_cpu : "no wall time", busy),
	     least ? "% of one CPU, at least" : "% of one CPU", NULL},
	    {SONDE_SUMMARY_KEY(memory, peak_process_rss_b),
	     peak_b ? sonde_cell_int(peak_b) : sonde_cell_absent("not measured"), "B", NULL},
	    {NULL, {0}, NULL, NULL}, /* the heap rows go here */
	    {"run.processes", sonde_cell_int(sonde_session_process_count(facts->session)), "", NULL},
	    {SONDE_SUMMARY_KEY(run, threads), sonde_cell_int(sonde_session_thread_count(facts->session)), "", NULL},
	    {"samples.count", count_or(missing, count), "", NULL},
	    {"samples.extra", count_or(missing, samples->extra.count), "", NULL},
	    {SONDE_SUMMARY_KEY(samples, cpu_time_s), seconds(none, samples->all.ns), "s", NULL},
	    {SONDE_SUMMARY_KEY(samples, not_sampled_s), seconds(none, samples->self[0].ns), "s of samples.cpu_time_s",
	     NULL},
	    {"samples.kernel_measured_s", seconds(none, samples->measured.ns), "s of samples.cpu_time_s", NULL},
	    {"samples.complete_percent", percent(none || stacks ? none : "no samples", whole), "%", NULL},
	    {"zones.count", zones_cell(facts, report), "", NULL},
	    {"lost.count", lost_cell(facts), facts->lost && sonde_summary_lost_unknown(facts) ? "at least" : "", NULL},
	    {SONDE_SUMMARY_KEY(cost, recorder_cpu_time_s), seconds(no_cost, facts->cost_ns), "s", NULL},
	    {"cost.recorder_percent",
	     percent(sonde_summary_is_cost_known(facts) ? NULL
		     : no_cost                          ? no_cost
							: no_cpu,
		     sonde_summary_cost_share(facts)),
	     least              ? "% of the run's CPU time, at most"
	     : facts->cpu.known ? "% of the run's CPU time"
				: "% of wall time",
	     NULL},
	    {"file.size_b", sonde_cell_int(run->file_b), "B", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].metric)
			row_add(report, section, &rows[i]);
		else
			heap_fill(facts, report, section);
	}
	return flop_fill(facts, report, section);
}

static int heading_finish(void *state, struct sonde_report *report)
{
	const struct sonde_summary_facts facts = sonde_summary_facts_of(state);
	sonde_summary_notes(&facts, report);
	return 0;
}

static int summary_finish(void *state, struct sonde_report *report)
{
	const struct sonde_summary_facts facts = sonde_summary_facts_of(state);
	struct sonde_section *section = sonde_report_table(report, "summary", "Summary", columns, COLUMNS);
	sonde_summary_notes(&facts, report);
	return section_fill(&facts, report, section);
}

const struct sonde_pass sonde_pass_summary = {
    .name = "summary",
    .title = "what was recorded, lost and not measured, and the overhead",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = summary_finish,
    .end = sonde_samples_end,
};

/* Adds only the notes, without the section, to reports without a summary. It is not in the registry (passes.def). */
const struct sonde_pass sonde_pass_heading = {
    .name = "heading",
    .title = "what was recorded, lost and not measured, as notes",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = heading_finish,
    .end = sonde_samples_end,
};
