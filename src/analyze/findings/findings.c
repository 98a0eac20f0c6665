/* findings.c: evaluates the rules over the sections of other passes, and writes the findings as a section.
 *
 * The other passes run into a private report with many rows. Findings are dropped, with a note, if more than a
 * hundredth of the records that they depend on was lost, or if the file is damaged.
 */
#include "analyze/findings/findings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/critical.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/marks.h"
#include "analyze/window.h"
#include "analyze/work/roofline.h"
#include "util/array.h"
#include "util/error.h"
#include "util/shell_word.h"

#define KEEP_ARGUMENTS "--keep-arguments"
#define TITLE "Findings: what to fix first"
#define ROWS_READ 4096u /* per section read by rules */
#define LOST_AT_MOST 0.01
#define CUT_B 4095u            /* length at which a long command was truncated when recorded */
#define PROCESSES "processes " /* prefix of causes that count processes without any records */

enum { DEFAULT_ROWS = 20 };
enum {
	SEVERITY,
	RULE,
	NAME,
	SUBJECT,
	SAVES,
	SHARE,
	SPEEDUP,
	AT_MOST,
	AT_MOST_SHARE,
	AT_MOST_SPEEDUP,
	WITHIN,
	CONFIDENCE,
	LIMITER,
	PEAK,
	BYTES,
	EVIDENCE,
	STEPS,
	AGAIN,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [SEVERITY] = {"severity", "severity", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [RULE] = {"rule", "rule", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [NAME] = {"title", "finding", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
    [SUBJECT] = {"subject", "where", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [SAVES] = {"saves_ns", "saves", SONDE_UNIT_NS, SONDE_BASIS_ESTIMATED, 0, 0},
    [SHARE] = {"saves_share", "of span", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [SPEEDUP] = {"expected_speedup", "speedup", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 1},
    [AT_MOST] = {"at_most_ns", "at most", SONDE_UNIT_NS, SONDE_BASIS_ESTIMATED, 0, 2},
    [AT_MOST_SHARE] = {"at_most_share", "of span", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 3},
    [AT_MOST_SPEEDUP] = {"at_most_speedup", "max speedup", SONDE_UNIT_FACTOR, SONDE_BASIS_ESTIMATED, 0, 2},
    [WITHIN] = {"within", "all within", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 4},
    [CONFIDENCE] = {"confidence", "confidence", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 3},
    [LIMITER] = {"limiter", "limited by", SONDE_UNIT_TEXT, SONDE_BASIS_ESTIMATED, 0, 2},
    [PEAK] = {"peak_share", "of peak", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 5},
    [BYTES] = {"bytes", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 5},
    [EVIDENCE] = {"evidence", "evidence", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
    [STEPS] = {"steps", "steps", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
    [AGAIN] = {"measure_again", "measure again", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 8},
};

/* The passes that rules read. They run once, with the same limits for all rules. */
#define SONDE_PASS(name, file) extern const struct sonde_pass sonde_pass_##name;
#include "analyze/passes.def"
#undef SONDE_PASS

static const struct sonde_pass *const passes[] = {
    &sonde_pass_functions,     &sonde_pass_calltree,     &sonde_pass_threads,   &sonde_pass_processes,
    &sonde_pass_critical_path, &sonde_pass_waits,        &sonde_pass_locks,     &sonde_pass_io,
    &sonde_pass_io_phases,     &sonde_pass_wait_kinds,   &sonde_pass_resources, &sonde_pass_heap,
    &sonde_pass_heaps,         &sonde_pass_leaks,        &sonde_pass_temporary, &sonde_pass_memory,
    &sonde_pass_energy,        &sonde_pass_zones,        &sonde_pass_roofline,  &sonde_pass_machine,
    &sonde_pass_summary,       &sonde_pass_devices,      &sonde_pass_kernels,   &sonde_pass_copies,
    &sonde_pass_device_gaps,   &sonde_pass_device_calls,
};

int sonde_found_add(struct sonde_found *found, const struct sonde_finding *finding)
{
	if (!finding->subject || !finding->evidence)
		return sonde_error(ENOMEM, "out of memory for findings");
	if (SONDE_ARRAY_RESERVE(found->rows, found->cap, found->count + 1))
		return sonde_error(ENOMEM, "out of memory for findings");
	found->rows[found->count] = *finding;
	found->rows[found->count++].rule = found->rule;
	return 0;
}

/* --- severity ----------------------------------------------------------------------------------------------------- */

const char *sonde_severity_name(enum sonde_severity severity)
{
	static const char *const names[] = {"low", "medium", "high", "critical"};
	return names[severity];
}

double sonde_finding_confidence(const struct sonde_finding *finding)
{
	return finding->confidence > 0 ? finding->confidence : finding->rule->confidence;
}

enum sonde_severity sonde_severity_at(double weight)
{
	static const double from[] = {
	    [SONDE_SEVERITY_MEDIUM] = 0.05, [SONDE_SEVERITY_HIGH] = 0.20, [SONDE_SEVERITY_CRITICAL] = 0.40};
	enum sonde_severity severity = SONDE_SEVERITY_LOW;
	while (severity < SONDE_SEVERITY_CRITICAL && weight >= from[severity + 1])
		severity++;
	return severity;
}

enum sonde_severity sonde_finding_severity(const struct sonde_finding *finding)
{
	enum sonde_severity severity = sonde_severity_at(finding->weighs);
	return severity < finding->rule->at_most ? severity : finding->rule->at_most;
}

static double score(const struct sonde_finding *finding)
{
	return finding->weighs * sonde_finding_confidence(finding);
}

static int compare(const void *left, const void *right)
{
	const struct sonde_finding *a = left, *b = right;
	if (score(a) != score(b))
		return score(a) < score(b) ? 1 : -1;
	int order = strcmp(a->rule->id, b->rule->id);
	return order ? order : strcmp(a->subject, b->subject);
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

/* Wall time of the selected part; NAN = unknown. */
static double time_requested(const struct sonde_facts *facts, const struct sonde_pass_options *options)
{
	double wall_ns = 1e9 * sonde_summary_value(&facts->columns, timing, wall_time_s);
	const struct sonde_window window = sonde_window_of(facts->session, options);
	double part_ns = 1e9 * sonde_window_s(&window);
	int is_part = options->selection.from_ns || options->selection.to_ns;
	return is_part && part_ns < wall_ns ? part_ns : wall_ns;
}

static int facts_read(struct sonde_facts *facts, struct sonde_session *session,
		      const struct sonde_pass_options *options)
{
	struct sonde_pass_options inner = *options;
	inner.limit = ROWS_READ;
	inner.sort = SONDE_SORT_SELF;
	inner.weigh = (struct sonde_weigh){0}; /* the tree of CPU time */
	inner.requested = 1;                   /* include columns that a plain report leaves out */
	*facts = (struct sonde_facts){.session = session, .options = options};
	int rc = sonde_thresholds_read(facts->threshold, options);
	rc = rc ? rc : sonde_report_new(&facts->report);
	rc = rc ? rc : sonde_pass_run(session, passes, sizeof passes / sizeof *passes, &inner, facts->report);
	if (rc)
		return rc;
	sonde_columns_read(&facts->columns, facts->report);
	/* Rows may be truncated, but one row and its share give the total. */
	const struct sonde_columns_critical_path *path = &facts->columns.critical_path;
	double first_share = sonde_column_ratio(path, 0, share);
	facts->span_ns = first_share > 0 ? sonde_column_ns(path, 0, time_ns) / first_share : 0;
	facts->has_path = facts->span_ns > 0;
	if (!facts->has_path)
		facts->span_ns = time_requested(facts, options);
	double sampled_ns = 1e9 * sonde_summary_value(&facts->columns, samples, cpu_time_s);
	facts->cpu_ns = sampled_ns > 0 ? sampled_ns : 1e9 * sonde_summary_value(&facts->columns, timing, cpu_time_s);
	const char *may_use = sonde_session_info(session, "run.cpus");
	facts->cores = may_use ? strtod(may_use, NULL) : sonde_machine_cores(session);
	if (!(facts->cores > 0))
		facts->cores = NAN;
	facts->running_ns =
	    sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNING) + sonde_facts_in_state(facts, SONDE_CRITICAL_UNSEEN);
	double waits_ns = sonde_facts_in_state(facts, SONDE_CRITICAL_RUNNABLE);
	int is_others = !(sonde_facts_busy_threads(facts) > facts->cores);
	facts->stretch = is_others && facts->running_ns > 0 ? 1 + waits_ns / facts->running_ns : 1;
	struct sonde_roof roof;
	int from_cache;
	if (facts->columns.roofline.of.rows && facts->threshold[SONDE_THRESHOLD_NOISE] < 1 &&
	    !sonde_roofline_roof(&roof, &from_cache, session) && sonde_roof_is_doubtful(&roof, NULL))
		facts->ceilings = SONDE_CEILINGS_DOUBTFUL;
	return 0;
}

/* --- what was lost ------------------------------------------------------------------------------------------------ */

static const struct {
	const char *source;
	uint32_t needs;
	uint32_t types; /* chunk types that contain the records; if several are possible, the least frequent */
} rests[] = {
    {"cpu", SONDE_NEEDS_SAMPLES | SONDE_NEEDS_PATH, 1u << SONDE_CHUNK_SAMPLES},
    {"cpu_timer", SONDE_NEEDS_SAMPLES, 1u << SONDE_CHUNK_SAMPLES},
    {"waits", SONDE_NEEDS_WAITS | SONDE_NEEDS_PATH, 1u << SONDE_CHUNK_WAITS},
    {"heap", SONDE_NEEDS_HEAP, 1u << SONDE_CHUNK_HEAP},
    {"zones", SONDE_NEEDS_ZONES, 1u << SONDE_CHUNK_ZONES},
    {"gpu", SONDE_NEEDS_DEVICES, 1u << SONDE_CHUNK_ACTIVITIES},
};

static uint64_t events_of(const struct sonde_session *session, uint32_t types)
{
	uint64_t sum = 0;
	for (unsigned type = 0; type < 32; type++)
		if (types & 1u << type)
			sum += sonde_session_event_count(session, (enum sonde_chunk_type)type);
	return sum;
}

static uint32_t lossy_needs(const struct sonde_session *session)
{
	uint32_t needs = sonde_session_damaged_b(session) ? UINT32_MAX : 0;
	for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
		uint64_t lost = 0;
		for (size_t k = 0; k < sonde_session_lost_count(session); k++) {
			const struct sonde_lost *row = sonde_session_lost(session, k);
			if (!strcmp(row->source, rests[i].source) &&
			    strncmp(row->cause, PROCESSES, strlen(PROCESSES)) != 0)
				lost += row->count;
		}
		if ((double)lost > LOST_AT_MOST * (double)(lost + events_of(session, rests[i].types)))
			needs |= rests[i].needs;
	}
	return needs;
}

/* Drops findings that depend on lost records. */
static void suppress(struct sonde_found *found, const struct sonde_session *session, struct sonde_report *report,
		     struct sonde_section *section)
{
	uint32_t lossy = lossy_needs(session);
	size_t kept = 0;
	for (size_t i = 0; i < found->count; i++) {
		const struct sonde_finding *finding = &found->rows[i];
		if (!(finding->rule->needs & lossy))
			found->rows[kept++] = *finding;
		else
			sonde_report_note(report, section, 1, "suppressed: %s (%s): its data is incomplete",
					  finding->rule->id, finding->subject);
	}
	found->count = kept;
}

/* --- evaluating the rules ----------------------------------------------------------------------------------------- */

/* False without samples, or if no CPU time is covered by samples: it cannot be attributed then. */
static int has_samples(const struct sonde_facts *facts)
{
	double all_s = sonde_summary_value(&facts->columns, samples, cpu_time_s),
	       missing_s = sonde_summary_value(&facts->columns, samples, not_sampled_s);
	return sonde_session_event_count(facts->session, SONDE_CHUNK_SAMPLES) && !(all_s <= missing_s);
}

/* Notes what a truncated recording may lack. The state of the sources is stored at the end of a recording, so the
 * requested options are used instead, which are stored at its start. */
static const char *note_truncated(const struct sonde_facts *facts, struct sonde_report *report)
{
	const struct sonde_session *session = facts->session;
	int has_heap = sonde_session_heap_site_count(session) > 0;
	int has_heap_events = sonde_session_event_count(session, SONDE_CHUNK_HEAP) > 0;
	const char *rate = sonde_session_info(session, "option.rate_hz");
	const char *samples = has_samples(facts)               ? ""
			      : rate && strtod(rate, NULL) > 0 ? ", CPU time (sampled, but no sample can be read)"
							       : ", CPU time (no sample can be read)";
	const char *waits = sonde_session_event_count(session, SONDE_CHUNK_WAITS) ? "" : ", blocking calls";
	const char *heap = has_heap_events ? ""
			   : has_heap      ? ", allocations (recorded, but none can be read)"
					   : ", allocations";
	const char *path = facts->has_path ? "" : ", wake-ups (no critical path)";
	return sonde_report_text(report, "%s%s%s%s", samples, waits, heap, path);
}

/* For recordings with GPUs: data that no source provides. */
static const char uncounted[] = ", GPU matrix units, unused GPU memory of custom allocators";

/* Kinds of data that rules read, and the options that record them. If waits for locks and calls on files are both
 * missing, they are listed as one item. */
static const struct requested_kind {
	uint32_t kinds;
	const char *what, *option;
} requested_kinds[] = {
    {SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES), "blocking calls", "--threads --io"},
    {SONDE_NEEDS(LOCKS), "waits for locks", "--threads"},
    {SONDE_NEEDS(FILES), "calls on files and sockets", "--io"},
    {SONDE_NEEDS(HEAP), "allocations", "--heap"},
};

/* The reason after the kind of data: "no process loaded it" in "not recorded: allocations: no process loaded it". */
static const char *reason_of(const char *missing)
{
	for (int i = 0; i < 2 && strstr(missing, ": "); i++)
		missing = strstr(missing, ": ") + 2;
	return missing;
}

/* Lists ", allocations (--heap)" for the kinds that were not recorded, with the reason instead of an option if no
 * option would record them. `advice` becomes the first option. */
static const char *list_missing(const struct sonde_facts *facts, struct sonde_report *report, const char **advice)
{
	const char *text = "";
	uint32_t listed = 0;
	for (size_t i = 0; text && i < sizeof requested_kinds / sizeof *requested_kinds; i++) {
		const struct requested_kind *requested = &requested_kinds[i];
		const char *why = sonde_pass_missing(facts->session, requested->kinds, report);
		if (!why || listed & requested->kinds)
			continue;
		listed |= requested->kinds;
		int is_option = sonde_recorded_option(requested->kinds, why) != NULL;
		text = sonde_report_text(report, "%s, %s (%s)", text, requested->what,
					 is_option ? requested->option : reason_of(why));
		*advice = *advice || !is_option ? *advice : requested->option;
	}
	return text;
}

/* Notes which rules had no data. */
static int note_unjudged(const struct sonde_facts *facts, struct sonde_found *found, struct sonde_report *report,
			 struct sonde_section *section)
{
	const struct sonde_session *session = facts->session;
	const struct sonde_run *run = sonde_session_run(session);
	int is_truncated = !run->closed && !run->growing;
	const char *nothing = is_truncated ? NULL : sonde_pass_missing(session, SONDE_EVERY_KIND, report),
		   *advice = NULL;
	found->has_data = !nothing;
	if (nothing) {
		sonde_report_note(report, section, 1, "nothing was checked; %s", nothing);
		return 0;
	}
	const char *samples = has_samples(facts) ? "" : ", CPU time (no samples)";
	const char *missing = list_missing(facts, report, &advice);
	const char *path = facts->has_path ? "" : ", wake-ups (no critical path)";
	/* With a single node, "0" rather than "0-1", no access is remote. */
	const char *nodes = sonde_session_info(session, "host.numa_nodes");
	const char *remote = nodes && nodes[strspn(nodes, "0123456789")] ? ", remote NUMA memory" : "";
	const char *all = is_truncated ? note_truncated(facts, report)
			  : missing    ? sonde_report_text(report, "%s%s%s", samples, missing, path)
				       : NULL;
	const char *devices = sonde_session_device_count(session) ? uncounted : "";
	all = all ? sonde_report_text(report, "%s%s%s", all, remote, devices) : NULL;
	if (!all)
		return sonde_error(ENOMEM, "out of memory for findings");
	if (!*all)
		return 0;
	sonde_report_note(report, section, is_truncated,
			  is_truncated ? "not checked, since the recording is incomplete: %s" : "not checked: %s",
			  all + 2);
	if (!is_truncated && advice)
		sonde_report_advise(report, section, SONDE_ACTION_RECORD, advice);
	return 0;
}

/* The command, shell-quoted; NULL = its words are unknown: old recordings do not store them, and merged ones have
 * several commands. */
static const char *command_line(const struct sonde_session *session)
{
	const char *line = sonde_session_info(session, "run.command_line");
	if (line || sonde_session_part_count(session) > 1)
		return line;
	line = sonde_session_info(session, "run.command");
	return line && *line && strlen(line) < CUT_B && !line[strspn(line, SONDE_SHELL_PLAIN " ")] ? line : NULL;
}

/* Adds to the evidence how much of the saving is running time, and how much is waiting for a CPU: the two parts that
 * what-if expects. */
static int waits_say(const struct sonde_facts *facts, struct sonde_finding *finding, struct sonde_report *report)
{
	double running_ns = finding->saves_ns / facts->stretch, waits_ns = finding->saves_ns - running_ns;
	if (!finding->has_waits || !(waits_ns >= 0.5e6)) /* displayed in ms */
		return 0;
	finding->evidence = sonde_report_text(report, "%s; saves %.3f s running + %.3f s waiting for a CPU",
					      finding->evidence, running_ns / 1e9, waits_ns / 1e9);
	return finding->evidence ? 0 : sonde_error(ENOMEM, "out of memory for findings");
}

static int evaluate_all(const struct sonde_facts *facts, struct sonde_found *found)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < sonde_rule_count; i++) {
		found->rule = &sonde_rules[i];
		rc = sonde_rules[i].evaluate(facts, found);
	}
	return rc;
}

/* --- noisy runs --------------------------------------------------------------------------------------------------- */

/* Notes which rules did not decide because of doubtful ceilings. */
static int note_withheld(const struct sonde_found *found, const struct sonde_found *possible,
			 struct sonde_section *section)
{
	for (size_t i = 0; i < possible->count; i++) {
		const struct sonde_finding *finding = &possible->rows[i];
		int is_first = !i || possible->rows[i - 1].rule != finding->rule;
		if (!is_first || !(finding->rule->needs & SONDE_NEEDS_CEILINGS) ||
		    sonde_found_has(found, finding->rule))
			continue;
		sonde_report_note(found->report, section, 1, "withheld: %s (%s): the machine's ceilings are doubtful",
				  finding->rule->id, finding->subject);
	}
	return 0;
}

/* Returns 1 if, with these ceilings, the first finding might be another one if no other program had run; otherwise
 * notes what was not decided, and returns 0. A negative errno on failure. */
static int is_doubtful(const struct sonde_facts *facts, enum sonde_ceilings ceilings, const struct sonde_noise *noise,
		       const struct sonde_found *found, struct sonde_section *section)
{
	struct sonde_facts other;
	struct sonde_found possible = {.span_ns = found->span_ns};
	sonde_facts_without_others(&other, facts, noise);
	other.ceilings = ceilings;
	int rc = sonde_report_new(&possible.report);
	rc = rc ? rc : evaluate_all(&other, &possible);
	if (!rc)
		suppress(&possible, facts->session, possible.report, NULL);
	rc = rc ? rc : sonde_report_status(possible.report);
	rc = rc ? rc : sonde_finding_is_doubtful(facts, noise, found, &possible);
	if (!rc && ceilings == SONDE_CEILINGS_ANY)
		rc = note_withheld(found, &possible, section);
	free(possible.rows);
	sonde_report_free(possible.report);
	return rc;
}

/* True if findings depend on waits or on measured ceilings, which other programs on the CPUs change. */
static int rests_on_waits(const struct sonde_facts *facts, const struct sonde_found *found)
{
	int is_one = 0;
	for (size_t i = 0; i < found->count; i++)
		is_one |= (found->rows[i].rule->needs & SONDE_NEEDS_WAITS) != 0;
	return is_one || facts->columns.roofline.of.rows;
}

/* Drops all findings except those about bytes if the findings may be due to other programs that ran during the
 * recording, or while the ceilings were measured. */
static int suppress_noisy(struct sonde_found *found, const struct sonde_facts *facts, struct sonde_report *report,
			  struct sonde_section *section)
{
	struct sonde_noise noise;
	double limit = facts->threshold[SONDE_THRESHOLD_NOISE];
	size_t kept = 0;
	int rc = sonde_finding_noise(facts, &noise);
	if (rc || limit >= 1)
		return rc;
	int is_over = noise.path > limit && (noise.is_shared || rests_on_waits(facts, found));
	rc = is_over ? 1 : noise.slowed > 0 ? is_doubtful(facts, facts->ceilings, &noise, found, section) : 0;
	int is_noise = rc > 0;
	if (!rc && facts->ceilings)
		rc = is_doubtful(facts, SONDE_CEILINGS_ANY, &noise, found, section);
	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < found->count; i++)
		if (found->rows[i].bytes > 0)
			found->rows[kept++] = found->rows[i];
	found->count = kept;
	found->is_noisy = 1;
	if (!is_noise) {
		sonde_report_note(report, section, 1,
				  "Noisy ceilings: time findings are withheld; sonde roofline --measure when "
				  "idle, then record again.");
		return 0;
	}
	sonde_report_note(
	    report, section, 1,
	    is_over ? "Noisy run: %.0f %% of the critical path waited for a CPU; time findings are withheld."
		    : "Noisy run: other programs may have delayed it by up to %.0f %%; time findings are withheld.",
	    100 * (is_over ? noise.path : noise.held_up));
	return 0;
}

int sonde_findings_find(struct sonde_found *out, struct sonde_session *session,
			const struct sonde_pass_options *options, struct sonde_report *report,
			struct sonde_section *section)
{
	struct sonde_facts facts;
	*out = (struct sonde_found){.report = report, .section = section};
	int rc = facts_read(&facts, session, options);
	out->span_ns = facts.span_ns;
	int has_span = !isnan(facts.span_ns); /* imported recordings may not have it */
	if (!rc && !has_span)
		sonde_report_note(report, section, 0, "not checked: the length of the run is unknown");
	rc = rc || !has_span ? rc : evaluate_all(&facts, out);
	for (size_t i = 0; !rc && i < out->count; i++)
		rc = sonde_finding_batch(&out->rows[i], options->batch, report);
	for (size_t i = 0; !rc && i < out->count; i++)
		rc = waits_say(&facts, &out->rows[i], report);
	rc = rc ? rc : sonde_finding_bounds(&facts, out);
	if (!rc)
		suppress(out, session, report, section);
	rc = rc || !has_span ? rc : suppress_noisy(out, &facts, report, section);
	rc = rc ? rc : sonde_finding_device(session, options->device, report, section);
	rc = rc ? rc : note_unjudged(&facts, out, report, section);
	out->command = command_line(session);
	if (!rc && out->count && sonde_session_info(session, "run.redacted")) {
		sonde_report_note(report, section, 0,
				  "COMMAND stands for the command line, which is not recorded (" KEEP_ARGUMENTS ")");
		if (!rc)
			sonde_report_advise(report, section, SONDE_ACTION_RECORD, KEEP_ARGUMENTS);
	}
	sonde_report_free(facts.report);
	if (out->count)
		qsort(out->rows, out->count, sizeof *out->rows, compare);
	if (rc) {
		free(out->rows);
		*out = (struct sonde_found){0};
	}
	return rc;
}

/* --- the section -------------------------------------------------------------------------------------------------- */

static const char *steps_of(const struct sonde_rule *rule, struct sonde_report *report)
{
	const char *text = "";
	for (size_t i = 0; text && i < sizeof rule->steps / sizeof *rule->steps && rule->steps[i]; i++)
		text = sonde_report_text(report, "%s%s%s", text, *text ? "; " : "", rule->steps[i]);
	return text;
}

static struct sonde_cell speedup(double span_ns, double saved_ns)
{
	return span_ns - saved_ns >= 1 ? sonde_cell_real(span_ns / (span_ns - saved_ns), 0)
				       : sonde_cell_absent("no time would remain");
}

static void row_add(const struct sonde_found *found, const struct sonde_finding *finding, struct sonde_report *report,
		    struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_rule *rule = finding->rule;
	const char *steps = steps_of(rule, report);
	const char *again = sonde_report_text(report, "sonde record%s%s -- %s", *rule->record ? " " : "", rule->record,
					      found->command ? found->command : "COMMAND");
	int is_time = finding->saves_ns > 0;
	const char *why = finding->bytes > 0 ? "it saves bytes, not time" : "unknown";
	row[SEVERITY] = sonde_cell_text(sonde_severity_name(sonde_finding_severity(finding)));
	row[RULE] = sonde_cell_text(rule->id);
	row[NAME] = sonde_cell_text(rule->title);
	row[SUBJECT] = sonde_cell_text(finding->subject);
	row[SAVES] = is_time ? sonde_cell_int((uint64_t)finding->saves_ns) : sonde_cell_absent(why);
	row[SHARE] = is_time ? sonde_cell_real(finding->saves_ns / found->span_ns, 0) : sonde_cell_absent(why);
	row[SPEEDUP] = is_time ? speedup(found->span_ns, finding->saves_ns) : sonde_cell_absent(why);
	row[AT_MOST] = is_time ? sonde_cell_int((uint64_t)finding->at_most_ns) : sonde_cell_absent(why);
	row[AT_MOST_SHARE] =
	    is_time ? sonde_cell_real(finding->at_most_ns / found->span_ns, 0) : sonde_cell_absent(why);
	row[AT_MOST_SPEEDUP] = is_time ? speedup(found->span_ns, finding->at_most_ns) : sonde_cell_absent(why);
	row[WITHIN] = is_time && finding->within ? sonde_cell_text(finding->within)
		      : !is_time                 ? sonde_cell_absent(why)
		      : finding->place.ns > 0    ? sonde_cell_absent("a zone or phase")
					      : sonde_cell_absent("no function of the program is known to contain it");
	row[CONFIDENCE] = sonde_cell_real(sonde_finding_confidence(finding), 0);
	row[LIMITER] = sonde_cell_text(finding->limiter ? finding->limiter : rule->limiter);
	row[PEAK] = finding->peak_share > 0 ? sonde_cell_real(finding->peak_share, 0)
					    : sonde_cell_absent("its peak was not measured");
	row[BYTES] = finding->bytes > 0 ? sonde_cell_int((uint64_t)finding->bytes)
					: sonde_cell_absent("it saves time, not bytes");
	row[EVIDENCE] = sonde_cell_text(finding->evidence);
	row[STEPS] = sonde_cell_text(steps);
	row[AGAIN] = sonde_cell_text(again);
}

struct asking {
	struct sonde_session *session;
	struct sonde_pass_options options;
};

static int findings_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct asking *asking = state;
	*asking = (struct asking){session, *options};
	return 0;
}

static int findings_finish(void *state, struct sonde_report *report)
{
	const struct asking *asking = state;
	struct sonde_section *section = sonde_report_table(report, "findings", TITLE, columns, COLUMNS);
	struct sonde_found found;
	int rc = sonde_findings_find(&found, asking->session, &asking->options, report, section);
	if (rc)
		return rc;
	size_t limit = asking->options.limit ? asking->options.limit : DEFAULT_ROWS;
	for (size_t i = 0; !rc && i < found.count && i < limit; i++)
		row_add(&found, &found.rows[i], report, section);
	section->table.omitted = found.count > limit ? found.count - limit : 0;
	if (!found.count && !found.is_noisy && found.has_data && !isnan(found.span_ns))
		sonde_report_note(report, section, 0, "no findings: no rule reached its threshold");
	else if (!rc && found.count)
		sonde_report_note(report, section, 0,
				  "estimated speedup: T / (T - f), if f of T = %.3f s is saved (docs/FINDINGS.md; "
				  "sonde advise)",
				  found.span_ns / 1e9);
	free(found.rows);
	return 0;
}

const struct sonde_pass sonde_pass_findings = {
    .name = "findings",
    .title = "what to fix first, and what it would save",
    .state_b = sizeof(struct asking),
    .begin = findings_begin,
    .finish = findings_finish,
};
