/* markers.c: zones, spans, annotations and blocking calls, as markers of the firefox format.
 *
 * The data of a marker is an object of a type whose fields the profile's schema lists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/calls.h"
#include "export/firefox/rows.h"
#include "util/error.h"

/* --- one marker --------------------------------------------------------------------------------------------------- */

void sonde_firefox_begin(struct sonde_firefox_marker *marker, struct sonde_firefox *firefox, uint32_t group,
			 const char *name, const char *type)
{
	*marker = (struct sonde_firefox_marker){.firefox = firefox, .row = {.group = group}};
	marker->row.name = sonde_intern(&firefox->names, name, &firefox->error);
	sonde_spool_text_begin(&firefox->markers, &marker->row);
	sonde_json_init(&marker->json, firefox->markers.texts, 0);
	sonde_json_object(&marker->json);
	sonde_json_put_text(&marker->json, "type", type);
}

void sonde_firefox_end(struct sonde_firefox_marker *marker, enum sonde_firefox_category category, uint64_t from_ns,
		       uint64_t to_ns)
{
	struct sonde_firefox *firefox = marker->firefox;
	sonde_json_end(&marker->json);
	sonde_spool_text_end(&firefox->markers, &marker->row);
	marker->row.kind = category;
	marker->row.time = from_ns;
	marker->row.value = to_ns;
	if (!firefox->error)
		firefox->error = sonde_spool_add(&firefox->markers, &marker->row);
}

static void put_text(struct sonde_firefox_marker *marker, const char *key, const char *text)
{
	if (*text)
		sonde_json_put_text(&marker->json, key, text);
}

/* --- zones -------------------------------------------------------------------------------------------------------- */

static void put_zone(struct sonde_firefox *firefox, const struct sonde_mark_zone *zone)
{
	const struct sonde_site *site = sonde_session_site(firefox->session, zone->site);
	const struct sonde_args *args = &firefox->annotations.args;
	char place[SONDE_CHROME_TEXT_B] = "";
	struct sonde_firefox_marker marker;
	sonde_firefox_begin(&marker, firefox, zone->thread, sonde_annotations_site(firefox->session, zone->site),
			    "zone");
	put_text(&marker, "name", zone->name);
	sonde_json_key(&marker.json, "self");
	sonde_firefox_ms(&marker.json, zone->self_ns);
	if (site && *site->file)
		snprintf(place, sizeof place, "%.900s:%u", site->file, site->line);
	put_text(&marker, "place", place);
	sonde_firefox_args(&marker, args->args, args->count);
	put_text(&marker, "note", zone->is_unfinished ? "unfinished" : "");
	sonde_firefox_end(&marker, SONDE_FIREFOX_ZONE, zone->start_ns, zone->end_ns);
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

static void put_span(struct sonde_firefox *firefox, const struct sonde_mark *from, const struct sonde_mark *to)
{
	const struct sonde_thread *ender = to ? sonde_session_thread(firefox->session, to->thread) : NULL;
	const struct sonde_args *args = &firefox->annotations.args;
	uint64_t end_ns = to ? to->event->time : sonde_session_run(firefox->session)->end_ns;
	struct sonde_firefox_marker marker;
	sonde_firefox_begin(&marker, firefox, from->thread, sonde_annotations_site(firefox->session, from->event->site),
			    "span");
	sonde_firefox_args(&marker, args->args, args->count);
	if (ender && to->thread != from->thread)
		sonde_json_put_uint(&marker.json, "ended_by", ender->tid);
	put_text(&marker, "note", to ? "" : "unfinished");
	sonde_firefox_end(&marker, SONDE_FIREFOX_ZONE, from->event->time, end_ns);
}

static void take_spans(struct sonde_firefox *firefox)
{
	struct sonde_mark_span span;
	for (size_t at = 0; !firefox->error &&
			    sonde_annotations_span(&firefox->annotations, &firefox->options->selection, &at, &span);)
		if (sonde_firefox_has(firefox, span.begin->thread))
			put_span(firefox, span.begin, span.end);
}

static int put_batch(void *context, const struct sonde_batch *batch)
{
	struct sonde_firefox *firefox = context;
	if (batch->type == SONDE_CHUNK_EVENTS)
		return firefox->error = sonde_export_tracks_batch(&firefox->tracks, batch);
	for (size_t i = 0; i < batch->count && !firefox->error; i++) {
		struct sonde_mark_zone zone;
		sonde_annotations_zone(&firefox->annotations, &firefox->options->selection, batch, i, &zone);
		if (zone.is_wanted && sonde_firefox_has(firefox, zone.thread))
			put_zone(firefox, &zone);
	}
	return firefox->error;
}

int sonde_firefox_markers(struct sonde_firefox *firefox)
{
	int rc = sonde_session_batches(firefox->session, 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_EVENTS, put_batch,
				       firefox);
	if (!rc)
		take_spans(firefox);
	return firefox->error ? firefox->error : rc;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void put_call(struct sonde_firefox *firefox, const struct sonde_call *call)
{
	const struct sonde_wait_row *row = sonde_wait_row(call->kind);
	const struct sonde_thread *holder = sonde_session_thread(firefox->session, call->other);
	int is_sampled = call->status & SONDE_WAIT_SAMPLED;
	char object[SONDE_CHROME_TEXT_B];
	struct sonde_firefox_marker marker;
	sonde_firefox_begin(&marker, firefox, call->thread, row->name, "wait");
	put_text(&marker, "object", sonde_call_object(firefox->session, call->object, object, sizeof object));
	if (is_sampled)
		put_text(&marker, "note", "sampled from outside");
	else if (call->amount && row->group != SONDE_WAIT_GROUP_LOCK)
		sonde_json_put_uint(&marker.json, "bytes", call->amount);
	if (holder)
		put_text(&marker, "held_by", holder->name);
	sonde_firefox_end(&marker, SONDE_FIREFOX_WAIT, call->from_ns, call->to_ns);
}

int sonde_firefox_calls(struct sonde_firefox *firefox)
{
	struct sonde_calls calls;
	int rc = sonde_calls_read(&calls, firefox->session, firefox->options);
	for (size_t i = 0; i < calls.count && !rc; i++) {
		if (sonde_firefox_has(firefox, calls.rows[i].thread))
			put_call(firefox, &calls.rows[i]);
		rc = firefox->error;
	}
	firefox->calls_left = calls.left;
	firefox->calls_left_ns = calls.left_ns;
	firefox->calls_least_ns = calls.least_ns;
	sonde_calls_fini(&calls);
	return rc;
}

/* --- the schema --------------------------------------------------------------------------------------------------- */

static const struct {
	const char *type, *label;
	struct sonde_firefox_field fields[SONDE_FIREFOX_FIELDS_MAX];
} types[] = {
    {"zone",
     "{marker.data.name}",
     {{"name", "Name", "string"},
      {"self", "Self", "duration"},
      {"place", "Place", "string"},
      {"said", "Arguments", "string"},
      {"note", "Note", "string"}}},
    {"span",
     "",
     {{"said", "Arguments", "string"}, {"ended_by", "Ended by thread", "integer"}, {"note", "Note", "string"}}},
    {"mark", "{marker.data.text}", {{"text", "Text", "string"}, {"items", "Items", "decimal"}}},
    {"wait",
     "{marker.data.object}",
     {{"object", "Object", "string"},
      {"bytes", "Bytes", "bytes"},
      {"held_by", "Held by", "string"},
      {"note", "Note", "string"}}},
    {"step",
     "{marker.data.name}",
     {{"name", "Of", "string"}, {"kind", "Kind", "string"}, {"state", "State", "string"}}},
    {"device",
     "{marker.data.kind}",
     {{"kind", "Kind", "string"},
      {"delay", "Time since submission", "duration"},
      {"asked_by", "Submitted by thread", "integer"},
      {"correlation", "Correlation", "integer"},
      {"bytes", "Bytes", "bytes"},
      {"grid", "Blocks", "string"},
      {"block", "Threads per block", "string"},
      {"registers", "Registers per thread", "integer"},
      {"local", "Local memory per thread", "bytes"},
      {"shared", "Shared memory per block", "bytes"}}},
};

const struct sonde_firefox_field *sonde_firefox_fields(const char *type)
{
	size_t i = 0;
	while (*types[i].type != *type || strcmp(types[i].type, type) != 0)
		i++;
	return types[i].fields;
}

void sonde_firefox_schema(struct sonde_json *json)
{
	sonde_json_put_array(json, "markerSchema");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		sonde_json_object(json);
		sonde_json_put_text(json, "name", types[i].type);
		if (*types[i].label)
			sonde_json_put_text(json, "tableLabel", types[i].label);
		sonde_json_put_array(json, "display");
		sonde_json_text(json, "marker-chart");
		sonde_json_text(json, "marker-table");
		sonde_json_text(json, "timeline-overview");
		sonde_json_end(json);
		sonde_json_put_array(json, "data");
		for (const struct sonde_firefox_field *field = types[i].fields; field->key; field++) {
			sonde_json_object(json);
			sonde_json_put_text(json, "key", field->key);
			sonde_json_put_text(json, "label", field->label);
			sonde_json_put_text(json, "format", field->format);
			sonde_json_put_bool(json, "searchable", 1);
			sonde_json_end(json);
		}
		sonde_json_end(json);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}
