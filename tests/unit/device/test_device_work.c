/* test_device_work.c: the sections about GPU work, on recordings whose answers are known. */
#include "device_fixture.h"
#include "sonde/device.h"

#define COPY(from_kind, to_kind)                                               \
	(struct sonde_meta_operation)                                          \
	{                                                                      \
		.from = SONDE_MEMORY_##from_kind, .to = SONDE_MEMORY_##to_kind \
	}

/* Of 100 ms: two queues of the first device that overlap from 20 to 30 and from 40 to 50, one of the second. */
static void fill(struct recording *r)
{
	static const struct sonde_meta_device facts = {
	    .kind = SONDE_DEVICE_GPU, .units = 132, .clock_mhz = 1980, .memory_b = 1 << 30};
	simple_open(r);
	recording_thread(r, 1, 101, "other", START);
	uint32_t first = recording_device(r, 1, "Own", "first", facts), second = device(r, "second", 1);
	uint32_t one = recording_queue(r, first, "compute", 1), two = recording_queue(r, first, "", 2);
	uint32_t three = recording_queue(r, second, "far", 3);
	uint32_t k = kernel(r, "k");
	uint32_t copy = recording_operation(r, SONDE_ACTIVITY_COPY, "up", COPY(PAGEABLE, DEVICE));
	uint32_t marker = recording_operation(r, SONDE_ACTIVITY_MARKER, "m", (struct sonde_meta_operation){0});
	put(r, k, one, 5, 10, 20);
	put(r, k, one, 20, 40, 20);
	recording_activity(r, (struct recording_activity){.start_ns = START + 20 * MS,
							  .dur_ns = 30 * MS,
							  .operation = copy,
							  .queue = two,
							  .thread = 2,
							  .queued_ns = START + 20 * MS,
							  .size_b = 3000000});
	put(r, k, three, -1, 0, 100);
	put(r, marker, one, -1, 60, 40);
	recording_queue(r, first, "unused", 4);
}

static struct sections sections_of_filled(const char *passes, const struct sonde_pass_options *options)
{
	struct recording r;
	fill(&r);
	recording_close(&r, START + 100 * MS, 0);
	return sections_of(path, passes, options);
}

static void devices_are_busy_as_long_as_one_queue_is(void **state)
{
	(void)state;
	struct sections s = sections_of_filled("devices", NULL);
	const struct sonde_section *t = sections_get(&s, "devices");
	assert_int_equal(t->table.row_count, 2);
	assert_string_equal(sonde_report_cell_text(t, 0, "device"), "Own first 0");
	assert_near(cell_real(t, 0, "busy_share"), 0.5, 1e-9);
	assert_int_equal(cell_int(t, 0, "kernel_ns"), 40 * MS);
	assert_int_equal(cell_int(t, 0, "copy_ns"), 30 * MS);
	assert_int_equal(cell_int(t, 0, "copied_b"), 3000000);
	assert_near(cell_real(t, 0, "concurrency"), 1.4, 1e-9);
	assert_int_equal(cell_int(t, 0, "gaps"), 0);
	assert_int_equal(cell_int(t, 0, "idle_ns"), 0);
	assert_int_equal(cell_int(t, 0, "copy_alone_ns"), 10 * MS); /* from 30 to 40 */
	assert_int_equal(cell_int(t, 0, "queues"), 3);
	assert_absent(t, 0, "peak_b", "no allocation");
	assert_string_equal(sonde_report_cell_text(t, 0, "kind"), "GPU");
	assert_int_equal(cell_int(t, 0, "units"), 132);
	assert_near(cell_real(t, 0, "clock_hz"), 1.98e9, 1);
	assert_absent(t, 0, "uuid", "not reported by the driver");
	assert_near(cell_real(t, 1, "busy_share"), 1, 1e-9);
	assert_near(cell_real(t, 1, "concurrency"), 1, 1e-9);
	sections_free(&s);
}

static void devices_of_a_part_of_the_time(void **state)
{
	static const uint8_t second[] = {0, 0, 1};
	struct sonde_pass_options options = {.selection.from_ns = START + 25 * MS, .selection.to_ns = START + 65 * MS};
	(void)state;
	struct sections s = sections_of_filled("devices", &options);
	const struct sonde_section *t = sections_get(&s, "devices");
	assert_near(cell_real(t, 0, "busy_share"), 35.0 / 40, 1e-9); /* 25 to 60 */
	assert_int_equal(cell_int(t, 0, "kernel_ns"), 25 * MS);
	assert_near(cell_real(t, 0, "concurrency"), 50.0 / 35, 1e-9);
	sections_free(&s);
	options = (struct sonde_pass_options){.selection.thread = second, .thread_is = "thread 101"};
	s = sections_of_filled("devices", &options);
	t = sections_get(&s, "devices");
	assert_near(cell_real(t, 0, "busy_share"), 0.3, 1e-9);
	assert_int_equal(cell_int(t, 1, "kernel_ns"), 0);
	assert_absent(t, 1, "concurrency", "it was idle");
	assert_true(sections_noted(t->notes, "only GPU work submitted by thread 101"));
	sections_free(&s);
}

static void streams_overlap_and_wait(void **state)
{
	(void)state;
	struct sections s = sections_of_filled("streams", NULL);
	const struct sonde_section *t = sections_get(&s, "streams");
	assert_int_equal(t->table.row_count, 3); /* not the one that did nothing */
	assert_string_equal(sonde_report_cell_text(t, 0, "queue"), "far");
	assert_string_equal(sonde_report_cell_text(t, 0, "device"), "Own second 1");
	assert_near(cell_real(t, 0, "busy_share"), 1, 1e-9);
	assert_near(cell_real(t, 0, "overlap_share"), 0, 1e-9); /* another device's queues are none */
	assert_absent(t, 0, "mean_delay_ns", "not recorded");
	assert_absent(t, 0, "longest_gap_ns", "no gap");
	assert_string_equal(sonde_report_cell_text(t, 1, "queue"), "compute");
	assert_int_equal(cell_int(t, 1, "activities"), 2);
	assert_near(cell_real(t, 1, "busy_share"), 0.4, 1e-9);
	assert_int_equal(cell_int(t, 1, "gaps"), 1);
	assert_int_equal(cell_int(t, 1, "idle_ns"), 10 * MS);
	assert_int_equal(cell_int(t, 1, "longest_gap_ns"), 10 * MS);
	assert_int_equal(cell_int(t, 1, "mean_delay_ns"), 12500000);
	assert_near(cell_real(t, 1, "depth"), 25.0 / 55, 1e-9);
	assert_near(cell_real(t, 1, "overlap_share"), 0.5, 1e-9);
	assert_absent(t, 1, "copy_overlap_share", "copied nothing");
	assert_string_equal(sonde_report_cell_text(t, 2, "queue"), "queue 2");
	assert_near(cell_real(t, 2, "overlap_share"), 2.0 / 3, 1e-9);
	assert_near(cell_real(t, 2, "copy_overlap_share"), 2.0 / 3, 1e-9);
	assert_near(cell_real(t, 2, "depth"), 0, 1e-9);
	sections_free(&s);
}

/* From 25 on only 20 ms of the second kernel's waiting lie in the time, and 15 of those. */
static void streams_of_a_part_of_the_time(void **state)
{
	static const struct sonde_pass_options options = {.selection.from_ns = START + 25 * MS,
							  .selection.to_ns = START + 65 * MS};
	(void)state;
	struct sections s = sections_of_filled("streams", &options);
	const struct sonde_section *t = sections_get(&s, "streams");
	assert_string_equal(sonde_report_cell_text(t, 2, "queue"), "queue 2");
	assert_string_equal(sonde_report_cell_text(t, 1, "queue"), "compute");
	assert_near(cell_real(t, 1, "busy_share"), 25.0 / 40, 1e-9);
	assert_near(cell_real(t, 1, "depth"), 15.0 / 35, 1e-9);
	assert_near(cell_real(t, 1, "overlap_share"), 15.0 / 25, 1e-9);
	assert_near(cell_real(t, 2, "copy_overlap_share"), 15.0 / 25, 1e-9);
	sections_free(&s);
}

/* From 15 to 35, the second kernel waits for 15 ms, although it starts after that time. */
static void what_starts_behind_the_time_waits_in_it(void **state)
{
	static const struct sonde_pass_options options = {.selection.from_ns = START + 15 * MS,
							  .selection.to_ns = START + 35 * MS};
	(void)state;
	struct sections s = sections_of_filled("streams", &options);
	const struct sonde_section *t = sections_get(&s, "streams");
	assert_string_equal(sonde_report_cell_text(t, 1, "queue"), "compute");
	assert_int_equal(cell_int(t, 1, "activities"), 1);
	assert_int_equal(cell_int(t, 1, "mean_delay_ns"), 5 * MS); /* of what lies in it */
	assert_near(cell_real(t, 1, "depth"), 15.0 / 20, 1e-9);
	sections_free(&s);
}

static void copies_have_a_rate_by_kind_of_memory(void **state)
{
	struct recording r;
	(void)state;
	fill(&r);
	uint32_t pinned = recording_operation(&r, SONDE_ACTIVITY_COPY, "a", COPY(PINNED, DEVICE));
	uint32_t also = recording_operation(&r, SONDE_ACTIVITY_COPY, "b", COPY(PINNED, DEVICE));
	uint32_t peer = recording_operation(&r, SONDE_ACTIVITY_COPY, "c", COPY(DEVICE, PEER));
	put_sized(&r, pinned, 1, 60, 1, 1000000);
	put_sized(&r, also, 1, 70, 3, 7000000);
	put_sized(&r, peer, 3, 80, 2, 500000);
	put_sized(&r, peer, 3, 95, 10, 500000); /* it ends behind the recording */
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "copies", NULL);
	const struct sonde_section *t = sections_get(&s, "copies");
	assert_int_equal(t->table.row_count, 3);
	assert_string_equal(sonde_report_cell_text(t, 0, "from"), "pageable");
	assert_int_equal(cell_int(t, 0, "b_per_s"), 100000000);
	assert_string_equal(sonde_report_cell_text(t, 1, "to"), "peer");
	assert_string_equal(sonde_report_cell_text(t, 1, "device"), "Own second 1");
	assert_int_equal(cell_int(t, 1, "copies"), 2);
	assert_int_equal(cell_int(t, 1, "total_ns"), 7 * MS);
	assert_int_equal(cell_int(t, 1, "size_b"), 1000000);
	assert_int_equal(cell_int(t, 1, "b_per_s"), 250000000); /* of the one that lies whole in the recording */
	assert_string_equal(sonde_report_cell_text(t, 2, "from"), "pinned");
	assert_string_equal(sonde_report_cell_text(t, 2, "to"), "device");
	assert_int_equal(cell_int(t, 2, "copies"), 2);
	assert_int_equal(cell_int(t, 2, "b_per_s"), 2000000000);
	assert_int_equal(cell_int(t, 2, "mean_b"), 4000000);
	sections_free(&s);
}

static void calls_of_the_host_by_name(void **state)
{
	struct recording r;
	(void)state;
	fill(&r);
	uint32_t launch = recording_operation(&r, SONDE_ACTIVITY_API, "launch", (struct sonde_meta_operation){0});
	uint32_t wait = recording_operation(&r, SONDE_ACTIVITY_SYNC, "wait", (struct sonde_meta_operation){0});
	put(&r, launch, 0, -1, 1, 1);
	put(&r, launch, 0, -1, 5, 3);
	put(&r, wait, 0, -1, 30, 40);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-calls", NULL);
	const struct sonde_section *t = sections_get(&s, "device-calls");
	assert_int_equal(t->table.row_count, 2);
	assert_string_equal(sonde_report_cell_text(t, 0, "call"), "wait");
	assert_string_equal(sonde_report_cell_text(t, 0, "kind"), "sync");
	assert_int_equal(cell_int(t, 0, "total_ns"), 40 * MS);
	assert_string_equal(sonde_report_cell_text(t, 1, "call"), "launch");
	assert_int_equal(cell_int(t, 1, "calls"), 2);
	assert_int_equal(cell_int(t, 1, "mean_ns"), 2 * MS);
	assert_int_equal(cell_int(t, 1, "max_ns"), 3 * MS);
	assert_absent(t, 1, "size_b", "it has no size");
	sections_free(&s);
}

/* Calls that name a queue are one row, whichever device that queue is of. */
static void calls_of_several_devices_are_one_row(void **state)
{
	struct recording r;
	(void)state;
	fill(&r);
	uint32_t wait = recording_operation(&r, SONDE_ACTIVITY_SYNC, "wait", (struct sonde_meta_operation){0});
	put(&r, wait, 1, -1, 1, 2);
	put(&r, wait, 3, -1, 5, 4);
	put(&r, wait, 0, -1, 20, 9);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-calls", NULL);
	const struct sonde_section *t = sections_get(&s, "device-calls");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(cell_int(t, 0, "calls"), 3);
	assert_int_equal(cell_int(t, 0, "total_ns"), 15 * MS);
	assert_int_equal(cell_int(t, 0, "mean_ns"), 5 * MS);
	sections_free(&s);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

struct memory {
	struct recording r;
	uint32_t alloc, pinned, give;
};

static void block(struct memory *memory, uint32_t operation, uint32_t queue, uint64_t at_ms, uint64_t address,
		  uint64_t size_b)
{
	recording_activity(&memory->r, (struct recording_activity){.start_ns = START + at_ms * MS,
								   .dur_ns = MS,
								   .operation = operation,
								   .queue = queue,
								   .thread = 1,
								   .size_b = size_b,
								   .address = address});
}

/* 100 from 11 to 30, 200 from 21 to 50, 150 from 41 on at the place of the first; 1000 of the host's. */
static void fill_memory(struct memory *memory)
{
	struct recording *r = &memory->r;
	const struct sonde_meta_operation of_device = {.to = SONDE_MEMORY_DEVICE},
					  of_host = {.to = SONDE_MEMORY_PINNED};
	fill(r);
	r->chunk_rows = 3;
	memory->alloc = recording_operation(r, SONDE_ACTIVITY_ALLOC, "get", of_device);
	memory->pinned = recording_operation(r, SONDE_ACTIVITY_ALLOC, "pin", of_host);
	memory->give = recording_operation(r, SONDE_ACTIVITY_FREE, "give", of_device);
	block(memory, memory->give, 1, 50, 2, 0);
	block(memory, memory->alloc, 1, 40, 1, 150);
	block(memory, memory->alloc, 1, 10, 1, 100);
	block(memory, memory->alloc, 1, 20, 2, 200);
	block(memory, memory->give, 1, 30, 1, 0);
	block(memory, memory->pinned, 1, 5, 9, 1000);
	block(memory, memory->give, 1, 60, 77, 0);
	block(memory, memory->alloc, 0, 70, 3, 7);
	recording_close(r, START + 100 * MS, 0);
}

static void memory_is_paired_by_address(void **state)
{
	struct memory memory;
	(void)state;
	fill_memory(&memory);
	struct sections s = sections_of(path, "devices device-memory device-peak", NULL);
	const struct sonde_section *t = sections_get(&s, "devices");
	assert_int_equal(cell_int(t, 0, "peak_b"), 350);
	assert_absent(t, 1, "peak_b", "no allocation");
	t = sections_get(&s, "device-memory");
	assert_int_equal(t->table.row_count, 3);
	assert_string_equal(sonde_report_cell_text(t, 0, "device"), "unknown");
	assert_int_equal(cell_int(t, 0, "peak_b"), 7);
	assert_string_equal(sonde_report_cell_text(t, 1, "device"), "Own first 0");
	assert_string_equal(sonde_report_cell_text(t, 1, "memory"), "device");
	assert_int_equal(cell_int(t, 1, "peak_b"), 350);
	assert_int_equal(cell_int(t, 1, "peak_at_ns"), 41 * MS);
	assert_int_equal(cell_int(t, 1, "end_b"), 150);
	assert_int_equal(cell_int(t, 1, "end_blocks"), 1);
	assert_int_equal(cell_int(t, 1, "allocated_b"), 450);
	assert_int_equal(cell_int(t, 1, "allocations"), 3);
	assert_string_equal(sonde_report_cell_text(t, 2, "memory"), "pinned");
	assert_int_equal(cell_int(t, 2, "peak_b"), 1000);
	assert_true(sections_noted(t->notes, "1 block was freed without"));
	t = sections_get(&s, "device-peak");
	assert_int_equal(t->table.row_count, 4);
	assert_string_equal(sonde_report_cell_text(t, 0, "call"), "pin");
	assert_int_equal(cell_int(t, 1, "held_b"), 200);
	assert_int_equal(cell_int(t, 1, "left_b"), 0);
	assert_near(cell_real(t, 1, "share"), 200.0 / 350, 1e-9);
	assert_int_equal(cell_int(t, 2, "held_b"), 150);
	assert_int_equal(cell_int(t, 2, "left_b"), 150);
	assert_string_equal(sonde_report_cell_text(t, 2, "call"), "get");
	sections_free(&s);
}

/* From 25 to 35: 300 were there when it began; nothing was allocated in it. */
static void memory_of_a_part_of_the_time(void **state)
{
	static const struct sonde_pass_options options = {.selection.from_ns = START + 25 * MS,
							  .selection.to_ns = START + 35 * MS};
	struct memory memory;
	(void)state;
	fill_memory(&memory);
	struct sections s = sections_of(path, "device-memory", &options);
	const struct sonde_section *t = sections_get(&s, "device-memory");
	assert_int_equal(cell_int(t, 1, "peak_b"), 300);
	assert_int_equal(cell_int(t, 1, "peak_at_ns"), 25 * MS);
	assert_int_equal(cell_int(t, 1, "end_b"), 200);
	assert_int_equal(cell_int(t, 1, "allocations"), 0);
	sections_free(&s);
}

static void a_call_without_a_queue_is_of_the_only_device(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	device(&r, "sole", 0);
	uint32_t get = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "get", (struct sonde_meta_operation){0});
	uint32_t odd = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "odd", (struct sonde_meta_operation){.to = 99});
	recording_activity(&r,
			   (struct recording_activity){START, MS, odd, 0, 1, 0, 0, 0, 6, 7}); /* a kind that is none */
	recording_activity(&r, (struct recording_activity){START, MS, get, 0, 1, 0, 0, 0, 64, 5});
	recording_activity(&r, (struct recording_activity){START, MS, get, 0, 1, 0, 0, 0, 64, 0});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-memory", NULL);
	const struct sonde_section *t = sections_get(&s, "device-memory");
	assert_int_equal(t->table.row_count, 1);
	assert_string_equal(sonde_report_cell_text(t, 0, "device"), "Own sole 0");
	assert_string_equal(sonde_report_cell_text(t, 0, "memory"), "not known");
	assert_int_equal(cell_int(t, 0, "peak_b"), 70);
	assert_true(sections_noted(t->notes, "1 allocation of unknown size or address is left out"));
	sections_free(&s);
}

/* --- gaps -------------------------------------------------------------------------------------------------------- */

/* The device has nothing to do from 20 to 70: its thread waits for it up to 25, reads a file from 25 to 40 (a call of
 * an API lies in that from 30 to 32), runs from 45 to 49 by two samples, and asks at 60. */
static void gaps_say_what_the_host_did(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_thread(&r, 1, 101, "other", START);
	uint32_t queue = recording_queue(&r, device(&r, "sole", 0), "q", 1), k = kernel(&r, "k"), l = kernel(&r, "l");
	uint32_t wait = recording_operation(&r, SONDE_ACTIVITY_SYNC, "wait", (struct sonde_meta_operation){0});
	uint32_t call = recording_operation(&r, SONDE_ACTIVITY_API, "call", (struct sonde_meta_operation){0});
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "step", NULL);
	uint32_t inner = recording_site(&r, SONDE_SITE_ZONE, "load", NULL);
	uint32_t decode = recording_call(&r, recording_call(&r, 0, 1, "main", 1), 1, "decode", 2);
	put(&r, k, queue, 5, 10, 10);
	put(&r, l, queue, 60, 70, 10);
	put(&r, k, queue, 70, 81, 4);
	put(&r, wait, 0, -1, 12, 13);
	put(&r, call, 0, -1, 30, 2);
	recording_wait(&r, (struct recording_wait){
			       .start_ns = START + 25 * MS, .dur_ns = 15 * MS, .thread = 1, .kind = SONDE_WAIT_READ});
	recording_wait(&r, (struct recording_wait){.start_ns = START + 20 * MS,
						   .dur_ns = 50 * MS,
						   .thread = 2,
						   .kind = SONDE_WAIT_READ}); /* another thread's */
	recording_begin(&r, 1, outer, START + 1 * MS);
	recording_begin(&r, 1, inner, START + 22 * MS);
	recording_end(&r, 1, START + 58 * MS);
	recording_end(&r, 1, START + 90 * MS);
	recording_sample(&r, (struct recording_sample){START + 47 * MS, 1, decode, 2 * MS, 0});
	recording_sample(&r, (struct recording_sample){START + 49 * MS, 1, decode, 2 * MS, 0});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-gaps", NULL);
	const struct sonde_section *t = sections_get(&s, "device-gaps");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(cell_int(t, 0, "gap_ns"), 50 * MS);
	assert_int_equal(cell_int(t, 0, "at_ns"), 20 * MS);
	assert_near(cell_real(t, 0, "asked_share"), 0.2, 1e-9);
	assert_near(cell_real(t, 0, "sync_share"), 0.1, 1e-9);
	assert_near(cell_real(t, 0, "build_share"), 0, 1e-9);
	assert_near(cell_real(t, 0, "api_share"), 0.04, 1e-9);
	assert_near(cell_real(t, 0, "io_share"), 0.26, 1e-9);
	assert_near(cell_real(t, 0, "wait_share"), 0, 1e-9);
	assert_near(cell_real(t, 0, "running_share"), 0.08, 1e-9);
	assert_near(cell_real(t, 0, "unknown_share"), 0.32, 1e-9);
	assert_string_equal(sonde_report_cell_text(t, 0, "zone"), "load");
	assert_string_equal(sonde_report_cell_text(t, 0, "function"), "decode");
	assert_string_equal(sonde_report_cell_text(t, 0, "next"), "l");
	assert_string_equal(sonde_report_cell_text(t, 0, "thread"), "prog (100)");
	assert_int_equal(cell_int(t, 1, "gap_ns"), 1 * MS);
	assert_near(cell_real(t, 1, "asked_share"), 1, 1e-9);
	assert_near(cell_real(t, 1, "unknown_share"), 0, 1e-9);
	assert_string_equal(sonde_report_cell_text(t, 1, "zone"), "step");
	assert_absent(t, 1, "function", "no sample");
	assert_true(sections_noted(t->notes, "2 gaps, 51 ms in all"));
	/* The three largest stay on narrow terminals: unknown 16 ms, I/O 13, submission 11. */
	static const int details[] = {0, 2, 5, 2, 0, 5, 2, 0};
	for (size_t i = 0; i < sizeof details / sizeof *details; i++)
		assert_int_equal(t->table.columns[2 + i].detail, details[i]);
	sections_free(&s);
	s = sections_of(path, "device-gaps", &(struct sonde_pass_options){.limit = 1});
	t = sections_get(&s, "device-gaps");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(t->table.omitted, 1);
	assert_int_equal(cell_int(t, 0, "gap_ns"), 50 * MS);
	sections_free(&s);
}

static void nobody_is_blamed_for_the_unknown(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t queue = recording_queue(&r, device(&r, "sole", 0), "q", 1), k = kernel(&r, "k");
	recording_activity(&r, (struct recording_activity){START, MS, k, queue, 0, 0, 0, 0, 0, 0});
	recording_activity(&r, (struct recording_activity){START + 9 * MS, MS, k, queue, 0, 0, 0, 0, 0, 0});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-gaps", NULL);
	const struct sonde_section *t = sections_get(&s, "device-gaps");
	assert_int_equal(cell_int(t, 0, "gap_ns"), 8 * MS);
	assert_near(cell_real(t, 0, "unknown_share"), 1, 1e-9);
	assert_absent(t, 0, "thread", "unknown");
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(devices_are_busy_as_long_as_one_queue_is),
	    cmocka_unit_test(devices_of_a_part_of_the_time),
	    cmocka_unit_test(streams_overlap_and_wait),
	    cmocka_unit_test(streams_of_a_part_of_the_time),
	    cmocka_unit_test(copies_have_a_rate_by_kind_of_memory),
	    cmocka_unit_test(calls_of_the_host_by_name),
	    cmocka_unit_test(calls_of_several_devices_are_one_row),
	    cmocka_unit_test(what_starts_behind_the_time_waits_in_it),
	    cmocka_unit_test(memory_is_paired_by_address),
	    cmocka_unit_test(memory_of_a_part_of_the_time),
	    cmocka_unit_test(gaps_say_what_the_host_did),
	    cmocka_unit_test(nobody_is_blamed_for_the_unknown),
	    cmocka_unit_test(a_call_without_a_queue_is_of_the_only_device),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
