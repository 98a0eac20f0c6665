/* notes.c: the notes with which every report begins: one line that suffices if all is well, then a note for each
 * problem (summary/facts.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics/stats.h"
#include "analyze/summary/facts.h"
#include "analyze/words.h"
#include "format/ring.h"
#include "util/buf.h"

#define TIMERS "CPU timers" /* prefix of the cpu source's method: a sample's weight is the time since the last one */

enum { LINE_MAX_B = 1 << 16 };
enum { NOTABLE_PART = 50 }; /* fraction 1/N of all time below which extra samples are not mentioned */

/* --- the line --------------------------------------------------------------------------------------------------- */

static void line_time(struct sonde_buf *line, const struct sonde_summary_facts *facts)
{
	const struct sonde_run *run = facts->run;
	if (sonde_session_info(facts->session, "import.untimed"))
		sonde_buf_text(line, "wall time unknown");
	else
		sonde_buf_printf(line, "%.2f s wall", (double)run->wall_ns / 1e9);
	if (facts->cpu.at_least)
		sonde_buf_printf(line, " · ≥ %.2f s CPU", (double)facts->cpu.ns / 1e9);
	else if (facts->cpu.known)
		sonde_buf_printf(line, " · %.2f s CPU (%.2f user + %.2f system)", (double)facts->cpu.ns / 1e9,
				 (double)facts->cpu.user_ns / 1e9, (double)facts->cpu.system_ns / 1e9);
	else if (!run->closed)
		sonde_buf_text(line, " · CPU time unknown");
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
		sonde_buf_printf(line, ", %.0f samples/s", cpu->effective_hz);
	else if (cpu->rate_hz > 0)
		sonde_buf_printf(line, ", %.0f samples/s requested", cpu->rate_hz);
	if (cpu->state == SONDE_SOURCE_LIMITED && *cpu->detail)
		sonde_buf_printf(line, " (%s)", cpu->detail);
}

static const char *cost_whole(const struct sonde_summary_facts *facts)
{
	return facts->cpu.known ? "the run's CPU time" : "wall time";
}

static void line_samples(struct sonde_buf *line, const struct sonde_summary_facts *facts)
{
	const struct sonde_samples *samples = facts->samples;
	if (sonde_weight_is_any(samples->all)) {
		uint64_t stacks = sonde_samples_stacks(samples), whole = stacks - sonde_samples_broken(samples);
		sonde_buf_printf(line, " · %llu sample%s", (unsigned long long)samples->all.count,
				 sonde_plural(samples->all.count));
		if (samples->extra.ns > samples->all.ns / NOTABLE_PART)
			sonde_buf_printf(line, " and %llu extra", (unsigned long long)samples->extra.count);
		if (stacks)
			sonde_buf_printf(line, ", %.1f %% complete stacks",
					 100 * sonde_stats_share((double)whole, (double)stacks));
	} else {
		sonde_buf_printf(line, " · %s", sonde_samples_why_none(facts->session, &samples->options));
	}
	if (facts->zones)
		sonde_buf_printf(line, " · %llu zone%s", (unsigned long long)facts->zones, sonde_plural(facts->zones));
	int is_part = sonde_summary_lost_unknown(facts) != NULL;
	const char *least = is_part ? "≥ " : "";
	if (facts->lost_zones)
		sonde_buf_printf(line, ", %s%llu event%s lost (a zone is two)", least, (unsigned long long)facts->lost,
				 sonde_plural(facts->lost));
	else if (facts->lost || !is_part)
		sonde_buf_printf(line, ", %s%llu lost", least, (unsigned long long)facts->lost);
	else
		sonde_buf_text(line, ", unknown losses");
	if (sonde_summary_is_cost_known(facts))
		sonde_buf_printf(line, " · overhead %s%.1f %% of %s", facts->cpu.at_least ? "≤ " : "",
				 100 * sonde_summary_cost_share(facts), cost_whole(facts));
}

static void note_line(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	struct sonde_buf line;
	sonde_buf_init(&line, LINE_MAX_B);
	line_time(&line, facts);
	line_method(&line, sonde_session_source_named(facts->session, "cpu"));
	line_samples(&line, facts);
	sonde_report_note_of(report, 0, &line);
}

/* --- problems --------------------------------------------------------------------------------------------------- */

static void note_cpu_time(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	if (!facts->cpu.at_least)
		return;
	sonde_report_note(report, NULL, 1,
			  "CPU time is a lower bound: some processes were not waited for (the kernel reports %.2f s)",
			  (double)(facts->cpu.user_ns + facts->cpu.system_ns) / 1e9);
}

/* Comes first, because all figures below cover less than the run. */
static void note_incomplete(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const char *why = facts->run->incomplete;
	sonde_report_fact(report, "incomplete", why ? sonde_cell_text(why) : sonde_cell_absent(NULL));
	if (why)
		sonde_report_note(report, NULL, 1, "recording is incomplete: %s", why);
}

static void note_file(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_run *run = facts->run;
	if (run->growing)
		sonde_report_note(report, NULL, 0, "still recording: this covers the first %.3f s",
				  (double)(run->last_event_ns - run->start_ns) / 1e9);
	uint64_t damaged_b = sonde_session_damaged_b(facts->session); /* including what this report could not read */
	if (damaged_b && sonde_session_info(facts->session, "merged.damaged_b"))
		sonde_report_note(report, NULL, 1, "%llu bytes of the merged recordings could not be read",
				  (unsigned long long)damaged_b);
	else if (damaged_b && run->damaged_b)
		sonde_report_note(report, NULL, 1, "%llu of %llu bytes could not be read, first at byte %llu",
				  (unsigned long long)damaged_b, (unsigned long long)run->file_b,
				  (unsigned long long)run->damaged_at);
	else if (damaged_b)
		sonde_report_note(report, NULL, 1, "%llu of %llu bytes could not be read",
				  (unsigned long long)damaged_b, (unsigned long long)run->file_b);
}

static void note_selected(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_pass_options *options = &facts->samples->options;
	const struct sonde_run *run = facts->run;
	if (!sonde_pass_selects(options))
		return;
	uint64_t from_ns = options->selection.from_ns > run->start_ns ? options->selection.from_ns : run->start_ns;
	uint64_t to_ns = options->selection.to_ns ? options->selection.to_ns : run->end_ns;
	char time[96] = "";
	if (options->selection.from_ns || options->selection.to_ns)
		snprintf(time, sizeof time, "%.3f s to %.3f s of the recording",
			 (double)(from_ns - run->start_ns) / 1e9,
			 (double)(to_ns > run->start_ns ? to_ns - run->start_ns : 0) / 1e9);
	sonde_report_note(report, NULL, 0,
			  "selected: %s%s%s; CPU time, threads, losses and overhead above are of the whole recording",
			  time, *time && options->selection.thread ? ", " : "",
			  options->selection.thread ? options->thread_is : "");
}

/* Events count the time from a thread's switch-in to its switch-out, although the hypervisor had the CPU for part of
 * it. */
static void note_stolen(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	uint64_t sampled_ns = facts->samples->all.ns, stolen_ns = facts->cpu.stolen_ns;
	if (!facts->cpu.known || facts->cpu.at_least || sonde_pass_selects(&facts->samples->options) ||
	    stolen_ns <= facts->cpu.ns / NOTABLE_PART || sampled_ns <= facts->cpu.ns + facts->cpu.ns / NOTABLE_PART)
		return;
	sonde_report_note(
	    report, NULL, 1,
	    "the hypervisor stole %.2f s of CPU time; only sampled time (%.2f s) includes the program's part",
	    (double)stolen_ns / 1e9, (double)sampled_ns / 1e9);
}

/* A flight recorder drops events on purpose: figures cover what it still held when it was saved. */
static void note_kept(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const char *keep = sonde_session_info(facts->session, "option.keep_ns");
	if (!keep)
		return;
	sonde_report_note(
	    report, NULL, 0,
	    "flight recorder: figures cover the last %.3g s before a save; CPU time and allocations the whole run",
	    strtod(keep, NULL) / 1e9);
}

/* The unit of a source's losses, if it differs from its name: rings contain zone begins and ends, and other events. */
static const char *lost_what(const struct sonde_lost *lost)
{
	if (strcmp(lost->source, "zones") != 0)
		return "lost";
	if (strcmp(lost->cause, sonde_ring_lost_text(SONDE_RING_LOST_SITES)) == 0)
		return "call sites merged";
	if (strcmp(lost->cause, sonde_ring_lost_text(SONDE_RING_LOST_HISTS)) == 0)
		return "values lost";
	return "events lost (a zone is two)";
}

/* Appends from when on GPU events were lost: after such a loss, the process goes on without being recorded. */
static void lost_since(const struct sonde_session *session, const char *source, uint64_t from_ns, char *out,
		       size_t out_b)
{
	uint64_t start_ns = sonde_session_run(session)->start_ns;
	*out = '\0';
	if (!strcmp(source, "gpu") && from_ns >= start_ns)
		snprintf(out, out_b, " (from %.3f s on)", (double)(from_ns - start_ns) / 1e9);
}

/* Notes "cpu: 12 lost: ring full" for each source and cause, summed over all processes and threads. */
static void note_lost(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_session *session = facts->session;
	size_t count = sonde_session_lost_count(session);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_lost *lost = sonde_session_lost(session, i);
		uint64_t sum = 0, from_ns = lost->from_ns;
		char since[48];
		int again = 0;
		for (size_t k = 0; k < count; k++) {
			const struct sonde_lost *other = sonde_session_lost(session, k);
			if (strcmp(lost->source, other->source) || strcmp(lost->cause, other->cause))
				continue;
			again |= k < i;
			sum += other->count;
			from_ns = other->from_ns < from_ns ? other->from_ns : from_ns;
		}
		lost_since(session, lost->source, from_ns, since, sizeof since);
		if (!again && sum)
			sonde_report_note(report, NULL, 1, "%s: %llu %s: %s%s", lost->source, (unsigned long long)sum,
					  lost_what(lost), lost->cause, since);
	}
}

static void note_unmatched(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	uint64_t unmatched = sonde_session_zones_unmatched(facts->session);
	if (!unmatched)
		return;
	sonde_report_note(report, NULL, 1, "%llu zone end%s without a start %s left out", (unsigned long long)unmatched,
			  sonde_plural(unmatched), sonde_word(unmatched, "is", "are"));
}

enum { PERCENT_B = 16 };

/* Never shows a nonzero share as 0: "<0.1". */
static const char *percent_text(char out[PERCENT_B], double share)
{
	if (share > 0 && share < 0.0005)
		return "<0.1";
	snprintf(out, PERCENT_B, "%.1f", 100 * share);
	return out;
}

/* Short-lived threads: their time was measured, but it can be attributed only by the samples of others. */
static void note_borrowed(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_samples *samples = facts->samples;
	uint64_t count = samples->borrowed.count;
	char percent[PERCENT_B];
	if (!count)
		return;
	sonde_report_note(
	    report, NULL, 0,
	    "%llu stack%s (%s %% of the time) %s taken from another thread: the thread itself exited too early",
	    (unsigned long long)count, sonde_plural(count),
	    percent_text(percent, sonde_stats_share((double)samples->borrowed.ns, (double)samples->all.ns)),
	    sonde_word(count, "is", "are"));
}

/* Stacks that were completed without unwind tables for all of their frames. */
static void note_without_tables(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {{SONDE_STACK_DERIVED, "by rules derived from instructions"},
		    {SONDE_STACK_FRAME_POINTER, "by frame pointers"}};
	const struct sonde_samples *samples = facts->samples;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t count = samples->by_status[rows[i].status];
		char percent[PERCENT_B];
		if (count)
			sonde_report_note(
			    report, NULL, 0, "%llu stack%s (%s %%) %s complete %s", (unsigned long long)count,
			    sonde_plural(count),
			    percent_text(percent,
					 sonde_stats_share((double)count, (double)sonde_samples_stacks(samples))),
			    sonde_word(count, "is", "are"), rows[i].text);
	}
}

static void note_broken(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_samples *samples = facts->samples;
	for (unsigned i = 0; i < SONDE_STACK_STATUS_COUNT; i++) {
		if (sonde_stack_is_complete(i) || !samples->by_status[i])
			continue;
		char percent[PERCENT_B];
		sonde_report_note(report, NULL, 1, "%llu stack%s (%s %%) %s incomplete: %s",
				  (unsigned long long)samples->by_status[i], sonde_plural(samples->by_status[i]),
				  percent_text(percent, sonde_stats_share((double)samples->by_status[i],
									  (double)sonde_samples_stacks(samples))),
				  sonde_word(samples->by_status[i], "is", "are"), sonde_samples_status_text(i));
	}
}

static void note_sources(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	for (size_t i = 0; i < sonde_session_source_count(facts->session); i++) {
		const struct sonde_source_row *row = sonde_session_source(facts->session, i);
		if (row->state == SONDE_SOURCE_UNAVAILABLE)
			sonde_report_note(report, NULL, 1, "%s: not recorded: %s", row->name, row->detail);
		else if (row->state == SONDE_SOURCE_LIMITED && *row->detail && strcmp(row->name, "cpu"))
			sonde_report_note(report, NULL, 1, "%s: limited: %s", row->name, row->detail);
	}
}

static void note_rate(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const struct sonde_source_row *cpu = sonde_session_source_named(facts->session, "cpu");
	if (!cpu || cpu->effective_hz <= 0 || cpu->rate_hz <= 0 || cpu->effective_hz > 0.8 * cpu->rate_hz)
		return;
	if (strncmp(cpu->method, TIMERS, sizeof TIMERS - 1) == 0)
		sonde_report_note(report, NULL, 0,
				  "asked for %.0f samples/s, got %.0f/s of CPU time: samples are weighted by CPU time",
				  cpu->rate_hz, cpu->effective_hz);
	else
		sonde_report_note(
		    report, NULL, 1,
		    "asked for %.0f samples/s, kept %.0f/s of CPU time: the rest were lost, so shares are less certain",
		    cpu->rate_hz, cpu->effective_hz);
}

/* --- all notes -------------------------------------------------------------------------------------------------- */

static void titles_set(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const char *command = sonde_session_info(facts->session, "run.command");
	const struct sonde_process *process = sonde_session_process(facts->session, facts->run->root_process);
	if (!command && process)
		command = *process->command ? process->command : process->name;
	report->title = command ? command : "";
	report->path = sonde_session_path(facts->session);
	report->duration_ns = facts->run->end_ns - facts->run->start_ns;
}

void sonde_summary_notes(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	static void (*const notes[])(const struct sonde_summary_facts *, struct sonde_report *) = {
	    note_incomplete,     note_line,     sonde_import_notes, sonde_merged_notes, note_cpu_time, note_stolen,
	    note_rate,           note_selected, note_kept,          note_file,          note_lost,     note_unmatched,
	    note_without_tables, note_broken,   note_borrowed,      note_sources,
	};
	titles_set(facts, report);
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
		notes[i](facts, report);
}
