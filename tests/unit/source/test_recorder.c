/* test_recorder.c: a session reads the same data that sources passed to the recorder. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "fold/hist.h"
#include "session/session.h"
#include "source/record/recorder.h"
#include "trace/writer.h"
#include "util/error.h"

struct fixture {
	char path[64];
	struct sonde_writer *writer;
	struct sonde_recorder *recorder;
	struct sonde_session *session;
};

static const struct sonde_record_options nothing_requested;

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	strcpy(fixture->path, "/tmp/sonde-recorder-XXXXXX");
	close(mkstemp(fixture->path));
	struct sonde_writer_options options = {.overwrite = 1};
	assert_int_equal(sonde_writer_open(&fixture->writer, fixture->path, &options), 0);
	assert_int_equal(sonde_recorder_new(&fixture->recorder, fixture->writer, &nothing_requested), 0);
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

/* Closes the recording and opens it for reading. */
static struct sonde_session *reopen(struct fixture *fixture)
{
	assert_int_equal(sonde_recorder_close(fixture->recorder, 0, 5000), 0);
	sonde_recorder_free(fixture->recorder);
	assert_int_equal(sonde_writer_close(fixture->writer), 0);
	struct sonde_session_options options = {.no_symbols = 1};
	assert_int_equal(sonde_session_open(&fixture->session, fixture->path, &options), 0);
	return fixture->session;
}

static void a_thread_has_the_name_that_its_program_gave(void **state)
{
	struct fixture *fixture = *state;
	struct {
		struct sonde_event_text event;
		char text[8];
	} name = {{{.type = SONDE_EVENT_THREAD_NAME, .time = 150}, 5}, "chief..."};
	name.event.head.words = sizeof name / 8;
	uint32_t thread = sonde_recorder_thread(fixture->recorder, 0x7ffffff1, 0x7ffffff2, 100);
	sonde_recorder_comm(fixture->recorder, 0x7ffffff1, 0x7ffffff2, "thread-1", 0, 120);
	sonde_recorder_event(fixture->recorder, 0, thread, &name.event.head);
	sonde_recorder_comm(fixture->recorder, 0x7ffffff1, 0x7ffffff2, "thread-2", 0, 160);
	assert_string_equal(sonde_session_thread(reopen(fixture), thread)->name, "chief");
}

/* Some sources read first and report last: each value keeps the time at which it was read. */
static void readings_told_late_keep_their_time(void **state)
{
	static const uint64_t times[] = {5000, 7000, 4000, 7000, 100};
	static const uint64_t in_order[] = {100, 4000, 5000, 7000, 7000};
	static const int64_t values[] = {4, 2, 0, 1, 3};
	struct fixture *fixture = *state;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	uint64_t base_ns = sonde_writer_start_ns(fixture->writer);
	uint32_t series = sonde_recorder_series(fixture->recorder, SONDE_METRIC_MEMORY_RSS, 0, 0, NULL);
	for (int64_t i = 0; i < 5; i++)
		sonde_recorder_point(fixture->recorder, base_ns + times[i], series, i);
	struct sonde_session *session = reopen(fixture);
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SERIES), 0);
	assert_int_equal(sonde_cursor_next(cursor, &batch), 1);
	assert_int_equal(batch->count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(batch->series.time_ns[i], base_ns + in_order[i]);
		assert_int_equal(batch->series.value[i], values[i]);
	}
	sonde_cursor_close(cursor);
}

static void a_number_used_again_is_another_life(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_recorder *recorder = fixture->recorder;
	sonde_recorder_fork(recorder, 0x7ffffff0, 0x7ffffff1, 0x7ffffff1, 100);
	uint32_t first = sonde_recorder_thread(recorder, 0x7ffffff1, 0x7ffffff1, 150);
	sonde_recorder_comm(recorder, 0x7ffffff1, 0x7ffffff1, "one", 0, 160);
	sonde_recorder_exit(recorder, 0x7ffffff1, 0x7ffffff1, 42, 200);
	assert_int_equal(sonde_recorder_thread(recorder, 0x7ffffff1, 0x7ffffff1, 190), first); /* drained late */
	sonde_recorder_fork(recorder, 0x7ffffff0, 0x7ffffff1, 0x7ffffff1, 300);
	uint32_t second = sonde_recorder_thread(recorder, 0x7ffffff1, 0x7ffffff1, 350);
	sonde_recorder_comm(recorder, 0x7ffffff1, 0x7ffffff1, "two", 0, 360);
	assert_int_not_equal(first, second);

	struct sonde_session *session = reopen(fixture);
	const struct sonde_thread *one = sonde_session_thread(session, first);
	const struct sonde_thread *two = sonde_session_thread(session, second);
	assert_string_equal(one->name, "one");
	assert_int_equal(one->start_ns, 100);
	assert_int_equal(one->end_ns, 200);
	assert_int_equal(one->cpu_ns, 42);
	assert_string_equal(two->name, "two");
	assert_int_equal(two->end_ns, 0);
	assert_int_equal(sonde_session_process(session, one->process)->end_ns, 200);
	assert_int_not_equal(one->process, two->process);
}

static void equal_stacks_are_one_node(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_recorder *recorder = fixture->recorder;
	struct sonde_stack_module_key key = {.path = "/x/lib.so", .build_id = (const uint8_t *)"0123", .build_id_b = 4};
	uint32_t module = sonde_recorder_module(recorder, &key);
	key.path = "/elsewhere/lib.so"; /* the same build under another path */
	assert_int_equal(sonde_recorder_module(recorder, &key), module);
	struct sonde_trie_frame frames[] = {{module, 30}, {module, 20}, {module, 10}};
	uint32_t leaf = sonde_recorder_stack(recorder, frames, 3);
	uint32_t parent = sonde_recorder_stack(recorder, frames + 1, 2);
	assert_int_equal(sonde_recorder_stack(recorder, frames, 3), leaf);
	assert_int_equal(sonde_recorder_stack(recorder, NULL, 0), 0);
	sonde_recorder_sample(recorder, 1000, 0, leaf, 7, SONDE_STACK_COMPLETE);

	struct sonde_session *session = reopen(fixture);
	assert_int_equal(sonde_session_node_count(session), 3);
	assert_int_equal(sonde_session_node(session, leaf)->parent, parent);
	assert_int_equal(sonde_session_frame(session, sonde_session_node(session, leaf)->frame)->address, 30);
	assert_string_equal(sonde_session_module(session, module)->build_id, "30313233");
}

static void samples_come_back_in_order(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t times[] = {1000, 1500, 1400 /* late: takes the time before */, 3000};
	const uint64_t weights[] = {10, 20, 5, UINT64_C(1) << 40};
	for (size_t i = 0; i < 4; i++)
		sonde_recorder_sample(fixture->recorder, times[i], (uint32_t)i, 0, weights[i], (uint8_t)i);
	assert_int_equal(sonde_recorder_sample_count(fixture->recorder), 4);

	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	assert_int_equal(sonde_cursor_open(&cursor, reopen(fixture), 1u << SONDE_CHUNK_SAMPLES), 0);
	assert_int_equal(sonde_cursor_next(cursor, &batch), 1);
	assert_int_equal(batch->count, 4);
	const uint64_t back[] = {1000, 1500, 1500, 3000};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(batch->samples.time_ns[i], back[i]);
		assert_int_equal(batch->samples.weight_ns[i], weights[i]);
		assert_int_equal(batch->samples.status[i], i);
	}
	assert_int_equal(sonde_cursor_next(cursor, &batch), 0);
	sonde_cursor_close(cursor);
}

static void zone_sums_cross_chunks(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_recorder *recorder = fixture->recorder;
	uint32_t process = sonde_recorder_process(recorder, getpid(), 1);
	uint32_t thread = sonde_recorder_thread(recorder, getpid(), getpid(), 1);
	struct sonde_recorder_site outer_site = {.kind = SONDE_SITE_ZONE, .name = "outer", .line = 3};
	struct sonde_recorder_site inner_site = {.kind = SONDE_SITE_ZONE, .name = "inner"};
	uint32_t outer = sonde_recorder_site(recorder, &outer_site);
	uint32_t inner = sonde_recorder_site(recorder, &inner_site);
	assert_int_equal(sonde_recorder_site(recorder, &outer_site), outer);
	const uint32_t first[] = {outer, inner};
	const uint64_t first_ns[] = {100, 200};
	sonde_recorder_zones(recorder, process, thread, first, first_ns, 2);
	sonde_recorder_flush(recorder); /* both are open across the chunks */
	const uint32_t second[] = {0, inner, 0, 0};
	const uint64_t second_ns[] = {300, 400, 450, 1100};
	sonde_recorder_zones(recorder, process, thread, second, second_ns, 4);

	struct sonde_zone_stat stats[3];
	struct sonde_session *session = reopen(fixture);
	assert_int_equal(sonde_session_site_count(session), 2);
	assert_int_equal(sonde_session_zone_stats(session, stats), 0);
	assert_int_equal(stats[outer].count, 1);
	assert_int_equal(stats[outer].total_ns, 1000);
	assert_int_equal(stats[outer].self_ns, 850);
	assert_int_equal(stats[inner].count, 2);
	assert_int_equal(stats[inner].total_ns, 150);
	assert_int_equal(stats[inner].min_ns, 50);
	assert_int_equal(stats[inner].max_ns, 100);
}

static void losses_add_up_by_cause(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_recorder_loss loss = {.source = "zones", .cause = "ring full", .count = 3, .time_ns = 10};
	sonde_recorder_lost(fixture->recorder, &loss);
	loss.count = 4;
	loss.time_ns = 90;
	sonde_recorder_lost(fixture->recorder, &loss);
	loss.cause = "too long";
	sonde_recorder_lost(fixture->recorder, &loss);

	struct sonde_session *session = reopen(fixture);
	assert_int_equal(sonde_session_lost_count(session), 2);
	assert_string_equal(sonde_session_lost(session, 0)->cause, "ring full");
	assert_int_equal(sonde_session_lost(session, 0)->count, 7);
	assert_int_equal(sonde_session_lost(session, 0)->from_ns, 10);
	assert_int_equal(sonde_session_lost(session, 0)->to_ns, 90);
	assert_int_equal(sonde_session_lost(session, 1)->count, 4);
}

static void histograms_keep_every_bucket(void **state)
{
	struct fixture *fixture = *state;
	static uint64_t hits[SONDE_HIST_BUCKETS];
	hits[0] = 5;
	hits[SONDE_HIST_BUCKETS - 1] = 2;
	struct sonde_recorder_site site = {.kind = SONDE_SITE_HISTOGRAM, .name = "sizes", .unit = "B"};
	struct sonde_recorder_histogram histogram = {
	    .site = sonde_recorder_site(fixture->recorder, &site),
	    .hits = hits,
	    .count = 7,
	    .sum = 99,
	    .min = 0,
	    .max = UINT64_MAX,
	};
	sonde_recorder_histogram(fixture->recorder, &histogram);

	struct sonde_session *session = reopen(fixture);
	assert_int_equal(sonde_session_histogram_count(session), 1);
	const struct sonde_histogram *back = sonde_session_histogram(session, 0);
	assert_memory_equal(back->hits, hits, sizeof hits);
	assert_int_equal(back->count, 7);
	assert_int_equal(back->max, UINT64_MAX);
	assert_string_equal(sonde_session_site(session, back->site)->unit, "B");
}

static void a_trigger_that_cannot_be_understood_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_record_options options = {.when = "anything"};
	struct sonde_recorder *recorder = NULL;
	assert_int_equal(sonde_recorder_new(&recorder, fixture->writer, &options), -EINVAL);
	assert_null(recorder);
	assert_non_null(strstr(sonde_error_text(), "zone=NAME"));
	reopen(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_thread_has_the_name_that_its_program_gave, setup, teardown),
	    cmocka_unit_test_setup_teardown(readings_told_late_keep_their_time, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_number_used_again_is_another_life, setup, teardown),
	    cmocka_unit_test_setup_teardown(equal_stacks_are_one_node, setup, teardown),
	    cmocka_unit_test_setup_teardown(samples_come_back_in_order, setup, teardown),
	    cmocka_unit_test_setup_teardown(zone_sums_cross_chunks, setup, teardown),
	    cmocka_unit_test_setup_teardown(losses_add_up_by_cause, setup, teardown),
	    cmocka_unit_test_setup_teardown(histograms_keep_every_bucket, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_trigger_that_cannot_be_understood_is_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
