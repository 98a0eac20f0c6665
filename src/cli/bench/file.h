/* file.h: runs that were measured before, read back from JSON: of `sonde bench --json`, of the journal of `try`.
 */
#ifndef SONDE_CLI_BENCH_FILE_H
#define SONDE_CLI_BENCH_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "analyze/diff/versus.h"
#include "cli/bench/machine.h"

struct sonde_bench_file {
	struct sonde_versus_pair *pairs; /* what is not known is NAN */
	size_t count;
	struct sonde_bench_machine machine;
	char *command; /* the candidate's */
	size_t failed;
	int is_cut_short; /* it was interrupted, or ended early */
};

/* Whether a file begins as one of JSON does; 0 also when it cannot be read. */
int sonde_bench_file_is(const char *path);

/* 0 or a negative errno with a sentence that names the path. */
int sonde_bench_file_read(struct sonde_bench_file *out, const char *path);
void sonde_bench_file_fini(struct sonde_bench_file *file);

/* The array "runs" of either; malloc'ed. -EBADMSG: it is not of that form; -ENOMEM. No sentence. */
int sonde_bench_file_runs(struct sonde_versus_pair **out, size_t *count, const json_t *runs);

/* Runs of two files, one a side, as pairs of which nothing connects the two; malloc'ed. */
int sonde_bench_file_join(struct sonde_versus_pair **out, size_t *count, const struct sonde_versus_pair *baseline,
			  size_t baseline_count, const struct sonde_versus_pair *candidate, size_t candidate_count);

#endif
