/* format.h: an output format: one file, one row in formats.def.
 *
 * Report formats render a report, exchange formats read a session; a row has exactly one of the two functions. Output
 * goes to `out`; the caller, who opened it, checks for write errors (ferror).
 */
#ifndef SONDE_EXPORT_FORMAT_H
#define SONDE_EXPORT_FORMAT_H

#include <stddef.h>
#include <stdio.h>

#include "report/report.h"
#include "session/session.h"
#include "session/weigh.h"

struct sonde_format_options {
	int width; /* columns of the terminal; 0 = not a terminal: 80 */
	int color; /* ANSI colours allowed */
	int ascii; /* no characters beyond ASCII */
	/* The selected part of a session; a report is already restricted to it. */
	struct sonde_selection selection;
	struct sonde_weigh weigh;
	struct sonde_session *session; /* for a report format that adds data from the session; NULL = no session */
	uint64_t most_b;               /* approximate size limit of html; 0 = SONDE_FORMAT_MOST_B */
};

#define SONDE_FORMAT_MOST_B ((uint64_t)16 << 20)

#define SONDE_FORMAT_ALL "all" /* as a section: every section with content */

struct sonde_format {
	const char *name;      /* "json" */
	const char *extension; /* ".json" */
	const char *title;     /* one line for --help and docs */
	const char *section;   /* of a report format: the pass whose section it needs (svg: "calltree"); NULL = any */
	int binary;            /* never written to a terminal */
	int weighs;            /* an exchange format for stacks, whose values are those of the metric in the options */
	int (*render)(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out);
	int (*export)(struct sonde_session *session, const struct sonde_format_options *options, FILE *out);
};

extern const struct sonde_format
    sonde_format_text; /* other formats use it for parts that they do not render themselves */
extern const struct sonde_format *const sonde_formats[];
extern const size_t sonde_format_count;
const struct sonde_format *sonde_format_find(const char *name);

#endif
