/* pass.h: an analysis: one file, one row in passes.def.
 *
 * A pass is called in this order: begin, feed for each batch of the requested types, finish. `merge` adds the state of
 * another worker that was fed other batches (NULL: the pass runs in one thread). The same code serves a finished file
 * and one that grows. If the recording has nothing for a section, the pass leaves it out, unless the section was
 * requested by name: then it says why it is empty.
 */
#ifndef SONDE_ANALYZE_PASS_H
#define SONDE_ANALYZE_PASS_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "session/recorded.h"
#include "session/session.h"
#include "session/weigh.h"

/* For notes about too much data to read: SONDE_ACTION_TIME. */
#define SONDE_CHOOSE_TIME "choose a part with --from and --to"

enum sonde_sort { SONDE_SORT_SELF = 0, SONDE_SORT_TOTAL, SONDE_SORT_COUNT, SONDE_SORT_NAME, SONDE_SORT_LATENCY };

struct sonde_pass_options {
	enum sonde_sort sort;
	size_t limit;      /* rows; 0 = the pass's own default */
	const char *focus; /* a function's name, for callers and lines; NULL = the hottest */
	struct sonde_selection selection;
	const char *thread_is;     /* the selected threads in words: "3 threads named worker" */
	struct sonde_weigh weigh;  /* metric of the call tree */
	size_t diff_from, diff_to; /* snapshots that are compared, by number; 0 = none */
	int requested;             /* requested with --section */
	/* For energy, as typed; NULL = not given. */
	const char *carbon_intensity, *country;
	const char *const *what_if; /* as typed: "zone=X,speed=2" */
	size_t what_ifs;
	const char *const *thresholds; /* for findings, as typed: "small-writes.bytes=512" */
	size_t threshold_count;
	/* For advice: target device, NULL = the CPU; items processed at once, 0 = as recorded. */
	const char *device;
	size_t batch;
};

struct sonde_pass {
	const char *name;  /* section id: "functions" */
	const char *title; /* one line for --help and docs */
	uint32_t types;    /* chunk types to be fed: bits 1 << enum sonde_chunk_type */
	/* Kinds of data (session/recorded.h), any one of which suffices for the pass; 0 = `finish` checks. If none was
	 * recorded, a section without rows says "not recorded: …", and the note of `finish` is not used. */
	uint32_t needs;
	/* Whether the recording can have rows for it, without reading events (analyze/contents.h); NULL = always in the
	 * menus. */
	int (*has)(const struct sonde_session *session);
	const char *nothing; /* the note if the data was recorded and there are no rows; NULL: `finish` adds one */
	int standard;        /* part of a plain `sonde report` */
	int is_shared; /* `finish` does not modify the state: passes that differ only in name, title and finish share it
			*/
	size_t state_b; /* the runner allocates the state, zeroed, and frees it after `end` */
	int (*begin)(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
	/* Those of `types` that are needed with these options; NULL: all. */
	uint32_t (*wants)(const void *state);
	int (*feed)(void *state, const struct sonde_batch *batch);
	int (*merge)(void *state, void *other);
	int (*finish)(void *state, struct sonde_report *report); /* adds its section */
	void (*end)(void *state); /* frees what the state owns, also after an error in `begin`; NULL: nothing */
};

/* All passes, in report order (passes.def). */
extern const struct sonde_pass *const sonde_passes[];
extern const size_t sonde_pass_count;
const struct sonde_pass *sonde_pass_find(const char *name);

/* Runs the passes over the session in a single pass over the file, and adds their sections in the given order. The
 * report's title, path and notes are set even without `summary`. Sorting by latency replaces `functions` by `latency`.
 * `options` may be NULL. */
int sonde_pass_run(struct sonde_session *session, const struct sonde_pass *const *passes, size_t count,
		   const struct sonde_pass_options *options, struct sonde_report *report);

/* True if the options select a part of the recording. */
static inline int sonde_pass_selects(const struct sonde_pass_options *options)
{
	return options->selection.from_ns || options->selection.to_ns || options->selection.thread;
}

/* True if an event is within the options' range and thread. */
static inline int sonde_pass_takes(const struct sonde_pass_options *options, uint64_t time_ns, uint32_t thread)
{
	return time_ns >= options->selection.from_ns &&
	       (options->selection.to_ns == 0 || time_ns < options->selection.to_ns) &&
	       (!options->selection.thread || options->selection.thread[thread]);
}

#endif
