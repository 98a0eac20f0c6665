/* tracks.c: writes the stream of tracks (tracks/tracks.h) in the firefox format: slices and instants become markers of
 * their threads; counters of bytes become memory counters, the only kind that the format has. Thread states are left
 * out, because they are so many that other markers could not be found in the viewer's table.
 *
 * A queue of a device is a thread below the process that owns it. The format has no arrows: instead, a marker of a
 * queue names the submitting thread, and has the same correlation number as the submitting call.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/firefox/rows.h"
#include "format/metric.h"
#include "session/device_labels.h"
#include "util/buf.h"

enum { SAID_MAX_B = 64 << 10, LABEL_B = 160 };

#define QUEUE_TID_LEAST (1u << 28) /* tids are below 2^22 */

/* Other kinds become markers of type "span" with their arguments as text; without a thread, they belong to the first
 * thread of their process. */
static const struct kind {
	const char *type; /* type in the schema; an argument goes into the field of its name, if the type has one */
	enum sonde_firefox_category category;
	int is_titled; /* the marker is named after the track; the event's name is a field */
} kinds[SONDE_TRACK_KINDS] = {[SONDE_TRACK_EVENTS] = {"mark", SONDE_FIREFOX_MARK, 0},
			      [SONDE_TRACK_DEVICES] = {"device", SONDE_FIREFOX_DEVICE, 0},
			      [SONDE_TRACK_PATH] = {"step", SONDE_FIREFOX_PATH, 1}};

/* --- markers ------------------------------------------------------------------------------------------------------ */

/* "64 × 2": trailing dimensions of 1 are left out. */
static void put_sizes(struct sonde_json *json, const char *key, const uint32_t sizes[3])
{
	char text[48];
	if (sizes[2] > 1)
		snprintf(text, sizeof text, "%" PRIu32 " × %" PRIu32 " × %" PRIu32, sizes[0], sizes[1] ? sizes[1] : 1,
			 sizes[2]);
	else if (sizes[1] > 1)
		snprintf(text, sizeof text, "%" PRIu32 " × %" PRIu32, sizes[0], sizes[1]);
	else
		snprintf(text, sizeof text, "%" PRIu32, sizes[0]);
	sonde_json_put_text(json, key, text);
}

/* Returns the index of the field that takes an argument, or of the end of the fields if none takes it. */
static size_t field_of(const struct sonde_firefox_field *fields, const char *key)
{
	static const char *const renamed[][2] = {
	    {"delay_ns", "delay"}, {"local_b", "local"}, {"static_shared_b", "shared"}, {"dynamic_shared_b", "shared"}};
	size_t field = 0;
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		key = strcmp(renamed[i][0], key) ? key : renamed[i][1];
	while (fields[field].key && strcmp(fields[field].key, key) != 0)
		field++;
	return field;
}

static void put_field(struct sonde_json *json, const struct sonde_firefox_field *field,
		      const struct sonde_track_arg *arg, uint64_t sum)
{
	if (arg->type == SONDE_TRACK_REAL)
		sonde_json_put_real(json, field->key, arg->real);
	else if (arg->type == SONDE_TRACK_SIZES)
		put_sizes(json, field->key, arg->sizes);
	else if (arg->type == SONDE_TRACK_TEXT && *arg->text)
		sonde_json_put_text(json, field->key, arg->text);
	else if (arg->type != SONDE_TRACK_TEXT && *field->format == 'd' && !strcmp(field->format, "duration")) {
		sonde_json_key(json, field->key);
		sonde_firefox_ms(json, sum);
	} else if (arg->type != SONDE_TRACK_TEXT)
		sonde_json_put_uint(json, field->key, sum);
}

/* Writes the arguments in the order of the schema; the numbers of arguments with the same field are added up. The
 * mapping to fields is kept, because most events have the same arguments as the previous event. */
static void put_fields(struct sonde_firefox *firefox, struct sonde_json *json, const struct sonde_track_event *event,
		       const struct sonde_thread *submitter)
{
	const struct sonde_firefox_field *fields = sonde_firefox_fields(kinds[event->track.kind].type);
	const struct sonde_track_arg requested = {
	    .key = "asked_by", .type = SONDE_TRACK_UINT, .number = submitter ? submitter->tid : 0};
	const struct sonde_track_arg *args[SONDE_FIREFOX_FIELDS_MAX] = {0};
	uint64_t sums[SONDE_FIREFOX_FIELDS_MAX] = {0};
	for (size_t i = 0; i < event->arg_count + (submitter != NULL); i++) {
		const struct sonde_track_arg *arg = i < event->arg_count ? &event->args[i] : &requested;
		struct sonde_firefox_matched *last = &firefox->matched[i];
		if (last->key != arg->key || last->fields != fields)
			*last = (struct sonde_firefox_matched){arg->key, fields, field_of(fields, arg->key)};
		args[last->field] = arg;
		sums[last->field] += arg->type == SONDE_TRACK_UINT ? arg->number : 0;
	}
	for (size_t i = 0; fields[i].key; i++)
		if (args[i])
			put_field(json, &fields[i], args[i], sums[i]);
}

void sonde_firefox_args(struct sonde_firefox_marker *marker, const struct sonde_track_arg *args, size_t count)
{
	struct sonde_buf text;
	sonde_buf_init(&text, SAID_MAX_B);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_track_arg *arg = &args[i];
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
	if (text.len_b)
		sonde_json_put_text(&marker->json, "said", sonde_buf_string(&text));
	sonde_buf_fini(&text);
}

/* Returns the id of a process's first thread; 0 = unknown. */
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
	const struct sonde_thread *submitter =
	    event->track.queue ? sonde_session_thread(firefox->session, thread) : NULL;
	struct sonde_firefox_marker marker;
	if (!thread && !kind->type)
		thread = first_thread(firefox->session, event->track.process);
	if (event->track.queue)
		thread = sonde_firefox_queue_group(firefox, event->track.queue);
	else if ((!thread && event->form == SONDE_TRACK_SLICE) || !sonde_firefox_has(firefox, thread)) {
		firefox->not_shown[event->track.kind]++;
		return;
	}
	sonde_firefox_begin(&marker, firefox, thread, kind->is_titled ? event->track.title : name,
			    kind->type ? kind->type : "span");
	if (kind->is_titled && *event->name)
		sonde_json_put_text(&marker.json, "name", event->name);
	if (kind->type)
		put_fields(firefox, &marker.json, event, submitter);
	else
		sonde_firefox_args(&marker, event->args, event->arg_count);
	sonde_firefox_end(&marker, kind->category, event->from_ns, event->form == SONDE_TRACK_SLICE ? event->to_ns : 0);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

/* Searches the counter of a track from the last one backwards, since points of a track are mostly contiguous. */
static void put_point(struct sonde_firefox *firefox, const struct sonde_track_event *event)
{
	const struct sonde_track *track = &event->track;
	size_t i = firefox->counter_count;
	int is_series = track->kind == SONDE_TRACK_SERIES;
	if (strcmp(track->unit, "B") != 0 || event->args->type == SONDE_TRACK_REAL ||
	    (is_series && strcmp(event->what, sonde_metric_row(SONDE_METRIC_MEMORY_RSS)->name) != 0))
		return;
	while (i && (firefox->counters[i - 1].process != track->process || firefox->counters[i - 1].sub != track->sub ||
		     firefox->counters[i - 1].thread != track->thread || firefox->counters[i - 1].kind != track->kind))
		i--;
	if (!i && firefox->counter_count < sonde_firefox_counters_max(firefox)) {
		sonde_firefox_counter(firefox, is_series ? "resident memory" : event->what, track->process);
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

/* --- queues ------------------------------------------------------------------------------------------------------- */

int sonde_firefox_queues(struct sonde_firefox *firefox)
{
	const struct sonde_session *session = firefox->session;
	for (uint32_t id = 1; id <= sonde_session_queue_count(session) && !firefox->error; id++) {
		const struct sonde_queue *queue = sonde_session_queue(session, id);
		uint32_t group = sonde_firefox_queue_group(firefox, id);
		char device[LABEL_B], of[LABEL_B], name[2 * LABEL_B + 8];
		if (!firefox->markers.rows || !firefox->markers.counts[group])
			continue;
		snprintf(name, sizeof name, "%s of %s",
			 *sonde_queue_name_put(session, id, of, sizeof of) ? of : "GPU API calls",
			 *sonde_device_label_put(session, queue->device, device, sizeof device) ? device : "device");
		sonde_firefox_thread(
		    firefox, &(struct sonde_thread){
				 .id = group, .process = queue->process, .tid = QUEUE_TID_LEAST + id, .name = name});
	}
	return firefox->error;
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
