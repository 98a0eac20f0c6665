/* test_analyze_snapshots.c: snapshots, their comparison and RSS agree with the synthetic recordings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/heap/rss.h"
#include "analyze/heap/snapshots.h"
#include "analyze_fixture.h"
#include "sections.h"
#include "util/error.h"

static void snapshot(struct recording *recording, uint32_t process, const char *label,
		     enum sonde_snapshot_reason reason, uint64_t time_ns)
{
	struct sonde_meta_snapshot record = {
	    .head.type = SONDE_META_SNAPSHOT,
	    .process = process,
	    .label = *label ? recording_string(recording, label) : 0,
	    .reason = reason,
	    .time_ns = time_ns,
	    .rss_b = reason == SONDE_SNAPSHOT_END ? 0 : 5000000,
	};
	assert_int_equal(sonde_writer_meta(recording->writer, &record, sizeof record, NULL, 0), 0);
}

static uint32_t site_of(struct recording *recording, uint32_t heap, const char *function, uint32_t line)
{
	uint32_t main = recording_call(recording, 0, 1, "main", 10);
	return recording_heap_site(recording, heap, heap, recording_call(recording, main, 1, function, line));
}

/* Two processes, in chunks of `rows` events. The first: grows takes 100 B each millisecond, at line 3 up to 10 ms and
 * then at line 5; shrinks has 10 × 1000 B from the beginning, of which it gives one back each millisecond after 10 ms.
 * Snapshots "start" at 0.5 ms, "middle" at 10.5 ms, "10" at 15.5 ms and one without a label at 20.5 ms. The second has
 * 7 B at 1 ms, and "middle" at 12 ms. */
static void write_known(size_t rows)
{
	struct recording r;
	size_t blocks[10];
	simple_open(&r);
	recording_process(&r, 200, 1, "other", START);
	recording_thread(&r, 2, 200, "other", START);
	recording_heap(&r, 1, SONDE_HEAP_MALLOC, NULL);
	recording_heap(&r, 2, SONDE_HEAP_MALLOC, NULL);
	r.chunk_rows = rows;
	uint32_t early = site_of(&r, 1, "grows", 3), late = site_of(&r, 1, "grows", 5);
	uint32_t shrinks = site_of(&r, 1, "shrinks", 7), others = site_of(&r, 2, "grows", 3);
	for (unsigned i = 0; i < 10; i++)
		blocks[i] = recording_begins(&r, shrinks, START + i, 1000);
	recording_begins(&r, others, START + MS, 7);
	for (unsigned ms = 1; ms <= 20; ms++) {
		recording_begins(&r, ms <= 10 ? early : late, START + ms * MS, 100);
		if (ms > 10)
			recording_ends(&r, 1, blocks[ms - 11], 1, START + ms * MS);
	}
	snapshot(&r, 1, "start", SONDE_SNAPSHOT_API, START + MS / 2);
	snapshot(&r, 1, "middle", SONDE_SNAPSHOT_COMMAND, START + 10 * MS + MS / 2);
	snapshot(&r, 2, "middle", SONDE_SNAPSHOT_COMMAND, START + 12 * MS);
	snapshot(&r, 1, "10", SONDE_SNAPSHOT_INTERVAL, START + 15 * MS + MS / 2);
	snapshot(&r, 1, "", SONDE_SNAPSHOT_SIGNAL, START + 20 * MS + MS / 2);
	recording_close(&r, START + 30 * MS, 0);
}

static const struct sonde_cell *row_at(const struct sonde_section *section, size_t row)
{
	return section->table.cells + row * section->table.column_count;
}

static void assert_cells(const struct sonde_section *section, const struct sonde_cell *row, const char *keys,
			 const double *values)
{
	char text[256], *save = NULL;
	snprintf(text, sizeof text, "%s", keys);
	for (char *key = strtok_r(text, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		const struct sonde_cell *cell = sections_cell(section, row, key);
		double value = cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->real;
		if (cell->kind != SONDE_CELL_INT && cell->kind != SONDE_CELL_REAL)
			fail_msg("%s has no value", key);
		assert_true(value == *values++);
	}
}

static void all_are_listed(void **state)
{
	(void)state;
	static const double values[][5] = {/* number, time, live, blocks, RSS */
					   {1, 0.5e6, 10000, 10, 5e6},
					   {2, 10.5e6, 11000, 20, 5e6},
					   {3, 12e6, 7, 1, 5e6},
					   {4, 15.5e6, 6500, 20, 5e6},
					   {5, 20.5e6, 2000, 20, 5e6}};
	static const size_t rows[] = {1, 3, 1000};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_known(rows[i]);
		struct sections s = sections_of(path, "snapshots", NULL);
		const struct sonde_section *t = sections_get(&s, "snapshots");
		assert_int_equal(t->table.row_count, 5);
		for (size_t row = 0; row < 5; row++)
			assert_cells(t, row_at(t, row), "number time_ns live_b blocks rss_b", values[row]);
		/* Since the previous snapshot of the same process. */
		assert_cells(t, row_at(t, 1), "change_b change_blocks", (const double[]){1000, 10});
		assert_cells(t, row_at(t, 3), "change_b change_blocks", (const double[]){-4500, 0});
		assert_int_equal(sections_cell(t, row_at(t, 2), "change_b")->kind, SONDE_CELL_ABSENT);
		assert_int_equal(sections_cell(t, row_at(t, 4), "label")->kind, SONDE_CELL_ABSENT);
		assert_string_equal(sections_cell(t, row_at(t, 3), "reason")->text, "interval");
		sections_free(&s);
	}
}

static void two_are_compared(void **state)
{
	(void)state;
	const char *keys = "from_b to_b change_b from_blocks to_blocks change_blocks per_sec_b";
	struct sonde_pass_options options = {.diff_from = 2, .diff_to = 5, .requested = 1};
	static const size_t rows[] = {1, 3, 1000};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_known(rows[i]);
		struct sections s = sections_of(path, "snapshots", &options);
		const struct sonde_section *t = sections_get(&s, "snapshots");
		assert_int_equal(t->table.row_count, 2);
		assert_cells(t, row_at(t, 1), "number change_b", (const double[]){5, -9000});
		t = sections_get(&s, "snapshot-functions");
		assert_int_equal(t->table.row_count, 2);
		/* The largest change comes first; the snapshots are ten milliseconds apart. */
		assert_string_equal(sections_cell(t, row_at(t, 0), "function")->text, "shrinks");
		assert_cells(t, row_at(t, 0), keys, (const double[]){10000, 0, -10000, 10, 0, -10, -1e6});
		assert_cells(t, row_at(t, 1), keys, (const double[]){1000, 2000, 1000, 10, 20, 10, 1e5});
		t = sections_get(&s, "snapshot-lines");
		assert_int_equal(t->table.row_count, 3);
		assert_cells(t, row_at(t, 1), keys, (const double[]){0, 1000, 1000, 0, 10, 10, 1e5});
		assert_cells(t, row_at(t, 2), keys, (const double[]){1000, 1000, 0, 10, 10, 0, 0});
		assert_int_equal(sections_cell(t, row_at(t, 1), "line")->integer, 5);
		t = sections_get(&s, "snapshot-sizes");
		assert_int_equal(t->table.row_count, 2);
		assert_cells(t, row_at(t, 0), "from_size_b below_size_b", (const double[]){64, 128});
		assert_cells(t, row_at(t, 0), keys, (const double[]){1000, 2000, 1000, 10, 20, 10, 1e5});
		assert_cells(t, row_at(t, 1), keys, (const double[]){10000, 0, -10000, 10, 0, -10, -1e6});
		sections_free(&s);
	}
}

/* Each process has its own; their functions are the same. */
static void processes_are_compared(void **state)
{
	(void)state;
	struct sonde_pass_options options = {.diff_from = 3, .diff_to = 4, .requested = 1};
	write_known(1000);
	struct sections s = sections_of(path, "snapshots", &options);
	const struct sonde_section *t = sections_get(&s, "snapshot-functions");
	const struct sonde_cell *row = sections_row(t, "function", "grows");
	assert_cells(t, row, "from_b to_b change_b", (const double[]){7, 1500, 1493});
	sections_free(&s);
}

/* The blocks of a program are gone once its process executes another program. */
static void lives_of_a_process_are_apart(void **state)
{
	(void)state;
	struct recording r;
	struct sonde_pass_options options = {.diff_from = 1, .diff_to = 3, .requested = 1};
	simple_open(&r);
	recording_heap(&r, 1, SONDE_HEAP_MALLOC, NULL);
	recording_heap(&r, 1, SONDE_HEAP_MAPPING, NULL);
	recording_heap(&r, 1, SONDE_HEAP_MALLOC, NULL);
	uint32_t main = recording_call(&r, 0, 1, "main", 10);
	uint32_t before = recording_heap_site(&r, 1, 1, main), maps = recording_heap_site(&r, 2, 1, main);
	uint32_t after = recording_heap_site(&r, 3, 1, recording_call(&r, main, 1, "other", 3));
	recording_begins(&r, before, START + MS, 500);
	recording_begins(&r, maps, START + MS, 4096);
	recording_begins(&r, after, START + 5 * MS, 100);
	snapshot(&r, 1, "before", SONDE_SNAPSHOT_API, START + 2 * MS);
	snapshot(&r, 1, "end", SONDE_SNAPSHOT_END, START + 3 * MS);
	snapshot(&r, 1, "after", SONDE_SNAPSHOT_API, START + 6 * MS);
	snapshot(&r, 1, "end", SONDE_SNAPSHOT_END, START + 7 * MS);
	recording_close(&r, START + 8 * MS, 0);
	struct sections s = sections_of(path, "snapshots", NULL);
	const struct sonde_section *t = sections_get(&s, "snapshots");
	assert_cells(t, row_at(t, 1), "live_b blocks mapped_b", (const double[]){500, 1, 4096});
	assert_cells(t, row_at(t, 2), "live_b blocks mapped_b", (const double[]){100, 1, 0});
	sections_free(&s);
	s = sections_of(path, "snapshots", &options);
	t = sections_get(&s, "snapshot-functions");
	assert_cells(t, sections_row(t, "function", "other"), "from_b to_b", (const double[]){0, 100});
	assert_cells(t, row_at(t, 0), "from_b to_b", (const double[]){4096, 0}); /* main's mapping, then its block */
	assert_cells(t, row_at(t, 1), "from_b to_b", (const double[]){500, 0});
	size_t from, to;
	assert_int_equal(sonde_snapshots_find(s.session, "after,end", &from, &to), 0);
	assert_true(from == 3 && to == 4); /* the last end */
	sections_free(&s);
}

static void found_by_number_and_label(void **state)
{
	(void)state;
	struct sonde_session *session;
	size_t from = 0, to = 0;
	write_known(1000);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_snapshots_find(session, "start,5", &from, &to), 0);
	assert_true(from == 1 && to == 5);
	/* A label has precedence over a number; if two have the same name, the command's own is used. */
	assert_int_equal(sonde_snapshots_find(session, "10,middle", &from, &to), 0);
	assert_true(from == 4 && to == 2);
	assert_int_equal(sonde_snapshots_find(session, "start", &from, &to), -EINVAL);
	assert_int_equal(sonde_snapshots_find(session, "start,6", &from, &to), -ENOENT);
	assert_non_null(strstr(sonde_error_text(),
			       "no snapshot '6'; the recording has 1 \"start\", 2 \"middle\", 3 \"middle\", "
			       "4 \"10\", 5"));
	assert_int_equal(sonde_snapshots_find(session, ",1", &from, &to), -ENOENT);
	assert_true(from == 4 && to == 2); /* as they were */
	sonde_session_close(session);
}

/* Labels of any kind, and several equal ones in one process. */
static void labels_are_any_text(void **state)
{
	(void)state;
	struct recording r;
	struct sonde_session *session;
	size_t from, to;
	simple_open(&r);
	snapshot(&r, 1, "a,b", SONDE_SNAPSHOT_API, START);
	snapshot(&r, 1, "b,c", SONDE_SNAPSHOT_API, START);
	snapshot(&r, 1, "\033[2J", SONDE_SNAPSHOT_API, START);
	snapshot(&r, 1, "twice", SONDE_SNAPSHOT_API, START);
	snapshot(&r, 1, "twice", SONDE_SNAPSHOT_API, START);
	recording_close(&r, START + MS, 0);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_snapshots_find(session, "a,b,b,c", &from, &to), 0);
	assert_true(from == 1 && to == 2);
	assert_int_equal(sonde_snapshots_find(session, "1,twice", &from, &to), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "2 snapshots are named 'twice': use its number"));
	assert_non_null(strstr(sonde_error_text(), "3 \"?[2J\""));
	sonde_session_close(session);
}

static void ends_alone_are_not_worth_a_section(void **state)
{
	(void)state;
	struct recording r;
	struct sonde_pass_options requested = {.requested = 1};
	simple_open(&r);
	snapshot(&r, 1, "end", SONDE_SNAPSHOT_END, START + MS);
	recording_close(&r, START + 2 * MS, 0);
	struct sections s = sections_of(path, "snapshots memory", NULL);
	assert_null(sections_find(&s, "snapshots"));
	assert_null(sections_find(&s, "memory"));
	sections_free(&s);
	s = sections_of(path, "snapshots memory", &requested);
	const struct sonde_section *t = sections_get(&s, "snapshots");
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(sections_cell(t, row_at(t, 0), "live_b")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_cell(t, row_at(t, 0), "rss_b")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(sections_get(&s, "memory")->notes, "not recorded: readings of processes"));
	sections_free(&s);
}

/* 1000 B live from 10 to 50 ms; resident 3000, 5000, 4000 B at 9, 11 and 60 ms. */
static void memory_is_beside_the_heap(void **state)
{
	(void)state;
	struct recording r;
	static const double resident[][2] = {{9, 3000}, {11, 5000}, {60, 4000}};
	simple_open(&r);
	recording_heap(&r, 1, SONDE_HEAP_MALLOC, NULL);
	uint32_t site = site_of(&r, 1, "grows", 3);
	size_t block = recording_begins(&r, site, START + 10 * MS, 1000);
	recording_begins(&r, site, START + 20 * MS, 10);
	recording_ends(&r, 1, block, 1, START + 50 * MS);
	uint32_t series = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	uint32_t other = recording_series(&r, SONDE_METRIC_MEMORY_PSS, 1, 0, "");
	for (size_t i = 0; i < 3; i++) {
		uint64_t time_ns = START + (uint64_t)(resident[i][0] * 1e6);
		recording_point(&r, time_ns, series, (int64_t)resident[i][1]);
		recording_point(&r, time_ns, other, 9999);
	}
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "memory counters", NULL);
	const struct sonde_section *t = sections_get(&s, "memory");
	assert_int_equal(t->table.row_count, 1);
	assert_cells(t, row_at(t, 0), "rss_first_b rss_peak_b rss_last_b rss_growth_b samples",
		     (const double[]){3000, 5000, 4000, 1000, 3});
	assert_cells(t, row_at(t, 0), "live_peak_b rss_at_live_peak_b overhead_at_peak_b live_last_b overhead_last_b",
		     (const double[]){1010, 5000, 3990, 10, 3990});
	assert_cells(t, row_at(t, 0), "interval_ns longest_ns", (const double[]){25.5e6, 49e6});
	assert_null(sections_find(&s, "counters")); /* it is no gauge of the program's */
	sections_free(&s);
	struct sonde_session *session;
	struct sonde_rss rss;
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_rss_read(&rss, session), 0);
	assert_int_equal(rss.series[1].count, 3);
	assert_int_equal(sonde_rss_around(&rss, 1, START + 10 * MS, MS), 5000);
	assert_int_equal(sonde_rss_around(&rss, 1, START + 30 * MS, MS), 0);
	assert_int_equal(sonde_rss_around(&rss, 1, START + 60 * MS, MS), 4000);
	sonde_rss_fini(&rss);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_are_listed),
	    cmocka_unit_test(two_are_compared),
	    cmocka_unit_test(processes_are_compared),
	    cmocka_unit_test(lives_of_a_process_are_apart),
	    cmocka_unit_test(found_by_number_and_label),
	    cmocka_unit_test(labels_are_any_text),
	    cmocka_unit_test(ends_alone_are_not_worth_a_section),
	    cmocka_unit_test(memory_is_beside_the_heap),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
