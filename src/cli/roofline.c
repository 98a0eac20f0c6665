/* roofline.c: `sonde roofline`: measures the peak rates of this machine, and shows how close recorded work came to
 * them.
 *
 * The machine is measured once, and the result stored in the user's cache; `sonde record` copies it into recordings. A
 * recording is always compared with the machine that it was made on (analyze/work/roofline.h).
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/work/roofline.h"
#include "cli/common/output.h"
#include "cli/common/rendering.h"
#include "export/plot/roofline_svg.h"
#include "roof/measure.h"
#include "roof/roof.h"
#include "source/resource/cgroup.h"

struct request {
	struct sonde_rendering rendering; /* must be first: the options of reports refer to it */
	int measure, ceilings;
	const char *datasheet;
};

#define AT(member) offsetof(struct request, member)
#define RENDERING(member) offsetof(struct sonde_rendering, member)

static const struct sonde_option options[] = {
    {"measure", 0, NULL, "measure this machine's ceilings (15 s, idle machine)", SONDE_FLAG(AT(measure))},
    {"ceilings", 0, NULL, "show the saved ceilings", SONDE_FLAG(AT(ceilings))},
    {"datasheet", 0, "FILE", "add the vendor's peaks: lines 'fp64 1.2T', 'dram 140G'", SONDE_TEXT(AT(datasheet))},
    {"format", 'f', "FORMAT", "output format; svg, html and png draw the roofline", SONDE_TEXT(RENDERING(format))},
    {"output", 'o', "FILE", "output file; its extension sets the format", SONDE_TEXT(RENDERING(output))},
    {"limit", 'n', "N", "maximum rows in a table (default 20)", SONDE_FOUND},
    {"thread", 0, "THREAD", "only threads with this tid or name", SONDE_TEXT(RENDERING(thread))},
    {"from", 0, "TIME", "only from TIME since the start on (1.5s, 200ms)", SONDE_TEXT(RENDERING(from))},
    {"to", 0, "TIME", "only up to TIME since the start", SONDE_TEXT(RENDERING(to))},
    {"json", 0, NULL, "the same as -f json", SONDE_FOUND},
    {"force", 0, NULL, "overwrite FILE", SONDE_FLAG(RENDERING(force))},
    {"quiet", 'q', NULL, "print only errors", SONDE_FLAG(RENDERING(quiet))},
    {0},
};

/* Chooses the format by its name, or by the output's extension. */
static void choose_picture(struct sonde_rendering *rendering)
{
	static const struct sonde_format *const pictures[] = {&sonde_format_roofline_svg, &sonde_format_roofline_html,
							      &sonde_format_roofline_png};
	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
		if (rendering->format ? !strcmp(rendering->format, pictures[i]->name)
				      : sonde_output_ends_with(rendering->output, pictures[i]->extension))
			rendering->picture = pictures[i];
}

/* --- ceilings ----------------------------------------------------------------------------------------------------- */

static void show_progress(void *context, unsigned done, unsigned all, const char *what)
{
	(void)context;
	fprintf(stderr, "\rsonde: measuring: %3u %%  %-30s", all ? 100 * done / all : 0, what);
}

static int measure(const struct request *request, struct sonde_roof *roof)
{
	int is_shown = !request->rendering.quiet && isatty(STDERR_FILENO);
	const struct sonde_roof_options wanted = {.quota = sonde_cgroup_quota("", 0),
						  .progress = is_shown ? show_progress : NULL};
	int code = sonde_roof_measure(roof, &wanted);
	if (is_shown)
		fprintf(stderr, "\r%60s\r", "");
	return code;
}

static void say_few(const struct request *request, const struct sonde_roof *roof)
{
	if (!request->rendering.quiet && roof->threads < roof->cpus)
		fprintf(stderr,
			"sonde roofline: measured on the %llu of %llu CPUs that may be used here; saved as this "
			"machine's ceilings until measured again\n",
			(unsigned long long)roof->threads, (unsigned long long)roof->cpus);
}

/* Measures the ceilings. Figures from the datasheet that are already stored are kept; they are read first, so that an
 * error there is reported before the long measurement. */
static int make(const struct request *request, struct sonde_roof *roof)
{
	struct sonde_roof before = {0};
	int had = sonde_roof_load(&before);
	int code = request->datasheet ? sonde_roof_datasheet(&before, request->datasheet) : 0;
	if (!code)
		code = request->measure ? measure(request, roof) : had;
	if (code)
		return code;
	if (!request->measure) {
		*roof = before;
	} else {
		memcpy(roof->datasheet_flops, before.datasheet_flops, sizeof roof->datasheet_flops);
		roof->datasheet_bytes = before.datasheet_bytes;
	}
	code = request->measure || request->datasheet ? sonde_roof_store(roof) : 0;
	if (!code && request->measure)
		say_few(request, roof);
	return code;
}

static const struct sonde_format *format_of(const struct sonde_rendering *rendering)
{
	if (rendering->picture)
		return rendering->picture;
	const struct sonde_format *format = sonde_output_report_format(rendering->format ? rendering->format : "text");
	if (!format)
		fprintf(stderr, "sonde roofline: unknown format '%s': use text, json, csv, md, svg, html or png\n",
			rendering->format);
	return format;
}

static int render(const struct request *request, const struct sonde_roof *roof, const struct sonde_format *format)
{
	struct sonde_report *report;
	int code = sonde_report_new(&report);
	if (code)
		return code;
	report->title = "Measured ceilings";
	report->path = "";
	code = sonde_roofline_ceilings(roof, report);
	code = code ? code : sonde_report_status(report);
	code = code ? code : sonde_output_report(report, format, request->rendering.output, request->rendering.force);
	sonde_report_free(report);
	return code;
}

static int show_ceilings(const struct request *request)
{
	struct sonde_roof roof;
	const struct sonde_format *format = format_of(&request->rendering);
	if (!format)
		return SONDE_EXIT_USAGE;
	if (request->rendering.file)
		return sonde_command_wrong("roofline",
					   "'%s' has its own ceilings; show it separately: sonde roofline %s",
					   request->rendering.file, request->rendering.file);
	int code = make(request, &roof);
	code = code ? code : render(request, &roof, format);
	if (code == -EEXIST || code == -EINVAL)
		return sonde_command_complain("roofline", SONDE_EXIT_USAGE);
	return code ? sonde_command_complain("roofline", code == -ENOENT ? SONDE_EXIT_UNREADABLE : SONDE_EXIT_OURS)
		    : SONDE_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.rendering = {.command = "roofline", .sections = "roofline"}};
	struct sonde_parse parse = {
	    .command = sonde_command_find("roofline"), .found = sonde_rendering_take, .context = &request};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	choose_picture(&request.rendering);
	if (request.measure || request.ceilings || request.datasheet)
		return show_ceilings(&request);
	request.rendering.session.no_symbols = 1; /* zones have names without symbols */
	if (!request.rendering.format && !request.rendering.output)
		request.rendering.format = "text";
	return sonde_rendering_run(&request.rendering);
}

const struct sonde_command sonde_command_roofline = {
    .name = "roofline",
    .title = "compare performance with the machine's ceilings",
    .usage = "[options] [FILE]",
    .options = options,
    .examples = "sonde roofline --measure\n"
		"sonde roofline app.sonde\n"
		"sonde roofline -o app.html app.sonde\n",
    .run = run,
};
