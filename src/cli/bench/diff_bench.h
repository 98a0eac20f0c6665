/* diff_bench.h: `sonde diff` for two results of `sonde bench --json`. */
#ifndef SONDE_CLI_BENCH_DIFF_BENCH_H
#define SONDE_CLI_BENCH_DIFF_BENCH_H

#include "analyze/statistics/change.h"
#include "report/report.h"

struct sonde_diff_bench {
	const char *path[2]; /* baseline, candidate */
	double margin;
	struct sonde_report *report;
	enum sonde_verdict verdict;
	int is_comparable;
};

/* Adds the section `diff` and the facts `verdict`, `speedup` and so on. If a result compares two commands, its
 * candidate is used. 0, or a negative errno with a message. */
int sonde_diff_bench(struct sonde_diff_bench *diff);

#endif
