/* clean.h: makes names safe to display.
 *
 * Names come from targets and may hold anything: terminal escapes, newlines, bidirectional controls, bytes that are not
 * UTF-8. Characters that could move a cursor, or hide or reorder text, are shown as escapes (\n, \x1b, \u{202e}); a
 * byte that is not UTF-8 as \xff. The result is valid UTF-8 of visible characters. Texts longer than SONDE_CLEAN_MAX
 * characters end in an ellipsis. JSON output is not cleaned: JSON has escapes of its own, which keep names exact.
 */
#ifndef SONDE_EXPORT_CLEAN_H
#define SONDE_EXPORT_CLEAN_H

#include <stddef.h>
#include <stdio.h>

#include "util/buf.h"

#define SONDE_CLEAN_MAX 8192

/* Appends `text`, cleaned; returns its width in terminal columns (a wide character: 2). ascii: only ASCII. */
size_t sonde_clean(struct sonde_buf *out, const char *text, int ascii);

/* Like sonde_clean(), in at most `columns` columns: the middle of a longer text is cut out. */
size_t sonde_clean_cut(struct sonde_buf *out, const char *text, size_t columns, int ascii);

/* Appends the beginning of an already clean text, in at most `columns` columns. */
size_t sonde_clean_head(struct sonde_buf *out, const char *text, size_t columns);

/* Returns the width in columns of an already clean text. */
size_t sonde_clean_columns(const char *text);

/* The cleaned text as a string in `scratch` (emptied first); "" if out of memory. */
const char *sonde_clean_text(struct sonde_buf *scratch, const char *text);

/* Writes a text for markup (SVG, HTML), with entities for special characters. Clean it first. */
void sonde_clean_markup(FILE *out, const char *text);

#endif
