/* perfetto.c: a trace of protobuf packets, for Perfetto's viewer and trace_processor.
 *
 * One sequence of packets (perfetto/packet.c), grouped by kind of data; readers sort them by time. The trace clock is
 * CLOCK_MONOTONIC. A snapshot relates it to the wall clock and to CLOCK_BOOTTIME, which continues during suspend, so
 * that kernel traces can be aligned. Zones and annotations are on the tracks of their threads; counters, spans,
 * blocking calls, states and the critical path have tracks below those of threads and processes; queues have tracks
 * below their devices. An instant event at the end reports what could not be shown faithfully. Only tables, arguments
 * of zones and spans (export/annotations.h), and the longest calls are held in memory.
 */
#include "export/perfetto/perfetto.h"

#include <errno.h>
#include <stdlib.h>

#include "export/missing.h"
#include "export/proto.h"
#include "util/error.h"

enum { MESSAGE_MAX_B = 64 << 20 };
enum { PACKET_CLOCKS = 6, PACKET_DEFAULTS = 59, PACKET_FIRST = 87 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2, REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum { DEFAULTS_SAMPLES = 12, DEFAULTS_CLOCK = 58, SAMPLES_TIMEBASE = 1 };
enum { TIMEBASE_FREQUENCY = 2, TIMEBASE_COUNTER = 4, COUNTER_CPU_CLOCK = 1 };

static void put_clock(struct sonde_perfetto *perfetto, uint32_t id, uint64_t time_ns)
{
	sonde_proto_uint(&perfetto->inner, CLOCK_ID, id);
	sonde_proto_uint(&perfetto->inner, CLOCK_TIME, time_ns);
	sonde_proto_message(&perfetto->event, CLOCKS_CLOCK, &perfetto->inner);
}

/* Starts the sequence: defaults for all its packets, and its clock. */
static void put_head(struct sonde_perfetto *perfetto)
{
	const struct sonde_file_head *head = sonde_session_head(perfetto->session);
	const struct sonde_run *run = sonde_session_run(perfetto->session);
	uint64_t period_ns = sonde_session_period_ns(perfetto->session);
	put_clock(perfetto, REALTIME, head->start_real_ns);
	put_clock(perfetto, MONOTONIC, head->start_mono_ns);
	if (run->boot_known)
		put_clock(perfetto, BOOTTIME, head->start_mono_ns + run->boot_ahead_ns);
	sonde_proto_uint(&perfetto->event, CLOCKS_PRIMARY, MONOTONIC);
	sonde_proto_message(&perfetto->packet, PACKET_CLOCKS, &perfetto->event);
	sonde_proto_uint(&perfetto->packet, PACKET_FIRST, 1);
	sonde_proto_uint(&perfetto->entry, TIMEBASE_FREQUENCY,
			 period_ns ? (1000000000 + period_ns / 2) / period_ns : 0);
	sonde_proto_uint(&perfetto->entry, TIMEBASE_COUNTER, COUNTER_CPU_CLOCK);
	sonde_proto_message(&perfetto->inner, SAMPLES_TIMEBASE, &perfetto->entry);
	sonde_proto_uint(&perfetto->event, DEFAULTS_CLOCK, MONOTONIC);
	sonde_proto_message(&perfetto->event, DEFAULTS_SAMPLES, &perfetto->inner);
	sonde_proto_message(&perfetto->packet, PACKET_DEFAULTS, &perfetto->event);
	sonde_perfetto_put(perfetto, NULL);
}

/* Names all selected processes and threads, even those without events. */
static void put_names(struct sonde_perfetto *perfetto)
{
	for (uint32_t i = 1; i <= sonde_session_process_count(perfetto->session); i++)
		sonde_perfetto_process(perfetto, i);
	for (uint32_t i = 1; i <= sonde_session_thread_count(perfetto->session); i++)
		if (!perfetto->options->selection.thread || perfetto->options->selection.thread[i])
			sonde_perfetto_thread(perfetto, i);
}

static int put_batch(void *context, const struct sonde_batch *batch)
{
	struct sonde_perfetto *perfetto = context;
	if (batch->type == SONDE_CHUNK_ZONES)
		sonde_perfetto_zones(perfetto, batch);
	else
		perfetto->error = sonde_export_tracks_batch(&perfetto->stream, batch);
	return perfetto->error;
}

static int put_batches(struct sonde_perfetto *perfetto)
{
	int rc = sonde_session_batches(perfetto->session, 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_EVENTS, put_batch,
				       perfetto);
	if (!perfetto->error)
		sonde_perfetto_zones_end(perfetto);
	return perfetto->error ? perfetto->error : rc;
}

/* Reports what was not shown faithfully, and what was recorded. */
static void put_about(struct sonde_perfetto *perfetto)
{
	const char *command = sonde_session_info(perfetto->session, "run.command");
	const struct sonde_missing missing = sonde_missing_of(perfetto->session);
	const struct {
		const char *key;
		uint64_t value;
	} args[] = {{"zones_apart", perfetto->apart},
		    {"span_ends_without_begin", perfetto->annotations.unbegun},
		    {"marks_dropped", perfetto->annotations.dropped},
		    {"calls_left_out", perfetto->calls_left},
		    {"calls_left_out_ns", perfetto->calls_left_ns},
		    {"calls_left_out_below_ns", perfetto->calls_least_ns},
		    {"states_in_shared_slices", perfetto->stream.left[SONDE_TRACK_STATES].shared},
		    {"states_shared_below_ns", perfetto->stream.left[SONDE_TRACK_STATES].least_ns},
		    {"critical_path_steps_left_out", perfetto->stream.left[SONDE_TRACK_PATH].omitted},
		    {"heap_curves_damaged", perfetto->stream.left[SONDE_TRACK_HEAP].damaged},
		    {"device_slices_left_out", perfetto->stream.left[SONDE_TRACK_DEVICES].omitted},
		    {"records_lost", missing.lost},
		    {"bytes_not_readable", missing.damaged_b},
		    {"chunks_skipped", missing.skipped},
		    {"not_closed_in_order", (uint64_t)missing.cut}};
	int is_new;
	uint64_t track = sonde_perfetto_track(perfetto, SONDE_PERFETTO_ABOUT, 0, 0, &is_new);
	sonde_perfetto_describe(perfetto, track, 0, "sonde", NULL);
	sonde_perfetto_begin(
	    perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_INSTANT,
						     .track = track,
						     .time_ns = sonde_session_head(perfetto->session)->start_mono_ns,
						     .category = "sonde",
						     .name = "about this recording"});
	sonde_perfetto_arg_text(perfetto, "command", command ? command : "");
	for (size_t i = 0; i < sizeof args / sizeof *args; i++)
		sonde_perfetto_arg_uint(perfetto, args[i].key, args[i].value);
	sonde_perfetto_end(perfetto, NULL);
}

/* Tracks written before spans; all other kinds follow them. */
#define BEFORE_SAMPLES \
	(SONDE_TRACKS_OF(SONDE_TRACK_STATES) | SONDE_TRACKS_OF(SONDE_TRACK_SERIES) | SONDE_TRACKS_OF(SONDE_TRACK_HEAP))
#define EARLIER (BEFORE_SAMPLES | SONDE_TRACKS_OF(SONDE_TRACK_EVENTS) | SONDE_TRACKS_OF(SONDE_TRACK_DEVICES))

static int put_all(struct sonde_perfetto *perfetto)
{
	static const struct {
		int (*put)(struct sonde_perfetto *);
		uint32_t kinds; /* kinds of tracks to write, if `put` is NULL */
	} parts[] = {{put_batches, 0},
		     {sonde_perfetto_calls, 0},
		     {NULL, BEFORE_SAMPLES},
		     {sonde_perfetto_samples, 0},
		     {NULL, SONDE_TRACKS_OF(SONDE_TRACK_DEVICES)},
		     {sonde_perfetto_spans, 0},
		     {NULL, SONDE_TRACKS_ALL & ~EARLIER}};
	put_head(perfetto);
	put_names(perfetto);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		perfetto->links_from = perfetto->flow_count;
		int rc = parts[i].put ? parts[i].put(perfetto) : sonde_export_tracks(&perfetto->stream, parts[i].kinds);
		if (rc)
			return rc;
	}
	put_about(perfetto);
	return perfetto->error;
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_perfetto perfetto = {.session = session, .options = options, .out = out};
	struct sonde_buf *const buffers[] = {&perfetto.packet, &perfetto.event, &perfetto.inner, &perfetto.interned,
					     &perfetto.table,  &perfetto.entry, &perfetto.head,  &perfetto.scratch};
	perfetto.stream = (struct sonde_export_tracks){
	    .session = session, .options = options, .put = sonde_perfetto_put_track, .context = &perfetto};
	int rc = sonde_annotations_read(&perfetto.annotations, session);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		sonde_buf_init(buffers[i], MESSAGE_MAX_B);
	perfetto.thread_count = sonde_session_thread_count(session) + 1;
	perfetto.threads = calloc(perfetto.thread_count, sizeof *perfetto.threads);
	perfetto.places = calloc(sonde_session_site_count(session) + 1, 1);
	rc = perfetto.threads && perfetto.places
		 ? put_all(&perfetto)
		 : sonde_error(ENOMEM, "out of memory for %zu threads", perfetto.thread_count);
	if (perfetto.threads)
		sonde_perfetto_zones_fini(&perfetto);
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		sonde_buf_fini(buffers[i]);
	free(perfetto.places);
	sonde_intern_fini(&perfetto.names);
	sonde_intern_fini(&perfetto.categories);
	sonde_intern_fini(&perfetto.keys);
	sonde_map_fini(&perfetto.tracks);
	sonde_export_tracks_fini(&perfetto.stream);
	sonde_annotations_fini(&perfetto.annotations);
	return rc;
}

const struct sonde_format sonde_format_perfetto = {
    .name = "perfetto",
    .extension = ".pftrace",
    .title = "protobuf trace, for Perfetto",
    .binary = 1,
    .export = export,
};
