/* summary.c: what was recorded, what was lost, what could not be measured and why, and what recording cost.
 *
 * The notes of the whole report begin here: one line that says it all when all is well, then a sentence for each thing
 * that is not. The section holds the same figures under stable keys, in the units that the keys name.
 */
#include "analyze/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cputime.h"
#include "analyze/heap_facts.h"
#include "analyze/stats.h"
#include "analyze/words.h"
#include "format/ring.h"
#include "util/buf.h"
#include "util/error.h"

#define TIMERS "CPU timers" /* the cpu source's method begins so: samples weigh the time since the one before */

enum { METRIC, VALUE, UNIT, COLUMNS };
enum { LINE_MAX_B = 1 << 16 };
enum { NOTABLE_PART = 50 }; /* of all time: less in extra samples is not worth a word */

static const struct sonde_column columns[COLUMNS] = {
    [METRIC] = {"metric", "metric", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [VALUE] = {"value", "value", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
};

struct facts {
	struct sonde_session *session;
	const struct sonde_run *run;
	const struct sonde_samples *samples;
	struct sonde_cpu_time cpu;
	uint64_t cost_ns, lost, zones;
	int lost_zones; /* some of `lost` are events of zones */
	int cost_known;
};

static uint64_t zones_count(struct sonde_session *session)
{
	size_t sites = sonde_session_site_count(session);
	struct sonde_zone_stat *stats = sites ? calloc(sites + 1, sizeof *stats) : NULL;
	uint64_t count = 0;
	if (stats && sonde_session_zone_stats(session, stats) != -ENOMEM) /* without chunks that cannot be read */
		for (size_t i = 0; i <= sites; i++)
			count += stats[i].count;
	free(stats);
	return count;
}

static struct facts facts_of(const struct sonde_samples *samples)
{
	struct sonde_session *session = samples->session;
	struct facts facts = {.session = session, .run = sonde_session_run(session), .samples = samples};
	facts.cpu = sonde_cpu_time_of(session, sonde_pass_selects(&samples->options) ? 0 : samples->all.ns);
	facts.zones = zones_count(session);
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		facts.lost += lost->count;
		facts.lost_zones |= lost->count && strcmp(lost->source, "zones") == 0;
	}
	for (size_t i = 0; i < sonde_session_cost_count(session); i++) {
		const struct sonde_cost *cost = sonde_session_cost(session, i);
		if (strcmp(cost->what, "recorder.user_ns") && strcmp(cost->what, "recorder.system_ns"))
			continue;
		facts.cost_ns += cost->value;
		facts.cost_known = 1;
	}
	return facts;
}

/* The recorder's CPU time as a share of the run's, or of its wall time where the CPU time cannot be known (attached).
 * What is left of a recording that was cut off may be far less than what the recorder's time was spent on. */
static double cost_share(const struct facts *facts)
{
	uint64_t whole = facts->cpu.known ? facts->cpu.ns : facts->run->wall_ns;
	return sonde_stats_share((double)facts->cost_ns, (double)whole);
}

static int is_cost_known(const struct facts *facts)
{
	return facts->cost_known && (facts->cpu.known ? facts->cpu.ns > 0 : facts->run->closed);
}

static const struct sonde_source_row *source_named(const struct sonde_session *session, const char *name)
{
	for (size_t i = 0; i < sonde_session_source_count(session); i++)
		if (strcmp(sonde_session_source(session, i)->name, name) == 0)
			return sonde_session_source(session, i);
	return NULL;
}

/* --- the line --------------------------------------------------------------------------------------------------- */

static void line_time(struct sonde_buf *line, const struct facts *facts)
{
	const struct sonde_run *run = facts->run;
	sonde_buf_printf(line, "%.2f s wall", (double)run->wall_ns / 1e9);
	if (facts->cpu.at_least)
		sonde_buf_printf(line, " · ≥ %.2f s CPU", (double)facts->cpu.ns / 1e9);
	else if (facts->cpu.known)
		sonde_buf_printf(line, " · %.2f s CPU (%.2f user + %.2f system)", (double)facts->cpu.ns / 1e9,
				 (double)facts->cpu.user_ns / 1e9, (double)facts->cpu.system_ns / 1e9);
	else if (!run->closed)
		sonde_buf_text(line, " · CPU time not known");
	size_t processes = sonde_session_process_count(facts->session);
	size_t threads = sonde_session_thread_count(facts->session);
	if (processes > 1)
		sonde_buf_printf(line, " · %zu processes", processes);
	if (threads > 1)
		sonde_buf_printf(line, " · %zu threads", threads);
}

static void line_method(struct sonde_buf *line, const struct sonde_source_row *cpu)
{
	if (!cpu || (cpu->state != SONDE_SOURCE_ON && cpu->state != SONDE_SOURCE_LIMITED))
		return;
	sonde_buf_printf(line, " · %s", *cpu->method ? cpu->method : cpu->name);
	if (cpu->effective_hz > 0)
		sonde_buf_printf(line, ", %.0f/s", cpu->effective_hz);
	else if (cpu->rate_hz > 0)
		sonde_buf_printf(line, ", %.0f/s asked for", cpu->rate_hz);
	if (cpu->state == SONDE_SOURCE_LIMITED && *cpu->detail)
		sonde_buf_printf(line, " (%s)", cpu->detail);
}

static const char *cost_whole(const struct facts *facts)
{
	return facts->cpu.known ? "the run's CPU time" : "wall time";
}

static void line_samples(struct sonde_buf *line, const struct facts *facts)
{
	const struct sonde_samples *samples = facts->samples;
	if (sonde_weight_is_any(samples->all)) {
		uint64_t stacks = sonde_samples_stacks(samples), whole = stacks - sonde_samples_broken(samples);
		sonde_buf_printf(line, " · %llu sample%s", (unsigned long long)samples->all.count,
				 sonde_plural(samples->all.count));
		if (samples->extra.ns > samples->all.ns / NOTABLE_PART)
			sonde_buf_printf(line, " and %llu extra", (unsigned long long)samples->extra.count);
		if (stacks)
			sonde_buf_printf(line, ", %.1f %% to the root",
					 100 * sonde_stats_share((double)whole, (double)stacks));
	} else {
		sonde_buf_printf(line, " · %s", sonde_samples_why_none(facts->session, &samples->options));
	}
	if (facts->zones)
		sonde_buf_printf(line, " · %llu zone%s", (unsigned long long)facts->zones, sonde_plural(facts->zones));
	if (facts->lost_zones)
		sonde_buf_printf(line, ", %llu event%s lost (a zone is two)", (unsigned long long)facts->lost,
				 sonde_plural(facts->lost));
	else
		sonde_buf_printf(line, ", %llu lost", (unsigned long long)facts->lost);
	if (is_cost_known(facts))
		sonde_buf_printf(line, " · recorder cost %s%.1f %% of %s", facts->cpu.at_least ? "≤ " : "",
				 100 * cost_share(facts), cost_whole(facts));
}

static int note_line(const struct facts *facts, struct sonde_report *report)
{
	struct sonde_buf line;
	sonde_buf_init(&line, LINE_MAX_B);
	line_time(&line, facts);
	line_method(&line, source_named(facts->session, "cpu"));
	line_samples(&line, facts);
	int rc = sonde_buf_error(&line);
	if (rc == 0)
		rc = sonde_report_note(report, NULL, 0, "%.*s", (int)line.len_b, (const char *)line.data);
	sonde_buf_fini(&line);
	return rc;
}

/* --- what is not well ------------------------------------------------------------------------------------------- */

static int note_cpu_time(const struct facts *facts, struct sonde_report *report)
{
	if (!facts->cpu.at_least)
		return 0;
	return sonde_report_note(report, NULL, 1,
				 "CPU time is a lower bound, from the clocks of threads: the kernel's figure for the "
				 "command (%.2f s) leaves out processes that were not waited for",
				 (double)(facts->cpu.user_ns + facts->cpu.system_ns) / 1e9);
}

static int note_file(const struct facts *facts, struct sonde_report *report)
{
	const struct sonde_run *run = facts->run;
	int rc = 0;
	if (!run->closed)
		rc = sonde_report_note(report, NULL, 1,
				       "the recording was not closed in order: its events end at %.3f s",
				       (double)(run->last_event_ns - run->start_ns) / 1e9);
	uint64_t damaged_b = sonde_session_damaged_b(facts->session); /* with what this report met */
	if (rc == 0 && damaged_b && run->damaged_b)
		rc = sonde_report_note(report, NULL, 1, "%llu of %llu bytes could not be read, first at byte %llu",
				       (unsigned long long)damaged_b, (unsigned long long)run->file_b,
				       (unsigned long long)run->damaged_at);
	else if (rc == 0 && damaged_b)
		rc = sonde_report_note(report, NULL, 1, "%llu of %llu bytes could not be read",
				       (unsigned long long)damaged_b, (unsigned long long)run->file_b);
	return rc;
}

static int note_selected(const struct facts *facts, struct sonde_report *report)
{
	const struct sonde_pass_options *options = &facts->samples->options;
	const struct sonde_run *run = facts->run;
	if (!sonde_pass_selects(options))
		return 0;
	uint64_t from_ns = options->from_ns > run->start_ns ? options->from_ns : run->start_ns;
	uint64_t to_ns = options->to_ns ? options->to_ns : run->end_ns;
	char time[96] = "";
	if (options->from_ns || options->to_ns)
		snprintf(time, sizeof time, "%.3f s to %.3f s of the recording",
			 (double)(from_ns - run->start_ns) / 1e9,
			 (double)(to_ns > run->start_ns ? to_ns - run->start_ns : 0) / 1e9);
	return sonde_report_note(report, NULL, 0,
				 "selected: %s%s%s; wall and CPU time, processes, threads, zones, lost and cost above "
				 "are of the whole recording",
				 time, *time && options->thread ? ", " : "", options->thread ? options->thread_is : "");
}

/* Events count the time between a thread's getting a CPU and losing it, whoever had that CPU in truth. */
static int note_stolen(const struct facts *facts, struct sonde_report *report)
{
	uint64_t sampled_ns = facts->samples->all.ns, stolen_ns = facts->cpu.stolen_ns;
	if (!facts->cpu.known || facts->cpu.at_least || sonde_pass_selects(&facts->samples->options) ||
	    stolen_ns <= facts->cpu.ns / NOTABLE_PART || sampled_ns <= facts->cpu.ns + facts->cpu.ns / NOTABLE_PART)
		return 0;
	return sonde_report_note(
	    report, NULL, 1,
	    "a hypervisor took %.2f s from the machine's CPUs meanwhile (steal): sampled time, %.2f s, "
	    "has what of that fell on the program, CPU time has not",
	    (double)stolen_ns / 1e9, (double)sampled_ns / 1e9);
}

/* A flight recorder drops events on purpose: figures cover what it still held when it was saved. */
static int note_kept(const struct facts *facts, struct sonde_report *report)
{
	const char *keep = sonde_session_info(facts->session, "option.keep_ns");
	if (!keep)
		return 0;
	return sonde_report_note(
	    report, NULL, 0,
	    "flight recorder: it holds the last %.3g s before each save, and so do all figures but "
	    "wall and CPU time",
	    strtod(keep, NULL) / 1e9);
}

/* What a source counts where that is not what it is called: rings hold begins and ends, and any other event. */
static const char *lost_what(const struct sonde_lost *lost)
{
	if (strcmp(lost->source, "zones") != 0)
		return "lost";
	if (strcmp(lost->cause, sonde_ring_lost_text(SONDE_RING_LOST_SITES)) == 0)
		return "sites not told apart";
	if (strcmp(lost->cause, sonde_ring_lost_text(SONDE_RING_LOST_HISTS)) == 0)
		return "values lost";
	return "events lost (a zone is two)";
}

/* "cpu: 12 lost: ring full" for each source and cause, over all processes and threads. */
static int note_lost(const struct facts *facts, struct sonde_report *report)
{
	const struct sonde_session *session = facts->session;
	size_t count = sonde_session_lost_count(session);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		uint64_t sum = 0;
		int again = 0;
		for (size_t k = 0; k < count; k++) {
			const struct sonde_lost *other = sonde_session_lost(session, k);
			if (strcmp(lost->source, other->source) || strcmp(lost->cause, other->cause))
				continue;
			again |= k < i;
			sum += other->count;
		}
		int rc = again || !sum ? 0
				       : sonde_report_note(report, NULL, 1, "%s: %llu %s: %s", lost->source,
							   (unsigned long long)sum, lost_what(lost), lost->cause);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int note_unmatched(const struct facts *facts, struct sonde_report *report)
{
	uint64_t unmatched = sonde_session_zones_unmatched(facts->session);
	if (!unmatched)
		return 0;
	return sonde_report_note(report, NULL, 1, "%llu zone end%s without a begin %s left out",
				 (unsigned long long)unmatched, sonde_plural(unmatched),
				 sonde_word(unmatched, "is", "are"));
}

/* Short-lived threads: their time is measured, where it went is known of others only. */
static int note_borrowed(const struct facts *facts, struct sonde_report *report)
{
	const struct sonde_samples *samples = facts->samples;
	uint64_t count = samples->borrowed.count;
	if (!count)
		return 0;
	return sonde_report_note(
	    report, NULL, 0,
	    "%llu stack%s (%.1f %% of the time) %s of another thread of the same program: the own one ended before it "
	    "could be sampled",
	    (unsigned long long)count, sonde_plural(count),
	    100 * sonde_stats_share((double)samples->borrowed.ns, (double)samples->all.ns),
	    sonde_word(count, "is", "are"));
}

static int note_broken(const struct facts *facts, struct sonde_report *report)
{
	const struct sonde_samples *samples = facts->samples;
	for (unsigned i = 0; i < SONDE_STACK_STATUS_COUNT; i++) {
		if (i == SONDE_STACK_COMPLETE || i == SONDE_STACK_FRAME_POINTER || !samples->by_status[i])
			continue;
		int rc = sonde_report_note(
		    report, NULL, 1, "%llu stack%s (%.1f %%) %s before the root: %s",
		    (unsigned long long)samples->by_status[i], sonde_plural(samples->by_status[i]),
		    100 * sonde_stats_share((double)samples->by_status[i], (double)sonde_samples_stacks(samples)),
		    sonde_word(samples->by_status[i], "stops", "stop"), sonde_samples_status_text(i));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int note_sources(const struct facts *facts, struct sonde_report *report)
{
	for (size_t i = 0; i < sonde_session_source_count(facts->session); i++) {
		const struct sonde_source_row *row = sonde_session_source(facts->session, i);
		int rc = 0;
		if (row->state == SONDE_SOURCE_UNAVAILABLE)
			rc = sonde_report_note(report, NULL, 1, "%s: not recorded: %s", row->name, row->detail);
		else if (row->state == SONDE_SOURCE_LIMITED && *row->detail && strcmp(row->name, "cpu"))
			rc = sonde_report_note(report, NULL, 1, "%s: limited: %s", row->name, row->detail);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int note_rate(const struct facts *facts, struct sonde_report *report)
{
	const struct sonde_source_row *cpu = source_named(facts->session, "cpu");
	if (!cpu || cpu->effective_hz <= 0 || cpu->rate_hz <= 0 || cpu->effective_hz > 0.8 * cpu->rate_hz)
		return 0;
	if (strncmp(cpu->method, TIMERS, sizeof TIMERS - 1) == 0)
		return sonde_report_note(report, NULL, 0,
					 "%.0f samples/s were asked for, %.0f/s of CPU time came: each sample is "
					 "weighted by the CPU time since the one before",
					 cpu->rate_hz, cpu->effective_hz);
	return sonde_report_note(report, NULL, 1,
				 "%.0f samples/s were asked for, %.0f/s of CPU time were kept: the others were lost on "
				 "their way, and where most were lost the shares say least",
				 cpu->rate_hz, cpu->effective_hz);
}

/* --- the figures ------------------------------------------------------------------------------------------------ */

static int row_add(struct sonde_report *report, struct sonde_section *section, const char *metric,
		   struct sonde_cell value, const char *unit)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a row");
	row[METRIC] = sonde_cell_text(metric);
	row[VALUE] = value;
	row[UNIT] = sonde_cell_text(unit);
	return 0;
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

static int heap_fill(const struct facts *facts, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_heap_facts heap;
	sonde_heap_facts_read(&heap, facts->session);
	const char *why = heap.why_not;
	const char *bytes = heap.mean_b ? "B, estimated" : "B";
	uint64_t start_ns = facts->run->start_ns;
	const struct {
		const char *metric;
		struct sonde_cell value;
		const char *unit;
	} rows[] = {
	    {"memory.heap_peak_b", count_or(why, heap.peak_b),
	     heap.processes < 2 ? bytes
	     : heap.mean_b      ? "B, of the process with most, estimated"
				: "B, of the process with most"},
	    {"memory.heap_peak_at_s", seconds(why, heap.peak_ns > start_ns ? heap.peak_ns - start_ns : 0), "s"},
	    {"memory.heap_allocations", count_or(why, heap.begins), heap.mean_b ? "estimated" : ""},
	    {"memory.heap_allocated_b", count_or(why, heap.begun_b), bytes},
	    {"memory.heap_left_b", count_or(why, heap.left_b), bytes},
	    {"memory.heap_largest_b", count_or(why, heap.largest_b), heap.mean_b ? "B, of the sampled" : "B"},
	};
	int rc = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && rc == 0; i++)
		rc = row_add(report, section, rows[i].metric, rows[i].value, rows[i].unit);
	return rc;
}

static struct sonde_cell percent(const char *why_not, double share)
{
	return why_not ? sonde_cell_absent(why_not) : sonde_cell_real(100 * share, 0);
}

static const char *why_no_cpu_time(const struct facts *facts)
{
	if (facts->cpu.known)
		return NULL;
	return facts->run->closed ? "not measured" : "not known: the recording was not closed in order";
}

static const char *why_no_split(const struct facts *facts)
{
	return facts->cpu.at_least ? "not known: not every process was waited for" : why_no_cpu_time(facts);
}

static int section_fill(const struct facts *facts, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_run *run = facts->run;
	const struct sonde_samples *samples = facts->samples;
	uint64_t peak_b = peak_rss_b(facts->session), count = samples->all.count;
	uint64_t stacks = sonde_samples_stacks(samples);
	double whole = sonde_stats_share((double)(stacks - sonde_samples_broken(samples)), (double)stacks);
	double busy = sonde_stats_share((double)facts->cpu.ns, (double)run->wall_ns);
	const char *no_cpu = why_no_cpu_time(facts), *no_split = why_no_split(facts);
	const char *no_cost = facts->cost_known ? NULL : "not measured";
	const char *none =
	    sonde_weight_is_any(samples->all) ? NULL : sonde_samples_why_none(facts->session, &samples->options);
	const char *unsampled = sonde_samples_source(facts->session) || count
				    ? NULL
				    : sonde_samples_why_none(facts->session, &samples->options);
	int least = facts->cpu.at_least;
	const struct {
		const char *metric;
		struct sonde_cell value;
		const char *unit;
	} rows[] = {
	    {"timing.wall_time_s", seconds(NULL, run->wall_ns), "s"},
	    {"timing.cpu_time_s", seconds(no_cpu, facts->cpu.ns), least ? "s, at least" : "s"},
	    {"timing.user_time_s", seconds(no_split, facts->cpu.user_ns), "s"},
	    {"timing.system_time_s", seconds(no_split, facts->cpu.system_ns), "s"},
	    {"timing.stolen_time_s", seconds(facts->cpu.stolen_known ? NULL : "not measured", facts->cpu.stolen_ns),
	     "s of all CPUs, by a hypervisor"},
	    {"compute.cpu_utilization_percent", percent(run->wall_ns ? no_cpu : "no wall time", busy),
	     least ? "% of one CPU, at least" : "% of one CPU"},
	    {"memory.peak_process_rss_b", peak_b ? sonde_cell_int(peak_b) : sonde_cell_absent("not measured"), "B"},
	    {NULL, {0}, NULL},
	    {"run.processes", sonde_cell_int(sonde_session_process_count(facts->session)), ""},
	    {"run.threads", sonde_cell_int(sonde_session_thread_count(facts->session)), ""},
	    {"samples.count", unsampled ? sonde_cell_absent(unsampled) : sonde_cell_int(count), ""},
	    {"samples.extra", unsampled ? sonde_cell_absent(unsampled) : sonde_cell_int(samples->extra.count), ""},
	    {"samples.cpu_time_s", seconds(none, samples->all.ns), "s"},
	    {"samples.not_sampled_s", seconds(none, samples->self[0].ns), "s of samples.cpu_time_s"},
	    {"samples.kernel_measured_s", seconds(none, samples->measured.ns), "s of samples.cpu_time_s"},
	    {"samples.complete_percent", percent(none || stacks ? none : "no samples", whole), "%"},
	    {"zones.count", sonde_cell_int(facts->zones), ""},
	    {"lost.count", sonde_cell_int(facts->lost), ""},
	    {"cost.recorder_cpu_time_s", seconds(no_cost, facts->cost_ns), "s"},
	    {"cost.recorder_percent",
	     percent(is_cost_known(facts) ? NULL
		     : no_cost            ? no_cost
					  : no_cpu,
		     cost_share(facts)),
	     least              ? "% of the run's CPU time, at most"
	     : facts->cpu.known ? "% of the run's CPU time"
				: "% of wall time"},
	    {"file.size_b", sonde_cell_int(run->file_b), "B"},
	};
	int rc = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && rc == 0; i++)
		rc = rows[i].metric ? row_add(report, section, rows[i].metric, rows[i].value, rows[i].unit)
				    : heap_fill(facts, report, section);
	return rc;
}

static void titles_set(const struct facts *facts, struct sonde_report *report)
{
	const char *command = sonde_session_info(facts->session, "run.command");
	const struct sonde_process *process = sonde_session_process(facts->session, facts->run->root_process);
	if (!command && process)
		command = *process->command ? process->command : process->name;
	report->title = command ? command : "";
	report->path = sonde_session_path(facts->session);
}

static int notes_add(const struct facts *facts, struct sonde_report *report)
{
	static int (*const notes[])(const struct facts *, struct sonde_report *) = {
	    note_line, note_cpu_time, note_stolen,    note_rate,   note_selected, note_kept,
	    note_file, note_lost,     note_unmatched, note_broken, note_borrowed, note_sources,
	};
	int rc = 0;
	titles_set(facts, report);
	for (size_t i = 0; i < sizeof notes / sizeof *notes && rc == 0; i++)
		rc = notes[i](facts, report);
	return rc;
}

static int heading_finish(void *state, struct sonde_report *report)
{
	const struct facts facts = facts_of(state);
	return notes_add(&facts, report);
}

static int summary_finish(void *state, struct sonde_report *report)
{
	const struct facts facts = facts_of(state);
	struct sonde_section *section = sonde_report_table(report, "summary", "Summary", columns, COLUMNS);
	int rc = section ? notes_add(&facts, report) : sonde_error(ENOMEM, "out of memory for the summary");
	return rc < 0 ? rc : section_fill(&facts, report, section);
}

const struct sonde_pass sonde_pass_summary = {
    .name = "summary",
    .title = "what was recorded, lost, not measured, and what it cost",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = summary_finish,
    .end = sonde_samples_end,
};

/* The notes without the section: what a report without a summary begins with. Not in the registry. */
const struct sonde_pass sonde_pass_heading = {
    .name = "heading",
    .title = "what was recorded, lost, not measured, and what it cost, in the report's notes",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = heading_finish,
    .end = sonde_samples_end,
};
