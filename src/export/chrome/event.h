/* event.h: what the files of the chrome format share: the state of an export, and events. */
#ifndef SONDE_EXPORT_CHROME_EVENT_H
#define SONDE_EXPORT_CHROME_EVENT_H

#include <stdint.h>

#include "export/format.h"
#include "export/marks.h"
#include "export/nest.h"
#include "export/tracks.h"
#include "session/session.h"
#include "tracks/text.h"
#include "util/json.h"
#include "util/map.h"

#define SONDE_CHROME_TEXT_B SONDE_TRACK_TEXT_B

#define SONDE_CHROME_OWN_B 256 /* room for a key of ours */

enum { SONDE_CHROME_SAID_MAX = 32 }; /* arguments of one zone or span; more are counted as dropped marks */

/* What the program said of the zone or span that is about to be written. */
struct sonde_chrome_said {
	const struct sonde_event_arg *args[SONDE_CHROME_SAID_MAX]; /* the newest first */
	char keys[SONDE_CHROME_SAID_MAX][SONDE_CHROME_TEXT_B];
	size_t count, works;
	double flop, bytes, items; /* of all works */
};

struct sonde_chrome_calls;
struct sonde_chrome_cpu;

struct sonde_chrome {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	struct sonde_json json;
	uint64_t base_ns; /* what timestamps count from */
	struct sonde_marks marks;
	struct sonde_chrome_said said;
	struct sonde_nest *nests; /* by thread id */
	size_t nest_count;
	struct sonde_chrome_cpu *cpu; /* by process id; NULL until there is a series */
	uint64_t apart;               /* zones that did not nest: asynchronous, numbered by this */
	uint64_t unbegun;             /* ends of spans without a begin */
	struct sonde_export_tracks tracks;
	struct sonde_map numbers; /* kind, owner and sub → number */
	uint32_t track_counts[SONDE_TRACK_KINDS];
	uint64_t slice_counts[SONDE_TRACK_KINDS], flow_counts[SONDE_TRACK_KINDS];
	/* Slices of calls that waited; calls that share one; shorter than what, 0 = none do. */
	uint64_t wait_slices, waits_shared, waits_least_ns;
	uint64_t lock_arrows;
	uint64_t device_slices, device_slices_left_out;
	struct sonde_chrome_calls *calls;
};

struct sonde_chrome_event {
	const char *phase, *name, *category;
	uint32_t thread; /* id; 0 = of the process */
	uint32_t process;
	uint32_t track; /* instead of the thread's number; 0 = that */
	uint32_t pid;   /* instead of the process's number; 0 = that */
	uint64_t time_ns;
};

/* Opens an event with its six fields but "args": fields of the phase may follow, then sonde_chrome_args(), arguments
 * and sonde_chrome_end(). */
void sonde_chrome_begin(struct sonde_chrome *chrome, const struct sonde_chrome_event *event);
void sonde_chrome_args(struct sonde_chrome *chrome);
void sonde_chrome_end(struct sonde_chrome *chrome);

/* An arrow (s, f) from a moment of one thread to a later one of another, each within a slice of its track; `number` is
 * its own among those of that name. */
struct sonde_chrome_moment {
	uint32_t thread, track; /* as of an event */
	uint64_t time_ns;
	uint32_t pid; /* the same */
};
void sonde_chrome_arrow(struct sonde_chrome *chrome, const char *name, uint64_t number,
			const struct sonde_chrome_moment *from, const struct sonde_chrome_moment *to);

/* Nanoseconds as microseconds with three decimals, exactly. */
void sonde_chrome_micros(struct sonde_chrome *chrome, const char *key, uint64_t ns);
void sonde_chrome_micros_value(struct sonde_chrome *chrome, int64_t ns);

/* What the process or track of an event is called: "process_name", "thread_name". */
void sonde_chrome_metadata(struct sonde_chrome *chrome, const char *what, struct sonde_chrome_event event,
			   const char *name);

/* A site's name; "(unnamed)" where it has none. */
const char *sonde_chrome_site(const struct sonde_chrome *chrome, uint32_t site);

/* Takes note of what an ARG or WORK event says, the newest first, for the arguments that are written next; counts in
 * `dropped` what has no room. */
void sonde_chrome_say(struct sonde_chrome_said *said, size_t *dropped, const struct sonde_event *event);
/* A key of ours beside these arguments; "sonde.KEY" where the program uses the same. Lies in `text`. */
const char *sonde_chrome_own_name(const struct sonde_chrome_said *said, const char *key, char text[SONDE_CHROME_OWN_B]);
/* A key of ours in these arguments; "sonde.KEY" where the program uses the same. */
void sonde_chrome_own_key(struct sonde_chrome *chrome, const char *key);
/* Writes what was said, behind what is ours. */
void sonde_chrome_put_said(struct sonde_chrome *chrome);

int sonde_chrome_zones(struct sonde_chrome *chrome, const struct sonde_batch *batch);
void sonde_chrome_spans(struct sonde_chrome *chrome);

/* What was read again and again of processes and of the machine, as counters. */
int sonde_chrome_series(struct sonde_chrome *chrome, const struct sonde_batch *batch);

/* Calls that waited: read once before all batches, to see how many there are. */
int sonde_chrome_waits_begin(struct sonde_chrome *chrome);
void sonde_chrome_waits(struct sonde_chrome *chrome, const struct sonde_batch *batch);
void sonde_chrome_waits_end(struct sonde_chrome *chrome);
void sonde_chrome_waits_fini(struct sonde_chrome *chrome);
/* What a call waited for, as argument "object", where it has a name or an address. */
void sonde_chrome_object(struct sonde_chrome *chrome, uint32_t object);
/* Writes an event of a track; `context` is the struct sonde_chrome. */
int sonde_chrome_track(void *context, const struct sonde_track_event *event);
int sonde_chrome_has_machine(const struct sonde_chrome *chrome);

/* CPU samples as V8's "Profile" and "ProfileChunk" events, which Chromium's, Firefox's and Perfetto's viewers read. */
int sonde_chrome_samples(struct sonde_chrome *chrome);

/* What devices did, and the host for them. */
int sonde_chrome_devices(struct sonde_chrome *chrome);

#endif
