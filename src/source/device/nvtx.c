/* nvtx.c: the nvtx source: NVTX annotations of programs, as zones, spans and instant events (src/inject/nvtx/nvtx.h).
 *
 * At a program's first annotation, NVTX loads the object that an environment variable names, so programs without
 * annotations load nothing. libsonde-nvtx.so records through libsonde: its data arrives through the channel
 * (target/channel.h). If the variable already names another tool's object, it is left unchanged: only one can be
 * loaded.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/paths.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/error.h"

#define OBJECT "libsonde-nvtx.so"
#define ENVIRONMENT "NVTX_INJECTION64_PATH"
#define METHOD "NVTX annotations, received by a library that the program's NVTX loads"

struct sonde_source_run {
	struct sonde_recorder *recorder;
	char others[256]; /* the start of the path of another tool's object; "" = none */
};

/* Where injection is impossible anyway, a failure is returned without a reason. */
static int nvtx_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	char path[PATH_MAX];
	if (options->attach || options->no_inject)
		return -ECANCELED;
	int result = sonde_paths_object(path, sizeof path, OBJECT);
	if (result)
		snprintf(why, why_b, "%s", sonde_error_text());
	return result;
}

static int nvtx_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	run->recorder = context->recorder;
	return 0;
}

static int nvtx_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	char path[PATH_MAX];
	int result = sonde_paths_object(path, sizeof path, OBJECT);
	if (result)
		return result;
	const char *there = getenv(ENVIRONMENT);
	if (!there || !*there || !strcmp(there, path))
		return sonde_launch_setenv(launch, ENVIRONMENT, path);
	snprintf(run->others, sizeof run->others, "%s", there);
	return 0;
}

static void nvtx_stop(struct sonde_source_run *run)
{
	char detail[512];
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_ON, .method = METHOD};
	if (*run->others) {
		snprintf(detail, sizeof detail,
			 "NVTX annotations went to another tool: " ENVIRONMENT " was %s; unset it to record them here",
			 run->others);
		state.state = SONDE_SOURCE_UNAVAILABLE;
		state.detail = detail;
	}
	sonde_recorder_source(run->recorder, "nvtx", &state);
}

const struct sonde_source sonde_source_nvtx = {
    .name = "nvtx",
    .title = "NVTX annotations of programs",
    .cost = "about 0.1 µs a range; nothing in programs without NVTX",
    .run_b = sizeof(struct sonde_source_run),
    .probe = nvtx_probe,
    .open = nvtx_open,
    .prepare = nvtx_prepare,
    .stop = nvtx_stop,
};
