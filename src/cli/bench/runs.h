/* runs.h: repeated runs of one command, or interleaved runs of two, for `sonde bench` and `sonde try`. */
#ifndef SONDE_CLI_BENCH_RUNS_H
#define SONDE_CLI_BENCH_RUNS_H

#include <stdint.h>

#include "cli/bench/show.h"

enum { SONDE_BENCH_RUNS_MOST = 10000 };
#define SONDE_BENCH_WARMUPS 3
#define SONDE_BENCH_MARGIN 0.01

struct sonde_bench_runs {
	/* Inputs. */
	const char *prepare; /* shell line to run before each run; NULL = none */
	uint64_t warmup, runs;
	double margin;
	int show_output, ignore_failure, keep_arguments;
	/* Results. */
	struct sonde_versus versus; /* not evaluated yet */
	struct sonde_bench_show show;
	/* Private. */
	char *line[SONDE_SIDES];
	char *shown[SONDE_SIDES]; /* `line` without secrets; NULL: it has none */
	char **argv[SONDE_SIDES];
	char *shell[SONDE_SIDES][4];
	struct sonde_versus_pair *pairs;
	size_t pair_cap;
	char error[512]; /* cause of an early stop; "" = none */
};

/* Prepares runs of one or two commands. A command of a single word is a shell line if the word is more than a program's
 * name. With `by_shell`, or if one side is a shell line, the shell runs both sides, so that the times of both include
 * the shell's. `baseline` NULL: one command. The words must outlive `runs`. */
int sonde_bench_runs_init(struct sonde_bench_runs *runs, char **candidate, char **baseline, int by_shell);

/* Runs until the result is good enough (analyze/diff/versus.h), or a signal asks us to stop. -ECANCELED: a command
 * failed, so that its time is meaningless. Any other error after the first pair keeps what was measured, sets
 * `show.error`, and returns 0. */
int sonde_bench_runs_measure(struct sonde_bench_runs *runs);

/* The first function returns the exit code for the result of measuring, the second the exit code for a verdict with
 * --gate. */
int sonde_bench_runs_exit(const struct sonde_bench_runs *runs, int code);
int sonde_bench_gate(enum sonde_verdict verdict);

void sonde_bench_runs_fini(struct sonde_bench_runs *runs);

#endif
