/* format.h: an output format: one file, one row in formats.def.
 *
 * Report formats render a report, exchange formats read a session; a row has exactly one of the two functions. Output
 * goes to `out`; write errors are found by the caller (ferror) who opened it.
 */
#ifndef SONDE_EXPORT_FORMAT_H
#define SONDE_EXPORT_FORMAT_H

#include <stddef.h>
#include <stdio.h>

#include "report/report.h"
#include "session/session.h"

struct sonde_format_options {
	int width; /* columns of the terminal; 0 = not a terminal: 80 */
	int color; /* ANSI colours allowed */
	int ascii; /* no characters beyond ASCII */
};

struct sonde_format {
	const char *name;      /* "json" */
	const char *extension; /* ".json" */
	const char *title;     /* one line for --help and docs */
	const char *section;   /* pass whose section a report format needs (svg: "calltree"); NULL = any */
	int binary;            /* not for a terminal */
	int (*render)(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out);
	int (*export)(struct sonde_session *session, const struct sonde_format_options *options, FILE *out);
};

extern const struct sonde_format *const sonde_formats[];
extern const size_t sonde_format_count;
const struct sonde_format *sonde_format_find(const char *name);

#endif
