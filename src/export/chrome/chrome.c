/* chrome.c: trace-event JSON, for Perfetto, Chromium and the Firefox Profiler.
 *
 * Events are written while the recording is read, except for the critical path, which is computed before. The order:
 * zones and waits as complete events (X), counters (C) and annotations (i), with arrows (s, f) from the thread that
 * unlocked to the thread that waited; then thread states, as complete events on their own tracks, with arrows from the
 * waking thread, if known; then device activity, in separate processes, with arrows (bind_id) from the calls that
 * submitted it; then resources, as counters; then the critical path; then spans as asynchronous events (b, e), with an
 * arrow (s, f) if one ends in another thread; then live memory of each heap, as counters; then CPU samples. Zones of a
 * thread that do not nest, which viewers would draw wrongly, become asynchronous events, too. Every event has name,
 * cat, pid, tid, ts and args, because some readers require all of them. Timestamps are microseconds since the start of
 * the recording, exact to the nanosecond; baseTimeNanoseconds is the start of the recording in wall-clock time. Only
 * spans and the arguments of zones are held in memory (export/annotations.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "export/chrome/event.h"
#include "export/format.h"
#include "export/missing.h"
#include "export/origin.h"
#include "util/error.h"

static void put_names(struct sonde_chrome *chrome)
{
	if (sonde_chrome_has_machine(chrome))
		sonde_chrome_metadata(chrome, "process_name", (struct sonde_chrome_event){0}, "machine");
	for (uint32_t i = 1; i <= sonde_session_process_count(chrome->session); i++)
		sonde_chrome_metadata(chrome, "process_name", (struct sonde_chrome_event){.process = i},
				      sonde_session_process(chrome->session, i)->name);
	for (uint32_t i = 1; i <= sonde_session_thread_count(chrome->session); i++)
		if (!chrome->options->selection.thread || chrome->options->selection.thread[i])
			sonde_chrome_metadata(chrome, "thread_name", (struct sonde_chrome_event){.thread = i},
					      sonde_session_thread(chrome->session, i)->name);
}

/* Writes the origin of an imported recording, and what it lacks. */
static void put_origin(struct sonde_chrome *chrome)
{
	struct sonde_json *json = &chrome->json;
	const struct sonde_missing missing = sonde_missing_of(chrome->session);
	struct sonde_origin origin = {0};
	const char *args = sonde_origin_next(&origin, chrome->session);
	if (args) {
		sonde_json_put_array(json, "import_notes");
		for (; args; args = sonde_origin_next(&origin, chrome->session))
			sonde_json_text(json, args);
		sonde_json_end(json);
	}
	sonde_json_put_uint(json, "records_lost", missing.lost);
	sonde_json_put_uint(json, "bytes_not_readable", missing.damaged_b);
	sonde_json_put_uint(json, "chunks_skipped", missing.skipped);
	sonde_json_put_uint(json, "not_closed_in_order", (uint64_t)missing.cut);
}

/* Writes what follows the list of events: the time base, the origin, and what could not be shown. */
static void put_tail(struct sonde_chrome *chrome)
{
	struct sonde_json *json = &chrome->json;
	const struct sonde_tracks_left *states = &chrome->tracks.left[SONDE_TRACK_STATES];
	const char *command = sonde_session_info(chrome->session, "run.command");
	sonde_json_put_text(json, "displayTimeUnit", "ns");
	sonde_json_put_uint(json, "baseTimeNanoseconds", sonde_session_head(chrome->session)->start_real_ns);
	sonde_json_put_object(json, "otherData");
	sonde_json_put_text(json, "exporter", "sonde");
	sonde_json_put_text(json, "command", command ? command : "");
	put_origin(chrome);
	sonde_json_put_uint(json, "zones_apart", chrome->apart);
	sonde_json_put_uint(json, "span_ends_without_begin", chrome->annotations.unbegun);
	sonde_json_put_uint(json, "marks_dropped", chrome->annotations.dropped);
	sonde_json_put_uint(json, "heap_curves_damaged", chrome->tracks.left[SONDE_TRACK_HEAP].damaged);
	sonde_json_put_uint(json, "state_slices", chrome->slice_counts[SONDE_TRACK_STATES]);
	sonde_json_put_uint(json, "states_in_shared_slices", states->shared);
	if (states->shared) {
		sonde_json_put_uint(json, "states_shared_below_ns", states->least_ns);
		sonde_json_put_text(json, "states_note",
				    "shorter states share slices named switching, which sum them up; sonde export "
				    "--from and --to show a part in detail");
	}
	sonde_json_put_uint(json, "wait_slices", chrome->wait_slices);
	sonde_json_put_uint(json, "waits_in_shared_slices", chrome->waits_shared);
	if (chrome->waits_shared) {
		sonde_json_put_uint(json, "waits_shared_below_ns", chrome->waits_least_ns);
		sonde_json_put_text(json, "waits_note",
				    "shorter calls share slices named calls, which sum them up; sonde export --from "
				    "and --to show a part in detail");
	}
	sonde_json_put_uint(json, "lock_arrows", chrome->lock_arrows);
	sonde_json_put_uint(json, "wake_arrows", chrome->flow_counts[SONDE_TRACK_STATES]);
	sonde_json_put_uint(json, "device_slices", chrome->slice_counts[SONDE_TRACK_DEVICES]);
	sonde_json_put_uint(json, "device_slices_left_out", chrome->tracks.left[SONDE_TRACK_DEVICES].omitted);
	sonde_json_put_uint(json, "critical_path_steps", chrome->slice_counts[SONDE_TRACK_PATH]);
	sonde_json_put_uint(json, "critical_path_steps_left_out", chrome->tracks.left[SONDE_TRACK_PATH].omitted);
	sonde_json_end(json);
}

/* Tracks written before spans; all other kinds follow them. */
#define EARLIER                                                                       \
	(SONDE_TRACKS_OF(SONDE_TRACK_EVENTS) | SONDE_TRACKS_OF(SONDE_TRACK_STATES) |  \
	 SONDE_TRACKS_OF(SONDE_TRACK_DEVICES) | SONDE_TRACKS_OF(SONDE_TRACK_SERIES) | \
	 SONDE_TRACKS_OF(SONDE_TRACK_PATH))

static int put_batch(void *context, const struct sonde_batch *batch)
{
	if (batch->type == SONDE_CHUNK_ZONES)
		return sonde_chrome_zones(context, batch);
	if (batch->type == SONDE_CHUNK_EVENTS)
		return sonde_export_tracks_batch(&((struct sonde_chrome *)context)->tracks, batch);
	sonde_chrome_waits(context, batch);
	return 0;
}

static int put_document(struct sonde_chrome *chrome)
{
	struct sonde_json *json = &chrome->json;
	sonde_json_object(json);
	sonde_json_put_array(json, "traceEvents");
	put_names(chrome);
	int rc = sonde_chrome_waits_begin(chrome);
	if (!rc)
		rc = sonde_session_batches(chrome->session,
					   1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_EVENTS | 1u << SONDE_CHUNK_WAITS,
					   put_batch, chrome);
	if (rc)
		return rc;
	sonde_chrome_waits_end(chrome);
	rc = sonde_export_tracks(&chrome->tracks, EARLIER & ~SONDE_TRACKS_OF(SONDE_TRACK_EVENTS));
	if (rc)
		return rc;
	sonde_chrome_spans(chrome);
	rc = sonde_export_tracks(&chrome->tracks, SONDE_TRACKS_ALL & ~EARLIER);
	rc = rc ? rc : sonde_chrome_samples(chrome);
	if (rc)
		return rc;
	sonde_json_end(json);
	put_tail(chrome);
	sonde_json_end(json);
	return 0;
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_chrome chrome = {
	    .session = session, .options = options, .base_ns = sonde_session_head(session)->start_mono_ns};
	chrome.tracks = (struct sonde_export_tracks){
	    .session = session, .options = options, .put = sonde_chrome_track, .context = &chrome, .has_waits = 1};
	sonde_json_init(&chrome.json, out, 0);
	int rc = sonde_annotations_read(&chrome.annotations, session);
	if (rc)
		return rc;
	chrome.nest_count = sonde_session_thread_count(session) + 1;
	chrome.nests = calloc(chrome.nest_count, sizeof *chrome.nests);
	rc = chrome.nests ? put_document(&chrome)
			  : sonde_error(ENOMEM, "out of memory for %zu threads", chrome.nest_count);
	for (size_t i = 0; chrome.nests && i < chrome.nest_count; i++)
		sonde_nest_fini(&chrome.nests[i]);
	free(chrome.nests);
	free(chrome.cpu);
	sonde_map_fini(&chrome.numbers);
	sonde_export_tracks_fini(&chrome.tracks);
	sonde_chrome_waits_fini(&chrome);
	sonde_annotations_fini(&chrome.annotations);
	return rc;
}

const struct sonde_format sonde_format_chrome = {
    .name = "chrome",
    .extension = ".trace.json",
    .title = "trace events for Perfetto and chrome://tracing",
    .export = export,
};
