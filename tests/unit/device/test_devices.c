/* test_devices.c: a session reads the same data that a process reported about its devices, in whatever order it
 * arrived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "session/session.h"
#include "source/target/devices.h"
#include "trace/writer.h"
#include "util/error.h"

struct fixture {
	char path[64];
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_devices *devices;
	struct sonde_session *session;
	uint32_t process, thread;
	uint64_t now_ns;
};

static int setup(void **state)
{
	static const struct sonde_record_options nothing_requested;
	struct sonde_writer_options options = {.overwrite = 1};
	struct fixture *fixture = calloc(1, sizeof *fixture);
	strcpy(fixture->path, "/tmp/sonde-devices-XXXXXX");
	close(mkstemp(fixture->path));
	assert_int_equal(sonde_writer_open(&fixture->writer, fixture->path, &options), 0);
	assert_int_equal(sonde_recorder_new(&fixture->recorder, fixture->writer, &nothing_requested), 0);
	fixture->now_ns = sonde_clock_now_ns();
	fixture->thread = sonde_recorder_thread(fixture->recorder, 0x7ffffff1, 0x7ffffff1, fixture->now_ns);
	fixture->process = sonde_recorder_process(fixture->recorder, 0x7ffffff1, fixture->now_ns);
	assert_int_equal(sonde_devices_new(&fixture->devices, fixture->recorder, fixture->process), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	sonde_session_close(fixture->session);
	unlink(fixture->path);
	free(fixture);
	return 0;
}

static struct sonde_session *reopen(struct fixture *fixture)
{
	struct sonde_session_options options = {.no_symbols = 1};
	sonde_devices_free(fixture->devices);
	assert_int_equal(sonde_recorder_close(fixture->recorder, 0, sonde_clock_now_ns()), 0);
	sonde_recorder_free(fixture->recorder);
	assert_int_equal(sonde_writer_close(fixture->writer), 0);
	assert_int_equal(sonde_session_open(&fixture->session, fixture->path, &options), 0);
	return fixture->session;
}

static void tell_device(struct fixture *fixture, uint32_t number)
{
	struct {
		struct sonde_event_device event;
		char texts[16];
	} told = {{.head.type = SONDE_EVENT_DEVICE,
		   .number = number,
		   .kind = 1,
		   .index = 2,
		   .units = 132,
		   .warp = 32,
		   .memory_b = 1000,
		   .api_b = 4,
		   .name_b = 3,
		   .uuid_b = 5},
		  "CUDAtoyGPU-1"};
	sonde_devices_event(fixture->devices, fixture->thread, &told.event.head);
}

static void tell_queue(struct fixture *fixture, uint32_t number, uint32_t device)
{
	struct {
		struct sonde_event_queue event;
		char name[8];
	} told = {{.head.type = SONDE_EVENT_QUEUE,
		   .number = number,
		   .device = device,
		   .handle = 7,
		   .context = 3,
		   .flags = 1,
		   .name_b = 4},
		  "copy"};
	sonde_devices_event(fixture->devices, fixture->thread, &told.event.head);
}

static void tell_operation(struct fixture *fixture, uint32_t number, uint32_t kind, const char *name)
{
	struct {
		struct sonde_event_operation event;
		char name[64];
	} told = {{.head.type = SONDE_EVENT_OPERATION,
		   .number = number,
		   .kind = kind,
		   .grid = {64, 2, 1},
		   .block = {256, 1, 1},
		   .registers = 40,
		   .static_shared_b = 1024,
		   .name_b = (uint16_t)strlen(name)},
		  ""};
	memcpy(told.name, name, strlen(name));
	sonde_devices_event(fixture->devices, fixture->thread, &told.event.head);
}

static struct sonde_event_activity activity_of(const struct fixture *fixture, uint32_t operation, uint32_t queue)
{
	return (struct sonde_event_activity){
	    .head.type = SONDE_EVENT_ACTIVITY,
	    .operation = operation,
	    .queue = queue,
	    .queued_ns = fixture->now_ns + 100,
	    .submitted_ns = fixture->now_ns + 300,
	    .start_ns = fixture->now_ns + 1000,
	    .end_ns = fixture->now_ns + 3500,
	    .correlation = 77,
	    .size_b = 4096,
	    .address = 0xdeadbeef00,
	};
}

static void tell(struct fixture *fixture, const struct sonde_event_activity *event)
{
	sonde_devices_event(fixture->devices, fixture->thread, &event->head);
}

static void tell_lost(struct fixture *fixture, uint64_t count, const char *cause)
{
	struct {
		struct sonde_event_activity_lost event;
		char cause[64];
	} told = {{.head.type = SONDE_EVENT_ACTIVITY_LOST, .count = count, .cause_b = strlen(cause)}, ""};
	memcpy(told.cause, cause, strlen(cause));
	sonde_devices_event(fixture->devices, fixture->thread, &told.event.head);
}

/* The one batch of activities, or NULL; the cursor is left open in *cursor. */
static const struct sonde_batch *batch_of(struct sonde_session *session, struct sonde_cursor **cursor)
{
	const struct sonde_batch *batch;
	assert_int_equal(sonde_cursor_open(cursor, session, 1u << SONDE_CHUNK_ACTIVITIES), 0);
	return sonde_cursor_next(*cursor, &batch) > 0 ? batch : NULL;
}

static uint64_t lost(const struct sonde_session *session, const char *cause)
{
	uint64_t count = 0;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++) {
		const struct sonde_lost *row = sonde_session_lost(session, i);
		assert_string_equal(row->source, "gpu");
		count += strcmp(row->cause, cause) ? 0 : row->count;
	}
	return count;
}

static void what_was_told_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_cursor *cursor;
	tell_device(fixture, 1);
	tell_queue(fixture, 1, 1);
	tell_operation(fixture, 1, SONDE_ACTIVITY_KERNEL, "_Z4axpyPfi");
	const struct sonde_event_activity event = activity_of(fixture, 1, 1);
	tell(fixture, &event);
	struct sonde_session *session = reopen(fixture);
	const struct sonde_device *device = sonde_session_device(session, 1);
	assert_string_equal(device->api, "CUDA");
	assert_string_equal(device->name, "toy");
	assert_string_equal(device->uuid, "GPU-1");
	assert_string_equal(device->driver, "");
	assert_int_equal(device->process, fixture->process);
	assert_int_equal(device->units, 132);
	assert_int_equal(device->index, 2);
	assert_int_equal(device->memory_b, 1000);
	const struct sonde_queue *queue = sonde_session_queue(session, 1);
	assert_int_equal(queue->device, 1);
	assert_int_equal(queue->handle, 7);
	assert_int_equal(queue->context, 3);
	assert_string_equal(queue->name, "copy");
	const struct sonde_operation *operation = sonde_session_operation(session, 1);
	assert_string_equal(operation->name, "axpy(float*, int)");
	assert_int_equal(operation->kind, SONDE_ACTIVITY_KERNEL);
	assert_int_equal(operation->grid[1], 2);
	assert_int_equal(operation->block[0], 256);
	assert_int_equal(operation->registers, 40);
	assert_int_equal(operation->static_shared_b, 1024);
	const struct sonde_batch *batch = batch_of(session, &cursor);
	assert_non_null(batch);
	assert_int_equal(batch->count, 1);
	assert_int_equal(batch->activities.start_ns[0], fixture->now_ns + 1000);
	assert_int_equal(batch->activities.dur_ns[0], 2500);
	assert_int_equal(batch->activities.queued_ns[0], 901);
	assert_int_equal(batch->activities.submitted_ns[0], 701);
	assert_int_equal(batch->activities.operation[0], 1);
	assert_int_equal(batch->activities.queue[0], 1);
	assert_int_equal(batch->activities.thread[0], fixture->thread);
	assert_int_equal(batch->activities.correlation[0], 77);
	assert_int_equal(batch->activities.size_b[0], 4096);
	assert_int_equal(batch->activities.address[0], 0xdeadbeef00);
	assert_int_equal(sonde_session_lost_count(session), 0);
	sonde_cursor_close(cursor);
}

/* Rings are read one after the other: what an activity refers to may be in another thread's ring, which is read
 * later. */
static void an_activity_may_come_first(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_cursor *cursor;
	const struct sonde_event_activity event = activity_of(fixture, 5, 3);
	tell(fixture, &event);
	sonde_devices_end_round(fixture->devices);
	tell_device(fixture, 1);
	tell_queue(fixture, 3, 1);
	tell_operation(fixture, 5, SONDE_ACTIVITY_COPY, "upload");
	sonde_devices_end_round(fixture->devices);
	struct sonde_session *session = reopen(fixture);
	const struct sonde_batch *batch = batch_of(session, &cursor);
	assert_non_null(batch);
	assert_int_equal(batch->count, 1);
	assert_string_equal(sonde_session_operation(session, batch->activities.operation[0])->name, "upload");
	assert_int_equal(sonde_session_queue(session, batch->activities.queue[0])->handle, 7);
	assert_int_equal(sonde_session_lost_count(session), 0);
	sonde_cursor_close(cursor);
}

static void what_makes_no_sense_is_counted_and_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_cursor *cursor;
	struct sonde_event_activity event = activity_of(fixture, 9, 0);
	tell(fixture, &event); /* no such operation */
	tell_operation(fixture, 1, SONDE_ACTIVITY_KERNEL, "k");
	event = activity_of(fixture, 1, 4);
	tell(fixture, &event); /* no such queue */
	event = activity_of(fixture, 1, 0);
	event.end_ns = event.start_ns - 1;
	tell(fixture, &event);
	event = activity_of(fixture, 1, 0);
	event.start_ns = event.end_ns = UINT64_MAX;
	tell(fixture, &event);
	event = activity_of(fixture, 1, 0);
	event.start_ns = 0;
	tell(fixture, &event);
	tell_operation(fixture, 2, 15, "no such kind");
	tell_operation(fixture, UINT32_MAX, SONDE_ACTIVITY_KERNEL, "no such number");
	event = activity_of(fixture, 1, 0);
	event.queued_ns = UINT64_MAX; /* it was submitted when it started, at the latest */
	tell(fixture, &event);
	tell_lost(fixture, 5, "the driver dropped them");
	tell_lost(fixture, 2, "the driver dropped them");
	struct sonde_session *session = reopen(fixture);
	const struct sonde_batch *batch = batch_of(session, &cursor);
	assert_non_null(batch);
	assert_int_equal(lost(session, "the driver dropped them"), 7);
	assert_int_equal(batch->count, 1);
	assert_int_equal(batch->activities.queued_ns[0], 1);
	assert_int_equal(batch->activities.queue[0], 0);
	assert_int_equal(lost(session, "an unknown operation or queue"), 2);
	assert_int_equal(lost(session, "impossible times"), 3);
	assert_int_equal(lost(session, "invalid GPU data"), 2);
	sonde_cursor_close(cursor);
}

static void many_fill_several_chunks(void **state)
{
	enum { COUNT = 40000 };
	struct fixture *fixture = *state;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	uint64_t count = 0, total_ns = 0, correlations = 0;
	tell_operation(fixture, 1, SONDE_ACTIVITY_API, "call");
	for (uint64_t i = 0; i < COUNT; i++) {
		struct sonde_event_activity event = activity_of(fixture, 1, 0);
		event.start_ns += 1000 * (COUNT - i);
		event.end_ns = event.start_ns + i % 7;
		event.correlation = i;
		tell(fixture, &event);
		if (i % 1000 == 0)
			sonde_devices_end_round(fixture->devices);
	}
	struct sonde_session *session = reopen(fixture);
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_ACTIVITIES), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			count++;
			total_ns += batch->activities.dur_ns[i];
			correlations += batch->activities.correlation[i];
		}
	assert_int_equal(count, COUNT);
	assert_int_equal(correlations, (uint64_t)COUNT * (COUNT - 1) / 2);
	assert_int_equal(total_ns, COUNT / 7 * 21 + 0 + 1); /* 40000 = 7 · 5714 + 2: 0 and 1 are left */
	assert_int_equal(sonde_session_event_count(session, SONDE_CHUNK_ACTIVITIES), COUNT);
	sonde_cursor_close(cursor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_was_told_is_read, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_activity_may_come_first, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_makes_no_sense_is_counted_and_left_out, setup, teardown),
	    cmocka_unit_test_setup_teardown(many_fill_several_chunks, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
