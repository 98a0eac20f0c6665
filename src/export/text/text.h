/* text.h: parts of the text format that other formats use: Markdown shows the same tree in a code block. */
#ifndef SONDE_EXPORT_TEXT_TEXT_H
#define SONDE_EXPORT_TEXT_TEXT_H

#include <stdio.h>

#include "export/format.h"

#define SONDE_TEXT_WIDTH_MIN 48

/* Writes aligned columns, at most options->width characters wide; if they cannot fit, one line per cell. */
int sonde_text_table(const struct sonde_table *table, const struct sonde_format_options *options, FILE *out);

/* Writes one line per node: total, self, name; small shares are folded. */
int sonde_text_tree(const struct sonde_tree *tree, const struct sonde_format_options *options, FILE *out);

/* Writes a heading of one line; -ENOMEM. */
int sonde_text_title(const char *text, const struct sonde_format_options *options, FILE *out);

/* Writes a list of notes, with warnings marked. */
void sonde_text_notes(const struct sonde_note *note, const struct sonde_format_options *options, FILE *out);

/* Wraps a cleaned text into lines of at most `width` columns, the second and later ones indented. */
void sonde_text_wrap(FILE *out, const char *text, int width, int indent);

#endif
