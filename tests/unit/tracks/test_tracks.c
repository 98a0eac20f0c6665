/* test_tracks.c: the stream of tracks: events of each kind, in order, selected and complete; rows fed by the caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session_fixture.h"
#include "tracks/tracks.h"

#define START RECORDING_START_NS

/* Thread 2 blocks, is woken by thread 1 at 250, and runs from 300 on. */
static struct sonde_session *with_switches(void)
{
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "main", START);
	recording_thread(&r, 1, 101, "worker", START);
	recording_switch_on(&r, START + 100, 2, SONDE_SWITCH_OUT_BLOCKED, 0);
	recording_switch_woken(&r, START + 300, 2, 3, 50, 1);
	recording_switch_on(&r, START + 400, 2, SONDE_SWITCH_OUT_BLOCKED, 3);
	recording_close(&r, START + 1000, 0);
	return opened();
}

/* Thread 1 reports an event of each form; in between it is in a zone, which is not a track. */
static struct sonde_session *with_events(void)
{
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "main", START);
	uint32_t site = recording_site(&r, SONDE_SITE_ZONE, "frame", "");
	recording_value(&r, 1, SONDE_EVENT_ITERATION, site, START + 10, 2);
	recording_value(&r, 1, SONDE_EVENT_COUNTER, site, START + 20, 5);
	recording_value(&r, 1, SONDE_EVENT_GAUGE, site, START + 30, 7);
	recording_close(&r, START + 1000, 0);
	return opened();
}

/* The next event, one line of text. */
static const char *next_line(struct sonde_tracks *tracks)
{
	static char line[500];
	const struct sonde_track_event *event;
	int rc = sonde_tracks_next(tracks, &event);
	if (rc <= 0) {
		snprintf(line, sizeof line, "%d", rc);
		return line;
	}
	int len = snprintf(line, sizeof line, "%d %u %s/%s %llu", (int)event->form, event->track.thread,
			   event->track.title, event->what, (unsigned long long)(event->from_ns - START));
	if (event->to_ns)
		len += snprintf(line + len, sizeof line - (size_t)len, "-%llu",
				(unsigned long long)(event->to_ns - START));
	for (size_t i = 0; i < event->arg_count; i++) {
		const struct sonde_track_arg *arg = &event->args[i];
		if (arg->type == SONDE_TRACK_TEXT)
			len += snprintf(line + len, sizeof line - (size_t)len, " %s=%s", arg->key, arg->text);
		else
			len += snprintf(line + len, sizeof line - (size_t)len, " %s=%g", arg->key,
					arg->type == SONDE_TRACK_REAL ? arg->real : (double)arg->number);
	}
	if (event->flow.thread)
		snprintf(line + len, sizeof line - (size_t)len, " %s by %u at %llu", event->flow.title,
			 event->flow.thread, (unsigned long long)(event->flow.from_ns - START));
	return line;
}

static void expect(struct sonde_session *session, const struct sonde_tracks_options *options, const char *const *lines)
{
	struct sonde_tracks *tracks;
	assert_int_equal(sonde_tracks_open(&tracks, session, options), 0);
	for (; *lines; lines++)
		assert_string_equal(next_line(tracks), *lines);
	assert_string_equal(next_line(tracks), "0");
	assert_string_equal(next_line(tracks), "0"); /* and stays there */
	sonde_tracks_close(tracks);
}

static void states_are_slices_with_flows(void **state)
{
	static const char *const all[] = {
	    "1 2 states/running 0-100 cpu=0",
	    "1 2 states/blocked 100-250 cpu=0",
	    "1 2 states/runnable 250-300 cpu=0",
	    "1 2 states/running 300-400 cpu=3 wake-up by 1 at 250",
	    "1 2 states/blocked 400-1000 cpu=3",
	    "1 0 critical path/thread 0-1000 kind=thread state=unseen thread=main tid=100",
	    NULL};
	static const char *const cut[] = {
	    "1 2 states/running 320-400 cpu=3", "1 2 states/blocked 400-500 cpu=3",
	    "1 0 critical path/thread 320-500 kind=thread state=unseen thread=main tid=100", NULL};
	static const char *const of_main[] = {
	    "1 0 critical path/thread 0-1000 kind=thread state=unseen thread=main tid=100", NULL};
	static const uint8_t only_main[] = {0, 1, 0};
	(void)state;
	struct sonde_session *session = with_switches();
	expect(session, &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_ALL}, all);
	expect(session,
	       &(struct sonde_tracks_options){
		   .kinds = SONDE_TRACKS_ALL, .selection.from_ns = START + 320, .selection.to_ns = START + 500},
	       cut);
	expect(session, &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_ALL, .selection.thread = only_main},
	       of_main);
	expect(session, &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_OF(SONDE_TRACK_HEAP)},
	       (const char *const[]){NULL});
	sonde_session_close(session);
}

static void whole_events_have_no_arguments(void **state)
{
	static const char *const whole[] = {
	    "1 2 states/running 0-100",    "1 2 states/blocked 100-250",
	    "1 2 states/runnable 250-300", "1 2 states/running 300-400 wake-up by 1 at 250",
	    "1 2 states/blocked 400-1000", NULL};
	(void)state;
	struct sonde_session *session = with_switches();
	expect(session, &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_OF(SONDE_TRACK_STATES), .is_whole = 1},
	       whole);
	sonde_session_close(session);
}

/* Read by the cursor, and fed by the caller: the same events. */
static void events_come_from_rows(void **state)
{
	static const char *const all[] = {"2 1 frame/frame 10 items=2", "3 1 frame/frame 20 value=5",
					  "3 0 frame/frame 30 value=7", NULL};
	const struct sonde_tracks_options options = {.kinds = SONDE_TRACKS_ALL};
	struct sonde_tracks *tracks;
	(void)state;
	struct sonde_session *session = with_events();
	expect(session, &options, all);
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_EVENTS);
	const struct sonde_batch *batch = next(cursor, SONDE_CHUNK_EVENTS);
	assert_int_equal(sonde_tracks_open(&tracks, session, &options), 0);
	for (int again = 0; again < 2; again++) {
		sonde_tracks_feed(tracks, batch);
		for (size_t i = 0; all[i]; i++)
			assert_string_equal(next_line(tracks), all[i]);
		assert_string_equal(next_line(tracks), "0");
	}
	sonde_tracks_close(tracks);
	expect_end(cursor);
	sonde_session_close(session);
}

/* CPU time is a rate between two points, the first of which may be before the selection; a negative size is damage. */
static void series_are_counters(void **state)
{
	static const char *const all[] = {"3 0 memory.rss/memory.rss 10 value=4096",
					  "3 0 cpu.user %/cpu.user % 110 value=50",
					  "3 0 cpu.user %/cpu.user % 210 value=100", NULL};
	static const char *const late[] = {"3 0 cpu.user %/cpu.user % 210 value=100", NULL};
	struct recording r;
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "main", START);
	uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, ""),
		 user = recording_series(&r, SONDE_METRIC_CPU_USER, 1, 0, ""),
		 of_thread = recording_series(&r, SONDE_METRIC_CPU_USER, 1, 1, "");
	recording_point(&r, START + 10, rss, 4096);
	recording_point(&r, START + 10, user, 1000);
	recording_point(&r, START + 20, rss, -1);
	recording_point(&r, START + 110, user, 1050);
	recording_point(&r, START + 110, of_thread, 7);
	recording_point(&r, START + 210, user, 1150);
	recording_close(&r, START + 1000, 0);
	struct sonde_session *session = opened();
	expect(session, &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_OF(SONDE_TRACK_SERIES)}, all);
	expect(session,
	       &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_OF(SONDE_TRACK_SERIES),
					      .selection.from_ns = START + 200},
	       late);
	sonde_session_close(session);
}

/* A reader that stops early leaves nothing behind. */
static void a_cursor_closes_half_way(void **state)
{
	const struct sonde_tracks_options options = {.kinds = SONDE_TRACKS_ALL, .has_waits = 1};
	struct sonde_tracks *tracks;
	(void)state;
	struct sonde_session *session = with_switches();
	assert_int_equal(sonde_tracks_open(&tracks, session, &options), 0);
	assert_string_equal(next_line(tracks), "1 2 states/running 0-100 cpu=0");
	sonde_tracks_close(tracks);
	sonde_tracks_close(NULL);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(states_are_slices_with_flows), cmocka_unit_test(whole_events_have_no_arguments),
	    cmocka_unit_test(events_come_from_rows),        cmocka_unit_test(series_are_counters),
	    cmocka_unit_test(a_cursor_closes_half_way),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
