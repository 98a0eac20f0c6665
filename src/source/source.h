/* source.h: what is collected: one file and one row in sources.def for each source.
 *
 * The recorder (record/recorder.h) runs in one thread: it asks each source in turn to drain. Order: probe, prepare
 * (before the fork), start (child exists and is held), drain … drain, stop. A source whose start fails becomes a SOURCE
 * record with the reason; the recording goes on without it.
 */
#ifndef SONDE_SOURCE_SOURCE_H
#define SONDE_SOURCE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/launch.h"
#include "source/record/recorder.h"
#include "util/option.h"

struct sonde_channel;
struct sonde_snapshots;
struct sonde_source_run; /* each source's own */

/* What a source is given: borrowed until it has stopped. */
struct sonde_source_context {
	struct sonde_recorder *recorder;
	struct sonde_channel *channel;     /* to processes */
	struct sonde_snapshots *snapshots; /* that are asked for */
};

struct sonde_source {
	const char *name;  /* "cpu" */
	const char *title; /* one line for doctor and --help */
	const char *cost;  /* measured cost, for doctor */
	/* It reads counters of the kernel and of devices and puts nothing into programs: it runs also where only those
	 * are asked for (sonde stat). */
	int reads_counters;

	/* 0 when it can run here, else a negative errno and a sentence that says what is missing and how to get it.
	 * Has no lasting effect. */
	const struct sonde_option *options; /* of struct sonde_record_options; NULL = none */

	int (*probe)(const struct sonde_record_options *options, char *why, size_t why_b);

	/* Registers with the channel (target/channel.h) where processes report to the source. */
	int (*open)(struct sonde_source_run **out, const struct sonde_source_context *context);
	int (*prepare)(struct sonde_source_run *run, struct sonde_launch *launch); /* NULL = nothing to prepare */
	int (*start)(struct sonde_source_run *run, pid_t pid); /* of the held child, or the process to attach to */

	/* Moves everything that happened before horizon_ns into the recorder. `final`: nothing more will come. */
	int (*drain)(struct sonde_source_run *run, uint64_t horizon_ns, int final);

	/* Hands the rows it still buffers to the writer: before each flush of the file, and before a flight recorder is
	 * saved. NULL = its rows are buffered by the recorder. */
	void (*flush)(struct sonde_source_run *run);

	/* Descriptors to wait on; how many were written to fds (at most max). NULL = drained by time alone. */
	size_t (*poll_fds)(struct sonde_source_run *run, int *fds, size_t max);

	/* How many ms may pass until the next drain, at most; 0 = it is in no hurry. NULL = it never is. */
	int (*hurry_ms)(const struct sonde_source_run *run);

	void (*stop)(struct sonde_source_run *run); /* writes its SOURCE and LOST records, frees */
};

#define SONDE_SOURCE(name) extern const struct sonde_source sonde_source_##name;
#include "source/sources.def"
#undef SONDE_SOURCE

extern const struct sonde_source *const sonde_sources[];
extern const size_t sonde_source_count;

#endif
