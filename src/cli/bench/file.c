/* file.c: parses runs from JSON (bench/file.h). */
#include "cli/bench/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bench/show.h"
#include "util/error.h"

#define RUNS_MOST 1000000

int sonde_bench_file_is(const char *path)
{
	char text[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? 0 : pread(fd, text, sizeof text - 1, 0);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return text[strspn(text, " \t\r\n")] == '{';
}

/* Reads the value of a metric; times in seconds become ns, the unit in which they were measured. NAN = unknown. */
static double value_of(const json_t *side, enum sonde_versus_metric metric)
{
	const struct sonde_versus_row *row = sonde_versus_row(metric);
	const json_t *value = json_object_get(side, row->key);
	double number = json_number_value(value);
	if (!json_is_number(value) || !(number >= 0) || !isfinite(number))
		return NAN;
	return row->unit == SONDE_UNIT_NS ? round(number * 1e9) : number;
}

static int is_side(const json_t *side)
{
	return json_is_object(side) && json_is_number(json_object_get(side, "wall_s"));
}

int sonde_bench_file_runs(struct sonde_versus_pair **out, size_t *count, const json_t *runs)
{
	size_t all = json_array_size(runs);
	if (!json_is_array(runs) || all > RUNS_MOST)
		return -EBADMSG;
	struct sonde_versus_pair *pairs = calloc(all + 1, sizeof *pairs);
	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		const json_t *run = json_array_get(runs, i), *baseline = json_object_get(run, "baseline");
		const json_t *candidate = json_object_get(run, "candidate");
		const char *first = json_string_value(json_object_get(run, "first"));
		if (!is_side(candidate) || (baseline && !is_side(baseline))) {
			free(pairs);
			return -EBADMSG;
		}
		for (int k = 0; k < SONDE_VERSUS_COUNT; k++) {
			pairs[i].value[SONDE_CANDIDATE][k] = value_of(candidate, (enum sonde_versus_metric)k);
			pairs[i].value[SONDE_BASELINE][k] = value_of(baseline, (enum sonde_versus_metric)k);
		}
		pairs[i].is_baseline_first = first && !strcmp(first, "baseline");
	}
	*out = pairs;
	*count = all;
	return 0;
}

static int no_bench(const char *path, const char *why)
{
	return sonde_error(EBADMSG, "%s: %s: not a result of sonde bench --json", path, why);
}

int sonde_bench_file_read(struct sonde_bench_file *out, const char *path)
{
	json_error_t error;
	*out = (struct sonde_bench_file){0};
	json_t *root = json_load_file(path, 0, &error);
	if (!root)
		return sonde_error(EBADMSG, "%s: line %d: %s", path, error.line, error.text);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const char *command = json_string_value(json_object_get(root, "candidate"));
	int code = 0;
	if (!schema || strcmp(schema, "sonde-bench") != 0)
		code = no_bench(path, schema ? schema : "no \"schema\"");
	else if (json_integer_value(json_object_get(root, "version")) != SONDE_BENCH_VERSION)
		code = no_bench(path, "written by another version");
	if (!code) {
		code = sonde_bench_file_runs(&out->pairs, &out->count, json_object_get(root, "runs"));
		if (code == -EBADMSG)
			no_bench(path, "\"runs\" has the wrong form");
		else if (code)
			sonde_error(-code, "%s: out of memory for its runs", path);
	}
	if (!code && !(out->command = strdup(command ? command : "")))
		code = sonde_error(ENOMEM, "%s: out of memory", path);
	sonde_bench_machine_read(&out->machine, json_object_get(root, "host"));
	out->failed = (size_t)json_integer_value(json_object_get(root, "failed"));
	out->is_cut_short =
	    json_is_true(json_object_get(root, "interrupted")) || json_is_string(json_object_get(root, "error"));
	json_decref(root);
	if (code)
		sonde_bench_file_fini(out);
	return code;
}

void sonde_bench_file_fini(struct sonde_bench_file *file)
{
	free(file->pairs);
	free(file->command);
	*file = (struct sonde_bench_file){0};
}

int sonde_bench_file_join(struct sonde_versus_pair **out, size_t *count, const struct sonde_versus_pair *baseline,
			  size_t baseline_count, const struct sonde_versus_pair *candidate, size_t candidate_count)
{
	size_t most = baseline_count > candidate_count ? baseline_count : candidate_count;
	struct sonde_versus_pair *pairs = calloc(most + 1, sizeof *pairs);
	if (!pairs)
		return sonde_error(ENOMEM, "out of memory for %zu runs", most);
	for (size_t i = 0; i < most; i++)
		for (int k = 0; k < SONDE_VERSUS_COUNT; k++) {
			pairs[i].value[SONDE_BASELINE][k] =
			    i < baseline_count ? baseline[i].value[SONDE_CANDIDATE][k] : NAN;
			pairs[i].value[SONDE_CANDIDATE][k] =
			    i < candidate_count ? candidate[i].value[SONDE_CANDIDATE][k] : NAN;
		}
	*out = pairs;
	*count = most;
	return 0;
}
