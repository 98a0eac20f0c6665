/* clean.h: names made harmless to show.
 *
 * Names come from targets and may hold anything: terminal escapes, newlines, bidirectional controls, bytes that are not
 * UTF-8. What could move a cursor, hide or reorder text is shown as an escape (\n, \x1b, \u{202e}); a byte that is not
 * UTF-8 as \xff. The result is valid UTF-8 of visible characters. Texts longer than SONDE_CLEAN_MAX characters end in
 * an ellipsis. JSON does without this: it has escapes of its own and keeps names exact.
 */
#ifndef SONDE_EXPORT_CLEAN_H
#define SONDE_EXPORT_CLEAN_H

#include <stddef.h>
#include <stdio.h>

#include "util/buf.h"

#define SONDE_CLEAN_MAX 8192

/* Appends `text`, cleaned; returns the terminal columns it takes (a wide character: 2). ascii: nothing beyond ASCII. */
size_t sonde_clean(struct sonde_buf *out, const char *text, int ascii);

/* The same in at most `columns` columns: what is too long loses its middle. */
size_t sonde_clean_cut(struct sonde_buf *out, const char *text, size_t columns, int ascii);

/* The beginning of a text that is clean already, in at most `columns` columns. */
size_t sonde_clean_head(struct sonde_buf *out, const char *text, size_t columns);

/* Columns of a text that is clean already. */
size_t sonde_clean_columns(const char *text);

/* The cleaned text as a string in `scratch` (emptied first); "" when memory is short. */
const char *sonde_clean_text(struct sonde_buf *scratch, const char *text);

/* Writes a text for markup (SVG, HTML), what means something there as entities; cleaning comes before it. */
void sonde_clean_markup(FILE *out, const char *text);

#endif
