/* test_diff.c: two recordings whose difference is known: shares of functions, iterations, machines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/diff/diff.h"
#include "base/hash.h"
#include "recording.h"
#include "sections.h"

#define MS 1000000ull

/* A recording of samples in three functions, and iterations; 0 = none. */
struct made {
	const char *path, *cpu, *prefix;
	const char *module; /* NULL: /usr/bin/app */
	unsigned samples[3];
	unsigned iterations;
	double iteration_ms, spread;
	double alike;       /* correlation of neighbours */
	unsigned lost;      /* events */
	unsigned stackless; /* samples */
	unsigned others_ms; /* that other programs used, while this one waited as long */
	unsigned longer;    /* iterations of another loop, of 10 s each; candidate and baseline alike */
	uint64_t seed;
};

static double noise(uint64_t *seed)
{
	*seed = sonde_hash_mix(*seed + 1);
	return (double)(*seed >> 11) / 4503599627370496.0 - 1; /* −1 … 1 */
}

/* On one CPU: others used it for others_ns, and the process for the remainder; meanwhile it waited for others_ns. */
static void put_readings(struct recording *recording, uint32_t thread, uint64_t end_ns, int64_t others_ns)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_CPU_USER, SONDE_METRIC_CPU_IDLE,
						    SONDE_METRIC_CPU_RUNNABLE};
	const int64_t until[] = {(int64_t)(end_ns - RECORDING_START_NS), 0, others_ns};
	recording_info(recording, "host.cpus", "1");
	recording_info(recording, "run.cpus", "1");
	for (int i = 0; i < 3; i++) {
		uint32_t series = recording_series(recording, metrics[i], 0, i == 2 ? thread : 0, "");
		recording_point(recording, RECORDING_START_NS, series, 0);
		recording_point(recording, end_ns, series, until[i]);
	}
}

static void make(const struct made *made)
{
	static const char *const names[3] = {"parse", "compute", "write"};
	struct recording recording;
	uint64_t seed = made->seed, time_ns = RECORDING_START_NS + MS;
	double level = 0;
	recording_open(&recording, made->path);
	recording_info(&recording, "run.command", "app");
	recording_info(&recording, "host.cpu", made->cpu ? made->cpu : "a processor");
	uint32_t process = recording_process(&recording, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(&recording, process, 10, "app", RECORDING_START_NS);
	uint32_t module = recording_module(&recording, made->module ? made->module : "/usr/bin/app", 0);
	for (int i = 0; i < 3; i++) {
		char name[64];
		snprintf(name, sizeof name, "%s%s", made->prefix ? made->prefix : "", names[i]);
		uint32_t node = recording_call(&recording, 0, module, name, 1);
		for (unsigned k = 0; k < made->samples[i]; k++, time_ns += MS)
			recording_sample(&recording, (struct recording_sample){time_ns, thread, node, MS, 0});
	}
	uint32_t site = recording_site(&recording, SONDE_SITE_ITERATION, "step", "");
	uint64_t mark_ns = RECORDING_START_NS + MS;
	for (unsigned i = 0; i < made->iterations; i++) {
		recording_value(&recording, thread, SONDE_EVENT_ITERATION, site, mark_ns, 1);
		level = made->alike * level + sqrt(1 - made->alike * made->alike) * noise(&seed);
		mark_ns += (uint64_t)(made->iteration_ms * (1 + made->spread * level) * (double)MS);
	}
	site = made->longer ? recording_site(&recording, SONDE_SITE_ITERATION, "epoch", "") : 0;
	for (unsigned i = 0; i < made->longer; i++, mark_ns += 10000 * MS)
		recording_value(&recording, thread, SONDE_EVENT_ITERATION, site, mark_ns, 1);
	for (unsigned i = 0; i < made->stackless; i++, time_ns += MS)
		recording_sample(&recording, (struct recording_sample){time_ns, thread, 0, MS, 0});
	if (made->lost)
		recording_lost(&recording, "zones", "ring full", made->lost);
	time_ns = time_ns > mark_ns ? time_ns : mark_ns;
	if (made->others_ms)
		put_readings(&recording, thread, time_ns, made->others_ms * (int64_t)MS);
	recording_process_end(&recording, process, time_ns, time_ns - RECORDING_START_NS - made->others_ms * MS, 0);
	recording_close(&recording, time_ns, 0);
}

static void compare(struct sonde_diff *diff, const struct made *baseline, const struct made *candidate)
{
	static const struct sonde_diff_options options = {.margin = 0.01};
	make(baseline);
	make(candidate);
	*diff = (struct sonde_diff){.options = &options};
	assert_int_equal(sonde_session_open(&diff->baseline, baseline->path, NULL), 0);
	assert_int_equal(sonde_session_open(&diff->candidate, candidate->path, NULL), 0);
	assert_int_equal(sonde_report_new(&diff->report), 0);
	assert_int_equal(sonde_diff_run(diff), 0);
}

static void done(struct sonde_diff *diff)
{
	unlink(sonde_session_path(diff->baseline));
	unlink(sonde_session_path(diff->candidate));
	sonde_report_free(diff->report);
	sonde_session_close(diff->baseline);
	sonde_session_close(diff->candidate);
}

static const struct sonde_section *section_of(const struct sonde_diff *diff, const char *id)
{
	return sections_get(&(struct sections){diff->candidate, diff->report}, id);
}

static const struct sonde_cell *cell(const struct sonde_section *section, size_t row, const char *key)
{
	assert_true(row < section->table.row_count);
	return sections_cell(section, section->table.cells + row * section->table.column_count, key);
}

static void shares_of_functions_change(void **state)
{
	const struct made a = {.path = "diff-a.sonde", .samples = {600, 300, 100}},
			  b = {.path = "diff-b.sonde", .samples = {300, 300, 0}};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	const struct sonde_section *section = section_of(&diff, "diff-functions");
	assert_int_equal(section->table.row_count, 3);
	/* 30 % → 50 % of 1000 and 600 samples; 60 % → 50 %; 10 % → 0 %. */
	assert_string_equal(cell(section, 0, "function")->text, "compute");
	assert_true(fabs(cell(section, 0, "share_change")->real - 0.2) < 1e-12);
	assert_true(fabs(cell(section, 0, "share_change")->plus_minus - 0.0493) < 0.001);
	assert_true(cell(section, 0, "p")->real < 1e-9);
	assert_true(fabs(cell(section, 1, "share_change")->real + 0.1) < 1e-12);
	assert_true(fabs(cell(section, 2, "share_change")->real + 0.1) < 1e-12);
	assert_int_equal(cell(section, 0, "baseline_ns")->integer, 300 * MS);
	assert_int_equal(cell(section, 0, "candidate_ns")->integer, 300 * MS);
	assert_int_equal(diff.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(isnan(diff.change.by) && diff.is_comparable);
	assert_true(sections_noted(diff.report->notes, "one run each"));
	section = section_of(&diff, "diff");
	assert_int_equal(cell(section, 0, "cpu_ns")->integer, 1001 * MS);
	assert_int_equal(cell(section, 1, "wall_ns")->integer, 601 * MS);
	assert_true(sections_noted(section->notes, "1.666× faster by wall time"));
	done(&diff);
}

static void the_same_is_not_called_different(void **state)
{
	const struct made a = {.path = "diff-a.sonde", .samples = {400, 300, 20}},
			  b = {.path = "diff-b.sonde", .samples = {390, 310, 8}};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	const struct sonde_section *section = section_of(&diff, "diff-functions");
	for (size_t i = 0; i < section->table.row_count; i++)
		if (strcmp(cell(section, i, "function")->text, "write") != 0)
			assert_true(cell(section, i, "p")->real > 0.1);
		else
			assert_int_equal(cell(section, i, "p")->kind, SONDE_CELL_ABSENT); /* 28 samples */
	done(&diff);
}

static void iterations_have_a_verdict(void **state)
{
	static const struct {
		double ms, spread;
		unsigned count;
		enum sonde_verdict verdict;
	} rows[] = {{8, 0.02, 200, SONDE_VERDICT_IMPROVED},     {12.5, 0.02, 200, SONDE_VERDICT_REGRESSED},
		    {10, 0.005, 200, SONDE_VERDICT_UNCHANGED},  {10, 0.6, 60, SONDE_VERDICT_INCONCLUSIVE},
		    {10.1, 0.02, 200, SONDE_VERDICT_UNCHANGED}, {5, 0.02, 8, SONDE_VERDICT_INCONCLUSIVE}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct made a = {.path = "diff-a.sonde",
				       .samples = {100, 100, 100},
				       .iterations = 200,
				       .iteration_ms = 10,
				       .spread = rows[i].spread,
				       .seed = 1},
				  b = {.path = "diff-b.sonde",
				       .samples = {100, 100, 100},
				       .iterations = rows[i].count,
				       .iteration_ms = rows[i].ms,
				       .spread = rows[i].spread,
				       .seed = 2};
		struct sonde_diff diff;
		compare(&diff, &a, &b);
		assert_int_equal(diff.verdict, rows[i].verdict);
		int is_wide = rows[i].verdict == SONDE_VERDICT_INCONCLUSIVE && rows[i].count > 8;
		assert_int_equal(sections_noted(diff.report->notes, "includes 1: more iterations would narrow it"),
				 is_wide);
		const struct sonde_section *section = section_of(&diff, "diff-iterations");
		assert_int_equal(section->table.row_count, 1);
		assert_int_equal(cell(section, 0, "baseline_count")->integer, 199);
		if (rows[i].count == 200 && rows[i].spread < 0.1)
			assert_true(fabs(diff.change.by - 10 / rows[i].ms) < 0.01);
		if (rows[i].count < 9)
			assert_int_equal(cell(section, 0, "speedup")->kind, SONDE_CELL_ABSENT);
		done(&diff);
	}
}

/* Other programs had the CPU for a part of the slower run's 2 s: a difference that this can explain gets no verdict. */
static void what_others_can_have_made_has_no_verdict(void **state)
{
	static const struct {
		double ms[2];
		unsigned others_ms[2];
		enum sonde_verdict verdict;
	} rows[] = {{{10, 8}, {0, 0}, SONDE_VERDICT_IMPROVED},        {{10, 8}, {1000, 0}, SONDE_VERDICT_INCONCLUSIVE},
		    {{10, 8}, {200, 0}, SONDE_VERDICT_IMPROVED},      {{10, 8}, {0, 1000}, SONDE_VERDICT_IMPROVED},
		    {{8, 10}, {0, 1000}, SONDE_VERDICT_INCONCLUSIVE}, {{8, 10}, {0, 200}, SONDE_VERDICT_REGRESSED}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made made[2];
		struct sonde_diff diff;
		for (unsigned side = 0; side < 2; side++)
			made[side] = (struct made){.path = side ? "diff-b.sonde" : "diff-a.sonde",
						   .samples = {100, 100, 100},
						   .iterations = 200,
						   .iteration_ms = rows[i].ms[side],
						   .spread = 0.02,
						   .others_ms = rows[i].others_ms[side],
						   .seed = side + 1};
		compare(&diff, &made[0], &made[1]);
		if (diff.verdict != rows[i].verdict)
			fail_msg("row %zu: %s", i, sonde_verdict_name(diff.verdict));
		done(&diff);
	}
}

/* Iterations that resemble their neighbours look alike within a run and differ from run to run: that gives no
 * verdict. */
static void neighbours_that_are_alike_count_once(void **state)
{
	unsigned called = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct made a = {.path = "diff-a.sonde",
				       .iterations = 400,
				       .iteration_ms = 10,
				       .spread = 0.1,
				       .alike = 0.97,
				       .seed = 2 * seed},
				  b = {.path = "diff-b.sonde",
				       .iterations = 400,
				       .iteration_ms = 10,
				       .spread = 0.1,
				       .alike = 0.97,
				       .seed = 2 * seed + 1};
		struct sonde_diff diff;
		compare(&diff, &a, &b);
		called += diff.verdict == SONDE_VERDICT_IMPROVED || diff.verdict == SONDE_VERDICT_REGRESSED;
		done(&diff);
	}
	assert_in_range(called, 0, 1);
}

static void what_took_the_longest_decides(void **state)
{
	const struct made a = {.path = "diff-a.sonde", .iterations = 200, .iteration_ms = 10, .longer = 6},
			  b = {.path = "diff-b.sonde", .iterations = 200, .iteration_ms = 8, .longer = 6};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	assert_string_equal(diff.iteration, "epoch");
	assert_int_equal(diff.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(isnan(diff.change.by));
	assert_true(sections_noted(diff.report->notes, "too few steady iterations of epoch"));
	const struct sonde_section *section = section_of(&diff, "diff-iterations");
	assert_string_equal(cell(section, 0, "verdict")->text, "improved");
	done(&diff);
}

static void with_events_missing_there_is_no_verdict(void **state)
{
	const struct made a = {.path = "diff-a.sonde", .iterations = 200, .iteration_ms = 10},
			  b = {.path = "diff-b.sonde", .iterations = 200, .iteration_ms = 8, .lost = 3};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	assert_int_equal(diff.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_false(diff.is_whole);
	assert_true(sections_noted(diff.report->notes, "3 records of the candidate were lost"));
	done(&diff);
}

/* Shares are shares of the time with stacks: time without a stack does not make all other shares smaller. */
static void time_without_a_stack_is_in_no_share(void **state)
{
	const struct made a = {.path = "diff-a.sonde", .samples = {300, 300, 100}},
			  b = {.path = "diff-b.sonde", .samples = {300, 300, 100}, .stackless = 300};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	const struct sonde_section *section = section_of(&diff, "diff-functions");
	for (size_t i = 0; i < 3; i++) {
		assert_true(fabs(cell(section, i, "share_change")->real) < 1e-12);
		assert_true(cell(section, i, "p")->real > 0.99);
	}
	assert_true(sections_noted(section->notes, "baseline 0.0 %, candidate 30.0 %"));
	done(&diff);
}

static void other_machines_and_programs_are_not_comparable(void **state)
{
	const struct made a = {.path = "diff-a.sonde",
			       .samples = {100, 100, 100},
			       .iterations = 100,
			       .iteration_ms = 10},
			  machine = {.path = "diff-b.sonde",
				     .cpu = "another",
				     .samples = {100, 100, 100},
				     .iterations = 100,
				     .iteration_ms = 5},
			  program = {.path = "diff-b.sonde", .prefix = "other_", .samples = {100, 100, 100}};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &machine);
	assert_false(diff.is_comparable);
	assert_int_equal(diff.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(sections_noted(diff.report->notes, "the processors differ: a processor, another"));
	done(&diff);
	compare(&diff, &a, &program);
	assert_false(diff.is_comparable);
	assert_true(sections_noted(section_of(&diff, "diff-functions")->notes, "different programs"));
	assert_int_equal(section_of(&diff, "diff-functions")->table.row_count, 6);
	assert_ptr_equal(strstr(diff.report->notes->text, "different programs, not comparable"),
			 diff.report->notes->text);
	assert_false(sections_noted(diff.report->notes, "inconclusive"));
	done(&diff);
}

/* The same functions in a file with another name: this is the first note, with what to do. */
static void a_program_by_another_name_is_told(void **state)
{
	const struct made a = {.path = "diff-a.sonde", .samples = {100, 100, 100}},
			  b = {.path = "diff-b.sonde", .module = "/usr/bin/app-new", .samples = {100, 100, 100}};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	assert_false(diff.is_comparable);
	assert_ptr_equal(strstr(diff.report->notes->text,
				"different programs, not comparable: functions with 100.0 % of the "
				"candidate's CPU time have the same names, but are in app-new and in app"),
			 diff.report->notes->text);
	done(&diff);
}

static void empty_recordings_say_nothing(void **state)
{
	const struct made a = {.path = "diff-a.sonde"}, b = {.path = "diff-b.sonde", .samples = {1, 0, 0}};
	struct sonde_diff diff;
	(void)state;
	compare(&diff, &a, &b);
	assert_int_equal(diff.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_ptr_equal(diff.report->first, diff.report->last); /* the runs alone */
	done(&diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shares_of_functions_change),
	    cmocka_unit_test(the_same_is_not_called_different),
	    cmocka_unit_test(iterations_have_a_verdict),
	    cmocka_unit_test(what_others_can_have_made_has_no_verdict),
	    cmocka_unit_test(neighbours_that_are_alike_count_once),
	    cmocka_unit_test(what_took_the_longest_decides),
	    cmocka_unit_test(with_events_missing_there_is_no_verdict),
	    cmocka_unit_test(time_without_a_stack_is_in_no_share),
	    cmocka_unit_test(other_machines_and_programs_are_not_comparable),
	    cmocka_unit_test(empty_recordings_say_nothing),
	    cmocka_unit_test(a_program_by_another_name_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
