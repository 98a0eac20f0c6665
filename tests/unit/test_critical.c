/* test_critical.c: critical paths of made recordings, whose chains are known to the ms. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/critical_names.h"
#include "analyze/critical_replay.h"
#include "analyze_fixture.h"
#include "sections.h"

#define IN SONDE_SWITCH_IN
#define BLOCKS SONDE_SWITCH_OUT_BLOCKED
#define PREEMPTED SONDE_SWITCH_OUT_PREEMPTED

/* --- what is made --------------------------------------------------------------------------------------------------
 */

static void at(struct recording *r, uint64_t ms, uint32_t thread, enum sonde_switch_kind kind)
{
	recording_switch_on(r, START + ms * MS, thread, kind, (int)thread - 1);
}

static void call(struct recording *r, uint32_t thread, enum sonde_wait_kind kind, uint64_t from_ms, uint64_t to_ms,
		 uint32_t object, uint32_t other)
{
	recording_wait(r, (struct recording_wait){.start_ns = START + from_ms * MS,
						  .dur_ns = (to_ms - from_ms) * MS,
						  .thread = thread,
						  .other = other,
						  .kind = kind,
						  .object = object});
}

static uint32_t worker(struct recording *r, const char *name, uint32_t tid, uint64_t from_ms, uint64_t to_ms)
{
	uint32_t id = recording_thread(r, 1, tid, name, START + from_ms * MS);
	recording_thread_end(r, id, START + to_ms * MS, 0);
	return id;
}

/* Runs 10 ms, begins two workers that run 30 and 60, joins both in turn, runs 10 more. */
static void fork_join(struct recording *r, int with_names)
{
	simple_open(r);
	uint32_t fast = worker(r, "fast", 101, 10, 40), slow = worker(r, "slow", 102, 10, 70);
	at(r, 0, 1, IN);
	recording_switch_woken(r, START + 10 * MS, fast, 1, 0, 1);
	recording_switch_woken(r, START + 10 * MS, slow, 2, 0, 1);
	at(r, 10, 1, BLOCKS);
	at(r, 40, 1, IN);
	at(r, 40, 1, BLOCKS);
	at(r, 70, 1, IN);
	call(r, 1, SONDE_WAIT_JOIN, 10, 40, 0, with_names ? fast : 0);
	call(r, 1, SONDE_WAIT_JOIN, 40, 70, 0, with_names ? slow : 0);
	recording_thread_end(r, 1, START + 80 * MS, 0);
	recording_process_end(r, 1, START + 80 * MS, 0, 0);
	recording_close(r, START + 80 * MS, 0);
}

/* --- what is looked at ----------------------------------------------------------------------------------------------
 */

struct looked {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_critical critical;
	struct sonde_critical_path path;
	struct sonde_critical_elements elements;
};

static uint64_t span_of(const struct looked *looked)
{
	return looked->critical.to_ns - looked->critical.from_ns;
}

/* The span in ms with something faster; NULL = nothing. */
static uint64_t replayed_ns(const struct sonde_critical *critical, const char *first, const char *second)
{
	struct sonde_critical_scale scales[2];
	struct sonde_critical_outcome outcome;
	size_t count = second ? 2 : first ? 1 : 0;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sonde_critical_scale_parse(&scales[i], i ? second : first), 0);
	assert_int_equal(sonde_critical_replay(&outcome, critical, scales, count), 0);
	assert_true(outcome.is_found);
	return outcome.span_ns;
}

/* Whatever the recording, elements are the span to the ns, steps follow each other, and the run once more is as long as
 * it was. */
static struct looked look(const struct sonde_pass_options *options)
{
	struct looked looked = {0};
	uint64_t sum_ns = 0;
	assert_int_equal(sonde_session_open(&looked.session, path, NULL), 0);
	assert_int_equal(sonde_report_new(&looked.report), 0);
	assert_int_equal(sonde_critical_read(&looked.critical, looked.session, options), 0);
	assert_int_equal(sonde_critical_walk(&looked.path, &looked.critical), 0);
	assert_int_equal(sonde_critical_elements_find(&looked.elements, &looked.critical, &looked.path, looked.report),
			 0);
	for (size_t i = 0; i < looked.elements.count; i++)
		sum_ns += looked.elements.rows[i].ns;
	assert_int_equal(sum_ns, span_of(&looked));
	for (size_t i = 0; i < looked.path.count; i++)
		assert_true(looked.path.steps[i].from_ns < sonde_critical_step_end(&looked.path, i));
	if (looked.path.count)
		assert_int_equal(looked.path.steps[0].from_ns, looked.path.from_ns);
	assert_int_equal(replayed_ns(&looked.critical, NULL, NULL), span_of(&looked));
	assert_int_equal(replayed_ns(&looked.critical, "thread=prog,speed=1", NULL), span_of(&looked));
	return looked;
}

static void look_away(struct looked *looked)
{
	sonde_critical_elements_fini(&looked->elements);
	sonde_critical_path_fini(&looked->path);
	sonde_critical_fini(&looked->critical);
	sonde_report_free(looked->report);
	sonde_session_close(looked->session);
}

/* ms of an element; 0 = there is none. */
static uint64_t ms_of(const struct looked *looked, const char *kind, const char *name)
{
	for (size_t i = 0; i < looked->elements.count; i++)
		if (!strcmp(looked->elements.rows[i].kind, kind) && !strcmp(looked->elements.rows[i].name, name))
			return looked->elements.rows[i].ns / MS;
	return 0;
}

/* --- tests ----------------------------------------------------------------------------------------------------------
 */

/* The slow half is on the path; the fast one is not. */
static void the_longer_half(void **state)
{
	(void)state;
	for (int with_names = 0; with_names < 2; with_names++) {
		struct recording r;
		fork_join(&r, with_names);
		struct looked looked = look(NULL);
		assert_int_equal(span_of(&looked), 80 * MS);
		assert_int_equal(ms_of(&looked, "thread", "slow"), 60);
		assert_int_equal(ms_of(&looked, "thread", "fast"), 0);
		assert_int_equal(ms_of(&looked, "thread", "prog"), 20);
		look_away(&looked);
	}
}

/* Three threads of which each holds the lock in turn; the third is the command's. Who had it first is known by the lock
 * itself: there is no row of that hold. */
static void a_convoy(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t a = worker(&r, "a", 101, 0, 20), b = worker(&r, "b", 102, 0, 50);
	uint32_t lock = recording_object(&r, 1, SONDE_OBJECT_LOCK, "the_lock", 0x4040);
	at(&r, 0, a, IN);
	at(&r, 0, b, IN);
	at(&r, 0, 1, IN);
	at(&r, 5, b, BLOCKS);
	at(&r, 6, 1, BLOCKS);
	at(&r, 20, b, IN);
	at(&r, 45, 1, IN);
	call(&r, b, SONDE_WAIT_MUTEX, 5, 20, lock, a);
	call(&r, b, SONDE_WAIT_HELD, 20, 44, lock, 0);
	call(&r, 1, SONDE_WAIT_MUTEX, 6, 45, lock, a);
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "thread", "a"), 20);
	assert_int_equal(ms_of(&looked, "thread", "b"), 24);
	assert_int_equal(ms_of(&looked, "wake-up", "prog"), 1);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 15);
	assert_int_equal(looked.path.handed_over, 2);
	look_away(&looked);
}

/* Who may have held the lock was lost: nobody is named, and the waiting is a step of its own. */
static void lost_calls(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t a = worker(&r, "a", 101, 0, 60);
	uint32_t lock = recording_object(&r, 1, SONDE_OBJECT_LOCK, "the_lock", 0x4040);
	at(&r, 0, a, IN);
	at(&r, 0, 1, IN);
	at(&r, 10, 1, BLOCKS);
	at(&r, 40, 1, IN);
	call(&r, 1, SONDE_WAIT_MUTEX, 10, 40, lock, a);
	recording_lost_of(&r, "waits", "ring full", 1, 7);
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "mutex", "the_lock"), 30);
	assert_int_equal(ms_of(&looked, "thread", "a"), 0);
	look_away(&looked);
	struct sections s = sections_of(path, "critical-path", NULL);
	const struct sonde_section *section = sections_get(&s, "critical-path");
	assert_true(sections_noted(section->notes, "50.0 % of the path is blocked time"));
	assert_true(sections_noted(section->notes, "7 calls that wait"));
	assert_near(sections_real(section, "name", "the_lock", "share"), 0.5, 1e-9);
	sections_free(&s);
}

/* Who waited until its time was over was let go on by nobody, whoever else was signalled meanwhile. */
static void a_timeout(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t signaller = worker(&r, "signaller", 101, 0, 60);
	uint32_t condition = recording_object(&r, 1, SONDE_OBJECT_LOCK, "jobs", 0x4040);
	at(&r, 0, signaller, IN);
	at(&r, 0, 1, IN);
	at(&r, 10, 1, BLOCKS);
	at(&r, 40, 1, IN);
	call(&r, signaller, SONDE_WAIT_HELD, 38, 38, condition, 0);
	recording_wait(&r, (struct recording_wait){.start_ns = START + 10 * MS,
						   .dur_ns = 30 * MS,
						   .thread = 1,
						   .kind = SONDE_WAIT_CONDITION,
						   .object = condition,
						   .amount = SONDE_WAIT_IN_VAIN});
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 30);
	for (size_t i = 0; i < looked.elements.count; i++)
		assert_string_not_equal(looked.elements.rows[i].name, "signaller");
	look_away(&looked);
}

/* Who waits for a semaphore waits for the last post before it went on; nobody holds it. */
static void a_semaphore(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t poster = worker(&r, "poster", 101, 0, 60);
	uint32_t semaphore = recording_object(&r, 1, SONDE_OBJECT_LOCK, "items", 0x4040);
	at(&r, 0, poster, IN);
	at(&r, 0, 1, IN);
	at(&r, 10, 1, BLOCKS);
	at(&r, 40, 1, IN);
	call(&r, poster, SONDE_WAIT_HELD, 5, 5, semaphore, 0);
	call(&r, poster, SONDE_WAIT_HELD, 38, 38, semaphore, 0);
	call(&r, poster, SONDE_WAIT_HELD, 50, 50, semaphore, 0);
	call(&r, 1, SONDE_WAIT_SEMAPHORE, 10, 40, semaphore, 0);
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "thread", "poster"), 38);
	assert_int_equal(ms_of(&looked, "wake-up", "prog"), 2);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 20);
	look_away(&looked);
	struct sections s = sections_of(path, "locks", NULL);
	const struct sonde_section *section = sections_get(&s, "locks");
	const struct sonde_cell *row = sections_row(section, "lock", "items");
	assert_int_equal(sections_cell(section, row, "held_ns")->kind, SONDE_CELL_ABSENT);
	assert_false(sections_noted(section->notes, "explains less than half"));
	sections_free(&s);
}

/* Three rounds of a barrier of two: the command comes last to the first, the other thread to the others. */
static void rounds_of_a_barrier(void **state)
{
	static const uint64_t rounds[][2] = {{30, 10}, {40, 60}, {70, 90}}; /* arrivals: the command, the other */
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t other = worker(&r, "other", 101, 0, 95);
	uint32_t barrier = recording_object(&r, 1, SONDE_OBJECT_LOCK, "barrier", 0x4040);
	at(&r, 0, 1, IN);
	at(&r, 0, other, IN);
	for (size_t i = 0; i < 3; i++) {
		uint64_t last = rounds[i][0] > rounds[i][1] ? rounds[i][0] : rounds[i][1];
		uint32_t waits = rounds[i][0] < rounds[i][1] ? 1 : other;
		at(&r, rounds[i][waits != 1], waits, BLOCKS);
		at(&r, last, waits, IN);
		call(&r, 1, SONDE_WAIT_BARRIER, rounds[i][0], last, barrier, 0);
		call(&r, other, SONDE_WAIT_BARRIER, rounds[i][1], last, barrier, 0);
	}
	recording_thread_end(&r, 1, START + 100 * MS, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 30 + 10);
	assert_int_equal(ms_of(&looked, "thread", "other"), 60);
	look_away(&looked);
}

/* Who woke whom is told: that goes before what calls say. A thread's creator is told, too. */
static void wakeups_that_are_known(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t maker = worker(&r, "maker", 101, 0, 65), made = worker(&r, "made", 102, 10, 50);
	at(&r, 0, 1, IN);
	at(&r, 0, maker, IN);
	at(&r, 5, 1, BLOCKS);
	recording_switch_woken(&r, START + 12 * MS, made, 2, 2 * MS, maker);
	recording_switch_woken(&r, START + 45 * MS, 1, 0, 3 * MS, made);
	call(&r, 1, SONDE_WAIT_CONDITION, 5, 45, 0, 0);
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(span_of(&looked), 60 * MS);
	assert_int_equal(ms_of(&looked, "thread", "maker"), 10);
	assert_int_equal(ms_of(&looked, "wait for a CPU", "made"), 2);
	assert_int_equal(ms_of(&looked, "thread", "made"), 30);
	assert_int_equal(ms_of(&looked, "wait for a CPU", "prog"), 3);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 15);
	look_away(&looked);
}

/* A shell that waits for one child after the other; sleep is nobody's. */
static void children(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t process =
		    recording_process(&r, 200 + i, 1, i ? "second" : "first", START + (10 + 40 * i) * MS);
		uint32_t thread =
		    recording_thread(&r, process, 200 + i, i ? "second" : "first", START + (10 + 40 * i) * MS);
		at(&r, 10 + 40 * i, thread, IN);
		at(&r, 11 + 40 * i, 1, BLOCKS);
		at(&r, 20 + 40 * i, thread, BLOCKS);
		at(&r, 30 + 40 * i, thread, IN);
		call(&r, thread, SONDE_WAIT_SLEEP, 20 + 40 * i, 30 + 40 * i, 0, 0);
		recording_thread_end(&r, thread, START + (40 + 40 * i) * MS, 0);
		recording_process_end(&r, process, START + (40 + 40 * i) * MS, 0, 0);
		at(&r, 40 + 40 * i, 1, IN);
		call(&r, 1, SONDE_WAIT_CHILD, 11 + 40 * i, 40 + 40 * i, 0, 0);
	}
	recording_thread_end(&r, 1, START + 100 * MS, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "thread", "first"), 20);
	assert_int_equal(ms_of(&looked, "sleep", "first"), 10);
	assert_int_equal(ms_of(&looked, "thread", "second"), 20);
	assert_int_equal(ms_of(&looked, "sleep", "second"), 10);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 40);
	assert_int_equal(looked.elements.external_ns, 20 * MS);
	look_away(&looked);
}

/* Who waits for a pipe waits for who wrote to it first. */
static void a_pipe(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t process = recording_process(&r, 200, 1, "writer", START);
	uint32_t writer = recording_thread(&r, process, 200, "writer", START);
	uint32_t in = recording_object(&r, 1, SONDE_OBJECT_PIPE, "pipe:[77]", 0);
	uint32_t out = recording_object(&r, process, SONDE_OBJECT_PIPE, "pipe:[77]", 0);
	at(&r, 0, 1, IN);
	at(&r, 0, writer, IN);
	at(&r, 10, 1, BLOCKS);
	at(&r, 40, 1, IN);
	call(&r, 1, SONDE_WAIT_READ, 10, 40, in, 0);
	call(&r, writer, SONDE_WAIT_WRITE, 5, 6, out, 0);
	call(&r, writer, SONDE_WAIT_WRITE, 38, 39, out, 0);
	call(&r, writer, SONDE_WAIT_WRITE, 39, 40, out, 0);
	recording_thread_end(&r, 1, START + 50 * MS, 0);
	recording_close(&r, START + 50 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "thread", "writer"), 38);
	assert_int_equal(ms_of(&looked, "wake-up", "prog"), 2);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10);
	look_away(&looked);
}

/* Without switches calls alone divide a thread's time; nothing is said to have run. */
static void calls_alone(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t other = worker(&r, "other", 101, 10, 60);
	call(&r, 1, SONDE_WAIT_JOIN, 20, 61, 0, other);
	call(&r, 1, SONDE_WAIT_SLEEP, 70, 80, 0, 0);
	recording_thread_end(&r, 1, START + 100 * MS, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(looked.elements.by_state_ns[SONDE_CRITICAL_RUNNING], 0);
	assert_int_equal(ms_of(&looked, "thread", "other"), 50);
	assert_int_equal(ms_of(&looked, "wake-up", "prog"), 1);
	assert_int_equal(ms_of(&looked, "sleep", "prog"), 10);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10 + 9 + 20);
	look_away(&looked);
}

/* Zones are exact, with what lies inside them left out; functions have the rest as samples found it. */
static void names(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "outer", NULL);
	uint32_t inner = recording_site(&r, SONDE_SITE_ZONE, "inner", NULL);
	uint32_t before = recording_call(&r, 0, 1, "before", 10), after = recording_call(&r, 0, 1, "after", 20);
	at(&r, 0, 1, IN);
	at(&r, 50, 1, BLOCKS);
	at(&r, 60, 1, IN);
	call(&r, 1, SONDE_WAIT_SLEEP, 50, 60, 0, 0);
	recording_begin(&r, 1, outer, START + 20 * MS);
	recording_begin(&r, 1, inner, START + 40 * MS);
	recording_end(&r, 1, START + 65 * MS);
	recording_end(&r, 1, START + 70 * MS);
	recording_sample(&r, (struct recording_sample){START + 10 * MS, 1, before, MS, SONDE_STACK_COMPLETE});
	recording_sample(&r, (struct recording_sample){START + 30 * MS, 1, after, MS, SONDE_STACK_COMPLETE});
	recording_sample(&r, (struct recording_sample){START + 90 * MS, 1, after, MS, SONDE_STACK_COMPLETE});
	recording_thread_end(&r, 1, START + 100 * MS, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "zone", "outer"), 20 + 5);
	assert_int_equal(ms_of(&looked, "zone", "inner"), 10 + 5);
	assert_int_equal(ms_of(&looked, "sleep", "prog"), 10);
	assert_int_equal(ms_of(&looked, "function", "before"), 10);
	assert_int_equal(ms_of(&looked, "function", "after"), 10 + 30);
	look_away(&looked);
}

/* A part of the recording, and one thread's end. */
static void parts(void **state)
{
	struct recording r;
	(void)state;
	fork_join(&r, 1);
	const struct sonde_pass_options part = {.from_ns = START + 20 * MS, .to_ns = START + 50 * MS};
	struct looked looked = look(&part);
	assert_int_equal(span_of(&looked), 30 * MS);
	assert_int_equal(ms_of(&looked, "join", "prog"), 10); /* it is not over yet */
	assert_int_equal(ms_of(&looked, "thread", "fast"), 20);
	look_away(&looked);
	const uint8_t fast[] = {0, 0, 1, 0};
	const struct sonde_pass_options one = {.thread = fast};
	looked = look(&one);
	assert_int_equal(span_of(&looked), 40 * MS);
	assert_int_equal(ms_of(&looked, "thread", "fast"), 30);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10);
	look_away(&looked);
}

/* Nobody waits for a thread that only spins. */
static void nothing_to_say(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_close(&r, START + 100 * MS, 0);
	const struct sonde_pass_options asked = {.asked = 1};
	struct sections s = sections_of(path, "critical-path critical-steps", &asked);
	assert_true(sections_noted(sections_get(&s, "critical-path")->notes, "neither context switches nor calls"));
	sections_free(&s);
}

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

/* Four threads take a lock in turn, each for 10 ms, all asking for it at 5; who has it last lets nobody wait, and then
 * runs 10 ms more. Twice as fast: 5 + 4 × 5 + 10. With only two recorded holds, or calls that were lost, the last is
 * not known. */
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

/* What is not there has no prediction; what cannot be read is refused, with what can. */
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
	const char *const asked[] = {"thread=slow,speed=2", "zone=none,speed=2"};
	const struct sonde_pass_options options = {.asked = 1, .what_if = asked, .what_ifs = 2};
	struct sections s = sections_of(path, "what-if", &options);
	const struct sonde_section *section = sections_get(&s, "what-if");
	assert_int_equal(sections_int(section, "name", "slow", "predicted_ns"), 50 * MS);
	assert_near(sections_real(section, "name", "slow", "saved_share"), 0.375, 1e-9);
	const struct sonde_cell *none = sections_row(section, "name", "none");
	assert_int_equal(sections_cell(section, none, "predicted_ns")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_cell(section, sections_row(section, "name", "all of these"), "predicted_ns")->kind,
			 SONDE_CELL_ABSENT);
	sections_free(&s);
}

/* The longest steps, in time order. */
static void steps(void **state)
{
	struct recording r;
	(void)state;
	fork_join(&r, 1);
	const struct sonde_pass_options two = {.limit = 2};
	struct sections s = sections_of(path, "critical-steps", &two);
	const struct sonde_section *section = sections_get(&s, "critical-steps");
	assert_int_equal(section->table.row_count, 2);
	assert_int_equal(section->table.omitted, 1);
	assert_int_equal(sections_int(section, "thread", "slow", "start_ns"), 10 * MS);
	assert_int_equal(sections_int(section, "thread", "slow", "duration_ns"), 60 * MS);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_longer_half),
	    cmocka_unit_test(a_convoy),
	    cmocka_unit_test(lost_calls),
	    cmocka_unit_test(a_semaphore),
	    cmocka_unit_test(a_timeout),
	    cmocka_unit_test(rounds_of_a_barrier),
	    cmocka_unit_test(wakeups_that_are_known),
	    cmocka_unit_test(children),
	    cmocka_unit_test(a_pipe),
	    cmocka_unit_test(calls_alone),
	    cmocka_unit_test(names),
	    cmocka_unit_test(parts),
	    cmocka_unit_test(nothing_to_say),
	    cmocka_unit_test(steps),
	    cmocka_unit_test(a_faster_half),
	    cmocka_unit_test(what_can_be_faster),
	    cmocka_unit_test(the_last_holder),
	    cmocka_unit_test(what_cannot),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
