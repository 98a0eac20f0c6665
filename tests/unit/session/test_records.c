/* test_records.c: a reference to something that does not exist reads as 0: every reference of every table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "session_fixture.h"

enum { HOSTILE = 4242 }; /* an id that no record gives */

static void put(struct recording *recording, const void *record, size_t record_b)
{
	assert_int_equal(sonde_writer_meta(recording->writer, record, record_b, NULL, 0), 0);
}

#define PUT(recording, ...) put(recording, &(__VA_ARGS__), sizeof(__VA_ARGS__))

/* One record of each type; rows by id get id 1. */
static void put_people(struct recording *recording)
{
	PUT(recording,
	    (struct sonde_meta_process){.head.type = SONDE_META_PROCESS, .id = 1, .pid = 1, .parent = HOSTILE});
	PUT(recording, (struct sonde_meta_thread){.head.type = SONDE_META_THREAD, .id = 1, .process = HOSTILE});
	PUT(recording, (struct sonde_meta_module){.head.type = SONDE_META_MODULE, .id = 1, .process = HOSTILE});
	PUT(recording, (struct sonde_meta_lost){.head.type = SONDE_META_LOST, .process = HOSTILE, .thread = HOSTILE});
	PUT(recording,
	    (struct sonde_meta_histogram){.head.type = SONDE_META_HISTOGRAM, .site = HOSTILE, .process = HOSTILE});
	PUT(recording,
	    (struct sonde_meta_series){.head.type = SONDE_META_SERIES, .id = 1, .process = HOSTILE, .thread = HOSTILE});
	PUT(recording, (struct sonde_meta_object){.head.type = SONDE_META_OBJECT, .id = 1, .process = HOSTILE});
}

static void put_heaps(struct recording *recording)
{
	PUT(recording, (struct sonde_meta_heap){.head.type = SONDE_META_HEAP, .id = 1, .process = HOSTILE});
	PUT(recording,
	    (struct sonde_meta_heap_site){
		.head.type = SONDE_META_HEAP_SITE, .id = 1, .heap = HOSTILE, .thread = HOSTILE, .stack = HOSTILE});
	PUT(recording, (struct sonde_meta_heap_leak){.head.type = SONDE_META_HEAP_LEAK, .site = HOSTILE});
	PUT(recording, (struct sonde_meta_snapshot){.head.type = SONDE_META_SNAPSHOT, .process = HOSTILE});
}

static void put_devices(struct recording *recording)
{
	PUT(recording, (struct sonde_meta_device){.head.type = SONDE_META_DEVICE, .id = 1, .process = HOSTILE});
	PUT(recording,
	    (struct sonde_meta_queue){.head.type = SONDE_META_QUEUE, .id = 1, .process = HOSTILE, .device = HOSTILE});
	PUT(recording, (struct sonde_meta_operation){.head.type = SONDE_META_OPERATION,
						     .id = 1,
						     .process = HOSTILE,
						     .from_device = HOSTILE,
						     .to_device = HOSTILE});
}

static void what_does_not_exist_reads_as_0(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	put_people(&recording);
	put_heaps(&recording);
	put_devices(&recording);
	recording_close(&recording, 1000, 0);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_run(session)->skipped_records, 0);
	assert_int_equal(sonde_session_process(session, 1)->parent, 0);
	assert_int_equal(sonde_session_thread(session, 1)->process, 0);
	assert_int_equal(sonde_session_module(session, 1)->process, 0);
	assert_int_equal(sonde_session_lost(session, 0)->process, 0);
	assert_int_equal(sonde_session_lost(session, 0)->thread, 0);
	assert_int_equal(sonde_session_histogram(session, 0)->site, 0);
	assert_int_equal(sonde_session_histogram(session, 0)->process, 0);
	assert_int_equal(sonde_session_series(session, 1)->process, 0);
	assert_int_equal(sonde_session_series(session, 1)->thread, 0);
	assert_int_equal(sonde_session_object(session, 1)->process, 0);
	assert_int_equal(sonde_session_heap(session, 1)->process, 0);
	assert_int_equal(sonde_session_heap_site(session, 1)->heap, 0);
	assert_int_equal(sonde_session_heap_site(session, 1)->thread, 0);
	assert_int_equal(sonde_session_heap_site(session, 1)->stack, 0);
	assert_int_equal(sonde_session_heap_remainder(session, 0)->site, 0);
	assert_int_equal(sonde_session_snapshot(session, 0)->process, 0);
	assert_int_equal(sonde_session_device(session, 1)->process, 0);
	assert_int_equal(sonde_session_queue(session, 1)->process, 0);
	assert_int_equal(sonde_session_queue(session, 1)->device, 0);
	assert_int_equal(sonde_session_operation(session, 1)->process, 0);
	assert_int_equal(sonde_session_operation(session, 1)->from_device, 0);
	assert_int_equal(sonde_session_operation(session, 1)->to_device, 0);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_does_not_exist_reads_as_0)};
	return cmocka_run_group_tests(tests, enter, leave);
}
