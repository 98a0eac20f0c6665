/* test_analyze_leaks.c: blocks live at exit by class and call site, suppressions, real growth and what only looks
 * like it. */
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
#include "session/weigh.h"

static void heap_open(struct recording *recording)
{
	simple_open(recording);
	assert_int_equal(recording_heap(recording, 1, SONDE_HEAP_MALLOC, NULL), 1);
}

static uint32_t site_of(struct recording *recording, const char *function, uint32_t line)
{
	uint32_t main = recording_call(recording, 0, 1, "main", 10);
	return recording_heap_site(recording, 1, 1, recording_call(recording, main, 1, function, line));
}

static void allocate(struct recording *recording, uint32_t site, unsigned blocks, uint64_t size_b)
{
	for (unsigned i = 0; i < blocks; i++)
		recording_begins(recording, site, START + i * 1000, size_b);
}

static const struct sonde_cell *row_of(const struct sonde_section *section, const char *class, const char *function)
{
	for (size_t i = 0; i < section->table.row_count; i++) {
		const struct sonde_cell *row = section->table.cells + i * section->table.column_count;
		if (!strcmp(sections_cell(section, row, "class")->text, class) &&
		    !strcmp(sections_cell(section, row, "function")->text, function))
			return row;
	}
	return NULL;
}

static uint64_t value_of(const struct sonde_section *section, const char *class, const char *function, const char *key)
{
	const struct sonde_cell *row = row_of(section, class, function);
	if (!row)
		fail_msg("no row of %s, %s", class, function);
	return sections_cell(section, row, key)->integer;
}

/* 10 × 100 B lost, 4 of them indirectly, by two sites at one call site; reachable and unknown ones; suppressed ones. */
static void write_left(void)
{
	struct recording r;
	heap_open(&r);
	uint32_t loses = site_of(&r, "loses", 3), again = site_of(&r, "loses", 3), keeps = site_of(&r, "keeps", 7);
	uint32_t unseen = site_of(&r, "unseen", 9), known = site_of(&r, "known_leak", 11);
	allocate(&r, loses, 6, 100);
	allocate(&r, again, 4, 100);
	allocate(&r, keeps, 5, 40);
	allocate(&r, unseen, 2, 50);
	allocate(&r, known, 1, 300);
	recording_leak(&r, loses, SONDE_HEAP_UNREACHABLE, 6, 600, NULL);
	recording_leak(&r, again, SONDE_HEAP_UNREACHABLE, 4, 400, NULL);
	recording_leak(&r, again, SONDE_HEAP_INDIRECT, 4, 400, NULL);
	recording_leak(&r, keeps, SONDE_HEAP_REACHABLE, 5, 200, NULL);
	recording_leak(&r, unseen, SONDE_HEAP_NOT_KNOWN, 2, 100, "it was dark");
	recording_leak(&r, known, SONDE_HEAP_UNREACHABLE, 1, 300, NULL);
	recording_info(&r, "heap.suppressions", "race:loses\nleak:^known_*\n");
	recording_close(&r, START + 1000 * MS, 0);
}

static void classes_and_places(void **state)
{
	(void)state;
	write_left();
	struct sonde_pass_options requested = {.requested = 1};
	struct sections s = sections_of(path, "leaks", &requested);
	const struct sonde_section *t = sections_get(&s, "leaks");
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(value_of(t, "unreachable", "loses", "bytes"), 1000);
	assert_int_equal(value_of(t, "unreachable", "loses", "blocks"), 10);
	assert_int_equal(value_of(t, "unreachable", "loses", "direct_blocks"), 6);
	assert_int_equal(value_of(t, "reachable", "keeps", "bytes"), 200);
	assert_int_equal(value_of(t, "not known", "unseen", "blocks"), 2);
	assert_string_equal(sections_cell(t, row_of(t, "unreachable", "loses"), "site")->text,
			    "loses (loses.c:3), called from main");
	assert_near(sections_cell(t, row_of(t, "unreachable", "loses"), "share")->real, 1000.0 / 1600, 1e-12);
	assert_true(sections_noted(t->notes, "1.00 kB leaked in 10 blocks (unreachable at exit)"));
	assert_true(sections_noted(t->notes, "still reachable; destructors of libraries may free some"));
	assert_true(sections_noted(t->notes, "62.5 % of all allocated bytes"));
	assert_true(sections_noted(t->notes, "1 unreachable block (300 B) suppressed"));
	assert_true(sections_noted(t->notes, "prog (100): it was dark"));
	sections_free(&s);
	s = sections_of(path, "leaks", NULL); /* not requested: only leaks */
	assert_int_equal(sections_get(&s, "leaks")->table.row_count, 1);
	sections_free(&s);
}

static void nothing_is_one_line(void **state)
{
	(void)state;
	struct recording r;
	heap_open(&r);
	uint32_t keeps = site_of(&r, "keeps", 7);
	allocate(&r, keeps, 5, 40);
	recording_leak(&r, keeps, SONDE_HEAP_REACHABLE, 5, 200, NULL);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "leaks", NULL);
	const struct sonde_section *t = sections_get(&s, "leaks");
	assert_int_equal(t->table.row_count, 0);
	assert_string_equal(t->notes->text, "no leaks found");
	assert_null(t->notes->next);
	sections_free(&s);
}

/* For 20 s: grows has 1000 B more each 100 ms; fills the same until the half; turns over the last ten of them; ends
 * frees all of it in the last second, when grows_too frees its own as well. */
static void write_growth(void)
{
	struct recording r;
	size_t turning[10] = {0}, too[200];
	heap_open(&r);
	r.chunk_rows = 50;
	uint32_t grows = site_of(&r, "grows", 1), fills = site_of(&r, "fills", 2), turns = site_of(&r, "turns", 3);
	uint32_t grows_too = site_of(&r, "grows_too", 4);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t at_ns = START + i * 100 * MS;
		recording_begins(&r, grows, at_ns, 1000);
		if (i < 190)
			too[i] = recording_begins(&r, grows_too, at_ns, 100);
		if (i < 100)
			recording_begins(&r, fills, at_ns, 1000);
		if (i >= 10)
			recording_ends(&r, 1, turning[i % 10], 1, at_ns);
		turning[i % 10] = recording_begins(&r, turns, at_ns, 1000);
	}
	for (unsigned i = 0; i < 190; i++)
		recording_ends(&r, 1, too[i], 1, START + 19950 * MS);
	recording_close(&r, START + 20000 * MS, 0);
}

static void what_rises_for_good(void **state)
{
	(void)state;
	write_growth();
	struct sections s = sections_of(path, "leaks", NULL);
	const struct sonde_section *t = sections_get(&s, "leaks");
	assert_int_equal(t->table.row_count, 2);
	const struct sonde_cell *row = row_of(t, "growing", "grows");
	assert_non_null(row);
	const struct sonde_cell *slope = sections_cell(t, row, "slope_b_s");
	assert_near(slope->real, 10000, 200);
	assert_true(slope->plus_minus < 300);
	assert_true(sections_cell(t, row, "confidence")->real > 0.999);
	row = row_of(t, "growing", "grows_too");
	assert_non_null(row);
	assert_near(sections_cell(t, row, "slope_b_s")->real, 1000, 20);
	sections_free(&s);
	struct sonde_pass_options first_half = {.selection.from_ns = START, .selection.to_ns = START + 10000 * MS};
	s = sections_of(path, "leaks", &first_half); /* in which the cache was filling up */
	assert_non_null(row_of(sections_get(&s, "leaks"), "growing", "fills"));
	sections_free(&s);
}

/* For 20 s one process executes itself 40 times; each program leaves 50 blocks of a call site. The last program
 * grows. */
static void write_lives(void)
{
	struct recording r;
	simple_open(&r);
	uint32_t stack = recording_call(&r, recording_call(&r, 0, 1, "main", 10), 1, "works", 3);
	uint32_t last = recording_call(&r, stack, 1, "grows", 5);
	for (unsigned life = 0; life < 40; life++) {
		uint32_t heap = recording_heap(&r, 1, SONDE_HEAP_MALLOC, NULL);
		uint32_t site = recording_heap_site(&r, heap, 1, stack);
		for (unsigned i = 0; i < 50; i++)
			recording_begins(&r, site, START + life * 500 * MS + i * MS, 2000);
		recording_flush(&r);
	}
	uint32_t grows = recording_heap_site(&r, 40, 1, last);
	for (unsigned i = 0; i < 200; i++)
		recording_begins(&r, grows, START + 19600 * MS + i * 100 * MS, 1000);
	recording_close(&r, START + 40000 * MS, 0);
}

static void other_programs_of_a_process_do_not_grow(void **state)
{
	(void)state;
	write_lives();
	struct sonde_pass_options lives = {.selection.from_ns = START, .selection.to_ns = START + 20000 * MS};
	struct sections s = sections_of(path, "leaks", &lives);
	assert_null(row_of(sections_get(&s, "leaks"), "growing", "works"));
	uint64_t ends_ns[41];
	assert_int_equal(sonde_session_heap_ends(s.session, ends_ns), 0);
	assert_int_equal(ends_ns[1], START + 500 * MS);
	assert_int_equal(ends_ns[39], START + 39 * 500 * MS);
	assert_int_equal(ends_ns[40], 0);
	struct sonde_weigh_view view = {.weigh = {.by = SONDE_WEIGH_LIVE, .at_ns = START + 10300 * MS}};
	struct sonde_weights weights;
	assert_int_equal(sonde_weights_take(&weights, s.session, &view), 0);
	assert_int_equal(weights.weight, 50 * 2000); /* of the program that runs then alone */
	sonde_weights_fini(&weights);
	sections_free(&s);
	s = sections_of(path, "leaks", NULL);
	const struct sonde_section *t = sections_get(&s, "leaks");
	assert_int_equal(t->table.row_count, 1);
	assert_near(sections_cell(t, row_of(t, "growing", "grows"), "slope_b_s")->real, 10000, 200);
	sections_free(&s);
}

static void change_take(void *state, uint32_t site, size_t mark, const struct sonde_heap_alive *change)
{
	struct sonde_heap_alive(*sum)[5] = state;
	sum[mark][site].blocks += change->blocks;
	sum[mark][site].size_b += change->size_b;
}

/* Points computed in one pass equal what is live at each of them. */
static void marks_are_what_was_alive(void **state)
{
	(void)state;
	struct sonde_session *session;
	write_growth();
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	enum { TIMES = 37, SITES = 5 };
	uint64_t times_ns[TIMES];
	struct sonde_heap_alive now[SITES], sum[TIMES][SITES] = {0};
	for (unsigned i = 0; i < TIMES; i++)
		times_ns[i] = START + i * 533 * MS;
	struct sonde_heap_marks marks = {times_ns, TIMES, change_take, sum};
	assert_int_equal(sonde_session_heap_site_count(session) + 1, SITES);
	assert_int_equal(sonde_session_heap_marks(session, &marks), 0);
	for (unsigned i = 0; i < TIMES; i++) {
		memset(now, 0, sizeof now);
		assert_int_equal(sonde_session_heap_alive(session, times_ns[i], now), 0);
		for (unsigned site = 0; site < SITES; site++) {
			if (i) {
				sum[i][site].blocks += sum[i - 1][site].blocks;
				sum[i][site].size_b += sum[i - 1][site].size_b;
			}
			assert_int_equal(sum[i][site].blocks, now[site].blocks);
			assert_int_equal(sum[i][site].size_b, now[site].size_b);
		}
	}
	sonde_session_close(session);
}

static enum sonde_basis basis_of(const struct sonde_section *section, const char *key)
{
	for (size_t i = 0; i < section->table.column_count; i++)
		if (!strcmp(section->table.columns[i].key, key))
			return section->table.columns[i].basis;
	fail_msg("no column %s", key);
	return SONDE_BASIS_MEASURED;
}

/* Sampled: estimates, and a sum with the variance of the total. Frees of unseen blocks do not count. */
static void sampled_leaks_are_estimates(void **state)
{
	(void)state;
	struct recording r;
	struct sonde_pass_options requested = {.requested = 1};
	heap_open(&r);
	r.mean_b = 1000;
	uint32_t loses = site_of(&r, "loses", 3), other = site_of(&r, "other", 5);
	allocate(&r, loses, 6, 20000);
	allocate(&r, other, 2, 20000);
	recording_leak(&r, loses, SONDE_HEAP_UNREACHABLE, 6, 90000, NULL);
	recording_leak(&r, other, SONDE_HEAP_UNREACHABLE, 2, 10000, NULL);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "leaks", &requested);
	const struct sonde_section *t = sections_get(&s, "leaks");
	const struct sonde_cell *row = row_of(t, "unreachable", "loses");
	static const char *const estimates[] = {"bytes", "blocks", "direct_blocks", "share"};
	for (size_t i = 0; i < sizeof estimates / sizeof *estimates; i++)
		assert_int_equal(basis_of(t, estimates[i]), SONDE_BASIS_ESTIMATED);
	assert_int_equal(basis_of(t, "line"), SONDE_BASIS_MEASURED);
	assert_near(sections_cell(t, row, "bytes")->real, 90000, 0);
	assert_near(sections_cell(t, row, "bytes")->plus_minus, 1.96 * sqrt(9e7), 1e-6);
	assert_near(sections_cell(t, row, "blocks")->real, 6, 0);
	assert_true(sections_noted(t->notes, "100 kB ± 19.6 kB leaked in 8 blocks")); /* 1.96 √(10⁸ B²) */
	sections_free(&s);
	s = sections_of(path, "heaps", &requested);
	t = sections_get(&s, "heaps");
	assert_int_equal(sections_cell(t, t->table.cells, "unknown")->kind, SONDE_CELL_ABSENT);
	sections_free(&s);
	write_left();
	s = sections_of(path, "leaks", &requested);
	assert_int_equal(basis_of(sections_get(&s, "leaks"), "bytes"), SONDE_BASIS_MEASURED);
	sections_free(&s);
	s = sections_of(path, "heaps", &requested);
	t = sections_get(&s, "heaps");
	assert_int_equal(sections_cell(t, t->table.cells, "unknown")->integer, 0);
	assert_int_not_equal(sections_cell(t, t->table.cells, "unknown")->kind, SONDE_CELL_ABSENT);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(classes_and_places),       cmocka_unit_test(nothing_is_one_line),
	    cmocka_unit_test(what_rises_for_good),      cmocka_unit_test(other_programs_of_a_process_do_not_grow),
	    cmocka_unit_test(marks_are_what_was_alive), cmocka_unit_test(sampled_leaks_are_estimates),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
