/* choices.c: the possible values of options, taken from the tables of their modules.
 *
 * An option whose argument is named here automatically gets its values into help, man page and completion.
 */
#include "cli/common/choices.h"

#include <string.h>

#include "analyze/pass.h"
#include "export/format.h"
#include "export/plot/plots.h"
#include "session/weigh.h"

static const char *sort_at(size_t i)
{
	static const char *const keys[] = {"self", "total", "count", "name", "latency"};
	return i < sizeof keys / sizeof *keys ? keys[i] : NULL;
}

static const char *format_at(size_t i)
{
	return i < sonde_format_count ? sonde_formats[i]->name : NULL;
}

static const char *section_at(size_t i)
{
	return i < sonde_pass_count ? sonde_passes[i]->name : NULL;
}

static const char *weight_at(size_t i)
{
	return i < SONDE_WEIGH_COUNT ? sonde_weigh_rows[i].name : NULL;
}

/* Lists the values of HEAP that are the same for all recordings; the name of a memory pool is valid, too. */
static const char *heap_at(size_t i)
{
	static const char *const heaps[] = {SONDE_WEIGH_MALLOC, SONDE_WEIGH_MAPPINGS};
	return i < sizeof heaps / sizeof *heaps ? heaps[i] : NULL;
}

static const char *plot_at(size_t i)
{
	return i < sonde_plot_count ? sonde_plots[i].name : NULL;
}

static const char *change_at(size_t i)
{
	return i < sonde_diff_plot_count ? sonde_diff_plots[i].name : NULL;
}

static const struct {
	const char *argument;
	const char *(*at)(size_t i); /* the i-th value; NULL after the last */
} choices[] = {
    {"KEY", sort_at},  {"FORMAT", format_at}, {"SECTION", section_at}, {"METRIC", weight_at},
    {"HEAP", heap_at}, {"PLOT", plot_at},     {"CHANGE", change_at},
};

static const char *(*table_of(const char *argument))(size_t)
{
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		if (strcmp(choices[i].argument, argument) == 0)
			return choices[i].at;
	return NULL;
}

int sonde_choices_known(const char *argument)
{
	return table_of(argument) != NULL;
}

void sonde_choices_print(FILE *out, const char *argument, const char *separator)
{
	const char *(*at)(size_t) = table_of(argument);
	for (size_t i = 0; at && at(i); i++)
		fprintf(out, "%s%s", i ? separator : "", at(i));
}
