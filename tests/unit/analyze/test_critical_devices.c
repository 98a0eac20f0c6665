/* test_critical_devices.c: critical paths through GPU work, in synthetic recordings, known to the ms. For each, look()
 * checks that the parts add up to the span, to the ns, and that a replay in which nothing is faster takes as long. */
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
#include "device_fixture.h"
#include "sonde/device.h"

struct toy {
	struct recording r;
	uint32_t device, queue, k, copy, wait, api;
};

static void toy_open(struct toy *toy)
{
	static const struct sonde_meta_operation none;
	simple_open(&toy->r);
	toy->device = device(&toy->r, "toy", 0);
	toy->queue = recording_queue(&toy->r, toy->device, "compute", 1);
	toy->k = kernel(&toy->r, "k");
	toy->copy = recording_operation(&toy->r, SONDE_ACTIVITY_COPY, "up", none);
	toy->wait = recording_operation(&toy->r, SONDE_ACTIVITY_SYNC, "wait", none);
	toy->api = recording_operation(&toy->r, SONDE_ACTIVITY_API, "launch", none);
	at(&toy->r, 0, 1, IN);
}

static void toy_close(struct toy *toy)
{
	recording_thread_end(&toy->r, 1, START + 100 * MS, 0);
	recording_close(&toy->r, START + 100 * MS, 0);
}

/* A call of a thread for a device, from and to in ms. */
static void told(struct toy *toy, uint32_t operation, uint32_t thread, uint32_t queue, uint64_t from_ms, uint64_t to_ms,
		 uint64_t correlation)
{
	recording_activity(&toy->r, (struct recording_activity){.start_ns = START + from_ms * MS,
								.dur_ns = (to_ms - from_ms) * MS,
								.operation = operation,
								.queue = queue,
								.thread = thread,
								.correlation = correlation});
}

/* Submitted at 10, it runs from 20 to 80; the thread does something else until 30, then waits, and is released. */
static void fill_one(struct toy *toy, int blocks)
{
	toy_open(toy);
	uint32_t beside = recording_site(&toy->r, SONDE_SITE_ZONE, "beside", NULL);
	put(&toy->r, toy->k, toy->queue, 10, 20, 60);
	recording_begin(&toy->r, 1, beside, START + 12 * MS);
	recording_end(&toy->r, 1, START + 30 * MS);
	told(toy, toy->wait, 1, 0, 30, 83, 0);
	if (blocks) {
		at(&toy->r, 31, 1, BLOCKS);
		at(&toy->r, 81, 1, IN);
	}
	toy_close(toy);
}

static void a_wait_goes_on_in_the_kernel(void **state)
{
	struct toy toy;
	(void)state;
	fill_one(&toy, 1);
	struct looked looked = look(NULL);
	assert_int_equal(span_of(&looked), 100 * MS);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 60);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 10);
	assert_int_equal(ms_of(&looked, "wake-up by a GPU", "prog"), 1);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10 + 19);
	assert_int_equal(ms_of(&looked, "zone", "beside"), 0);
	assert_int_equal(looked.elements.by_state_ns[SONDE_CRITICAL_DEVICE], 60 * MS);
	assert_int_equal(looked.elements.by_state_ns[SONDE_CRITICAL_QUEUED], 10 * MS);
	assert_int_equal(looked.path.handed_over, 0);
	look_away(&looked);
}

/* Host work that runs at the same time as the kernel costs nothing; the kernel does, unless it ends before the host
 * is done. */
static void a_faster_kernel(void **state)
{
	struct toy toy;
	(void)state;
	fill_one(&toy, 1);
	struct looked looked = look(NULL);
	assert_int_equal(replayed_ns(&looked.critical, "zone=beside,speed=inf", NULL), 100 * MS);
	assert_int_equal(replayed_ns(&looked.critical, "kernel=k,speed=2", NULL), 70 * MS);
	assert_int_equal(replayed_ns(&looked.critical, "kernel=k,speed=0.5", NULL), 160 * MS);
	assert_int_equal(replayed_ns(&looked.critical, "kernel=k,speed=inf", NULL), (30 + 19) * MS);
	assert_int_equal(replayed_ns(&looked.critical, "thread=prog,speed=inf", NULL), (10 + 60 + 1) * MS);
	assert_int_equal(replayed_ns(&looked.critical, "zone=beside,speed=inf", "kernel=k,speed=inf"), (21 + 19) * MS);
	struct sonde_critical_scale scale;
	struct sonde_critical_outcome outcome;
	assert_int_equal(sonde_critical_scale_parse(&scale, "copy=k,speed=2"), 0);
	assert_int_equal(sonde_critical_replay(&outcome, &looked.critical, &scale, 1), 0);
	assert_false(outcome.is_found); /* it is a kernel */
	look_away(&looked);
}

/* A thread that asks again and again whether the device is done runs, and waits all the same. */
static void who_spins_waits_too(void **state)
{
	struct toy toy;
	(void)state;
	fill_one(&toy, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 60);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 10);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10 + 20);
	look_away(&looked);
}

static void parts_of_the_time(void **state)
{
	struct toy toy;
	(void)state;
	fill_one(&toy, 1);
	struct sonde_pass_options part = {.selection.from_ns = START + 50 * MS, .selection.to_ns = START + 90 * MS};
	struct looked looked = look(&part);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 30);
	assert_int_equal(ms_of(&looked, "wake-up by a GPU", "prog"), 1);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 9);
	look_away(&looked);
	part = (struct sonde_pass_options){.selection.from_ns = START + 20 * MS, .selection.to_ns = START + 60 * MS};
	looked = look(&part);
	assert_int_equal(ms_of(&looked, "blocked", "prog"), 30); /* it is not over yet */
	assert_int_equal(ms_of(&looked, "zone", "beside"), 10);
	look_away(&looked);
}

/* In an in-order queue each operation waits for the previous one if it had been submitted by then. */
static void fill_queue(struct toy *toy, int names_queue)
{
	toy_open(toy);
	uint32_t second = recording_queue(&toy->r, toy->device, "", 2), far = kernel(&toy->r, "far");
	put(&toy->r, toy->copy, toy->queue, 5, 10, 30);
	put(&toy->r, toy->k, toy->queue, 6, 40, 30);
	put(&toy->r, kernel(&toy->r, "last"), toy->queue, 7, 75, 15);
	put(&toy->r, far, second, 15, 50, 41);
	told(toy, toy->wait, 1, names_queue ? toy->queue : 0, 20, 92, 0);
	at(&toy->r, 20, 1, BLOCKS);
	at(&toy->r, 92, 1, IN);
	toy_close(toy);
}

static void a_queue_in_order(void **state)
{
	struct toy toy;
	(void)state;
	fill_queue(&toy, 1);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "copy", "up"), 30);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 30);
	assert_int_equal(ms_of(&looked, "kernel", "last"), 15);
	assert_int_equal(ms_of(&looked, "kernel", "far"), 0);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "up"), 5);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "last"), 5);
	assert_int_equal(ms_of(&looked, "wake-up by a GPU", "prog"), 2);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 5 + 8);
	assert_int_equal(replayed_ns(&looked.critical, "copy=up,speed=2", NULL), 85 * MS);
	/* From 20 on, the host waits, whatever the device does. */
	assert_int_equal(replayed_ns(&looked.critical, "copy=up,speed=inf", "kernel=k,speed=inf"),
			 (10 + 5 + 15 + 2 + 8) * MS);
	look_away(&looked);
	struct sections s = sections_of(path, "critical-steps", NULL);
	const struct sonde_section *t = sections_get(&s, "critical-steps");
	assert_int_equal(t->table.row_count, 8);
	assert_string_equal(sonde_report_cell_text(t, 2, "name"), "up");
	assert_string_equal(sonde_report_cell_text(t, 2, "kind"), "copy");
	assert_string_equal(sonde_report_cell_text(t, 2, "state"), "device");
	assert_string_equal(sonde_report_cell_text(t, 2, "thread"), "compute on Own toy 0");
	assert_absent(t, 2, "tid", "belongs to a GPU");
	sections_free(&s);
}

/* Two queues end in one wait, "near" at 60 and "far" at 80; the thread continues at 90, and the queue that it names
 * ended its wait, whether the other queue ended before or after. */
static void a_wait_is_for_the_queue_it_names(void **state)
{
	(void)state;
	for (int waits_for_far = 0; waits_for_far < 2; waits_for_far++) {
		struct toy toy;
		toy_open(&toy);
		uint32_t second = recording_queue(&toy.r, toy.device, "", 2);
		put(&toy.r, kernel(&toy.r, "near"), toy.queue, 5, 10, 50);
		put(&toy.r, kernel(&toy.r, "far"), second, 6, 12, 68);
		told(&toy, toy.wait, 1, waits_for_far ? second : toy.queue, 20, 90, 0);
		at(&toy.r, 20, 1, BLOCKS);
		at(&toy.r, 90, 1, IN);
		toy_close(&toy);
		struct looked looked = look(NULL);
		assert_int_equal(ms_of(&looked, "kernel", "near"), waits_for_far ? 0 : 50);
		assert_int_equal(ms_of(&looked, "kernel", "far"), waits_for_far ? 68 : 0);
		assert_int_equal(ms_of(&looked, "wake-up by a GPU", "prog"), waits_for_far ? 10 : 30);
		look_away(&looked);
		struct sections s = sections_of(path, "device-calls", NULL);
		const struct sonde_section *calls = sections_get(&s, "device-calls");
		assert_int_equal(calls->table.row_count, 1);
		assert_int_equal(cell_int(calls, 0, "total_ns"), 70 * MS);
		sections_free(&s);
	}
}

/* A wait that does not say what it waits for ends with the activity that ended last. */
static void a_wait_for_any_queue(void **state)
{
	struct toy toy;
	(void)state;
	fill_queue(&toy, 0);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "kernel", "far"), 41);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "far"), 35);
	assert_int_equal(ms_of(&looked, "wake-up by a GPU", "prog"), 1);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 15 + 8);
	assert_int_equal(ms_of(&looked, "kernel", "last"), 0);
	look_away(&looked);
}

/* Work submitted after the previous one was done waited for the host, and still has to come after it. */
static void who_asks_late(void **state)
{
	struct toy toy;
	(void)state;
	toy_open(&toy);
	uint32_t between = recording_site(&toy.r, SONDE_SITE_ZONE, "between", NULL);
	put(&toy.r, toy.copy, toy.queue, 5, 10, 10);
	put(&toy.r, toy.k, toy.queue, 50, 52, 38);
	recording_begin(&toy.r, 1, between, START + 5 * MS);
	recording_end(&toy.r, 1, START + 50 * MS);
	told(&toy, toy.wait, 1, toy.queue, 60, 90, 0);
	toy_close(&toy);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "zone", "between"), 45);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 38);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 2);
	assert_int_equal(ms_of(&looked, "copy", "up"), 0);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 5 + 10);
	/* Submitted at 5, it starts when the copy is done: at 20. */
	assert_int_equal(replayed_ns(&looked.critical, "zone=between,speed=inf", NULL), (20 + 38 + 10) * MS);
	look_away(&looked);
}

/* In an out-of-order queue it is unknown whether one operation waited for another. */
static void a_queue_out_of_order(void **state)
{
	struct toy toy;
	(void)state;
	toy_open(&toy);
	uint32_t loose = recording_queue_with(&toy.r, toy.device, "loose", 2, SONDE_QUEUE_OUT_OF_ORDER);
	put(&toy.r, toy.copy, loose, 5, 10, 30);
	put(&toy.r, toy.k, loose, 8, 40, 30);
	told(&toy, toy.wait, 1, 0, 20, 70, 0);
	toy_close(&toy);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 30);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 32);
	assert_int_equal(ms_of(&looked, "copy", "up"), 0);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 8 + 30);
	look_away(&looked);
}

/* A call and the work that it submitted have the same correlation: it waited for that, even if the device's clock is
 * slightly late. Work submitted by another thread's call leads to that thread. */
static void by_correlation(void **state)
{
	struct toy toy;
	(void)state;
	toy_open(&toy);
	uint32_t other = worker(&toy.r, "other", 101, 0, 95);
	uint32_t second = recording_queue(&toy.r, toy.device, "", 2);
	at(&toy.r, 0, other, IN);
	recording_activity(&toy.r, (struct recording_activity){.start_ns = START + 40 * MS,
							       .dur_ns = 20 * MS + MS / 20,
							       .operation = toy.copy,
							       .queue = toy.queue,
							       .correlation = 7});
	told(&toy, toy.wait, 1, 0, 30, 60, 7);
	told(&toy, toy.k, 0, second, 20, 59, 9);
	told(&toy, toy.k, 0, second, 70, 90, 10);
	told(&toy, toy.api, other, 0, 65, 66, 10);
	told(&toy, toy.wait, 1, 0, 68, 92, 0);
	toy_close(&toy);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 20);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 5);
	assert_int_equal(ms_of(&looked, "thread", "other"), 65);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 10);
	assert_int_equal(ms_of(&looked, "copy", "up"), 0);
	assert_int_equal(looked.path.handed_over, 1);
	look_away(&looked);
	const struct sonde_pass_options part = {.selection.from_ns = START, .selection.to_ns = START + 65 * MS};
	looked = look(&part);
	assert_int_equal(ms_of(&looked, "copy", "up"), 20);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "up"), 10);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 30 + 5);
	look_away(&looked);
}

/* A wait for work has its correlation, too: the submitting call is the first of both, whichever was recorded first. */
static void the_first_call_requested(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		struct toy toy;
		toy_open(&toy);
		told(&toy, toy.k, 0, toy.queue, 30, 80, 9);
		for (int i = 0; i < 2; i++)
			if (i == first)
				told(&toy, toy.wait, 1, 0, 25, 81, 9);
			else
				told(&toy, toy.api, 1, 0, 10, 12, 9);
		toy_close(&toy);
		struct looked looked = look(NULL);
		assert_int_equal(ms_of(&looked, "kernel", "k"), 50);
		assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 20);
		assert_int_equal(ms_of(&looked, "thread", "prog"), 10 + 20);
		look_away(&looked);
	}
}

/* Work that was waited for twice ended the first of both waits, although other work ended later during it. */
static void what_is_waited_for_twice(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		struct toy toy;
		toy_open(&toy);
		uint32_t second = recording_queue(&toy.r, toy.device, "", 2);
		put(&toy.r, toy.copy, second, 21, 21, 48);
		for (int i = 0; i < 2; i++)
			if (i == first)
				told(&toy, toy.wait, 1, 0, 25, 70, 9);
			else
				told(&toy, toy.wait, 1, 0, 75, 76, 9);
		told(&toy, toy.api, 1, 0, 10, 12, 9);
		told(&toy, toy.k, 0, toy.queue, 30, 65, 9);
		toy_close(&toy);
		struct looked looked = look(NULL);
		assert_int_equal(ms_of(&looked, "kernel", "k"), 35);
		assert_int_equal(ms_of(&looked, "copy", "up"), 0);
		assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 20);
		look_away(&looked);
	}
}

/* The submission lies before the selected time and in another chunk: it is found. */
static void who_asked_before_the_time(void **state)
{
	static const struct sonde_pass_options part = {.selection.from_ns = START + 20 * MS,
						       .selection.to_ns = START + 90 * MS};
	struct toy toy;
	(void)state;
	toy_open(&toy);
	toy.r.chunk_rows = 1;
	told(&toy, toy.api, 1, 0, 10, 12, 9);
	told(&toy, toy.k, 0, toy.queue, 30, 80, 9);
	told(&toy, toy.wait, 1, 0, 40, 81, 0);
	toy_close(&toy);
	struct looked looked = look(&part);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 50);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "k"), 10);
	look_away(&looked);
}

/* CUDA's synchronous copy returns when the copy is done, without a recorded wait. An asynchronous call waits for
 * nothing, however soon the copy is done; nor does a call that returns before it. */
static void a_call_that_copies(void **state)
{
	struct toy toy;
	(void)state;
	toy_open(&toy);
	static const struct sonde_meta_operation none;
	uint32_t blocking = recording_operation(&toy.r, SONDE_ACTIVITY_API, "cudaMemcpy", none);
	uint32_t other = recording_operation(&toy.r, SONDE_ACTIVITY_API, "cudaMemcpyAsync", none);
	told(&toy, blocking, 1, 0, 10, 35, 1);
	told(&toy, toy.copy, 0, toy.queue, 12, 30, 1);
	told(&toy, other, 1, 0, 40, 55, 2);
	told(&toy, toy.copy, 0, toy.queue, 45, 50, 2);
	told(&toy, blocking, 1, 0, 60, 65, 3);
	told(&toy, toy.copy, 0, toy.queue, 62, 70, 3);
	toy_close(&toy);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "copy", "up"), 18);
	assert_int_equal(ms_of(&looked, "wait for a GPU", "up"), 2);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 80);
	assert_int_equal(looked.critical.device_waits, 1);
	assert_int_equal(looked.critical.unended_waits, 0);
	look_away(&looked);
}

/* The submitting thread is unknown: the path continues in the thread that waited, with a note. */
static void nobody_requested(void **state)
{
	struct toy toy;
	(void)state;
	toy_open(&toy);
	told(&toy, toy.k, 0, toy.queue, 30, 80, 0);
	told(&toy, toy.wait, 1, 0, 20, 80, 0);
	told(&toy, toy.wait, 1, 0, 85, 95, 0);
	recording_lost_of(&toy.r, "gpu", "ring full", 1, 5);
	toy_close(&toy);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "kernel", "k"), 50);
	assert_int_equal(ms_of(&looked, "blocked", "prog"), 10);
	assert_int_equal(ms_of(&looked, "thread", "prog"), 20 + 20);
	assert_int_equal(replayed_ns(&looked.critical, "kernel=k,speed=inf", NULL), 50 * MS);
	look_away(&looked);
	struct sections s = sections_of(path, "critical-path", NULL);
	const struct sonde_section *t = sections_get(&s, "critical-path");
	assert_true(sections_noted(t->notes, "50.0 % of the path is GPU work"));
	assert_true(sections_noted(t->notes, "the submitting thread of GPU work was unknown 1 time"));
	assert_true(sections_noted(t->notes, "1 of 2 calls that wait for GPUs match no GPU work"));
	assert_true(sections_noted(t->notes, "5 GPU activities were lost"));
	sections_free(&s);
}

/* Inconsistent input: work without duration submitted when it ended, before its thread started, or after it ended;
 * waits inside each other and before a thread's start. In any case look() holds. */
static void what_makes_no_sense(void **state)
{
	struct toy toy;
	(void)state;
	toy_open(&toy);
	uint32_t late = worker(&toy.r, "late", 101, 50, 60);
	put(&toy.r, toy.k, toy.queue, 40, 40, 0);
	put(&toy.r, toy.k, toy.queue, 40, 40, 0);
	told(&toy, toy.wait, 1, 0, 30, 40, 0);
	told(&toy, toy.wait, 1, 0, 35, 40, 0);
	told(&toy, toy.wait, late, 0, 10, 55, 0);
	recording_activity(&toy.r, (struct recording_activity){.start_ns = START + 70 * MS,
							       .dur_ns = 5 * MS,
							       .operation = toy.copy,
							       .queue = toy.queue,
							       .thread = late,
							       .queued_ns = START + 20 * MS});
	told(&toy, toy.wait, 1, toy.queue, 65, 75, 0);
	told(&toy, toy.wait, 1, toy.queue, 60, 72, 0);
	toy_close(&toy);
	struct looked looked = look(NULL);
	assert_int_equal(ms_of(&looked, "copy", "up"), 5);
	assert_int_equal(looked.critical.device_waits, 5);
	look_away(&looked);
}

/* --- whatever is recorded ----------------------------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t below(uint64_t bound)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % bound;
}

static void fill_switches(struct recording *r, const uint32_t *threads)
{
	for (size_t i = 0; i < 4; i++) {
		int is_on = 0;
		for (uint64_t ms = below(10); ms < 100; ms += 1 + below(12), is_on = !is_on)
			at(r, ms, threads[i], !is_on ? IN : below(3) ? BLOCKS : PREEMPTED);
	}
}

static void fill_anything(struct toy *toy, size_t activities)
{
	static const struct sonde_meta_operation none;
	uint32_t threads[4] = {1}, queues[3], kernels[2];
	toy_open(toy);
	for (size_t i = 1; i < 4; i++) {
		uint64_t from_ms = below(50);
		threads[i] = worker(&toy->r, "worker", 100 + (uint32_t)i, from_ms, from_ms + 1 + below(50));
	}
	for (size_t i = 0; i < 3; i++)
		queues[i] =
		    recording_queue_with(&toy->r, toy->device, "", 2 + i, i == 2 ? SONDE_QUEUE_OUT_OF_ORDER : 0);
	kernels[0] = kernel(&toy->r, "a");
	kernels[1] = kernel(&toy->r, "b");
	uint32_t copies = recording_operation(&toy->r, SONDE_ACTIVITY_API, "cuMemcpyDtoH_v2", none);
	if (below(4))
		fill_switches(&toy->r, threads);
	for (size_t i = 0; i < activities; i++) {
		uint64_t from_ms = below(100), requested_ms = from_ms - below(from_ms + 1);
		struct recording_activity activity = {.start_ns = START + from_ms * MS,
						      .dur_ns = below(4) ? below(30) * MS + below(100000) : 0,
						      .correlation = below(3) ? 0 : 1 + below(5),
						      .thread = below(5) ? threads[below(4)] : 0,
						      .queue = below(3) ? queues[below(3)] : 0,
						      .operation = below(3) ? toy->wait : copies};
		if (below(2)) {
			activity.operation = kernels[below(2)];
			activity.queue = queues[below(3)];
			activity.queued_ns = below(4) ? START + requested_ms * MS : 0;
		}
		recording_activity(&toy->r, activity);
	}
	toy_close(toy);
}

/* The parts add up to the span; a replay is as long, and a replay with faster kernels is no longer. */
static void whatever_is_recorded(void **state)
{
	struct toy toy;
	uint64_t devices_ns = 0;
	(void)state;
	for (uint64_t i = 1; i <= 200; i++) {
		seed = i * 77777;
		fill_anything(&toy, below(i % 2 ? 20 : 200));
		struct looked looked = look(NULL);
		devices_ns += looked.elements.by_state_ns[SONDE_CRITICAL_DEVICE];
		assert_true(replayed_ns(&looked.critical, "kernel=a,speed=inf", "kernel=b,speed=3") <=
			    span_of(&looked));
		look_away(&looked);
		const struct sonde_pass_options part = {.selection.from_ns = START + below(50) * MS,
							.selection.to_ns = START + (50 + below(50)) * MS};
		looked = look(&part);
		look_away(&looked);
	}
	assert_true(devices_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_wait_goes_on_in_the_kernel),
	    cmocka_unit_test(a_faster_kernel),
	    cmocka_unit_test(who_spins_waits_too),
	    cmocka_unit_test(parts_of_the_time),
	    cmocka_unit_test(a_queue_in_order),
	    cmocka_unit_test(a_wait_is_for_the_queue_it_names),
	    cmocka_unit_test(a_wait_for_any_queue),
	    cmocka_unit_test(who_asks_late),
	    cmocka_unit_test(a_queue_out_of_order),
	    cmocka_unit_test(by_correlation),
	    cmocka_unit_test(the_first_call_requested),
	    cmocka_unit_test(what_is_waited_for_twice),
	    cmocka_unit_test(who_asked_before_the_time),
	    cmocka_unit_test(a_call_that_copies),
	    cmocka_unit_test(nobody_requested),
	    cmocka_unit_test(what_makes_no_sense),
	    cmocka_unit_test(whatever_is_recorded),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
