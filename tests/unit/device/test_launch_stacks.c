/* test_launch_stacks.c: stacks of the calls that submit kernels and allocations, on recordings whose answers are
 * known. */
#include "device_fixture.h"
#include "recording_inside.h"
#include "sonde/device.h"
#include "util/buf.h"

enum { OTHER_PROCESS_THREAD = 2 };

struct call {
	uint64_t time_ns, correlation;
	uint32_t thread, stack;
	uint8_t status;
};

/* As a chunk, behind what it names. */
static void calls_write(struct recording *r, const struct call *calls, size_t count, int is_damaged)
{
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_CALL_STACKS,
				    .count = (uint32_t)count,
				    .time_min_ns = START,
				    .time_max_ns = START + 100 * MS};
	struct columns columns;
	uint64_t time = 0, correlation = 0, stack = 0;
	recording_flush(r);
	columns_init(&columns, 5);
	for (size_t i = 0; i < count; i++) {
		put_zigzag(&columns.column[0], calls[i].time_ns, &time);
		must(sonde_buf_varint(&columns.column[1], calls[i].thread), "thread");
		put_zigzag(&columns.column[2], calls[i].correlation, &correlation);
		put_zigzag(&columns.column[3], calls[i].stack, &stack);
		if (!is_damaged || i)
			must(sonde_buf_append(&columns.column[4], &calls[i].status, 1), "status");
	}
	columns_write(r, &chunk, &columns);
}

struct stacks {
	uint32_t in_a, in_b, static_run_time, driver_alone;
};

/* main calls a and b, which call the driver. */
static struct stacks stacks_make(struct recording *r)
{
	struct stacks made;
	uint32_t loader = recording_module(r, "/usr/lib/libOpenCL.so.1", 0);
	uint32_t layer = recording_module(r, "/usr/lib/sonde/libsonde-opencl.so", 0);
	uint32_t main = recording_call(r, 0, 1, "main", 10);
	uint32_t a = recording_call(r, main, 1, "a", 20), b = recording_call(r, main, 1, "b", 30);
	made.in_a = recording_call(r, recording_call(r, a, loader, "clEnqueue", 1), layer, "run", 1);
	made.in_b = recording_call(r, recording_call(r, b, loader, "clEnqueue", 1), layer, "run", 1);
	made.static_run_time = recording_call(r, recording_call(r, b, 1, "cudaLaunchKernel", 1), 1, "cudart::api", 1);
	made.driver_alone = recording_call(r, 0, layer, "run", 1);
	return made;
}

static void work(struct recording *r, uint32_t operation, uint64_t correlation, uint32_t from_ms, uint32_t ms)
{
	recording_activity(r, (struct recording_activity){.start_ns = START + from_ms * MS,
							  .dur_ns = ms * MS,
							  .operation = operation,
							  .queue = 1,
							  .thread = 1,
							  .correlation = correlation});
}

static struct stacks fill(struct recording *r)
{
	simple_open(r);
	recording_process(r, 200, 0, "other", START);
	recording_thread(r, 2, 200, "other", START);
	recording_queue(r, device(r, "first", 0), "q", 1);
	return stacks_make(r);
}

static struct sections close_and_report(struct recording *r, const struct sonde_pass_options *options)
{
	recording_close(r, START + 100 * MS, 0);
	return sections_of(path, "launch-stacks", options);
}

static struct recording *kernels(struct recording *r)
{
	struct stacks stacks = fill(r);
	const struct call calls[] = {
	    {START + 9 * MS, 5, 1, stacks.in_b, SONDE_STACK_COMPLETE}, /* later than the one of the same number */
	    {START + 8 * MS, 1, 1, stacks.in_a, SONDE_STACK_COMPLETE},
	    {START + 8 * MS, 2, 1, stacks.in_a, SONDE_STACK_COMPLETE},
	    {START + 8 * MS, 3, 1, stacks.static_run_time, SONDE_STACK_COMPLETE},
	    {START + 8 * MS, 4, OTHER_PROCESS_THREAD, stacks.in_a, SONDE_STACK_COMPLETE},
	    {START + 8 * MS, 5, 1, stacks.in_a, SONDE_STACK_TRUNCATED},
	    {START + 8 * MS, 6, 1, stacks.driver_alone, SONDE_STACK_FORBIDDEN},
	};
	uint32_t k = kernel(r, "k"), same = kernel(r, "k");
	calls_write(r, calls, sizeof calls / sizeof *calls, 0);
	work(r, k, 1, 10, 20);
	work(r, same, 2, 30, 1); /* another launch configuration */
	work(r, k, 3, 40, 5);
	work(r, k, 4, 50, 3); /* whose call is another process's */
	work(r, k, 5, 60, 2);
	work(r, k, 6, 70, 4);
	return r;
}

static void calls_are_those_of_the_functions_that_made_them(void **state)
{
	struct recording r;
	(void)state;
	struct sections s = close_and_report(kernels(&r), NULL);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_int_equal(t->table.row_count, 4);
	assert_string_equal(sonde_report_cell_text(t, 0, "launched_in"), "a");
	assert_string_equal(sonde_report_cell_text(t, 0, "called_from"), "main");
	assert_string_equal(sonde_report_cell_text(t, 0, "operation"), "k");
	assert_int_equal(cell_int(t, 0, "calls"), 3);
	assert_int_equal(cell_int(t, 0, "total_ns"), 23 * MS);
	assert_string_equal(sonde_report_cell_text(t, 1, "launched_in"),
			    "b"); /* beneath what is linked into the program */
	assert_int_equal(cell_int(t, 1, "total_ns"), 5 * MS);
	assert_absent(t, 2, "launched_in", "all frames of its stack are in the driver");
	assert_int_equal(cell_int(t, 2, "total_ns"), 4 * MS);
	assert_absent(t, 3, "launched_in", "no stack of its call");
	assert_int_equal(cell_int(t, 3, "total_ns"), 3 * MS);
	assert_true(sections_noted(t->notes, "5 of 6 kernels, copies and allocations have a stack"));
	assert_true(sections_noted(t->notes, "2 stacks are incomplete"));
	sections_free(&s);
}

static void calls_of_a_part_of_the_time(void **state)
{
	const struct sonde_pass_options options = {.selection.from_ns = START + 20 * MS,
						   .selection.to_ns = START + 42 * MS};
	struct recording r;
	(void)state;
	struct sections s = close_and_report(kernels(&r), &options);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(cell_int(t, 0, "calls"), 2);
	assert_int_equal(cell_int(t, 0, "total_ns"), 11 * MS);
	assert_int_equal(cell_int(t, 1, "total_ns"), 2 * MS);
	sections_free(&s);
}

/* Work that ends when the selected time begins, or begins when it ends, does not lie in that time, as in all other
 * sections. */
static void what_touches_the_time_is_no_call_of_it(void **state)
{
	const struct sonde_pass_options options = {.selection.from_ns = START + 30 * MS,
						   .selection.to_ns = START + 60 * MS};
	struct recording r;
	(void)state;
	struct sections s = close_and_report(kernels(&r), &options);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(cell_int(t, 0, "total_ns"), 5 * MS);
	assert_int_equal(cell_int(t, 1, "total_ns"), 3 * MS);
	assert_int_equal(cell_int(t, 2, "total_ns"), 1 * MS);
	assert_int_equal(cell_int(t, 2, "calls"), 1);
	sections_free(&s);
}

/* A stack that was recorded but is empty differs from one that was not recorded. */
static void stacks_that_nobody_could_follow(void **state)
{
	struct recording r;
	(void)state;
	fill(&r);
	const struct call call = {START, 1, 1, 0, SONDE_STACK_UNMAPPED};
	uint32_t k = kernel(&r, "k");
	calls_write(&r, &call, 1, 0);
	work(&r, k, 1, 10, 4);
	work(&r, k, 2, 20, 3);
	struct sections s = close_and_report(&r, NULL);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(cell_int(t, 0, "total_ns"), 4 * MS);
	assert_absent(t, 0, "launched_in", "is incomplete");
	assert_int_equal(cell_int(t, 1, "total_ns"), 3 * MS);
	assert_absent(t, 1, "launched_in", "no stack of its call");
	assert_true(sections_noted(t->notes, "0 of 2 kernels"));
	sections_free(&s);
}

static void allocations_take_no_time_of_a_device(void **state)
{
	struct recording r;
	(void)state;
	struct stacks stacks = fill(&r);
	const struct call call = {START, 1, 1, stacks.in_b, SONDE_STACK_COMPLETE};
	uint32_t alloc = recording_operation(&r, SONDE_ACTIVITY_ALLOC, "clCreateBuffer",
					     (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE});
	uint32_t api = recording_operation(&r, SONDE_ACTIVITY_API, "clCreateBuffer", (struct sonde_meta_operation){0});
	calls_write(&r, &call, 1, 0);
	recording_activity(
	    &r, (struct recording_activity){
		    .start_ns = START, .dur_ns = MS, .operation = alloc, .thread = 1, .correlation = 1, .size_b = 100});
	recording_activity(&r, (struct recording_activity){
				   .start_ns = START, .dur_ns = MS, .operation = api, .thread = 1, .correlation = 1});
	struct sections s = close_and_report(&r, NULL);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_int_equal(t->table.row_count, 1);
	assert_absent(t, 0, "total_ns", "on the host");
	assert_int_equal(cell_int(t, 0, "size_b"), 100);
	assert_string_equal(sonde_report_cell_text(t, 0, "launched_in"), "b");
	sections_free(&s);
}

static void without_stacks_it_says_how_to_get_them(void **state)
{
	const struct sonde_pass_options requested = {.requested = 1};
	struct recording r;
	(void)state;
	fill(&r);
	work(&r, kernel(&r, "k"), 1, 10, 20);
	struct sections s = close_and_report(&r, &requested);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_true(sections_noted(t->notes, "--gpu=full"));
	sections_free(&s);
	fill(&r);
	work(&r, kernel(&r, "k"), 1, 10, 20);
	s = close_and_report(&r, NULL);
	assert_null(sections_find(&s, "launch-stacks"));
	sections_free(&s);
}

/* Ids that do not exist count as 0; an incomplete chunk is left out, and all others count. */
static void damaged_chunks_do_no_harm(void **state)
{
	struct recording r;
	(void)state;
	struct stacks stacks = fill(&r);
	const struct call lies[] = {{START, 1, 1, 4000000000, 255}, {0, UINT64_MAX, 77777, stacks.in_a, 0}};
	const struct call call = {START, 2, 1, stacks.in_b, SONDE_STACK_COMPLETE};
	uint32_t k = kernel(&r, "k");
	calls_write(&r, lies, 2, 0);
	calls_write(&r, lies, 2, 1);
	calls_write(&r, &call, 1, 0);
	work(&r, k, 1, 10, 20);
	work(&r, k, 2, 40, 1);
	work(&r, k, 0, 50, 2); /* no correlation: of no call */
	struct sections s = close_and_report(&r, NULL);
	const struct sonde_section *t = sections_get(&s, "launch-stacks");
	assert_int_equal(t->table.row_count, 2);
	assert_absent(t, 0, "launched_in", "no stack");
	assert_int_equal(cell_int(t, 0, "total_ns"), 22 * MS);
	assert_string_equal(sonde_report_cell_text(t, 1, "launched_in"), "b");
	assert_int_equal(cell_int(t, 1, "total_ns"), 1 * MS);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_are_those_of_the_functions_that_made_them),
	    cmocka_unit_test(calls_of_a_part_of_the_time),
	    cmocka_unit_test(what_touches_the_time_is_no_call_of_it),
	    cmocka_unit_test(stacks_that_nobody_could_follow),
	    cmocka_unit_test(allocations_take_no_time_of_a_device),
	    cmocka_unit_test(without_stacks_it_says_how_to_get_them),
	    cmocka_unit_test(damaged_chunks_do_no_harm),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
