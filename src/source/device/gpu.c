/* gpu.c: the gpu source: GPU work of unmodified programs, and the host's calls that submit it or wait for it (--gpu).
 *
 * Each GPU API has an environment variable, read by its loader, that names an object to be placed in front of its
 * drivers. So a process that uses none of these APIs loads none of our objects. Their data comes through sonde/device.h
 * and the channel (target/channel.h, zone/program.h): nothing is drained here. Each API is a row of the table.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/paths.h"
#include "source/device/call_stacks.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/error.h"

#define LEVEL "SONDE_GPU" /* what to record, for all APIs */

static const struct api {
	const char *name, *object;
	const char *variable;
	char separator; /* written after an existing value, which is kept; 0 = an existing value is left unchanged */
	const char *needs;
} apis[] = {
    {"OpenCL", "libsonde-opencl.so", "OPENCL_LAYERS", ':',
     "its loader supports layers (ocl-icd from 2.3, Khronos' from 2020), and the program is linked to it"},
    {"CUDA", "libsonde-cuda.so", "CUDA_INJECTION64_PATH", 0, "the program initialises it"},
};

#define APIS (sizeof apis / sizeof *apis)

static const char *const levels[] = {
    [SONDE_GPU_KERNELS] = "kernels", [SONDE_GPU_API] = "api", [SONDE_GPU_FULL] = "full"};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_call_stacks *stacks; /* at level `full`; otherwise NULL */
};

/* Finds an API's object; otherwise the error sentence says why it cannot be used. */
static int object_find(const struct api *api, char *out, size_t out_b)
{
	int result = sonde_paths_object(out, out_b, api->object);
	if (!result && api->separator && strchr(out, api->separator))
		return sonde_error(EINVAL, "%s: %s takes no path with a '%c'; install sonde in another folder", out,
				   api->variable, api->separator);
	return result;
}

/* The object of another tool that the variable already names, if it can name only one; otherwise NULL. */
static const char *taken_by(const struct api *api)
{
	const char *other = api->separator ? NULL : getenv(api->variable);
	return other && *other ? other : NULL;
}

static int gpu_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	char path[PATH_MAX];
	int result = -ENOENT;
	if (!options->gpu)
		return -ECANCELED;
	if (options->attach || options->no_inject) {
		snprintf(why, why_b,
			 "kernels and copies are recorded inside programs that sonde starts (sonde record --gpu -- "
			 "CMD), not in a running process");
		return -EOPNOTSUPP;
	}
	for (size_t i = 0; i < APIS && result; i++)
		result = object_find(&apis[i], path, sizeof path);
	if (result)
		snprintf(why, why_b, "%s", sonde_error_text());
	return result;
}

static int gpu_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	run->recorder = context->recorder;
	if (sonde_recorder_options(run->recorder)->gpu != SONDE_GPU_FULL)
		return 0;
	return sonde_call_stacks_new(&run->stacks, run->recorder, context->channel);
}

static int api_prepare(const struct api *api, struct sonde_launch *launch)
{
	char path[PATH_MAX], *value;
	const char *before = api->separator ? getenv(api->variable) : NULL;
	if (object_find(api, path, sizeof path) || taken_by(api)) /* not built, or taken: continue with the others */
		return 0;
	int has = before && *before;
	if (asprintf(&value, "%s%.*s%s", has ? before : "", has, &api->separator, path) < 0)
		return sonde_error(ENOMEM, "out of memory for the environment");
	int rc = sonde_launch_setenv(launch, api->variable, value);
	free(value);
	return rc;
}

static int gpu_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	int rc = sonde_launch_setenv(launch, LEVEL, levels[sonde_recorder_options(run->recorder)->gpu]);
	for (size_t i = 0; i < APIS && !rc; i++)
		rc = api_prepare(&apis[i], launch);
	return rc;
}

static void gpu_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	(void) final;
	if (run->stacks)
		sonde_call_stacks_drain(run->stacks);
}

/* Writes why no process reported GPU work. */
static void say_none(char *out, size_t out_b)
{
	size_t used = (size_t)snprintf(out, out_b, "no process used a GPU in a way that can be recorded.");
	for (size_t i = 0; i < APIS && used < out_b; i++) {
		char path[PATH_MAX];
		if (object_find(&apis[i], path, sizeof path))
			used += (size_t)snprintf(out + used, out_b - used, " %s cannot be recorded (%s).", apis[i].name,
						 sonde_error_text());
		else if (taken_by(&apis[i]))
			used += (size_t)snprintf(out + used, out_b - used,
						 " %s is left to another tool (%s is set to %.200s).", apis[i].name,
						 apis[i].variable, taken_by(&apis[i]));
		else
			used += (size_t)snprintf(out + used, out_b - used, " %s is recorded if %s.", apis[i].name,
						 apis[i].needs);
	}
}

static void gpu_stop(struct sonde_source_run *run)
{
	char why[2 * PATH_MAX], method[64];
	int level = sonde_recorder_options(run->recorder)->gpu;
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_ON, .method = method};
	snprintf(method, sizeof method, "layers in front of drivers, level %s", levels[level]);
	if (!sonde_recorder_devices(run->recorder)) {
		say_none(why, sizeof why);
		state.state = SONDE_SOURCE_UNAVAILABLE;
		state.detail = why;
	}
	sonde_recorder_source(run->recorder, "gpu", &state);
	sonde_call_stacks_free(run->stacks);
}

/* --- options ----------------------------------------------------------------------------------------------------- */

static int set_gpu(void *context, const char *value)
{
	struct sonde_record_options *options = context;
	for (int level = SONDE_GPU_KERNELS; level <= SONDE_GPU_FULL; level++) {
		if (!strcmp(value ? value : "api", levels[level])) {
			options->gpu = level;
			return 0;
		}
	}
	return sonde_error(EINVAL, "'%s' is not kernels, api or full", value);
}

static const struct sonde_option gpu_options[] = {
    {"gpu", 0, "[=LEVEL]", "record GPU work, utilisation: kernels, api (default), full", SONDE_BY(set_gpu)},
    {0},
};

const struct sonde_source sonde_source_gpu = {
    .name = "gpu",
    .title = "GPU kernels and copies, and the host's calls for them: OpenCL, CUDA (--gpu)",
    .cost = "about 1 µs a command",
    .options = gpu_options,
    .manual = "Levels of --gpu\n"
	      "kernels\tkernels and copies, as reported by OpenCL and CUDA\n"
	      "api\talso the host's calls of these APIs (default)\n"
	      "full\talso the stack of each call that submits work (about 1 µs a command)\n"
	      "any level\talso the utilisation, memory and power of NVIDIA GPUs; with -p only these\n",
    .run_b = sizeof(struct sonde_source_run),
    .probe = gpu_probe,
    .open = gpu_open,
    .prepare = gpu_prepare,
    .drain = gpu_drain,
    .stop = gpu_stop,
};
