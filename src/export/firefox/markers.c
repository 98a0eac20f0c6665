/* markers.c: zones, spans, annotations and blocking calls, as markers of the firefox format.
 *
 * The data of a marker is an object of a type whose fields the profile's schema lists. Arguments that the program set
 * are a single field, since their keys are arbitrary.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/calls.h"
#include "export/firefox/rows.h"
#include "export/stack/stacks.h"
#include "util/buf.h"
#include "util/error.h"

enum { SAID_MAX_B = 64 << 10 };

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

static void say(struct sonde_buf *out, const char *key, const struct sonde_event_arg *arg)
{
	double real;
	memcpy(&real, &arg->bits, sizeof real);
	sonde_buf_printf(out, "%s%s=", out->len_b ? ", " : "", key);
	if (arg->kind == SONDE_ARG_INT)
		sonde_buf_printf(out, "%" PRId64, (int64_t)arg->bits);
	else if (arg->kind == SONDE_ARG_UINT)
		sonde_buf_printf(out, "%" PRIu64, arg->bits);
	else if (arg->kind == SONDE_ARG_FLOAT)
		sonde_buf_printf(out, "%.9g", real);
	else
		sonde_buf_printf(out, "%.*s", (int)arg->value_b, (const char *)(arg + 1) + arg->key_b);
}

static void put_said(struct sonde_firefox_marker *marker)
{
	struct sonde_chrome_said *said = &marker->firefox->said;
	struct sonde_buf text;
	sonde_buf_init(&text, SAID_MAX_B);
	if (said->works)
		sonde_buf_printf(&text, "flop=%.9g, bytes=%.9g, items=%.9g", said->flop, said->bytes, said->items);
	for (size_t i = said->count; i > 0; i--)
		say(&text, said->keys[i - 1], said->args[i - 1]);
	if (text.len_b && !sonde_buf_append(&text, "", 1))
		sonde_json_put_text(&marker->json, "said", (const char *)text.data);
	sonde_buf_fini(&text);
	said->works = said->count = 0;
	said->flop = said->bytes = said->items = 0;
}

static const char *site_name(const struct sonde_firefox *firefox, uint32_t id)
{
	const struct sonde_site *site = sonde_session_site(firefox->session, id);
	return site && *site->name ? site->name : "(unnamed)";
}

/* --- zones -------------------------------------------------------------------------------------------------------- */

static void take_zone(struct sonde_firefox *firefox, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_site *site = sonde_session_site(firefox->session, batch->zones.site[i]);
	uint64_t start_ns = batch->zones.start_ns[i], end_ns = start_ns + batch->zones.dur_ns[i];
	int is_wanted = sonde_firefox_has(firefox, batch->thread) &&
			sonde_selection_takes(&firefox->options->selection, start_ns, batch->thread);
	char name[SONDE_CHROME_TEXT_B] = "", place[SONDE_CHROME_TEXT_B] = "";
	const struct sonde_mark *mark;
	struct sonde_firefox_marker marker;
	while ((mark = sonde_marks_take(&firefox->marks, batch->thread, start_ns, end_ns)))
		if (mark->event->type == SONDE_EVENT_ZONE_NAME && !*name)
			sonde_track_text(mark->event, name);
		else if (is_wanted)
			sonde_chrome_say(&firefox->said, &firefox->marks.dropped, mark->event);
	if (!is_wanted)
		return;
	sonde_firefox_begin(&marker, firefox, batch->thread, site_name(firefox, batch->zones.site[i]), "zone");
	put_text(&marker, "name", name);
	sonde_json_key(&marker.json, "self");
	sonde_firefox_ms(&marker.json, batch->zones.self_ns[i]);
	if (site && *site->file)
		snprintf(place, sizeof place, "%.900s:%u", site->file, site->line);
	put_text(&marker, "place", place);
	put_said(&marker);
	if (batch->zones.flags[i] & SONDE_ZONE_UNFINISHED)
		put_text(&marker, "note", "unfinished");
	sonde_firefox_end(&marker, SONDE_FIREFOX_ZONE, start_ns, end_ns);
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

static int is_same(const struct sonde_mark *a, const struct sonde_mark *b)
{
	return a->process == b->process && a->span == b->span;
}

static void put_span(struct sonde_firefox *firefox, const struct sonde_mark *from, size_t between,
		     const struct sonde_mark *to)
{
	const struct sonde_thread *ender = to ? sonde_session_thread(firefox->session, to->thread) : NULL;
	uint64_t end_ns = to ? to->event->time : sonde_session_run(firefox->session)->end_ns;
	struct sonde_firefox_marker marker;
	sonde_firefox_begin(&marker, firefox, from->thread, site_name(firefox, from->event->site), "span");
	for (size_t i = between; i > 0; i--)
		sonde_chrome_say(&firefox->said, &firefox->marks.dropped, from[i].event);
	put_said(&marker);
	if (ender && to->thread != from->thread)
		sonde_json_put_uint(&marker.json, "ended_by", ender->tid);
	put_text(&marker, "note", to ? "" : "unfinished");
	sonde_firefox_end(&marker, SONDE_FIREFOX_ZONE, from->event->time, end_ns);
}

static void take_spans(struct sonde_firefox *firefox)
{
	const struct sonde_marks *marks = &firefox->marks;
	for (size_t i = 0; i < marks->span_count && !firefox->error;) {
		const struct sonde_mark *from = &marks->spans[i++], *to = NULL;
		size_t between = 0;
		if (from->event->type != SONDE_EVENT_SPAN_BEGIN)
			continue;
		for (; i < marks->span_count && is_same(&marks->spans[i], from) &&
		       marks->spans[i].event->type == SONDE_EVENT_ARG;
		     i++)
			between++;
		if (i < marks->span_count && is_same(&marks->spans[i], from) &&
		    marks->spans[i].event->type == SONDE_EVENT_SPAN_END)
			to = &marks->spans[i++];
		if (sonde_firefox_has(firefox, from->thread) &&
		    sonde_selection_takes(&firefox->options->selection, from->event->time, from->thread))
			put_span(firefox, from, between, to);
	}
}

int sonde_firefox_markers(struct sonde_firefox *firefox)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, firefox->session, 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_EVENTS);
	if (rc)
		return rc;
	while (!firefox->error && (rc = sonde_export_stacks_next(cursor, &batch)) > 0) {
		if (batch->type == SONDE_CHUNK_EVENTS)
			firefox->error = sonde_export_tracks_batch(&firefox->tracks, batch);
		for (size_t i = 0; batch->type == SONDE_CHUNK_ZONES && i < batch->count && !firefox->error; i++)
			take_zone(firefox, batch, i);
	}
	sonde_cursor_close(cursor);
	if (!firefox->error && !rc)
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
	sonde_json_key(json, "markerSchema");
	sonde_json_array(json);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		sonde_json_object(json);
		sonde_json_put_text(json, "name", types[i].type);
		if (*types[i].label)
			sonde_json_put_text(json, "tableLabel", types[i].label);
		sonde_json_key(json, "display");
		sonde_json_array(json);
		sonde_json_text(json, "marker-chart");
		sonde_json_text(json, "marker-table");
		sonde_json_text(json, "timeline-overview");
		sonde_json_end(json);
		sonde_json_key(json, "data");
		sonde_json_array(json);
		for (const struct sonde_firefox_field *field = types[i].fields; field->key; field++) {
			sonde_json_object(json);
			sonde_json_put_text(json, "key", field->key);
			sonde_json_put_text(json, "label", field->label);
			sonde_json_put_text(json, "format", field->format);
			sonde_json_key(json, "searchable");
			sonde_json_bool(json, 1);
			sonde_json_end(json);
		}
		sonde_json_end(json);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}
