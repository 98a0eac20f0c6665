/* test_devices_sections.c: kernels by name: time ranges, threads, devices, launch configurations, merged parts. */
#include <stdlib.h>

#include "device_fixture.h"
#include "analyze/device/occupancy.h"

/* Two devices: "a" (in two launch configurations) and "b" on the first, "a" on the second. */
static void fill(struct recording *r)
{
	simple_open(r);
	recording_thread(r, 1, 101, "other", START);
	uint32_t first = device(r, "first", 0), second = device(r, "second", 1);
	uint32_t one = recording_queue(r, first, "one", 1), two = recording_queue(r, second, "two", 2);
	uint32_t small = recording_operation(r, SONDE_ACTIVITY_KERNEL, "a", (struct sonde_meta_operation){.grid = {1}});
	uint32_t large = recording_operation(r, SONDE_ACTIVITY_KERNEL, "a", (struct sonde_meta_operation){.grid = {9}});
	uint32_t b = kernel(r, "b");
	uint32_t copy = recording_operation(r, SONDE_ACTIVITY_COPY, "a", (struct sonde_meta_operation){0});
	put(r, small, one, 8, 10, 10);
	put(r, large, one, 16, 20, 20);
	put(r, small, one, -1, 50, 6);
	put(r, b, one, 49, 60, 30);
	put(r, small, two, 0, 10, 50);
	put(r, copy, one, 0, 91, 9);
	recording_activity(r, (struct recording_activity){START + 95 * MS, 3 * MS, b, one, 2, 0, 0, 0, 0, 0});
}

static void row_is(const struct sonde_section *kernels, size_t row, const char *name, const char *device_is,
		   uint64_t calls, uint64_t total_ms)
{
	assert_string_equal(sonde_report_cell_text(kernels, row, "kernel"), name);
	assert_string_equal(sonde_report_cell_text(kernels, row, "device"), device_is);
	assert_int_equal(cell_int(kernels, row, "calls"), calls);
	assert_int_equal(cell_int(kernels, row, "total_ns"), total_ms * MS);
}

static void launch_configurations_are_one_kernel_and_devices_are_not(void **state)
{
	struct recording r;
	(void)state;
	fill(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "kernels", NULL);
	const struct sonde_section *kernels = sections_get(&s, "kernels");
	assert_int_equal(kernels->table.row_count, 3);
	row_is(kernels, 0, "a", "Own second 1", 1, 50);
	row_is(kernels, 1, "a", "Own first 0", 3, 36);
	row_is(kernels, 2, "b", "Own first 0", 2, 33);
	assert_int_equal(cell_int(kernels, 1, "mean_ns"), 12 * MS);
	assert_int_equal(cell_int(kernels, 1, "min_ns"), 6 * MS);
	assert_int_equal(cell_int(kernels, 1, "max_ns"), 20 * MS);
	assert_int_equal(cell_int(kernels, 1, "mean_delay_ns"), 3 * MS); /* of two: 2 and 4 */
	assert_int_equal(cell_int(kernels, 2, "mean_delay_ns"), 11 * MS);
	assert_near(cell_real(kernels, 1, "share"), 36.0 / 119, 1e-9);
	assert_true(sections_noted(kernels->notes, "6 kernels took 119 ms"));
	sections_free(&s);
}

/* From 25 to 75 ms: of 20 … 40 15 ms count, of 60 … 90 as many, of 10 … 60 35; one lies whole in it. */
static void an_activity_is_cut_by_the_window(void **state)
{
	static const struct sonde_pass_options options = {.selection.from_ns = START + 25 * MS,
							  .selection.to_ns = START + 75 * MS};
	struct recording r;
	(void)state;
	fill(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "kernels", &options);
	const struct sonde_section *kernels = sections_get(&s, "kernels");
	assert_int_equal(kernels->table.row_count, 3);
	row_is(kernels, 0, "a", "Own second 1", 1, 35);
	row_is(kernels, 1, "a", "Own first 0", 2, 21);
	row_is(kernels, 2, "b", "Own first 0", 1, 15);
	assert_absent(kernels, 0, "mean_ns", "no launch lies wholly");
	assert_absent(kernels, 2, "max_ns", "no launch lies wholly");
	assert_int_equal(cell_int(kernels, 1, "mean_ns"), 6 * MS);
	assert_near(cell_real(kernels, 0, "share"), 35.0 / 71, 1e-9);
	sections_free(&s);
}

static void threads_are_those_that_asked(void **state)
{
	static const uint8_t second[] = {0, 0, 1};
	const struct sonde_pass_options options = {.selection.thread = second, .thread_is = "thread 101"};
	struct recording r;
	(void)state;
	fill(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "kernels", &options);
	const struct sonde_section *kernels = sections_get(&s, "kernels");
	assert_int_equal(kernels->table.row_count, 1);
	row_is(kernels, 0, "b", "Own first 0", 1, 3);
	sections_free(&s);
}

/* Each part sees every third chunk of two rows; merged, the parts equal the result of a single pass. */
static void parts_merge_to_the_whole(void **state)
{
	enum { PARTS = 3 };
	struct recording r;
	struct sonde_session *session;
	struct sonde_report *report;
	void *states[PARTS];
	(void)state;
	fill(&r);
	r.chunk_rows = 2;
	for (int i = 0; i < 100; i++)
		put(&r, 1 + (uint32_t)i % 3, 1 + (uint32_t)i % 2, 100 + i, 101 + i, 1);
	recording_close(&r, START + 300 * MS, 0);
	const struct sonde_pass *pass = sonde_pass_find("kernels");
	const struct sonde_session_options plain = {.no_symbols = 1};
	const struct sonde_pass_options options = {0};
	assert_int_equal(sonde_session_open(&session, path, &plain), 0);
	for (unsigned part = 0; part < PARTS; part++) {
		struct sonde_cursor *cursor;
		const struct sonde_batch *batch;
		states[part] = calloc(1, pass->state_b);
		assert_int_equal(pass->begin(states[part], session, &options), 0);
		assert_int_equal(sonde_cursor_open_part(&cursor, session, pass->types, part, PARTS), 0);
		while (sonde_cursor_next(cursor, &batch) > 0)
			assert_int_equal(pass->feed(states[part], batch), 0);
		sonde_cursor_close(cursor);
		if (part)
			assert_int_equal(pass->merge(states[0], states[part]), 0);
	}
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(pass->finish(states[0], report), 0);
	struct sections s = sections_of(path, "kernels", NULL);
	const struct sonde_section *whole = sections_get(&s, "kernels"), *merged = report->first;
	assert_int_equal(merged->table.row_count, 4);
	assert_int_equal(merged->table.row_count, whole->table.row_count);
	static const char *const keys[] = {"calls", "total_ns", "min_ns", "max_ns", "mean_ns", "mean_delay_ns"};
	for (size_t row = 0; row < 4; row++)
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
			assert_int_equal(cell_int(merged, row, keys[k]), cell_int(whole, row, keys[k]));
	assert_int_equal(cell_int(whole, 0, "calls") + cell_int(whole, 1, "calls") + cell_int(whole, 2, "calls") +
			     cell_int(whole, 3, "calls"),
			 106);
	sections_free(&s);
	for (unsigned part = 0; part < PARTS; part++) {
		pass->end(states[part]);
		free(states[part]);
	}
	sonde_report_free(report);
	sonde_session_close(session);
}

static void without_devices_there_is_no_section_unless_it_is_asked_for(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "kernels", NULL);
	assert_null(sections_find(&s, "kernels"));
	sections_free(&s);
	s = sections_of(path, "kernels", &(struct sonde_pass_options){.requested = 1});
	assert_true(
	    sections_noted(sections_get(&s, "kernels")->notes, "not recorded: GPU activity (record with --gpu)"));
	sections_free(&s);
}

/* --- occupancy --------------------------------------------------------------------------------------------------- */

/* A unit with 64 warps of 32, 32 blocks, 65536 registers and 100 KiB of shared memory. */
static const struct sonde_device unit = {
    .warp = 32, .warps_unit = 64, .blocks_unit = 32, .registers_unit = 65536, .shared_unit_b = 102400};

static const struct occupancy_case {
	struct sonde_operation operation;
	uint32_t blocks;
	double share;
	const char *limited_by;
} occupancies[] = {
    /* 8 warps a block: 64 ÷ 8 = 8 blocks; 32 registers · 32 = 1024 a warp: 16 in each of 4 parts: 64 warps */
    {{.block = {256, 1, 1}, .registers = 32}, 8, 1, "warps"},
    /* 33 · 32 = 1056, in 256s 1280: 16384 ÷ 1280 = 12 in each part: 48 warps, 6 blocks of 8 */
    {{.block = {256, 1, 1}, .registers = 33}, 6, 0.75, "registers"},
    /* 255 · 32 = 8160, in 256s 8192: 2 in each part: 8 warps: one block of 8 */
    {{.block = {16, 16, 1}, .registers = 255}, 1, 0.125, "registers"},
    /* one warp a block: 32 blocks of 64 warps */
    {{.block = {32, 1, 1}, .registers = 16}, 32, 0.5, "blocks"},
    /* 48 KiB of 100: 2 blocks of 4 warps */
    {{.block = {128, 1, 1}, .registers = 16, .static_shared_b = 16384, .dynamic_shared_b = 32768},
     2,
     0.125,
     "shared memory"},
    /* 33 bytes are rounded to 128; 64 KiB were set apart: 512 blocks; warps are the limit: 100 threads are 4 warps */
    {{.block = {100, 1, 1}, .registers = 16, .static_shared_b = 33, .shared_unit_b = 65536}, 16, 1, "warps"},
    /* 3 · 320 threads = 30 warps: 2 blocks, 60 of 64 */
    {{.block = {320, 3, 1}, .registers = 24}, 2, 60.0 / 64, "warps"},
};

static void occupancy_is_as_computed_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof occupancies / sizeof *occupancies; i++) {
		const struct occupancy_case *row = &occupancies[i];
		struct sonde_device_occupancy out;
		assert_null(sonde_device_occupancy(&out, &unit, &row->operation));
		assert_int_equal(out.blocks, row->blocks);
		assert_near(out.share, row->share, 1e-12);
		assert_string_equal(out.limited_by, row->limited_by);
	}
}

/* As NVIDIA's tables of compute capabilities have their units; what fits them is worked out by hand. */
static const struct sonde_device p100 = {.capability = 60,
					 .warp = 32,
					 .warps_unit = 64,
					 .blocks_unit = 32,
					 .registers_unit = 65536,
					 .shared_unit_b = 65536},
				 gp102 = {.capability = 61,
					  .warp = 32,
					  .warps_unit = 64,
					  .blocks_unit = 32,
					  .registers_unit = 65536,
					  .shared_unit_b = 98304},
				 v100 = {.capability = 70,
					 .warp = 32,
					 .warps_unit = 64,
					 .blocks_unit = 32,
					 .registers_unit = 65536,
					 .shared_unit_b = 98304},
				 tu102 = {.capability = 75,
					  .warp = 32,
					  .warps_unit = 32,
					  .blocks_unit = 16,
					  .registers_unit = 65536,
					  .shared_unit_b = 65536},
				 a100 = {.capability = 80,
					 .warp = 32,
					 .warps_unit = 64,
					 .blocks_unit = 32,
					 .registers_unit = 65536,
					 .shared_unit_b = 167936},
				 ga102 = {.capability = 86,
					  .warp = 32,
					  .warps_unit = 48,
					  .blocks_unit = 16,
					  .registers_unit = 65536,
					  .shared_unit_b = 102400},
				 ad102 = {.capability = 89,
					  .warp = 32,
					  .warps_unit = 48,
					  .blocks_unit = 24,
					  .registers_unit = 65536,
					  .shared_unit_b = 102400},
				 h100 = {.capability = 90,
					 .warp = 32,
					 .warps_unit = 64,
					 .blocks_unit = 32,
					 .registers_unit = 65536,
					 .shared_unit_b = 233472},
				 gb202 = {.capability = 120,
					  .warp = 32,
					  .warps_unit = 48,
					  .blocks_unit = 24,
					  .registers_unit = 65536,
					  .shared_unit_b = 102400};

static const struct {
	const struct sonde_device *device;
	struct occupancy_case of;
} occupancies_of[] = {
    /* 72 · 32 = 2304 registers a warp. P100 has two parts of 32768: 14 in each, 28 warps: 14 blocks of 2 */
    {&p100, {{.block = {64, 1, 1}, .registers = 72}, 14, 28.0 / 64, "registers"}},
    {&p100, {{.block = {32, 1, 1}, .registers = 96}, 20, 20.0 / 64, "registers"}},  /* 3072: 10 in each */
    {&gp102, {{.block = {32, 1, 1}, .registers = 96}, 20, 20.0 / 64, "registers"}}, /* 5 in each of four */
    {&gp102, {{.block = {64, 1, 1}, .registers = 80}, 12, 24.0 / 64, "registers"}}, /* 2560: 6 in each of four */
    {&p100, {{.block = {64, 1, 1}, .registers = 80}, 12, 24.0 / 64, "registers"}},  /* 12 in each of two */
    /* 2000 bytes are 2048, in 256s; 3073 are 3328 */
    {&v100, {{.block = {32, 1, 1}, .registers = 32, .static_shared_b = 3073}, 29, 29.0 / 64, "shared memory"}},
    {&v100, {{.block = {256, 1, 1}, .registers = 32}, 8, 1, "warps"}},
    {&v100, {{.block = {1024, 1, 1}, .registers = 64}, 1, 0.5, "registers"}},
    {&tu102, {{.block = {128, 1, 1}, .registers = 32}, 8, 1, "warps"}},
    {&tu102, {{.block = {32, 1, 1}, .registers = 32}, 16, 0.5, "blocks"}},
    {&tu102,
     {{.block = {64, 1, 1}, .registers = 32, .static_shared_b = 8193}, 7, 14.0 / 32, "shared memory"}}, /* 8448 */
    /* 48 KiB and 1: 3 blocks of 164 KiB; 40 and 1: 4 of them exactly */
    {&a100, {{.block = {256, 1, 1}, .registers = 32, .static_shared_b = 49152}, 3, 24.0 / 64, "shared memory"}},
    {&a100, {{.block = {256, 1, 1}, .registers = 32, .dynamic_shared_b = 40960}, 4, 0.5, "shared memory"}},
    {&a100, {{.block = {256, 1, 1}, .registers = 32, .dynamic_shared_b = 40961}, 3, 24.0 / 64, "shared memory"}},
    {&a100,
     {{.block = {256, 1, 1}, .registers = 32, .dynamic_shared_b = 166912}, 1, 0.125, "shared memory"}}, /* 163 KiB */
    {&a100, {{.block = {32, 1, 1}, .registers = 32}, 32, 0.5, "blocks"}},
    /* A block that uses no shared memory still has 1 KiB: eight blocks fit into the 8 KiB that were set aside. */
    {&a100, {{.block = {128, 1, 1}, .registers = 32, .shared_unit_b = 8192}, 8, 0.5, "shared memory"}},
    {&ga102, {{.block = {1024, 1, 1}, .registers = 32}, 1, 32.0 / 48, "warps"}},
    {&ga102, {{.block = {256, 1, 1}, .registers = 40, .static_shared_b = 16384}, 5, 40.0 / 48, "shared memory"}},
    {&ga102, {{.block = {256, 1, 1}, .registers = 40}, 6, 1, "warps"}},
    {&ad102, {{.block = {32, 1, 1}, .registers = 32}, 24, 0.5, "blocks"}},
    {&h100, {{.block = {384, 1, 1}, .registers = 168}, 1, 12.0 / 64, "registers"}}, /* 5376: 3 in each, 12 warps */
    {&h100,
     {{.block = {128, 1, 1}, .registers = 168, .dynamic_shared_b = 232448},
      1,
      4.0 / 64,
      "shared memory"}}, /* 227 KiB */
    {&h100,
     {{.block = {128, 1, 1}, .registers = 32, .dynamic_shared_b = 75776}, 3, 12.0 / 64, "shared memory"}}, /* 75 KiB */
    {&gb202, {{.block = {512, 1, 1}, .registers = 40}, 3, 1, "warps"}},
    {&gb202, {{.block = {128, 1, 1}, .registers = 16, .static_shared_b = 49152}, 2, 8.0 / 48, "shared memory"}},
};

static void occupancy_follows_the_compute_capability(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof occupancies_of / sizeof *occupancies_of; i++) {
		const struct occupancy_case *row = &occupancies_of[i].of;
		struct sonde_device_occupancy out;
		assert_null(sonde_device_occupancy(&out, occupancies_of[i].device, &row->operation));
		assert_int_equal(out.blocks, row->blocks);
		assert_near(out.share, row->share, 1e-12);
		assert_string_equal(out.limited_by, row->limited_by);
	}
}

static void occupancy_is_absent_where_something_is_not_known(void **state)
{
	static const struct sonde_operation known = {.block = {256, 1, 1}, .registers = 32, .static_shared_b = 1};
	struct sonde_device_occupancy out;
	struct sonde_operation operation = known;
	struct sonde_device limits = unit;
	(void)state;
	assert_non_null(strstr(sonde_device_occupancy(&out, NULL, &known), "limits"));
	limits.warps_unit = 0;
	assert_non_null(strstr(sonde_device_occupancy(&out, &limits, &known), "limits"));
	limits = unit;
	limits.shared_unit_b = 0;
	assert_non_null(strstr(sonde_device_occupancy(&out, &limits, &known), "shared memory"));
	operation.registers = 0;
	assert_non_null(strstr(sonde_device_occupancy(&out, &unit, &operation), "registers"));
	operation = known;
	operation.block[1] = 0;
	assert_non_null(strstr(sonde_device_occupancy(&out, &unit, &operation), "its block size is unknown"));
	operation.block[1] = operation.block[2] = UINT32_MAX;
	assert_non_null(strstr(sonde_device_occupancy(&out, &unit, &operation), "its block size is unknown"));
	operation = known;
	operation.block[0] = 4096;
	assert_non_null(strstr(sonde_device_occupancy(&out, &unit, &operation), "cannot run even one block"));
}

/* 10 ms at 1 and 30 ms at 0.75. */
static void occupancy_of_a_kernel_is_by_time(void **state)
{
	static const struct sonde_meta_device limits = {.kind = 1,
							.warp = 32,
							.warps_unit = 64,
							.blocks_unit = 32,
							.registers_unit = 65536,
							.shared_unit_b = 102400};
	struct recording r;
	(void)state;
	simple_open(&r);
	uint32_t queue = recording_queue(&r, recording_device(&r, 1, "Own", "gpu", limits), "q", 1);
	uint32_t full = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k",
					    (struct sonde_meta_operation){.block = {256, 1, 1}, .registers = 32});
	uint32_t less = recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k",
					    (struct sonde_meta_operation){.block = {256, 1, 1}, .registers = 33});
	put(&r, full, queue, -1, 10, 10);
	put(&r, less, queue, -1, 30, 30);
	put(&r, kernel(&r, "unsaid"), queue, -1, 70, 1);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "kernels", NULL);
	const struct sonde_section *kernels = sections_get(&s, "kernels");
	assert_near(cell_real(kernels, 0, "occupancy"), (10 + 30 * 0.75) / 40, 1e-9);
	assert_string_equal(sonde_report_cell_text(kernels, 0, "limited_by"), "registers");
	assert_absent(kernels, 1, "occupancy", "its block size is unknown");
	assert_true(sections_noted(kernels->notes, "not measured"));
	sections_free(&s);
}

/* --- launch configurations --------------------------------------------------------------------------------------- */

static void launch_is(const struct sonde_section *t, size_t row, const char *name, const char *grid, uint64_t calls,
		      uint64_t total_ms)
{
	row_is(t, row, name, row == 0 ? "Own second 1" : "Own first 0", calls, total_ms);
	if (grid)
		assert_string_equal(sonde_report_cell_text(t, row, "grid"), grid);
	else
		assert_absent(t, row, "grid", "not reported");
}

static void launches_are_apart_by_configuration_and_device(void **state)
{
	struct recording r;
	(void)state;
	fill(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "launches", NULL);
	const struct sonde_section *t = sections_get(&s, "launches");
	assert_int_equal(t->table.row_count, 4);
	launch_is(t, 0, "a", "1", 1, 50);
	launch_is(t, 1, "b", NULL, 2, 33);
	launch_is(t, 2, "a", "9", 1, 20);
	launch_is(t, 3, "a", "1", 2, 16);
	assert_int_equal(cell_int(t, 3, "mean_ns"), 8 * MS);
	assert_int_equal(cell_int(t, 3, "mean_delay_ns"), 2 * MS); /* of one */
	assert_absent(t, 2, "block", "chosen by the driver");
	assert_absent(t, 2, "registers", "not reported");
	sections_free(&s);
}

/* Two equal reports are one configuration; a difference in any value makes another. */
static void launches_have_the_sizes_that_were_told(void **state)
{
	static const struct sonde_meta_device limits = {.kind = 1,
							.warp = 32,
							.warps_unit = 64,
							.blocks_unit = 32,
							.registers_unit = 65536,
							.shared_unit_b = 102400};
	static const struct sonde_meta_operation one = {.grid = {64, 2, 1},
							.block = {16, 16, 1},
							.registers = 33,
							.local_b = 8,
							.static_shared_b = 1024,
							.dynamic_shared_b = 2048};
	struct recording r;
	(void)state;
	simple_open(&r);
	struct sonde_meta_operation other = one;
	other.grid[2] = 3;
	uint32_t queue = recording_queue(&r, recording_device(&r, 1, "Own", "gpu", limits), "q", 1);
	put(&r, recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", one), queue, -1, 10, 10);
	put(&r, recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", one), queue, -1, 30, 20);
	put(&r, recording_operation(&r, SONDE_ACTIVITY_KERNEL, "k", other), queue, -1, 60, 5);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "launches", NULL);
	const struct sonde_section *t = sections_get(&s, "launches");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(cell_int(t, 0, "calls"), 2);
	assert_int_equal(cell_int(t, 0, "total_ns"), 30 * MS);
	assert_string_equal(sonde_report_cell_text(t, 0, "grid"), "64 × 2");
	assert_string_equal(sonde_report_cell_text(t, 1, "grid"), "64 × 2 × 3");
	assert_string_equal(sonde_report_cell_text(t, 0, "block"), "16 × 16");
	assert_int_equal(cell_int(t, 0, "registers"), 33);
	assert_int_equal(cell_int(t, 0, "shared_b"), 3072);
	assert_int_equal(cell_int(t, 0, "local_b"), 8);
	assert_near(cell_real(t, 0, "occupancy"), 0.75, 1e-12); /* 6 blocks of 8 warps, of 64 */
	assert_string_equal(sonde_report_cell_text(t, 0, "limited_by"), "registers");
	assert_true(sections_noted(t->notes, "occupancy: modelled"));
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launch_configurations_are_one_kernel_and_devices_are_not),
	    cmocka_unit_test(an_activity_is_cut_by_the_window),
	    cmocka_unit_test(threads_are_those_that_asked),
	    cmocka_unit_test(parts_merge_to_the_whole),
	    cmocka_unit_test(occupancy_is_as_computed_by_hand),
	    cmocka_unit_test(occupancy_follows_the_compute_capability),
	    cmocka_unit_test(occupancy_is_absent_where_something_is_not_known),
	    cmocka_unit_test(occupancy_of_a_kernel_is_by_time),
	    cmocka_unit_test(launches_are_apart_by_configuration_and_device),
	    cmocka_unit_test(launches_have_the_sizes_that_were_told),
	    cmocka_unit_test(without_devices_there_is_no_section_unless_it_is_asked_for),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
