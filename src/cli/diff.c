/* diff.c: `sonde diff`: compares recordings, or results of `sonde bench`, and tells whether differences are more than
 * chance.
 *
 * Two recordings are opened together. With several per side, each is read and closed again, and only its figures are
 * kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/runs.h"
#include "cli/bench/file.h"
#include "cli/bench/runs.h"
#include "cli/common/command.h"
#include "cli/bench/diff_bench.h"
#include "cli/common/output.h"
#include "cli/plot.h"
#include "cli/common/progress.h"
#include "export/format.h"
#include "util/error.h"
#include "util/quantity.h"

#define MOST_ROWS 1000000
enum { PLOT_ROWS = 12, PLOT_ROWS_MAX = 60 };

struct request {
	char **file; /* the baselines, then the candidates */
	size_t files, baselines;
	const char *format, *output, *sections;
	const char *plot; /* name of a plot, or "list"; NULL = none */
	uint64_t limit;
	double margin;
	int gate, force;
	struct sonde_session_options session;
	struct sonde_session *session_of[2]; /* of two recordings, kept open: the report refers to their texts */
	/* Results. */
	enum sonde_verdict verdict;
	int is_comparable;
};

#define AT(member) offsetof(struct request, member)

static int set_margin(void *context, const char *value)
{
	return sonde_quantity_share(&((struct request *)context)->margin, value);
}

static const struct sonde_option options[] = {
    {"format", 'f', "FORMAT", "output format (default text)", SONDE_TEXT(AT(format))},
    {"output", 'o', "FILE", "output file (default: standard output)", SONDE_TEXT(AT(output))},
    {"section", 's', "LIST", "sections: diff, diff-{iterations,zones,functions,calltree}", SONDE_TEXT(AT(sections))},
    {"limit", 'n', "N", "maximum rows of functions and zones (default 20)", SONDE_NUMBER(AT(limit), 1, MOST_ROWS)},
    {"plot", 0, "CHANGE", "draw a plot as svg or png; list names them", SONDE_TEXT(AT(plot))},
    {"margin", 'm', "SHARE", "smallest difference that matters (default 1%)", SONDE_BY(set_margin)},
    {"gate", 0, NULL, "exit 1 if regressed, 3 inconclusive, 4 not comparable", SONDE_FLAG(AT(gate))},
    {"no-symbols", 0, NULL, "use only the symbols in the recordings", SONDE_FLAG(AT(session.no_symbols))},
    {"force", 0, NULL, "overwrite FILE if it exists", SONDE_FLAG(AT(force))},
    {0},
};

static int take(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	(void)option;
	char **grown = reallocarray(request->file, request->files + 1, sizeof *grown);
	if (!grown) {
		fprintf(stderr, "sonde diff: out of memory for %zu files\n", request->files + 1);
		return SONDE_EXIT_OURS;
	}
	request->file = grown;
	grown[request->files++] = (char *)(uintptr_t)value;
	return 0;
}

/* Finds the baselines: the files before `--`, or the first file if there are two. `behind`: number of files after `--`.
 * 0 or an exit code. */
static int divide(struct request *request, size_t behind)
{
	request->baselines = request->files - behind;
	if (!behind || !request->baselines)
		request->baselines = request->files == 2 ? 1 : 0;
	if (request->baselines)
		return 0;
	fprintf(stderr,
		request->files > 2
		    ? "sonde diff: which of the %zu files are the baselines? sonde diff BASELINE… -- CANDIDATE…\n"
		    : "sonde diff: two recordings are needed, got %zu: sonde diff BASELINE CANDIDATE\n",
		request->files);
	return SONDE_EXIT_USAGE;
}

/* Rejects options that do not apply to plots; 0, or an exit code after printing a message. */
static int check_plot(const struct request *request, int is_list)
{
	if (request->sections)
		fputs("sonde diff: --plot and --section exclude each other: leave one of them out\n", stderr);
	else if (is_list && request->format)
		fputs("sonde diff: --plot list prints text; leave out -f\n", stderr);
	else if (request->limit > PLOT_ROWS_MAX)
		fprintf(stderr, "sonde diff: a plot shows at most %d rows; -n %llu is too many\n", PLOT_ROWS_MAX,
			(unsigned long long)request->limit);
	else
		return 0;
	return SONDE_EXIT_USAGE;
}

static const struct sonde_format *choose_plot(struct request *request)
{
	const struct sonde_plot_requested requested = {sonde_diff_plots, request->plot,   "diff",
						       request->format,  request->output, sonde_diff_plot_count};
	int is_list = !strcmp(request->plot, "list");
	const struct sonde_plot_row *row = is_list ? NULL : sonde_plot_find(&requested);
	if ((!row && !is_list) || check_plot(request, is_list))
		return NULL;
	request->sections = row ? row->sections : "diff-functions,diff-zones";
	request->limit = request->limit ? request->limit : PLOT_ROWS;
	return row ? sonde_plot_form(&requested, row) : &sonde_format_diff_plots;
}

static const struct sonde_format *choose_format(struct request *request)
{
	if (request->plot)
		return choose_plot(request);
	const char *name = request->format ? request->format : "text";
	const struct sonde_format *format = sonde_output_report_format(name);
	if (!format)
		fprintf(stderr, "sonde diff: unknown report format '%s': use text, json, csv or md\n", name);
	return format;
}

/* --- two recordings ---------------------------------------------------------------------------------------------- */

static int compare_two(struct request *request, struct sonde_report *report)
{
	const struct sonde_diff_options wanted = {request->margin, (size_t)request->limit, request->sections};
	struct sonde_diff diff = {.options = &wanted, .report = report};
	int code = 0;
	for (int i = 0; !code && i < 2; i++)
		code = sonde_session_open(&request->session_of[i], request->file[i], &request->session);
	diff.baseline = request->session_of[0];
	diff.candidate = request->session_of[1];
	code = code ? code : sonde_diff_run(&diff);
	request->verdict = diff.verdict;
	request->is_comparable = diff.is_comparable;
	return code;
}

/* --- several ----------------------------------------------------------------------------------------------------- */

/* Reads the figures of one recording. `id` becomes the recording's id, from the file header. */
static int read_one(struct sonde_diff_recording *out, uint64_t id[2], const struct request *request, const char *path)
{
	struct sonde_session *session = NULL;
	int code = sonde_session_open(&session, path, &request->session);
	code = code ? code : sonde_diff_recording_read(out, session);
	if (!code)
		memcpy(id, sonde_session_head(session)->id, 2 * sizeof *id);
	if (session)
		sonde_session_close(session);
	return code;
}

/* True if two files are on the same side. */
static int is_one_side(const struct request *request, size_t i, size_t k)
{
	return (i < request->baselines) == (k < request->baselines);
}

/* Rejects a file with the same id as an earlier file on its side: it is a copy of the same recording. 0 = no id. */
static int check_ids(const struct request *request, const uint64_t (*id)[2], size_t last)
{
	for (size_t i = 0; i < last; i++)
		if (is_one_side(request, i, last) && (id[i][0] || id[i][1]) && id[i][0] == id[last][0] &&
		    id[i][1] == id[last][1])
			return sonde_error(EINVAL, "%s and %s hold the same recording: name each run only once",
					   request->file[i], request->file[last]);
	return 0;
}

/* Rejects a file that is named twice on a side, because it would count as two runs. */
static int check_once(const struct request *request)
{
	struct stat a, b;
	for (size_t i = 0; i < request->files; i++)
		for (size_t k = i + 1; k < request->files && is_one_side(request, i, k); k++)
			if (!stat(request->file[i], &a) && !stat(request->file[k], &b) && a.st_dev == b.st_dev &&
			    a.st_ino == b.st_ino)
				return sonde_error(EINVAL, "%s is named twice on one side: name each run only once",
						   request->file[k]);
	return 0;
}

static int compare_several(struct request *request, struct sonde_report *report)
{
	const struct sonde_diff_options wanted = {request->margin, (size_t)request->limit, request->sections};
	struct sonde_diff_recording *all = calloc(request->files, sizeof *all);
	uint64_t(*id)[2] = calloc(request->files, sizeof *id);
	size_t read = 0;
	int code = check_once(request);
	code = code || (all && id) ? code : sonde_error(ENOMEM, "out of memory for %zu recordings", request->files);
	for (; !code && read < request->files; read++) {
		code = read_one(&all[read], id[read], request, request->file[read]);
		code = code ? code : check_ids(request, (const uint64_t(*)[2])id, read);
	}
	if (!code) {
		struct sonde_diff_runs runs = {.run = {all, all + request->baselines},
					       .count = {request->baselines, request->files - request->baselines},
					       .options = &wanted,
					       .report = report};
		code = sonde_diff_runs(&runs);
		sonde_diff_choose(report, request->sections);
		request->verdict = runs.verdict;
		request->is_comparable = runs.is_comparable;
	}
	for (size_t i = 0; i < read; i++)
		sonde_diff_recording_fini(&all[i]);
	free(all);
	free(id);
	return code;
}

/* --- results of sonde bench -------------------------------------------------------------------------------------- */

static int compare_bench(struct request *request, struct sonde_report *report)
{
	struct sonde_diff_bench diff = {
	    .path = {request->file[0], request->file[1]}, .margin = request->margin, .report = report};
	int code = sonde_diff_bench(&diff);
	request->verdict = diff.verdict;
	request->is_comparable = diff.is_comparable;
	return code;
}

/* Rejects sections that this kind of comparison does not have; a negative errno with a message. */
static int check_sections(const struct request *request, int is_bench)
{
	if (is_bench && request->plot)
		return sonde_error(EINVAL, "results of sonde bench have no plots: leave --plot out");
	if (is_bench && request->sections)
		return sonde_error(EINVAL, "results of sonde bench have no sections: leave --section out");
	if (request->files > 2 && sonde_diff_has_section(request->sections, "diff-calltree"))
		return sonde_error(EINVAL, "diff-calltree compares two recordings, not %zu", request->files);
	return 0;
}

/* Rejects a mix of results and recordings; a negative errno with a message. */
static int check_kinds(const struct request *request, int *is_bench)
{
	size_t results = 0;
	for (size_t i = 0; i < request->files; i++)
		results += sonde_bench_file_is(request->file[i]) != 0;
	*is_bench = results != 0;
	if (results && results < request->files)
		return sonde_error(EINVAL, "cannot compare results of sonde bench with recordings");
	if (results && request->files > 2)
		return sonde_error(
		    EINVAL, "exactly two results of sonde bench can be compared, not %zu: each already holds many runs",
		    request->files);
	return 0;
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static const char *title_of(const struct request *request, struct sonde_report *report)
{
	size_t candidates = request->files - request->baselines;
	if (request->files == 2)
		return sonde_report_text(report, "%s → %s", request->file[0], request->file[1]);
	return sonde_report_text(report, "%s and %zu more → %s and %zu more", request->file[0], request->baselines - 1,
				 request->file[request->baselines], candidates - 1);
}

static int compare(struct request *request, const struct sonde_format *format)
{
	struct sonde_report *report;
	int is_bench, code = check_kinds(request, &is_bench);
	code = code ? code : check_sections(request, is_bench);
	if (code || sonde_report_new(&report))
		return code ? code : -ENOMEM;
	report->title = title_of(request, report);
	report->path = request->file[request->baselines];
	if (!is_bench)
		sonde_progress_begin(
		    "sonde: reading the recordings and looking up symbols; --no-symbols skips the lookup\n");
	code = is_bench              ? compare_bench(request, report)
	       : request->files == 2 ? compare_two(request, report)
				     : compare_several(request, report);
	sonde_progress_end();
	code = code ? code : sonde_report_status(report);
	code = code ? code : sonde_output_report(report, format, request->output, request->force);
	sonde_report_free(report);
	for (int i = 0; i < 2; i++)
		if (request->session_of[i])
			sonde_session_close(request->session_of[i]);
	return code;
}

static int run(int argc, char **argv)
{
	struct request request = {.margin = SONDE_DIFF_MARGIN};
	struct sonde_parse parse = {.command = sonde_command_find("diff"), .context = &request, .found = take};
	int code = sonde_command_parse(&parse, argc, argv), status = code;
	const struct sonde_format *format = NULL;
	if (!code && !parse.done) {
		status = divide(&request, (size_t)(argc - parse.remainder));
		format = status ? NULL : choose_format(&request);
		status = status || format ? status : SONDE_EXIT_USAGE;
		if (!status && sonde_diff_check_sections(request.sections)) {
			status = sonde_command_complain("diff", SONDE_EXIT_USAGE);
			format = NULL;
		}
	}
	if (format) {
		code = compare(&request, format);
		if (code)
			status =
			    sonde_command_complain("diff", code == -EEXIST ? SONDE_EXIT_USAGE : SONDE_EXIT_UNREADABLE);
		else if (request.gate)
			status = request.is_comparable ? sonde_bench_gate(request.verdict) : SONDE_EXIT_UNREADABLE;
	}
	free(request.file);
	return status;
}

const struct sonde_command sonde_command_diff = {
    .name = "diff",
    .title = "compare recordings, or results of sonde bench",
    .usage = "[options] BASELINE CANDIDATE | BASELINE… -- CANDIDATE…",
    .options = options,
    .examples = "sonde diff before.sonde after.sonde\n"
		"sonde diff --gate before-*.sonde -- after-*.sonde\n"
		"sonde diff --section diff-calltree -n 100 before.sonde after.sonde\n"
		"sonde diff --plot functions -o change.svg before.sonde after.sonde\n"
		"sonde diff monday.json today.json\n"
		"sonde diff -f json before.sonde after.sonde | jq .verdict\n",
    .run = run,
};
