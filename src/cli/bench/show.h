/* show.h: how `sonde bench` shows what it measured: for people, and as JSON. */
#ifndef SONDE_CLI_BENCH_SHOW_H
#define SONDE_CLI_BENCH_SHOW_H

#include <stdio.h>

#include "analyze/diff/versus.h"
#include "cli/bench/machine.h"
#include "export/format.h"
#include "util/json.h"

enum { SONDE_BENCH_VERSION = 1 };

struct sonde_bench_show {
	const struct sonde_versus *versus; /* judged */
	const char *command[SONDE_SIDES];
	size_t warmups;    /* of each side, that do not count */
	size_t failed;     /* runs that ended with another status than 0 */
	uint64_t shell_ns; /* what a shell takes that does nothing; 0 = none was needed */
	int interrupted;
	const char *error; /* that ended it early; NULL = none */
	const struct sonde_bench_machine *machine;
	/* Of `sonde try`; NULL and 0 = none. */
	const char *experiment, *what;
	size_t attempt;
	const char *baseline_at; /* when the baseline's runs were measured, if not now, in turn */
};

void sonde_bench_text(const struct sonde_bench_show *show, const struct sonde_format_options *style, FILE *out);

/* Keys of the glossary in bench/bench.c. */
void sonde_bench_json(const struct sonde_bench_show *show, FILE *out);

/* The array of runs, after its key was put. */
void sonde_bench_json_runs(struct sonde_json *json, const struct sonde_versus *versus);

#endif
