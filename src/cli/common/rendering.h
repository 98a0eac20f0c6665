/* rendering.h: shared by `report` and `export`: reads a recording and writes one format. */
#ifndef SONDE_CLI_COMMON_RENDERING_H
#define SONDE_CLI_COMMON_RENDERING_H

#include "analyze/pass.h"
#include "analyze/selection.h"
#include "cli/common/command.h"
#include "export/format.h"
#include "session/session.h"

/* The options that both commands have; sonde_rendering_take() handles those whose row has no place for the value. */
extern const struct sonde_option sonde_rendering_options[];

enum { SONDE_RENDERING_PASSES_MAX = 64, SONDE_RENDERING_THRESHOLDS_MAX = 64 };

struct sonde_rendering {
	const char *command; /* name of the command, for messages */
	const char *file;    /* the recording; NULL = the newest here */
	const char *format;  /* NULL = by the output's name */
	const char *output;  /* NULL or "-" = the standard output */
	const char *sections;
	const char *from, *to; /* as typed */
	const char *thread;    /* a tid or a name */
	const char *diff;      /* names of two snapshots */
	const char *weigh, *at, *heap_of;
	uint64_t most_b;  /* size limit for html; 0 = default */
	const char *plot; /* name of a plot, or "list"; NULL = none */
	int force, quiet;
	int is_named_like_recording; /* without an output: write a file named like the recording */
	struct sonde_pass_options pass;
	struct sonde_session_options session;
	struct sonde_thread_selection threads;
	char thread_is[128];
	const char *thresholds[SONDE_RENDERING_THRESHOLDS_MAX];
	const struct sonde_pass *passes[SONDE_RENDERING_PASSES_MAX]; /* chosen by sonde_rendering_run() */
	size_t pass_count;
	/* A format that a command sets directly instead of by name; NULL = none. */
	const struct sonde_format *picture;
};

/* For sonde_parse.found: context is the struct sonde_rendering. */
int sonde_rendering_take(void *context, const struct sonde_option *option, const char *value);

/* Parses an integer option: 0, or the exit code after printing a message. */
int sonde_rendering_number(const struct sonde_rendering *rendering, const char *name, const char *value, size_t *out);

/* --plot: sets the sections and the format of the plot; 0, or the exit code after printing a message. */
int sonde_plot_choose(struct sonde_rendering *rendering);

/* Prints one line on standard error if the exported recording is incomplete: lost, damaged or truncated data. */
void sonde_rendering_say_missing(const struct sonde_rendering *rendering, const struct sonde_session *session);

/* Opens, analyses and writes; returns the exit code. */
int sonde_rendering_run(struct sonde_rendering *rendering);

#endif
