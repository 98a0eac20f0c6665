/* tracks.c: writes the stream of tracks (tracks/tracks.h) in the firefox format: slices and instants become markers of
 * their threads; counters of bytes become memory counters, the only kind that the format has. Thread states are left
 * out, because they would drown all other markers in the table. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/firefox/rows.h"
#include "util/buf.h"

enum { SAID_MAX_B = 64 << 10 };

/* Other kinds become markers of type "span" with their arguments as text; without a thread, they belong to the first
 * thread of their process. */
static const struct kind {
	const char *type; /* type in the schema; takes the arguments for which it has fields */
	enum sonde_firefox_category category;
	int is_titled; /* the marker has the name of the track, and its own name is a field */
} kinds[SONDE_TRACK_KINDS] = {
    [SONDE_TRACK_EVENTS] = {"mark", SONDE_FIREFOX_MARK, 0}, [SONDE_TRACK_PATH] = {"step", SONDE_FIREFOX_PATH, 1}};

/* --- markers ------------------------------------------------------------------------------------------------------ */

static void put_field(struct sonde_firefox_marker *marker, const char *type, const struct sonde_track_arg *arg)
{
	if (!sonde_firefox_has_field(type, arg->key))
		return;
	if (arg->type == SONDE_TRACK_REAL)
		sonde_json_put_real(&marker->json, arg->key, arg->real);
	else if (arg->type != SONDE_TRACK_TEXT)
		sonde_json_put_uint(&marker->json, arg->key, arg->number);
	else if (*arg->text)
		sonde_json_put_text(&marker->json, arg->key, arg->text);
}

/* "key=value, key=value" */
static void put_said(struct sonde_firefox_marker *marker, const struct sonde_track_event *event)
{
	struct sonde_buf text;
	sonde_buf_init(&text, SAID_MAX_B);
	for (size_t i = 0; i < event->arg_count; i++) {
		const struct sonde_track_arg *arg = &event->args[i];
		sonde_buf_printf(&text, "%s%s=", i ? ", " : "", arg->key);
		if (arg->type == SONDE_TRACK_TEXT)
			sonde_buf_printf(&text, "%s", arg->text);
		else if (arg->type == SONDE_TRACK_REAL)
			sonde_buf_printf(&text, "%.9g", arg->real);
		else if (arg->type == SONDE_TRACK_INT)
			sonde_buf_printf(&text, "%" PRId64, (int64_t)arg->number);
		else
			sonde_buf_printf(&text, "%" PRIu64, arg->number);
	}
	if (text.len_b && !sonde_buf_append(&text, "", 1))
		sonde_json_put_text(&marker->json, "said", (const char *)text.data);
	sonde_buf_fini(&text);
}

/* 0 = unknown. */
static uint32_t first_thread(const struct sonde_session *session, uint32_t process)
{
	uint32_t id = 1, count = (uint32_t)sonde_session_thread_count(session);
	while (id <= count && sonde_session_thread(session, id)->process != process)
		id++;
	return id <= count ? id : 0;
}

static void put_marker(struct sonde_firefox *firefox, const struct sonde_track_event *event)
{
	const struct kind *kind = &kinds[event->track.kind];
	const char *name = *event->name && !kind->is_titled ? event->name : event->what;
	uint32_t thread = event->track.thread ? event->track.thread : event->thread;
	struct sonde_firefox_marker marker;
	if (!thread && !kind->type)
		thread = first_thread(firefox->session, event->track.process);
	if ((!thread && event->form == SONDE_TRACK_SLICE) || !sonde_firefox_has(firefox, thread)) {
		firefox->not_shown[event->track.kind]++;
		return;
	}
	sonde_firefox_begin(&marker, firefox, thread, kind->is_titled ? event->track.title : name,
			    kind->type ? kind->type : "span");
	if (kind->is_titled && *event->name)
		sonde_json_put_text(&marker.json, "name", event->name);
	for (size_t i = 0; kind->type && i < event->arg_count; i++)
		put_field(&marker, kind->type, &event->args[i]);
	if (!kind->type)
		put_said(&marker, event);
	sonde_firefox_end(&marker, kind->category, event->from_ns, event->form == SONDE_TRACK_SLICE ? event->to_ns : 0);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

/* Searches the counter of a track from the last one backwards, since points of a track are mostly contiguous. */
static void put_point(struct sonde_firefox *firefox, const struct sonde_track_event *event)
{
	const struct sonde_track *track = &event->track;
	size_t i = firefox->counter_count;
	if (strcmp(track->unit, "B") != 0 || event->args->type == SONDE_TRACK_REAL)
		return;
	while (i && (firefox->counters[i - 1].process != track->process || firefox->counters[i - 1].sub != track->sub ||
		     firefox->counters[i - 1].thread != track->thread || firefox->counters[i - 1].kind != track->kind))
		i--;
	if (!i && firefox->counter_count < sonde_firefox_track_counters(firefox)) {
		sonde_firefox_counter(firefox, event->what, track->process);
		i = firefox->counter_count;
		if (!firefox->error) {
			firefox->counters[i - 1].thread = track->thread;
			firefox->counters[i - 1].sub = track->sub;
			firefox->counters[i - 1].kind = track->kind;
		}
	}
	if (i && !firefox->error)
		firefox->error = sonde_firefox_point(firefox, (uint32_t)i - 1, event->from_ns, event->args->number);
}

int sonde_firefox_track(void *context, const struct sonde_track_event *event)
{
	struct sonde_firefox *firefox = context;
	if (event->form == SONDE_TRACK_COUNTER)
		put_point(firefox, event);
	else
		put_marker(firefox, event);
	return firefox->error;
}
