/* firefox.c: the Firefox Profiler's processed profile, which its viewer opens and profiler-cli reads.
 *
 * Version 48 of the format is written: newer readers can upgrade it, and the meaning of every field is known. A thread
 * has samples, weighted by their CPU time, and markers (firefox/markers.c); a process has its memory as counters, which
 * are changes in this format. The format stores the rows of each thread as columns, but events come interleaved, so
 * they are first collected in unnamed files (spool.h). What the format cannot represent, such as thread states and
 * counters of anything but memory, is left out: the chrome and perfetto formats have it. Times are in ms since the
 * start of the recording.
 */
#include <stdlib.h>

#include "export/firefox/rows.h"
#include "export/missing.h"
#include "export/stacks.h"
#include "util/error.h"

enum { VERSION = 48, GECKO_VERSION = 29 };

/* --- collecting --------------------------------------------------------------------------------------------------- */

static int gather_samples(void *context, const struct sonde_batch *batch)
{
	struct sonde_firefox *firefox = context;
	for (size_t i = 0; i < batch->count && !firefox->error; i++) {
		uint32_t thread = batch->samples.thread[i];
		int in_kernel = sonde_export_stacks_in_kernel(firefox->session, batch, i);
		const struct sonde_spool_row row = {.time = batch->samples.time_ns[i],
						    .value = batch->samples.weight_ns[i],
						    .text_at = firefox->samples.row_count,
						    .group = thread,
						    .name = batch->samples.stack[i],
						    .kind = (uint32_t)in_kernel};
		if (sonde_firefox_has(firefox, thread) &&
		    sonde_selection_takes(&firefox->options->selection, row.time, thread))
			firefox->error = sonde_spool_add(&firefox->samples, &row);
	}
	return firefox->error;
}

/* --- the document ------------------------------------------------------------------------------------------------- */

static void put_categories(struct sonde_json *json)
{
	static const char *const rows[][2] = {
	    [SONDE_FIREFOX_OTHER] = {"Other", "grey"},       [SONDE_FIREFOX_USER] = {"User", "yellow"},
	    [SONDE_FIREFOX_KERNEL] = {"Kernel", "orange"},   [SONDE_FIREFOX_ZONE] = {"Zone", "blue"},
	    [SONDE_FIREFOX_WAIT] = {"Wait", "purple"},       [SONDE_FIREFOX_MARK] = {"Mark", "green"},
	    [SONDE_FIREFOX_PATH] = {"Critical path", "red"}, [SONDE_FIREFOX_DEVICE] = {"Device", "lightblue"},
	};
	sonde_json_put_array(json, "categories");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		sonde_json_object(json);
		sonde_json_put_text(json, "name", rows[i][0]);
		sonde_json_put_text(json, "color", rows[i][1]);
		sonde_json_put_array(json, "subcategories");
		sonde_json_text(json, "Other");
		sonde_json_end(json);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

/* Lists what could not be shown, in the viewer's box about the profile. */
static void put_extra(const struct sonde_firefox *firefox, struct sonde_json *json)
{
	const struct sonde_missing missing = sonde_missing_of(firefox->session);
	uint64_t path_left = firefox->tracks.left[SONDE_TRACK_PATH].omitted + firefox->not_shown[SONDE_TRACK_PATH];
	const struct {
		const char *label, *format;
		uint64_t value;
	} rows[] = {{"Blocking calls left out", "integer", firefox->calls_left},
		    {"Their time", "nanoseconds", firefox->calls_left_ns},
		    {"They were shorter than", "nanoseconds", firefox->calls_least_ns},
		    {"Arguments left out", "integer", firefox->annotations.dropped},
		    {"Critical path segments left out", "integer", path_left},
		    {"GPU activities left out", "integer", firefox->tracks.left[SONDE_TRACK_DEVICES].omitted},
		    {"Heap curves with unreadable parts", "integer", firefox->tracks.left[SONDE_TRACK_HEAP].damaged},
		    {"Lost records", "integer", missing.lost},
		    {"Unreadable bytes", "bytes", missing.damaged_b},
		    {"Unreadable chunks", "integer", missing.skipped},
		    {"Incomplete (1 = yes)", "integer", (uint64_t)missing.cut}};
	sonde_json_put_array(json, "extra");
	sonde_json_object(json);
	sonde_json_put_text(json, "label", "sonde");
	sonde_json_put_array(json, "entries");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		sonde_json_object(json);
		sonde_json_put_text(json, "label", rows[i].label);
		sonde_json_put_text(json, "format", rows[i].format);
		sonde_json_put_uint(json, "value", rows[i].value);
		sonde_json_end(json);
	}
	for (int i = 0; i < 3; i++)
		sonde_json_end(json);
}

static void put_flags(struct sonde_json *json)
{
	static const struct {
		const char *key;
		int value;
	} flags[] = {{"debug", 0},
		     {"symbolicated", 1},
		     {"usesOnlyOneStackType", 1},
		     {"doesNotUseFrameImplementation", 1},
		     {"sourceCodeIsNotOnSearchfox", 1}};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		sonde_json_put_bool(json, flags[i].key, flags[i].value);
	}
}

static void put_meta(const struct sonde_firefox *firefox, struct sonde_json *json)
{
	static const char *const units[] = {"time", "ms", "eventDelay", "ms", "threadCPUDelta", "ns"};
	const char *command = sonde_session_info(firefox->session, "run.command");
	sonde_json_put_object(json, "meta");
	sonde_json_put_uint(json, "preprocessedProfileVersion", VERSION);
	sonde_json_put_uint(json, "version", GECKO_VERSION);
	sonde_json_key(json, "interval");
	sonde_firefox_ms(json, sonde_session_period_ns(firefox->session));
	sonde_json_key(json, "startTime");
	sonde_firefox_ms(json, sonde_session_head(firefox->session)->start_real_ns);
	sonde_json_put_uint(json, "processType", 0);
	sonde_json_put_uint(json, "stackwalk", 1);
	sonde_json_put_text(json, "product", command ? command : "sonde");
	sonde_json_put_text(json, "importedFrom", "sonde");
	sonde_json_put_text(json, "misc", "");
	sonde_json_put_text(json, "oscpu", "");
	sonde_json_put_text(json, "platform", "Linux");
	sonde_json_put_text(json, "toolkit", "");
	put_flags(json);
	sonde_json_put_object(json, "sampleUnits");
	for (size_t i = 0; i < sizeof units / sizeof *units; i += 2)
		sonde_json_put_text(json, units[i], units[i + 1]);
	sonde_json_end(json);
	sonde_json_put_object(json, "extensions");
	static const char *const columns[] = {"id", "name", "baseURL"};
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		sonde_json_put_array(json, columns[i]);
		sonde_json_end(json);
	}
	sonde_json_put_uint(json, "length", 0);
	sonde_json_end(json);
	put_categories(json);
	sonde_firefox_schema(json);
	put_extra(firefox, json);
	sonde_json_end(json);
}

/* Lists all modules, so that their index is their id − 1. */
static void put_libraries(const struct sonde_firefox *firefox, struct sonde_json *json)
{
	sonde_json_put_array(json, "libs");
	for (uint32_t id = 1; id <= sonde_session_module_count(firefox->session); id++) {
		const struct sonde_module *module = sonde_session_module(firefox->session, id);
		sonde_json_object(json);
		sonde_json_put_text(json, "arch", "");
		sonde_json_put_text(json, "name", module->name);
		sonde_json_put_text(json, "path", module->path);
		sonde_json_put_text(json, "debugName", module->name);
		sonde_json_put_text(json, "debugPath", module->path);
		sonde_json_put_text(json, "breakpadId", "");
		sonde_json_put_text(json, "codeId", *module->build_id ? module->build_id : NULL);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static int put_document(struct sonde_firefox *firefox)
{
	struct sonde_json *json = &firefox->json;
	static const char *const empty[] = {"pages", "profilerOverhead"};
	sonde_json_object(json);
	put_meta(firefox, json);
	put_libraries(firefox, json);
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		sonde_json_put_array(json, empty[i]);
		sonde_json_end(json);
	}
	sonde_firefox_counters(firefox, json);
	sonde_json_put_array(json, "threads");
	for (uint32_t id = 1; id <= sonde_session_thread_count(firefox->session) && !firefox->error; id++)
		if (sonde_firefox_has(firefox, id))
			sonde_firefox_thread(firefox, sonde_session_thread(firefox->session, id));
	const struct sonde_thread nobody = {.name = "(unknown thread)"};
	if (!firefox->error && firefox->samples.rows && firefox->samples.counts[0])
		sonde_firefox_thread(firefox, &nobody);
	if (!firefox->error)
		sonde_firefox_queues(firefox);
	if (firefox->error)
		return firefox->error;
	sonde_json_end(json);
	sonde_json_end(json);
	return 0;
}

/* Kinds of tracks that are collected separately, and states, which are left out. */
#define APART                                                                        \
	(SONDE_TRACKS_OF(SONDE_TRACK_EVENTS) | SONDE_TRACKS_OF(SONDE_TRACK_STATES) | \
	 SONDE_TRACKS_OF(SONDE_TRACK_SERIES) | SONDE_TRACKS_OF(SONDE_TRACK_PATH))

static int gather(struct sonde_firefox *firefox)
{
	struct sonde_spool *const spools[] = {&firefox->samples, &firefox->markers, &firefox->points};
	uint32_t threads = sonde_firefox_groups(firefox), counters = (uint32_t)sonde_firefox_counters_max(firefox) + 1;
	int rc = sonde_annotations_read(&firefox->annotations, firefox->session);
	for (size_t i = 0; i < sizeof spools / sizeof *spools && !rc; i++)
		rc = sonde_spool_init(spools[i], spools[i] == &firefox->points ? counters : threads);
	rc = rc ? rc : sonde_session_batches(firefox->session, 1u << SONDE_CHUNK_SAMPLES, gather_samples, firefox);
	rc = rc ? rc : sonde_firefox_markers(firefox);
	rc = rc ? rc : sonde_firefox_calls(firefox);
	rc = rc ? rc : sonde_export_tracks(&firefox->tracks, SONDE_TRACKS_OF(SONDE_TRACK_PATH));
	rc = rc ? rc : sonde_export_tracks(&firefox->tracks, SONDE_TRACKS_ALL & ~APART);
	rc = rc ? rc : sonde_export_tracks(&firefox->tracks, SONDE_TRACKS_OF(SONDE_TRACK_SERIES));
	for (size_t i = 0; i < sizeof spools / sizeof *spools && !rc; i++)
		rc = sonde_spool_gather(spools[i]);
	return rc;
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_firefox firefox = {.session = session, .options = options};
	firefox.tracks = (struct sonde_export_tracks){
	    .session = session, .options = options, .put = sonde_firefox_track, .context = &firefox};
	sonde_json_init(&firefox.json, out, 0);
	int rc = gather(&firefox);
	if (!rc)
		rc = put_document(&firefox);
	sonde_spool_fini(&firefox.samples);
	sonde_spool_fini(&firefox.markers);
	sonde_spool_fini(&firefox.points);
	sonde_annotations_fini(&firefox.annotations);
	sonde_export_tracks_fini(&firefox.tracks);
	sonde_intern_fini(&firefox.names);
	sonde_intern_fini(&firefox.counter_names);
	free(firefox.counters);
	return rc;
}

const struct sonde_format sonde_format_firefox = {
    .name = "firefox",
    .extension = ".firefox.json",
    .title = "processed profile, for the Firefox Profiler",
    .export = export,
};
