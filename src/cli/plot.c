/* plot.c: --plot NAME: a plot instead of a report, in the format given by -f or the output's name. */
#include <stdio.h>
#include <string.h>

#include "cli/common/output.h"
#include "cli/plot.h"
#include "cli/common/rendering.h"
#include "export/plot/plots.h"

enum { PLOT_ROWS = 120, PLOT_ROWS_MAX = 1000, SECTIONS_MAX_B = 512 };

const struct sonde_plot_row *sonde_plot_find(const struct sonde_plot_requested *requested)
{
	const char *best = NULL;
	for (size_t i = 0; i < requested->count; i++)
		if (!strcmp(requested->rows[i].name, requested->name))
			return &requested->rows[i];
	for (size_t i = 0; i < requested->count; i++)
		sonde_command_nearer(requested->name, requested->rows[i].name, &best);
	fprintf(stderr, "sonde %s: unknown plot '%s'; ", requested->command, requested->name);
	if (best)
		fprintf(stderr, "did you mean %s?", best);
	else
		for (size_t i = 0; i < requested->count; i++)
			fprintf(stderr, "%s%s", i ? ", " : "known plots: ", requested->rows[i].name);
	fputs(" (--plot list names those of a recording)\n", stderr);
	return NULL;
}

/* Returns all sections that plots need, each only once. */
static const char *all_sections(void)
{
	static char sections[SECTIONS_MAX_B];
	size_t used = 0;
	for (size_t i = 0; i < sonde_plot_count; i++) {
		int is_new = 1;
		for (size_t before = 0; before < i; before++)
			is_new &= strcmp(sonde_plots[i].sections, sonde_plots[before].sections) != 0;
		if (is_new && used < sizeof sections)
			used += (size_t)snprintf(sections + used, sizeof sections - used, "%s%s", used ? "," : "",
						 sonde_plots[i].sections);
	}
	return sections;
}

/* True if the output has the format's extension, even if .gz follows. */
static int is_named_like(const char *output, const struct sonde_format *form)
{
	char zipped[64];
	snprintf(zipped, sizeof zipped, "%s.gz", form->extension);
	return sonde_output_ends_with(output, form->extension) || sonde_output_ends_with(output, zipped);
}

const struct sonde_format *sonde_plot_form(const struct sonde_plot_requested *requested,
					   const struct sonde_plot_row *row)
{
	const struct sonde_format *const forms[] = {&row->svg, &row->png};
	const struct sonde_format *named = NULL, *wanted = NULL;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		named = is_named_like(requested->output, forms[i]) ? forms[i] : named;
		wanted = requested->format && !strcmp(requested->format, forms[i]->name) ? forms[i] : wanted;
	}
	if (wanted && named && wanted != named)
		fprintf(
		    stderr,
		    "sonde %s: -f %s contradicts -o %s: the format is %s or %s; leave out -f, or name another file\n",
		    requested->command, requested->format, requested->output, wanted->name, named->name);
	else if (requested->format ? !wanted : !named)
		fprintf(stderr, "sonde %s: a plot is svg or png; name a file with -o %s.svg or -o %s.png\n",
			requested->command, row->name, row->name);
	else
		return requested->format ? wanted : named;
	return NULL;
}

/* Rejects options that do not apply to plots, or to their list. */
static int check_options(const struct sonde_rendering *rendering, int is_list)
{
	if (rendering->sections)
		fprintf(stderr, "sonde %s: --plot and --section exclude each other: leave one of them out\n",
			rendering->command);
	else if (is_list && rendering->format)
		fprintf(stderr, "sonde %s: --plot list prints text; leave out -f and --json\n", rendering->command);
	else if (rendering->pass.limit > PLOT_ROWS_MAX)
		fprintf(stderr, "sonde %s: a plot shows at most %d intervals; -n %zu is too many\n", rendering->command,
			PLOT_ROWS_MAX, rendering->pass.limit);
	else
		return 0;
	return SONDE_EXIT_USAGE;
}

int sonde_plot_choose(struct sonde_rendering *rendering)
{
	const struct sonde_plot_requested requested = {sonde_plots,       rendering->plot,   rendering->command,
						       rendering->format, rendering->output, sonde_plot_count};
	int is_list = !strcmp(rendering->plot, "list");
	const struct sonde_plot_row *row = is_list ? NULL : sonde_plot_find(&requested);
	if (!row && !is_list)
		return SONDE_EXIT_USAGE;
	int code = check_options(rendering, is_list);
	if (code)
		return code;
	rendering->sections = is_list ? all_sections() : row->sections;
	if (!rendering->pass.limit)
		rendering->pass.limit = PLOT_ROWS;
	if (is_list)
		rendering->is_named_like_recording = 0; /* the list is printed, not saved */
	rendering->picture = is_list ? &sonde_format_plots : sonde_plot_form(&requested, row);
	return rendering->picture ? 0 : SONDE_EXIT_USAGE;
}
