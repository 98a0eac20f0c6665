/* source.h: the interface of a data source: one file and one row in sources.def for each source.
 *
 * The recorder (record/recorder.h) runs in one thread and asks each source in turn to drain. Order of the calls: probe,
 * open, prepare (before the fork), start (the child exists and is held), drain (repeatedly), stop. A source that fails
 * to start becomes a SOURCE record with the reason, and the recording goes on without it.
 */
#ifndef SONDE_SOURCE_SOURCE_H
#define SONDE_SOURCE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/launch.h"
#include "util/option.h"

struct sonde_channel;
struct sonde_record_options;
struct sonde_recorder;
struct sonde_snapshots;
struct sonde_source_run; /* state of a running source, defined by the source itself */

/* Passed to a source's open(). Borrowed until the source has stopped. */
struct sonde_source_context {
	struct sonde_recorder *recorder;
	struct sonde_channel *channel;     /* connects processes to the recorder */
	struct sonde_snapshots *snapshots; /* pending snapshot requests */
};

struct sonde_source {
	const char *name;  /* "cpu" */
	const char *title; /* one line for `sonde doctor` and --help */
	const char *cost;  /* measured overhead, for `sonde doctor` */
	/* True if the source only reads counters of the kernel and of devices and injects nothing into programs. Such
	 * sources run even when only counters are requested (sonde stat). */
	int reads_counters;

	const struct sonde_option *options; /* they set members of struct sonde_record_options; NULL = none */
	const char
	    *manual; /* text about the options for the man page, in the format of a command's glossary; NULL = none */

	/* probe() returns 0 if the source can run here; otherwise a negative errno, and a sentence that says what is
	 * missing and how to get it. It has no lasting effect. */
	int (*probe)(const struct sonde_record_options *options, char *why, size_t why_b);

	/* Size of the source's struct sonde_source_run. The caller allocates it, filled with zeros, before open(), and
	 * frees it after stop() or after open() has failed. An open() that fails releases what it has opened. */
	size_t run_b;

	/* open() also registers with the channel (target/channel.h) if processes report to the source. */
	int (*open)(struct sonde_source_run *run, const struct sonde_source_context *context);
	int (*prepare)(struct sonde_source_run *run, struct sonde_launch *launch); /* NULL = nothing to prepare */
	int (*start)(struct sonde_source_run *run, pid_t pid); /* pid: the held child, or the process to attach to */

	/* Moves everything that happened before horizon_ns into the recorder. Errors are kept by the recorder. `final`:
	 * this is the last call. NULL = nothing to move: the channel delivers all data. */
	void (*drain)(struct sonde_source_run *run, uint64_t horizon_ns, int final);

	/* Passes the rows that the source still buffers to the writer. Called before each flush of the file and before
	 * a flight recorder is saved. NULL = the recorder buffers the source's rows. */
	void (*flush)(struct sonde_source_run *run);

	/* Writes the descriptors to wait on to fds (at most max) and returns their number. NULL = none. */
	size_t (*poll_fds)(struct sonde_source_run *run, int *fds, size_t max);

	/* The time by which the source must be drained; UINT64_MAX = no limit. NULL = there is never a limit. */
	uint64_t (*due_ns)(const struct sonde_source_run *run);

	void (*stop)(struct sonde_source_run *run); /* writes the SOURCE and LOST records, releases what is open */
};

#define SONDE_SOURCE(name, file) extern const struct sonde_source sonde_source_##name;
#include "source/sources.def"
#undef SONDE_SOURCE

extern const struct sonde_source *const sonde_sources[];
extern const size_t sonde_source_count;

#endif
