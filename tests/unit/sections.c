/* sections.c: finds sections, rows and cells of a report, for tests. */
#include "sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "util/error.h"

struct sections sections_of(const char *path, const char *passes, const struct sonde_pass_options *options)
{
	struct sections sections;
	const struct sonde_pass *chosen[32];
	char names[512], *save = NULL;
	size_t count = 0;
	snprintf(names, sizeof names, "%s", passes);
	for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		chosen[count] = sonde_pass_find(name);
		assert_non_null(chosen[count]);
		count++;
	}
	const struct sonde_session_options plain = {.no_symbols = 1};
	if (sonde_session_open(&sections.session, path, &plain) < 0)
		fail_msg("%s", sonde_error_text());
	assert_int_equal(sonde_report_new(&sections.report), 0);
	if (sonde_pass_run(sections.session, chosen, count, options, sections.report) < 0)
		fail_msg("%s", sonde_error_text());
	return sections;
}

void sections_free(struct sections *sections)
{
	sonde_report_free(sections->report);
	sonde_session_close(sections->session);
}

const struct sonde_section *sections_find(const struct sections *sections, const char *id)
{
	const struct sonde_section *section = sections->report->first;
	while (section && strcmp(section->id, id) != 0)
		section = section->next;
	return section;
}

const struct sonde_section *sections_get(const struct sections *sections, const char *id)
{
	const struct sonde_section *section = sections_find(sections, id);
	if (!section)
		fail_msg("the report has no section %s", id);
	return section;
}

static size_t column_of(const struct sonde_section *section, const char *key)
{
	size_t i = 0;
	while (i < section->table.column_count && strcmp(section->table.columns[i].key, key) != 0)
		i++;
	if (i == section->table.column_count)
		fail_msg("section %s has no column %s", section->id, key);
	return i;
}

const struct sonde_cell *sections_row(const struct sonde_section *section, const char *key, const char *text)
{
	size_t column = column_of(section, key);
	for (size_t i = 0; i < section->table.row_count; i++) {
		const struct sonde_cell *row = section->table.cells + i * section->table.column_count;
		if (row[column].kind == SONDE_CELL_TEXT && strcmp(row[column].text, text) == 0)
			return row;
	}
	return NULL;
}

const struct sonde_cell *sections_cell(const struct sonde_section *section, const struct sonde_cell *row,
				       const char *key)
{
	return &row[column_of(section, key)];
}

static const struct sonde_cell *cell_of(const struct sonde_section *section, const char *key, const char *text,
					const char *column)
{
	const struct sonde_cell *row = sections_row(section, key, text);
	if (!row)
		fail_msg("section %s has no row %s", section->id, text);
	return sections_cell(section, row, column);
}

uint64_t sections_int(const struct sonde_section *section, const char *key, const char *text, const char *column)
{
	const struct sonde_cell *cell = cell_of(section, key, text, column);
	assert_int_equal(cell->kind, SONDE_CELL_INT);
	return cell->integer;
}

double sections_real(const struct sonde_section *section, const char *key, const char *text, const char *column)
{
	const struct sonde_cell *cell = cell_of(section, key, text, column);
	assert_int_equal(cell->kind, SONDE_CELL_REAL);
	return cell->real;
}

int sections_noted(const struct sonde_note *notes, const char *text)
{
	while (notes && !strstr(notes->text, text))
		notes = notes->next;
	return notes != NULL;
}
