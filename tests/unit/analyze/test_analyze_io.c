/* test_analyze_io.c: the recorded share of all bytes, calls without a file, phases of reading, small writes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "analyze_fixture.h"
#include "sections.h"

#define US 1000ull

struct world {
	struct recording r;
	uint32_t load, file, pipe;
};

/* Process 1 with threads 1 and 2. */
static void world_open(struct world *world)
{
	struct recording *r = &world->r;
	recording_open(r, path);
	recording_process(r, 100, 0, "train", START);
	recording_thread(r, 1, 100, "train", START);
	recording_thread(r, 1, 101, "other", START);
	recording_module(r, "/usr/bin/train", 0);
	world->load = recording_call(r, recording_call(r, 0, 1, "main", 10), 1, "load", 20);
	world->file = recording_object(r, 1, SONDE_OBJECT_FILE, "/data/train.bin", 0);
	world->pipe = recording_object(r, 1, SONDE_OBJECT_PIPE, "pipe:[1]", 0);
}

static void put(struct world *world, uint32_t thread, enum sonde_wait_kind kind, uint64_t start_us, uint64_t dur_us,
		uint32_t object, uint64_t amount)
{
	recording_wait(&world->r, (struct recording_wait){.start_ns = START + start_us * US,
							  .dur_ns = dur_us * US,
							  .thread = thread,
							  .kind = kind,
							  .stack = world->load,
							  .object = object,
							  .amount = amount});
}

/* Reads of 80 µs each 100 µs. */
static void load(struct world *world, uint32_t thread, uint64_t from_ms, uint64_t to_ms)
{
	for (uint64_t us = from_ms * 1000; us < to_ms * 1000; us += 100)
		put(world, thread, SONDE_WAIT_READ, us, 80, world->file, 1000);
}

static const struct sonde_cell *row_of(const struct sonde_section *section, size_t row)
{
	assert_true(row < section->table.row_count);
	return section->table.cells + row * section->table.column_count;
}

static void phase_is(const struct sonde_section *t, size_t row, uint64_t begin_us, uint64_t end_us, uint64_t read_b)
{
	const struct sonde_cell *cells = row_of(t, row);
	assert_int_equal(sections_cell(t, cells, "begin_ns")->integer, begin_us * US);
	assert_int_equal(sections_cell(t, cells, "end_ns")->integer, end_us * US);
	assert_int_equal(sections_cell(t, cells, "duration_ns")->integer, (end_us - begin_us) * US);
	assert_int_equal(sections_cell(t, cells, "read_b")->integer, read_b);
	assert_string_equal(sections_cell(t, cells, "file")->text, "/data/train.bin");
	assert_string_equal(sections_cell(t, cells, "most_in")->text, "load (load.c:20)");
}

/* Loads of 50, 30 and 20 ms between computing; a short interruption does not end a load; single reads, pipes and
 * opening are no loads.
 */
static void phases(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	world.r.chunk_rows = 100; /* chunks end anywhere */
	load(&world, 1, 10, 60);
	load(&world, 1, 100, 110);
	load(&world, 1, 111, 130); /* 1 ms of something else */
	for (uint64_t ms = 130; ms < 300; ms++)
		put(&world, 1, SONDE_WAIT_READ, ms * 1000 + 500, 50, world.file, 10);
	put(&world, 2, SONDE_WAIT_READ, 130000, 170000, world.pipe, 1);
	put(&world, 1, SONDE_WAIT_OPEN, 310000, 20000, world.file, 0);
	load(&world, 2, 400, 420);
	recording_close(&world.r, START + 500 * MS, 0);
	struct sections s = sections_of(path, "io-phases", NULL);
	const struct sonde_section *t = sections_get(&s, "io-phases");
	assert_int_equal(t->table.row_count, 3);
	phase_is(t, 0, 10000, 59980, 500 * 1000);
	phase_is(t, 1, 100000, 129980, 290 * 1000);
	phase_is(t, 2, 400000, 419980, 200 * 1000);
	assert_near(sections_cell(t, row_of(t, 0), "share_in_reads")->real, 40.0 / 49.98, 1e-9);
	assert_int_equal(sections_cell(t, row_of(t, 0), "share_blocked")->kind, SONDE_CELL_ABSENT); /* no switches */
	assert_near((double)sections_cell(t, row_of(t, 0), "read_b_per_s")->integer, 500e3 / 49.98e-3, 1);
	assert_true(sections_noted(t->notes, "loading: train (100) mainly read for 0.100 s (20.0 % of the run), in 3 "
					     "phases, 0.990 MB"));
	sections_free(&s);
}

/* The other thread runs in the second half of the load; if it reads itself, it does not count as another thread. */
static void others(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	put(&world, 1, SONDE_WAIT_READ, 100000, 100000, world.file, 5000);
	put(&world, 2, SONDE_WAIT_READ, 180000, 20000, world.file, 5000);
	recording_switch(&world.r, START + 1 * MS, 1, SONDE_SWITCH_IN);
	recording_switch(&world.r, START + 100 * MS, 1, SONDE_SWITCH_OUT_BLOCKED);
	recording_switch(&world.r, START + 150 * MS, 2, SONDE_SWITCH_IN);
	recording_switch(&world.r, START + 200 * MS, 1, SONDE_SWITCH_IN);
	recording_switch(&world.r, START + 300 * MS, 2, SONDE_SWITCH_OUT_BLOCKED);
	recording_close(&world.r, START + 400 * MS, 0);
	struct sections s = sections_of(path, "io-phases", NULL);
	const struct sonde_section *t = sections_get(&s, "io-phases");
	assert_int_equal(t->table.row_count, 1);
	phase_is(t, 0, 100000, 200000, 10000);
	assert_near(sections_cell(t, row_of(t, 0), "share_in_reads")->real, 1, 1e-9);
	assert_near(sections_cell(t, row_of(t, 0), "share_blocked")->real, 0.7, 1e-9);
	assert_true(sections_noted(t->notes, "for 0.070 s (17.5 % of the run)"));
	sections_free(&s);
}

/* While a process waits for a CPU, it works on nothing else: that is no interruption. A pause is one. */
static void waiting_for_a_cpu(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	load(&world, 1, 10, 30);
	load(&world, 1, 60, 80);
	load(&world, 1, 110, 130);
	recording_switch(&world.r, START + 5 * MS, 1, SONDE_SWITCH_IN);
	recording_switch(&world.r, START + 30 * MS, 1, SONDE_SWITCH_OUT_PREEMPTED);
	recording_switch(&world.r, START + 60 * MS, 1, SONDE_SWITCH_IN);
	recording_switch(&world.r, START + 80 * MS, 1, SONDE_SWITCH_OUT_BLOCKED);
	recording_switch(&world.r, START + 110 * MS, 1, SONDE_SWITCH_IN);
	recording_close(&world.r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "io-phases", NULL);
	const struct sonde_section *t = sections_get(&s, "io-phases");
	assert_int_equal(t->table.row_count, 2);
	phase_is(t, 0, 10000, 79980, 400 * 1000);
	phase_is(t, 1, 110000, 129980, 200 * 1000);
	sections_free(&s);
}

/* A zone that covers the same time, or nearly the same, but not a zone around it. */
static void zones(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	uint32_t epoch = recording_site(&world.r, SONDE_SITE_ZONE, "epoch", ""),
		 batch = recording_site(&world.r, SONDE_SITE_ZONE, "read_batch", "");
	recording_begin(&world.r, 1, epoch, START + 5 * MS);
	recording_begin(&world.r, 1, batch, START + 95 * MS);
	recording_end(&world.r, 1, START + 125 * MS);
	recording_end(&world.r, 1, START + 350 * MS);
	load(&world, 1, 100, 120);
	recording_close(&world.r, START + 400 * MS, 0);
	struct sections s = sections_of(path, "io-phases", NULL);
	const struct sonde_section *t = sections_get(&s, "io-phases");
	assert_string_equal(sections_cell(t, row_of(t, 0), "zone")->text, "read_batch");
	assert_false(sections_noted(t->notes, "loading:")); /* 5 % of the run */
	sections_free(&s);
	struct sonde_pass_options options = {
	    .selection.from_ns = START + 200 * MS, .selection.to_ns = START + 300 * MS, .requested = 1};
	s = sections_of(path, "io-phases", &options);
	assert_true(sections_noted(sections_get(&s, "io-phases")->notes, "no phase"));
	sections_free(&s);
}

/* Two children: one without hooks, and one that ended before it was read, so that its parent has its bytes. */
static void shares(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	struct recording *r = &world.r;
	recording_process(r, 200, 1, "static", START);
	recording_process(r, 201, 1, "quick", START);
	recording_thread(r, 2, 200, "static", START);
	recording_thread(r, 3, 201, "quick", START);
	uint32_t reads[] = {recording_series(r, SONDE_METRIC_IO_READ_ALL, 1, 0, ""),
			    recording_series(r, SONDE_METRIC_IO_READ_ALL, 2, 0, "")};
	uint32_t written = recording_series(r, SONDE_METRIC_IO_WRITTEN_ALL, 1, 0, "");
	recording_point(r, START + 1 * MS, reads[0], 10);
	recording_point(r, START + 1 * MS, written, 0);
	recording_point(r, START + 100 * MS, reads[0], 3000000);
	recording_point(r, START + 100 * MS, reads[1], 1000000);
	recording_point(r, START + 100 * MS, written, 500000);
	put(&world, 1, SONDE_WAIT_READ, 10, 10, world.file, 1000000);
	put(&world, 1, SONDE_WAIT_WRITE, 30, 10, world.file, 500000);
	put(&world, 1, SONDE_WAIT_SEND, 40, 10, world.file, 70000); /* not in the kernel's count */
	put(&world, 1, SONDE_WAIT_MAP, 50, 1, world.file, 0);
	put(&world, 1, SONDE_WAIT_CLOSE, 60, 1, 0, 0);
	put(&world, 1, SONDE_WAIT_READ, 60, 1, 0, 0);
	put(&world, 4, SONDE_WAIT_READ, 20, 10, world.file, 2000000);
	recording_close(r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "io io-seen", NULL);
	const struct sonde_section *t = sections_get(&s, "io");
	assert_true(sections_noted(t->notes, "77.8 % of 4.500 MB")); /* 3.5 MB */
	assert_true(sections_noted(t->notes, "for 1 process, less than 95 %"));
	assert_true(sections_noted(t->notes, "reads of mapped files (1 time)"));
	assert_true(sections_noted(t->notes, "2 calls on an unknown file"));
	assert_true(sections_noted(t->notes, "1 closed unused"));
	assert_true(sections_noted(t->notes, "1 its name exceeded the limit"));
	t = sections_get(&s, "io-seen");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(sections_int(t, "process", "static", "read_b"), 1000000);
	assert_near(sections_real(t, "process", "static", "share_seen"), 0, 1e-9);
	assert_string_equal(sections_cell(t, row_of(t, 0), "missing")->text, "all calls: a static program?");
	sections_free(&s);
	struct sonde_pass_options requested = {.requested = 1};
	s = sections_of(path, "io-seen", &requested);
	t = sections_get(&s, "io-seen");
	assert_int_equal(t->table.row_count, 2);
	assert_near(sections_real(t, "process", "train", "share_seen"), 1, 1e-9);
	assert_int_equal(sections_int(t, "process", "train", "read_seen_b"), 1000000);
	sections_free(&s);
}

/* A pipe whose reader waits, and a pipe that is full: the time and the call site of their calls are their own. */
static void small_writes(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	uint32_t take = world.load, give = recording_call(&world.r, 0, 1, "give", 30);
	uint32_t full = recording_object(&world.r, 1, SONDE_OBJECT_PIPE, "pipe:[2]", 0);
	for (uint64_t i = 0, us = 0; i < 2000; i++, us += 148) {
		world.load = give;
		put(&world, 1, SONDE_WAIT_WRITE, us, 8, world.pipe, 4);
		put(&world, 1, SONDE_WAIT_WRITE, us + 8, 50, full, 65536);
		world.load = take;
		put(&world, 2, SONDE_WAIT_READ, us + 58, 90, world.pipe, 4);
	}
	recording_process_end(&world.r, 1, START + 296 * MS, 0, 0);
	recording_close(&world.r, START + 296 * MS, 0);
	struct sections s = sections_of(path, "io", NULL);
	const struct sonde_section *io = sections_get(&s, "io");
	const struct sonde_cell *pipe = row_of(io, 0);
	assert_int_equal(sections_cell(io, pipe, "total_ns")->integer, 2000 * 98 * US);
	assert_int_equal(sections_cell(io, pipe, "read_ns")->integer, 2000 * 90 * US);
	assert_int_equal(sections_cell(io, pipe, "write_ns")->integer, 2000 * 8 * US);
	assert_string_equal(sections_cell(io, pipe, "most_in")->text, "load (load.c:20)");
	assert_string_equal(sections_cell(io, pipe, "most_reads_in")->text, "load (load.c:20)");
	assert_string_equal(sections_cell(io, pipe, "most_writes_in")->text, "give (give.c:30)");
	assert_int_equal(sections_cell(io, row_of(io, 1), "most_reads_in")->kind, SONDE_CELL_ABSENT);
	struct sonde_found found;
	assert_int_equal(sonde_findings_find(&found, s.session, &(struct sonde_pass_options){0}, s.report, NULL), 0);
	size_t small = 0;
	for (size_t i = 0; i < found.count; i++) {
		if (strncmp(found.rows[i].rule->id, "small-", 6) != 0)
			continue;
		small++;
		assert_string_equal(found.rows[i].subject, "pipe:[1], most in give (give.c:30)");
		assert_non_null(strstr(found.rows[i].evidence, "8.00 µs each: 0.016 s"));
	}
	assert_int_equal(small, 1);
	free(found.rows);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(phases), cmocka_unit_test(others), cmocka_unit_test(waiting_for_a_cpu),
	    cmocka_unit_test(zones),  cmocka_unit_test(shares), cmocka_unit_test(small_writes),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
