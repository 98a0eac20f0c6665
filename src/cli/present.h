/* present.h: what `report` and `export` share: a recording in, one format out. */
#ifndef SONDE_CLI_PRESENT_H
#define SONDE_CLI_PRESENT_H

#include "analyze/pass.h"
#include "analyze/selection.h"
#include "cli/command.h"
#include "export/format.h"
#include "session/session.h"

/* The option rows of both; sonde_present_take() knows them. */
#define SONDE_PRESENT_OPTIONS                                                                         \
	{"format", 'f', "FORMAT", "the output's format"},                                             \
	    {"output", 'o', "FILE", "write there; - is the standard output"},                         \
	    {"section", 0, "SECTION", "only these, with commas between them, or all"},                \
	    {"sort", 0, "KEY", "rows in the order of"}, {"limit", 'n', "N", "rows in a table"},       \
	    {"focus", 0, "FUNCTION", "the function whose callers and lines are shown (the hottest)"}, \
	    {"weigh", 0, "WEIGHT", "stacks by CPU time, what they allocated, held or left, or waiting"},    \
	    {"at", 0, "TIME", "the moment of --weigh live, counted from the start"},                  \
	    {"heap-of", 0, "HEAP", "whose blocks are weighed, or a pool's name"},                     \
	    {"diff", 0, "A,B", "compare two snapshots, by their numbers or labels"},                  \
	    {"country", 0, "CODE", "grams of CO2e by this country's electricity: FR, DE, US, WORLD"}, \
	    {"carbon-intensity", 0, "G", "the same by grams a kWh"},                                  \
	    {"thread", 0, "THREAD", "only the threads with this tid or this name"},                   \
	    {"from", 0, "TIME", "only what came after, counted from the start: 1.5s, 200ms"},         \
	    {"to", 0, "TIME", "only what came before"}, {"json", 0, NULL, "the same as -f json"},     \
	    {"no-symbols", 0, NULL, "look nothing up beyond what the recording holds"},               \
	    {"debuginfod", 0, NULL, "fetch missing debug files from the servers in DEBUGINFOD_URLS"}, \
	    {"force", 0, NULL, "overwrite FILE"},                                                     \
	{                                                                                             \
		"quiet", 'q', NULL, "say nothing but errors"                                          \
	}

enum { SONDE_PRESENT_PASSES_MAX = 64 };

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
	int force, quiet;
	int beside; /* without an output: a file named like the recording */
	struct sonde_pass_options pass;
	struct sonde_session_options session;
	struct sonde_selection selection;
	char thread_is[128];
	const struct sonde_pass *passes[SONDE_PRESENT_PASSES_MAX]; /* chosen by sonde_present_run() */
	size_t pass_count;
};

/* For sonde_parse.found: context is the struct sonde_present. */
int sonde_present_take(void *context, const struct sonde_option *option, const char *value);

/* Opens, analyses, writes; the exit code. */
int sonde_present_run(struct sonde_present *present);

#endif
