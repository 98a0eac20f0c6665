/* roofline_html.c: the roofline's picture and tables in one self-contained page, light or dark.
 *
 * Figures are formatted as in the text report (text/figure.h). An absent figure is a dash with the reason as hover
 * text.
 */
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/format.h"
#include "export/plot/roofline_svg.h"

#define TEXT_MAX_B (1 << 16)

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<style>\n"
    "body{margin:0 auto;max-width:1240px;padding:12px 16px;background:#fbfbfa;color:#1d2126;"
    "font:14px system-ui,-apple-system,\"Segoe UI\",\"Liberation Sans\",\"DejaVu Sans\",sans-serif}\n"
    "svg.rl{width:100%;height:auto}h2{font-size:16px;margin:22px 0 6px}.wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;white-space:nowrap}th,td{padding:3px 10px;text-align:right;"
    "border-bottom:1px solid #e4e6e8}th{font-weight:600}td.t,th.t{text-align:left}\n"
    "p{margin:4px 0;color:#5c636b}p.w{color:#9a3b00}\n"
    "@media (prefers-color-scheme: dark){body{background:#15171b;color:#e6e8eb}th,td{border-color:#2a2e34}"
    "p{color:#9aa1a9}p.w{color:#f0a978}}\n</style>\n<title>";

static void put_clean(FILE *out, struct sonde_buf *scratch, const char *text)
{
	sonde_clean_markup(out, sonde_clean_text(scratch, text));
}

static void put_cell(FILE *out, struct sonde_buf *scratch, const struct sonde_column *column,
		     const struct sonde_cell *cell)
{
	fputs(column->unit == SONDE_UNIT_TEXT ? "<td class=\"t\"" : "<td", out);
	if (cell->kind == SONDE_CELL_ABSENT) {
		fputs(" title=\"", out);
		put_clean(out, scratch, cell->text ? cell->text : "not known");
		fputs("\">–</td>", out);
		return;
	}
	putc('>', out);
	if (cell->kind == SONDE_CELL_TEXT) {
		put_clean(out, scratch, cell->text);
	} else {
		sonde_buf_clear(scratch);
		sonde_figure(scratch, column->unit, cell, 0);
		sonde_clean_markup(out, sonde_buf_string(scratch));
	}
	fputs("</td>", out);
}

static void put_section(FILE *out, struct sonde_buf *scratch, const struct sonde_section *section)
{
	const struct sonde_table *table = &section->table;
	fputs("<h2>", out);
	put_clean(out, scratch, section->title);
	fputs("</h2>\n<div class=\"wide\"><table><tr>", out);
	for (size_t i = 0; i < table->column_count; i++) {
		fputs(table->columns[i].unit == SONDE_UNIT_TEXT ? "<th class=\"t\">" : "<th>", out);
		put_clean(out, scratch, table->columns[i].title);
		fputs("</th>", out);
	}
	fputs("</tr>\n", out);
	for (size_t row = 0; row < table->row_count; row++) {
		fputs("<tr>", out);
		for (size_t i = 0; i < table->column_count; i++)
			put_cell(out, scratch, &table->columns[i], &table->cells[row * table->column_count + i]);
		fputs("</tr>\n", out);
	}
	fputs("</table></div>\n", out);
	if (table->omitted)
		fprintf(out, "<p>%zu more</p>\n", table->omitted);
	for (const struct sonde_note *note = section->notes; note; note = note->next) {
		fputs(note->warning ? "<p class=\"w\">" : "<p>", out);
		put_clean(out, scratch, note->text);
		fputs("</p>\n", out);
	}
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	static const char *const ids[] = {"roofline", "roofs", "device-roofs"};
	struct sonde_buf scratch;
	(void)options;
	sonde_buf_init(&scratch, TEXT_MAX_B);
	fputs(head, out);
	put_clean(out, &scratch, report->title && *report->title ? report->title : "Measured ceilings");
	fputs("</title></head><body>\n", out);
	int rc = sonde_roofline_svg(report, out);
	for (size_t i = 0; i < sizeof ids / sizeof *ids && !rc; i++) {
		const struct sonde_section *section = sonde_report_find(report, ids[i]);
		if (section)
			put_section(out, &scratch, section);
	}
	fputs("</body></html>\n", out);
	sonde_buf_fini(&scratch);
	return rc;
}

const struct sonde_format sonde_format_roofline_html = {
    .name = "html",
    .extension = ".html",
    .title = "roofline as a page: picture and tables",
    .section = "roofline",
    .render = render,
};
