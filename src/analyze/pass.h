/* pass.h: an analysis: one file, one row in passes.def.
 *
 * begin, feed every batch of the types asked for, finish. `merge` adds the state of another worker that was fed other
 * batches (NULL: the pass runs in one thread). The same code serves a finished file and one that grows. A pass leaves a
 * section out when the recording has nothing for it, unless it was asked for by name: then it says why there is
 * nothing.
 */
#ifndef SONDE_ANALYZE_PASS_H
#define SONDE_ANALYZE_PASS_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "session/recorded.h"
#include "session/session.h"
#include "session/weigh.h"

/* Of notes on what was too much to read: SONDE_ACTION_TIME. */
#define SONDE_CHOOSE_TIME "choose a part with --from and --to"

enum sonde_sort { SONDE_SORT_SELF = 0, SONDE_SORT_TOTAL, SONDE_SORT_COUNT, SONDE_SORT_NAME, SONDE_SORT_LATENCY };

struct sonde_pass_options {
	enum sonde_sort sort;
	size_t limit;      /* rows; 0 = the pass's own default */
	const char *focus; /* a function's name, for callers and lines; NULL = the hottest */
	struct sonde_selection selection;
	const char *thread_is;     /* the selected threads in words: "3 threads named worker" */
	struct sonde_weigh weigh;  /* of the call tree */
	size_t diff_from, diff_to; /* snapshots that are compared, by number; 0 = none */
	int asked;                 /* named by --section */
	/* Of energy, as typed; NULL = not given. */
	const char *carbon_intensity, *country;
	const char *const *what_if; /* as typed: "zone=X,speed=2" */
	size_t what_ifs;
	const char *const *thresholds; /* of findings, as typed: "small-writes.bytes=512" */
	size_t threshold_count;
	/* Of advice: NULL = the processor; items that are handled at once, 0 = as it is. */
	const char *device;
	size_t batch;
};

struct sonde_pass {
	const char *name;  /* section id: "functions" */
	const char *title; /* one line for --help and docs */
	uint32_t types;    /* chunk types to be fed: bits 1 << enum sonde_chunk_type */
	/* What was to be recorded for it, any of these (session/recorded.h); 0 = all that is asked is in `finish`. A
	 * section without rows says "not recorded: …" where none was, whatever `finish` would say. */
	uint32_t needs;
	/* Whether the recording can have rows for it, without reading events (analyze/contents.h); NULL = always: menus
	 * have the section whatever was recorded. */
	int (*has)(const struct sonde_session *session);
	const char *nothing; /* what it says without rows where it was recorded; NULL: as `finish` says */
	int standard;        /* in a plain `sonde report` */
	int is_shared; /* `finish` leaves the state as it is: passes alike in all but name, title and finish share one
			*/
	int (*begin)(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
	/* The types that this state wants, of `types`, given the options; NULL: all of them. */
	uint32_t (*wants)(const void *state);
	int (*feed)(void *state, const struct sonde_batch *batch);
	int (*merge)(void *state, void *other);
	int (*finish)(void *state, struct sonde_report *report); /* adds its section */
	void (*end)(void *state);                                /* frees the state, also after an error */
};

/* All passes, in report order (passes.def). */
extern const struct sonde_pass *const sonde_passes[];
extern const size_t sonde_pass_count;
const struct sonde_pass *sonde_pass_find(const char *name);

/* Runs the passes over the session in one reading of the file and adds their sections in the order given. The report's
 * title, path and notes are set whether or not `summary` is among them. Sorting by latency puts `latency` in the place
 * of `functions`. `options` may be NULL. */
int sonde_pass_run(struct sonde_session *session, const struct sonde_pass *const *passes, size_t count,
		   const struct sonde_pass_options *options, struct sonde_report *report);

#endif
