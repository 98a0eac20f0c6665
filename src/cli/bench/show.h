/* show.h: prints the results of `sonde bench`: as text, and as JSON. */
#ifndef SONDE_CLI_BENCH_SHOW_H
#define SONDE_CLI_BENCH_SHOW_H

#include <stdio.h>

#include "analyze/diff/versus.h"
#include "cli/bench/machine.h"
#include "export/format.h"
#include "util/json.h"

enum { SONDE_BENCH_VERSION = 1 };

struct sonde_bench_show {
	const struct sonde_versus *versus; /* evaluated */
	const char *command[SONDE_SIDES];
	size_t warmups;    /* warm-up runs of each side */
	size_t failed;     /* runs with a non-zero exit status */
	uint64_t shell_ns; /* duration of a shell that does nothing; 0 = no shell was needed */
	int interrupted;
	const char *error; /* cause of an early stop; NULL = none */
	const struct sonde_bench_machine *machine;
	/* Set for `sonde try` only; otherwise NULL and 0. */
	const char *experiment, *what;
	size_t attempt;
	const char *baseline_at; /* when the baseline was measured, unless interleaved */
};

void sonde_bench_text(const struct sonde_bench_show *show, const struct sonde_format_options *style, FILE *out);

/* Writes the result as JSON. The glossary in bench/bench.c documents the keys. */
void sonde_bench_json(const struct sonde_bench_show *show, FILE *out);

/* Writes the array of runs; its key must have been written. */
void sonde_bench_json_runs(struct sonde_json *json, const struct sonde_versus *versus);

#endif
