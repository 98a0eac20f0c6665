/* test_tiles_devices.c: GPU queues as tracks, arrows from the call that submitted the work, memory as a curve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session_fixture.h"
#include "sonde/device.h"
#include "tiles/tiles.h"

#define START RECORDING_START_NS

static struct sonde_session *session;
static struct sonde_tiles *tiles;

static void open_tiles(void)
{
	session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
}

static void close_tiles(void)
{
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

/* The n-th lane of a kind. */
static const struct sonde_tile_lane *lane_of(enum sonde_tile_kind kind, size_t n)
{
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles); i++)
		if (sonde_tiles_lane(tiles, i)->kind == kind && !n--)
			return sonde_tiles_lane(tiles, i);
	return NULL;
}

static struct sonde_tile_rows rows_of(const struct sonde_tile_lane *lane)
{
	const struct sonde_tile_view view = {START, START + 1000, 10000};
	struct sonde_tile_rows rows = {0};
	assert_int_equal(sonde_tiles_bins(tiles, lane->id, &view, &rows), 0);
	return rows;
}

static void expect_slice(const struct sonde_tile_row *row, uint64_t from, uint64_t to, const char *name)
{
	assert_int_equal(row->from_ns - START, from);
	assert_int_equal(row->to_ns - START, to);
	assert_string_equal(sonde_tiles_name(tiles, row->name)->text, name);
}

/* Two queues; in the second two copies overlap. The submitter of the second kernel follows from its correlation. */
static void write_work(void)
{
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "prog", START);
	uint32_t device = recording_device(&r, 1, "CUDA", "toy", (struct sonde_meta_device){.index = 1});
	uint32_t one = recording_queue(&r, device, "first", 1), two = recording_queue(&r, device, "", 9);
	uint32_t k = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", (struct sonde_meta_operation){0});
	uint32_t copy = recording_operation(&r, SONDE_ACTIVITY_COPY, "", (struct sonde_meta_operation){0});
	uint32_t call = recording_operation(&r, SONDE_ACTIVITY_API, "launch", (struct sonde_meta_operation){0});
	recording_wait(&r,
		       (struct recording_wait){.start_ns = START, .dur_ns = 5, .thread = 1, .kind = SONDE_WAIT_SLEEP});
	recording_activity(&r, (struct recording_activity){START + 400, 50, k, one, 1, 0, 0, 77, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 100, 200, k, one, 1, START + 60, 0, 76, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 150, 20, call, 0, 1, 0, 0, 77, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 200, 100, copy, two, 0, 0, 0, 99, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 250, 100, copy, two, 0, 0, 0, 0, 0, 0});
	recording_close(&r, START + 1000, 0);
}

static void queues_are_lanes(void **state)
{
	(void)state;
	write_work();
	open_tiles();
	const struct sonde_tile_lane *first = lane_of(SONDE_TILE_DEVICE, 0), *second = lane_of(SONDE_TILE_DEVICE, 1),
				     *over = lane_of(SONDE_TILE_DEVICE, 2);
	assert_non_null(over);
	assert_null(lane_of(SONDE_TILE_DEVICE, 3));
	assert_string_equal(sonde_tile_kind_word(first->kind), "device");
	assert_string_equal(first->title, "first of CUDA toy 1");
	assert_string_equal(second->title, "queue 9 of CUDA toy 1");
	assert_int_equal(first->process, 1);
	assert_int_equal(first->thread, 0);
	assert_int_equal(over->depth, 1);
	struct sonde_tile_rows rows = rows_of(first);
	assert_int_equal(rows.count, 2);
	expect_slice(&rows.all[0], 100, 300, "k");
	expect_slice(&rows.all[1], 400, 450, "k");
	sonde_tile_rows_fini(&rows);
	rows = rows_of(second);
	expect_slice(&rows.all[0], 200, 300, "copy");
	sonde_tile_rows_fini(&rows);
	rows = rows_of(over);
	expect_slice(&rows.all[0], 250, 350, "copy");
	sonde_tile_rows_fini(&rows);
	close_tiles();
}

/* Process 100 sees it as its device 3, 101 as its 0: one name, and each process its own queue; memory of both is one
 * curve. */
static void one_device_of_two_processes_has_one_name(void **state)
{
	struct recording r;
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_process(&r, 101, 1, "other", START);
	uint32_t queues[2], k = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", (struct sonde_meta_operation){0});
	uint32_t get = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "get",
					   (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE});
	for (uint32_t i = 0; i < 2; i++) {
		recording_thread(&r, i + 1, 100 + i, "prog", START);
		uint32_t device = recording_device(&r, i + 1, "CUDA", "toy",
						   (struct sonde_meta_device){.index = i ? 0 : 3,
									      .kind = SONDE_DEVICE_GPU,
									      .uuid = recording_string(&r, "GPU-a")});
		queues[i] = recording_queue_of(&r, i + 1, device, "", 7);
	}
	for (uint32_t i = 0; i < 2; i++) {
		recording_activity(
		    &r, (struct recording_activity){START + 100 + i, 50, k, queues[i], i + 1, 0, 0, 0, 0, 0});
		recording_activity(
		    &r, (struct recording_activity){START + 20, 0, get, queues[i], i + 1, 0, 0, 0, 30, i + 1});
	}
	recording_close(&r, START + 1000, 0);
	open_tiles();
	for (uint32_t i = 0; i < 2; i++) {
		assert_non_null(lane_of(SONDE_TILE_DEVICE, i));
		assert_string_equal(lane_of(SONDE_TILE_DEVICE, i)->title, "queue 7 of CUDA toy 3");
		assert_int_equal(lane_of(SONDE_TILE_DEVICE, i)->process, i + 1);
	}
	assert_non_null(lane_of(SONDE_TILE_HEAP, 0));
	assert_null(lane_of(SONDE_TILE_HEAP, 1));
	assert_string_equal(lane_of(SONDE_TILE_HEAP, 0)->title, "memory of CUDA toy 3");
	assert_true(lane_of(SONDE_TILE_HEAP, 0)->most == 60);
	close_tiles();
}

/* Two devices that may be different ones: each names its process. */
static void namesakes_are_told_apart(void **state)
{
	struct recording r;
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_process(&r, 101, 1, "other", START);
	uint32_t k = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", (struct sonde_meta_operation){0});
	for (uint32_t i = 1; i <= 2; i++) {
		recording_thread(&r, i, 100 + i, "prog", START);
		uint32_t device = recording_device(&r, i, "CUDA", "toy", (struct sonde_meta_device){0});
		uint32_t queue = recording_queue_of(&r, i, device, "q", 7);
		recording_activity(&r, (struct recording_activity){START + 100, 50, k, queue, i, 0, 0, 0, 0, 0});
	}
	recording_close(&r, START + 1000, 0);
	open_tiles();
	assert_string_equal(lane_of(SONDE_TILE_DEVICE, 0)->title, "q of CUDA toy 0 of prog (100)");
	assert_string_equal(lane_of(SONDE_TILE_DEVICE, 1)->title, "q of CUDA toy 0 of other (101)");
	close_tiles();
}

static void arrows_lead_from_who_asked(void **state)
{
	const struct sonde_tile_view view = {START, START + 1000, 10};
	struct sonde_tile_arrow arrows[4];
	size_t of;
	(void)state;
	write_work();
	open_tiles();
	assert_int_equal(sonde_tiles_arrows(tiles, &view, 4, arrows, &of), 2);
	static const uint64_t times[2][2] = {{60, 100}, {150, 400}};
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(arrows[i].kind, "launch");
		assert_int_equal(arrows[i].from_ns - START, times[i][0]);
		assert_int_equal(arrows[i].to_ns - START, times[i][1]);
		assert_int_equal(sonde_tiles_lane(tiles, arrows[i].from_lane)->thread, 1);
		assert_ptr_equal(sonde_tiles_lane(tiles, arrows[i].to_lane), lane_of(SONDE_TILE_DEVICE, 0));
	}
	close_tiles();
}

/* 100 B from 10 to 50, 30 B from 20 on; what is the host's is none of it. */
static void memory_is_a_curve(void **state)
{
	static const double expected[][3] = {{10, 20, 100}, {20, 50, 130}, {50, 1000, 30}};
	struct recording r;
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "prog", START);
	recording_device(&r, 1, "CUDA", "toy", (struct sonde_meta_device){0});
	const struct sonde_meta_operation own = {.to = SONDE_MEMORY_DEVICE}, host = {.to = SONDE_MEMORY_PINNED};
	uint32_t get = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "get", own);
	uint32_t pin = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "pin", host);
	uint32_t give = recording_operation(&r, SONDE_ACTIVITY_FREE, "give", own);
	recording_activity(&r, (struct recording_activity){START + 20, 0, get, 0, 1, 0, 0, 0, 30, 2});
	recording_activity(&r, (struct recording_activity){START + 50, 5, give, 0, 1, 0, 0, 0, 0, 1});
	recording_activity(&r, (struct recording_activity){START + 8, 2, get, 0, 1, 0, 0, 0, 100, 1});
	recording_activity(&r, (struct recording_activity){START + 9, 2, pin, 0, 1, 0, 0, 0, 5000, 3});
	recording_close(&r, START + 1000, 0);
	open_tiles();
	const struct sonde_tile_lane *lane = lane_of(SONDE_TILE_HEAP, 0);
	assert_non_null(lane);
	assert_null(lane_of(SONDE_TILE_HEAP, 1));
	assert_string_equal(lane->title, "memory of CUDA toy 0");
	assert_string_equal(lane->unit, "B");
	assert_true(lane->most == 130);
	struct sonde_tile_rows rows = rows_of(lane);
	assert_int_equal(rows.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true((double)(rows.all[i].from_ns - START) == expected[i][0]);
		assert_true((double)(rows.all[i].to_ns - START) == expected[i][1]);
		assert_true(rows.all[i].most == expected[i][2]);
	}
	sonde_tile_rows_fini(&rows);
	close_tiles();
}

/* A pool of 400 B from 10 on, of 900 from 30, which is destroyed at 60. */
static void reserve_is_a_curve_of_its_own(void **state)
{
	static const double expected[][3] = {{10, 30, 400}, {30, 60, 900}, {60, 1000, 0}};
	struct recording r;
	(void)state;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "prog", START);
	recording_device(&r, 1, "CUDA", "toy", (struct sonde_meta_device){0});
	uint32_t pool = recording_operation(&r, SONDE_ACTIVITY_POOL, "pool",
					    (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE});
	recording_activity(&r, (struct recording_activity){START + 10, 0, pool, 0, 1, 0, 0, 0, 400, 9});
	recording_activity(&r, (struct recording_activity){START + 30, 0, pool, 0, 1, 0, 0, 0, 900, 9});
	recording_activity(&r, (struct recording_activity){START + 60, 0, pool, 0, 1, 0, 0, 0, 0, 9});
	recording_close(&r, START + 1000, 0);
	open_tiles();
	const struct sonde_tile_lane *lane = lane_of(SONDE_TILE_HEAP, 0);
	assert_non_null(lane);
	assert_null(lane_of(SONDE_TILE_HEAP, 1));
	assert_string_equal(lane->title, "memory in reserve on CUDA toy 0");
	assert_true(lane->most == 900);
	struct sonde_tile_rows rows = rows_of(lane);
	assert_int_equal(rows.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true((double)(rows.all[i].from_ns - START) == expected[i][0]);
		assert_true((double)(rows.all[i].to_ns - START) == expected[i][1]);
		assert_true(rows.all[i].most == expected[i][2]);
	}
	sonde_tile_rows_fini(&rows);
	close_tiles();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(queues_are_lanes),         cmocka_unit_test(one_device_of_two_processes_has_one_name),
	    cmocka_unit_test(namesakes_are_told_apart), cmocka_unit_test(arrows_lead_from_who_asked),
	    cmocka_unit_test(memory_is_a_curve),        cmocka_unit_test(reserve_is_a_curve_of_its_own),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
