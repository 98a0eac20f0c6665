/* test_findings.c: rules on recordings whose answers are known; thresholds; findings that depend on lost records. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "recording.h"
#include "util/error.h"

#define MS 1000000ull
#define PATH "findings.sonde"

/* Samples of two functions in one thread, and reads of one file. */
struct made {
	unsigned hot, cold; /* samples, 1 ms each */
	unsigned reads;     /* of one byte, 100 µs each */
	unsigned lost_samples, lost_calls;
};

static void make(const struct made *made)
{
	struct recording recording;
	uint64_t time_ns = RECORDING_START_NS + MS;
	recording_open(&recording, PATH);
	recording_info(&recording, "run.command", "app");
	uint32_t process = recording_process(&recording, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(&recording, process, 10, "app", RECORDING_START_NS);
	uint32_t module = recording_module(&recording, "/usr/bin/app", 0);
	uint32_t hot = recording_call(&recording, 0, module, "hot", 1);
	uint32_t cold = recording_call(&recording, 0, module, "cold", 1);
	for (unsigned i = 0; i < made->hot + made->cold; i++, time_ns += MS)
		recording_sample(&recording,
				 (struct recording_sample){time_ns, thread, i < made->hot ? hot : cold, MS, 0});
	uint32_t file = made->reads ? recording_object(&recording, process, SONDE_OBJECT_FILE, "/tmp/data", 3) : 0;
	for (unsigned i = 0; i < made->reads; i++, time_ns += MS / 10)
		recording_wait(&recording, (struct recording_wait){.start_ns = time_ns,
								   .dur_ns = MS / 10,
								   .thread = thread,
								   .kind = SONDE_WAIT_READ,
								   .stack = hot,
								   .object = file,
								   .amount = 1});
	if (made->lost_samples)
		recording_lost(&recording, "cpu", "perf event buffer full", made->lost_samples);
	if (made->lost_calls)
		recording_lost(&recording, "waits", "ring full", made->lost_calls);
	recording_process_end(&recording, process, time_ns, time_ns - RECORDING_START_NS, 0);
	recording_close(&recording, time_ns, 0);
}

struct read {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_found found;
};

static void evaluate(struct read *read, const struct made *made, const char *threshold)
{
	struct sonde_pass_options options = {.thresholds = &threshold, .threshold_count = threshold ? 1 : 0};
	make(made);
	assert_int_equal(sonde_session_open(&read->session, PATH, NULL), 0);
	assert_int_equal(sonde_report_new(&read->report), 0);
	assert_int_equal(sonde_findings_find(&read->found, read->session, &options, read->report, NULL), 0);
}

static void forget(struct read *read)
{
	free(read->found.rows);
	sonde_report_free(read->report);
	sonde_session_close(read->session);
	unlink(PATH);
}

static const struct sonde_finding *finding_of(const struct read *read, const char *rule, const char *subject)
{
	for (size_t i = 0; i < read->found.count; i++)
		if (!strcmp(read->found.rows[i].rule->id, rule) &&
		    (!subject || !strcmp(read->found.rows[i].subject, subject)))
			return &read->found.rows[i];
	return NULL;
}

static int is_said(const struct read *read, const char *words)
{
	for (const struct sonde_note *note = read->report->notes; note; note = note->next)
		if (strstr(note->text, words))
			return 1;
	return 0;
}

static void where_time_is_spent(void **state)
{
	struct read read;
	(void)state;
	evaluate(&read, &(struct made){.hot = 90, .cold = 10}, NULL);
	const struct sonde_finding *hot = finding_of(&read, "hot-function", "hot");
	assert_non_null(hot);
	assert_null(finding_of(&read, "hot-function", "cold"));
	assert_true(hot->saves_ns > 0.88 * read.found.span_ns && hot->saves_ns < 0.96 * read.found.span_ns);
	assert_null(hot->within); /* there is no main(): what is the program's own is not known, and the bound is all */
	assert_true(hot->at_most_ns == read.found.span_ns);
	assert_true(sonde_finding_severity(hot) < SONDE_SEVERITY_CRITICAL); /* nothing shows that it can be faster */
	forget(&read);
}

/* One thread for a second: in each of ten periods 15 ms on a CPU, 85 ms stopped. */
static void evaluate_throttled(struct read *read, int64_t held_ns, int has_switches)
{
	struct recording recording;
	uint64_t start_ns = RECORDING_START_NS;
	recording_open(&recording, PATH);
	recording_info(&recording, "run.command", "app");
	recording_info(&recording, "run.cpus", "2");
	uint32_t process = recording_process(&recording, 10, 0, "app", start_ns);
	uint32_t thread = recording_thread(&recording, process, 10, "app", start_ns);
	static const enum sonde_metric metrics[] = {SONDE_METRIC_CGROUP_PERIODS, SONDE_METRIC_CGROUP_THROTTLED_PERIODS,
						    SONDE_METRIC_CGROUP_THROTTLED};
	const int64_t from[] = {100, 7, 5000}, to[] = {110, 17, 5000 + held_ns};
	for (int i = 0; i < 3; i++) {
		uint32_t series = recording_series(&recording, metrics[i], 0, 0, "");
		recording_point(&recording, start_ns, series, from[i]);
		recording_point(&recording, start_ns + 1000 * MS, series, to[i]);
	}
	for (uint64_t at_ns = start_ns; has_switches && at_ns < start_ns + 1000 * MS; at_ns += 100 * MS) {
		recording_switch(&recording, at_ns, thread, SONDE_SWITCH_IN);
		recording_switch(&recording, at_ns + 15 * MS, thread, SONDE_SWITCH_OUT_PREEMPTED);
	}
	recording_process_end(&recording, process, start_ns + 1000 * MS, 150 * MS, 0);
	recording_close(&recording, start_ns + 1000 * MS, 0);
	struct sonde_pass_options options = {0};
	assert_int_equal(sonde_session_open(&read->session, PATH, NULL), 0);
	assert_int_equal(sonde_report_new(&read->report), 0);
	assert_int_equal(sonde_findings_find(&read->found, read->session, &options, read->report, NULL), 0);
}

static void a_quota_saves_what_it_held_of_the_path(void **state)
{
	/* by the kernel less than the path waited; by several CPUs more than it did */
	static const struct {
		int64_t held_ns;
		double saves_ns;
	} cases[] = {{800 * (int64_t)MS, 800e6}, {3000 * (int64_t)MS, 850e6}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct read read;
		evaluate_throttled(&read, cases[i].held_ns, 1);
		const struct sonde_finding *quota = finding_of(&read, "starved-of-cpu", "the cgroup's CPU quota");
		assert_non_null(quota);
		assert_true(quota == &read.found.rows[0]);
		assert_true(quota->saves_ns > cases[i].saves_ns - 1e3 && quota->saves_ns < cases[i].saves_ns + 1e3);
		assert_non_null(strstr(quota->evidence, "in 100.0 % of its periods"));
		/* the remainder is at most a twentieth: other programs are not blamed for the quota */
		assert_null(finding_of(&read, "starved-of-cpu", "2 CPUs"));
		forget(&read);
	}
}

static void a_quota_without_a_path_promises_nothing(void **state)
{
	struct read read;
	(void)state;
	evaluate_throttled(&read, 800 * (int64_t)MS, 0);
	const struct sonde_finding *quota = finding_of(&read, "starved-of-cpu", NULL);
	assert_non_null(quota);
	assert_true(quota->saves_ns <= 0);
	assert_non_null(strstr(quota->evidence, "is unknown: no path was recorded"));
	forget(&read);
}

static void little_is_no_evidence(void **state)
{
	static const struct made cases[] = {{0}, {.hot = 1}, {.cold = 5}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct read read;
		evaluate(&read, &cases[i], NULL);
		assert_int_equal(read.found.count, 0);
		assert_true(is_said(&read, i ? "not checked: " : "nothing was checked; not recorded: CPU samples"));
		assert_int_equal(read.found.has_data, i != 0);
		forget(&read);
	}
}

/* On one NUMA node no memory is remote; on several it is not counted. */
static void nodes_that_cannot_be_judged_are_said(void **state)
{
	static const struct {
		const char *nodes;
		int is_said;
	} cases[] = {{"0", 0}, {"0-1", 1}, {"0,8", 1}, {NULL, 0}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct recording recording;
		struct read read;
		struct sonde_pass_options options = {0};
		recording_open(&recording, PATH);
		if (cases[i].nodes)
			recording_info(&recording, "host.numa_nodes", cases[i].nodes);
		recording_source(&recording, "cpu", SONDE_SOURCE_ON, "perf events", "", 1000);
		recording_close(&recording, RECORDING_START_NS + MS, 0);
		assert_int_equal(sonde_session_open(&read.session, PATH, NULL), 0);
		assert_int_equal(sonde_report_new(&read.report), 0);
		assert_int_equal(sonde_findings_find(&read.found, read.session, &options, read.report, NULL), 0);
		assert_int_equal(is_said(&read, "remote NUMA memory"), cases[i].is_said);
		forget(&read);
	}
}

static void small_calls_are_found(void **state)
{
	struct read read;
	(void)state;
	evaluate(&read, &(struct made){.hot = 50, .cold = 50, .reads = 2000}, NULL);
	const struct sonde_finding *small = finding_of(&read, "small-reads", NULL);
	assert_non_null(small);
	assert_true(small == &read.found.rows[0]);
	assert_true(small->saves_ns > 190e6 && small->saves_ns < 200.1e6); /* 2000 × 100 µs, but for one call */
	assert_non_null(strstr(small->subject, "/tmp/data"));
	forget(&read);
}

static void what_rests_on_lost_records_is_left_out(void **state)
{
	struct read read;
	(void)state;
	evaluate(&read, &(struct made){.hot = 90, .cold = 10, .reads = 2000, .lost_calls = 500}, NULL);
	assert_null(finding_of(&read, "small-reads", NULL));
	assert_true(is_said(&read, "suppressed: small-reads (/tmp/data"));
	forget(&read);
	evaluate(&read, &(struct made){.hot = 90, .cold = 10, .reads = 2000, .lost_calls = 1}, NULL); /* a thousandth */
	assert_non_null(finding_of(&read, "small-reads", NULL));
	forget(&read);
	evaluate(&read, &(struct made){.hot = 90, .cold = 10, .lost_samples = 50}, NULL);
	assert_null(finding_of(&read, "hot-function", NULL));
	assert_true(is_said(&read, "suppressed: hot-function (hot)"));
	forget(&read);
}

/* The recorded command, and its words for a shell; NULL: none. */
static void commands_are_named_as_a_shell_takes_them(void **state)
{
	static const struct {
		const char *command, *line, *named;
	} cases[] = {
	    {"a b c", "a 'b c'", "a 'b c'"},
	    {"./app -n 3 in.txt", NULL, "./app -n 3 in.txt"}, /* recorded before lines were */
	    {"sh -c rm -rf $HOME", NULL, NULL},
	    {"app it's", NULL, NULL},
	    {"", NULL, NULL},
	};
	char longer[4096];
	(void)state;
	for (size_t i = 0; i <= sizeof cases / sizeof *cases; i++) {
		int is_cut = i == sizeof cases / sizeof *cases;
		struct recording recording;
		struct read read;
		struct sonde_pass_options options = {0};
		memset(longer, 'a', sizeof longer - 1);
		longer[sizeof longer - 1] = '\0';
		recording_open(&recording, PATH);
		recording_info(&recording, "run.command", is_cut ? longer : cases[i].command);
		if (!is_cut && cases[i].line)
			recording_info(&recording, "run.command_line", cases[i].line);
		recording_close(&recording, RECORDING_START_NS + MS, 0);
		assert_int_equal(sonde_session_open(&read.session, PATH, NULL), 0);
		assert_int_equal(sonde_report_new(&read.report), 0);
		assert_int_equal(sonde_findings_find(&read.found, read.session, &options, read.report, NULL), 0);
		if (is_cut || !cases[i].named)
			assert_null(read.found.command);
		else
			assert_string_equal(read.found.command, cases[i].named);
		forget(&read);
	}
}

static void thresholds_are_as_typed(void **state)
{
	struct read read;
	(void)state;
	evaluate(&read, &(struct made){.hot = 90, .cold = 10}, "hot-function.share=5%");
	assert_non_null(finding_of(&read, "hot-function", "cold"));
	forget(&read);
	evaluate(&read, &(struct made){.hot = 90, .cold = 10}, "hot-function.share = 0.95");
	assert_null(finding_of(&read, "hot-function", NULL));
	forget(&read);
}

/* One of a thousand calls at once: of what goes by the call a half stays with two at once; nothing else changes. */
static void batches_leave_a_part(void **state)
{
	(void)state;
	struct sonde_rule by_call = {.is_by_call = 1}, other = {0};
	struct sonde_finding finding = {.rule = &by_call, .evidence = "calls", .saves_ns = 800, .weighs = 0.4};
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(sonde_finding_batch(&finding, 1, report), 0);
	assert_true(finding.saves_ns == 800);
	assert_int_equal(sonde_finding_batch(&finding, 4, report), 0);
	assert_true(finding.saves_ns == 600 && finding.weighs > 0.2999 && finding.weighs < 0.3001);
	assert_string_equal(finding.evidence, "calls; in batches of 4, one call in 4 remains: 75.0 % fewer");
	finding.rule = &other;
	assert_int_equal(sonde_finding_batch(&finding, 4, report), 0);
	assert_true(finding.saves_ns == 600);
	sonde_report_free(report);
}

static void a_device_is_known_or_refused(void **state)
{
	(void)state;
	struct read read;
	evaluate(&read, &(struct made){.hot = 10}, NULL);
	assert_int_equal(sonde_finding_device(read.session, NULL, read.report, NULL), 0);
	assert_int_equal(sonde_finding_device(read.session, "CPU", read.report, NULL), 0);
	assert_int_equal(sonde_finding_device(read.session, "H100", read.report, NULL), -EINVAL);
	assert_non_null(strstr(sonde_error_text(), "no device 'H100'; it has cpu"));
	forget(&read);
}

/* Two threads with one name, the second of which works little and ends early: started with one function, or with
 * two. */
static void make_pool(int same_entry)
{
	struct recording recording;
	uint64_t start_ns = RECORDING_START_NS, end_ns = start_ns + 400 * MS;
	recording_open(&recording, PATH);
	recording_info(&recording, "run.command", "app");
	uint32_t process = recording_process(&recording, 10, 0, "app", start_ns);
	recording_thread(&recording, process, 10, "app", start_ns);
	uint32_t libc = recording_module(&recording, "/lib/libc.so.6", 0),
		 app = recording_module(&recording, "/usr/bin/app", 0);
	uint32_t begins = recording_call(&recording, 0, libc, "start_thread", 1);
	uint32_t entries[] = {recording_call(&recording, begins, app, "serve", 1),
			      recording_call(&recording, begins, app, same_entry ? "serve" : "watch", 1)};
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread = recording_thread(&recording, process, 11 + i, "worker", start_ns);
		uint64_t ms = i ? 100 : 400;
		for (uint64_t at = 1; at <= ms; at++)
			recording_sample(&recording,
					 (struct recording_sample){start_ns + at * MS, thread, entries[i], MS, 0});
		recording_thread_end(&recording, thread, start_ns + (i ? 250 : 400) * MS, ms * MS);
	}
	recording_process_end(&recording, process, end_ns, 500 * MS, 0);
	recording_close(&recording, end_ns, 0);
}

static const struct sonde_finding *pool_finding(struct read *read, int same_entry)
{
	struct sonde_pass_options options = {0};
	make_pool(same_entry);
	assert_int_equal(sonde_session_open(&read->session, PATH, NULL), 0);
	assert_int_equal(sonde_report_new(&read->report), 0);
	assert_int_equal(sonde_findings_find(&read->found, read->session, &options, read->report, NULL), 0);
	for (size_t i = 0; i < read->found.count; i++)
		if (!strcmp(read->found.rows[i].rule->id, "imbalance"))
			return &read->found.rows[i];
	return NULL;
}

static void threads_that_began_alike_are_compared(void **state)
{
	struct read read;
	(void)state;
	const struct sonde_finding *found = pool_finding(&read, 1);
	assert_non_null(found);
	assert_string_equal(found->subject, "2 threads worker");
	/* 400 ms of work in one, 250 ms each if they were equal: the gain is at most the difference */
	assert_true(found->saves_ns <= 150.0 * MS + 1 && found->saves_ns > 0);
	forget(&read);
	assert_null(pool_finding(&read, 0));
	forget(&read);
}

static void evaluate_made(struct read *read)
{
	struct sonde_pass_options options = {0};
	assert_int_equal(sonde_session_open(&read->session, PATH, NULL), 0);
	assert_int_equal(sonde_report_new(&read->report), 0);
	assert_int_equal(sonde_findings_find(&read->found, read->session, &options, read->report, NULL), 0);
}

/* 100 ms, all in malloc: 4 blocks of it that are freed at once, and a mapping that is, too. */
static void make_churn(uint64_t mean_b)
{
	struct recording r;
	uint64_t start_ns = RECORDING_START_NS, end_ns = start_ns + 100 * MS;
	recording_open(&r, PATH);
	r.mean_b = mean_b;
	uint32_t process = recording_process(&r, 10, 0, "app", start_ns);
	uint32_t thread = recording_thread(&r, process, 10, "app", start_ns);
	uint32_t app = recording_module(&r, "/usr/bin/app", 0), libc = recording_module(&r, "/lib/libc.so.6", 0);
	uint32_t churner = recording_call(&r, 0, app, "churner", 1), mapper = recording_call(&r, 0, app, "mapper", 9);
	uint32_t in_malloc = recording_call(&r, churner, libc, "malloc", 1);
	for (uint64_t i = 1; i <= 100; i++)
		recording_sample(&r, (struct recording_sample){start_ns + i * MS, thread, in_malloc, MS, 0});
	uint32_t heap = recording_heap(&r, process, SONDE_HEAP_MALLOC, NULL);
	uint32_t mappings = recording_heap(&r, process, SONDE_HEAP_MAPPING, NULL);
	uint32_t site = recording_heap_site(&r, heap, thread, churner);
	uint32_t map_site = recording_heap_site(&r, mappings, thread, mapper);
	for (uint64_t i = 0; i < 4; i++) {
		size_t block = recording_begins(&r, site, start_ns + (10 + 2 * i) * MS, 100);
		recording_ends(&r, heap, block, thread, start_ns + (11 + 2 * i) * MS);
	}
	recording_ends(&r, mappings, recording_begins(&r, map_site, start_ns + 30 * MS, 1 << 20), thread,
		       start_ns + 31 * MS);
	recording_process_end(&r, process, end_ns, 100 * MS, 0);
	recording_close(&r, end_ns, 0);
}

/* Mappings are recorded exactly also where malloc's blocks are sampled: their share is not malloc's. */
static void samples_tell_no_temporary_share(void **state)
{
	struct read read;
	(void)state;
	make_churn(1000);
	evaluate_made(&read);
	const struct sonde_finding *churn = finding_of(&read, "allocation-churn", "malloc and free");
	assert_non_null(churn);
	assert_non_null(strstr(churn->evidence, "record --heap=full also counts the temporary ones"));
	assert_null(strstr(churn->evidence, "% of them temporary"));
	assert_null(strstr(churn->evidence, "mapper"));
	/* in 0.1 s four, each of which stands for 10.5: in whole ones 11 */
	assert_non_null(strstr(churn->evidence, "; about 440 allocations/s (sampled)"));
	forget(&read);
	make_churn(0);
	evaluate_made(&read);
	churn = finding_of(&read, "allocation-churn", "churner");
	assert_non_null(churn);
	assert_non_null(strstr(churn->evidence, "; 40 allocations/s, 100 % of them temporary; most temporary "
						"blocks come from churner"));
	forget(&read);
	for (size_t i = 0; i < sonde_rule_count; i++) /* its description is not what was done */
		if (!strcmp(sonde_rules[i].id, "allocation-churn"))
			assert_non_null(strstr(sonde_rules[i].steps[2], "record --heap=full"));
}

static void figures_are_read_without_exponents(void **state)
{
	static const struct {
		double value;
		const char *text;
	} known[] = {{5.114, "5.11"},     {999.4, "999"},      {999.7, "1,000"},
		     {412345, "412,000"}, {400000, "400,000"}, {1234567890, "1,230,000,000"}};
	struct sonde_report *report;
	(void)state;
	assert_int_equal(sonde_report_new(&report), 0);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_string_equal(sonde_figure_text(report, known[i].value), known[i].text);
	sonde_report_free(report);
}

/* The first thread runs 20 ms, sleeps 12 times 5 ms, and runs on; another sleeps 12 times 10 ms off the path. */
static void sleeps_on_the_path_are_counted(void **state)
{
	struct recording r;
	struct read read;
	uint64_t start_ns = RECORDING_START_NS, end_ns = start_ns + 140 * MS;
	(void)state;
	recording_open(&r, PATH);
	uint32_t process = recording_process(&r, 10, 0, "app", start_ns);
	uint32_t first = recording_thread(&r, process, 10, "app", start_ns);
	uint32_t other = recording_thread(&r, process, 11, "other", start_ns);
	uint32_t app = recording_module(&r, "/usr/bin/app", 0);
	uint32_t poll = recording_call(&r, 0, app, "poll_it", 1);
	recording_switch_on(&r, start_ns, first, SONDE_SWITCH_IN, 0);
	recording_switch_on(&r, start_ns, other, SONDE_SWITCH_IN, 1);
	for (unsigned i = 0; i < 12; i++) {
		uint64_t from_ns = start_ns + (20 + 10 * i) * MS;
		recording_switch_on(&r, from_ns, first, SONDE_SWITCH_OUT_BLOCKED, 0);
		recording_switch_on(&r, from_ns, other, SONDE_SWITCH_OUT_BLOCKED, 1);
		recording_wait(&r, (struct recording_wait){.start_ns = from_ns,
							   .dur_ns = 5 * MS,
							   .thread = first,
							   .kind = SONDE_WAIT_SLEEP,
							   .stack = poll});
		recording_switch_on(&r, from_ns + 5 * MS, first, SONDE_SWITCH_IN, 0);
		recording_wait(&r, (struct recording_wait){.start_ns = from_ns,
							   .dur_ns = 9 * MS,
							   .thread = other,
							   .kind = SONDE_WAIT_SLEEP,
							   .stack = poll});
		recording_switch_on(&r, from_ns + 9 * MS, other, SONDE_SWITCH_IN, 1);
	}
	recording_process_end(&r, process, end_ns, 80 * MS, 0);
	recording_close(&r, end_ns, 0);
	evaluate_made(&read);
	const struct sonde_finding *asleep = finding_of(&read, "sleep-polling", NULL);
	assert_non_null(asleep);
	assert_non_null(strstr(asleep->evidence,
			       "0.060 s of the critical path were spent asleep, in 12 sleeps of 5 ms; in all, "
			       "poll_it slept 24 times, 7 ms on average"));
	forget(&read);
}

/* Other programs have the CPU half of the time. The gain is the running time plus as much waiting, and both are
 * reported. */
static void waiting_for_a_cpu_is_said_apart(void **state)
{
	struct recording r;
	struct read read;
	uint64_t start_ns = RECORDING_START_NS, end_ns = start_ns + 1000 * MS;
	(void)state;
	recording_open(&r, PATH);
	recording_info(&r, "run.cpus", "2");
	uint32_t process = recording_process(&r, 10, 0, "app", start_ns);
	uint32_t thread = recording_thread(&r, process, 10, "app", start_ns);
	uint32_t app = recording_module(&r, "/usr/bin/app", 0);
	uint32_t hot = recording_call(&r, 0, app, "hot", 1);
	for (uint64_t from_ns = start_ns; from_ns < end_ns; from_ns += 10 * MS) {
		recording_switch_on(&r, from_ns, thread, SONDE_SWITCH_IN, 0);
		recording_switch_on(&r, from_ns + 5 * MS, thread, SONDE_SWITCH_OUT_PREEMPTED, 0);
		for (uint64_t i = 1; i <= 5; i++)
			recording_sample(&r, (struct recording_sample){from_ns + i * MS - MS / 2, thread, hot, MS, 0});
	}
	recording_process_end(&r, process, end_ns, 500 * MS, 0);
	recording_close(&r, end_ns, 0);
	evaluate_made(&read);
	const struct sonde_finding *found = finding_of(&read, "hot-function", "hot");
	assert_non_null(found);
	assert_true(found->saves_ns > 0.97e9);
	assert_non_null(strstr(found->evidence, "saves 0.500 s running + 0.500 s waiting for a CPU"));
	forget(&read);
}

/* Truncated before the first chunk: recorded kinds are reported as such, not as left out. */
static void what_was_cut_off_is_not_called_unrecorded(void **state)
{
	struct recording r;
	struct read read;
	(void)state;
	recording_open(&r, PATH);
	recording_info(&r, "option.rate_hz", "1000");
	uint32_t process = recording_process(&r, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(&r, process, 10, "app", RECORDING_START_NS);
	uint32_t app = recording_module(&r, "/usr/bin/app", 0);
	uint32_t stack = recording_call(&r, 0, app, "f", 1);
	recording_heap_site(&r, recording_heap(&r, process, SONDE_HEAP_MALLOC, NULL), thread, stack);
	recording_flush(&r);
	struct stat whole;
	assert_int_equal(stat(PATH, &whole), 0);
	recording_sample(&r, (struct recording_sample){RECORDING_START_NS + MS, thread, stack, MS, 0});
	recording_close(&r, RECORDING_START_NS + 2 * MS, 0);
	assert_int_equal(truncate(PATH, whole.st_size), 0);
	evaluate_made(&read);
	assert_true(is_said(&read,
			    "not checked, since the recording is incomplete: CPU time (sampled, but no sample can be "
			    "read), blocking calls, allocations (recorded, but none can be read)"));
	assert_false(is_said(&read, "not checked: "));
	forget(&read);
}

/* CPU time without a single sample: it is in no function. */
static void time_without_samples_is_not_judged(void **state)
{
	struct recording r;
	struct read read;
	(void)state;
	recording_open(&r, PATH);
	uint32_t process = recording_process(&r, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(&r, process, 10, "app", RECORDING_START_NS);
	recording_sample(
	    &r, (struct recording_sample){RECORDING_START_NS + 500 * MS, thread, 0, 500 * MS, SONDE_STACK_NOT_SAMPLED});
	recording_process_end(&r, process, RECORDING_START_NS + 500 * MS, 500 * MS, 0);
	recording_close(&r, RECORDING_START_NS + 500 * MS, 0);
	evaluate_made(&read);
	assert_true(is_said(&read, "not checked: CPU time (no samples)"));
	forget(&read);
}

/* --- bounds: all time within the program's own function --------------------------------------------------------- */

struct program {
	struct recording r;
	uint32_t thread, app, libc, main_;
	uint64_t at_ns;
};

static void program_open(struct program *program)
{
	struct recording *r = &program->r;
	recording_open(r, PATH);
	uint32_t process = recording_process(r, 10, 0, "app", RECORDING_START_NS);
	program->thread = recording_thread(r, process, 10, "app", RECORDING_START_NS);
	program->app = recording_module(r, "/usr/bin/app", 0);
	program->libc = recording_module(r, "/usr/lib/libc.so.6", 0);
	program->main_ = recording_call(r, 0, program->app, "main", 1);
	program->at_ns = RECORDING_START_NS;
}

static void program_runs(struct program *program, uint32_t stack, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++)
		recording_sample(&program->r,
				 (struct recording_sample){program->at_ns += MS, program->thread, stack, MS, 0});
}

static void program_evaluate(struct program *program, struct read *read)
{
	uint32_t end = recording_call(&program->r, program->main_, program->app, "end", 1);
	program_runs(program, end, 1); /* what follows the last sample is not of what is judged */
	recording_process_end(&program->r, 1, program->at_ns, program->at_ns - RECORDING_START_NS, 0);
	recording_close(&program->r, program->at_ns, 0);
	evaluate_made(read);
}

static void assert_bound(const struct read *read, const char *rule, const char *subject, const char *within, double ms)
{
	const struct sonde_finding *found = finding_of(read, rule, subject);
	assert_non_null(found);
	assert_non_null(found->within);
	assert_string_equal(found->within, within);
	double span_ms = read->found.span_ns / MS; /* a sample each ms */
	double upper_ms = ms + 1.96 * sqrt(ms * (span_ms - ms) / span_ms);
	assert_true(fabs(found->at_most_ns / MS - upper_ms) < 0.02);
	assert_true(found->saves_ns <= found->at_most_ns);
}

/* f calls g: 40 and 30 ms of 111; h has 40, of which 30 are in no sample between two of it. */
static void a_bound_is_all_time_within_the_function(void **state)
{
	struct program program;
	struct read read;
	(void)state;
	program_open(&program);
	uint32_t f = recording_call(&program.r, program.main_, program.app, "f", 2);
	uint32_t g = recording_call(&program.r, f, program.libc, "g", 3);
	uint32_t h = recording_call(&program.r, program.main_, program.app, "h", 4);
	program_runs(&program, f, 40);
	program_runs(&program, g, 30);
	program_runs(&program, h, 5);
	program.at_ns += 30 * MS; /* asleep, say */
	program_runs(&program, h, 5);
	program_evaluate(&program, &read);
	assert_true(fabs(read.found.span_ns / MS - 111) < 0.01);
	assert_bound(&read, "hot-function", "f", "f", 70);
	assert_bound(&read, "hot-function", "f, which calls g", "f", 70);
	forget(&read);
}

/* If two of the program's functions contribute equally, the bound is within the function that calls both. */
static void a_bound_is_of_the_function_that_has_most_of_the_evidence(void **state)
{
	struct program program;
	struct read read;
	(void)state;
	program_open(&program);
	uint32_t work = recording_call(&program.r, program.main_, program.app, "work", 2);
	uint32_t a = recording_call(&program.r, work, program.app, "a", 3);
	uint32_t b = recording_call(&program.r, work, program.app, "b", 4);
	uint32_t in_a = recording_call(&program.r, a, program.libc, "malloc", 5);
	uint32_t in_b = recording_call(&program.r, b, program.libc, "malloc", 5);
	uint32_t remainder = recording_call(&program.r, program.main_, program.app, "rest", 6);
	program_runs(&program, in_a, 20);
	program_runs(&program, in_b, 20);
	program_runs(&program, work, 20);
	program_runs(&program, remainder, 39);
	program_evaluate(&program, &read);
	assert_bound(&read, "allocation-churn", NULL, "work", 60);
	forget(&read);
}

/* 2000 reads of 20 µs, and the work between them, in one of two functions. */
static void a_bound_has_waits(void **state)
{
	struct program program;
	struct read read;
	(void)state;
	program_open(&program);
	uint32_t load = recording_call(&program.r, program.main_, program.app, "load", 2);
	uint32_t remainder = recording_call(&program.r, program.main_, program.app, "rest", 3);
	uint32_t file = recording_object(&program.r, 1, SONDE_OBJECT_FILE, "/tmp/data", 3);
	program_runs(&program, remainder, 40);
	for (unsigned i = 0; i < 2000; i++, program.at_ns += MS / 50)
		recording_wait(&program.r, (struct recording_wait){.start_ns = program.at_ns,
								   .dur_ns = MS / 50,
								   .thread = program.thread,
								   .kind = SONDE_WAIT_READ,
								   .stack = load,
								   .object = file,
								   .amount = 1});
	program_runs(&program, load, 20);
	program_runs(&program, remainder, 20);
	program_evaluate(&program, &read);
	assert_bound(&read, "small-reads", NULL, "load", 60);
	forget(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(where_time_is_spent),
	    cmocka_unit_test(a_quota_saves_what_it_held_of_the_path),
	    cmocka_unit_test(a_quota_without_a_path_promises_nothing),
	    cmocka_unit_test(little_is_no_evidence),
	    cmocka_unit_test(nodes_that_cannot_be_judged_are_said),
	    cmocka_unit_test(threads_that_began_alike_are_compared),
	    cmocka_unit_test(small_calls_are_found),
	    cmocka_unit_test(what_rests_on_lost_records_is_left_out),
	    cmocka_unit_test(commands_are_named_as_a_shell_takes_them),
	    cmocka_unit_test(thresholds_are_as_typed),
	    cmocka_unit_test(batches_leave_a_part),
	    cmocka_unit_test(a_device_is_known_or_refused),
	    cmocka_unit_test(samples_tell_no_temporary_share),
	    cmocka_unit_test(figures_are_read_without_exponents),
	    cmocka_unit_test(sleeps_on_the_path_are_counted),
	    cmocka_unit_test(waiting_for_a_cpu_is_said_apart),
	    cmocka_unit_test(what_was_cut_off_is_not_called_unrecorded),
	    cmocka_unit_test(time_without_samples_is_not_judged),
	    cmocka_unit_test(a_bound_is_all_time_within_the_function),
	    cmocka_unit_test(a_bound_is_of_the_function_that_has_most_of_the_evidence),
	    cmocka_unit_test(a_bound_has_waits),
	};
	setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
