/* test_device_slices.c: GPU work in exchange formats: tracks, cuts, arrows from calls, and the details of each
 * slice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "export/device_slices.h"
#include "session/device_labels.h"
#include "session_fixture.h"
#include "sonde/device.h"

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

static void slices_have_lanes_and_arrows(void **state)
{
	static const struct sonde_format_options all;
	struct sonde_device_slices slices;
	char text[SONDE_DEVICE_LABEL_B];
	(void)state;
	struct sonde_session *session = made();
	assert_int_equal(sonde_device_slices_read(&slices, session, &all), 0);
	assert_int_equal(slices.count, 5);
	assert_int_equal(slices.left_out, 0);
	/* Calls of the host, then by queue and lane. */
	static const struct {
		uint64_t from, to;
		const char *name, *track;
		uint32_t arrow, arrows;
		int begins;
	} expected[] = {
	    {80, 100, "launch", "GPU API calls", 1, 2, 1},
	    {300, 320, "launch", "GPU API calls", 0, 0, 0},
	    {100, 200, "k", "first", 1, 0, 1},
	    {150, 250, "k", "first (2)", 2, 0, 1},
	    {200, 250, "copy", "queue 9", 0, 0, 1},
	};
	for (size_t i = 0; i < 5; i++) {
		const struct sonde_device_slice *slice = &slices.all[i];
		assert_int_equal(slice->from_ns - START, expected[i].from);
		assert_int_equal(slice->to_ns - START, expected[i].to);
		assert_string_equal(sonde_device_slices_name(session, slice), expected[i].name);
		assert_string_equal(sonde_device_slices_queue(session, slice, text), expected[i].track);
		assert_int_equal(slice->arrow, expected[i].arrow);
		assert_int_equal(slice->arrows, expected[i].arrows);
		assert_int_equal(sonde_device_slice_begins(&slices, i), expected[i].begins);
	}
	assert_int_equal(slices.arrow_count, 2);
	assert_int_equal(slices.calls[0], 0);
	assert_int_equal(slices.calls[1], 0);
	assert_string_equal(sonde_device_slices_device(session, 1, text), "CUDA toy 2");
	struct sonde_device_arg args[SONDE_DEVICE_ARGS_MAX];
	assert_int_equal(sonde_device_slices_args(session, &slices.all[4], args), 3);
	assert_string_equal(args[0].key, "bytes");
	assert_int_equal(args[0].value, 4096);
	assert_string_equal(args[2].key, "delay_ns");
	assert_int_equal(args[2].value, 20);
	assert_int_equal(sonde_device_slices_args(session, &slices.all[3], args), 5); /* no delay is known */
	sonde_device_slices_fini(&slices);
	sonde_session_close(session);
}

static void slices_are_cut_and_chosen(void **state)
{
	static const uint8_t second[] = {0, 0, 1};
	struct sonde_format_options options = {.selection.from_ns = START + 120, .selection.to_ns = START + 180};
	struct sonde_device_slices slices;
	(void)state;
	struct sonde_session *session = made();
	assert_int_equal(sonde_device_slices_read(&slices, session, &options), 0);
	assert_int_equal(slices.count, 2);
	assert_int_equal(slices.all[0].from_ns, START + 120);
	assert_int_equal(slices.all[0].to_ns, START + 180);
	assert_int_equal(slices.all[1].from_ns, START + 150);
	assert_int_equal(slices.arrow_count, 0); /* the call is not in it */
	sonde_device_slices_fini(&slices);
	options = (struct sonde_format_options){.selection.thread = second};
	assert_int_equal(sonde_device_slices_read(&slices, session, &options), 0);
	assert_int_equal(slices.count, 1);
	assert_string_equal(sonde_device_slices_name(session, slices.all), "copy");
	sonde_device_slices_fini(&slices);
	sonde_session_close(session);
}

/* Process 100 sees it as its device 3, process 101 as its device 0; what 101 sees as its device 3 is another one,
 * and is labelled with the process. */
static void one_device_of_two_processes_has_one_name(void **state)
{
	static const char *const uuids[] = {"GPU-a", "GPU-a", "GPU-b"};
	static const char *const tracks[] = {"queue 7", "queue 7 of other (101)", "queue 7"};
	static const char *const names[] = {"CUDA toy 3 of prog (100)", "CUDA toy 3 of prog (100)",
					    "CUDA toy 3 of other (101)"};
	static const uint32_t processes[] = {1, 2, 2}, same[] = {1, 1, 3};
	struct recording r;
	char text[SONDE_DEVICE_LABEL_B];
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_process(&r, 101, 1, "other", START);
	for (uint32_t i = 0; i < 3; i++) {
		const struct sonde_meta_device with = {
		    .index = i == 1 ? 0 : 3, .kind = SONDE_DEVICE_GPU, .uuid = recording_string(&r, uuids[i])};
		uint32_t device = recording_device(&r, processes[i], "CUDA", "toy", with);
		recording_queue_of(&r, processes[i], device, "", 7);
	}
	recording_close(&r, START + 1000, 0);
	struct sonde_session *session = opened();
	for (uint32_t i = 0; i < 3; i++) {
		const struct sonde_device_slice slice = {.queue = i + 1};
		assert_int_equal(sonde_device_first(session, i + 1)->id, same[i]);
		assert_string_equal(sonde_device_slices_device(session, i + 1, text), names[i]);
		assert_string_equal(sonde_device_slices_track(session, &slice, text), tracks[i]);
		assert_string_equal(sonde_device_slices_queue(session, &slice, text), "queue 7");
	}
	assert_null(sonde_device_first(session, 4));
	assert_string_equal(sonde_device_slices_device(session, 4, text), "device");
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slices_have_lanes_and_arrows),
	    cmocka_unit_test(slices_are_cut_and_chosen),
	    cmocka_unit_test(one_device_of_two_processes_has_one_name),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
