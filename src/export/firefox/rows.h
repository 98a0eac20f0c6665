/* rows.h: shared by the files of the firefox format: samples, markers and counter points, which are collected from the
 * whole recording before the first thread is written. */
#ifndef SONDE_EXPORT_FIREFOX_ROWS_H
#define SONDE_EXPORT_FIREFOX_ROWS_H

#include <stdint.h>

#include "export/chrome/event.h"
#include "export/format.h"
#include "export/intern.h"
#include "export/annotations.h"
#include "export/spool.h"
#include "export/tracks.h"
#include "session/session.h"
#include "util/json.h"

enum sonde_firefox_category {
	SONDE_FIREFOX_OTHER,
	SONDE_FIREFOX_USER,
	SONDE_FIREFOX_KERNEL,
	SONDE_FIREFOX_ZONE,
	SONDE_FIREFOX_WAIT,
	SONDE_FIREFOX_MARK,
	SONDE_FIREFOX_PATH,
	SONDE_FIREFOX_DEVICE,
};

enum { SONDE_FIREFOX_COUNTERS_SPARE = 64 }; /* maximum number of counters besides heaps and series */

/* A counter of a process. */
struct sonde_firefox_counter {
	const char *name;
	uint32_t process;
	uint32_t thread, sub; /* key of the counter's track */
	enum sonde_track_kind kind;
};

/* Remembers which field takes an argument; the argument's key is compared by its address. */
struct sonde_firefox_matched {
	const char *key;
	const struct sonde_firefox_field *fields;
	size_t field;
};

struct sonde_firefox {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	struct sonde_json json;
	int error;
	struct sonde_spool samples; /* by thread; value: weight; name: stack; kind: leaf of the stack */
	/* by thread, followed by queue of a device; value: end time, 0 = instant; name: index into `names`; kind:
	 * category */
	struct sonde_spool markers;
	struct sonde_spool points; /* by counter; value: bytes */
	struct sonde_intern names, counter_names;
	struct sonde_firefox_counter *counters;
	size_t counter_count, counter_cap;
	struct sonde_annotations annotations;
	struct sonde_export_tracks tracks;
	struct sonde_firefox_matched matched[SONDE_TRACK_ARGS_MAX + 1]; /* arguments of the last event */
	uint64_t calls_left, calls_left_ns, calls_least_ns;
	uint64_t not_shown[SONDE_TRACK_KINDS]; /* number of events whose thread is not written */
};

/* Writes a time or duration as ms with six decimals, exactly; times count from the start of the recording. */
void sonde_firefox_ms(struct sonde_json *json, uint64_t ns);
uint64_t sonde_firefox_after(const struct sonde_firefox *firefox, uint64_t time_ns);

/* True if a thread is written. Thread 0 stands for unknown threads. */
static inline int sonde_firefox_has(const struct sonde_firefox *firefox, uint32_t thread)
{
	return thread <= sonde_session_thread_count(firefox->session) &&
	       (!firefox->options->selection.thread || firefox->options->selection.thread[thread]);
}

/* The first function returns the group of a queue in `markers`, the second the total number of groups. */
static inline uint32_t sonde_firefox_queue_group(const struct sonde_firefox *firefox, uint32_t queue)
{
	return (uint32_t)sonde_session_thread_count(firefox->session) + queue;
}

static inline uint32_t sonde_firefox_groups(const struct sonde_firefox *firefox)
{
	return sonde_firefox_queue_group(firefox, (uint32_t)sonde_session_queue_count(firefox->session)) + 1;
}

/* A marker of a group of `markers`. _begin starts an object of the marker's type (sonde_firefox_schema()); then write
 * the fields of its data to `json`. to_ns 0: an instant. */
struct sonde_firefox_marker {
	struct sonde_firefox *firefox;
	struct sonde_spool_row row;
	struct sonde_json json;
};
void sonde_firefox_begin(struct sonde_firefox_marker *marker, struct sonde_firefox *firefox, uint32_t group,
			 const char *name, const char *type);
void sonde_firefox_end(struct sonde_firefox_marker *marker, enum sonde_firefox_category category, uint64_t from_ns,
		       uint64_t to_ns);

/* Writes the arguments as one text, "key=value, key=value", since their keys are arbitrary. */
void sonde_firefox_args(struct sonde_firefox_marker *marker, const struct sonde_track_arg *args, size_t count);

/* These functions read the session and fill the spools. */
int sonde_firefox_markers(struct sonde_firefox *firefox);
int sonde_firefox_calls(struct sonde_firefox *firefox);
/* Collects an event of a track; `context` is the struct sonde_firefox. */
int sonde_firefox_track(void *context, const struct sonde_track_event *event);

/* The first function adds a counter at the end of firefox->counters, the second adds a point to a counter. Both set
 * firefox->error and return it. */
int sonde_firefox_counter(struct sonde_firefox *firefox, const char *name, uint32_t process);
int sonde_firefox_point(struct sonde_firefox *firefox, uint32_t counter, uint64_t time_ns, uint64_t value);

static inline size_t sonde_firefox_counters_max(const struct sonde_firefox *firefox)
{
	return sonde_session_heap_count(firefox->session) + sonde_session_series_count(firefox->session) +
	       SONDE_FIREFOX_COUNTERS_SPARE;
}

/* Writes all counters. */
void sonde_firefox_counters(const struct sonde_firefox *firefox, struct sonde_json *json);

/* Writes the schema of the markers' data. */
void sonde_firefox_schema(struct sonde_json *json);
/* The fields of a type; ends with a key that is NULL. */
enum { SONDE_FIREFOX_FIELDS_MAX = 12 };
struct sonde_firefox_field {
	const char *key, *label, *format;
};
const struct sonde_firefox_field *sonde_firefox_fields(const char *type);

/* Writes a thread with all its tables. */
int sonde_firefox_thread(struct sonde_firefox *firefox, const struct sonde_thread *thread);
/* Writes the queues of devices with activity, each as a thread of its process. */
int sonde_firefox_queues(struct sonde_firefox *firefox);

#endif
