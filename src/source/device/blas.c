/* blas.c: the blas source: BLAS and LAPACK calls of unmodified programs, as zones with their work
 * (src/inject/blas/blas.h).
 *
 * libsonde-blas.so is preloaded into the command and its children. It records through libsonde, so its data arrives
 * through the channel (zone/program.h) like that of annotated programs: nothing is drained here.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "run/paths.h"
#include "source/target/preload.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/target/unsampled.h"
#include "util/error.h"

#define OBJECT "libsonde-blas.so"
#define ENVIRONMENT "SONDE_BLAS" /* read by src/inject/blas/zones.c: seccomp filters, location of libsonde */
#define METHOD "BLAS and LAPACK calls through the dynamic linker; FLOP and bytes from their arguments"

struct sonde_source_run {
	struct sonde_recorder *recorder;
};

/* Next to the injected objects, in a build tree or installed. */
static int library_find(char *out, size_t out_b)
{
	if (!sonde_paths_object(out, out_b, "../runtime/libsonde.so.0"))
		return 0;
	return sonde_paths_object(out, out_b, "../libsonde.so.0");
}

static int blas_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	char path[PATH_MAX];
	if (!options->blas)
		return -ECANCELED;
	if (!options->attach && !options->no_inject) {
		int result = sonde_preload_probe(OBJECT, why, why_b);
		if (!result && (result = library_find(path, sizeof path)))
			snprintf(why, why_b, "%s", sonde_error_text());
		return result;
	}
	snprintf(why, why_b, "BLAS calls are recorded inside programs that sonde starts (sonde record --blas -- …)");
	return -EOPNOTSUPP;
}

static int blas_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	run->recorder = context->recorder;
	return 0;
}

static int blas_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	char path[PATH_MAX], wanted[PATH_MAX + 32];
	(void)run;
	int result = library_find(path, sizeof path);
	if (result)
		return result;
	snprintf(wanted, sizeof wanted, "%u %s", sonde_unsampled_filters(getpid()), path);
	result = sonde_launch_setenv(launch, ENVIRONMENT, wanted);
	return result ? result : sonde_preload_add(launch, OBJECT);
}

static void blas_stop(struct sonde_source_run *run)
{
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_ON, .method = METHOD};
	sonde_recorder_source(run->recorder, "blas", &state);
}

static const struct sonde_option blas_options[] = {
    {"blas", 0, NULL, "record FLOP and bytes of BLAS and LAPACK (+1 µs a call)",
     SONDE_FLAG(offsetof(struct sonde_record_options, blas))},
    {0},
};

const struct sonde_source sonde_source_blas = {
    .name = "blas",
    .title = "FLOP and bytes of BLAS and LAPACK calls (--blas)",
    .cost = "about 1 µs a call",
    .options = blas_options,
    .run_b = sizeof(struct sonde_source_run),
    .probe = blas_probe,
    .open = blas_open,
    .prepare = blas_prepare,
    .stop = blas_stop,
};
