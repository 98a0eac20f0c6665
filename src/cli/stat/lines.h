/* lines.h: lines of `sonde stat` as text: a label, a figure, and remarks with further figures. */
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
	const char *group; /* heading to print before the next line; NULL = none, or already printed */
	const char *label;
	struct sonde_buf figure, remark; /* of the current line; initialised and freed by the caller */
	struct sonde_stat_miss {
		const char *label, *why;
	} miss[SONDE_STAT_MISSED_MAX]; /* unknown figures */
	size_t missed;
};

/* Starts a line; 0 if the figure is unknown, which is remembered as missing. */
int sonde_stat_line_begin(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure);
/* The same, but returns 0 if the figure is zero, too. */
int sonde_stat_line_begin_some(struct sonde_stat_lines *text, const char *label, enum sonde_stat figure);

/* Append a remark after a comma. The first function appends words; the second a figure between words, if the figure is
 * known; the third a value and a word. */
void sonde_stat_line_say(struct sonde_stat_lines *text, const char *before);
void sonde_stat_line_more(struct sonde_stat_lines *text, const char *before, enum sonde_stat figure, const char *after);
void sonde_stat_line_more_value(struct sonde_stat_lines *text, enum sonde_unit unit, double value, const char *after);

/* Prints the current line, preceded by the group's heading if it is due. */
void sonde_stat_line_end(struct sonde_stat_lines *text);

void sonde_stat_line_miss(struct sonde_stat_lines *text, const char *label, const char *why);
/* Prints the unknown figures with the reasons; figures with the same reason are listed together. */
void sonde_stat_lines_missed(struct sonde_stat_lines *text);
/* True if a figure is unknown for the reason `why`. */
int sonde_stat_lines_has_said(const struct sonde_stat_lines *text, const char *why);

#endif
