/* sections.h: runs passes over a recording and finds sections, rows and cells of the report, for tests. Whatever is not
 * found fails the test. */
#ifndef SONDE_TESTS_SECTIONS_H
#define SONDE_TESTS_SECTIONS_H

#include "analyze/pass.h"

struct sections {
	struct sonde_session *session;
	struct sonde_report *report;
};

/* Opens the recording and runs the passes named (separated by spaces). `options` may be NULL. */
struct sections sections_of(const char *path, const char *passes, const struct sonde_pass_options *options);
void sections_free(struct sections *sections);

/* NULL when there is none. */
const struct sonde_section *sections_find(const struct sections *sections, const char *id);
const struct sonde_section *sections_get(const struct sections *sections, const char *id);

/* The row whose cell in column `key` is this text; NULL when there is none. */
const struct sonde_cell *sections_row(const struct sonde_section *section, const char *key, const char *text);

/* A cell of a row by the column's key. */
const struct sonde_cell *sections_cell(const struct sonde_section *section, const struct sonde_cell *row,
				       const char *key);

/* Values of the row where column `key` is `text`: an integer, or a real. */
uint64_t sections_int(const struct sonde_section *section, const char *key, const char *text, const char *column);
double sections_real(const struct sonde_section *section, const char *key, const char *text, const char *column);

/* Whether a note contains the text. */
int sections_noted(const struct sonde_note *notes, const char *text);

#endif
