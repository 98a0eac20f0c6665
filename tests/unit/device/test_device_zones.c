/* test_device_zones.c: GPU memory in zones, on recordings whose answers are known. */
#include "device_fixture.h"
#include "sonde/device.h"

struct memory {
	struct recording r;
	uint32_t queue, get, pin, give;
};

static void open_with_device(struct memory *memory)
{
	const struct sonde_meta_operation of_device = {.to = SONDE_MEMORY_DEVICE},
					  of_host = {.to = SONDE_MEMORY_PINNED};
	struct recording *r = &memory->r;
	simple_open(r);
	r->chunk_rows = 3;
	memory->queue = recording_queue(r, device(r, "first", 0), "q", 1);
	memory->get = recording_operation(r, SONDE_ACTIVITY_ALLOC, "get", of_device);
	memory->pin = recording_operation(r, SONDE_ACTIVITY_ALLOC, "pin", of_host);
	memory->give = recording_operation(r, SONDE_ACTIVITY_FREE, "give", of_device);
}

/* A call of 1 ms. */
static void call(struct memory *memory, uint32_t operation, uint64_t at_ms, uint64_t address, uint64_t size_b)
{
	recording_activity(&memory->r, (struct recording_activity){.start_ns = START + at_ms * MS,
								   .dur_ns = MS,
								   .operation = operation,
								   .queue = memory->queue,
								   .thread = 1,
								   .size_b = size_b,
								   .address = address});
}

/* 100 from 11 to 30, 200 from 21 to 50, 150 from 41 to 66; 1000 of the host's from 2 on. */
static void put_blocks(struct memory *memory)
{
	call(memory, memory->give, 66, 3, 0);
	call(memory, memory->get, 40, 3, 150);
	call(memory, memory->get, 10, 1, 100);
	call(memory, memory->pin, 1, 9, 1000);
	call(memory, memory->get, 20, 2, 200);
	call(memory, memory->give, 30, 1, 0);
	call(memory, memory->give, 50, 2, 0);
}

static void zone(struct recording *r, uint32_t thread, uint32_t site, uint64_t from_ms, uint64_t to_ms)
{
	recording_begin(r, thread, site, START + from_ms * MS);
	recording_end(r, thread, START + to_ms * MS);
}

static void put_zones(struct recording *r)
{
	uint32_t before = recording_site(r, SONDE_SITE_ZONE, "before", NULL);
	uint32_t step = recording_site(r, SONDE_SITE_ZONE, "step", NULL);
	uint32_t load = recording_site(r, SONDE_SITE_ZONE, "load", NULL);
	uint32_t again = recording_site(r, SONDE_SITE_ZONE, "again", NULL);
	uint32_t other = recording_site(r, SONDE_SITE_ZONE, "other", NULL);
	recording_thread(r, 1, 101, "other", START);
	zone(r, 1, before, 2, 5);
	recording_begin(r, 1, step, START + 5 * MS);
	zone(r, 1, load, 15, 25);
	zone(r, 1, load, 32, 45);
	recording_end(r, 1, START + 45 * MS);
	recording_begin(r, 1, again, START + 62 * MS);
	zone(r, 1, again, 65, 70);
	recording_end(r, 1, START + 80 * MS);
	zone(r, 2, other, 28, 31);
}

static struct sections sections_of_zones(const struct sonde_pass_options *options)
{
	struct memory memory;
	open_with_device(&memory);
	put_blocks(&memory);
	put_zones(&memory.r);
	recording_close(&memory.r, START + 100 * MS, 0);
	return sections_of(path, "device-zones", options);
}

static void zones_know_what_was_allocated(void **state)
{
	(void)state;
	struct sections s = sections_of_zones(NULL);
	const struct sonde_section *t = sections_get(&s, "device-zones");
	assert_int_equal(t->table.row_count, 4); /* not "before": nothing was allocated in it */
	assert_int_equal(sections_int(t, "zone", "step", "peak_b"), 350);
	assert_int_equal(sections_int(t, "zone", "step", "rise_b"), 350);
	assert_int_equal(sections_int(t, "zone", "step", "change_b"), 350);
	assert_int_equal(sections_int(t, "zone", "step", "allocated_b"), 450);
	assert_int_equal(sections_int(t, "zone", "step", "allocations"), 3);
	assert_near(sections_real(t, "zone", "step", "begin_b"), 0, 1e-9);
	assert_near(sections_real(t, "zone", "step", "end_b"), 350, 1e-9);
	/* 100 to 300 and 200 to 350 */
	assert_int_equal(sections_int(t, "zone", "load", "calls"), 2);
	assert_int_equal(sections_int(t, "zone", "load", "peak_b"), 350);
	assert_int_equal(sections_int(t, "zone", "load", "rise_b"), 200);
	assert_int_equal(sections_int(t, "zone", "load", "change_b"), 350);
	assert_int_equal(sections_int(t, "zone", "load", "allocations"), 2);
	assert_near(sections_real(t, "zone", "load", "begin_b"), 150, 1e-9);
	assert_near(sections_real(t, "zone", "load", "end_b"), 325, 1e-9);
	assert_string_equal(sonde_report_cell_text(t, 0, "device"), "Own first 0");
	sections_free(&s);
}

/* A zone of another thread sees the memory of its process, and one inside one of its own name changes nothing twice. */
static void threads_and_recursion(void **state)
{
	(void)state;
	struct sections s = sections_of_zones(NULL);
	const struct sonde_section *t = sections_get(&s, "device-zones");
	assert_int_equal(sections_int(t, "zone", "other", "peak_b"), 300);
	assert_int_equal(sections_int(t, "zone", "other", "rise_b"), 0);
	assert_int_equal(sections_int(t, "zone", "other", "allocations"), 0);
	assert_near(sections_real(t, "zone", "other", "change_b"), -100, 1e-9);
	assert_int_equal(sections_int(t, "zone", "again", "calls"), 2);
	assert_int_equal(sections_int(t, "zone", "again", "peak_b"), 150);
	assert_near(sections_real(t, "zone", "again", "change_b"), -150, 1e-9);
	assert_near(sections_real(t, "zone", "again", "begin_b"), 150, 1e-9);
	assert_near(sections_real(t, "zone", "again", "end_b"), 0, 1e-9);
	sections_free(&s);
}

static void chosen_zones_see_all_blocks(void **state)
{
	static const uint8_t second[] = {0, 0, 1};
	const struct sonde_pass_options of_thread = {.selection.thread = second, .thread_is = "thread 101"};
	const struct sonde_pass_options of_time = {.selection.from_ns = START + 30 * MS,
						   .selection.to_ns = START + 60 * MS};
	(void)state;
	struct sections s = sections_of_zones(&of_thread);
	const struct sonde_section *t = sections_get(&s, "device-zones");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(sections_int(t, "zone", "other", "peak_b"), 300);
	sections_free(&s);
	s = sections_of_zones(&of_time);
	t = sections_get(&s, "device-zones");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(sections_int(t, "zone", "load", "calls"), 1);
	assert_near(sections_real(t, "zone", "load", "begin_b"), 200, 1e-9);
	sections_free(&s);
}

static void absent_with_the_reason(void **state)
{
	static const struct sonde_pass_options requested = {.requested = 1};
	struct memory memory;
	(void)state;
	open_with_device(&memory);
	put_zones(&memory.r);
	call(&memory, memory.pin, 1, 9, 1000); /* the host's */
	recording_close(&memory.r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-zones", &requested);
	assert_true(sections_noted(sections_get(&s, "device-zones")->notes, "no GPU memory allocation"));
	sections_free(&s);
	open_with_device(&memory);
	put_blocks(&memory);
	recording_close(&memory.r, START + 100 * MS, 0);
	s = sections_of(path, "device-zones", &requested);
	assert_true(sections_noted(sections_get(&s, "device-zones")->notes, "no zones"));
	sections_free(&s);
}

/* Pools: one of 400 from 11 on, of 900 from 36 to 71, when it is destroyed; another of 50 from 43 on. */
static void reserve_stands_apart(void **state)
{
	struct memory memory;
	(void)state;
	open_with_device(&memory);
	uint32_t pool = recording_operation(&memory.r, SONDE_ACTIVITY_POOL, "pool",
					    (struct sonde_meta_operation){.to = SONDE_MEMORY_DEVICE});
	put_blocks(&memory);
	call(&memory, pool, 70, 77, 0);
	call(&memory, pool, 42, 78, 50);
	call(&memory, pool, 10, 77, 400);
	call(&memory, pool, 35, 77, 900);
	put_zones(&memory.r);
	recording_close(&memory.r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "device-zones device-memory", NULL);
	const struct sonde_section *t = sections_get(&s, "device-zones");
	assert_int_equal(sections_int(t, "zone", "step", "reserved_peak_b"), 950);
	assert_int_equal(sections_int(t, "zone", "step", "reserved_change_b"), 950);
	assert_int_equal(sections_int(t, "zone", "step", "peak_b"), 350);
	assert_int_equal(sections_int(t, "zone", "load", "reserved_peak_b"), 950);
	assert_int_equal(sections_int(t, "zone", "load", "reserved_change_b"), 550); /* 0 and 550 */
	assert_int_equal(sections_int(t, "zone", "other", "reserved_peak_b"), 400);
	assert_near(sections_real(t, "zone", "again", "reserved_change_b"), -900, 1e-9);
	assert_int_equal(sections_int(sections_get(&s, "device-memory"), "memory", "device", "peak_b"), 350);
	sections_free(&s);
	s = sections_of_zones(NULL);
	assert_absent(sections_get(&s, "device-zones"), 0, "reserved_peak_b", "not reported");
	sections_free(&s);
}

/* --- against adding up by hand ----------------------------------------------------------------------------------- */

enum { BLOCKS = 60, ZONES = 40 };

static uint64_t drawn(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

/* What lives from `begun_ms` on, up to `ended_ms`. */
struct block {
	uint64_t begun_ms, ended_ms, size_b;
};

static uint64_t held_at(const struct block *blocks, uint64_t ms)
{
	uint64_t held_b = 0;
	for (int i = 0; i < BLOCKS; i++)
		held_b += blocks[i].begun_ms <= ms && ms < blocks[i].ended_ms ? blocks[i].size_b : 0;
	return held_b;
}

static void any_zone_is_as_added_up(void **state)
{
	struct block blocks[BLOCKS];
	struct memory memory;
	uint64_t from_ms[ZONES], to_ms[ZONES], seed = 7, at_ms = 1;
	(void)state;
	open_with_device(&memory);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		blocks[i].begun_ms = 2 + drawn(&seed, 400);
		blocks[i].ended_ms = blocks[i].begun_ms + 1 + drawn(&seed, 100);
		blocks[i].size_b = 1 + drawn(&seed, 1000);
		call(&memory, memory.get, blocks[i].begun_ms - 1, i + 1, blocks[i].size_b);
		call(&memory, memory.give, blocks[i].ended_ms, i + 1, 0);
	}
	for (int i = 0; i < ZONES; i++) {
		char name[16];
		snprintf(name, sizeof name, "zone %d", i);
		from_ms[i] = at_ms + drawn(&seed, 5);
		to_ms[i] = from_ms[i] + drawn(&seed, 12);
		at_ms = to_ms[i];
		zone(&memory.r, 1, recording_site(&memory.r, SONDE_SITE_ZONE, name, NULL), from_ms[i], to_ms[i]);
	}
	recording_close(&memory.r, START + 900 * MS, 0);
	struct sonde_pass_options all = {.limit = ZONES};
	struct sections s = sections_of(path, "device-zones", &all);
	const struct sonde_section *t = sections_get(&s, "device-zones");
	size_t rows = 0;
	for (int i = 0; i < ZONES; i++) {
		char name[16];
		uint64_t peak_b = 0;
		snprintf(name, sizeof name, "zone %d", i);
		for (uint64_t ms = from_ms[i]; ms <= to_ms[i]; ms++)
			peak_b = held_at(blocks, ms) > peak_b ? held_at(blocks, ms) : peak_b;
		if (!peak_b)
			continue;
		rows++;
		assert_int_equal(sections_int(t, "zone", name, "peak_b"), peak_b);
		assert_near(sections_real(t, "zone", name, "begin_b"), (double)held_at(blocks, from_ms[i]), 1e-9);
		assert_near(sections_real(t, "zone", name, "end_b"), (double)held_at(blocks, to_ms[i]), 1e-9);
	}
	assert_true(rows > ZONES / 2);
	assert_int_equal(t->table.row_count, rows);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(zones_know_what_was_allocated), cmocka_unit_test(threads_and_recursion),
	    cmocka_unit_test(chosen_zones_see_all_blocks),   cmocka_unit_test(absent_with_the_reason),
	    cmocka_unit_test(reserve_stands_apart),          cmocka_unit_test(any_zone_is_as_added_up),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
