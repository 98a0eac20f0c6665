/* test_critical.c: critical paths of synthetic recordings, known to the ms. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/critical/graph.h"
#include "critical_fixture.h"

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

/* Three threads hold the lock one after the other; the third is the command's. The first holder is known from the
 * lock itself: there is no row of that hold. */
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

/* The possible holder was lost: no thread is named, and the waiting is a segment of its own. */
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
	assert_true(sections_noted(section->notes, "50.0 % of the path is blocked for an unknown reason"));
	assert_true(sections_noted(section->notes, "7 blocking calls"));
	assert_near(sections_real(section, "name", "the_lock", "share"), 0.5, 1e-9);
	sections_free(&s);
}

/* 4 ms of 10 s, and 5 ms: a note about "0.0 %" would say nothing, a note about 0.1 % does. The element has its row
 * either way. */
static void what_shows_as_nothing_is_no_note(void **state)
{
	(void)state;
	for (uint64_t waited_ms = 4; waited_ms <= 5; waited_ms++) {
		struct recording r;
		simple_open(&r);
		uint32_t a = worker(&r, "a", 101, 0, 10000);
		uint32_t lock = recording_object(&r, 1, SONDE_OBJECT_LOCK, "the_lock", 0x4040);
		at(&r, 0, a, IN);
		at(&r, 0, 1, IN);
		at(&r, 10, 1, BLOCKS);
		at(&r, 10 + waited_ms, 1, IN);
		call(&r, 1, SONDE_WAIT_MUTEX, 10, 10 + waited_ms, lock, a);
		recording_lost_of(&r, "waits", "ring full", 1, 7);
		recording_thread_end(&r, 1, START + 10000 * MS, 0);
		recording_close(&r, START + 10000 * MS, 0);
		struct sections s = sections_of(path, "critical-path", NULL);
		const struct sonde_section *section = sections_get(&s, "critical-path");
		assert_int_equal(sections_noted(section->notes, "blocked for an unknown reason"), waited_ms == 5);
		assert_int_equal(sections_noted(section->notes, "0.1 % of the path is blocked for an unknown reason"),
				 waited_ms == 5);
		assert_near(sections_real(section, "name", "the_lock", "share"), (double)waited_ms / 10000, 1e-9);
		sections_free(&s);
	}
}

/* A thread whose wait timed out was released by no other thread, even if others were signalled at that time. */
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

/* Sampled waits stand for the time around the polls: a thread was blocked in the call with the largest estimate. */
static void looks_from_outside(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t lock = recording_object(&r, 1, SONDE_OBJECT_LOCK, "lock", 0x4040);
	at(&r, 0, 1, IN);
	at(&r, 10, 1, BLOCKS);
	at(&r, 40, 1, IN);
	recording_wait(&r, (struct recording_wait){.start_ns = START + 5 * MS,
						   .dur_ns = 30 * MS,
						   .thread = 1,
						   .kind = SONDE_WAIT_SLEEP,
						   .status = SONDE_WAIT_SAMPLED,
						   .amount = 3});
	recording_wait(&r, (struct recording_wait){.start_ns = START + 35 * MS,
						   .dur_ns = 10 * MS,
						   .thread = 1,
						   .kind = SONDE_WAIT_FUTEX,
						   .status = SONDE_WAIT_SAMPLED,
						   .object = lock,
						   .amount = 1});
	recording_thread_end(&r, 1, START + 60 * MS, 0);
	recording_close(&r, START + 60 * MS, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "sleep", "prog"), 30);
	for (size_t i = 0; i < looked.elements.count; i++)
		assert_int_equal(looked.elements.rows[i].is_estimated, !strcmp(looked.elements.rows[i].kind, "sleep"));
	look_away(&looked);
}

/* A thread that waits for a semaphore waits for the last post before it continued; a semaphore has no holder. */
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

/* The waking thread is recorded and has precedence over calls. So is a thread's creator. */
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

/* A shell that waits for one child after the other; sleeping depends on no thread. */
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

/* A thread that waits for a pipe waits for the first one that wrote to it. */
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

/* Without switches only calls divide a thread's time; no time counts as running. */
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
	const struct sonde_pass_options part = {.selection.from_ns = START + 20 * MS,
						.selection.to_ns = START + 50 * MS};
	struct looked looked = look(&part);
	assert_int_equal(span_of(&looked), 30 * MS);
	assert_int_equal(ms_of(&looked, "join", "prog"), 10); /* it is not over yet */
	assert_int_equal(ms_of(&looked, "thread", "fast"), 20);
	look_away(&looked);
	const uint8_t fast[] = {0, 0, 1, 0};
	const struct sonde_pass_options one = {.selection.thread = fast};
	looked = look(&one);
	assert_int_equal(span_of(&looked), 40 * MS);
	assert_int_equal(ms_of(&looked, "thread", "fast"), 30);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10);
	look_away(&looked);
}

/* No thread waits for one that only spins. */
static void nothing_to_say(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_close(&r, START + 100 * MS, 0);
	const struct sonde_pass_options requested = {.requested = 1};
	struct sections s = sections_of(path, "critical-path critical-steps", &requested);
	assert_true(sections_noted(sections_get(&s, "critical-path")->notes, "not recorded: context switches"));
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

/* One graph for all sections of a part, whatever their limits; another part is another graph. */
static void one_graph(void **state)
{
	static const char *const what_ifs[] = {"thread=slow,speed=2"};
	struct recording r;
	(void)state;
	fork_join(&r, 1);
	const struct sonde_pass_options options = {.limit = 1, .what_if = what_ifs, .what_ifs = 1, .requested = 1};
	struct sections s = sections_of(path, "findings critical-path critical-steps what-if", &options);
	assert_int_equal(sections_int(sections_get(&s, "what-if"), "name", "slow", "predicted_ns"), 50 * MS);
	assert_int_equal(sections_get(&s, "critical-path")->table.row_count, 1);
	assert_int_equal(sonde_critical_graph_builds(s.session), 1);

	const uint8_t all[] = {1, 1, 1, 1}, fast[] = {0, 0, 1, 0}, fast_too[] = {0, 0, 1, 0};
	const struct sonde_pass_options parts[] = {{0},
						   {.selection.from_ns = START + 20 * MS},
						   {.selection.to_ns = START + 50 * MS},
						   {.selection.thread = all},
						   {.selection.thread = fast}};
	const struct sonde_critical_graph *held, *graph;
	assert_int_equal(sonde_critical_graph_acquire(&held, s.session, NULL), 0);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		assert_int_equal(sonde_critical_graph_acquire(&graph, s.session, &parts[i]), 0);
		assert_int_equal(sonde_critical_graph_builds(s.session), 1 + i);
		assert_int_equal(graph == held, i == 0);
		sonde_critical_graph_release(graph);
	}
	assert_int_equal(graph->critical.to_ns - graph->critical.from_ns, 40 * MS); /* the session still has it */
	assert_int_equal(
	    sonde_critical_graph_acquire(&graph, s.session, &(struct sonde_pass_options){.selection.thread = fast_too}),
	    0);
	assert_int_equal(sonde_critical_graph_builds(s.session), sizeof parts / sizeof *parts);
	sonde_critical_graph_release(graph);
	assert_int_equal(held->critical.to_ns - held->critical.from_ns, 80 * MS); /* outlives being replaced */
	sonde_critical_graph_release(held);
	sections_free(&s);
}

/* A recording that has grown has another graph. */
static void a_graph_that_grew(void **state)
{
	struct recording r;
	struct sonde_session *session;
	const struct sonde_critical_graph *graph;
	(void)state;
	simple_open(&r);
	at(&r, 0, 1, IN);
	at(&r, 20, 1, BLOCKS);
	recording_flush(&r);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_critical_graph_acquire(&graph, session, NULL), 0);
	assert_int_equal(graph->critical.threads, 1);
	sonde_critical_graph_release(graph);
	worker(&r, "new", 101, 30, 40);
	recording_close(&r, START + 80 * MS, 0);
	assert_true(sonde_session_refresh(session) > 0);
	assert_int_equal(sonde_critical_graph_acquire(&graph, session, NULL), 0);
	assert_int_equal(graph->critical.threads, 2);
	sonde_critical_graph_release(graph);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_longer_half),
	    cmocka_unit_test(a_convoy),
	    cmocka_unit_test(lost_calls),
	    cmocka_unit_test(what_shows_as_nothing_is_no_note),
	    cmocka_unit_test(a_semaphore),
	    cmocka_unit_test(a_timeout),
	    cmocka_unit_test(looks_from_outside),
	    cmocka_unit_test(rounds_of_a_barrier),
	    cmocka_unit_test(wakeups_that_are_known),
	    cmocka_unit_test(children),
	    cmocka_unit_test(a_pipe),
	    cmocka_unit_test(calls_alone),
	    cmocka_unit_test(names),
	    cmocka_unit_test(parts),
	    cmocka_unit_test(nothing_to_say),
	    cmocka_unit_test(steps),
	    cmocka_unit_test(one_graph),
	    cmocka_unit_test(a_graph_that_grew),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
