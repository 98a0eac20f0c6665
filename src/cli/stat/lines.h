/* lines.h: lines of the text of `sonde stat`: a label, a figure, and remarks in which other figures stand. */
#ifndef SONDE_CLI_STAT_LINES_H
#define SONDE_CLI_STAT_LINES_H

#include <stddef.h>
#include <stdio.h>

#include "cli/stat/show.h"
#include "util/buf.h"

enum { SONDE_STAT_TEXT_MAX_B = 1 << 16, SONDE_STAT_MISSED_MAX = 32 };

struct sonde_stat_lines {
	const struct sonde_stat_show *show;
	const struct sonde_format_options *style;
	FILE *out;
	const char *group; /* to be printed before the next line; NULL = it was */
	const char *label;
	struct sonde_buf figure, remark; /* of the line that was begun; the caller's to init and fini */
	struct sonde_stat_miss {
		const char *label, *why;
	} miss[SONDE_STAT_MISSED_MAX]; /* figures that are not known */
	size_t missed;
};

/* Begins a line; 0 where the figure is not known, which is taken down as missing. */
int sonde_stat_line_begin(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure);
/* The same, but only of what there was. */
int sonde_stat_line_begin_some(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure);

/* Remarks, with commas between them: words; a figure between words, where it is known; a value before a word. */
void sonde_stat_line_say(struct sonde_stat_lines *text, const char *before);
void sonde_stat_line_more(struct sonde_stat_lines *text, const char *before, enum sonde_stat figure, const char *after);
void sonde_stat_line_more_value(struct sonde_stat_lines *text, enum sonde_unit unit, double value, const char *after);

/* Prints the line that was begun, and before it the group's heading. */
void sonde_stat_line_end(struct sonde_stat_lines *text);

void sonde_stat_line_miss(struct sonde_stat_lines *text, const char *label, const char *why);
/* Says what was missing; figures with the same reason are told together. */
void sonde_stat_lines_missed(struct sonde_stat_lines *text);
/* Whether something was missing for that reason. */
int sonde_stat_lines_has_said(const struct sonde_stat_lines *text, const char *why);

#endif
