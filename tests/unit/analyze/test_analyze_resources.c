/* test_analyze_resources.c: resource use of processes and the system agrees with the synthetic recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/resource/machine_sums.h"
#include "analyze/resource/stat_figures.h"
#include "analyze_fixture.h"
#include "sections.h"

#define S 1000000000ull
#define MB 1000000ll

static const size_t chunks[] = {1, 3, 1000}; /* rows */

struct read {
	struct sonde_session *session;
	struct sonde_series_sums sums;
	struct sonde_stat_figures figures;
};

static struct read figures_read(const struct sonde_pass_options *options)
{
	struct read read;
	assert_int_equal(sonde_session_open(&read.session, path, NULL), 0);
	assert_int_equal(sonde_series_sums_read(&read.sums, read.session, options), 0);
	sonde_stat_figures_of(&read.figures, &read.sums);
	return read;
}

static void figures_free(struct read *read)
{
	sonde_series_sums_fini(&read->sums);
	sonde_session_close(read->session);
}

static void assert_figure(const struct read *read, enum sonde_stat figure, double expected)
{
	if (!sonde_stat_known(&read->figures, figure))
		fail_msg("%s is not known: %s", sonde_stat_row(figure)->key, read->figures.cell[figure].text);
	double value = sonde_stat_value(&read->figures, figure);
	if (fabs(value - expected) > 1e-6 * fabs(expected) + 1e-9 && fabs(value - expected) >= 1)
		fail_msg("%s is %.9g instead of %.9g", sonde_stat_row(figure)->key, value, expected);
	if (sonde_stat_row(figure)->unit == SONDE_UNIT_RATIO)
		assert_near(value, expected, 1e-6);
}

static void assert_absent(const struct read *read, enum sonde_stat figure, const char *why)
{
	assert_false(sonde_stat_known(&read->figures, figure));
	assert_non_null(strstr(read->figures.cell[figure].text, why));
}

/* Two processes, the second from 1 s to 2 s, read at 0, 1, 1.9 and 3 s:
 *              0     1     1.9    3 s
 * 1 resident   100   100   300    300 MB      user 0, 0.5, 1.4, 2.0 s    system 0, 0.1, 0.1, 0.4 s
 * 2 resident         50    150                user    0.2, 0.9 s
 * `user_ns` and `system_ns`: what wait(2) returned for the first; 0 = nothing. */
static void write_two(size_t rows, uint64_t user_ns, uint64_t system_ns, const char *attached)
{
	struct recording r;
	static const uint64_t times[] = {0, 10 * S / 10, 19 * S / 10, 30 * S / 10};
	static const int64_t rss[2][4] = {{100, 100, 300, 300}, {0, 50, 150, 0}};
	static const int64_t user[2][4] = {{0, 500, 1400, 2000}, {0, 200, 900, 0}};
	static const int64_t system[4] = {0, 100, 100, 400};
	recording_open(&r, path);
	r.chunk_rows = rows;
	recording_info(&r, "host.cpus", "4");
	recording_info(&r, "option.interval_ns", "100000000");
	if (attached)
		recording_info(&r, "run.attached_pid", attached);
	recording_process(&r, 100, 0, "first", START);
	recording_process(&r, 200, 1, "second", START + S);
	uint32_t rss_of[2], user_of[2], system_of = recording_series(&r, SONDE_METRIC_CPU_SYSTEM, 1, 0, "");
	for (uint32_t i = 0; i < 2; i++) {
		rss_of[i] = recording_series(&r, SONDE_METRIC_MEMORY_RSS, i + 1, 0, "");
		user_of[i] = recording_series(&r, SONDE_METRIC_CPU_USER, i + 1, 0, "");
	}
	for (size_t k = 0; k < 4; k++)
		for (size_t i = 0; i < 2; i++) {
			if (!rss[i][k])
				continue;
			recording_point(&r, START + times[k], rss_of[i], rss[i][k] * MB);
			recording_point(&r, START + times[k], user_of[i], user[i][k] * (int64_t)MS);
			if (!i)
				recording_point(&r, START + times[k], system_of, system[k] * (int64_t)MS);
		}
	recording_process_end(&r, 2, START + 2 * S, 0, 0);
	recording_process_end(&r, 1, START + 3 * S, user_ns, system_ns);
	recording_close(&r, START + 3 * S, attached ? -1 : 0);
}

static void processes_are_added_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		write_two(chunks[i], 0, 0, NULL);
		struct read read = figures_read(NULL);
		assert_figure(&read, SONDE_STAT_WALL, 3e9);
		assert_figure(&read, SONDE_STAT_USER, 2.9e9); /* a child's counts from its beginning */
		assert_figure(&read, SONDE_STAT_SYSTEM, 0.4e9);
		assert_figure(&read, SONDE_STAT_CPU, 3.3e9);
		assert_figure(&read, SONDE_STAT_UTILIZATION, 1.1);
		assert_figure(&read, SONDE_STAT_MACHINE_SHARE, 1.1 / 4);
		assert_figure(&read, SONDE_STAT_UTILIZATION_MAX, 1.6 / 0.9);
		assert_figure(&read, SONDE_STAT_UTILIZATION_MIN, 0.8);
		assert_figure(&read, SONDE_STAT_PEAK_RSS, 450e6); /* together, at 1.9 s */
		assert_figure(&read, SONDE_STAT_FIRST_RSS, 100e6);
		assert_figure(&read, SONDE_STAT_LAST_RSS, 300e6);
		/* (100·1 + 200·0.9 + 300·1.1) of the first, (100·0.9 + 150·0.1) of the second */
		assert_figure(&read, SONDE_STAT_MEAN_RSS, (610 + 105) / 3.0 * 1e6);
		assert_figure(&read, SONDE_STAT_PROCESSES, 2);
		assert_figure(&read, SONDE_STAT_PROCESSES_PEAK, 2);
		assert_figure(&read, SONDE_STAT_REQUESTED, 100e6);
		assert_figure(&read, SONDE_STAT_INTERVAL, (1e9 + 0.9e9 + 1.1e9 + 0.9e9) / 4);
		assert_figure(&read, SONDE_STAT_LONGEST, 1.1e9);
		assert_figure(&read, SONDE_STAT_READINGS, 6);
		assert_false(read.figures.at_least || read.figures.is_exact);
		assert_absent(&read, SONDE_STAT_PEAK_PSS, "not reported by the kernel");
		assert_absent(&read, SONDE_STAT_MACHINE_CPU, "the system was not read");
		assert_absent(&read, SONDE_STAT_PRESSURE_CPU, "/proc/pressure");
		figures_free(&read);
	}
}

/* The same over time. */
static void usage_adds_up(void **state)
{
	(void)state;
	static const double user[] = {0.5, 0.2 + 0.9 + 0.7 + 0.6 * 0.1 / 1.1, 0.6 * 1.0 / 1.1};
	/* A process goes from 100 to 300 MB between 1 s and 1.9 s, and the other from 50 to 150. */
	static const double rss[] = {100e6, (200 * 0.9 + 300 * 0.1 + 100 * 0.9 + 150 * 0.1) * 1e6, 300e6};
	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		write_two(chunks[i], 2900 * MS, 400 * MS, NULL);
		struct sections sections = sections_of(path, "usage", &(struct sonde_pass_options){.limit = 3});
		const struct sonde_section *usage = sections_get(&sections, "usage");
		assert_int_equal(usage->table.row_count, 3);
		for (size_t row = 0; row < 3; row++) {
			assert_int_equal(sonde_report_cell(usage, row, "from_ns")->integer, row * S);
			assert_int_equal(sonde_report_cell(usage, row, "to_ns")->integer, (row + 1) * S);
			assert_near(sonde_report_cell(usage, row, "user_cpus")->real, user[row], 1e-6);
			assert_near((double)sonde_report_cell(usage, row, "rss_b")->integer, rss[row], 1);
			assert_int_equal(sonde_report_cell(usage, row, "read_b_per_s")->kind, SONDE_CELL_ABSENT);
		}
		assert_true(sections_noted(usage->notes, "cover 3.300 s of 3.300 s of CPU time"));
		sections_free(&sections);
		const struct sonde_pass_options part = {
		    .limit = 1, .selection.from_ns = START + S / 2, .selection.to_ns = START + S};
		sections = sections_of(path, "usage", &part);
		usage = sections_get(&sections, "usage");
		assert_int_equal(sonde_report_cell(usage, 0, "from_ns")->integer, S / 2);
		assert_near(sonde_report_cell(usage, 0, "user_cpus")->real, 0.5, 1e-6);
		sections_free(&sections);
	}
}

/* Processes are read as a whole: with one thread selected the figures are its process's, and a note says so. */
static void usage_of_threads_is_of_their_processes(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_process(&r, 200, 0, "other", START);
	recording_thread(&r, 2, 200, "other", START);
	for (uint32_t i = 1; i <= 2; i++) {
		uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, i, 0, "");
		recording_point(&r, START, rss, i * 10 * MB);
		recording_point(&r, START + 1 * S, rss, i * 10 * MB);
	}
	recording_close(&r, START + 1 * S, 0);
	const uint8_t second[] = {0, 0, 1};
	struct sonde_pass_options options = {.limit = 1, .selection.thread = second, .thread_is = "thread 200"};
	struct sections sections = sections_of(path, "usage", &options);
	const struct sonde_section *usage = sections_get(&sections, "usage");
	assert_int_equal(sonde_report_cell(usage, 0, "rss_b")->integer, 20 * MB);
	assert_true(sections_noted(usage->notes, "all threads of the processes of thread 200"));
	sections_free(&sections);
	sections = sections_of(path, "usage", &(struct sonde_pass_options){.limit = 1});
	usage = sections_get(&sections, "usage");
	assert_int_equal(sonde_report_cell(usage, 0, "rss_b")->integer, 30 * MB);
	assert_false(sections_noted(usage->notes, "all threads of"));
	assert_false(sections_noted(usage->notes, "lower bound"));
	sections_free(&sections);
}

/* The first reading is after 1.5 of 4 s: memory before that is unknown. A negative value never occurs. */
static void usage_before_the_first_reading_is_not_known(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	recording_point(&r, START + 15 * S / 10, rss, 8 * MB);
	recording_point(&r, START + 2 * S, rss, -1);
	recording_point(&r, START + 3 * S, rss, 8 * MB);
	recording_close(&r, START + 4 * S, 0);
	struct sections sections = sections_of(path, "usage", &(struct sonde_pass_options){.limit = 4});
	const struct sonde_section *usage = sections_get(&sections, "usage");
	assert_int_equal(sonde_report_cell(usage, 0, "rss_b")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sonde_report_cell(usage, 1, "rss_b")->integer, 4 * MB);
	assert_int_equal(sonde_report_cell(usage, 2, "rss_b")->integer, 8 * MB);
	assert_int_equal(sonde_report_cell(usage, 3, "rss_b")->integer, 8 * MB);
	assert_true(sections_noted(usage->notes, "intervals: 1 with a lower bound, 1 without"));
	assert_true(sections_noted(usage->notes, "1 readings below 0 were left out"));
	sections_free(&sections);
}

static void what_wait_tells_is_exact(void **state)
{
	(void)state;
	write_two(1000, 3 * S, S / 2, NULL);
	struct read read = figures_read(NULL);
	assert_true(read.figures.is_exact && !read.figures.at_least);
	assert_figure(&read, SONDE_STAT_USER, 3e9);
	assert_figure(&read, SONDE_STAT_SYSTEM, 0.5e9);
	assert_figure(&read, SONDE_STAT_CPU, 3.5e9);
	figures_free(&read);
	/* Less than the readings: a child was not waited for. */
	write_two(1000, S, S / 10, NULL);
	read = figures_read(NULL);
	assert_true(read.figures.is_exact && read.figures.at_least);
	assert_figure(&read, SONDE_STAT_CPU, 3.3e9);
	assert_figure(&read, SONDE_STAT_USER, 2.9e9);
	figures_free(&read);
	/* Attached: from the first readings on. */
	write_two(1000, 0, 0, "100");
	read = figures_read(NULL);
	assert_figure(&read, SONDE_STAT_USER, 2.7e9);
	figures_free(&read);
}

static void a_part_is_read_alone(void **state)
{
	(void)state;
	struct sonde_pass_options part = {.selection.from_ns = START + S / 2, .selection.to_ns = START + 2 * S};
	write_two(1000, 3 * S, 0, NULL);
	struct read read = figures_read(&part);
	assert_figure(&read, SONDE_STAT_WALL, 1.5e9);
	/* At 0.5 s the first had half of its 0.5 s, at 2 s a part of what it used from 1.9 to 3 s; the second all. */
	const double first = 1.4 - 0.5 / 2 + 0.6 * 0.1 / 1.1, second = 0.9;
	assert_figure(&read, SONDE_STAT_USER, (first + second) * 1e9);
	assert_figure(&read, SONDE_STAT_FIRST_RSS, 150e6);
	assert_figure(&read, SONDE_STAT_LAST_RSS, 450e6);
	figures_free(&read);
	part.requested = 1;
	struct sections s = sections_of(path, "resources memory", &part);
	const struct sonde_section *t = sections_get(&s, "resources");
	const double system = 0.1 / 2 + 0.3 * 0.1 / 1.1;
	assert_near(sections_real(t, "process", "first", "cpu_utilization"), (first + system) / 1.5, 1e-6);
	assert_true(sections_noted(t->notes, "interpolated evenly"));
	assert_true(sections_noted(sections_get(&s, "memory")->notes, "of the whole recording"));
	sections_free(&s);
	part = (struct sonde_pass_options){
	    .selection.from_ns = START + 25 * S / 10, .selection.to_ns = START + 26 * S / 10, .requested = 1};
	s = sections_of(path, "resources", &part);
	assert_true(sections_noted(sections_get(&s, "resources")->notes, "no reading falls in the selected time"));
	sections_free(&s);
}

/* Attached to a process that is 0.9 s older, and a child that is 0.3 s older and ends during the recording. */
static void older_processes_count_from_the_beginning(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_info(&r, "run.attached_pid", "100");
	recording_process(&r, 100, 0, "first", START - 900 * MS);
	recording_process(&r, 200, 1, "second", START - 300 * MS);
	for (uint32_t id = 1; id <= 2; id++) {
		uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, id, 0, "");
		recording_point(&r, START + 100 * MS, rss, 100 * MB);
		recording_point(&r, START + 500 * MS, rss, 100 * MB);
	}
	recording_process_end(&r, 2, START + 500 * MS, 0, 0);
	recording_close(&r, START + S, -1);
	struct read read = figures_read(NULL);
	uint64_t from_ns, to_ns;
	sonde_series_life(&read.sums, 1, &from_ns, &to_ns);
	assert_int_equal(from_ns, START);
	assert_int_equal(to_ns, START + S);
	sonde_series_life(&read.sums, 2, &from_ns, &to_ns);
	assert_int_equal(to_ns - from_ns, 500 * MS);
	assert_figure(&read, SONDE_STAT_WALL, 1e9);
	assert_figure(&read, SONDE_STAT_MEAN_RSS, 150e6);
	figures_free(&read);
}

static void rows_are_of_processes(void **state)
{
	(void)state;
	write_two(3, 3 * S, S / 2, NULL);
	struct sections s = sections_of(path, "resources machine", NULL);
	const struct sonde_section *t = sections_get(&s, "resources");
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(sections_int(t, "process", "all 2 processes", "cpu_ns"), 3500 * MS);
	assert_int_equal(sections_int(t, "process", "all 2 processes", "peak_rss_b"), 450 * MB);
	assert_int_equal(sections_int(t, "process", "first", "cpu_ns"), 2400 * MS);
	assert_near(sections_real(t, "process", "first", "cpu_utilization"), 0.8, 1e-9);
	assert_near(sections_real(t, "process", "first", "cpu_machine_share"), 0.2, 1e-9);
	assert_int_equal(sections_int(t, "process", "first", "rss_mean_b"), 610 * MB / 3);
	assert_int_equal(sections_int(t, "process", "second", "wall_ns"), S);
	assert_int_equal(sections_int(t, "process", "second", "rss_max_b"), 150 * MB);
	assert_near(sections_real(t, "process", "second", "cpu_utilization"), 1, 1e-9); /* 0.9 s until 1.9 s */
	const struct sonde_cell *row = sections_row(t, "process", "second");
	assert_int_equal(sections_cell(t, row, "system_ns")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "6 readings (every 100 ms requested): 975.0 ms apart"));
	assert_null(sections_find(&s, "machine"));
	sections_free(&s);
}

/* The kernel's high-water mark is read less often than RSS: the peak is at least the highest RSS. */
static void a_peak_is_no_less_than_what_was_read(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "first", START);
	recording_process(&r, 200, 1, "second", START);
	for (uint32_t id = 1; id <= 2; id++) {
		uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, id, 0, "");
		uint32_t peak = recording_series(&r, SONDE_METRIC_MEMORY_PEAK_RSS, id, 0, "");
		recording_point(&r, START, peak, (id == 1 ? 3 : 9) * MB);
		recording_point(&r, START, rss, 3 * MB);
		recording_point(&r, START + 100 * MS, rss, 5 * MB);
	}
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "resources", NULL);
	const struct sonde_section *t = sections_get(&s, "resources");
	assert_int_equal(sections_int(t, "process", "first", "peak_rss_b"), 5 * MB);
	assert_int_equal(sections_int(t, "process", "second", "peak_rss_b"), 9 * MB);
	sections_free(&s);
}

/* Read once, or never: only known figures are reported. */
/* Readings alone are useless if most of the CPU time was used by processes that they missed. */
static void readings_that_miss_much_tell_nothing(void **state)
{
	(void)state;
	for (int missed = 0; missed < 2; missed++) {
		struct recording r;
		simple_open(&r);
		recording_info(&r, "option.interval_ns", "100000000");
		uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
		uint32_t threads = recording_series(&r, SONDE_METRIC_THREADS, 1, 0, "");
		uint32_t user = recording_series(&r, SONDE_METRIC_CPU_USER, 1, 0, "");
		for (unsigned i = 0; i < 3; i++) {
			recording_point(&r, START + i * 100 * MS, rss, 5 * MB);
			recording_point(&r, START + i * 100 * MS, threads, 1);
			recording_point(&r, START + i * 100 * MS, user, (int64_t)(i * 45 * MS));
		}
		recording_process_end(&r, 1, START + 200 * MS, missed ? 120 * MS : 100 * MS, 0);
		recording_close(&r, START + 200 * MS, 0);
		struct read read = figures_read(NULL);
		assert_figure(&read, SONDE_STAT_FIRST_RSS, 5e6);
		if (missed) {
			assert_absent(&read, SONDE_STAT_MEAN_RSS, "started or exited");
			assert_absent(&read, SONDE_STAT_THREADS_PEAK, "started or exited");
		} else {
			assert_figure(&read, SONDE_STAT_MEAN_RSS, 5e6);
			assert_figure(&read, SONDE_STAT_THREADS_PEAK, 1);
		}
		figures_free(&read);
	}
}

static void short_processes_have_reasons(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_info(&r, "option.interval_ns", "100000000");
	uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	recording_point(&r, START + MS, rss, 5 * MB);
	recording_process_end(&r, 1, START + 4 * MS, 3 * MS, MS);
	recording_close(&r, START + 4 * MS, 0);
	struct sections s = sections_of(path, "resources", NULL);
	const struct sonde_section *t = sections_get(&s, "resources");
	const struct sonde_cell *row = t->table.cells;
	assert_int_equal(t->table.row_count, 1);
	assert_int_equal(sections_cell(t, row, "cpu_ns")->integer, 4 * MS);
	assert_int_equal(sections_cell(t, row, "rss_first_b")->integer, 5 * MB);
	assert_int_equal(sections_cell(t, row, "threads_max")->kind, SONDE_CELL_ABSENT);
	assert_string_equal(sections_cell(t, row, "threads_max")->text, "it exited before it could be read");
	sections_free(&s);
	struct read read = figures_read(NULL);
	assert_absent(&read, SONDE_STAT_UTILIZATION_MAX, "too short for two readings");
	assert_absent(&read, SONDE_STAT_INTERVAL, "too short for two readings");
	assert_figure(&read, SONDE_STAT_FIRST_RSS, 5e6);
	assert_absent(&read, SONDE_STAT_MEAN_RSS, "exited before it could be read"); /* one reading, of its beginning */
	assert_figure(&read, SONDE_STAT_UTILIZATION, 1);
	figures_free(&read);
	/* No series at all. */
	simple_open(&r);
	recording_close(&r, START + MS, 0);
	struct sonde_pass_options requested = {.requested = 1};
	s = sections_of(path, "resources machine", NULL);
	assert_null(sections_find(&s, "resources"));
	sections_free(&s);
	s = sections_of(path, "resources machine", &requested);
	assert_true(
	    sections_noted(sections_get(&s, "resources")->notes, "not recorded: readings of processes and the system"));
	assert_true(
	    sections_noted(sections_get(&s, "machine")->notes, "not recorded: readings of processes and the system"));
	sections_free(&s);
}

/* In each round, one of two processes has the 100 MB: together, they never had more. */
static void memory_that_moves_is_counted_once(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_process(&r, 101, 1, "other", START);
	uint32_t first = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, ""),
		 second = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 2, 0, "");
	for (unsigned i = 0; i < 20; i++) {
		recording_point(&r, START + (i * 100 + 1) * MS, first, i % 2 ? 100 * MB : 0);
		recording_point(&r, START + (i * 100 + 2) * MS, second, i % 2 ? 0 : 100 * MB);
	}
	recording_close(&r, START + 2 * S, 0);
	struct read read = figures_read(NULL);
	assert_figure(&read, SONDE_STAT_PEAK_RSS, 100e6);
	assert_true(read.figures.is_peak_sum);
	figures_free(&read);
}

static void rows_are_limited_and_totals_whole(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_info(&r, "host.cpus", "2");
	for (uint32_t i = 1; i <= 500; i++) {
		char name[16];
		snprintf(name, sizeof name, "p%u", i);
		recording_process(&r, 1000 + i, i > 1, name, START);
		uint32_t user = recording_series(&r, SONDE_METRIC_CPU_USER, i, 0, "");
		recording_point(&r, START + i, user, (int64_t)(i * MS));
		recording_point(&r, START + S + i, user, (int64_t)(2 * i * MS));
	}
	recording_close(&r, START + 2 * S, 0);
	struct sections s = sections_of(path, "resources", NULL);
	const struct sonde_section *t = sections_get(&s, "resources");
	assert_int_equal(t->table.row_count, 21);
	assert_int_equal(t->table.omitted, 480);
	assert_int_equal(sections_int(t, "process", "all 500 processes", "cpu_ns"), 2 * MS * 500 * 501 / 2);
	assert_string_equal(sections_cell(t, t->table.cells + t->table.column_count, "process")->text, "p500");
	sections_free(&s);
}

/* --- the machine ------------------------------------------------------------------------------------------------- */

struct machine_point {
	enum sonde_metric metric;
	const char *object;
	int64_t values[3]; /* at 0, 1 and 3 s */
};

/* Two CPUs: each is busy for half of the first second, and then all the time. */
static const struct machine_point machine_points[] = {
    {SONDE_METRIC_CPU_USER, "", {10000, 10700, 13700}}, /* ms */
    {SONDE_METRIC_CPU_SYSTEM, "", {5000, 5300, 5900}},
    {SONDE_METRIC_CPU_IDLE, "", {90000, 90700, 90700}},
    {SONDE_METRIC_CPU_IOWAIT, "", {100, 400, 400}},
    {SONDE_METRIC_CPU_STOLEN, "", {0, 0, 400}},
    {SONDE_METRIC_LOAD, "", {1000, 1000, 3000}},
    {SONDE_METRIC_MEMORY_TOTAL, "", {8000, 8000, 8000}}, /* MB */
    {SONDE_METRIC_MEMORY_AVAILABLE, "", {6000, 6000, 2000}},
    {SONDE_METRIC_DISK_BUSY, "sda", {0, 100, 2100}},
    {SONDE_METRIC_DISK_READ, "sda", {1000, 1010, 1030}},
    {SONDE_METRIC_DISK_WRITTEN, "sda", {0, 0, 6}},
    {SONDE_METRIC_DISK_BUSY, "sdb", {7, 7, 7}},
    {SONDE_METRIC_DISK_READ, "sdb", {5, 5, 5}},
    {SONDE_METRIC_NETWORK_RECEIVED, "lo", {0, 500, 900}},
    {SONDE_METRIC_NETWORK_SENT, "lo", {0, 500, 900}},
    {SONDE_METRIC_NETWORK_RECEIVED, "eth0", {3, 3, 15}},
    {SONDE_METRIC_NETWORK_SENT, "eth0", {0, 1, 2}},
    {SONDE_METRIC_PRESSURE_SOME, "cpu", {50, 150, 1250}},
    {SONDE_METRIC_PRESSURE_FULL, "cpu", {0, 0, 0}},
    {SONDE_METRIC_PRESSURE_SOME, "memory", {0, 0, 0}},
    {SONDE_METRIC_CGROUP_PERIODS, "", {100, 110, 130}},
    {SONDE_METRIC_CGROUP_THROTTLED_PERIODS, "", {10, 10, 25}},
    {SONDE_METRIC_CGROUP_THROTTLED, "", {0, 0, 750}},
    {SONDE_METRIC_CGROUP_MEMORY, "", {100, 100, 300}},
    {SONDE_METRIC_CGROUP_MEMORY_LIMIT, "", {400, 400, 400}},
};
enum { MACHINE_POINTS = sizeof machine_points / sizeof *machine_points };

static void write_machine(size_t rows)
{
	struct recording r;
	static const uint64_t times[] = {0, S, 3 * S};
	uint32_t ids[MACHINE_POINTS];
	simple_open(&r);
	r.chunk_rows = rows;
	recording_info(&r, "host.cpus", "2");
	for (size_t i = 0; i < MACHINE_POINTS; i++)
		ids[i] = recording_series(&r, machine_points[i].metric, 0, 0, machine_points[i].object);
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < MACHINE_POINTS; i++) {
			const char *unit = sonde_metric_row(machine_points[i].metric)->unit;
			recording_point(&r, START + times[k], ids[i],
					machine_points[i].values[k] * (!strcmp(unit, "ns")  ? (int64_t)MS
								       : !strcmp(unit, "B") ? MB
											    : 1));
		}
	recording_close(&r, START + 3 * S, 0);
}

static void machine_has_shares(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		write_machine(chunks[i]);
		struct read read = figures_read(NULL);
		/* 4.6 s of 6 s; 1 s of 2 s; 3.6 s of 4 s */
		assert_figure(&read, SONDE_STAT_MACHINE_CPU, 4.6 / 6);
		assert_figure(&read, SONDE_STAT_MACHINE_CPU_MIN, 0.5);
		assert_figure(&read, SONDE_STAT_MACHINE_CPU_MAX, 0.9);
		assert_figure(&read, SONDE_STAT_MACHINE_IOWAIT, 0.3 / 6);
		assert_figure(&read, SONDE_STAT_MACHINE_STOLEN, 0.4 / 6);
		assert_near(sonde_stat_value(&read.figures, SONDE_STAT_LOAD), (1 + 2 * 2) / 3.0, 1e-9);
		assert_near(sonde_stat_value(&read.figures, SONDE_STAT_LOAD_MAX), 3, 1e-9);
		/* Of the control group's 400 MB: 100 for a second, 200 on average for two. */
		assert_true(read.figures.is_limited);
		assert_figure(&read, SONDE_STAT_MACHINE_MEMORY, (100 + 2 * 200) / 3.0 / 400);
		assert_figure(&read, SONDE_STAT_MACHINE_MEMORY_MAX, 0.75);
		assert_figure(&read, SONDE_STAT_MACHINE_MEMORY_ALL, 400e6);
		assert_figure(&read, SONDE_STAT_CGROUP_MEMORY, 300e6);
		assert_figure(&read, SONDE_STAT_DISK_BUSY, 0.7);
		assert_figure(&read, SONDE_STAT_DISK_READ, 30e6);
		assert_figure(&read, SONDE_STAT_DISK_WRITTEN, 6e6);
		assert_figure(&read, SONDE_STAT_RECEIVED, 12e6); /* without loopback */
		assert_figure(&read, SONDE_STAT_SENT, 2e6);
		assert_figure(&read, SONDE_STAT_PRESSURE_CPU, 0.4);
		assert_figure(&read, SONDE_STAT_PRESSURE_CPU_FULL, 0);
		assert_absent(&read, SONDE_STAT_PRESSURE_IO, "/proc/pressure");
		assert_figure(&read, SONDE_STAT_THROTTLED, 0.75e9);
		assert_figure(&read, SONDE_STAT_THROTTLED_PERIODS, 0.5);
		figures_free(&read);
	}
}

static void machine_has_rows(void **state)
{
	(void)state;
	write_machine(1000);
	struct sections s = sections_of(path, "machine", NULL);
	const struct sonde_section *t = sections_get(&s, "machine");
	assert_near(sections_real(t, "what", "CPU", "mean"), 4.6 / 6, 1e-9);
	assert_string_equal(sections_cell(t, sections_row(t, "what", "CPU"), "whole")->text, "the time of 2 CPUs");
	/* 6 GB for a second, 4 GB on average for two, of 8 GB */
	assert_near(sections_real(t, "what", "memory", "mean"), 1 - (6 + 2 * 4) / 3.0 / 8, 1e-9);
	assert_near(sections_real(t, "what", "memory", "max"), 0.75, 1e-9);
	assert_near(sections_real(t, "what", "cgroup memory", "max"), 0.75, 1e-9);
	assert_near(sections_real(t, "object", "sda", "max"), 1, 1e-9);
	assert_near(sections_real(t, "object", "sda", "min"), 0.1, 1e-9);
	assert_null(sections_row(t, "object", "sdb")); /* it did nothing */
	assert_near(sections_real(t, "object", "memory", "mean"), 0, 1e-9);
	assert_null(sections_row(t, "what", "all tasks waited"));
	assert_near(sections_real(t, "what", "throttled", "mean"), 0.5, 1e-9);
	t = sections_get(&s, "machine-io");
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(sections_int(t, "name", "sda", "in_b"), 30 * MB);
	assert_near(sections_real(t, "name", "sda", "in_per_s_b"), 10e6, 1);
	assert_near(sections_real(t, "name", "eth0", "in_per_s_max_b"), 6e6, 1);
	assert_int_equal(sections_int(t, "name", "lo", "out_b"), 900 * MB);
	sections_free(&s);
}

/* A last piece that is too short for a share of its own joins the previous piece: the mean never exceeds the
 * maximum. */
static void the_end_counts_for_the_most(void **state)
{
	(void)state;
	static const struct {
		uint64_t time_ns;
		int64_t busy_ns, idle_ns, waited_ns;
	} readings[] = {{0, 0, 0, 0}, {1000 * MS, 100, 1900, 200}, {1040 * MS, 180, 1900, 240}};
	struct recording r;
	simple_open(&r);
	recording_info(&r, "host.cpus", "2");
	recording_info(&r, "option.interval_ns", "1000000000");
	uint32_t user = recording_series(&r, SONDE_METRIC_CPU_USER, 0, 0, "");
	uint32_t idle = recording_series(&r, SONDE_METRIC_CPU_IDLE, 0, 0, "");
	uint32_t waited = recording_series(&r, SONDE_METRIC_PRESSURE_SOME, 0, 0, "cpu");
	for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
		recording_point(&r, START + readings[i].time_ns, user, readings[i].busy_ns * (int64_t)MS);
		recording_point(&r, START + readings[i].time_ns, idle, readings[i].idle_ns * (int64_t)MS);
		recording_point(&r, START + readings[i].time_ns, waited, readings[i].waited_ns * (int64_t)MS);
	}
	recording_close(&r, START + 1040 * MS, 0);
	struct sections s = sections_of(path, "machine", NULL);
	const struct sonde_section *t = sections_get(&s, "machine");
	assert_near(sections_real(t, "what", "CPU", "mean"), 180 / 2080.0, 1e-9);
	assert_near(sections_real(t, "what", "CPU", "max"), 180 / 2080.0, 1e-9);
	assert_near(sections_real(t, "what", "CPU", "min"), 100 / 2000.0, 1e-9);
	assert_near(sections_real(t, "object", "cpu", "mean"), 240 / 1040.0, 1e-9);
	assert_near(sections_real(t, "object", "cpu", "max"), 240 / 1040.0, 1e-9);
	sections_free(&s);
}

/* A limit above the machine's memory does not count as a limit; readings whose time goes back are left out. */
static void odd_recordings_are_read(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t total = recording_series(&r, SONDE_METRIC_MEMORY_TOTAL, 0, 0, "");
	uint32_t left = recording_series(&r, SONDE_METRIC_MEMORY_AVAILABLE, 0, 0, "");
	uint32_t limit = recording_series(&r, SONDE_METRIC_CGROUP_MEMORY_LIMIT, 0, 0, "");
	uint32_t used = recording_series(&r, SONDE_METRIC_CGROUP_MEMORY, 0, 0, "");
	uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	uint32_t again = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	uint32_t user = recording_series(&r, SONDE_METRIC_CPU_USER, 1, 0, "");
	recording_point(&r, START, total, 1000);
	recording_point(&r, START, left, 250);
	recording_point(&r, START, limit, INT64_MAX);
	recording_point(&r, START, used, 10);
	recording_point(&r, START + S, rss, 5 * MB);
	recording_flush(&r);
	recording_point(&r, START, rss, 900 * MB);         /* before the one it has */
	recording_point(&r, START + 2 * S, again, 7 * MB); /* the same series under another number */
	recording_point(&r, START + 2 * S, user, INT64_MIN);
	recording_point(&r, START + 3 * S, user, -5);
	recording_close(&r, START + 4 * S, 0);
	struct read read = figures_read(NULL);
	assert_false(read.figures.is_limited);
	assert_figure(&read, SONDE_STAT_MACHINE_MEMORY, 0.75);
	assert_figure(&read, SONDE_STAT_LAST_RSS, 7e6);
	assert_figure(&read, SONDE_STAT_PEAK_RSS, 7e6);
	const struct sonde_series_sum *sum = sonde_series_sum_of(&read.sums, 1, SONDE_METRIC_MEMORY_RSS);
	assert_int_equal(sum->count, 2);
	assert_near(sonde_series_mean(sum), 6e6, 1);
	assert_figure(&read, SONDE_STAT_USER, 0);
	figures_free(&read);
}

/* A recorder that was killed: up to the last reading. */
static void cut_recordings_end_at_their_last_reading(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t rss = recording_series(&r, SONDE_METRIC_MEMORY_RSS, 1, 0, "");
	recording_point(&r, START, rss, 1 * MB);
	recording_point(&r, START + 2 * S, rss, 3 * MB);
	recording_flush(&r);
	recording_abandon(&r);
	struct read read = figures_read(NULL);
	assert_figure(&read, SONDE_STAT_WALL, 2e9);
	assert_figure(&read, SONDE_STAT_MEAN_RSS, 2e6);
	assert_false(read.figures.is_exact);
	figures_free(&read);
}

/* Of two recordings merged, one was attached to what was there before; only threads were read, so that no process has a
 * row: what waits of the first began at its first reading, of the second at 0. */
static void threads_wait_as_their_part_began(void **state)
{
	(void)state;
	static const char *const infos[][2] = {
	    {"merged.count", "2"},           {"merged.1.first_process", "1"},
	    {"merged.1.last_process", "1"},  {"merged.1.run.attached_pid", "100"},
	    {"merged.2.first_process", "2"}, {"merged.2.last_process", "2"},
	};
	struct recording r;
	recording_open(&r, path);
	for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
		recording_info(&r, infos[i][0], infos[i][1]);
	for (uint32_t i = 1; i <= 2; i++) {
		recording_process(&r, 100 * i, 0, "p", START);
		recording_thread(&r, i, 100 * i, "t", START);
		uint32_t id = recording_series(&r, SONDE_METRIC_CPU_RUNNABLE, i, i, "");
		recording_point(&r, START + 1 * S, id, 10 * (int64_t)MS);
		recording_point(&r, START + 2 * S, id, 25 * (int64_t)MS);
	}
	recording_close(&r, START + 3 * S, 0);
	struct read read = figures_read(NULL);
	size_t threads;
	assert_int_equal(read.sums.row_count, 0);
	assert_near(sonde_series_waited(&read.sums, 1, &threads), 15e6, 1e-3);
	assert_int_equal(threads, 1);
	assert_near(sonde_series_waited(&read.sums, 2, &threads), 25e6, 1e-3);
	assert_near(sonde_series_waited(&read.sums, 0, &threads), 40e6, 1e-3);
	assert_int_equal(threads, 2);
	figures_free(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(processes_are_added_up),
	    cmocka_unit_test(usage_adds_up),
	    cmocka_unit_test(usage_of_threads_is_of_their_processes),
	    cmocka_unit_test(usage_before_the_first_reading_is_not_known),
	    cmocka_unit_test(what_wait_tells_is_exact),
	    cmocka_unit_test(a_part_is_read_alone),
	    cmocka_unit_test(older_processes_count_from_the_beginning),
	    cmocka_unit_test(rows_are_of_processes),
	    cmocka_unit_test(a_peak_is_no_less_than_what_was_read),
	    cmocka_unit_test(readings_that_miss_much_tell_nothing),
	    cmocka_unit_test(short_processes_have_reasons),
	    cmocka_unit_test(memory_that_moves_is_counted_once),
	    cmocka_unit_test(rows_are_limited_and_totals_whole),
	    cmocka_unit_test(machine_has_shares),
	    cmocka_unit_test(machine_has_rows),
	    cmocka_unit_test(the_end_counts_for_the_most),
	    cmocka_unit_test(odd_recordings_are_read),
	    cmocka_unit_test(cut_recordings_end_at_their_last_reading),
	    cmocka_unit_test(threads_wait_as_their_part_began),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
