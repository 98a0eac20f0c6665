/* test_heap_scan.c: which blocks are reachable in synthetic memory, by hand and at random against a simple model;
 * which mappings count. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/heap/suppressions.h"
#include "source/heap/roots.h"
#include "source/heap/scan.h"

#define BASE UINT64_C(0x7f00c0000000)
#define MEMORY_B (16u << 20)

struct memory {
	uint8_t *bytes;
	int fails_after; /* calls; −1 = never */
	uint64_t calls;
};

static int read_memory(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out)
{
	struct memory *memory = context;
	uint8_t *at = out;
	if (memory->fails_after >= 0 && (int)memory->calls++ >= memory->fails_after)
		return -ETIMEDOUT;
	for (size_t i = 0; i < count; i++)
		for (uint64_t address = pieces[i].start; address < pieces[i].end; address++)
			*at++ = address - BASE < MEMORY_B ? memory->bytes[address - BASE] : 0;
	return 0;
}

struct world {
	struct memory memory;
	struct sonde_heap_reader reader;
	struct sonde_heap_live live;
	struct sonde_heap_scan *scan;
};

static void begin(struct world *world)
{
	*world = (struct world){.memory = {calloc(1, MEMORY_B), -1, 0}};
	world->reader = (struct sonde_heap_reader){&world->memory, read_memory, NULL};
	assert_non_null(world->memory.bytes);
}

static void add(struct world *world, uint64_t at_b, uint64_t size_b, uint32_t site)
{
	struct sonde_heap_block block = {.address = BASE + at_b, .born = 1, .size_b = size_b, .site = site}, before;
	assert_int_equal(sonde_heap_live_add(&world->live, &block, &before), 0);
}

static void put(struct world *world, uint64_t at_b, uint64_t word)
{
	memcpy(world->memory.bytes + at_b, &word, 8);
}

static void index_blocks(struct world *world)
{
	assert_int_equal(sonde_heap_scan_new(&world->scan, &world->live, &world->reader), 0);
}

static void end(struct world *world)
{
	sonde_heap_scan_free(world->scan);
	sonde_heap_live_fini(&world->live);
	free(world->memory.bytes);
}

static int state_at(const struct world *world, uint64_t at_b)
{
	size_t i = sonde_heap_scan_find(world->scan, BASE + at_b);
	assert_true(i < sonde_heap_scan_count(world->scan));
	return (int)sonde_heap_scan_state(world->scan, i);
}

/* A root at 0 … 63; blocks from 4096 on, each 256 bytes apart. */
#define AT(block) (4096u + 256u * (block))

static void rules(void **unused)
{
	(void)unused;
	struct world world;
	begin(&world);
	for (unsigned i = 0; i < 12; i++)
		add(&world, AT(i), i == 9 || i == 10 ? 8 : 100, i + 1);
	put(&world, 0, BASE + AT(0));        /* the begin of a block */
	put(&world, 8, BASE + AT(1) + 99);   /* its last byte */
	put(&world, 16, BASE + AT(2) + 100); /* behind it */
	put(&world, 28, BASE + AT(3));       /* not aligned */
	put(&world, 40, BASE + AT(9) + 8);   /* behind 8 bytes that hold 0: an empty array */
	put(&world, 48, BASE + AT(10) + 8);  /* that do not */
	put(&world, AT(10), 1);
	put(&world, AT(0) + 96, BASE + AT(4)); /* 4 bytes of the word are not the block's */
	put(&world, AT(1) + 8, BASE + AT(5));  /* a chain */
	put(&world, AT(5) + 16, BASE + AT(6) + 5);
	put(&world, AT(7), BASE + AT(8)); /* lost, and what it points to */
	put(&world, AT(11), BASE + AT(11));
	index_blocks(&world);
	assert_int_equal(sonde_heap_scan_root(world.scan, (struct sonde_heap_extent){BASE, BASE + 64}), 0);
	assert_int_equal(sonde_heap_scan_finish(world.scan), 0);
	static const int expected[12] = {
	    SONDE_HEAP_REACHED, SONDE_HEAP_REACHED, SONDE_HEAP_LOST,    SONDE_HEAP_LOST,
	    SONDE_HEAP_LOST,    SONDE_HEAP_REACHED, SONDE_HEAP_REACHED, SONDE_HEAP_LOST,
	    SONDE_HEAP_LOST_BY, SONDE_HEAP_REACHED, SONDE_HEAP_LOST,    SONDE_HEAP_LOST,
	};
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(state_at(&world, AT(i)), expected[i]);
	assert_int_equal(sonde_heap_scan_block(world.scan, 3)->site, 4);
	end(&world);
}

static void roots_pass_over_blocks(void **unused)
{
	(void)unused;
	for (int whole = 0; whole < 2; whole++) {
		struct world world;
		begin(&world);
		add(&world, 1024, 512, 1); /* in the root itself */
		add(&world, AT(0), 64, 2);
		add(&world, AT(1), 64, 3);
		put(&world, 1032, BASE + AT(0));
		put(&world, 1536, BASE + AT(1));
		index_blocks(&world);
		struct sonde_heap_extent root = {BASE + 512, BASE + 2048};
		assert_int_equal(
		    whole ? sonde_heap_scan_whole(world.scan, root) : sonde_heap_scan_root(world.scan, root), 0);
		assert_int_equal(sonde_heap_scan_finish(world.scan), 0);
		assert_int_equal(state_at(&world, AT(0)), whole ? SONDE_HEAP_REACHED : SONDE_HEAP_LOST_BY);
		assert_int_equal(state_at(&world, AT(1)), SONDE_HEAP_REACHED);
		assert_int_equal(state_at(&world, 1024), SONDE_HEAP_LOST);
		end(&world);
	}
}

static void tails_are_free_chunks(void **unused)
{
	(void)unused;
	struct world world;
	begin(&world);
	add(&world, AT(0), 100, 1); /* the next chunk begins at + 96 */
	add(&world, AT(1), 112, 1); /* at + 112 */
	put(&world, 0, BASE + AT(0) + 96);
	put(&world, 8, BASE + AT(1) + 96);
	index_blocks(&world);
	sonde_heap_scan_without_tails(world.scan);
	assert_int_equal(sonde_heap_scan_root(world.scan, (struct sonde_heap_extent){BASE, BASE + 64}), 0);
	assert_int_equal(sonde_heap_scan_finish(world.scan), 0);
	assert_int_equal(state_at(&world, AT(0)), SONDE_HEAP_LOST);
	assert_int_equal(state_at(&world, AT(1)), SONDE_HEAP_REACHED);
	end(&world);
}

static void failures_are_told(void **unused)
{
	(void)unused;
	for (int after = 0; after < 2; after++) {
		struct world world;
		begin(&world);
		add(&world, AT(0), 100, 1);
		put(&world, 0, BASE + AT(0));
		index_blocks(&world);
		world.memory.fails_after = after;
		int code = sonde_heap_scan_root(world.scan, (struct sonde_heap_extent){BASE, BASE + 64});
		code = code ? code : sonde_heap_scan_finish(world.scan);
		assert_int_equal(code, -ETIMEDOUT);
		end(&world);
	}
}

/* --- at random --------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

#define MANY 6000u
#define EDGES 2u

struct model {
	uint64_t at_b[MANY], size_b[MANY];
	unsigned points_to[MANY][EDGES]; /* MANY = nowhere */
	int states[MANY];
};

static void model_mark(struct model *model, unsigned from)
{
	static unsigned waiting[MANY * EDGES + 1];
	size_t count = 0;
	waiting[count++] = from;
	while (count) {
		unsigned i = waiting[--count];
		if (i == MANY || model->states[i] == SONDE_HEAP_REACHED)
			continue;
		model->states[i] = SONDE_HEAP_REACHED;
		for (unsigned k = 0; k < EDGES; k++)
			waiting[count++] = model->points_to[i][k];
	}
}

/* Blocks of 16 bytes to 2 MB, one behind the other, with pointers anywhere in them. */
static void make_model(struct model *model, struct world *world, uint64_t *random)
{
	uint64_t at_b = 65536;
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t size_b = 16 + next_random(random) % (i % 1000 == 7 ? 2u << 20 : 300);
		model->at_b[i] = at_b;
		model->size_b[i] = size_b;
		model->states[i] = SONDE_HEAP_LOST;
		add(world, at_b, size_b, i + 1);
		at_b = (at_b + size_b + 31) & ~UINT64_C(15);
	}
	assert_true(at_b < MEMORY_B);
	for (unsigned i = 0; i < MANY; i++)
		for (unsigned k = 0; k < EDGES; k++) {
			unsigned to = (unsigned)(next_random(random) % (2 * MANY));
			model->points_to[i][k] = to < MANY ? to : MANY;
			if (to >= MANY)
				continue;
			uint64_t half_b = model->size_b[i] / 16 * 8; /* one in each half */
			uint64_t slot_b = k * half_b + next_random(random) % (half_b / 8) * 8;
			put(world, model->at_b[i] + slot_b,
			    BASE + model->at_b[to] + next_random(random) % model->size_b[to]);
		}
}

static void random_graphs_are_the_model(void **unused)
{
	(void)unused;
	static struct model model;
	uint64_t random = 5;
	for (int round = 0; round < 12; round++) {
		struct world world;
		begin(&world);
		make_model(&model, &world, &random);
		index_blocks(&world);
		assert_int_equal(sonde_heap_scan_count(world.scan), MANY);
		for (unsigned i = 0; i < 5; i++) {
			unsigned to = (unsigned)(next_random(&random) % MANY);
			uint64_t word = BASE + model.at_b[to] + model.size_b[to] - 1;
			model_mark(&model, to);
			assert_int_equal(sonde_heap_scan_words(world.scan, &word, 1), 0);
		}
		assert_int_equal(sonde_heap_scan_finish(world.scan), 0);
		for (unsigned i = 0; i < MANY; i++)
			for (unsigned k = 0; k < EDGES; k++) {
				unsigned to = model.points_to[i][k];
				if (model.states[i] != SONDE_HEAP_REACHED && to < MANY && to != i &&
				    model.states[to] == SONDE_HEAP_LOST)
					model.states[to] = SONDE_HEAP_LOST_BY;
			}
		for (unsigned i = 0; i < MANY; i++) {
			assert_int_equal(sonde_heap_scan_block(world.scan, i)->address, BASE + model.at_b[i]);
			assert_int_equal(sonde_heap_scan_state(world.scan, i), model.states[i]);
			assert_int_equal(sonde_heap_scan_find(world.scan, BASE + model.at_b[i] + model.size_b[i] / 2),
					 i);
			assert_int_equal(sonde_heap_scan_find(world.scan, BASE + model.at_b[i] + model.size_b[i]),
					 MANY);
			assert_int_equal(sonde_heap_scan_first(world.scan, BASE + model.at_b[i]), i);
			assert_int_equal(sonde_heap_scan_first(world.scan, BASE + model.at_b[i] + 1), i + 1);
		}
		end(&world);
	}
}

/* Far apart, up to the end of user space. */
static void addresses_may_lie_anywhere(void **unused)
{
	(void)unused;
	static const uint64_t addresses[] = {0x10000, 0x3ffffff8, 0x555555559000, 0x7fffffffefe0};
	struct world world;
	begin(&world);
	for (size_t i = 0; i < 4; i++)
		add(&world, addresses[i] - BASE, 32, 1);
	index_blocks(&world);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sonde_heap_scan_find(world.scan, addresses[i]), i);
		assert_int_equal(sonde_heap_scan_find(world.scan, addresses[i] + 31), i);
		assert_int_equal(sonde_heap_scan_find(world.scan, addresses[i] + 32), 4);
		assert_int_equal(sonde_heap_scan_find(world.scan, addresses[i] - 1), 4);
	}
	uint64_t words[] = {addresses[1] + 4, UINT64_MAX, 0, addresses[3], UINT64_C(1) << 47};
	assert_int_equal(sonde_heap_scan_words(world.scan, words, 5), 0);
	assert_int_equal(sonde_heap_scan_finish(world.scan), 0);
	static const int expected[] = {SONDE_HEAP_LOST, SONDE_HEAP_REACHED, SONDE_HEAP_LOST, SONDE_HEAP_REACHED};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(sonde_heap_scan_state(world.scan, i), expected[i]);
	end(&world);
	begin(&world); /* none at all */
	index_blocks(&world);
	assert_int_equal(sonde_heap_scan_words(world.scan, words, 5), 0);
	assert_int_equal(sonde_heap_scan_root(world.scan, (struct sonde_heap_extent){BASE, BASE + 4096}), 0);
	assert_int_equal(sonde_heap_scan_finish(world.scan), 0);
	end(&world);
}

/* --- mappings ---------------------------------------------------------------------------------------------------- */

static void mappings_are_told_apart(void **unused)
{
	(void)unused;
	static char text[] = "555555554000-555555555000 r--p 00000000 fe:00 11 /usr/bin/a\n"
			     "Size: 4 kB\n"
			     "VmFlags: rd mr mw me\n"
			     "555555558000-555555559000 rw-p 00003000 fe:00 11 /usr/bin/a\n"
			     "VmFlags: rd wr mr mw me ac\n"
			     "555555559000-55555555a000 rw-p 00000000 00:00 0\n"
			     "555555570000-555555591000 rw-p 00000000 00:00 0 [heap]\n"
			     "7ffff7000000-7ffff7100000 rw-s 00000000 00:01 77 /memfd:sonde-pool (deleted)\n"
			     "7ffff7200000-7ffff7300000 rw-p 00000000 00:00 0\n"
			     "VmFlags: rd wr mr mw me nr wf\n"
			     "7ffff7400000-7ffff7500000 rw-p 00000000 00:00 0\n"
			     "VmFlags: rd wr mr mw me nr\n"
			     "7ffff7600000-7ffff7601000 rw-p 00001000 fe:00 12 /usr/lib/libsonde-heap.so\n"
			     "7ffff7601000-7ffff7701000 rw-p 00000000 00:00 0\n"
			     "7ffff7800000-7ffff7826000 r-xp 00001000 fe:00 13 /usr/lib/ld-linux-x86-64.so.2\n"
			     "7ffff7830000-7ffff7831000 rw-p 00001000 fe:00 14 /usr/lib/libc.so.6\n"
			     "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n"
			     "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
	static const enum sonde_heap_area_kind expected[] = {
	    SONDE_HEAP_AREA_NOT, SONDE_HEAP_AREA_DATA, SONDE_HEAP_AREA_DATA,  SONDE_HEAP_AREA_BREAK,
	    SONDE_HEAP_AREA_NOT, SONDE_HEAP_AREA_NOT,  SONDE_HEAP_AREA_OTHER, SONDE_HEAP_AREA_NOT,
	    SONDE_HEAP_AREA_NOT, SONDE_HEAP_AREA_NOT,  SONDE_HEAP_AREA_DATA,  SONDE_HEAP_AREA_STACK,
	    SONDE_HEAP_AREA_NOT,
	};
	FILE *file = fmemopen(text, sizeof text - 1, "r");
	struct sonde_heap_areas areas;
	assert_int_equal(sonde_heap_areas_parse(&areas, file), 0);
	fclose(file);
	assert_int_equal(areas.count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < areas.count; i++)
		assert_int_equal(areas.rows[i].kind, expected[i]);
	assert_true(areas.rows[10].is_libc && !areas.rows[9].is_libc && areas.rows[9].is_loader);
	sonde_heap_areas_free(&areas);
}

/* --- suppressions ------------------------------------------------------------------------------------------------ */

static int match(const char *pattern, const char *name)
{
	return sonde_suppressions_match(pattern, strlen(pattern), name);
}

static void patterns_match_as_in_sanitizers(void **unused)
{
	(void)unused;
	assert_true(match("dlerror", "__dlerror_run"));
	assert_true(match("*dlerror*", "dlerror"));
	assert_true(match("a*c", "xxabbbcxx"));
	assert_false(match("a*c", "xxcba"));
	assert_true(match("^main$", "main"));
	assert_false(match("^main$", "domain"));
	assert_false(match("^main$", "mainly"));
	assert_true(match("^ma*in$", "ma in in"));
	assert_true(match("lib*.so$", "/usr/lib/libfoo.so"));
	assert_false(match("lib*.so$", "/usr/lib/libfoo.so.1"));
	assert_false(match("x", ""));
	assert_false(match("", "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules),
	    cmocka_unit_test(roots_pass_over_blocks),
	    cmocka_unit_test(tails_are_free_chunks),
	    cmocka_unit_test(failures_are_told),
	    cmocka_unit_test(random_graphs_are_the_model),
	    cmocka_unit_test(addresses_may_lie_anywhere),
	    cmocka_unit_test(mappings_are_told_apart),
	    cmocka_unit_test(patterns_match_as_in_sanitizers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
