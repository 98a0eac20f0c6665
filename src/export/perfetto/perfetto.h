/* perfetto.h: shared by the files of the perfetto format: tracks, and events on them, as packets of one sequence.
 *
 * Errors are sticky (sonde_perfetto.error): after an error, nothing more is written.
 */
#ifndef SONDE_EXPORT_PERFETTO_PERFETTO_H
#define SONDE_EXPORT_PERFETTO_PERFETTO_H

#include <stdint.h>

#include "export/chrome/event.h"
#include "export/format.h"
#include "export/intern.h"
#include "export/annotations.h"
#include "export/nest.h"
#include "export/tracks.h"
#include "session/session.h"
#include "util/buf.h"
#include "util/map.h"

/* Kinds of tracks, and their keys. */
enum sonde_perfetto_kind {
	SONDE_PERFETTO_PROCESS = 1, /* process id; 0 = the system */
	SONDE_PERFETTO_THREAD,      /* thread id */
	SONDE_PERFETTO_CALLS,       /* thread, lane */
	SONDE_PERFETTO_SAMPLED,     /* thread: CPU time of its samples */
	SONDE_PERFETTO_DEVICE,      /* id of the device's first row, 0; if unknown: 0, process */
	SONDE_PERFETTO_ABOUT,
	SONDE_PERFETTO_TRACKS, /* + kind of tracks/tracks.h: process and thread, queue and sub */
};

enum sonde_perfetto_type {
	SONDE_PERFETTO_BEGIN = 1,
	SONDE_PERFETTO_END = 2,
	SONDE_PERFETTO_INSTANT = 3,
	SONDE_PERFETTO_COUNT = 4,
};

enum { SONDE_PERFETTO_LATELY = 32 };

struct sonde_perfetto_level;

/* The zones of a thread: the begin of a zone may have to wait for the begin of the enclosing zone. */
struct sonde_perfetto_thread {
	struct sonde_nest nest;
	struct sonde_perfetto_level *levels;
	size_t level_count, deepest; /* number of levels; the levels in use are those below `deepest` */
};

struct sonde_perfetto {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	FILE *out;
	int error;
	int is_begun;                            /* the first packet, which says that none preceded it, was written */
	struct sonde_buf packet, event, inner;   /* in progress: `inner` goes into `event`, `event` into `packet` */
	struct sonde_buf interned, table, entry; /* likewise for table entries */
	struct sonde_buf head, scratch;
	struct sonde_intern names, categories, keys;
	uint32_t lately[3][SONDE_PERFETTO_LATELY]; /* per table: recently used numbers */
	uint8_t *places;                           /* by site id: 1 = already in the table of source locations */
	struct sonde_map tracks;                   /* kind and key → number */
	struct sonde_export_tracks stream;
	uint64_t track_count, flow_count, links_from;
	struct sonde_track last; /* the last track of the stream, and its number */
	uint64_t last_number;
	struct sonde_annotations annotations;
	struct sonde_perfetto_thread *threads; /* by thread id */
	size_t thread_count;
	/* What could not be shown faithfully; reported at the end. */
	uint64_t apart, calls_left, calls_left_ns, calls_least_ns;
};

/* --- packets ------------------------------------------------------------------------------------------------------ */

/* Writes perfetto->packet as a packet of the sequence, to `to`, or to the file if NULL. */
void sonde_perfetto_put(struct sonde_perfetto *perfetto, struct sonde_buf *to);

/* A sanitised text (clean.h), valid until the next call. */
const char *sonde_perfetto_clean(struct sonde_perfetto *perfetto, const char *text);

/* Adds an entry to the sequence's tables: perfetto->entry, as field `table` of InternedData. The entry is in the file
 * before everything that is written later. */
void sonde_perfetto_define(struct sonde_perfetto *perfetto, uint32_t table);

/* --- tracks ------------------------------------------------------------------------------------------------------- */

/* The number of a track; sets *is_new on first use, when the caller has to describe it. */
uint64_t sonde_perfetto_track(struct sonde_perfetto *perfetto, enum sonde_perfetto_kind kind, uint64_t a, uint64_t b,
			      int *is_new);
/* Returns the number of a new track that will not be looked up again. */
uint64_t sonde_perfetto_track_new(struct sonde_perfetto *perfetto);

/* Describes a track below another. `unit`: of a counter ("ns", "B", "", …); NULL = track of slices. */
void sonde_perfetto_describe(struct sonde_perfetto *perfetto, uint64_t track, uint64_t parent, const char *name,
			     const char *unit);

/* Return the track of a process or a thread, which is described on first use. */
uint64_t sonde_perfetto_process(struct sonde_perfetto *perfetto, uint32_t id);
uint64_t sonde_perfetto_thread(struct sonde_perfetto *perfetto, uint32_t id);
/* Returns a counter track below the track of a process or a thread. */
uint64_t sonde_perfetto_counter(struct sonde_perfetto *perfetto, enum sonde_perfetto_kind kind, uint64_t a, uint64_t b,
				uint64_t parent, const char *name, const char *unit);

/* --- events ------------------------------------------------------------------------------------------------------- */

struct sonde_perfetto_event {
	enum sonde_perfetto_type type;
	uint64_t track, time_ns;
	const char *category, *name; /* NULL = none */
};

/* Begins an event; arguments and arrows may follow, then sonde_perfetto_end(). */
void sonde_perfetto_begin(struct sonde_perfetto *perfetto, const struct sonde_perfetto_event *event);
void sonde_perfetto_arg_text(struct sonde_perfetto *perfetto, const char *key, const char *value);
void sonde_perfetto_arg_uint(struct sonde_perfetto *perfetto, const char *key, uint64_t value);
void sonde_perfetto_arg_int(struct sonde_perfetto *perfetto, const char *key, int64_t value);
void sonde_perfetto_arg_real(struct sonde_perfetto *perfetto, const char *key, double value);
void sonde_perfetto_arg_bool(struct sonde_perfetto *perfetto, const char *key, int value);
/* Adds the source location of a site, if known. */
void sonde_perfetto_place(struct sonde_perfetto *perfetto, uint32_t site);
/* Adds an arrow that begins or ends at this event. */
void sonde_perfetto_flow(struct sonde_perfetto *perfetto, uint64_t number, int ends);
/* Ends the event; writes it to `to`, or to the file if NULL. */
void sonde_perfetto_end(struct sonde_perfetto *perfetto, struct sonde_buf *to);

/* The first function writes the end of a slice, the other two a point of a counter. */
void sonde_perfetto_close(struct sonde_perfetto *perfetto, uint64_t track, uint64_t time_ns, struct sonde_buf *to);
void sonde_perfetto_point(struct sonde_perfetto *perfetto, uint64_t track, uint64_t time_ns, double value);
void sonde_perfetto_point_int(struct sonde_perfetto *perfetto, uint64_t track, uint64_t time_ns, int64_t value);

void sonde_perfetto_arg(struct sonde_perfetto *perfetto, const struct sonde_track_arg *arg);
/* Writes the program's arguments of the zone or span (export/annotations.h). */
void sonde_perfetto_args(struct sonde_perfetto *perfetto);

/* --- output ------------------------------------------------------------------------------------------------------- */

void sonde_perfetto_zones(struct sonde_perfetto *perfetto, const struct sonde_batch *batch);
void sonde_perfetto_zones_end(struct sonde_perfetto *perfetto);
void sonde_perfetto_zones_fini(struct sonde_perfetto *perfetto);
int sonde_perfetto_spans(struct sonde_perfetto *perfetto);
int sonde_perfetto_calls(struct sonde_perfetto *perfetto);
/* Writes an event of a track; `context` is the struct sonde_perfetto. */
int sonde_perfetto_put_track(void *context, const struct sonde_track_event *event);
int sonde_perfetto_samples(struct sonde_perfetto *perfetto);

#endif
