/* test_finding_devices.c: rules about devices: each on a recording whose answer is computed by hand, and just below
 * its threshold, where it finds nothing. */
#include <errno.h>

#include "finding_fixture.h"

#include "analyze/device/shape.h"
#include "sonde/device.h"
#include "util/error.h"

static uint32_t call(struct recording *r, enum sonde_activity_kind kind, const char *name)
{
	return recording_operation(r, kind, name, (struct sonde_meta_operation){0});
}

static uint32_t copy(struct recording *r, uint8_t from, uint8_t to)
{
	return recording_operation(r, SONDE_ACTIVITY_COPY, "copy",
				   (struct sonde_meta_operation){.from = from, .to = to});
}

static uint32_t open_queue(struct recording *r)
{
	simple_open(r);
	return recording_queue(r, device(r, "gpu", 0), "one", 1);
}

/* Ten steps of 100 ms from 0 on, the device busy except for host_ms of each; submitted when it starts. */
static void steps(struct recording *r, double host_ms)
{
	uint32_t queue = open_queue(r), work = kernel(r, "work");
	for (int i = 0; i < 10; i++)
		put(r, work, queue, i * 100 + host_ms, i * 100 + host_ms, 100 - host_ms);
}

static void a_device_that_waits_for_the_host(void **state)
{
	static const struct {
		double host_ms, saves_ms;
	} cases[] = {{0, -1}, {11, -1}, {12, 108}, {40, 360}, {60, 400}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) { /* nine gaps; at 60 ms the device has less to do */
		struct recording r;
		steps(&r, cases[i].host_ms);
		expect(&r, "device-starved", cases[i].saves_ms);
	}
}

/* The same, but everything had been submitted long before: the host is not the cause. */
static void what_was_asked_for_does_not_wait_for_the_host(void **state)
{
	struct recording r;
	(void)state;
	uint32_t queue = open_queue(&r), work = kernel(&r, "work");
	for (int i = 0; i < 10; i++)
		put(&r, work, queue, 0, i * 100 + 40, 60);
	expect(&r, "device-starved", -1);
}

/* 60 ms of 100 is less than two CPUs that are busy for 1500 of 2000 ms let overlap: 250 ms. */
static void a_processor_saves_what_is_idle_of_it(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_info(&r, "run.cpus", "2");
	uint32_t id = recording_device(&r, 1, "OpenCL", "cpu", (struct sonde_meta_device){.kind = SONDE_DEVICE_CPU});
	uint32_t queue = recording_queue(&r, id, "one", 1), work = kernel(&r, "work");
	for (int i = 0; i < 10; i++)
		put(&r, work, queue, i * 100 + 50, i * 100 + 50, 50);
	uint32_t stack = recording_call(&r, 0, 1, "prepare", 1);
	for (uint64_t i = 0; i < 750; i++)
		recording_sample(&r, (struct recording_sample){START + (i + 1) * MS, 1, stack, 2 * MS, 0});
	expect(&r, "device-starved", 250);
}

/* By a part of its name, with the driver's figures; an unknown name is rejected with the known ones. */
static void advice_is_for_a_device(void **state)
{
	struct recording r;
	struct sonde_session *session;
	struct sonde_report *report;
	(void)state;
	simple_open(&r);
	recording_device(&r, 1, "CUDA", "NVIDIA H100",
			 (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU,
						    .capability = 90,
						    .units = 100,
						    .clock_mhz = 1000,
						    .memory_b_per_s = 2000000000000});
	recording_close(&r, START + MS, 0);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(sonde_finding_device(session, "h100", report, NULL), 0);
	assert_true(sections_noted(report->notes, "for NVIDIA H100 (CUDA)"));
	assert_true(sections_noted(report->notes, "not measured: 25600 GFLOP/s (FP32)")); /* 128 lanes × 2 */
	assert_true(sections_noted(report->notes, "not measured: 2000 GB/s"));
	assert_int_equal(sonde_finding_device(session, "A100", report, NULL), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "no device 'A100'; it has cpu (not known), NVIDIA H100"));
	sonde_report_free(report);
	sonde_session_close(session);
}

/* Kernels of `us` µs, each `gap` µs after the previous one. */
static void many(struct recording *r, int count, double us, double gap_us)
{
	uint32_t queue = open_queue(r), work = kernel(r, "tiny");
	for (int i = 0; i < count; i++)
		put(r, work, queue, -1, i * (us + gap_us) / 1e3, us / 1e3);
}

static void tiny_kernels(void **state)
{
	static const struct {
		int count;
		double us, gap_us, saves_ms;
	} cases[] = {
	    {5001, 5, 20, 100},   {5001, 9, 20, 100}, {5001, 10, 20, -1}, /* not tiny */
	    {5001, 9, 8, -1},                                             /* shorter between them than they are */
	    {999, 5, 60, -1},                                             /* few */
	    {2501, 5, 20, -1},                                            /* 5 % of the run */
	    {2502, 5, 20, 50.02},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		many(&r, cases[i].count, cases[i].us, cases[i].gap_us);
		expect(&r, "tiny-kernels", cases[i].saves_ms);
	}
}

/* Two kernels, the second submitted with the first, and a gap between them; 200 ms before and after are not its own. */
static void a_device_with_little_to_do(void **state)
{
	static const struct {
		double ms, gap_ms, saves_ms;
	} cases[] = {{150, 302, 300}, {150, 298, -1}, {26, 400, 52}, {24, 400, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		uint32_t queue = open_queue(&r), work = kernel(&r, "work");
		put(&r, work, queue, 200, 200, cases[i].ms);
		put(&r, work, queue, 200, 200 + cases[i].ms + cases[i].gap_ms, cases[i].ms);
		expect(&r, "device-idle", cases[i].saves_ms);
	}
}

static void a_long_gap(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct recording r;
		uint32_t queue = open_queue(&r), work = kernel(&r, "work");
		put(&r, work, queue, 0, 0, 200);
		put(&r, work, queue, 0, i ? 701 : 699, 200);
		expect(&r, "device-gap", i ? 400 : -1); /* no more than the device has to do */
	}
}

/* Copies of 40 ms in and of 40 ms out; pinned ones in are twice as fast. */
static void pageable_copies(void **state)
{
	(void)state;
	for (int is_async = 0; is_async < 2; is_async++) {
		struct recording r;
		uint32_t queue = open_queue(&r);
		put_sized(&r, copy(&r, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_DEVICE), queue, 0, 40, 40000000);
		put_sized(&r, copy(&r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PAGEABLE), queue, 40, 40, 40000000);
		put_sized(&r, copy(&r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE), queue, 80, 10, 20000000);
		put(&r, call(&r, SONDE_ACTIVITY_API, is_async ? "cudaMemcpyAsync_v3020" : "cudaMemcpy_v3020"), 0, -1, 0,
		    1);
		expect(&r, "pageable-copies", is_async ? 20 : -1);
	}
}

static void pageable_copies_without_a_measure_promise_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct recording r;
		uint32_t queue = open_queue(&r);
		put_sized(&r, copy(&r, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_DEVICE), queue, 0, i ? 31 : 29, 1000);
		put(&r, call(&r, SONDE_ACTIVITY_API, "cudaMemcpyAsync_v3020"), 0, -1, 0, 1);
		expect(&r, "pageable-copies", i ? 0 : -1);
	}
}

/* Ten steps: a call in which the host is blocked for 20 ms, while the device is idle for idle_ms of these. */
static void held_up(struct recording *r, enum sonde_activity_kind kind, const char *name, double idle_ms, int times)
{
	uint32_t queue = open_queue(r), work = kernel(r, "work"), blocks = call(r, kind, name);
	for (int i = 0; i < times; i++) {
		double length = 1000.0 / times;
		put(r, work, queue, i * length, i * length, length - idle_ms);
		put(r, blocks, 0, -1, i * length, length / 5);
	}
}

static void copies_that_the_host_waits_for(void **state)
{
	static const struct {
		enum sonde_activity_kind kind;
		const char *name;
		double idle_ms, saves_ms;
	} cases[] = {
	    {SONDE_ACTIVITY_SYNC, "clEnqueueReadBuffer", 10, 90},
	    {SONDE_ACTIVITY_API, "cudaMemcpy_v3020", 30, 200},
	    {SONDE_ACTIVITY_SYNC, "clEnqueueReadBuffer", 5, -1}, /* the device is busy: 45 ms */
	    {SONDE_ACTIVITY_SYNC, "clFinish", 10, -1},
	    {SONDE_ACTIVITY_API, "cudaMemcpyAsync_v3020", 30, -1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		held_up(&r, cases[i].kind, cases[i].name, cases[i].idle_ms, 10);
		expect(&r, "blocking-copies", cases[i].saves_ms);
	}
}

static void allocations_again_and_again(void **state)
{
	static const struct {
		int times;
		double idle_ms, saves_ms;
	} cases[] = {{100, 1, 99}, {99, 1, -1}, {100, 0.3, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		held_up(&r, SONDE_ACTIVITY_ALLOC, "cudaMalloc", cases[i].idle_ms, cases[i].times);
		expect(&r, "device-allocations", cases[i].saves_ms);
	}
}

/* Steps that end with waiting: until the device works again, half of the gap is waiting, half what the host does. */
static void waiting_each_step(void **state)
{
	static const struct {
		int times;
		double gap_ms, saves_ms;
	} cases[] = {{100, 2, 99}, {99, 2, -1}, {100, 1, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		uint32_t queue = open_queue(&r), work = kernel(&r, "work");
		uint32_t waits = call(&r, SONDE_ACTIVITY_SYNC, "cudaStreamSynchronize");
		for (int k = 0; k < cases[i].times; k++) {
			double busy_ms = 10 - cases[i].gap_ms;
			put(&r, work, queue, k * 10, k * 10, busy_ms);
			put(&r, waits, 0, -1, k * 10 + busy_ms, cases[i].gap_ms / 2);
		}
		expect(&r, "step-sync", cases[i].saves_ms);
	}
}

/* In turn: a copy, and a kernel; or in two queues, at the same time. */
static void copies_beside_kernels(void **state)
{
	static const struct {
		int times, is_beside;
		double copy_ms, saves_ms;
	} cases[] = {{10, 0, 30, 300}, {10, 0, 60, 400}, {9, 0, 30, -1}, {10, 0, 5, -1}, {10, 1, 30, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		uint32_t one = open_queue(&r), two = recording_queue(&r, 1, "two", 2), work = kernel(&r, "work");
		uint32_t in = copy(&r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE);
		for (int k = 0; k < cases[i].times; k++) {
			double copy_ms = cases[i].copy_ms, from_ms = cases[i].is_beside ? 0 : copy_ms;
			put_sized(&r, in, cases[i].is_beside ? two : one, k * 100, copy_ms, 1000000);
			put(&r, work, one, k * 100, k * 100 + from_ms, 100 - from_ms);
		}
		expect(&r, "serial-copies", cases[i].saves_ms);
	}
}

/* Of 10 kernels of 50 ms: copies of one queue overlap them, those of another do not: 200 ms. */
static void copies_of_several_queues(void **state)
{
	struct recording r;
	(void)state;
	uint32_t one = open_queue(&r), two = recording_queue(&r, 1, "two", 2),
		 three = recording_queue(&r, 1, "three", 3);
	uint32_t work = kernel(&r, "work"), in = copy(&r, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE);
	uint32_t within = copy(&r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE);
	for (int k = 0; k < 10; k++) {
		put(&r, work, one, k * 100, k * 100 + 50, 50);
		put_sized(&r, in, two, k * 100 + 60, 10, 1000000);
		put_sized(&r, in, three, k * 100 + 10, 20, 1000000);
		put_sized(&r, within, three, k * 100 + 31, 10, 1000000);
	}
	expect(&r, "serial-copies", 200);
}

/* 6000 kernels of 70 µs, 80 µs apart, alternately in two queues: more gaps than there are rows. */
static void more_gaps_than_rows(void **state)
{
	struct recording r;
	(void)state;
	uint32_t one = open_queue(&r), two = recording_queue(&r, 1, "two", 2), work = kernel(&r, "work");
	for (int k = 0; k < 6000; k++)
		put(&r, work, k % 2 ? two : one, -1, k * 0.15, 0.07);
	expect(&r, "device-idle", 420);
}

static void small_copies(void **state)
{
	static const struct {
		int count;
		uint64_t size_b;
		double saves_ms;
	} cases[] = {{1000, 32768, 50}, {1000, 65536, -1}, {999, 32768, -1}, {1000, 49152, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		uint32_t queue = open_queue(&r), in = copy(&r, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_DEVICE);
		for (int k = 0; k < cases[i].count; k++) /* of 48 KB each a quarter goes: 25 ms, less than 3 % */
			put_sized(&r, in, queue, k, 0.1, cases[i].size_b);
		expect(&r, "small-copies", cases[i].saves_ms);
	}
}

/* A kernel of 400 ms on a device of 10 units, each with 64 warps of 32. */
static void shaped(struct recording *r, struct sonde_meta_operation shape)
{
	simple_open(r);
	uint32_t id = recording_device(
	    r, 1, "CUDA", "gpu",
	    (struct sonde_meta_device){
		.units = 10, .warp = 32, .warps_unit = 64, .blocks_unit = 32, .registers_unit = 65536});
	uint32_t queue = recording_queue(r, id, "one", 1);
	put(r, recording_operation(r, SONDE_ACTIVITY_KERNEL, "shaped", shape), queue, 0, 0, 400);
}

static void shapes_of_launches(void **state)
{
	static const struct {
		struct sonde_meta_operation shape;
		const char *rule;
		double saves_ms;
	} cases[] = {
	    /* 7 of 10 units: 30 % of 400 ms; 8: a fifth is below the threshold */
	    {{.grid = {7, 1, 1}, .block = {256, 1, 1}, .registers = 32}, "small-grid", 120},
	    {{.grid = {8, 1, 1}, .block = {256, 1, 1}, .registers = 32}, "small-grid", -1},
	    /* 80 places: 88 blocks are 1.1 waves of 2; 160 fill both */
	    {{.grid = {88, 1, 1}, .block = {256, 1, 1}, .registers = 32}, "small-grid", 180},
	    {{.grid = {160, 1, 1}, .block = {256, 1, 1}, .registers = 32}, "small-grid", -1},
	    /* 12 blocks on 10 units that have room for 8 each: 2 on some, 0.6 of what that could do */
	    {{.grid = {12, 1, 1}, .block = {256, 1, 1}, .registers = 32}, "small-grid", 160},
	    /* 48 of 64 lanes, 250 of 256, 256 of 256 */
	    {{.grid = {160, 1, 1}, .block = {48, 1, 1}, .registers = 32}, "ragged-blocks", 100},
	    {{.grid = {160, 1, 1}, .block = {250, 1, 1}, .registers = 32}, "ragged-blocks", -1},
	    {{.grid = {160, 1, 1}, .block = {16, 16, 1}, .registers = 32}, "ragged-blocks", -1},
	    /* 255 registers: 8 warps of 64; 64 registers: 32, which is no less than half */
	    {{.grid = {160, 1, 1}, .block = {256, 1, 1}, .registers = 255}, "low-occupancy", 350},
	    {{.grid = {160, 1, 1}, .block = {256, 1, 1}, .registers = 64}, "low-occupancy", -1},
	    /* nothing is known of them */
	    {{.grid = {7, 1, 1}, .registers = 32}, "small-grid", -1},
	    {{.grid = {7, 1, 1}, .registers = 32}, "ragged-blocks", -1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		shaped(&r, cases[i].shape);
		expect(&r, cases[i].rule, cases[i].saves_ms);
	}
}

static void full_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct recording r;
		struct evaluated evaluated;
		simple_open(&r);
		uint32_t id = recording_device(&r, 1, "CUDA", "gpu", (struct sonde_meta_device){.memory_b = 1000000});
		put(&r, kernel(&r, "work"), recording_queue(&r, id, "one", 1), 0, 0, 900);
		uint32_t allocation = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "cudaMalloc",
							  (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE});
		recording_activity(&r, (struct recording_activity){.start_ns = START,
								   .dur_ns = 10,
								   .operation = allocation,
								   .thread = 1,
								   .size_b = i ? 910000 : 890000,
								   .address = 4096});
		evaluate(&evaluated, &r);
		const struct sonde_finding *full = finding_of(&evaluated, "device-full");
		assert_int_equal(full != NULL, i);
		if (full) {
			assert_near(full->bytes, 910000, 0.5);
			assert_int_equal(sonde_finding_severity(full), SONDE_SEVERITY_LOW);
		}
		forget(&evaluated);
	}
}

/* From the driver: 95 of 100 MB for a short time, or 89. No other record of a device is needed. */
static void full_memory_by_the_driver(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct recording r;
		struct evaluated evaluated;
		simple_open(&r);
		uint32_t used = recording_series(&r, SONDE_METRIC_DEVICE_MEMORY_USED, 0, 0, "GPU 0 G1");
		uint32_t all = recording_series(&r, SONDE_METRIC_DEVICE_MEMORY_TOTAL, 0, 0, "GPU 0 G1");
		for (uint64_t at = 0; at < 10; at++) {
			recording_point(&r, START + at * 100 * MS, used, at == 5 ? (i ? 95000000 : 89000000) : 1000000);
			recording_point(&r, START + at * 100 * MS, all, 100000000);
		}
		evaluate(&evaluated, &r);
		const struct sonde_finding *full = finding_of(&evaluated, "device-full");
		assert_int_equal(full != NULL, i);
		if (full) {
			assert_string_equal(full->subject, "GPU 0 G1");
			assert_non_null(
			    strstr(full->evidence, "95.0 % of its 0.1 GB (used by all programs; driver's figure)"));
		}
		forget(&evaluated);
	}
}

/* A pool's reserve and its highest allocation, in MB: unused are 50 %, 28 %, and much of a small pool. */
static void reserves_nobody_uses(void **state)
{
	static const struct {
		uint64_t reserved_mb, allocated_mb;
		double unused_b;
	} cases[] = {{1000, 500, 5e8}, {1000, 720, -1}, {100, 10, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		struct evaluated evaluated;
		simple_open(&r);
		uint32_t id = recording_device(&r, 1, "CUDA", "gpu", (struct sonde_meta_device){0});
		uint32_t queue = recording_queue(&r, id, "one", 1);
		put(&r, kernel(&r, "work"), queue, 0, 0, 900);
		const struct sonde_meta_operation to = {.to = SONDE_MEMORY_DEVICE, .to_device = id};
		uint32_t kinds[] = {recording_operation(&r, SONDE_ACTIVITY_POOL, "pool", to),
				    recording_operation(&r, SONDE_ACTIVITY_ALLOC, "cudaMallocAsync", to)};
		const uint64_t sizes_b[] = {cases[i].reserved_mb * 1000000, cases[i].allocated_mb * 1000000};
		for (size_t k = 0; k < 2; k++)
			recording_activity(&r, (struct recording_activity){.start_ns = START + (5 + k) * MS,
									   .operation = kinds[k],
									   .thread = 1,
									   .size_b = sizes_b[k],
									   .address = 4096});
		evaluate(&evaluated, &r);
		const struct sonde_finding *reserve = finding_of(&evaluated, "device-reserve");
		assert_int_equal(reserve != NULL, cases[i].unused_b > 0);
		if (reserve) {
			assert_near(reserve->bytes, cases[i].unused_b, 0.5);
			assert_non_null(strstr(reserve->evidence, "reserved up to 1 GB, of which at least 50 %"));
		}
		forget(&evaluated);
	}
}

/* The device works for 900 ms, its clock is at three quarters, and held down for half of the time, or a fifth. */
static void clocks_that_are_held_down(void **state)
{
	static const struct {
		uint32_t kind;
		int64_t slowed_ms;
		double saves_ms;
	} cases[] = {{SONDE_DEVICE_GPU, 450, 112.5}, {SONDE_DEVICE_GPU, 180, -1}, {SONDE_DEVICE_CPU, 450, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t id = recording_device(&r, 1, "CUDA", "gpu", (struct sonde_meta_device){.kind = cases[i].kind});
		put(&r, kernel(&r, "work"), recording_queue(&r, id, "one", 1), 0, 0, 900);
		uint32_t clock = recording_series(&r, SONDE_METRIC_DEVICE_CLOCK_SM, 0, 0, "GPU 0 G1");
		uint32_t most = recording_series(&r, SONDE_METRIC_DEVICE_CLOCK_SM_MOST, 0, 0, "GPU 0 G1");
		uint32_t slowed = recording_series(&r, SONDE_METRIC_DEVICE_SLOWED_POWER, 0, 0, "GPU 0 G1");
		for (uint64_t at = 0; at < 10; at++) {
			recording_point(&r, START + at * 100 * MS, clock, 1500000000);
			recording_point(&r, START + at * 100 * MS, most, 2000000000);
			recording_point(&r, START + at * 100 * MS, slowed,
					(int64_t)at * cases[i].slowed_ms * (int64_t)MS / 9);
		}
		expect(&r, "device-slowed", cases[i].saves_ms);
	}
}

/* Copies of an OpenCL device that is the CPU, next to CUDA's asynchronous ones: pinning changes nothing there.
 * Whether memory that OpenCL maps (`host`) is pinned is unknown, so there is no finding. */
static void pageable_copies_are_not_those_of_processors(void **state)
{
	static const struct {
		uint32_t kind;
		uint8_t from;
		double saves_ms;
	} cases[] = {{SONDE_DEVICE_GPU, SONDE_MEMORY_PAGEABLE, 0},
		     {SONDE_DEVICE_CPU, SONDE_MEMORY_PAGEABLE, -1},
		     {SONDE_DEVICE_GPU, SONDE_MEMORY_HOST, -1}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t id = recording_device(&r, 1, "OpenCL", "d", (struct sonde_meta_device){.kind = cases[i].kind});
		put_sized(&r, copy(&r, cases[i].from, SONDE_MEMORY_DEVICE), recording_queue(&r, id, "q", 1), 0, 40,
			  1000);
		put(&r, call(&r, SONDE_ACTIVITY_API, "cudaMemcpyAsync_v3020"), 0, -1, 0, 1);
		expect(&r, "pageable-copies", cases[i].saves_ms);
	}
}

/* Large kernels, one after the other, with a copy in and a copy out: there is nothing to improve. */
static void nothing_is_said_of_what_is_well_made(void **state)
{
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	uint32_t queue = open_queue(&r), work = kernel(&r, "work");
	put_sized(&r, copy(&r, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_DEVICE), queue, 1, 8, 1 << 20);
	for (int i = 0; i < 48; i++)
		put(&r, work, queue, 0, 10 + 20 * i, 19.99);
	put_sized(&r, copy(&r, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PAGEABLE), queue, 971, 8, 1 << 20);
	put(&r, call(&r, SONDE_ACTIVITY_SYNC, "clEnqueueReadBuffer"), 0, -1, 10, 970);
	evaluate(&evaluated, &r);
	assert_int_equal(evaluated.found.count, 0);
	assert_true(is_said(&evaluated, "GPU matrix units"));
	forget(&evaluated);
}

/* Of the second half of the run: what is saved is of that. */
static void a_window_is_judged_by_itself(void **state)
{
	struct sonde_pass_options options = {.selection.from_ns = START + 500 * MS,
					     .selection.to_ns = START + 1000 * MS};
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	steps(&r, 40);
	recording_close(&r, START + END_MS * MS, 0);
	assert_int_equal(sonde_session_open(&evaluated.session, path, &(struct sonde_session_options){.no_symbols = 1}),
			 0);
	assert_int_equal(sonde_report_new(&evaluated.report), 0);
	assert_int_equal(sonde_findings_find(&evaluated.found, evaluated.session, &options, evaluated.report, NULL), 0);
	const struct sonde_finding *starved = finding_of(&evaluated, "device-starved");
	assert_non_null(starved);
	assert_near(starved->saves_ns / 1e6, 160, 0.01); /* four gaps: the first activity in it ends no gap */
	forget(&evaluated);
}

static void lost_activities_are_no_evidence(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct recording r;
		struct evaluated evaluated;
		steps(&r, 40);
		if (i)
			recording_lost(&r, "gpu", "ring full", 1);
		evaluate(&evaluated, &r);
		assert_int_equal(finding_of(&evaluated, "device-starved") != NULL, !i);
		assert_int_equal(is_said(&evaluated, "suppressed: device-starved"), i);
		forget(&evaluated);
	}
}

/* Devices with the same name on two machines, merged: sums are those of one. */
static void devices_of_one_name_are_one(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t work = kernel(&r, "work");
	for (int d = 0; d < 2; d++) {
		uint32_t queue = recording_queue(&r, device(&r, "gpu", 0), "one", 1);
		for (int i = 0; i < 10; i++)
			put(&r, work, queue, i * 100 + 40, i * 100 + 40, 60);
	}
	expect(&r, "device-starved", 360);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_device_that_waits_for_the_host),
	    cmocka_unit_test(advice_is_for_a_device),
	    cmocka_unit_test(what_was_asked_for_does_not_wait_for_the_host),
	    cmocka_unit_test(a_processor_saves_what_is_idle_of_it),
	    cmocka_unit_test(tiny_kernels),
	    cmocka_unit_test(a_device_with_little_to_do),
	    cmocka_unit_test(a_long_gap),
	    cmocka_unit_test(pageable_copies),
	    cmocka_unit_test(pageable_copies_without_a_measure_promise_nothing),
	    cmocka_unit_test(pageable_copies_are_not_those_of_processors),
	    cmocka_unit_test(full_memory_by_the_driver),
	    cmocka_unit_test(reserves_nobody_uses),
	    cmocka_unit_test(clocks_that_are_held_down),
	    cmocka_unit_test(copies_that_the_host_waits_for),
	    cmocka_unit_test(allocations_again_and_again),
	    cmocka_unit_test(waiting_each_step),
	    cmocka_unit_test(copies_beside_kernels),
	    cmocka_unit_test(copies_of_several_queues),
	    cmocka_unit_test(more_gaps_than_rows),
	    cmocka_unit_test(small_copies),
	    cmocka_unit_test(shapes_of_launches),
	    cmocka_unit_test(full_memory),
	    cmocka_unit_test(nothing_is_said_of_what_is_well_made),
	    cmocka_unit_test(a_window_is_judged_by_itself),
	    cmocka_unit_test(lost_activities_are_no_evidence),
	    cmocka_unit_test(devices_of_one_name_are_one),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
