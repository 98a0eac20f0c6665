/* test_finding_limits.c: thresholds of findings from both sides, severities from low to critical, evidence with
 * figures, and runs that are too noisy: recordings of known shares. */
#include "finding_fixture.h"

#define SPAN_MS 1000

static unsigned end_ms = SPAN_MS;

/* Checks the evidence of a rule: it contains these words, and there is a finding or not, as expected. */
static void expect_at(struct recording *r, const char *rule, int is_there, enum sonde_severity severity,
		      const char *evidence)
{
	struct evaluated evaluated;
	struct sonde_pass_options options = {0};
	recording_close(r, START + end_ms * MS, 0);
	assert_int_equal(sonde_session_open(&evaluated.session, path, &(struct sonde_session_options){.no_symbols = 1}),
			 0);
	assert_int_equal(sonde_report_new(&evaluated.report), 0);
	assert_int_equal(sonde_findings_find(&evaluated.found, evaluated.session, &options, evaluated.report, NULL), 0);
	const struct sonde_finding *finding = finding_of(&evaluated, rule);
	if (is_there != (finding != NULL))
		fail_msg("%s is %sthere", rule, finding ? "" : "not ");
	if (finding) {
		assert_string_equal(sonde_severity_name(sonde_finding_severity(finding)),
				    sonde_severity_name(severity));
		if (!strstr(finding->evidence, evidence))
			fail_msg("%s: '%s' is not in '%s'", rule, evidence, finding->evidence);
	}
	forget(&evaluated);
}

/* --- severity ----------------------------------------------------------------------------------------------------- */

static void severity_goes_by_the_share(void **state)
{
	static const struct {
		double weighs;
		enum sonde_severity severity;
	} known[] = {{0, SONDE_SEVERITY_LOW},         {0.0499, SONDE_SEVERITY_LOW}, {0.05, SONDE_SEVERITY_MEDIUM},
		     {0.1999, SONDE_SEVERITY_MEDIUM}, {0.20, SONDE_SEVERITY_HIGH},  {0.3999, SONDE_SEVERITY_HIGH},
		     {0.40, SONDE_SEVERITY_CRITICAL}, {1, SONDE_SEVERITY_CRITICAL}};
	static const char *const names[] = {"low", "medium", "high", "critical"};
	(void)state;
	for (int at_most = SONDE_SEVERITY_LOW; at_most <= SONDE_SEVERITY_CRITICAL; at_most++)
		for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
			const struct sonde_rule rule = {.at_most = (enum sonde_severity)at_most};
			const struct sonde_finding finding = {.rule = &rule, .weighs = known[i].weighs};
			int expected = (int)known[i].severity < at_most ? (int)known[i].severity : at_most;
			assert_int_equal(sonde_finding_severity(&finding), expected);
			assert_string_equal(sonde_severity_name(sonde_finding_severity(&finding)), names[expected]);
		}
}

/* --- shares of the run -------------------------------------------------------------------------------------------- */

/* A thread runs for a second: this many ms in one function, the remainder evenly in eight others. */
static void make_hot(struct recording *r, unsigned hot_ms)
{
	static const char *const names[] = {"one", "two", "three", "four", "five", "six", "seven", "eight"};
	uint32_t others[8];
	simple_open(r);
	uint32_t hot = recording_call(r, 0, 1, "hot", 1);
	for (size_t i = 0; i < 8; i++)
		others[i] = recording_call(r, 0, 1, names[i], 1);
	for (unsigned ms = 0; ms < SPAN_MS; ms++)
		recording_sample(r, (struct recording_sample){START + ms * MS + MS / 2, 1,
							      ms < hot_ms ? hot : others[ms % 8], MS, 0});
	recording_process_end(r, 1, START + SPAN_MS * MS, SPAN_MS * MS, 0);
}

static void a_hot_function_has_a_fifth(void **state)
{
	struct recording r;
	(void)state;
	make_hot(&r, 195);
	expect_at(&r, "hot-function", 0, 0, "");
	make_hot(&r, 205);
	expect_at(&r, "hot-function", 1, SONDE_SEVERITY_HIGH, "0.205 s of the 1.000 s");
	make_hot(&r, 700);
	expect_at(&r, "hot-function", 1, SONDE_SEVERITY_HIGH, "0.700 s of the 1.000 s");
}

/* Calls of one zone, each of 4.9 µs: a tenth of the run. */
static void many_calls_are_more_than_ten_thousand(void **state)
{
	static const unsigned calls[] = {10000, 10001};
	(void)state;
	end_ms = SPAN_MS / 2;
	for (size_t i = 0; i < 2; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t zone = recording_site(&r, SONDE_SITE_ZONE, "tiny", NULL);
		for (uint64_t k = 0; k < calls[i]; k++) {
			recording_begin(&r, 1, zone, START + k * 20000);
			recording_end(&r, 1, START + k * 20000 + 4900);
		}
		char evidence[64];
		snprintf(evidence, sizeof evidence, "called %u times", calls[i]);
		expect_at(&r, "many-calls", calls[i] > 10000, SONDE_SEVERITY_MEDIUM, evidence);
	}
	end_ms = SPAN_MS;
}

/* A zone that reports its work, half of the run. */
static void throughput_is_low_below_a_gflop_a_second(void **state)
{
	static const double flop[] = {0.49e9, 0.51e9};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct recording r;
		simple_open(&r);
		uint32_t zone = recording_site(&r, SONDE_SITE_ZONE, "curve", NULL);
		recording_begin(&r, 1, zone, START);
		recording_work(&r, 1, START + MS, flop[i], 0, 0);
		recording_end(&r, 1, START + 500 * MS);
		expect_at(&r, "low-throughput", i == 0, SONDE_SEVERITY_HIGH,
			  "4.9e+08 FLOP at 9.8e+08 FLOP/s in 0.500 s");
	}
}

/* --- shares of bytes ---------------------------------------------------------------------------------------------- */

/* 100 MB at the peak, this many of them at one call site and the others at eight; leaked_b of it are leaked. */
static void make_heap(struct recording *r, uint64_t held_b, uint64_t leaked_b)
{
	simple_open(r);
	uint32_t heap = recording_heap(r, 1, SONDE_HEAP_MALLOC, NULL);
	uint32_t holder = recording_heap_site(r, heap, 1, recording_call(r, 0, 1, "holder", 1));
	recording_begins(r, holder, START + MS, held_b);
	for (uint64_t i = 0; i < 8; i++) {
		char name[16];
		snprintf(name, sizeof name, "other%d", (int)i);
		uint32_t site = recording_heap_site(r, heap, 1, recording_call(r, 0, 1, name, 1));
		recording_begins(r, site, START + (2 + i) * MS, (100000000 - held_b) / 8);
	}
	if (leaked_b)
		recording_leak(r, holder, SONDE_HEAP_UNREACHABLE, 1, leaked_b, NULL);
	recording_process_end(r, 1, START + SPAN_MS * MS, SPAN_MS * MS, 0);
}

static void a_memory_hotspot_has_three_tenths_of_the_peak(void **state)
{
	struct recording r;
	(void)state;
	make_heap(&r, 29000000, 0);
	expect_at(&r, "memory-hotspot", 0, 0, "");
	make_heap(&r, 31000000, 0);
	expect_at(&r, "memory-hotspot", 1, SONDE_SEVERITY_MEDIUM, "31");
}

static void a_leak_has_a_twentieth(void **state)
{
	struct recording r;
	(void)state;
	make_heap(&r, 20000000, 4900000);
	expect_at(&r, "memory-leak", 0, 0, "");
	make_heap(&r, 20000000, 5100000);
	expect_at(&r, "memory-leak", 1, SONDE_SEVERITY_MEDIUM, "5.1");
	make_heap(&r, 60000000, 39000000);
	expect_at(&r, "memory-leak", 1, SONDE_SEVERITY_HIGH, "39");
	make_heap(&r, 60000000, 41000000);
	expect_at(&r, "memory-leak", 1, SONDE_SEVERITY_CRITICAL, "41");
}

/* --- noise -------------------------------------------------------------------------------------------------------- */

/* Two threads, one a half in the other's way: each runs 5 ms of 10 and could have run in the others. The machine's four
 * CPUs are busy for used_ms in all, of which 1000 are these threads'; for held_ms the quota of their cgroup was used
 * up. */
static void make_noisy(struct recording *r, int64_t used_ms, int threads, int64_t held_ms)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_CPU_USER, SONDE_METRIC_CPU_SYSTEM,
						    SONDE_METRIC_CPU_IDLE};
	const int64_t until_ms[] = {used_ms, 0, 4 * SPAN_MS - used_ms};
	simple_open(r);
	recording_info(r, "run.cpus", "4");
	recording_info(r, "host.cpus", "4");
	uint32_t hot = recording_call(r, 0, 1, "hot", 1);
	if (threads == 2)
		recording_thread(r, 1, 101, "second", START);
	static const enum sonde_metric quota[] = {SONDE_METRIC_CGROUP_PERIODS, SONDE_METRIC_CGROUP_THROTTLED_PERIODS,
						  SONDE_METRIC_CGROUP_THROTTLED};
	const int64_t held[] = {10, 10, held_ms * (int64_t)MS};
	for (int i = 0; i < 3; i++) {
		uint32_t series = recording_series(r, metrics[i], 0, 0, "");
		recording_point(r, START, series, 0);
		recording_point(r, START + SPAN_MS * MS, series, until_ms[i] * (int64_t)MS);
	}
	for (int i = 0; held_ms && i < 3; i++) {
		uint32_t series = recording_series(r, quota[i], 0, 0, "");
		recording_point(r, START, series, 0);
		recording_point(r, START + SPAN_MS * MS, series, held[i]);
	}
	for (uint64_t at_ns = START; at_ns < START + SPAN_MS * MS; at_ns += 10 * MS)
		for (uint32_t thread = 1; thread <= (uint32_t)threads; thread++) {
			recording_switch_on(r, at_ns, thread, SONDE_SWITCH_IN, (int)thread);
			recording_switch_on(r, at_ns + 5 * MS, thread, SONDE_SWITCH_OUT_PREEMPTED, (int)thread);
			for (uint64_t i = 0; i < 5; i++)
				recording_sample(
				    r, (struct recording_sample){at_ns + i * MS + MS / 2, thread, hot, MS, 0});
		}
	recording_process_end(r, 1, START + SPAN_MS * MS, (uint64_t)threads * 500 * MS, 0);
}

static void time_is_not_judged_of_a_noisy_run(void **state)
{
	static const char *const words = "Noisy run: ";
	struct recording r;
	struct evaluated evaluated;
	(void)state;
	/* Half of the path waits; of 1.2 s used others had a sixth: 8 %. */
	make_noisy(&r, 1200, 2, 0);
	evaluate(&evaluated, &r);
	assert_non_null(finding_of(&evaluated, "hot-function"));
	assert_false(is_said(&evaluated, words));
	forget(&evaluated);
	/* Two sevenths of 1.4 s: 14 %. */
	make_noisy(&r, 1400, 2, 0);
	evaluate(&evaluated, &r);
	assert_int_equal(evaluated.found.count, 0);
	assert_true(is_said(&evaluated, words));
	assert_true(is_said(&evaluated, "14 % of the critical path"));
	forget(&evaluated);
	/* The time held back by the quota went to no other program: the remaining waits are a tenth, of which two
	 * sevenths are 3 %. */
	make_noisy(&r, 1400, 2, 400);
	evaluate(&evaluated, &r);
	assert_non_null(finding_of(&evaluated, "starved-of-cpu"));
	assert_false(is_said(&evaluated, words));
	forget(&evaluated);
	/* By threshold. */
	const char *threshold = "noise.share=0.15";
	make_noisy(&r, 1400, 2, 0);
	evaluate_in(&evaluated, &r, &(struct sonde_pass_options){.thresholds = &threshold, .threshold_count = 1});
	assert_non_null(finding_of(&evaluated, "hot-function"));
	forget(&evaluated);
	/* A single thread waits for no other thread: its waiting for a CPU counts. */
	make_noisy(&r, 2000, 1, 0);
	evaluate(&evaluated, &r);
	assert_non_null(finding_of(&evaluated, "hot-function"));
	assert_false(is_said(&evaluated, words));
	forget(&evaluated);
}

/* --- verdicts that other programs may have changed ---------------------------------------------------------------- */

/* One thread computes for the whole second. Another one waits 60 ms for a lock; of the rest it could have run for
 * runnable_ms, but did not. The path is the first one's, which never waits. The machine's two CPUs were busy for
 * others_ms because of others. */
static void make_convoy(struct recording *r, unsigned runnable_ms, int64_t others_ms)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_CPU_USER, SONDE_METRIC_CPU_SYSTEM,
						    SONDE_METRIC_CPU_IDLE};
	const unsigned locked_ms = 60, runs_ms = SPAN_MS - locked_ms - runnable_ms;
	const int64_t used_ms = SPAN_MS + (int64_t)runs_ms + others_ms;
	const int64_t until_ms[] = {used_ms, 0, 2 * SPAN_MS - used_ms};
	simple_open(r);
	recording_info(r, "run.cpus", "2");
	recording_info(r, "host.cpus", "2");
	for (int i = 0; i < 3; i++) {
		uint32_t series = recording_series(r, metrics[i], 0, 0, "");
		recording_point(r, START, series, 0);
		recording_point(r, START + SPAN_MS * MS, series, until_ms[i] * (int64_t)MS);
	}
	uint32_t hot = recording_call(r, 0, 1, "hot", 1);
	recording_thread(r, 1, 101, "second", START);
	recording_switch_on(r, START, 1, SONDE_SWITCH_IN, 0);
	recording_switch_on(r, START, 2, SONDE_SWITCH_IN, 1);
	for (unsigned ms = 0; ms < SPAN_MS; ms++)
		recording_sample(r, (struct recording_sample){START + ms * MS + MS / 2, 1, hot, MS, 0});
	uint64_t at_ns = START + runs_ms * MS;
	for (unsigned ms = 0; ms < runs_ms; ms++)
		recording_sample(r, (struct recording_sample){START + ms * MS + MS / 2, 2, hot, MS, 0});
	recording_switch_on(r, at_ns, 2, SONDE_SWITCH_OUT_PREEMPTED, 1);
	at_ns += runnable_ms * MS;
	recording_switch_on(r, at_ns, 2, SONDE_SWITCH_IN, 1);
	recording_switch_on(r, at_ns + 1000, 2, SONDE_SWITCH_OUT_BLOCKED, 1);
	recording_wait(r,
		       (struct recording_wait){.start_ns = at_ns,
					       .dur_ns = locked_ms * MS - 2000,
					       .thread = 2,
					       .kind = SONDE_WAIT_MUTEX,
					       .stack = hot,
					       .object = recording_object(r, 1, SONDE_OBJECT_LOCK, "a_lock", 0x1000)});
	recording_switch_on(r, START + SPAN_MS * MS - 1000, 2, SONDE_SWITCH_IN, 1);
	recording_process_end(r, 1, START + SPAN_MS * MS, (SPAN_MS + runs_ms) * MS, 0);
}

/* `first`: the rule of the first finding; NULL = too noisy to say. */
static void expect_verdict(struct recording *r, const char *first, const char *threshold)
{
	struct evaluated evaluated;
	evaluate_in(&evaluated, r,
		    &(struct sonde_pass_options){.thresholds = &threshold, .threshold_count = threshold != NULL});
	assert_int_equal(is_said(&evaluated, "Noisy run: "), !first);
	assert_int_equal(evaluated.found.count > 0, first != NULL);
	if (first)
		assert_string_equal(evaluated.found.rows[0].rule->id, first);
	if (!first)
		assert_true(is_said(&evaluated, "other programs may have delayed it by up to 19 %"));
	forget(&evaluated);
}

/* The hot function has a score of 0.25, at least 0.25 (1 - d) if others held up threads for d of the run. The lock,
 * whose time is not on the path, has 0, at most 0.9 d / (1 - d): it may be first from d = 0.185. */
static void a_verdict_is_withheld_if_others_may_have_changed_it(void **state)
{
	struct recording r;
	(void)state;
	make_convoy(&r, 500, 0);
	expect_verdict(&r, "hot-function", NULL);
	make_convoy(&r, 500, 180);
	expect_verdict(&r, "hot-function", NULL);
	make_convoy(&r, 500, 190);
	expect_verdict(&r, NULL, NULL);
	/* Nobody was held up for longer than it was runnable. */
	make_convoy(&r, 130, 700);
	expect_verdict(&r, "hot-function", NULL);
	/* For users who want it all the same. */
	make_convoy(&r, 500, 190);
	expect_verdict(&r, "hot-function", "noise.share=1");
}

/* --- calls on pipes ----------------------------------------------------------------------------------------------- */

/* 2000 reads of a pipe, of which this many block the thread. */
static void make_reader(struct recording *r, unsigned sleeps)
{
	simple_open(r);
	uint32_t stack = recording_call(r, 0, 1, "reader", 1);
	uint32_t pipe = recording_object(r, 1, SONDE_OBJECT_FILE, "pipe:[77]", 3);
	uint64_t at_ns = START;
	recording_switch(r, at_ns, 1, SONDE_SWITCH_IN);
	for (unsigned i = 0; i < 2000; i++, at_ns += MS / 100) {
		recording_wait(r, (struct recording_wait){.start_ns = at_ns,
							  .dur_ns = MS / 125,
							  .thread = 1,
							  .kind = SONDE_WAIT_READ,
							  .stack = stack,
							  .object = pipe,
							  .amount = 8});
		if (i >= sleeps)
			continue;
		recording_switch(r, at_ns + MS / 1000, 1, SONDE_SWITCH_OUT_BLOCKED);
		recording_switch(r, at_ns + MS / 160, 1, SONDE_SWITCH_IN);
	}
	recording_process_end(r, 1, at_ns, at_ns - START, 0);
}

/* If half of the reads or more sleep, they wait for the writer: a larger block would have nothing more to read.
 */
static void reads_that_wait_are_not_small(void **state)
{
	static const struct {
		unsigned sleeps;
		int is_found;
	} cases[] = {{0, 1}, {900, 1}, {1100, 0}, {2000, 0}};
	(void)state;
	end_ms = 20;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording r;
		make_reader(&r, cases[i].sleeps);
		expect_at(&r, "small-reads", cases[i].is_found, SONDE_SEVERITY_CRITICAL, "2000 reads");
	}
	end_ms = SPAN_MS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(severity_goes_by_the_share),
	    cmocka_unit_test(a_hot_function_has_a_fifth),
	    cmocka_unit_test(many_calls_are_more_than_ten_thousand),
	    cmocka_unit_test(throughput_is_low_below_a_gflop_a_second),
	    cmocka_unit_test(a_memory_hotspot_has_three_tenths_of_the_peak),
	    cmocka_unit_test(a_leak_has_a_twentieth),
	    cmocka_unit_test(time_is_not_judged_of_a_noisy_run),
	    cmocka_unit_test(a_verdict_is_withheld_if_others_may_have_changed_it),
	    cmocka_unit_test(reads_that_wait_are_not_small),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
