/* test_analyze_heap.c: the heap sections agree with the recorded events, or with a simple replay of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"

#define US 1000ull

/* One process with threads "main" (1) and "worker" (2), and malloc's heap. */
static void heap_open(struct recording *recording)
{
	simple_open(recording);
	recording_thread(recording, 1, 101, "worker", START);
	assert_int_equal(recording_heap(recording, 1, SONDE_HEAP_MALLOC, NULL), 1);
}

/* A site of thread 1 whose stack is main < … < `function`, at `line` of it. */
static uint32_t site_of(struct recording *recording, const char *function, uint32_t line)
{
	uint32_t main = recording_call(recording, 0, 1, "main", 10);
	return recording_heap_site(recording, 1, 1, recording_call(recording, main, 1, function, line));
}

/* What three functions do, in chunks of `rows` events:
 *   0–100 µs     keeps allocates 10 × 100 B and frees none
 *   200–300 µs   peaks allocates 5 × 1000 B, then frees them
 *   400–500 µs   churns allocates and frees 20 × 64 B in turn: all temporary */
static void write_known(size_t rows)
{
	struct recording r;
	size_t blocks[5];
	heap_open(&r);
	r.chunk_rows = rows;
	uint32_t keeps = site_of(&r, "keeps", 3), peaks = site_of(&r, "peaks", 7), churns = site_of(&r, "churns", 9);
	for (unsigned i = 0; i < 10; i++)
		recording_begins(&r, keeps, START + i * 10 * US, 100);
	for (unsigned i = 0; i < 5; i++)
		blocks[i] = recording_begins(&r, peaks, START + 200 * US + i * 10 * US, 1000);
	for (unsigned i = 0; i < 5; i++)
		recording_ends(&r, 1, blocks[i], 1, START + 250 * US + i * 10 * US);
	for (unsigned i = 0; i < 20; i++) {
		size_t block = recording_begins(&r, churns, START + 400 * US + i * 5 * US, 64);
		recording_ends(&r, 1, block, 1, START + 402 * US + i * 5 * US);
	}
	recording_close(&r, START + 1000 * US, 0);
}

static uint64_t of(const struct sonde_section *section, const char *function, const char *column)
{
	return sections_int(section, "function", function, column);
}

static void functions_and_the_whole(void **state)
{
	(void)state;
	static const size_t rows[] = {1, 3, 7, 1000};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_known(rows[i]);
		struct sections s = sections_of(path, "heap", NULL);
		const struct sonde_section *t = sections_get(&s, "heap");
		assert_int_equal(t->table.row_count, 3);
		assert_int_equal(of(t, "keeps", "peak_b"), 1000);
		assert_int_equal(of(t, "peaks", "peak_b"), 5000);
		assert_int_equal(of(t, "peaks", "peak_blocks"), 5);
		assert_int_equal(of(t, "churns", "peak_b"), 0);
		assert_near(sections_real(t, "function", "peaks", "peak_share"), 5.0 / 6, 1e-12);
		assert_int_equal(of(t, "churns", "allocated_b"), 20 * 64);
		assert_int_equal(of(t, "churns", "allocations"), 20);
		assert_int_equal(of(t, "churns", "temporary"), 20);
		assert_int_equal(of(t, "peaks", "temporary"), 1); /* the last block, which is freed last */
		assert_int_equal(of(t, "keeps", "left_b"), 1000);
		assert_int_equal(of(t, "keeps", "left_blocks"), 10);
		assert_int_equal(of(t, "peaks", "left_b"), 0);
		assert_int_equal(of(t, "peaks", "largest_b"), 1000);
		assert_true(sections_noted(t->notes,
					   "peak 6.00 kB in 15 blocks at 0.000 s; at exit 1.00 kB live in 10 blocks"));
		assert_true(
		    sections_noted(t->notes, "35 allocations of 7.28 kB (35,000/s, 7.28 MB/s), 60.0 % temporary"));
		assert_true(sections_noted(t->notes, "every intercepted call was recorded: these figures are exact"));
		assert_true(sections_noted(t->notes, "largest block: 1.00 kB, by peaks (peaks.c:7), called from main"));
		sections_free(&s);
	}
}

/* From 220 to 405 µs: two of peaks have begun before; the first of churns begins in it, and ends. */
static void a_time_is_chosen(void **state)
{
	(void)state;
	static const size_t rows[] = {1, 4, 1000};
	struct sonde_pass_options options = {
	    .selection.from_ns = START + 220 * US, .selection.to_ns = START + 405 * US, .requested = 1};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_known(rows[i]);
		struct sections s = sections_of(path, "heap sizes temporary", &options);
		const struct sonde_section *t = sections_get(&s, "heap");
		assert_int_equal(of(t, "peaks", "allocations"), 3);
		assert_int_equal(of(t, "peaks", "peak_b"), 5000);
		assert_int_equal(of(t, "keeps", "allocations"), 0);
		assert_int_equal(of(t, "keeps", "peak_b"), 1000); /* from before */
		assert_int_equal(of(t, "keeps", "left_b"), 1000);
		assert_int_equal(of(t, "churns", "allocations"), 1);
		assert_int_equal(of(t, "churns", "left_b"), 0);
		assert_true(sections_noted(t->notes, "from 0.000 s to 0.000 s"));
		t = sections_get(&s, "sizes");
		assert_int_equal(t->table.cells[t->table.column_count - 1].kind, SONDE_CELL_REAL);
		uint64_t blocks = 0;
		for (size_t row = 0; row < t->table.row_count; row++)
			blocks += sections_cell(t, t->table.cells + row * t->table.column_count, "blocks")->integer;
		assert_int_equal(blocks, 4);
		t = sections_get(&s, "temporary");
		assert_int_equal(of(t, "churns", "temporary"), 1);
		assert_int_equal(of(t, "peaks", "temporary"), 1);
		sections_free(&s);
	}
	options.selection.from_ns = START + 600 * US; /* nothing happens after that: what is live is the peak */
	options.selection.to_ns = START + 700 * US;
	struct sections s = sections_of(path, "heap peak", &options);
	assert_int_equal(of(sections_get(&s, "heap"), "keeps", "peak_b"), 1000);
	assert_int_equal(sections_get(&s, "peak")->tree.root->total, 1000);
	assert_null(sections_row(sections_get(&s, "heap"), "function", "peaks"));
	sections_free(&s);
}

static void the_peak_is_a_tree(void **state)
{
	(void)state;
	write_known(4);
	struct sections s = sections_of(path, "peak", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "peak");
	const struct sonde_tree_node *main = t->tree.root->child;
	assert_int_equal(t->tree.unit, SONDE_UNIT_BYTES);
	assert_int_equal(t->tree.root->total, 6000);
	assert_string_equal(main->name, "main");
	assert_string_equal(main->child->name, "peaks");
	assert_int_equal(main->child->self, 5000);
	assert_int_equal(main->child->count, 5);
	assert_string_equal(main->child->next->name, "keeps");
	assert_int_equal(main->child->next->self, 1000);
	assert_null(main->child->next->next);
	assert_true(sections_noted(t->notes, "100 % = 6.00 kB in 15 blocks"));
	sections_free(&s);
}

static void sizes_and_lifetimes(void **state)
{
	(void)state;
	write_known(4);
	struct sections s = sections_of(path, "sizes", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "sizes");
	assert_int_equal(t->table.row_count, 4); /* 64 … 1023, an empty class between */
	static const uint64_t blocks[] = {30, 0, 0, 5};
	for (size_t i = 0; i < 4; i++) {
		const struct sonde_cell *row = t->table.cells + i * t->table.column_count;
		assert_int_equal(sections_cell(t, row, "from_b")->integer, 64u << i);
		assert_int_equal(sections_cell(t, row, "below_b")->integer, 128u << i);
		assert_int_equal(sections_cell(t, row, "blocks")->integer, blocks[i]);
		assert_near(sections_cell(t, row, "share")->real, (double)blocks[i] / 35, 1e-12);
		assert_near(sections_cell(t, row, "bar")->real, (double)blocks[i] / 30, 1e-12);
	}
	t = sections_get(&s, "lifetimes"); /* 2 µs × 20; 50 µs × 5 */
	const struct sonde_cell *first = t->table.cells;
	const struct sonde_cell *last = t->table.cells + (t->table.row_count - 1) * t->table.column_count;
	assert_int_equal(sections_cell(t, first, "from_ns")->integer, 1024);
	assert_int_equal(sections_cell(t, first, "blocks")->integer, 20);
	assert_int_equal(sections_cell(t, last, "from_ns")->integer, 32768);
	assert_int_equal(sections_cell(t, last, "blocks")->integer, 5);
	sections_free(&s);
}

static void lines_are_of_who_does_not_only_allocate(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	uint32_t main = recording_call(&r, 0, 1, "main", 10), load = recording_call(&r, main, 1, "load", 4);
	uint32_t grow = recording_call(&r, load, 1, "void std::vector<int>::_M_realloc_insert<int>()", 3);
	uint32_t wrapped =
	    recording_call(&r, recording_call(&r, grow, 1, "xmalloc", 2), 1, "operator new(unsigned long)", 1);
	uint32_t other = recording_call(&r, main, 1, "load", 5);
	recording_begins(&r, recording_heap_site(&r, 1, 1, wrapped), START, 100);
	recording_begins(&r, recording_heap_site(&r, 1, 2, wrapped), START + 1, 11);
	recording_begins(&r, recording_heap_site(&r, 1, 1, other), START + 2, 7);
	recording_begins(&r, recording_heap_site(&r, 1, 1, 0), START + 3, 5);
	recording_close(&r, START + 10, 0);
	struct sections s = sections_of(path, "heap lines", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "heap-lines"); /* with lines */
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(sections_int(t, "place", "load.c:4", "allocated_b"), 111);
	assert_int_equal(sections_int(t, "place", "load.c:4", "line"), 4);
	assert_int_equal(sections_int(t, "place", "load.c:5", "allocations"), 1);
	assert_int_equal(sections_int(t, "place", "(unknown)", "left_b"), 5);
	assert_true(sections_noted(t->notes, "4.1 % of the bytes come from code without line information"));
	t = sections_get(&s, "heap");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(of(t, "load", "allocated_b"), 118);
	assert_string_equal(sections_cell(t, sections_row(t, "function", "load"), "caller")->text, "main");
	sections_free(&s);
}

/* A block belongs to the thread that allocated it, also if another thread frees it. */
static void threads_own_what_they_allocate(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	r.chunk_rows = 3;
	uint32_t main = recording_call(&r, 0, 1, "main", 10);
	uint32_t mine = recording_heap_site(&r, 1, 1, main), theirs = recording_heap_site(&r, 1, 2, main);
	recording_begins(&r, mine, START, 1000);
	size_t given = recording_begins(&r, theirs, START + 10, 300);
	recording_begins(&r, theirs, START + 20, 50);
	recording_ends(&r, 1, given, 1, START + 30);
	recording_begins(&r, mine, START + 40, 2000); /* the peak of the whole run: 3050 */
	recording_close(&r, START + 100, 0);
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(path, "heap-threads", &options);
	const struct sonde_section *t = sections_get(&s, "heap-threads");
	assert_int_equal(sections_int(t, "thread", "worker", "allocated_b"), 350);
	assert_int_equal(sections_int(t, "thread", "worker", "peak_b"), 50);
	assert_int_equal(sections_int(t, "thread", "worker", "left_b"), 50);
	assert_int_equal(sections_int(t, "thread", "prog", "peak_b"), 3000);
	sections_free(&s);
	const uint8_t worker[] = {0, 0, 1};
	options.selection.thread = worker;
	options.thread_is = "worker";
	s = sections_of(path, "heap timeline", &options);
	t = sections_get(&s, "heap"); /* the peak of its own blocks is 350 */
	assert_int_equal(of(t, "main", "peak_b"), 350);
	assert_int_equal(of(t, "main", "left_b"), 50);
	assert_true(sections_noted(t->notes, "blocks allocated by worker, freed by any thread"));
	t = sections_get(&s, "timeline");
	uint64_t most = 0;
	for (size_t i = 0; i < t->table.row_count; i++) {
		uint64_t peak_b = sections_cell(t, t->table.cells + i * t->table.column_count, "peak_b")->integer;
		most = peak_b > most ? peak_b : most;
	}
	assert_int_equal(most, 350);
	sections_free(&s);
}

static void kinds_and_processes_are_apart(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	recording_process(&r, 200, 100, "child", START);
	uint32_t thread = recording_thread(&r, 2, 200, "child", START);
	uint32_t second = recording_heap(&r, 2, SONDE_HEAP_MALLOC, NULL);
	uint32_t pool = recording_heap(&r, 1, SONDE_HEAP_POOL, "nodes");
	uint32_t main = recording_call(&r, 0, 1, "main", 10);
	recording_begins(&r, recording_heap_site(&r, 1, 1, main), START, 1000);
	recording_begins(&r, recording_heap_site(&r, second, thread, main), START + 5, 600);
	recording_begins(&r, recording_heap_site(&r, pool, 1, main), START + 9, 30);
	recording_close(&r, START + 100, 0);
	struct sections s = sections_of(path, "heap peak summary", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "heap");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(sections_int(t, "heap", "malloc", "peak_b"), 1600);
	assert_near(sections_real(t, "heap", "malloc", "peak_share"), 1, 1e-12);
	assert_int_equal(sections_int(t, "heap", "nodes", "peak_b"), 30);
	assert_near(sections_real(t, "heap", "nodes", "peak_share"), 1, 1e-12);
	assert_true(sections_noted(t->notes, "prog (100): peak 1.00 kB in 1 block"));
	assert_true(sections_noted(t->notes, "child (200): peak 600 B"));
	assert_true(sections_noted(t->notes, "prog (100): pool nodes: peak 30 B"));
	assert_true(sections_noted(t->notes, "2 processes, each at its own peak"));
	const struct sonde_tree_node *branch = sections_get(&s, "peak")->tree.root->child;
	assert_string_equal(branch->name, "prog (100)");
	assert_int_equal(branch->total, 1000);
	assert_string_equal(branch->child->name, "main");
	assert_string_equal(branch->next->name, "child (200)");
	assert_string_equal(branch->next->next->name, "prog (100): pool nodes");
	t = sections_get(&s, "summary");
	assert_int_equal(sections_int(t, "metric", "memory.heap_peak_b", "value"), 1000);
	assert_int_equal(sections_int(t, "metric", "memory.heap_allocations", "value"), 2);
	assert_int_equal(sections_int(t, "metric", "memory.heap_allocated_b", "value"), 1600);
	assert_int_equal(sections_int(t, "metric", "memory.heap_left_b", "value"), 1600);
	assert_int_equal(sections_int(t, "metric", "memory.heap_largest_b", "value"), 1000);
	sections_free(&s);
}

/* One block of 100 B is sampled where one each 1000 B is: it stands for 1 ÷ (1 − e^−0.1) = 10.5. */
static void samples_are_estimates(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	r.mean_b = 1000;
	recording_begins(&r, site_of(&r, "few", 1), START, 100);
	recording_close(&r, START + 100, 0);
	struct sections s = sections_of(path, "heap temporary", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "heap");
	const struct sonde_cell *row = sections_row(t, "function", "few");
	double seen = -expm1(-0.1);
	assert_near(sections_cell(t, row, "allocated_b")->real, 100 / seen, 0.5);
	assert_near(sections_cell(t, row, "allocated_b")->plus_minus, 1.96 * 100 * sqrt(1 - seen) / seen, 1e-6);
	assert_near(sections_cell(t, row, "peak_b")->plus_minus, 1.96 * 100 * sqrt(1 - seen) / seen, 1e-6);
	assert_near(sections_cell(t, row, "left_b")->plus_minus, 1.96 * 100 * sqrt(1 - seen) / seen, 1e-6);
	assert_near(sections_cell(t, row, "allocations")->real, 11, 1e-12);
	assert_int_equal(sections_cell(t, row, "temporary")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(t->table.columns[1].basis, SONDE_BASIS_ESTIMATED);
	assert_true(sections_noted(t->notes, "estimated from one block"));
	assert_true(sections_noted(sections_get(&s, "temporary")->notes, "--heap=full"));
	sections_free(&s);
	s = sections_of(path, "summary", NULL);
	t = sections_get(&s, "summary");
	static const char *const bytes[] = {"memory.heap_peak_b", "memory.heap_allocated_b", "memory.heap_left_b"};
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
		row = sections_row(t, "metric", bytes[i]);
		assert_near(sections_cell(t, row, "value")->real, 100 / seen, 0.5);
		assert_near(sections_cell(t, row, "value")->plus_minus, 1.96 * 100 * sqrt(1 - seen) / seen, 1e-6);
		assert_string_equal(sections_cell(t, row, "basis")->text, "estimated");
	}
	row = sections_row(t, "metric", "memory.heap_largest_b"); /* of the sampled blocks; that row is exact */
	assert_string_equal(sections_cell(t, row, "basis")->text, "measured");
	sections_free(&s);
}

static void nothing_is_said_why(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_source(&r, "heap", SONDE_SOURCE_UNAVAILABLE, "", "no process loaded it: static programs do not", 0);
	recording_close(&r, START + 100, 0);
	static const char *const names[] = {"heap",     "peak",       "temporary",    "sizes",
					    "timeline", "heap-lines", "heap-threads", "heap-zones"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct sections s = sections_of(path, names[i], &(struct sonde_pass_options){.requested = 1});
		assert_true(sections_noted(sections_get(&s, names[i])->notes, "static programs do not"));
		sections_free(&s);
		s = sections_of(path, names[i], NULL);
		assert_null(sections_find(&s, names[i]));
		sections_free(&s);
	}
	struct sections s = sections_of(path, "summary", NULL);
	const struct sonde_section *t = sections_get(&s, "summary");
	assert_int_equal(sections_cell(t, sections_row(t, "metric", "memory.heap_peak_b"), "value")->kind,
			 SONDE_CELL_ABSENT);
	sections_free(&s);
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

/* outer { +1000 inner { +500 −500 +200 } +10 } twice; the worker frees the first 1000 in between. */
static void zones_know_what_they_changed(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	r.chunk_rows = 5;
	uint32_t site = site_of(&r, "work", 1);
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "outer", NULL);
	uint32_t inner = recording_site(&r, SONDE_SITE_ZONE, "inner", NULL);
	size_t block;
	recording_begins(&r, site, START + 10 * US, 77); /* in no zone */
	for (uint64_t turn = 0; turn < 2; turn++) {
		uint64_t at = START + 100 * US + turn * 1000 * US;
		recording_begin(&r, 1, outer, at);
		size_t large = recording_begins(&r, site, at + 10 * US, 1000);
		recording_begin(&r, 1, inner, at + 100 * US);
		block = recording_begins(&r, site, at + 110 * US, 500);
		recording_ends(&r, 1, block, 1, at + 120 * US);
		if (!turn)
			recording_ends(&r, 1, large, 2, at + 125 * US);
		recording_begins(&r, site, at + 130 * US, 200);
		recording_end(&r, 1, at + 200 * US);
		recording_begins(&r, site, at + 300 * US, 10);
		recording_end(&r, 1, at + 400 * US);
	}
	recording_close(&r, START + 5000 * US, 0);
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(path, "heap-zones", &options);
	const struct sonde_section *t = sections_get(&s, "heap-zones");
	assert_int_equal(sections_int(t, "zone", "outer", "calls"), 2);
	assert_int_equal(sections_int(t, "zone", "outer", "change_b"), 2 * 1210);
	assert_int_equal(sections_int(t, "zone", "outer", "peak_b"), 1500);
	assert_int_equal(sections_int(t, "zone", "outer", "allocated_b"), 2 * 1710);
	assert_int_equal(sections_int(t, "zone", "outer", "allocations"), 8);
	assert_int_equal(sections_int(t, "zone", "outer", "frees"), 2);
	assert_int_equal(sections_int(t, "zone", "inner", "change_b"), 400);
	assert_int_equal(sections_int(t, "zone", "inner", "peak_b"), 500);
	assert_int_equal(sections_int(t, "zone", "inner", "allocations"), 4);
	sections_free(&s);
	options.selection.from_ns = START + 1000 * US; /* zones that begin from then on */
	s = sections_of(path, "heap-zones", &options);
	assert_int_equal(sections_int(sections_get(&s, "heap-zones"), "zone", "outer", "calls"), 1);
	sections_free(&s);
}

/* A zone inside another zone of the same site is part of that zone; a zone that frees more than it allocates has a
 * negative change. */
static void zones_inside_themselves_and_below_zero(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	r.time_every = 4;
	r.chunk_rows = 1; /* the first event of a chunk has its time */
	uint32_t site = site_of(&r, "work", 1), zone = recording_site(&r, SONDE_SITE_ZONE, "again", NULL);
	uint32_t frees = recording_site(&r, SONDE_SITE_ZONE, "frees", NULL);
	recording_begin(&r, 1, zone, START + 100 * US);
	recording_begin(&r, 1, zone, START + 200 * US);
	size_t block = recording_begins(&r, site, START + 300 * US, 64);
	recording_end(&r, 1, START + 400 * US);
	recording_end(&r, 1, START + 500 * US);
	recording_begin(&r, 1, frees, START + 600 * US);
	recording_ends(&r, 1, block, 1, START + 700 * US);
	recording_end(&r, 1, START + 800 * US);
	recording_close(&r, START + 5000 * US, 0);
	struct sections s = sections_of(path, "heap-zones", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "heap-zones");
	assert_int_equal(sections_int(t, "zone", "again", "calls"), 2);
	assert_int_equal(sections_int(t, "zone", "again", "change_b"), 64);
	assert_int_equal(sections_int(t, "zone", "again", "allocations"), 1);
	assert_near(sections_real(t, "zone", "frees", "change_b"), -64, 0);
	assert_true(sections_noted(t->notes, "exact to 4 allocations:"));
	sections_free(&s);
}

/* --- against a replay -------------------------------------------------------------------------------------------- */

enum { EVENTS = 3000, SITES = 6, STEPS = 7 };

struct happened {
	uint64_t time_ns, size_b, born_ns;
	uint32_t site;
	int ends;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

/* Sites 1 … 3 are thread 1's, the others thread 2's. */
static uint32_t thread_of(uint32_t site)
{
	return site <= SITES / 2 ? 1 : 2;
}

static size_t write_random(struct happened *events, size_t rows)
{
	static size_t block_of[EVENTS];
	struct recording r;
	uint64_t random = 11, time_ns = START + 100;
	size_t live[EVENTS], live_count = 0;
	heap_open(&r);
	r.chunk_rows = rows;
	for (uint32_t site = 1; site <= SITES; site++)
		recording_heap_site(&r, 1, thread_of(site), recording_call(&r, 0, 1, "f", site));
	for (size_t i = 0; i < EVENTS; i++) {
		time_ns += next_random(&random) % 50; /* also at the same time */
		if (live_count && next_random(&random) % 100 < (i < EVENTS / 2 ? 40 : 55)) {
			size_t at = next_random(&random) % live_count, begun = live[at];
			live[at] = live[--live_count];
			events[i] = events[begun];
			events[i].time_ns = time_ns;
			events[i].ends = 1;
			recording_ends(&r, 1, block_of[begun], 1, time_ns);
			continue;
		}
		uint32_t site = 1 + (uint32_t)(next_random(&random) % SITES);
		uint64_t size_b = next_random(&random) % 5000;
		events[i] = (struct happened){time_ns, size_b, time_ns, site, 0};
		block_of[i] = recording_begins(&r, site, time_ns, size_b);
		live[live_count++] = i;
	}
	recording_close(&r, time_ns + 100, 0);
	return time_ns - START;
}

struct replay {
	struct sonde_heap_sum sites[SITES + 1];
	uint64_t live[SITES + 1], live_blocks[SITES + 1];
	uint64_t all_b, peak_b;
	struct sonde_heap_interval rows[STEPS];
};

static void keep_peak(struct replay *replay)
{
	if (replay->all_b <= replay->peak_b)
		return;
	replay->peak_b = replay->all_b;
	for (uint32_t site = 1; site <= SITES; site++) {
		replay->sites[site].peak_b = replay->live[site];
		replay->sites[site].peak_blocks = replay->live_blocks[site];
	}
}

static void replay_interval(struct replay *replay, const struct sonde_selection *range, const struct happened *event)
{
	double span = (double)(range->to_ns - range->from_ns);
	size_t i = (size_t)((double)(event->time_ns - range->from_ns) / span * STEPS);
	struct sonde_heap_interval *row = &replay->rows[i < STEPS ? i : STEPS - 1];
	row->begins += !event->ends;
	row->begun_b += event->ends ? 0 : event->size_b;
	row->ends += event->ends != 0;
	row->peak_b = replay->all_b > row->peak_b ? replay->all_b : row->peak_b;
	row->live_b = replay->all_b;
}

static void replay_run(struct replay *replay, const struct happened *events, const struct sonde_selection *range)
{
	int entered = 0;
	*replay = (struct replay){0};
	for (size_t i = 0; i < EVENTS && events[i].time_ns < range->to_ns; i++) {
		const struct happened *event = &events[i];
		struct sonde_heap_sum *sum = &replay->sites[event->site];
		if (range->thread && !range->thread[thread_of(event->site)])
			continue;
		if (event->time_ns >= range->from_ns && !entered++)
			keep_peak(replay);
		replay->live[event->site] += event->ends ? -event->size_b : event->size_b;
		replay->live_blocks[event->site] += event->ends ? UINT64_MAX : 1;
		replay->all_b += event->ends ? -event->size_b : event->size_b;
		if (!entered)
			continue;
		sum->begins += !event->ends;
		sum->begun_b += event->ends ? 0 : event->size_b;
		sum->ends += event->ends != 0;
		sum->largest_b = !event->ends && event->size_b > sum->largest_b ? event->size_b : sum->largest_b;
		keep_peak(replay);
		replay_interval(replay, range, event);
	}
	if (!entered)
		keep_peak(replay);
}

static void compare(struct sonde_session *session, const struct replay *replay, const struct sonde_selection *range)
{
	struct sonde_heap_sums sums;
	struct sonde_heap_interval rows[STEPS];
	assert_int_equal(sonde_session_heap_sums_of(session, range, &sums), 0);
	assert_int_equal(sums.heaps[1].peak_b, replay->peak_b);
	assert_int_equal(sums.heaps[1].left_b, replay->all_b);
	for (uint32_t site = 1; site <= SITES; site++) {
		const struct sonde_heap_sum *a = &sums.sites[site], *b = &replay->sites[site];
		assert_int_equal(a->begins, b->begins);
		assert_int_equal(a->begun_b, b->begun_b);
		assert_int_equal(a->ends, b->ends);
		assert_int_equal(a->peak_b, b->peak_b);
		assert_int_equal(a->peak_blocks, b->peak_blocks);
		assert_int_equal(a->largest_b, b->largest_b);
		assert_int_equal(a->left_b, replay->live[site]);
		assert_int_equal(a->left_blocks, replay->live_blocks[site]);
	}
	sonde_heap_sums_free(&sums);
	assert_int_equal(sonde_session_heap_timeline(session, 1, range, rows, STEPS), 0);
	uint64_t most = 0;
	for (size_t i = 0; i < STEPS; i++) {
		assert_int_equal(rows[i].begins, replay->rows[i].begins);
		assert_int_equal(rows[i].begun_b, replay->rows[i].begun_b);
		assert_int_equal(rows[i].ends, replay->rows[i].ends);
		if (replay->rows[i].begins + replay->rows[i].ends)
			assert_int_equal(rows[i].live_b, replay->rows[i].live_b);
		assert_true(rows[i].peak_b >= replay->rows[i].peak_b);
		assert_true(rows[i].peak_b >= rows[i].live_b);
		most = rows[i].peak_b > most ? rows[i].peak_b : most;
	}
	assert_int_equal(most, replay->peak_b);
}

/* Any chunk size, any part of the time, either thread, all of it. */
static void any_part_is_as_replayed(void **state)
{
	(void)state;
	static struct happened events[EVENTS];
	static const uint8_t second[] = {0, 0, 1};
	static const size_t rows[] = {1, 64, 500, 100000};
	uint64_t random = 5;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t span = write_random(events, rows[i]);
		struct sonde_session *session;
		assert_int_equal(sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1}),
				 0);
		for (int round = 0; round < 60; round++) {
			struct replay replay;
			struct sonde_selection range = {START, START + span + 1, round % 3 == 2 ? second : NULL};
			if (round) {
				range.from_ns = START + next_random(&random) % (span + 200);
				range.to_ns = range.from_ns + 1 + next_random(&random) % span;
			}
			replay_run(&replay, events, &range);
			compare(session, &replay, &range);
		}
		sonde_session_close(session);
	}
}

/* What a program that reads a recording gets: each event with its time, size, thread and stack. */
static void events_can_be_read_one_by_one(void **state)
{
	(void)state;
	static struct happened events[EVENTS];
	struct sonde_session *session;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t at = 0;
	write_random(events, 64);
	assert_int_equal(sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_HEAP), 0);
	while (sonde_cursor_next(cursor, &batch) == 1) {
		for (size_t i = 0; i < batch->count; i++, at++) {
			const struct sonde_heap_site *site = sonde_session_heap_site(session, batch->heap.site[i]);
			assert_int_equal(batch->heap.time_ns[i], events[at].time_ns);
			assert_int_equal(batch->heap.size_b[i], events[at].size_b);
			assert_int_equal(batch->heap.ends[i], events[at].ends);
			assert_int_equal(site->id, events[at].site);
			assert_int_equal(site->thread, thread_of(events[at].site));
			const struct sonde_node *node = sonde_session_node(session, site->stack);
			assert_int_equal(sonde_session_frame(session, node->frame)->locations->line, events[at].site);
		}
	}
	assert_int_equal(at, EVENTS);
	sonde_cursor_close(cursor);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_and_the_whole),
	    cmocka_unit_test(a_time_is_chosen),
	    cmocka_unit_test(the_peak_is_a_tree),
	    cmocka_unit_test(sizes_and_lifetimes),
	    cmocka_unit_test(lines_are_of_who_does_not_only_allocate),
	    cmocka_unit_test(threads_own_what_they_allocate),
	    cmocka_unit_test(kinds_and_processes_are_apart),
	    cmocka_unit_test(samples_are_estimates),
	    cmocka_unit_test(nothing_is_said_why),
	    cmocka_unit_test(zones_know_what_they_changed),
	    cmocka_unit_test(zones_inside_themselves_and_below_zero),
	    cmocka_unit_test(any_part_is_as_replayed),
	    cmocka_unit_test(events_can_be_read_one_by_one),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
