/* test_analyze_summary.c: the summary: the run as a whole, what is missing, and the recorder's overhead. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"

/* Rings lose begins and ends: they must not be counted as zones. */
static void losses_of_zones_are_said_to_be_events(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_lost(&r, "zones", "ring full", 60);
	recording_lost(&r, "cpu", "ring full", 5);
	recording_lost(&r, "zones", "site table full: counted as (other)", 3);
	recording_lost(&r, "zones", "too many histograms in a thread", 2);
	samples_add(&r, recording_call(&r, 0, 1, "f", 1), 10, 0);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "functions", NULL);
	assert_true(sections_noted(s.report->notes, "complete stacks, 70 events lost (a zone is two)"));
	assert_true(sections_noted(s.report->notes, "zones: 60 events lost (a zone is two): ring full"));
	assert_true(sections_noted(s.report->notes, "cpu: 5 lost: ring full"));
	assert_true(sections_noted(s.report->notes, "zones: 3 call sites merged: site table full"));
	assert_true(sections_noted(s.report->notes, "zones: 2 values lost: too many histograms"));
	sections_free(&s);
}

static void summary_says_what_was_and_was_not(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_info(&r, "run.command", "prog --fast");
	recording_source(&r, "cpu", SONDE_SOURCE_LIMITED, "CPU timers", "perf events forbidden", 250);
	recording_source(&r, "gpu", SONDE_SOURCE_UNAVAILABLE, "", "no device; plug one in", 0);
	recording_lost(&r, "cpu", "ring full", 7);
	recording_lost(&r, "cpu", "ring full", 5);
	recording_cost(&r, "recorder.user_ns", 4 * MS);
	recording_cost(&r, "recorder.system_ns", 2 * MS);
	samples_add(&r, recording_call(&r, 0, 1, "f", 1), 10, 0);
	recording_process_end(&r, 1, START + 1000 * MS, 500 * MS, 100 * MS);
	recording_close(&r, START + 1000 * MS, 0);
	struct sections s = sections_of(path, "summary", NULL);
	assert_string_equal(s.report->title, "prog --fast");
	assert_true(sections_noted(s.report->notes, "1.00 s wall · 0.60 s CPU (0.50 user + 0.10 system)"));
	assert_true(sections_noted(s.report->notes,
				   " · CPU timers, 250 samples/s (perf events forbidden) · 10 samples, "
				   "100.0 % complete stacks, 12 lost · overhead "
				   "1.0 % of the run's CPU time"));
	assert_true(sections_noted(s.report->notes, "cpu: 12 lost: ring full"));
	assert_true(sections_noted(s.report->notes, "gpu: not recorded: no device; plug one in"));
	assert_false(sections_noted(s.report->notes, "recording is incomplete"));
	const struct sonde_section *t = sections_get(&s, "summary");
	assert_near(sections_real(t, "metric", "timing.cpu_time_s", "value"), 0.6, 1e-9);
	assert_near(sections_real(t, "metric", "timing.user_time_s", "value"), 0.5, 1e-9);
	assert_near(sections_real(t, "metric", "timing.system_time_s", "value"), 0.1, 1e-9);
	double wall_s = sections_real(t, "metric", "timing.wall_time_s", "value");
	assert_near(sections_real(t, "metric", "compute.cpu_utilization_percent", "value"), 60 / wall_s, 1e-6);
	assert_int_equal(sections_int(t, "metric", "lost.count", "value"), 12);
	sections_free(&s);
	s = sections_of(path, "functions", NULL); /* the notes come with every report */
	assert_string_equal(s.report->title, "prog --fast");
	assert_true(sections_noted(s.report->notes, "cpu: 12 lost: ring full"));
	assert_null(sections_find(&s, "summary"));
	sections_free(&s);
}

/* A child that its parent did not wait for ran for 400 ms: the kernel's figure for the command lacks it. */
static void cpu_time_has_orphans(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "sh", START);
	recording_process(&r, 101, 1, "orphan", START);
	recording_thread(&r, 1, 100, "sh", START);
	recording_thread(&r, 2, 101, "orphan", START);
	recording_cost(&r, "recorder.user_ns", 20 * MS);
	recording_thread_end(&r, 1, START + 450 * MS, 2 * MS);
	recording_thread_end(&r, 2, START + 400 * MS, 398 * MS);
	recording_process_end(&r, 2, START + 400 * MS, 0, 0);
	recording_process_end(&r, 1, START + 450 * MS, 1 * MS, 1 * MS);
	recording_close(&r, START + 500 * MS, 3 << 8);
	struct sections s = sections_of(path, "summary", NULL);
	assert_true(sections_noted(s.report->notes, " · ≥ 0.40 s CPU · 2 processes"));
	assert_true(sections_noted(s.report->notes, "overhead ≤ 5.0 % of the run's CPU time"));
	assert_true(sections_noted(s.report->notes, "CPU time is a lower bound"));
	const struct sonde_section *t = sections_get(&s, "summary");
	assert_near(sections_real(t, "metric", "timing.cpu_time_s", "value"), 0.4, 1e-9);
	assert_string_equal(sections_cell(t, sections_row(t, "metric", "timing.cpu_time_s"), "unit")->text,
			    "s, at least");
	assert_int_equal(sections_cell(t, sections_row(t, "metric", "timing.user_time_s"), "value")->kind,
			 SONDE_CELL_ABSENT);
	assert_near(sections_real(t, "metric", "cost.recorder_percent", "value"), 5, 1e-9);
	sections_free(&s);
}

/* Time taken by a hypervisor is in the time of samples, but not in the kernel's figure: that is no reason to doubt the
 * kernel's figure. */
static void stolen_time_is_told_apart(void **state)
{
	(void)state;
	for (int is_stolen = 0; is_stolen < 2; is_stolen++) {
		struct recording r;
		simple_open(&r);
		recording_process(&r, 101, 1, "child", START);
		if (is_stolen)
			recording_cost(&r, "machine.stolen_ns", 60 * MS);
		samples_add(&r, recording_call(&r, 0, 1, "f", 1), 250, 0);
		recording_thread_end(&r, 1, START + 450 * MS, 250 * MS);
		recording_process_end(&r, 1, START + 450 * MS, 200 * MS, 0);
		recording_close(&r, START + 500 * MS, 0);
		struct sections s = sections_of(path, "summary", NULL);
		const struct sonde_section *t = sections_get(&s, "summary");
		assert_int_equal(sections_noted(s.report->notes, "the hypervisor stole 0.06 s of CPU time"), is_stolen);
		assert_int_equal(sections_noted(s.report->notes, "CPU time is a lower bound"), !is_stolen);
		assert_near(sections_real(t, "metric", "timing.cpu_time_s", "value"), is_stolen ? 0.2 : 0.25, 1e-9);
		const struct sonde_cell *cell =
		    sections_cell(t, sections_row(t, "metric", "timing.stolen_time_s"), "value");
		assert_int_equal(cell->kind, is_stolen ? SONDE_CELL_REAL : SONDE_CELL_ABSENT);
		sections_free(&s);
	}
}

/* Nothing that was not measured is shown as zero. */
static void without_samples_nothing_is_zero(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_thread(&r, 1, 101, "other", START);
	recording_close(&r, START + 500 * MS, 0);
	struct sections s = sections_of(path, "threads summary", NULL);
	assert_null(sections_find(&s, "threads"));
	const struct sonde_section *t = sections_get(&s, "summary");
	static const char *const metrics[] = {"samples.count", "samples.cpu_time_s", "samples.complete_percent"};
	for (size_t i = 0; i < 3; i++) {
		const struct sonde_cell *cell = sections_cell(t, sections_row(t, "metric", metrics[i]), "value");
		assert_int_equal(cell->kind, SONDE_CELL_ABSENT);
		assert_string_equal(cell->text, "not recorded: CPU samples (sonde record)");
	}
	assert_true(sections_noted(s.report->notes, " · CPU time was not sampled"));
	sections_free(&s);
	simple_open(&r);
	recording_thread(&r, 1, 101, "other", START);
	recording_source(&r, "cpu", SONDE_SOURCE_ON, "perf events", "", 1000);
	samples_add(&r, recording_call(&r, 0, 1, "f", 1), 10, 0);
	recording_close(&r, START + 500 * MS, 0);
	s = sections_of(path, "threads summary", &(struct sonde_pass_options){.selection.to_ns = START + 1000000 * MS});
	t = sections_get(&s, "threads"); /* clocks are of the whole run */
	assert_string_equal(sections_cell(t, t->table.cells, "cpu_ns")->text, "measured for the whole run only");
	assert_true(sections_noted(s.report->notes, "selected: 0.000 s to 1000.000 s of the recording"));
	sections_free(&s);
	const struct sonde_pass_options beyond = {.selection.from_ns = START + 1000000 * MS, .requested = 1};
	s = sections_of(path, "threads summary", &beyond);
	t = sections_get(&s, "threads");
	assert_string_equal(sections_cell(t, t->table.cells, "share")->text, "no CPU samples in this selection");
	assert_string_equal(sections_cell(t, t->table.cells, "sampled_ns")->text, "no CPU samples in this selection");
	assert_false(sections_noted(t->notes, "100 %"));
	t = sections_get(&s, "summary");
	assert_int_equal(sections_int(t, "metric", "samples.count", "value"), 0); /* that was measured */
	assert_int_equal(sections_cell(t, sections_row(t, "metric", "samples.cpu_time_s"), "value")->kind,
			 SONDE_CELL_ABSENT);
	sections_free(&s);
}

/* CPU time next to wall time covers the same time, or is unknown. */
static void a_cut_recording_does_not_mix_times(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_cost(&r, "recorder.user_ns", 6 * MS);
	recording_sample(&r, (struct recording_sample){START + 60 * MS, 1, 0, MS, 0});
	recording_abandon(&r);
	struct sections s = sections_of(path, "summary", NULL);
	assert_true(sections_noted(s.report->notes, "0.06 s wall · CPU time unknown · 1 sample, "));
	assert_false(sections_noted(s.report->notes, "overhead"));
	assert_true(sections_noted(s.report->notes, "or the file was cut off, after 0.060 s"));
	const struct sonde_section *t = sections_get(&s, "summary");
	static const char *const metrics[] = {"timing.cpu_time_s", "cost.recorder_percent"};
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(sections_cell(t, sections_row(t, "metric", metrics[i]), "value")->text,
				    "unknown: the recording is incomplete");
	sections_free(&s);
	simple_open(&r);
	recording_cost(&r, "recorder.user_ns", 9 * MS);
	recording_sample(&r, (struct recording_sample){START + 60 * MS, 1, 0, MS, 0});
	recording_process_end(&r, 1, START + 1000 * MS, 800 * MS, 100 * MS);
	recording_abandon(&r);
	s = sections_of(path, "summary", NULL);
	assert_true(sections_noted(s.report->notes, "1.00 s wall · 0.90 s CPU (0.80 user + 0.10 system)"));
	assert_true(sections_noted(s.report->notes, "overhead 1.0 % of the run's CPU time"));
	assert_true(sections_noted(s.report->notes, "or the file was cut off, after 0.060 s"));
	sections_free(&s);
}

/* A changed byte in the middle of a samples chunk. */
static void damage_met_while_reading_is_said(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t f = recording_call(&r, 0, 1, "f", 1);
	samples_add(&r, f, 5000, 0);
	recording_close(&r, START + 100000 * MS, 0);
	struct sonde_session *session;
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	uint64_t file_b = sonde_session_run(session)->file_b;
	sonde_session_close(session);
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	fseek(file, (long)(file_b / 2), SEEK_SET);
	int byte = fgetc(file);
	fseek(file, -1, SEEK_CUR);
	fputc(byte ^ 0xff, file);
	fclose(file);
	struct sections s = sections_of(path, "functions", NULL);
	assert_int_equal(sonde_session_run(s.session)->damaged_b, 0); /* the index does not show it */
	assert_true(sections_noted(s.report->notes, " bytes could not be read"));
	assert_true(sections_noted(s.report->notes, "1 chunk could not be read and is left out"));
	sections_free(&s);
}

static void what_a_low_rate_means_depends_on_the_method(void **state)
{
	(void)state;
	static const struct {
		const char *method, *note;
	} rows[] = {
	    {"CPU timers inside the processes", "samples are weighted by CPU time"},
	    {"perf events (cpu-clock)", "the rest were lost"},
	};
	for (size_t i = 0; i < 2; i++) {
		struct recording r;
		simple_open(&r);
		struct sonde_meta_source record = {.head.type = SONDE_META_SOURCE,
						   .name = recording_string(&r, "cpu"),
						   .state = SONDE_SOURCE_ON,
						   .method = recording_string(&r, rows[i].method),
						   .rate_hz = 1000,
						   .effective_hz = 250};
		assert_int_equal(sonde_writer_meta(r.writer, &record, sizeof record, NULL, 0), 0);
		recording_close(&r, START + 100 * MS, 0);
		struct sections s = sections_of(path, "summary", NULL);
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(sections_noted(s.report->notes, rows[k].note), k == i);
		sections_free(&s);
	}
}

static void empty_and_single(void **state)
{
	(void)state;
	static const char all[] =
	    "summary functions latency callers lines calltree threads processes modules zones spans "
	    "counters histograms iterations messages";
	struct recording r;
	recording_open(&r, path);
	recording_close(&r, START, 0);
	struct sections s = sections_of(path, all, NULL);
	assert_string_equal(s.report->first->id, "summary");
	assert_null(s.report->first->next); /* nothing else has anything to say */
	sections_free(&s);
	s = sections_of(path, all, &(struct sonde_pass_options){.requested = 1});
	size_t count = 0;
	for (const struct sonde_section *t = s.report->first; t; t = t->next, count++)
		assert_true(strcmp(t->id, "summary") == 0 || t->notes);
	assert_int_equal(count, 15);
	sections_free(&s);
	simple_open(&r);
	samples_add(&r, recording_call(&r, 0, 1, "f", 1), 1, 0);
	recording_abandon(&r);
	s = sections_of(path, all, NULL);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_near(sections_real(t, "function", "f", "self_share"), 1, 0);
	assert_near(sections_cell(t, t->table.cells, "self_share")->plus_minus, 0.79346, 1e-5);
	assert_non_null(strstr(s.report->notes->text, "recording is incomplete: the recorder was killed, or the "
						      "file was cut off, after "));
	sections_free(&s);
}

/* A heap of which no block was sampled was recorded all the same. */
static void a_heap_without_blocks_has_its_own_reason(void **state)
{
	(void)state;
	static const struct {
		unsigned state;
		const char *detail, *why;
	} cases[] = {
	    {SONDE_SOURCE_ON, "", "no block was sampled"},
	    {SONDE_SOURCE_LIMITED, "sampled", "no block was sampled"},
	    {SONDE_SOURCE_UNAVAILABLE, "a static program", "a static program"},
	    {SONDE_SOURCE_OFF, "", "not recorded: sonde record --heap"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		simple_open(&r);
		recording_source(&r, "heap", cases[i].state, "", cases[i].detail, 0);
		recording_close(&r, START + 500 * MS, 0);
		struct sections s = sections_of(path, "summary", NULL);
		const struct sonde_section *t = sections_get(&s, "summary");
		const struct sonde_cell *cell =
		    sections_cell(t, sections_row(t, "metric", "memory.heap_peak_b"), "value");
		assert_int_equal(cell->kind, SONDE_CELL_ABSENT);
		assert_non_null(strstr(cell->text, cases[i].why));
		sections_free(&s);
	}
}

/* Truncated after the names of its heap: the allocated and lost amounts are not 0, but unknown. */
static void what_was_cut_off_is_not_0(void **state)
{
	static const char *const unknown[] = {"memory.heap_peak_b",
					      "memory.heap_peak_at_s",
					      "memory.heap_allocations",
					      "memory.heap_allocated_b",
					      "memory.heap_left_b",
					      "memory.heap_largest_b",
					      "lost.count"};
	(void)state;
	struct recording r;
	struct stat whole;
	simple_open(&r);
	uint32_t heap = recording_heap(&r, 1, SONDE_HEAP_MALLOC, NULL);
	uint32_t site = recording_heap_site(&r, heap, 1, recording_call(&r, 0, 1, "f", 1));
	recording_flush(&r);
	assert_int_equal(stat(path, &whole), 0);
	recording_begins(&r, site, START + MS, 100);
	recording_close(&r, START + 2 * MS, 0);
	for (int is_cut = 0; is_cut < 2; is_cut++) {
		if (is_cut)
			assert_int_equal(truncate(path, whole.st_size), 0);
		struct sections s = sections_of(path, "summary", NULL);
		const struct sonde_section *t = sections_get(&s, "summary");
		for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
			assert_int_equal(sections_cell(t, sections_row(t, "metric", unknown[i]), "value")->kind ==
					     SONDE_CELL_ABSENT,
					 is_cut);
		assert_int_equal(sections_noted(s.report->notes, ", unknown losses"), is_cut);
		assert_int_equal(sections_noted(s.report->notes, ", 0 lost"), !is_cut);
		sections_free(&s);
		s = sections_of(path, "functions", &(struct sonde_pass_options){.requested = 1});
		assert_int_equal(
		    sections_noted(sections_get(&s, "functions")->notes, "the recording ends before the first"),
		    is_cut);
		sections_free(&s);
	}
}

/* Half a second at one sample a second, and no sample was taken: there is no interval, and a message says what to
 * do. */
static void a_rate_that_is_too_low_is_said(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_info(&r, "option.rate_hz", "1");
	recording_sample(&r, (struct recording_sample){START + 500 * MS, 1, 0, 500 * MS, SONDE_STACK_NOT_SAMPLED});
	recording_close(&r, START + 500 * MS, 0);
	struct sections s = sections_of(path, "functions", &(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_true(sections_noted(t->notes, "no shares: at 1 samples per second of CPU time none "
					     "was taken in 0.500 s; raise the rate with -F"));
	assert_false(sections_noted(t->notes, "Wilson"));
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(losses_of_zones_are_said_to_be_events),
	    cmocka_unit_test(summary_says_what_was_and_was_not),
	    cmocka_unit_test(cpu_time_has_orphans),
	    cmocka_unit_test(stolen_time_is_told_apart),
	    cmocka_unit_test(without_samples_nothing_is_zero),
	    cmocka_unit_test(a_cut_recording_does_not_mix_times),
	    cmocka_unit_test(damage_met_while_reading_is_said),
	    cmocka_unit_test(what_a_low_rate_means_depends_on_the_method),
	    cmocka_unit_test(empty_and_single),
	    cmocka_unit_test(a_heap_without_blocks_has_its_own_reason),
	    cmocka_unit_test(what_was_cut_off_is_not_0),
	    cmocka_unit_test(a_rate_that_is_too_low_is_said),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
