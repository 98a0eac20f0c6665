/* runs.h: runs of a command, or of two in turn: what `sonde bench` and `sonde try` measure. */
#ifndef SONDE_CLI_BENCH_RUNS_H
#define SONDE_CLI_BENCH_RUNS_H

#include <stdint.h>

#include "cli/bench/show.h"

enum { SONDE_BENCH_RUNS_MOST = 10000 };
#define SONDE_BENCH_WARMUPS 3
#define SONDE_BENCH_MARGIN 0.01

struct sonde_bench_runs {
	/* What is asked. */
	const char *prepare; /* a line for sh before each run; NULL = none */
	uint64_t warmup, runs;
	double margin;
	int show_output, ignore_failure, keep_arguments;
	/* What was measured. */
	struct sonde_versus versus; /* not judged */
	struct sonde_bench_show show;
	/* Its own. */
	char *line[SONDE_SIDES];
	char *shown[SONDE_SIDES]; /* the same without secrets; NULL: as it is */
	char **argv[SONDE_SIDES];
	char *shell[SONDE_SIDES][4];
	struct sonde_versus_pair *pairs;
	size_t pair_cap;
	char error[512]; /* that ended it early; "" = none */
};

/* A single word that is more than a name is a line for the shell; `by_shell`, or one side that is such a line, makes
 * both lines, so that both pay for it. `baseline` NULL: one command. The words must live as long. */
int sonde_bench_runs_init(struct sonde_bench_runs *runs, char **candidate, char **baseline, int by_shell);

/* Runs until it is enough (analyze/diff/versus.h), or somebody asks us to end. -ECANCELED: a command failed, whose time says nothing
 * then. Another error after the first pair leaves what was measured, with `show.error`, and 0. */
int sonde_bench_runs_measure(struct sonde_bench_runs *runs);

/* The exit code for an error of theirs, and, for `gate`, of what was judged. */
int sonde_bench_runs_exit(const struct sonde_bench_runs *runs, int code);
int sonde_bench_gate(enum sonde_verdict verdict);

void sonde_bench_runs_fini(struct sonde_bench_runs *runs);

#endif
