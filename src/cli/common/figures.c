/* figures.c: aligns columns of figures by display width (common/figures.h). */
#include "cli/common/figures.h"

#include <math.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/text/text.h"

#define LINE_MAX_B (1 << 16)

void sonde_figures_init(struct sonde_figures *figures, FILE *out, const struct sonde_format_options *style)
{
	*figures = (struct sonde_figures){.out = out, .style = style};
	sonde_buf_init(&figures->line, LINE_MAX_B);
}

void sonde_figures_fini(struct sonde_figures *figures)
{
	sonde_buf_fini(&figures->line);
}

void sonde_figures_right(struct sonde_figures *figures, const char *text, int width)
{
	int columns = (int)sonde_clean_columns(text);
	fprintf(figures->out, "%*s%s", columns < width ? width - columns : 1, "", text);
}

void sonde_figures_line_right(struct sonde_figures *figures, int width)
{
	sonde_figures_right(figures, sonde_buf_string(&figures->line), width);
	sonde_buf_clear(&figures->line);
}

/* Prints a value right-aligned; a dash if it is unknown. */
static void put_value(struct sonde_figures *figures, enum sonde_unit unit, double value, int is_known)
{
	if (is_known)
		sonde_figure_value(&figures->line, unit, value, figures->style->ascii);
	else
		sonde_buf_text(&figures->line, "-");
	sonde_figures_line_right(figures, SONDE_FIGURES_WIDTH);
}

void sonde_figures_command(struct sonde_figures *figures, const char *name, const char *command)
{
	const struct sonde_format_options *style = figures->style;
	struct sonde_buf cut;
	int name_columns = *name ? SONDE_FIGURES_LABEL : 0;
	sonde_buf_init(&cut, LINE_MAX_B);
	sonde_clean(&figures->line, command, style->ascii);
	sonde_clean_cut(&cut, sonde_buf_string(&figures->line), (size_t)(style->width - name_columns), style->ascii);
	fprintf(figures->out, style->color ? "%-*s\033[1m%.*s\033[0m\n" : "%-*s%.*s\n", name_columns, name,
		(int)cut.len_b, cut.len_b ? (const char *)cut.data : "");
	sonde_buf_clear(&figures->line);
	sonde_buf_fini(&cut);
}

void sonde_figures_spread_headings(struct sonde_figures *figures)
{
	const char *const headings[] = {
	    "mean", figures->style->ascii ? "+-95 %" : "±95 %", "deviation", "least", "median", "most"};
	fprintf(figures->out, "%*s", SONDE_FIGURES_LABEL, "");
	for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
		sonde_figures_right(figures, headings[i], SONDE_FIGURES_WIDTH);
	putc('\n', figures->out);
}

void sonde_figures_spread(struct sonde_figures *figures, const char *label, enum sonde_unit unit,
			  const struct sonde_spread *spread)
{
	fprintf(figures->out, "  %-*s", SONDE_FIGURES_LABEL - 2, label);
	put_value(figures, unit, spread->mean, 1);
	put_value(figures, unit, spread->half, spread->count > 1);
	put_value(figures, unit, spread->std, spread->count > 1);
	put_value(figures, unit, spread->min, 1);
	put_value(figures, unit, spread->median, 1);
	put_value(figures, unit, spread->max, 1);
}

void sonde_figures_spread_json(struct sonde_json *json, enum sonde_unit unit, const struct sonde_spread *spread)
{
	double scale = unit == SONDE_UNIT_NS ? 1e9 : 1;
	const struct {
		const char *key;
		double value;
		size_t least; /* minimum number of runs for this statistic */
	} members[] = {
	    {"mean", spread->mean, 1},
	    {"ci95_low", spread->mean - spread->half, 2},
	    {"ci95_high", spread->mean + spread->half, 2},
	    {"std", spread->std, 2},
	    {"min", spread->min, 1},
	    {"median", spread->median, 1},
	    {"max", spread->max, 1},
	};
	sonde_json_put_uint(json, "count", spread->count);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		sonde_json_put_real(json, members[i].key,
				    spread->count >= members[i].least ? members[i].value / scale : NAN);
}

void sonde_figures_sentence(struct sonde_figures *figures, const char *mark)
{
	fputs(mark, figures->out);
	sonde_text_wrap(figures->out, sonde_buf_string(&figures->line), figures->style->width, 2);
	sonde_buf_clear(&figures->line);
}
