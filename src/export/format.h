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
#include "session/weigh.h"

struct sonde_format_options {
	int width; /* columns of the terminal; 0 = not a terminal: 80 */
	int color; /* ANSI colours allowed */
	int ascii; /* no characters beyond ASCII */
	/* What of a session is wanted; a report has been chosen before. */
	struct sonde_selection selection;
	struct sonde_weigh weigh;
	const struct sonde_report *report; /* of the section that an exchange format names; NULL = none */
	struct sonde_session *session;     /* of a report, for a format that puts in more; NULL = none */
	uint64_t most_b;                   /* about what html may take; 0 = SONDE_FORMAT_MOST_B */
};

#define SONDE_FORMAT_MOST_B ((uint64_t)16 << 20)

#define SONDE_FORMAT_ALL "all" /* as a section: every one that has something */

struct sonde_format {
	const char *name;      /* "json" */
	const char *extension; /* ".json" */
	const char *title;     /* one line for --help and docs */
	const char *section;   /* pass whose section it needs (svg: "calltree"), or puts in; NULL = any */
	int binary;            /* not for a terminal */
	int weighs;            /* an exchange format of stacks: weighed as the options say */
	int (*render)(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out);
	int (*export)(struct sonde_session *session, const struct sonde_format_options *options, FILE *out);
};

extern const struct sonde_format sonde_format_text; /* others put in between what they do not change */
extern const struct sonde_format *const sonde_formats[];
extern const size_t sonde_format_count;
const struct sonde_format *sonde_format_find(const char *name);

#endif
