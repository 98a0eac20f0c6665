/* test_device_tracks.c: GPU work in the stream of tracks: lanes, cuts, links from calls, and the details of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session/device_labels.h"
#include "session_fixture.h"
#include "sonde/device.h"
#include "tracks/tracks.h"

#define START RECORDING_START_NS

/* A call that launches two kernels, which overlap in a queue; a copy whose submitting thread is unknown. */
static struct sonde_session *made(void)
{
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "prog", START);
	recording_thread(&r, 1, 101, "other", START);
	uint32_t device = recording_device(&r, 1, "CUDA", "toy", (struct sonde_meta_device){.index = 2});
	uint32_t one = recording_queue(&r, device, "first", 1), two = recording_queue(&r, device, "", 9);
	uint32_t k = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k",
					 (struct sonde_meta_operation){.grid = {64, 1, 1}, .registers = 40});
	uint32_t copy = recording_operation(&r, SONDE_ACTIVITY_COPY, "", (struct sonde_meta_operation){0});
	uint32_t call = recording_operation(&r, SONDE_ACTIVITY_API, "launch", (struct sonde_meta_operation){0});
	recording_activity(&r, (struct recording_activity){START + 150, 100, k, one, 1, 0, 0, 7, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 200, 50, copy, two, 2, START + 180, 0, 8, 4096, 0});
	recording_activity(&r, (struct recording_activity){START + 100, 100, k, one, 1, START + 90, 0, 7, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 80, 20, call, 0, 1, 0, 0, 7, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 300, 20, call, 0, 1, 0, 0, 8, 0, 0}); /* too late */
	recording_close(&r, START + 1000, 0);
	return opened();
}

/* The next event: its track, what it is, its numbers, its links. */
static const char *next_line(struct sonde_tracks *tracks)
{
	static char line[500];
	const struct sonde_track_event *event;
	int rc = sonde_tracks_next(tracks, &event);
	if (rc <= 0) {
		snprintf(line, sizeof line, "%d", rc);
		return line;
	}
	int len = snprintf(line, sizeof line, "%s%s%u/%s/%s %llu-%llu",
			   event->track.queue ? event->track.device_title : "", event->track.queue ? " " : "thread ",
			   event->track.queue ? event->track.device : event->track.thread, event->track.title,
			   *event->name ? event->name : event->what, (unsigned long long)(event->from_ns - START),
			   (unsigned long long)(event->to_ns - START));
	for (size_t i = 0; i < event->arg_count; i++) {
		const struct sonde_track_arg *arg = &event->args[i];
		if (arg->type == SONDE_TRACK_UINT)
			len += snprintf(line + len, sizeof line - (size_t)len, " %s=%llu", arg->key,
					(unsigned long long)arg->number);
		if (arg->type == SONDE_TRACK_SIZES)
			len += snprintf(line + len, sizeof line - (size_t)len, " %s=%u,%u,%u", arg->key, arg->sizes[0],
					arg->sizes[1], arg->sizes[2]);
	}
	if (event->links.first && event->links.end)
		snprintf(line + len, sizeof line - (size_t)len, " ends %u of those from %u", event->links.end,
			 event->links.first);
	else if (event->links.first)
		snprintf(line + len, sizeof line - (size_t)len, " begins %u from %u", event->links.count,
			 event->links.first);
	return line;
}

static void expect(struct sonde_session *session, struct sonde_selection selection, const char *const *lines)
{
	const struct sonde_tracks_options options = {.kinds = SONDE_TRACKS_OF(SONDE_TRACK_DEVICES),
						     .selection = selection};
	struct sonde_tracks *tracks;
	assert_int_equal(sonde_tracks_open(&tracks, session, &options), 0);
	for (; *lines; lines++)
		assert_string_equal(next_line(tracks), *lines);
	assert_string_equal(next_line(tracks), "0");
	assert_int_equal(sonde_tracks_left(tracks, SONDE_TRACK_DEVICES)->omitted, 0);
	sonde_tracks_close(tracks);
}

static void activities_have_lanes_and_links(void **state)
{
	/* Calls of the host, then by queue and lane. */
	static const char *const all[] = {
	    "thread 1/GPU API calls/launch 80-100 correlation=7 begins 2 from 1",
	    "thread 1/GPU API calls/launch 300-320 correlation=8",
	    "CUDA toy 2 1/first/k 100-200 correlation=7 grid=64,1,1 registers=40 delay_ns=10 ends 1 of those from 1",
	    "CUDA toy 2 1/first (2)/k 150-250 correlation=7 grid=64,1,1 registers=40 ends 2 of those from 1",
	    "CUDA toy 2 1/queue 9/copy 200-250 bytes=4096 correlation=8 delay_ns=20",
	    NULL};
	(void)state;
	struct sonde_session *session = made();
	expect(session, (struct sonde_selection){0}, all);
	sonde_session_close(session);
}

static void activities_are_cut_and_chosen(void **state)
{
	static const uint8_t second[] = {0, 0, 1};
	static const char *const cut[] = {
	    /* without links: the call is not in it */
	    "CUDA toy 2 1/first/k 120-180 correlation=7 grid=64,1,1 registers=40 delay_ns=10",
	    "CUDA toy 2 1/first (2)/k 150-180 correlation=7 grid=64,1,1 registers=40", NULL};
	static const char *const chosen[] = {"CUDA toy 2 1/queue 9/copy 200-250 bytes=4096 correlation=8 delay_ns=20",
					     NULL};
	(void)state;
	struct sonde_session *session = made();
	expect(session, (struct sonde_selection){.from_ns = START + 120, .to_ns = START + 180}, cut);
	expect(session, (struct sonde_selection){.thread = second}, chosen);
	sonde_session_close(session);
}

/* Process 100 sees it as its device 3, process 101 as its device 0; what 101 sees as its device 3 is another one,
 * and is labelled with the process. */
static void one_device_of_two_processes_has_one_name(void **state)
{
	static const char *const uuids[] = {"GPU-a", "GPU-a", "GPU-b"};
	static const char *const all[] = {"CUDA toy 3 of prog (100) 1/queue 7/k 0-10",
					  "CUDA toy 3 of prog (100) 1/queue 7 of other (101)/k 100-110",
					  "CUDA toy 3 of other (101) 3/queue 7/k 200-210", NULL};
	static const uint32_t processes[] = {1, 2, 2};
	struct recording r;
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_process(&r, 101, 1, "other", START);
	uint32_t k = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", (struct sonde_meta_operation){0});
	for (uint32_t i = 0; i < 3; i++) {
		const struct sonde_meta_device with = {
		    .index = i == 1 ? 0 : 3, .kind = SONDE_DEVICE_GPU, .uuid = recording_string(&r, uuids[i])};
		uint32_t device = recording_device(&r, processes[i], "CUDA", "toy", with);
		uint32_t queue = recording_queue_of(&r, processes[i], device, "", 7);
		recording_activity(&r, (struct recording_activity){
					   .start_ns = START + 100 * i, .dur_ns = 10, .operation = k, .queue = queue});
	}
	recording_close(&r, START + 1000, 0);
	struct sonde_session *session = opened();
	expect(session, (struct sonde_selection){0}, all);
	assert_null(sonde_device_first(session, 4));
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(activities_have_lanes_and_links),
	    cmocka_unit_test(activities_are_cut_and_chosen),
	    cmocka_unit_test(one_device_of_two_processes_has_one_name),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
