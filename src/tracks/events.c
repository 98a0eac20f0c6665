/* events.c: the program's own events: instants and messages, iterations, and the values of its counters.
 *
 * A counter's running total is kept per thread, so each thread has its own counter; a gauge belongs to the process, and
 * has the value that any thread set last. Spans and arguments of zones are events of the program as well, but make
 * sense only together with others of their kind: export/annotations.h collects those.
 */
#include <string.h>

#include "tracks/tracks_state.h"
#include "tracks/text.h"

void sonde_track_text(const struct sonde_event *event, char out[SONDE_TRACK_TEXT_B])
{
	const struct sonde_event_text *text = (const struct sonde_event_text *)event;
	size_t size_b = (size_t)event->words * 8;
	out[0] = 0;
	if (size_b < sizeof *text || text->len_b > size_b - sizeof *text)
		return;
	size_t len_b = text->len_b < SONDE_TRACK_TEXT_B ? text->len_b : SONDE_TRACK_TEXT_B - 1;
	memcpy(out, text + 1, len_b);
	out[len_b] = 0;
}

static const struct form {
	enum sonde_track_form form; /* 0: not shown */
	const char *category;
	const char *value; /* key of its number; NULL: it has none */
	const char *what;  /* NULL: the name of its site */
	int is_of_process; /* counter of the process; `thread` is the one that set it */
} forms[] = {[SONDE_EVENT_COUNTER] = {SONDE_TRACK_COUNTER, "counter", "value", NULL, 0},
	     [SONDE_EVENT_COUNT] = {SONDE_TRACK_COUNTER, "counter", "value", NULL, 0},
	     [SONDE_EVENT_GAUGE] = {SONDE_TRACK_COUNTER, "counter", "value", NULL, 1},
	     [SONDE_EVENT_ITERATION] = {SONDE_TRACK_INSTANT, "iteration", "items", NULL, 0},
	     [SONDE_EVENT_INSTANT] = {SONDE_TRACK_INSTANT, "instant", NULL, NULL, 0},
	     [SONDE_EVENT_MESSAGE] = {SONDE_TRACK_INSTANT, "message", NULL, "message", 0},
	     [SONDE_EVENT_MISMATCH] = {SONDE_TRACK_INSTANT, "mismatch", NULL, NULL, 0}};

static int row(struct sonde_tracks *tracks, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_event *from = batch->events[i];
	const struct sonde_event_value *value = (const struct sonde_event_value *)from;
	const struct form *form = from->type < sizeof forms / sizeof *forms ? &forms[from->type] : &forms[0];
	const struct sonde_site *site = sonde_session_site(tracks->session, from->site);
	struct sonde_track_event *event = &tracks->event;
	if (!form->form || !sonde_selection_takes(&tracks->options.selection, from->time, batch->thread) ||
	    (form->value && (size_t)from->words * 8 < sizeof *value))
		return 0;
	event->form = form->form;
	event->track.process = batch->process;
	event->track.thread = form->is_of_process ? 0 : batch->thread;
	event->track.sub = from->site;
	event->track.unit = site ? site->unit : "";
	event->thread = batch->thread;
	event->category = form->category;
	event->what = form->what ? form->what : site && *site->name ? site->name : "(unnamed)";
	event->track.title = event->what;
	event->from_ns = from->time;
	if (form->value) {
		sonde_tracks_real(tracks, form->value, value->value);
		return 1;
	}
	sonde_track_text(from, tracks->text);
	if (*tracks->text)
		sonde_tracks_text(tracks, "text", tracks->text);
	return 1;
}

const struct sonde_tracks_row sonde_tracks_events = {.chunks = 1u << SONDE_CHUNK_EVENTS, .row = row};
