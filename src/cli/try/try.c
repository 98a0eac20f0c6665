/* try.c: `sonde try`: a baseline, attempts to improve on it, and their results.
 *
 * An attempt is measured like `sonde bench --vs`: the baseline runs again, interleaved with the attempt, because the
 * machine is not in the same state as when the baseline was recorded. Therefore, the baseline must still exist. If its
 * program was rebuilt in place, running its command again would measure the new program twice, so the copy made by
 * --keep is run instead. Without a copy, the attempt is compared with the baseline's runs in the journal; this is
 * reported, and a verdict then needs a larger change. The same applies if a script or an input of the command has
 * changed, because those are not copied.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bench/runs.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/forward.h"
#include "cli/try/again.h"
#include "cli/try/entry.h"
#include "cli/try/report.h"
#include "run/shell.h"
#include "run/signals.h"
#include "util/error.h"
#include "util/quantity.h"

enum { WORDS = 3 }; /* words that precede the command */

struct request {
	struct sonde_bench_runs runs;
	const char *word[WORDS];
	size_t word_count;
	char **command; /* empty = none */
	const char *folder, *format, *output;
	int keep, gate, json, force;
	uint64_t zone_runs; /* 0 = zones were not requested */
	/* The fields below are not set from the command line. */
	struct sonde_journal journal;
	struct sonde_try_entries entries;
	struct sonde_try_entry entry; /* the new entry */
	const struct sonde_format *form;
	struct sonde_output out;
	struct sonde_try_again again;
	int is_shown; /* the figures were already written to `out` */
};

#define AT(member) offsetof(struct request, member)

static int set_margin(void *context, const char *value)
{
	return sonde_quantity_share(&((struct request *)context)->runs.margin, value);
}

static int set_zones(void *context, const char *value)
{
	struct request *request = context;
	char *end = NULL;
	request->zone_runs = SONDE_TRY_ZONE_RUNS;
	if (!value)
		return 0;
	request->zone_runs = strtoull(value, &end, 10);
	return *end || !request->zone_runs || request->zone_runs > SONDE_TRY_ZONE_RUNS_MOST
		   ? sonde_error(EINVAL, "'%s' is not a number of runs: 1 to %d", value, SONDE_TRY_ZONE_RUNS_MOST)
		   : 0;
}

static const struct sonde_option options[] = {
    {"warmup", 'w', "N", "warm-up runs before the measured ones (default 3)",
     SONDE_NUMBER(AT(runs.warmup), 0, SONDE_BENCH_RUNS_MOST)},
    {"runs", 'r', "N", "measured runs (default: until ±2 % or half the margin)",
     SONDE_NUMBER(AT(runs.runs), 2, SONDE_BENCH_RUNS_MOST)},
    {"margin", 'm', "SHARE", "smallest difference that matters (default 1%)", SONDE_BY(set_margin)},
    {"prepare", 0, "COMMAND", "run this shell line before each run, untimed", SONDE_TEXT(AT(runs.prepare))},
    {"ignore-failure", 'i', NULL, "also count runs that fail", SONDE_FLAG(AT(runs.ignore_failure))},
    {"show-output", 0, NULL, "show the command's output (default: /dev/null)", SONDE_FLAG(AT(runs.show_output))},
    {"keep", 'k', NULL, "baseline: keep a copy of the program to run again", SONDE_FLAG(AT(keep))},
    {"zones", 0, "[=N]", "also record N runs (default 10) to time each zone", SONDE_BY(set_zones)},
    {SONDE_FORWARD_KEEP_ARGUMENTS(AT(runs.keep_arguments))},
    {"gate", 0, NULL, "run: exit 1 if regressed, 3 inconclusive, 4 not comparable", SONDE_FLAG(AT(gate))},
    {"journal", 'j', "FOLDER", "journal folder (default: .sonde-try here or above)", SONDE_TEXT(AT(folder))},
    {"json", 0, NULL, "print JSON; for run and baseline as sonde bench --json", SONDE_FLAG(AT(json))},
    {"format", 'f', "FORMAT", "output format of the report (default text)", SONDE_TEXT(AT(format))},
    {"output", 'o', "FILE", "output file (default: standard output)", SONDE_TEXT(AT(output))},
    {"force", 0, NULL, "overwrite FILE if it exists", SONDE_FLAG(AT(force))},
    {0},
};

/* --- measuring --------------------------------------------------------------------------------------------------- */

/* Measures zones in separate runs after the compared ones. An error in these runs does not discard what was measured
 * before. */
static int zones_measured(struct request *request)
{
	char **const *argv = request->runs.argv;
	struct sonde_try_zones *zones = &request->entry.zones;
	char **baseline = request->runs.versus.has_baseline ? argv[SONDE_BASELINE] : NULL;
	if (!request->zone_runs)
		return 0;
	int code = sonde_try_zones_measure(zones, argv[SONDE_CANDIDATE], baseline, (size_t)request->zone_runs,
					   request->runs.prepare);
	if (code == -EINTR)
		return code;
	if (code)
		fprintf(stderr, "sonde try: zones are not kept: %s\n", sonde_error_text());
	else if (!zones->count)
		fprintf(stderr, "sonde try: zones are not kept: the command has none (sonde/sonde.h)\n");
	return 0;
}

/* Stores what was measured in the new entry; fails if the measurement was interrupted or stopped by an error. */
static int measured(struct request *request)
{
	struct sonde_bench_runs *runs = &request->runs;
	if (runs->show.error)
		return sonde_error(EIO, "%s: nothing was added to the journal", runs->error);
	if (runs->show.interrupted)
		return sonde_error(EINTR, "interrupted after %zu run%s: nothing was added to the journal",
				   runs->versus.count, runs->versus.count == 1 ? "" : "s");
	request->entry.pairs = runs->pairs;
	request->entry.count = runs->versus.count;
	runs->pairs = NULL;
	sonde_signals_ignore_file_limit(NULL); /* exceeding the limit for file sizes must be an error, not end us */
	request->entry.warmups = runs->warmup;
	request->entry.failed = runs->show.failed;
	request->entry.margin = runs->margin;
	return zones_measured(request);
}

static void show(struct request *request, const struct sonde_versus *versus)
{
	struct sonde_format_options style;
	request->runs.show.versus = versus;
	request->runs.show.machine = &request->entry.machine;
	request->runs.show.experiment = request->word[1];
	sonde_output_style(&style, request->out.file);
	if (request->json)
		sonde_bench_json(&request->runs.show, request->out.file);
	else
		sonde_bench_text(&request->runs.show, &style, request->out.file);
	request->is_shown = 1;
}

static int exit_of(const struct request *request, int code)
{
	return sonde_bench_runs_exit(&request->runs, code);
}

/* --- sonde try baseline ------------------------------------------------------------------------------------------ */

/* Copies the program to "NAME.0123456789abcdef" in the journal's folder; the names of the journal's own files never end
 * like this. */
static int keep(struct request *request)
{
	struct sonde_try_entry *entry = &request->entry;
	char path[PATH_MAX + 512];
	if (!entry->words[1] && !sonde_shell_is_plain(entry->words[0]))
		return sonde_error(
		    EINVAL, "--keep cannot tell which program a shell line runs: name the program and its arguments");
	if (sonde_digest_program(path, sizeof path, entry->words[0]))
		return sonde_error(ENOENT, "'%s' does not exist, or is not a program", entry->words[0]);
	if (asprintf(&entry->kept, "%s.%s", request->word[1], entry->id) < 0)
		return sonde_error(ENOMEM, "out of memory for a name");
	int code = sonde_journal_folder(&request->journal);
	char *from = code ? NULL : strdup(path);
	if (!code && !from)
		code = sonde_error(ENOMEM, "out of memory for a name");
	snprintf(path, sizeof path, "%s/%s", request->journal.folder, entry->kept);
	code = code ? code : sonde_digest_copy(from, path);
	free(from);
	return code;
}

static void keep_no_more(struct request *request)
{
	char path[PATH_MAX + 512];
	snprintf(path, sizeof path, "%s/%s", request->journal.folder, request->entry.kept);
	unlink(path);
}

static int init_entry(struct request *request)
{
	return sonde_try_entry_init(&request->entry, request->command, &request->journal, request->runs.keep_arguments);
}

static int run_baseline(struct request *request)
{
	struct sonde_bench_runs *runs = &request->runs;
	struct sonde_versus *versus = &runs->versus;
	int code = init_entry(request);
	code = code ? code : sonde_bench_runs_init(runs, request->command, NULL, 0);
	if (!code && sonde_journal_check(&request->journal))
		return SONDE_EXIT_OURS;
	code = code || !request->keep ? code : keep(request);
	code = code ? code : sonde_bench_runs_measure(runs);
	code = code ? code : measured(request);
	versus->pair = request->entry.pairs;
	if (!code && sonde_versus_evaluate(versus))
		code = sonde_error(ENOMEM, "out of memory for %zu runs", versus->count);
	int unwritten = code ? 0 : sonde_try_entry_write(&request->entry, &request->journal);
	if (!code)
		show(request, versus); /* shown even if the journal could not be written */
	if ((code || unwritten) && request->entry.kept)
		keep_no_more(request);
	return unwritten ? SONDE_EXIT_OURS : exit_of(request, code);
}

/* --- sonde try run ----------------------------------------------------------------------------------------------- */

static void say_difference(void *context, const char *sentence)
{
	(void)context;
	fprintf(stderr, "sonde try: %s\n", sentence);
}

/* Before anything is run, checks that machine and directory are those of the baseline. */
static int check(struct request *request, const struct sonde_try_entry *baseline)
{
	struct sonde_try_entry *entry = &request->entry;
	if (!sonde_bench_machine_compare(&baseline->machine, &entry->machine, say_difference, NULL)) {
		sonde_error(
		    EINVAL,
		    "the baseline of %s is from another machine: sonde try baseline %s -- COMMAND measures one here",
		    request->word[1], request->word[1]);
		return SONDE_EXIT_UNREADABLE;
	}
	if (strcmp(baseline->directory, entry->directory) != 0) {
		sonde_error(EINVAL, "the baseline was run in %s%s, and its paths are relative: run it there, too",
			    *baseline->directory == '/' ? "" : "the journal's folder's ", baseline->directory);
		return SONDE_EXIT_USAGE;
	}
	return 0;
}

/* Returns the number of the new attempt, read from the journal again, because another attempt may have been added in
 * the meantime. */
static size_t number_of(const struct request *request)
{
	struct sonde_try_entries entries = {0};
	size_t number = 0, found = 0;
	if (!sonde_try_entries_read(&entries, &request->journal))
		for (size_t i = 0; !found && i < entries.count; i++) {
			number += entries.entry[i].is_attempt != 0;
			found = strcmp(entries.entry[i].id, request->entry.id) ? 0 : number;
		}
	sonde_try_entries_fini(&entries);
	return found;
}

/* Shows an attempt's figures and returns the exit code. `written`: 0, or the error of writing the journal, which then
 * determines the exit code. */
static int show_attempt(struct request *request, const struct sonde_try_entry *baseline, int written)
{
	struct sonde_bench_show *out = &request->runs.show;
	struct sonde_versus versus;
	struct sonde_versus_pair *pairs;
	char why[PATH_MAX + 512];
	snprintf(why, sizeof why, "%s", written ? sonde_error_text() : "");
	int code = sonde_try_evaluate(&versus, &pairs, &request->entry, baseline);
	char *line = request->entry.is_in_turn ? NULL : sonde_shell_line(baseline->words);
	if (!code) {
		out->attempt = written ? 0 : number_of(request);
		out->what = request->entry.what;
		out->baseline_at = request->entry.is_in_turn ? NULL : baseline->time;
		if (line)
			out->command[SONDE_BASELINE] = line;
		show(request, &versus);
	}
	free(line);
	free(pairs);
	if (written)
		return sonde_error(-written, "%s", why), SONDE_EXIT_OURS;
	int status = exit_of(request, code);
	return status || !request->gate ? status : sonde_bench_gate(sonde_versus_verdict(&versus));
}

static int measure_attempt(struct request *request, const struct sonde_try_entry *baseline)
{
	struct sonde_bench_runs *runs = &request->runs;
	if (sonde_journal_check(&request->journal))
		return SONDE_EXIT_OURS;
	request->again = (struct sonde_try_again){.journal = &request->journal, .command = request->command};
	char **again = sonde_try_words_again(&request->again, baseline);
	request->entry.is_in_turn = again != NULL;
	int code = sonde_bench_runs_init(runs, request->command, again, 0);
	code = code ? code : sonde_bench_runs_measure(runs);
	code = code ? code : measured(request);
	if (code)
		return exit_of(request, code);
	return show_attempt(request, baseline, sonde_try_entry_write(&request->entry, &request->journal));
}

static int run_attempt(struct request *request)
{
	struct sonde_try_entry *entry = &request->entry;
	int code = sonde_try_entries_read(&request->entries, &request->journal);
	if (code && code != -ENOENT)
		return SONDE_EXIT_UNREADABLE;
	const struct sonde_try_entry *baseline = sonde_try_baseline(&request->entries);
	if (!baseline || !baseline->count) {
		sonde_error(ENOENT, "%s has no baseline%s: sonde try baseline %s -- COMMAND measures one",
			    request->word[1], request->entries.damaged ? " that can be read" : "", request->word[1]);
		return SONDE_EXIT_UNREADABLE;
	}
	if (init_entry(request))
		return SONDE_EXIT_OURS;
	entry->is_attempt = 1;
	entry->what = strdup(request->word[2]);
	if (!entry->what) {
		sonde_error(ENOMEM, "out of memory for an entry");
		return SONDE_EXIT_OURS;
	}
	memcpy(entry->baseline, baseline->id, sizeof entry->baseline);
	int status = check(request, baseline);
	return status ? status : measure_attempt(request, baseline);
}

/* --- sonde try report -------------------------------------------------------------------------------------------- */

static int render(struct request *request, struct sonde_report *report)
{
	struct sonde_format_options style;
	sonde_output_style(&style, request->out.file);
	return request->form->render(report, &style, request->out.file);
}

static int report_one(struct request *request, struct sonde_report *report)
{
	int code = sonde_try_entries_read(&request->entries, &request->journal);
	if (code == -ENOENT)
		return sonde_error(ENOENT, "%s: no experiment %s: sonde try report lists them", request->journal.folder,
				   request->word[1]);
	report->title = request->word[1];
	report->path = request->journal.path;
	code = code ? code : sonde_try_report(report, request->word[1], &request->entries);
	code = code ? code : sonde_report_status(report);
	return code ? code : render(request, report);
}

static int report_all(struct request *request, struct sonde_report *report)
{
	struct sonde_journal_names names;
	int code = sonde_journal_names(&names, &request->journal);
	if (!code && !names.count)
		code = sonde_error(ENOENT, "%s: no experiments yet: sonde try baseline NAME -- COMMAND starts one",
				   request->journal.folder);
	report->title = "experiments";
	report->path = request->journal.folder;
	code = code ? code : sonde_try_report_all(report, &request->journal, &names);
	code = code ? code : sonde_report_status(report);
	code = code ? code : render(request, report);
	sonde_journal_names_free(&names);
	return code;
}

static int run_report(struct request *request)
{
	struct sonde_report *report;
	int code = sonde_report_new(&report);
	if (code)
		return SONDE_EXIT_OURS;
	code = request->word_count > 1 ? report_one(request, report) : report_all(request, report);
	sonde_report_free(report);
	return code ? SONDE_EXIT_UNREADABLE : SONDE_EXIT_OK;
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static const struct action {
	const char *name, *usage;
	size_t least, most; /* least and greatest number of words, including the subcommand's name */
	int has_command;
	int (*run)(struct request *request);
} actions[] = {
    {"baseline", "NAME -- COMMAND", 2, 2, 1, run_baseline},
    {"run", "NAME 'WHAT WAS CHANGED' -- COMMAND", 3, 3, 1, run_attempt},
    {"report", "[NAME]", 1, 2, 0, run_report},
};

static int take(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	(void)option;
	if (request->word_count < WORDS)
		request->word[request->word_count] = value;
	request->word_count++;
	return 0;
}

static const struct action *choose(const struct request *request)
{
	for (size_t i = 0; request->word_count && i < sizeof actions / sizeof *actions; i++) {
		const struct action *action = &actions[i];
		if (strcmp(action->name, request->word[0]) != 0)
			continue;
		if (request->word_count >= action->least && request->word_count <= action->most &&
		    (*request->command != NULL) == action->has_command)
			return action;
		fprintf(stderr, "sonde try: sonde try %s [options] %s\n", action->name, action->usage);
		return NULL;
	}
	fprintf(stderr, "sonde try: %s%s%suse sonde try baseline, run or report\n", request->word_count ? "'" : "",
		request->word_count ? request->word[0] : "", request->word_count ? "' is not a subcommand: " : "");
	return NULL;
}

static const struct sonde_format *choose_format(const struct request *request)
{
	const char *name = request->format ? request->format : request->json ? "json" : "text";
	const struct sonde_format *format = sonde_output_report_format(name);
	if (!format)
		fprintf(stderr, "sonde try: unknown report format '%s': use text, json, csv or md\n", name);
	return format;
}

static int act(struct request *request, const struct action *action)
{
	if (sonde_journal_init(&request->journal, request->folder))
		return sonde_command_complain("try", SONDE_EXIT_OURS);
	if (request->word_count > 1) {
		int code = sonde_journal_name(&request->journal, request->word[1]);
		if (code)
			return sonde_command_complain("try", SONDE_EXIT_OURS),
			       code == -EINVAL ? SONDE_EXIT_USAGE : SONDE_EXIT_OURS;
	}
	if (sonde_output_open(&request->out, request->output, request->force))
		return sonde_command_complain("try", SONDE_EXIT_OURS), SONDE_EXIT_USAGE;
	int status = action->run(request),
	    is_verdict = status == SONDE_EXIT_NEGATIVE || status == SONDE_EXIT_INCONCLUSIVE;
	int is_bad = status && !is_verdict;
	if (is_bad)
		sonde_command_complain("try", SONDE_EXIT_OURS);
	int closed = sonde_output_close(&request->out, is_bad && !request->is_shown ? -ECANCELED : 0);
	if (closed && !is_bad) {
		sonde_command_complain("try", SONDE_EXIT_OURS);
		status = SONDE_EXIT_OURS;
	}
	return status;
}

static int run(int argc, char **argv)
{
	struct request request = {.runs = {.warmup = SONDE_BENCH_WARMUPS, .margin = SONDE_BENCH_MARGIN}};
	struct sonde_parse parse = {.command = sonde_command_find("try"), .context = &request, .found = take};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	request.command = argv + parse.remainder;
	request.word_count -= (size_t)(argc - parse.remainder);
	const struct action *action = choose(&request);
	request.form = action ? choose_format(&request) : NULL;
	if (!action || !request.form)
		return SONDE_EXIT_USAGE;
	int status = act(&request, action);
	sonde_bench_runs_fini(&request.runs);
	sonde_try_entry_fini(&request.entry);
	sonde_try_entries_fini(&request.entries);
	sonde_try_again_fini(&request.again);
	return status;
}

const struct sonde_command sonde_command_try = {
    .name = "try",
    .title = "keep a journal of attempts to speed up a command",
    .usage = "baseline NAME -- CMD | run NAME 'WHAT' -- CMD | report [NAME]",
    .options = options,
    .examples = "sonde try baseline --keep parser -- ./app input\n"
		"sonde try run parser 'a table instead of a switch' -- ./app input\n"
		"sonde try report parser\n"
		"sonde try report --json parser | jq .improved",
    .run = run,
    .glossary = "Journal: .sonde-try in the working directory or above, else where .git is\nNAME.jsonl\ta line for "
		"each baseline and each attempt: its runs, zones, command, files and machine\nbaseline\tis run again, "
		"interleaved with each attempt, if its command differs or its program was copied (--keep)\n",
};
