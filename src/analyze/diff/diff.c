/* diff.c: compares two recordings as a whole, and gives the verdict (diff/diff.h).
 *
 * A single run of each shows the difference, but not how much of it is chance, because a single run does not show the
 * variation between runs. A verdict needs something that both runs did repeatedly, such as iterations.
 */
#include "analyze/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/cpu/cputime.h"
#include "analyze/diff/table.h"
#include "analyze/marks.h"
#include "util/error.h"

enum { RUN, WALL, CPU, USER, SYSTEM, PEAK_RSS, COMMAND, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [RUN] = {"run", "run", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [WALL] = {"wall_ns", "wall", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CPU] = {"cpu_ns", "CPU", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [USER] = {"user_ns", "user", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [SYSTEM] = {"system_ns", "system", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [PEAK_RSS] = {"peak_rss_b", "peak RSS", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [COMMAND] = {"command", "command", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

/* Peak RSS of the largest process. */
static struct sonde_cell peak_of(const struct sonde_session *session)
{
	uint64_t most_b = 0;
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++) {
		uint64_t peak_b = sonde_session_process(session, id)->peak_rss_b;
		most_b = peak_b > most_b ? peak_b : most_b;
	}
	return most_b ? sonde_cell_int(most_b) : sonde_cell_absent("no process was waited for");
}

static int run_add(struct sonde_diff *diff, struct sonde_section *section, const char *name,
		   const struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	const struct sonde_cpu_time cpu = sonde_cpu_time_of(session, 0);
	const char *command = sonde_session_info(session, "run.command");
	struct sonde_cell *row = sonde_report_row(diff->report, section);
	row[RUN] = sonde_cell_text(name);
	const char *untimed = sonde_pass_untimed(session);
	row[WALL] = !run->closed ? sonde_cell_absent("the recording is incomplete")
		    : untimed    ? sonde_cell_absent(untimed)
				 : sonde_cell_int(run->wall_ns);
	row[CPU] = row[USER] = row[SYSTEM] =
	    sonde_cell_absent(run->closed ? "CPU time was not measured" : "the recording is incomplete");
	if (cpu.known && run->closed)
		row[CPU] = sonde_cell_int(cpu.ns);
	if (cpu.known && run->closed && cpu.at_least)
		row[USER] = row[SYSTEM] = sonde_cell_absent("not every process was waited for");
	else if (cpu.known && run->closed) {
		row[USER] = sonde_cell_int(cpu.user_ns);
		row[SYSTEM] = sonde_cell_int(cpu.system_ns);
	}
	row[PEAK_RSS] = peak_of(session);
	row[COMMAND] = command                                      ? sonde_cell_text(command)
		       : sonde_session_info(session, "import.from") ? sonde_cell_absent("unknown: imported")
								    : sonde_cell_absent("it was attached to");
	return 0;
}

static int note_at_least(struct sonde_diff *diff, struct sonde_section *section, const char *name,
			 const struct sonde_session *session)
{
	if (!sonde_session_run(session)->closed) {
		sonde_report_note(diff->report, section, 1,
				  "the recording of the %s is incomplete: its run times are unknown", name);
		return 0;
	}
	if (sonde_cpu_time_of(session, 0).at_least) {
		sonde_report_note(diff->report, section, 1,
				  "CPU time of the %s is a lower bound: not every process was waited for", name);
		return 0;
	}
	return 0;
}

/* Notes "baseline ÷ candidate: 1.250 by wall time, 1.196 by CPU time, of one run each". */
static int note_totals(struct sonde_diff *diff, struct sonde_section *section)
{
	const struct sonde_run *a = sonde_session_run(diff->baseline), *b = sonde_session_run(diff->candidate);
	const struct sonde_cpu_time x = sonde_cpu_time_of(diff->baseline, 0), y = sonde_cpu_time_of(diff->candidate, 0);
	int has_cpu = x.known && y.known && y.ns && !x.at_least && !y.at_least;
	int code = note_at_least(diff, section, "baseline", diff->baseline);
	code = code ? code : note_at_least(diff, section, "candidate", diff->candidate);
	int is_untimed = sonde_pass_untimed(diff->baseline) || sonde_pass_untimed(diff->candidate);
	if (code || is_untimed || !a->wall_ns || !b->wall_ns || !a->closed || !b->closed)
		return code;
	double wall = (double)a->wall_ns / (double)b->wall_ns;
	if (!has_cpu) {
		sonde_report_note(diff->report, section, 0, "%s by wall time, one run each",
				  sonde_change_words(wall).text);
		return 0;
	}
	sonde_report_note(diff->report, section, 0, "%s by wall time, %s by CPU time, one run each",
			  sonde_change_words(wall).text, sonde_change_words((double)x.ns / (double)y.ns).text);
	return 0;
}

static int totals(struct sonde_diff *diff)
{
	struct sonde_section *section = sonde_report_table(diff->report, "diff", "Run times", columns, COLUMNS);
	int code = run_add(diff, section, "baseline", diff->baseline);
	code = code ? code : run_add(diff, section, "candidate", diff->candidate);
	return code ? code : note_totals(diff, section);
}

static int say_verdict(struct sonde_diff *diff)
{
	struct sonde_report *report = diff->report;
	if (!diff->is_comparable)
		diff->verdict = SONDE_VERDICT_INCONCLUSIVE;
	const char *metric = diff->iteration ? sonde_report_text(report, "iterations of %s", diff->iteration) : NULL;
	sonde_diff_facts(report, diff->verdict, &diff->change, metric, diff->is_comparable);
	if (diff->renamed) {
		sonde_report_note_first(
		    report,
		    sonde_report_text(
			report,
			"different programs, not comparable: %s; if they are one program, record it under one name",
			diff->renamed));
		return 0;
	}
	if (diff->is_other_program) {
		sonde_report_note_first(
		    report, sonde_report_text(report,
					      "different programs, not comparable: they share functions with only %.1f "
					      "%% of the candidate's CPU time",
					      100 * diff->common_share));
		return 0;
	}
	if (isnan(diff->change.by) && diff->iteration) {
		sonde_report_note(report, NULL, 0, "inconclusive: too few steady iterations of %s, the longest ones",
				  diff->iteration);
		return 0;
	}
	if (isnan(diff->change.by)) {
		sonde_report_note(report, NULL, 0,
				  "inconclusive: one run each shows no run-to-run variation; use sonde bench "
				  "--vs, or sonde_iteration()");
		return 0;
	}
	sonde_report_note(report, NULL, 0, "%s: %s by iterations of %s, within these two runs",
			  sonde_verdict_name(diff->verdict), sonde_change_words(diff->change.by).text, diff->iteration);
	/* If iterations get no verdict for another reason, a note states it. */
	const struct sonde_change_why why = sonde_change_why(&diff->change, 2 * diff->options->margin, "iterations");
	if (*why.text && diff->is_comparable)
		sonde_report_note(report, NULL, 1, "%s", why.text);
	return 0;
}

/* --- choosing sections -------------------------------------------------------------------------------------------- */

static const struct part {
	const char *name, *title, *what;                 /* what is compared, in a sentence */
	uint32_t kinds;                                  /* kinds of data: the part needs any one of them */
	int (*has)(const struct sonde_session *session); /* whether a recording has any of it */
	int is_extra;                                    /* the part is only added if it was requested */
	int (*run)(struct sonde_diff *diff);
} parts[] = {
    {"diff", NULL, NULL, 0, NULL, 0, totals},
    {"diff-iterations", "Shared iterations", "iterations", SONDE_NEEDS(API), sonde_has_iterations, 0,
     sonde_diff_iterations},
    {"diff-zones", "Zones by change of self time", "zones", SONDE_NEEDS(API), sonde_has_zones, 0, sonde_diff_zones},
    {"diff-functions", "Functions by change of CPU share", "functions", SONDE_NEEDS(CPU), sonde_has_samples, 0,
     sonde_diff_functions},
    {"diff-calltree", "Call tree by change of CPU time", "call trees", SONDE_NEEDS(CPU), sonde_has_samples, 1,
     sonde_diff_tree},
};

int sonde_diff_has_section(const char *sections, const char *name)
{
	size_t name_b = strlen(name);
	for (const char *at = sections; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, name_b) == 0 && (at[name_b] == ',' || !at[name_b]))
			return 1;
	return 0;
}

int sonde_diff_check_sections(const char *sections)
{
	for (const char *at = sections; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t name_b = strcspn(at, ","), i = 0;
		while (i < sizeof parts / sizeof *parts &&
		       (strlen(parts[i].name) != name_b || strncmp(parts[i].name, at, name_b) != 0))
			i++;
		if (i == sizeof parts / sizeof *parts)
			return sonde_error(EINVAL,
					   "unknown section '%.*s': diff has diff, diff-iterations, diff-zones, "
					   "diff-functions, diff-calltree",
					   (int)(name_b < 64 ? name_b : 64), at);
	}
	return 0;
}

void sonde_diff_choose(struct sonde_report *report, const char *sections)
{
	struct sonde_section **link = &report->first;
	report->last = NULL;
	while (*link) {
		if (!sections || sonde_diff_has_section(sections, (*link)->id)) {
			report->last = *link;
			link = &(*link)->next;
		} else {
			*link = (*link)->next;
		}
	}
}

/* --- what cannot be compared -------------------------------------------------------------------------------------- */

static int is_compared(const struct sonde_diff *diff, const struct part *part)
{
	for (const struct sonde_section *at = diff->report->first; at; at = at->next)
		if (strcmp(at->id, part->name) == 0)
			return 1;
	return 0;
}

/* Adds a section that was requested and has nothing to compare, with the reason. In a diff of all sections, notes what
 * one side has and the other did not record. */
static int say_absent(struct sonde_diff *diff, const struct part *part)
{
	const char *const a = sonde_pass_missing(diff->baseline, part->kinds, diff->report), *const b =
												 sonde_pass_missing(
												     diff->candidate,
												     part->kinds,
												     diff->report);
	if (!diff->options->sections && ((a && part->has(diff->candidate)) || (b && part->has(diff->baseline)))) {
		sonde_report_note(diff->report, NULL, 1, "%s are not compared: %s: %s", part->what,
				  a ? "baseline" : "candidate", a ? a : b);
		return 0;
	}
	if (!sonde_diff_has_section(diff->options->sections, part->name))
		return 0;
	struct sonde_section *section = sonde_report_table(diff->report, part->name, part->title, NULL, 0);
	if (a)
		sonde_report_note(diff->report, section, 1, "baseline: %s", a);
	if (b)
		sonde_report_note(diff->report, section, 1, "candidate: %s", b);
	if (!a && !b)
		sonde_report_note(diff->report, section, 1, "no %s to compare: none are in both runs", part->what);
	return 0;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int sonde_diff_run(struct sonde_diff *diff)
{
	const char *sections = diff->options->sections;
	diff->verdict = SONDE_VERDICT_INCONCLUSIVE;
	diff->is_comparable = diff->is_whole = 1;
	diff->change.by = NAN;
	int code = sonde_diff_check_sections(sections);
	for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++) {
		const struct part *part = &parts[i];
		if (part->is_extra && !sonde_diff_has_section(sections, part->name))
			continue;
		code = part->run(diff);
		if (!code && part->kinds && !is_compared(diff, part))
			code = say_absent(diff, part);
		if (!code && !i)
			code = sonde_diff_machines(diff);
	}
	code = code ? code : sonde_diff_losses(diff);
	code = code ? code : say_verdict(diff);
	sonde_diff_choose(diff->report, sections);
	return code;
}

/* --- what is missing --------------------------------------------------------------------------------------------- */

static int note_losses(struct sonde_diff *diff, const char *name, const struct sonde_session *session)
{
	uint64_t damaged_b = sonde_session_damaged_b(session), skipped = sonde_session_run(session)->skipped_chunks;
	uint64_t lost = 0, events = 0;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *row = sonde_session_lost(session, i);
		lost += row->count;
		events += strcmp(row->source, "zones") ? 0 : row->count;
	}
	diff->is_whole &= !damaged_b && !skipped && !events;
	if (damaged_b || skipped)
		sonde_report_note(diff->report, NULL, 1,
				  "%llu bytes and %llu chunks of the %s cannot be read and are left out",
				  (unsigned long long)damaged_b, (unsigned long long)skipped, name);
	if (lost)
		sonde_report_note(diff->report, NULL, 1, "%llu records of the %s were lost while it ran",
				  (unsigned long long)lost, name);
	return 0;
}

int sonde_diff_losses(struct sonde_diff *diff)
{
	int code = note_losses(diff, "baseline", diff->baseline);
	code = code ? code : note_losses(diff, "candidate", diff->candidate);
	if (code || diff->is_whole || !diff->iteration)
		return code;
	diff->verdict = SONDE_VERDICT_INCONCLUSIVE;
	sonde_report_note(diff->report, NULL, 1, "iterations get no verdict when events are missing");
	return 0;
}
