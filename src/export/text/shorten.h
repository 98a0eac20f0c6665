/* shorten.h: shortens function names that are too long. The least distinctive parts are removed first: the arguments,
 * then the return type, template arguments and scopes; the function's own name is cut only when nothing else is
 * left. */
#ifndef SONDE_EXPORT_TEXT_SHORTEN_H
#define SONDE_EXPORT_TEXT_SHORTEN_H

#include "util/buf.h"

/* Appends a cleaned name (clean.h) cut to `columns`; returns the columns used. */
size_t sonde_shorten_name(struct sonde_buf *out, const char *name, size_t columns, int ascii);

#endif
