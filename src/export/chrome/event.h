/* event.h: shared by the files of the chrome format: the state of an export, and writing events. */
#ifndef SONDE_EXPORT_CHROME_EVENT_H
#define SONDE_EXPORT_CHROME_EVENT_H

#include <stdint.h>

#include "export/format.h"
#include "export/annotations.h"
#include "export/nest.h"
#include "export/tracks.h"
#include "session/session.h"
#include "tracks/text.h"
#include "util/json.h"
#include "util/map.h"

#define SONDE_CHROME_TEXT_B SONDE_TRACK_TEXT_B

struct sonde_chrome_calls;
struct sonde_chrome_cpu;

struct sonde_chrome {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	struct sonde_json json;
	uint64_t base_ns; /* origin of timestamps */
	struct sonde_annotations annotations;
	struct sonde_nest *nests; /* by thread id */
	size_t nest_count;
	struct sonde_chrome_cpu *cpu; /* by process id; NULL until there is a series */
	uint64_t apart;               /* number of zones that do not nest: they become asynchronous events */
	struct sonde_export_tracks tracks;
	struct sonde_map numbers; /* kind, owner and sub → number */
	struct sonde_track last;  /* the last track, and its number */
	uint32_t last_number;
	uint32_t track_counts[SONDE_TRACK_KINDS], queue_count;
	uint64_t slice_counts[SONDE_TRACK_KINDS], flow_counts[SONDE_TRACK_KINDS];
	/* Number of slices of blocking calls; number of calls that share a slice; calls shorter than this share slices,
	 * 0 = none. */
	uint64_t wait_slices, waits_shared, waits_least_ns;
	uint64_t lock_arrows;
	struct sonde_chrome_calls *calls;
};

struct sonde_chrome_event {
	const char *phase, *name, *category;
	uint32_t thread; /* id; 0 = process event */
	uint32_t process;
	uint32_t track; /* number to use instead of the thread's; 0 = the thread's */
	uint32_t pid;   /* number to use instead of the process's; 0 = the process's */
	uint64_t time_ns;
};

/* Opens an event and writes the fields that every event has, except "args". The fields specific to its phase may
 * follow; then call sonde_chrome_args(), write the arguments, and call sonde_chrome_end(). */
void sonde_chrome_begin(struct sonde_chrome *chrome, const struct sonde_chrome_event *event);
void sonde_chrome_args(struct sonde_chrome *chrome);
void sonde_chrome_end(struct sonde_chrome *chrome);

/* An arrow (s, f) from a time in one thread to a later time in another, each within a slice of its track. `number` is
 * unique among arrows of the same name. */
struct sonde_chrome_moment {
	uint32_t thread, track; /* as in an event */
	uint64_t time_ns;
	uint32_t pid; /* as in an event */
};
void sonde_chrome_arrow(struct sonde_chrome *chrome, const char *name, uint64_t number,
			const struct sonde_chrome_moment *from, const struct sonde_chrome_moment *to);

/* Writes nanoseconds as microseconds with three decimals, exactly. */
void sonde_chrome_micros(struct sonde_chrome *chrome, const char *key, uint64_t ns);
void sonde_chrome_micros_value(struct sonde_chrome *chrome, int64_t ns);

/* Names the process or track of an event: "process_name", "thread_name". */
void sonde_chrome_metadata(struct sonde_chrome *chrome, const char *what, struct sonde_chrome_event event,
			   const char *name);

/* Writes one of our keys, as "sonde.KEY" if the program uses the same key. */
void sonde_chrome_own_key(struct sonde_chrome *chrome, const char *key);
/* Writes the program's arguments of the zone or span (export/annotations.h), after ours. */
void sonde_chrome_put_args(struct sonde_chrome *chrome);
void sonde_chrome_put_arg(struct sonde_json *json, const struct sonde_track_arg *arg);

int sonde_chrome_zones(struct sonde_chrome *chrome, const struct sonde_batch *batch);
void sonde_chrome_spans(struct sonde_chrome *chrome);

/* Writes a point of a time series. */
int sonde_chrome_series(struct sonde_chrome *chrome, const struct sonde_track_event *event);

/* Writers of blocking calls. _begin reads all calls once to count them, before any batch is written. */
int sonde_chrome_waits_begin(struct sonde_chrome *chrome);
void sonde_chrome_waits(struct sonde_chrome *chrome, const struct sonde_batch *batch);
void sonde_chrome_waits_end(struct sonde_chrome *chrome);
void sonde_chrome_waits_fini(struct sonde_chrome *chrome);
/* Writes the object of a call as argument "object", if it has a name or an address. */
void sonde_chrome_object(struct sonde_chrome *chrome, uint32_t object);
/* Writes an event of a track; `context` is the struct sonde_chrome. */
int sonde_chrome_track(void *context, const struct sonde_track_event *event);
int sonde_chrome_has_machine(const struct sonde_chrome *chrome);

/* Writes CPU samples as V8's "Profile" and "ProfileChunk" events, which Chromium's, Firefox's and Perfetto's viewers
 * read. */
int sonde_chrome_samples(struct sonde_chrome *chrome);

#endif
