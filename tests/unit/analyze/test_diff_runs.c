/* test_diff_runs.c: several recordings per side with a known difference: run against run, by zones, iterations,
 * functions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/diff/runs.h"
#include "base/hash.h"
#include "recording.h"
#include "sections.h"

#define MS 1000000ull
#define PATH "diff-runs.sonde"
enum { MOST = 12 };

/* A run: 100 samples of compute, 100 of parse and `more` of compute, and zones and iterations that take as long. */
struct made {
	const char *cpu, *prefix;
	unsigned parse, compute;
	double zone_ms, step_ms;
	unsigned zones;
	int has_write; /* a zone that others do not have */
};

static double noise(uint64_t *seed)
{
	*seed = sonde_hash_mix(*seed + 1);
	return (double)(*seed >> 11) / 4503599627370496.0 - 1; /* −1 … 1 */
}

static void zones_put(struct recording *recording, uint32_t thread, const struct made *made, uint64_t *end_ns)
{
	uint32_t outer = recording_site(recording, SONDE_SITE_ZONE, "work", "");
	uint32_t inner = recording_site(recording, SONDE_SITE_ZONE, "inner", "");
	uint32_t other = recording_site(recording, SONDE_SITE_ZONE, "write", "");
	uint64_t time_ns = RECORDING_START_NS + MS, inner_ns = (uint64_t)(made->zone_ms * (double)MS);
	for (unsigned i = 0; i < made->zones; i++) {
		recording_begin(recording, thread, outer, time_ns);
		recording_begin(recording, thread, inner, time_ns + MS);
		recording_end(recording, thread, time_ns + MS + inner_ns);
		recording_end(recording, thread, time_ns + 2 * MS + inner_ns);
		time_ns += 3 * MS + inner_ns;
	}
	if (made->has_write) {
		recording_begin(recording, thread, other, time_ns);
		recording_end(recording, thread, time_ns + MS);
		time_ns += 2 * MS;
	}
	*end_ns = time_ns;
}

static void make(const struct made *made)
{
	static const char *const names[2] = {"parse", "compute"};
	const unsigned samples[2] = {made->parse, made->compute};
	struct recording recording;
	uint64_t time_ns = RECORDING_START_NS + MS, end_ns;
	recording_open(&recording, PATH);
	recording_info(&recording, "host.cpu", made->cpu ? made->cpu : "a processor");
	recording_info(&recording, "host.boot_id", "a boot");
	uint32_t process = recording_process(&recording, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(&recording, process, 10, "app", RECORDING_START_NS);
	uint32_t module = recording_module(&recording, "/usr/bin/app", 0);
	for (int i = 0; i < 2; i++) {
		char name[64];
		snprintf(name, sizeof name, "%s%s", made->prefix ? made->prefix : "", names[i]);
		uint32_t node = recording_call(&recording, 0, module, name, 1);
		for (unsigned k = 0; k < samples[i]; k++, time_ns += MS)
			recording_sample(&recording, (struct recording_sample){time_ns, thread, node, MS, 0});
	}
	if (made->zones)
		zones_put(&recording, thread, made, &end_ns);
	uint32_t site = recording_site(&recording, SONDE_SITE_ITERATION, "step", "");
	uint64_t mark_ns = RECORDING_START_NS + MS;
	for (unsigned i = 0; made->step_ms > 0 && i < 30; i++, mark_ns += (uint64_t)(made->step_ms * (double)MS))
		recording_value(&recording, thread, SONDE_EVENT_ITERATION, site, mark_ns, 1);
	recording_process_end(&recording, process, time_ns, time_ns - RECORDING_START_NS, 0);
	recording_close(&recording, time_ns, 0);
}

static void read_made(struct sonde_diff_recording *out, const struct made *made)
{
	struct sonde_session *session;
	make(made);
	assert_int_equal(sonde_session_open(&session, PATH, NULL), 0);
	assert_int_equal(sonde_diff_recording_read(out, session), 0);
	sonde_session_close(session);
	unlink(PATH);
}

/* `scale`: the candidate's time ÷ the baseline's; both have a spread of 1 %. */
struct compared {
	struct sonde_diff_recording run[2][MOST];
	struct sonde_diff_runs runs;
};

static void compare(struct compared *out, size_t count, const struct made *baseline, const struct made *candidate,
		    uint64_t seed)
{
	static const struct sonde_diff_options options = {.margin = 0.01};
	*out = (struct compared){0};
	for (size_t i = 0; i < count; i++)
		for (int side = 0; side < 2; side++) {
			struct made made = side ? *candidate : *baseline;
			made.parse += (unsigned)(10 * noise(&seed) + 10);
			made.compute += (unsigned)(10 * noise(&seed) + 10);
			made.zone_ms *= 1 + 0.01 * noise(&seed);
			made.step_ms *= 1 + 0.01 * noise(&seed);
			read_made(&out->run[side][i], &made);
			out->run[side][i].start_ns = (2 * i + ((size_t)side ^ (i & 1))) * MS; /* ABBA */
		}
	out->runs =
	    (struct sonde_diff_runs){.run = {out->run[0], out->run[1]}, .count = {count, count}, .options = &options};
	assert_int_equal(sonde_report_new(&out->runs.report), 0);
	assert_int_equal(sonde_diff_runs(&out->runs), 0);
}

static void done(struct compared *compared)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < compared->runs.count[side]; i++)
			sonde_diff_recording_fini(&compared->run[side][i]);
	sonde_report_free(compared->runs.report);
}

static const struct sonde_section *section_of(const struct compared *compared, const char *id)
{
	return sections_get(&(struct sections){NULL, compared->runs.report}, id);
}

static const struct sonde_cell *cell(const struct sonde_section *section, const char *row_key, const char *name,
				     const char *key)
{
	for (size_t i = 0; i < section->table.row_count; i++) {
		const struct sonde_cell *row = section->table.cells + i * section->table.column_count;
		if (!strcmp(sections_cell(section, row, row_key)->text, name))
			return sections_cell(section, row, key);
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void what_differs_in_every_run_is_found(void **state)
{
	const struct made a = {.parse = 500, .compute = 1000, .zone_ms = 10, .zones = 40, .step_ms = 5},
			  b = {.parse = 500, .compute = 500, .zone_ms = 5, .zones = 40, .step_ms = 4, .has_write = 1};
	struct compared compared;
	(void)state;
	compare(&compared, 8, &a, &b, 1);
	assert_int_equal(compared.runs.verdict, SONDE_VERDICT_IMPROVED);
	assert_true(compared.runs.is_comparable && compared.runs.is_in_turn);
	const struct sonde_section *section = section_of(&compared, "diff");
	double speedup = cell(section, "metric", "CPU", "speedup")->real;
	assert_true(speedup > 1.4 && speedup < 1.55); /* 1510 ÷ 1010, ± 10 */
	assert_true(cell(section, "metric", "CPU", "p")->real < 0.001);
	assert_true(sections_noted(compared.runs.report->notes, "runs, p < 0.001"));
	section = section_of(&compared, "diff-zones");
	assert_true(fabs(cell(section, "zone", "inner", "self_speedup")->real - 2) < 0.03);
	assert_true(fabs(cell(section, "zone", "inner", "median_speedup")->real - 2) < 0.03);
	assert_true(fabs(cell(section, "zone", "inner", "baseline_median_ns")->real / (10.0 * MS) - 1) < 0.02);
	assert_string_equal(cell(section, "zone", "inner", "verdict")->text, "improved");
	assert_string_equal(cell(section, "zone", "work", "verdict")->text, "unchanged"); /* its own 2 ms */
	assert_true(cell(section, "zone", "work", "total_p")->real < 0.001);
	assert_true(fabs(cell(section, "zone", "work", "total_speedup")->real - 12.0 / 7) < 0.03);
	assert_true(fabs(cell(section, "zone", "work", "baseline_calls")->real - 40) < 1e-9);
	assert_int_equal(cell(section, "zone", "write", "self_speedup")->kind, SONDE_CELL_ABSENT);
	assert_true(cell(section, "zone", "write", "baseline_calls")->real < 1e-9);
	section = section_of(&compared, "diff-iterations");
	assert_true(fabs(cell(section, "metric", "step", "speedup")->real - 1.25) < 0.02);
	assert_string_equal(cell(section, "metric", "step", "verdict")->text, "improved");
	section = section_of(&compared, "diff-functions");
	assert_true(fabs(cell(section, "function", "parse", "share_change")->real - 1.0 / 6) < 0.02);
	assert_true(cell(section, "function", "compute", "p")->real < 0.01);
	assert_true(cell(section, "function", "compute", "ci95_high")->real < 0);
	done(&compared);
}

static void the_same_is_not_called_different(void **state)
{
	const struct made a = {.parse = 500, .compute = 1000, .zone_ms = 10, .zones = 10, .step_ms = 5};
	unsigned called = 0, zones = 0, functions = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct compared compared;
		compare(&compared, 6, &a, &a, 100 * seed);
		called +=
		    compared.runs.verdict == SONDE_VERDICT_IMPROVED || compared.runs.verdict == SONDE_VERDICT_REGRESSED;
		const struct sonde_section *section = section_of(&compared, "diff-zones");
		zones += !strcmp(cell(section, "zone", "inner", "verdict")->text, "improved") ||
			 !strcmp(cell(section, "zone", "inner", "verdict")->text, "regressed");
		section = section_of(&compared, "diff-functions");
		functions += cell(section, "function", "parse", "p")->real < 0.01;
		done(&compared);
	}
	assert_in_range(called, 0, 1);
	assert_in_range(zones, 0, 1);
	assert_in_range(functions, 0, 2);
}

static void few_runs_are_not_sure(void **state)
{
	const struct made a = {.parse = 500, .compute = 1000, .zone_ms = 10, .zones = 4},
			  b = {.parse = 100, .compute = 100, .zone_ms = 1, .zones = 4};
	struct compared compared;
	(void)state;
	compare(&compared, 3, &a, &b, 5);
	assert_int_equal(compared.runs.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(sections_noted(compared.runs.report->notes,
				   "p cannot be below 0.100 (0.300 if only one metric differs): use at least 6 runs"));
	assert_true(cell(section_of(&compared, "diff-zones"), "zone", "inner", "self_p")->real >= 0.1);
	done(&compared);
	compare(&compared, 5, &a, &b, 5); /* of three metrics two differ */
	assert_int_equal(compared.runs.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(sections_noted(compared.runs.report->notes, "p cannot be below 0.008 (0.024 if"));
	done(&compared);
	assert_true(fabs(sonde_diff_least_p(5, 5) - 2.0 / 252) < 1e-12);
	assert_true(fabs(sonde_diff_least_p(1, 1) - 1) < 1e-12);
}

static void an_interval_with_1_is_said(void **state)
{
	const struct made a = {.parse = 10, .compute = 10}, other = {.cpu = "another", .parse = 10, .compute = 10};
	struct compared compared;
	(void)state;
	compare(&compared, 6, &a, &a, 3); /* 20 … 60 samples */
	assert_int_equal(compared.runs.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(sections_noted(compared.runs.report->notes, "includes 1: more runs would narrow it"));
	done(&compared);
	compare(&compared, 6, &a, &other, 3);
	assert_false(sections_noted(compared.runs.report->notes, "more runs would"));
	done(&compared);
}

static void other_machines_programs_and_times_are_said(void **state)
{
	const struct made a = {.parse = 500, .compute = 500},
			  machine = {.cpu = "another", .parse = 100, .compute = 100},
			  program = {.prefix = "other_", .parse = 100, .compute = 100}, nothing = {0};
	struct compared compared;
	(void)state;
	compare(&compared, 6, &a, &machine, 1);
	assert_false(compared.runs.is_comparable);
	assert_int_equal(compared.runs.verdict, SONDE_VERDICT_INCONCLUSIVE);
	assert_true(sections_noted(compared.runs.report->notes, "the processors differ"));
	done(&compared);
	compare(&compared, 6, &a, &program, 1);
	assert_false(compared.runs.is_comparable);
	assert_true(sections_noted(section_of(&compared, "diff-functions")->notes, "different programs"));
	assert_ptr_equal(strstr(compared.runs.report->notes->text, "different programs, not comparable"),
			 compared.runs.report->notes->text);
	done(&compared);
	compare(&compared, 1, &nothing, &nothing, 1);
	assert_int_equal(compared.runs.verdict, SONDE_VERDICT_INCONCLUSIVE);
	done(&compared);
}

/* One run per letter of the order: A is the baseline's, B the candidate's; `boots` has a letter for each, '-' =
 * unknown.
 */
static int is_in_turn(const char *order, const char *boots)
{
	static const struct sonde_diff_options options = {.margin = 0.01};
	static char boot[26][2];
	struct compared made = {0};
	size_t *count = made.runs.count;
	for (size_t i = 0; order[i]; i++) {
		int side = order[i] == 'B';
		struct sonde_diff_recording *run = &made.run[side][count[side]++];
		boot[i][0] = boots[i] == '-' ? '\0' : boots[i];
		run->boot = boot[i];
		run->start_ns = (i + 1) * MS;
	}
	made.runs.run[0] = made.run[0];
	made.runs.run[1] = made.run[1];
	made.runs.options = &options;
	assert_int_equal(sonde_report_new(&made.runs.report), 0);
	assert_int_equal(sonde_diff_runs(&made.runs), 0);
	int is_blocks = sections_noted(made.runs.report->notes, "one after the other") != 0;
	int is_unknown = sections_noted(made.runs.report->notes, "the order of the recordings is unknown") != 0;
	assert_int_equal(is_blocks + is_unknown, !made.runs.is_in_turn);
	assert_int_equal(is_unknown, strspn(boots, "x") < strlen(order));
	done(&made);
	return made.runs.is_in_turn;
}

static void one_late_run_is_not_in_turn(void **state)
{
	(void)state;
	assert_true(is_in_turn("ABABABABAB", "xxxxxxxxxx"));
	assert_true(is_in_turn("ABBAABBAAB", "xxxxxxxxxx"));
	assert_true(is_in_turn("BABABA", "xxxxxx"));
	assert_true(is_in_turn("ABAABAABA", "xxxxxxxxx"));
	assert_false(is_in_turn("AAAAABBBBB", "xxxxxxxxxx"));
	assert_false(is_in_turn("BBBBBAAAAA", "xxxxxxxxxx"));
	assert_false(is_in_turn("AAAABBBBBA", "xxxxxxxxxx")); /* one late baseline */
	assert_false(is_in_turn("AAAABABBBB", "xxxxxxxxxx"));
	assert_false(is_in_turn("BAAAAABBBB", "xxxxxxxxxx")); /* one early candidate */
	assert_false(is_in_turn("AAABBBBBBAAA", "xxxxxxxxxxxx"));
	assert_false(is_in_turn("ABABABABAB", "----------"));
	assert_false(is_in_turn("ABABABABAB", "xxxxx-xxxx"));
	assert_false(is_in_turn("ABABABABAB", "xxxxxxxxxy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_differs_in_every_run_is_found),
	    cmocka_unit_test(the_same_is_not_called_different),
	    cmocka_unit_test(few_runs_are_not_sure),
	    cmocka_unit_test(an_interval_with_1_is_said),
	    cmocka_unit_test(other_machines_programs_and_times_are_said),
	    cmocka_unit_test(one_late_run_is_not_in_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
