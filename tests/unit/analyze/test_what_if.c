/* test_what_if.c: synthetic recordings replayed with a part faster: results known to the ms. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "critical_fixture.h"
#include "util/error.h"

/* The slow half faster: until it is no longer the slow one. Its end was 60 ms after both began. */
static void a_faster_half(void **state)
{
	static const struct {
		const char *first, *second;
		uint64_t ms;
	} known[] = {
	    {"thread=slow,speed=1.2", NULL, 70},
	    {"thread=slow,speed=2", NULL, 50},
	    {"thread=slow,speed=4", NULL, 50},
	    {"thread=slow,speed=inf", NULL, 50},
	    {"thread=fast,speed=inf", NULL, 80},
	    {"thread=slow,speed=3", "thread=fast,speed=3", 40},
	    {"thread=slow,speed=0.5", NULL, 140},
	    {"thread=prog,speed=2", NULL, 70},
	    {"thread=prog,speed=2", "thread=prog,speed=5", 62},
	};
	struct recording r;
	(void)state;
	fork_join(&r, 1);
	struct looked looked = look(NULL);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_int_equal(replayed_ns(&looked.critical, known[i].first, known[i].second), known[i].ms * MS);
	look_away(&looked);
}

/* A zone on one thread, a function on another, a lock between them: the second waits for the first, which holds the
 * lock from 10 to 40 and is in the zone from 20 to 36; then it runs 20 ms, in `work`. */
static void what_can_be_faster(void **state)
{
	static const struct {
		const char *what;
		uint64_t ms;
	} known[] = {
	    {"zone=part,speed=2", 52},   {"zone=part,speed=inf", 44},   {"lock=the_lock,speed=2", 60 - 15},
	    {"lock=0x4040,speed=3", 40}, {"function=work,speed=2", 50}, {"function=caller,speed=inf", 40},
	};
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t a = worker(&r, "a", 101, 0, 50);
	uint32_t lock = recording_object(&r, 1, SONDE_OBJECT_LOCK, "the_lock", 0x4040);
	uint32_t part = recording_site(&r, SONDE_SITE_ZONE, "part", NULL);
	uint32_t work = recording_call(&r, recording_call(&r, 0, 1, "caller", 5), 1, "work", 10);
	uint32_t idle = recording_call(&r, 0, 1, "idle", 20);
	at(&r, 0, 1, IN);
	at(&r, 0, a, IN);
	at(&r, 5, 1, BLOCKS);
	at(&r, 40, 1, IN);
	call(&r, a, SONDE_WAIT_HELD, 10, 40, lock, 0);
	call(&r, 1, SONDE_WAIT_MUTEX, 5, 40, lock, 0);
	recording_begin(&r, a, part, START + 20 * MS);
	recording_end(&r, a, START + 36 * MS);
	recording_sample(&r, (struct recording_sample){START + 2 * MS, 1, idle, MS, SONDE_STACK_COMPLETE});
	recording_sample(&r, (struct recording_sample){START + 40 * MS, 1, idle, MS, SONDE_STACK_COMPLETE});
	recording_sample(&r, (struct recording_sample){START + 60 * MS, 1, work, MS, SONDE_STACK_COMPLETE});
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_int_equal(replayed_ns(&looked.critical, known[i].what, NULL), known[i].ms * MS);
	look_away(&looked);
}

/* Four threads take a lock one after the other, each for 10 ms, all requesting it at 5; no thread waits for the last
 * holder, which then runs for 10 ms more. At twice the speed: 5 + 4 × 5 + 10. With only two recorded holds, or with
 * lost calls, the last holder is unknown. */
static void the_last_holder(void **state)
{
	static const struct {
		unsigned threads;
		int is_lossy;
		uint64_t recorded_ms, predicted_ms;
	} cases[] = {{4, 0, 55, 35}, {4, 1, 55, 55}, {3, 0, 45, 35}};
	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct recording r;
		simple_open(&r);
		uint32_t lock = recording_object(&r, 1, SONDE_OBJECT_LOCK, "the_lock", 0x4040), before = 0;
		unsigned last = cases[k].threads - 1;
		for (unsigned i = 0; i <= last; i++) {
			uint64_t from = 5 + 10 * i, to = from + 10;
			uint32_t thread = i == last ? 1 : worker(&r, "w", 101 + i, 0, to);
			at(&r, 0, thread, IN);
			if (i) {
				at(&r, 5, thread, BLOCKS);
				at(&r, from, thread, IN);
				call(&r, thread, SONDE_WAIT_MUTEX, 5, from, lock, before);
			}
			if (i < last)
				call(&r, thread, SONDE_WAIT_HELD, from, to, lock, 0);
			before = thread;
		}
		uint64_t end_ms = 5 + 10 * cases[k].threads + 10;
		if (cases[k].is_lossy)
			recording_lost_of(&r, "waits", "ring full", 1, 7);
		recording_thread_end(&r, 1, START + end_ms * MS, 0);
		recording_close(&r, START + end_ms * MS, 0);
		struct looked looked = look(NULL);
		assert_int_equal(looked.critical.to_ns - looked.critical.from_ns, cases[k].recorded_ms * MS);
		assert_int_equal(replayed_ns(&looked.critical, "lock=the_lock,speed=2", NULL),
				 cases[k].predicted_ms * MS);
		look_away(&looked);
	}
}

/* Other programs have the CPU half of the time: 5 ms of running, 5 ms of waiting, six times in 60 ms; the zone is open
 * from 20 to 60, in which 20 ms run and 20 ms wait. Who runs less waits less: twice as fast is 20 + 20. The second
 * thread has a CPU of its own, and is joined. */
static void who_runs_less_waits_less(void **state)
{
	static const struct {
		const char *what;
		uint64_t ms;
	} known[] = {
	    {"zone=part,speed=2", 40},   {"zone=part,speed=4", 30},       {"zone=part,speed=inf", 20},
	    {"zone=part,speed=1", 60},   {"zone=part,speed=0.5", 100},    {"thread=prog,speed=2", 30},
	    {"thread=none,speed=2", 60}, {"function=work,speed=inf", 30},
	};
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t none = worker(&r, "none", 101, 0, 10);
	uint32_t part = recording_site(&r, SONDE_SITE_ZONE, "part", NULL);
	uint32_t work = recording_call(&r, 0, 1, "work", 10), idle = recording_call(&r, 0, 1, "idle", 20);
	at(&r, 0, none, IN);
	for (uint64_t from = 0; from < 60; from += 10) {
		at(&r, from, 1, IN);
		at(&r, from + 5, 1, PREEMPTED);
	}
	at(&r, 60, 1, IN);
	recording_begin(&r, 1, part, START + 20 * MS);
	recording_end(&r, 1, START + 60 * MS);
	/* a sample at 30 and one at 60: from the one to the other it was in `work` */
	recording_sample(&r, (struct recording_sample){START + 30 * MS, 1, idle, 15 * MS, SONDE_STACK_COMPLETE});
	recording_sample(&r, (struct recording_sample){START + 60 * MS, 1, work, 15 * MS, SONDE_STACK_COMPLETE});
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_int_equal(replayed_ns(&looked.critical, known[i].what, NULL), known[i].ms * MS);
	look_away(&looked);
}

/* A name that does not exist is an error; a malformed one is rejected with the valid forms. */
static void what_cannot(void **state)
{
	static const char *const wrong[] = {"zone=a",           "zone=,speed=2",        "zone=a,speed=0",
					    "zone=a,speed=-1",  "zone=a,speed=2x",      "door=a,speed=2",
					    "zone=a,speed=nan", "zone=a,speed=infinity"};
	struct sonde_critical_scale scale;
	struct recording r;
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(sonde_critical_scale_parse(&scale, wrong[i]), -EINVAL);
	assert_int_equal(sonde_critical_scale_parse(&scale, "zone=a,speed=2,b=c,speed=1.5"), 0);
	assert_string_equal(scale.name, "a,speed=2,b=c");
	fork_join(&r, 1);
	const char *const requested[] = {"thread=slow,speed=2", "thread=fast,speed=2", "zone=none,speed=2"};
	struct sonde_pass_options options = {.requested = 1, .what_if = requested, .what_ifs = 2};
	struct sections s = sections_of(path, "what-if", &options);
	const struct sonde_section *section = sections_get(&s, "what-if");
	assert_int_equal(sections_int(section, "name", "slow", "predicted_ns"), 50 * MS);
	assert_near(sections_real(section, "name", "slow", "saved_share"), 0.375, 1e-9);
	assert_int_equal(sections_int(section, "name", "all of these", "predicted_ns"), 50 * MS);
	sections_free(&s);
	struct sonde_session *session;
	struct sonde_report *report;
	const struct sonde_pass *pass = sonde_pass_find("what-if");
	options.what_ifs = 3;
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(sonde_pass_run(session, &pass, 1, &options, report), -EINVAL);
	assert_string_equal(sonde_error_text(), "--what-if: the recording has no zone 'none'");
	sonde_report_free(report);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_faster_half),   cmocka_unit_test(what_can_be_faster),
	    cmocka_unit_test(the_last_holder), cmocka_unit_test(who_runs_less_waits_less),
	    cmocka_unit_test(what_cannot),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
