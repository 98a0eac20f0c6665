/* test_analyze_waits.c: where threads wait, for which locks and files, and who held them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"
#include "session/weigh.h"

enum { PROGRAM = 1, LIBC = 2 };

struct world {
	struct recording r;
	uint32_t main, produce, consume; /* stacks: produce and consume wait inside the C library */
	uint32_t queue, table, file, other_file;
};

/* Threads 1 … 3 of one process; the leaf of every waiting stack is in the C library. */
static void world_open(struct world *world)
{
	struct recording *r = &world->r;
	recording_open(r, path);
	recording_process(r, 100, 0, "prog", START);
	recording_thread(r, 1, 100, "main", START);
	recording_thread(r, 1, 101, "producer", START);
	recording_thread(r, 1, 102, "consumer", START);
	recording_module(r, "/usr/bin/prog", 0);
	recording_module(r, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0);
	world->main = recording_call(r, 0, PROGRAM, "main", 10);
	uint32_t produce = recording_call(r, world->main, PROGRAM, "produce", 20);
	uint32_t consume = recording_call(r, world->main, PROGRAM, "consume", 30);
	uint32_t standard = recording_call(r, consume, PROGRAM, "std::mutex::lock", 40);
	world->produce = recording_call(r, produce, LIBC, "__lll_lock_wait", 1);
	world->consume = recording_call(r, standard, LIBC, "__lll_lock_wait", 1);
	world->queue = recording_object(r, 1, SONDE_OBJECT_LOCK, "queue_mutex", 0x4040);
	world->table = recording_object(r, 1, SONDE_OBJECT_LOCK, "", 0x5050);
	world->file = recording_object(r, 1, SONDE_OBJECT_FILE, "/data/train.bin", 0);
	world->other_file = recording_object(r, 1, SONDE_OBJECT_FILE, "/data/train.bin", 0);
}

static void put(struct world *world, uint32_t thread, enum sonde_wait_kind kind, uint64_t start_ms, uint64_t dur_ms,
		uint32_t stack, uint32_t object, uint64_t amount)
{
	recording_wait(&world->r, (struct recording_wait){.start_ns = START + start_ms * MS,
							  .dur_ns = dur_ms * MS,
							  .thread = thread,
							  .kind = kind,
							  .stack = stack,
							  .object = object,
							  .amount = amount});
}

static void fill(struct world *world)
{
	put(world, 2, SONDE_WAIT_MUTEX, 50, 30, world->produce, world->queue, 0);
	put(world, 3, SONDE_WAIT_MUTEX, 10, 5, world->consume, world->queue, 0);
	put(world, 3, SONDE_WAIT_MUTEX, 20, 10, world->consume, world->queue, SONDE_WAIT_IN_VAIN); /* no bytes */
	put(world, 1, SONDE_WAIT_HELD, 10, 50, world->main, world->queue, 0);
	put(world, 1, SONDE_WAIT_HELD, 70, 0, world->main, world->queue, 0); /* signalled, not held */
	put(world, 2, SONDE_WAIT_HELD, 80, 10, world->produce, world->queue, 0);
	put(world, 2, SONDE_WAIT_WRITE_LOCK, 90, 4, world->produce, world->table, 0);
	put(world, 1, SONDE_WAIT_READ, 5, 2, world->produce, world->file, 4096);
	put(world, 1, SONDE_WAIT_READ, 8, 1, world->produce, world->other_file, 1000);
	put(world, 3, SONDE_WAIT_WRITE, 60, 7, world->consume, world->file, 300);
	put(world, 3, SONDE_WAIT_SYNC, 70, 8, world->consume, world->file, 0);
	put(world, 1, SONDE_WAIT_SLEEP, 0, 3, world->main, 0, 0);
	recording_close(&world->r, START + 100 * MS, 0);
}

static void places(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	world.r.chunk_rows = 4; /* chunks end anywhere */
	fill(&world);
	struct sections s = sections_of(path, "waits", NULL);
	const struct sonde_section *t = sections_get(&s, "waits");
	assert_int_equal(t->table.row_count, 7); /* held is no waiting */
	/* rows in order: produce for the mutex 30 ms, consume for the mutex 15 ms, … */
	const struct sonde_cell *first = t->table.cells;
	assert_string_equal(sections_cell(t, first, "function")->text, "produce");
	assert_string_equal(sections_cell(t, first, "kind")->text, "mutex");
	assert_int_equal(sections_cell(t, first, "total_ns")->integer, 30 * MS);
	const struct sonde_cell *second = first + t->table.column_count;
	assert_string_equal(sections_cell(t, second, "function")->text, "consume"); /* not std::mutex::lock */
	assert_int_equal(sections_cell(t, second, "total_ns")->integer, 15 * MS);
	assert_int_equal(sections_cell(t, second, "calls")->integer, 2);
	assert_int_equal(sections_cell(t, second, "mean_ns")->integer, 15 * MS / 2);
	assert_int_equal(sections_cell(t, second, "longest_ns")->integer, 10 * MS);
	assert_near(sections_cell(t, second, "share")->real, 15.0 / 70, 1e-12);
	assert_true(sections_noted(t->notes, "0.070 s blocked in 9 libc calls"));
	sections_free(&s);
}

static void locks(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	fill(&world);
	struct sections s = sections_of(path, "locks", NULL);
	const struct sonde_section *t = sections_get(&s, "locks");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waited_ns"), 45 * MS);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waits"), 3);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waiters"), 2);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "held_ns"), 60 * MS);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "holders"), 2);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "held_mean_ns"), 30 * MS);
	const struct sonde_cell *row = sections_row(t, "lock", "queue_mutex");
	assert_string_equal(sections_cell(t, row, "waits_in")->text, "produce (produce.c:20)");
	assert_string_equal(sections_cell(t, row, "held_in")->text, "main (main.c:10)");
	assert_int_equal(sections_int(t, "lock", "0x5050", "waited_ns"), 4 * MS);
	row = sections_row(t, "lock", "0x5050");
	assert_int_equal(sections_cell(t, row, "held_ns")->kind, SONDE_CELL_ABSENT);
	sections_free(&s);
}

static void files(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	fill(&world);
	struct sections s = sections_of(path, "io wait-kinds", NULL);
	const struct sonde_section *t = sections_get(&s, "io");
	assert_int_equal(t->table.row_count, 1); /* two descriptors of the same file */
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "total_ns"), 18 * MS);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "reads"), 2);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "read_b"), 5096);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "writes"), 1);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "written_b"), 300);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "other_calls"), 1);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "longest_ns"), 8 * MS);
	assert_int_equal(sections_int(t, "file", "/data/train.bin", "mean_b"), 5396 / 3);
	t = sections_get(&s, "wait-kinds");
	assert_int_equal(sections_int(t, "kind", "held", "calls"), 2);
	assert_int_equal(sections_int(t, "kind", "mutex", "calls"), 3);
	assert_int_equal(sections_cell(t, sections_row(t, "kind", "mutex"), "amount_b")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_int(t, "kind", "read", "calls"), 2);
	assert_int_equal(sections_int(t, "kind", "read", "mean_b"), 2548);
	assert_int_equal(sections_int(t, "kind", "held", "calls"), 2);
	assert_int_equal(sections_int(t, "kind", "mutex", "max_ns"), 30 * MS);
	sections_free(&s);
}

/* From 25 to 55 ms: 5 ms of one wait, the first 5 ms of another; reads lie outside. With one thread: its own. */
static void parts(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	fill(&world);
	struct sonde_pass_options options = {
	    .selection.from_ns = START + 25 * MS, .selection.to_ns = START + 55 * MS, .requested = 1};
	struct sections s = sections_of(path, "waits locks io wait-kinds", &options);
	const struct sonde_section *t = sections_get(&s, "locks");
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waited_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waits"), 1);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "mean_ns"), 5 * MS); /* of the one that began there */
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "held_ns"), 30 * MS);
	const struct sonde_cell *row = sections_row(t, "lock", "queue_mutex");
	assert_int_equal(sections_cell(t, row, "held_mean_ns")->kind, SONDE_CELL_ABSENT);
	t = sections_get(&s, "waits");
	assert_int_equal(sections_int(t, "function", "produce", "mean_ns"), 5 * MS);
	row = sections_row(t, "function", "consume");
	assert_int_equal(sections_cell(t, row, "total_ns")->integer, 5 * MS);
	assert_int_equal(sections_cell(t, row, "mean_ns")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_get(&s, "io")->table.row_count, 0);
	t = sections_get(&s, "wait-kinds");
	assert_int_equal(sections_int(t, "kind", "mutex", "calls"), 1);
	assert_int_equal(sections_int(t, "kind", "mutex", "total_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "kind", "mutex", "max_ns"), 30 * MS); /* as long as it took */
	assert_int_equal(sections_int(t, "kind", "held", "calls"), 0);
	assert_int_equal(sections_int(t, "kind", "held", "total_ns"), 30 * MS);
	row = sections_row(t, "kind", "held");
	assert_int_equal(sections_cell(t, row, "max_ns")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "times lie within the selection"));
	sections_free(&s);
	const uint8_t only[] = {0, 0, 0, 1};
	struct sonde_pass_options third = {.selection.thread = only, .thread_is = "thread consumer"};
	s = sections_of(path, "locks", &third);
	t = sections_get(&s, "locks");
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waited_ns"), 15 * MS);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "waiters"), 1);
	sections_free(&s);
	const uint8_t producer[] = {0, 0, 1, 0};
	third.selection.thread = producer;
	s = sections_of(path, "locks", &third);
	t = sections_get(&s, "locks");
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "held_ns"), 10 * MS);
	row = sections_row(t, "lock", "queue_mutex");
	assert_int_equal(sections_cell(t, row, "held_in")->kind,
			 SONDE_CELL_ABSENT); /* a thread does not wait for itself */
	sections_free(&s);
}

/* Two calls of one call site in the selected time, one of which started before it: the mean is the other's. */
static void means(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	fill(&world);
	struct sonde_pass_options options = {
	    .selection.from_ns = START + 12 * MS, .selection.to_ns = START + 40 * MS, .requested = 1};
	struct sections s = sections_of(path, "waits locks", &options);
	const struct sonde_section *t = sections_get(&s, "waits");
	assert_int_equal(sections_int(t, "function", "consume", "total_ns"), 13 * MS);
	assert_int_equal(sections_int(t, "function", "consume", "calls"), 1);
	assert_int_equal(sections_int(t, "function", "consume", "mean_ns"), 10 * MS);
	assert_int_equal(sections_int(sections_get(&s, "locks"), "lock", "queue_mutex", "mean_ns"), 10 * MS);
	sections_free(&s);
}

/* A hold that explains little of the waiting names no holder: it is the hold of a waiter, for which other threads
 * waited later. */
static void unexplained(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	put(&world, 2, SONDE_WAIT_WRITE_LOCK, 0, 40, world.produce, world.table, 0);
	put(&world, 3, SONDE_WAIT_WRITE_LOCK, 0, 42, world.consume, world.table, 0);
	put(&world, 2, SONDE_WAIT_HELD, 40, 2, world.produce, world.table, 0);
	fill(&world);
	struct sections s = sections_of(path, "locks", NULL);
	const struct sonde_section *t = sections_get(&s, "locks");
	const struct sonde_cell *row = sections_row(t, "lock", "0x5050");
	assert_int_equal(sections_int(t, "lock", "0x5050", "held_ns"), 2 * MS);
	assert_int_equal(sections_cell(t, row, "held_in")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "for 1 lock, recorded holds explain less than half"));
	assert_true(sections_noted(t->notes, "from the first contention on"));
	assert_true(sections_noted(t->notes, "shared by readers: held"));
	row = sections_row(t, "lock", "queue_mutex");
	assert_string_equal(sections_cell(t, row, "held_in")->text, "main (main.c:10)");
	sections_free(&s);
}

/* A kind of a newer version, an object that does not exist, no stack; and a recording without waits. */
static void odd(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	put(&world, 1, (enum sonde_wait_kind)60, 1, 1, 0, 0, 0);
	put(&world, 1, SONDE_WAIT_MUTEX, 1, 1, 0, 77, 0);
	recording_close(&world.r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "waits locks", NULL);
	const struct sonde_section *t = sections_get(&s, "waits");
	assert_int_equal(t->table.row_count, 1);
	assert_string_equal(sections_cell(t, t->table.cells, "function")->text, "(no stack)");
	t = sections_get(&s, "locks");
	assert_string_equal(sections_cell(t, t->table.cells, "lock")->text, "(unknown)");
	sections_free(&s);
	world_open(&world);
	recording_close(&world.r, START + 100 * MS, 0);
	s = sections_of(path, "waits locks io", NULL);
	assert_null(sections_find(&s, "waits"));
	assert_null(sections_find(&s, "locks"));
	assert_null(sections_find(&s, "io"));
	sections_free(&s);
}

static void put_sampled(struct world *world, enum sonde_wait_kind kind, uint64_t start_ms, uint64_t looks,
			uint32_t stack, uint32_t object)
{
	recording_wait(&world->r, (struct recording_wait){.start_ns = START + start_ms * MS,
							  .dur_ns = looks * 10 * MS,
							  .thread = 2,
							  .kind = kind,
							  .stack = stack,
							  .status = SONDE_WAIT_SAMPLED,
							  .object = object,
							  .amount = looks});
}

/* Sampled waits have sections of their own, whose sums are estimates, and are in no sum of calls. */
static void sampled(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	put_sampled(&world, SONDE_WAIT_FUTEX, 0, 2, world.produce, world.queue);
	put_sampled(&world, SONDE_WAIT_FUTEX, 20, 1, world.produce, world.queue);
	put_sampled(&world, SONDE_WAIT_READ, 40, 1, world.consume, world.file);
	fill(&world);
	struct sections s = sections_of(path, "waits wait-kinds locks io", NULL);
	assert_true(sections_noted(sections_get(&s, "waits")->notes, "0.070 s blocked in 9 libc calls"));
	assert_int_equal(sections_int(sections_get(&s, "locks"), "lock", "queue_mutex", "waited_ns"), 45 * MS);
	assert_int_equal(sections_int(sections_get(&s, "io"), "file", "/data/train.bin", "total_ns"), 18 * MS);
	assert_int_equal(sections_int(sections_get(&s, "wait-kinds"), "kind", "read", "calls"), 2);
	const struct sonde_section *t = sections_get(&s, "waits-sampled");
	assert_int_equal(t->table.row_count, 2);
	assert_near(sections_real(t, "kind", "futex", "total_ns"), 30 * MS, 0.5);
	assert_near(sections_real(t, "kind", "futex", "share"), 0.75, 1e-12);
	assert_int_equal(sections_int(t, "kind", "futex", "looks"), 3);
	assert_int_equal(sections_int(t, "kind", "futex", "waits_found"), 2);
	const struct sonde_cell *row = sections_row(t, "kind", "futex");
	assert_string_equal(sections_cell(t, row, "function")->text, "produce");
	assert_string_equal(sections_cell(t, row, "most_for")->text, "queue_mutex");
	assert_near(sections_cell(t, row, "total_ns")->plus_minus, 1.96 * sqrt(2) * 10 * MS, 1);
	for (size_t i = 0; i < t->table.column_count; i++)
		if (t->table.columns[i].unit == SONDE_UNIT_NS)
			assert_int_equal(t->table.columns[i].basis, SONDE_BASIS_ESTIMATED);
	assert_true(sections_noted(t->notes, "4 polls found"));
	t = sections_get(&s, "locks-sampled");
	assert_int_equal(t->table.row_count, 1); /* a file is none */
	row = sections_row(t, "lock", "queue_mutex");
	assert_near(sections_cell(t, row, "waited_ns")->real, 30 * MS, 0.5);
	assert_near(sections_cell(t, row, "waited_ns")->plus_minus, 1.96 * sqrt(2) * 10 * MS, 1);
	assert_int_equal(sections_int(t, "lock", "queue_mutex", "looks"), 3);
	assert_non_null(strstr(sections_cell(t, row, "waits_in")->text, "produce"));
	t = sections_get(&s, "wait-kinds-sampled");
	assert_near(sections_real(t, "kind", "read", "total_ns"), 10 * MS, 0.5);
	sections_free(&s);
}

/* Without measured waits, there are only sampled ones; weights state which part is sampled. */
static void sampled_alone(void **state)
{
	(void)state;
	struct world world;
	world_open(&world);
	put_sampled(&world, SONDE_WAIT_FUTEX, 0, 2, world.produce, world.queue);
	recording_close(&world.r, START + 100 * MS, 0);
	const struct sonde_pass_options options = {.requested = 1, .weigh.by = SONDE_WEIGH_WAITING};
	struct sections s = sections_of(path, "waits wait-kinds locks calltree", &options);
	assert_null(sections_find(&s, "waits"));
	assert_null(sections_find(&s, "wait-kinds"));
	assert_non_null(sections_find(&s, "waits-sampled"));
	assert_non_null(sections_find(&s, "wait-kinds-sampled"));
	assert_null(sections_find(&s, "locks"));
	assert_true(sections_noted(sections_get(&s, "locks-sampled")->notes, "sampled: "));
	assert_true(sections_noted(sections_get(&s, "calltree")->notes, "0.020 s of it were sampled"));
	sections_free(&s);
}

/* If calls were lost, each section that adds them up says so. */
static void lost(void **state)
{
	(void)state;
	static const char *const ids[] = {"waits", "wait-kinds", "locks", "io"};
	struct world world;
	world_open(&world);
	recording_lost(&world.r, "waits", "ring full", 12);
	recording_lost(&world.r, "waits", "words that make no sense", 5);
	recording_lost(&world.r, "waits", "processes that are not recorded: busy", 100);
	recording_lost(&world.r, "cpu", "ring full", 1000);
	fill(&world);
	struct sections s = sections_of(path, "waits wait-kinds locks io", NULL);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		assert_true(sections_noted(sections_get(&s, ids[i])->notes, "17 events of calls were lost"));
	sections_free(&s);
}

/* A sampled wait in the selected part is included as a whole, to the ns, however long it is. */
static void sampled_waits_are_whole(void **state)
{
	(void)state;
	const struct sonde_selection all = {.from_ns = START, .to_ns = START + 1000000000000};
	for (uint64_t dur_ns = 100000001; dur_ns < 400000000; dur_ns += 300007)
		assert_int_equal(sonde_weigh_sampled(&all, &all, START + 5, dur_ns), dur_ns);
	const struct sonde_selection half = {.from_ns = START, .to_ns = START + 500};
	assert_int_equal(sonde_weigh_sampled(&all, &half, START, 1000), 500);
	assert_int_equal(sonde_weigh_sampled(&half, &half, START, 1000), 1000); /* what sticks out belongs to it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sampled_waits_are_whole),
	    cmocka_unit_test(places),
	    cmocka_unit_test(locks),
	    cmocka_unit_test(files),
	    cmocka_unit_test(parts),
	    cmocka_unit_test(means),
	    cmocka_unit_test(unexplained),
	    cmocka_unit_test(odd),
	    cmocka_unit_test(sampled),
	    cmocka_unit_test(sampled_alone),
	    cmocka_unit_test(lost),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
