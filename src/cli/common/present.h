/* present.h: what `report` and `export` share: a recording in, one format out. */
#ifndef SONDE_CLI_COMMON_PRESENT_H
#define SONDE_CLI_COMMON_PRESENT_H

#include "analyze/pass.h"
#include "analyze/selection.h"
#include "cli/common/command.h"
#include "export/format.h"
#include "session/session.h"

/* The options of both, of which sonde_present_take() takes what has no place. */
extern const struct sonde_option sonde_present_options[];

enum { SONDE_PRESENT_PASSES_MAX = 64, SONDE_PRESENT_THRESHOLDS_MAX = 64 };

struct sonde_present {
	const char *command; /* whose sentences these are */
	const char *file;    /* the recording; NULL = the newest here */
	const char *format;  /* NULL = by the output's name */
	const char *output;  /* NULL = the standard output, "-" too */
	const char *sections;
	const char *from, *to; /* times as they were given */
	const char *thread;    /* a tid or a name */
	const char *diff;      /* two snapshots */
	const char *weigh, *at, *heap_of;
	uint64_t most_b; /* of html; 0 = as it is */
	const char *plot; /* its name, or list; NULL = none */
	int force, quiet;
	int beside; /* without an output: a file named like the recording */
	struct sonde_pass_options pass;
	struct sonde_session_options session;
	struct sonde_selection selection;
	char thread_is[128];
	const char *thresholds[SONDE_PRESENT_THRESHOLDS_MAX];
	const struct sonde_pass *passes[SONDE_PRESENT_PASSES_MAX]; /* chosen by sonde_present_run() */
	size_t pass_count;
	/* A format of a command's own, in the place of one with a name; NULL = none. */
	const struct sonde_format *picture;
};

/* For sonde_parse.found: context is the struct sonde_present. */
int sonde_present_take(void *context, const struct sonde_option *option, const char *value);

/* A whole number as the value of an option: 0, or the exit code with a sentence printed. */
int sonde_present_number(const struct sonde_present *present, const char *name, const char *value, size_t *out);

/* --plot: sets what it is drawn from and as; 0, or the exit code with a sentence printed. */
int sonde_plot_choose(struct sonde_present *present);

/* One sentence on the error output when what was exported is not whole: lost, damaged or cut off. */
void sonde_present_say_lacks(const struct sonde_present *present, const struct sonde_session *session);

/* Opens, analyses, writes; the exit code. */
int sonde_present_run(struct sonde_present *present);

#endif
