/* file.h: reads earlier runs from JSON: from `sonde bench --json`, or from the journal of `sonde try`. */
#ifndef SONDE_CLI_BENCH_FILE_H
#define SONDE_CLI_BENCH_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "analyze/diff/versus.h"
#include "cli/bench/machine.h"

struct sonde_bench_file {
	struct sonde_versus_pair *pairs; /* unknown values are NAN */
	size_t count;
	struct sonde_bench_machine machine;
	char *command; /* command line of the candidate */
	size_t failed;
	int is_cut_short; /* the measurement was interrupted, or stopped early */
};

/* True if a file starts like JSON; 0 also if it cannot be read. */
int sonde_bench_file_is(const char *path);

/* Reads a file. 0, or a negative errno with a message that names the path. */
int sonde_bench_file_read(struct sonde_bench_file *out, const char *path);
void sonde_bench_file_fini(struct sonde_bench_file *file);

/* Parses the array "runs" of either kind of file; the caller frees *out. -EBADMSG: wrong form; -ENOMEM. No message. */
int sonde_bench_file_runs(struct sonde_versus_pair **out, size_t *count, const json_t *runs);

/* Combines the runs of two files, one per side, into independent pairs; the caller frees them. */
int sonde_bench_file_join(struct sonde_versus_pair **out, size_t *count, const struct sonde_versus_pair *baseline,
			  size_t baseline_count, const struct sonde_versus_pair *candidate, size_t candidate_count);

#endif
