/* lines.c: lines with a figure and remarks (stat/lines.h). A line is assembled first and then printed as a whole:
 * remarks start in the same column on every line, and wrapped lines continue there. */
#include "cli/stat/lines.h"

#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/text/text.h"

enum { LABEL = 14, FIGURE = 10, REMARK = 2 + LABEL + FIGURE + 2 };

static void put_figure(struct sonde_stat_lines *text, struct sonde_buf *to, enum sonde_stat figure)
{
	const struct sonde_cell *cell = &text->show->figures->cell[figure];
	sonde_figure(to, sonde_stat_row(figure)->unit, cell, text->style->ascii);
}

void sonde_stat_line_miss(struct sonde_stat_lines *text, const char *label, const char *why)
{
	label += strspn(label, " ");
	if (text->missed < SONDE_STAT_MISSED_MAX)
		text->miss[text->missed++] = (struct sonde_stat_miss){label, why};
}

void sonde_stat_lines_missed(struct sonde_stat_lines *text)
{
	struct sonde_buf line;
	sonde_buf_init(&line, SONDE_STAT_TEXT_MAX_B);
	for (size_t i = 0; i < text->missed; i++) {
		const char *why = text->miss[i].why, *comma = "";
		if (!text->miss[i].label)
			continue;
		sonde_buf_clear(&line);
		sonde_buf_text(&line, "Not measured: ");
		for (size_t k = i; k < text->missed; k++) {
			if (!text->miss[k].label || strcmp(text->miss[k].why, why) != 0)
				continue;
			sonde_buf_printf(&line, "%s%s", comma, text->miss[k].label);
			text->miss[k].label = NULL;
			comma = ", ";
		}
		sonde_buf_printf(&line, ": %s", why);
		putc('\n', text->out);
		sonde_text_wrap(text->out, sonde_buf_string(&line), text->style->width, 2);
	}
	sonde_buf_fini(&line);
}

int sonde_stat_lines_has_said(const struct sonde_stat_lines *text, const char *why)
{
	for (size_t i = 0; i < text->missed; i++)
		if (!strcmp(text->miss[i].why, why))
			return 1;
	return 0;
}

/* Returns the label of an unknown figure. In that list, outside its group, a label of the system's figures could be
 * mistaken for one of the program's. */
static const char *name_of(const char *label, enum sonde_stat figure)
{
	return figure == SONDE_STAT_MACHINE_CPU      ? "system CPU"
	       : figure == SONDE_STAT_MACHINE_MEMORY ? "system memory"
						     : label;
}

int sonde_stat_line_begin(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure)
{
	sonde_buf_clear(&text->figure);
	sonde_buf_clear(&text->remark);
	text->label = label;
	if (!sonde_stat_known(text->show->figures, figure)) {
		sonde_stat_line_miss(text, name_of(label, figure), text->show->figures->cell[figure].text);
		return 0;
	}
	put_figure(text, &text->figure, figure);
	return 1;
}

int sonde_stat_line_begin_some(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure)
{
	return sonde_stat_value(text->show->figures, figure) > 0 && sonde_stat_line_begin(text, label, figure);
}

void sonde_stat_line_say(struct sonde_stat_lines *text, const char *before)
{
	sonde_buf_printf(&text->remark, "%s%s", text->remark.len_b ? ", " : "", before);
}

void sonde_stat_line_more(struct sonde_stat_lines *text, const char *before, enum sonde_stat figure, const char *after)
{
	if (!sonde_stat_known(text->show->figures, figure))
		return;
	sonde_stat_line_say(text, before);
	put_figure(text, &text->remark, figure);
	sonde_buf_text(&text->remark, after);
}

void sonde_stat_line_more_value(struct sonde_stat_lines *text, enum sonde_unit unit, double value, const char *after)
{
	sonde_stat_line_say(text, "");
	sonde_figure_value(&text->remark, unit, value, text->style->ascii);
	sonde_buf_text(&text->remark, after);
}

void sonde_stat_line_end(struct sonde_stat_lines *text)
{
	struct sonde_buf clean;
	sonde_buf_init(&clean, SONDE_STAT_TEXT_MAX_B);
	if (text->group)
		fprintf(text->out, text->style->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text->group);
	text->group = NULL;
	const char *figure = sonde_buf_string(&text->figure), *remark = sonde_buf_string(&text->remark);
	int spaces = LABEL + FIGURE - (int)sonde_clean_columns(text->label) - (int)sonde_clean_columns(figure);
	fprintf(text->out, "  %s%*s%s", text->label, spaces > 0 ? spaces : 1, "", figure);
	sonde_clean(&clean, remark, text->style->ascii);
	if (*remark) {
		fprintf(text->out, "  ");
		sonde_text_wrap(text->out, sonde_buf_string(&clean), text->style->width, REMARK);
	} else {
		putc('\n', text->out);
	}
	sonde_buf_fini(&clean);
}
