/* test_finding_exits.c: the estimated delay by other programs for a program that runs one child at a time, where the
 * kernel still needs time to end each child after its last record. */
#include "finding_fixture.h"

enum { CHILDREN = 50, FORK_MS = 6, CHILD_MS = 4, TAKEN_DOWN_MS = 10, CYCLE_MS = FORK_MS + CHILD_MS + TAKEN_DOWN_MS };

struct chain {
	unsigned
	    used_ms;    /* CPU time of each child after its last record; for the remainder of TAKEN_DOWN_MS it waited */
	unsigned early; /* the last record of this child comes before the call that waits for a child; 0 = of none */
	unsigned orphan_ms; /* when a child ends that nothing waits for; 0 = none */
	int is_lossy;
};

static uint32_t child_add(struct recording *r, uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t process = recording_process(r, pid, 1, "child", from_ns);
	uint32_t thread = recording_thread(r, process, pid, "child", from_ns);
	recording_switch_on(r, from_ns, thread, SONDE_SWITCH_IN, 1);
	recording_thread_end(r, thread, to_ns, to_ns - from_ns);
	recording_process_end(r, process, to_ns, 0, 0);
	return thread;
}

/* A parent runs for a while, starts a child, and is blocked until the child is gone. The machine's two CPUs were busy
 * all the time. */
static void make(struct recording *r, const struct chain *chain)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_CPU_USER, SONDE_METRIC_CPU_SYSTEM,
						    SONDE_METRIC_CPU_IDLE};
	simple_open(r);
	recording_info(r, "run.cpus", "2");
	recording_info(r, "host.cpus", "2");
	for (int i = 0; i < 3; i++) {
		uint32_t series = recording_series(r, metrics[i], 0, 0, "");
		recording_point(r, START, series, 0);
		recording_point(r, START + END_MS * MS, series, i ? 0 : 2 * END_MS * (int64_t)MS);
	}
	uint32_t stack = recording_call(r, 0, 1, "answer", 1);
	uint64_t at_ns = START;
	recording_switch_on(r, at_ns, 1, SONDE_SWITCH_IN, 0);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		for (unsigned ms = 0; ms < FORK_MS; ms++)
			recording_sample(r, (struct recording_sample){at_ns + ms * MS + MS / 2, 1, stack, MS, 0});
		at_ns += FORK_MS * MS;
		uint64_t from_ns = chain->early == i + 1 ? at_ns - (CHILD_MS + 1) * MS : at_ns;
		uint32_t child = child_add(r, 101 + i, from_ns, from_ns + CHILD_MS * MS);
		recording_switch_on(r, at_ns, 1, SONDE_SWITCH_OUT_BLOCKED, 0);
		recording_wait(r, (struct recording_wait){.start_ns = at_ns,
							  .dur_ns = (CHILD_MS + TAKEN_DOWN_MS) * MS,
							  .thread = 1,
							  .other = chain->early == i + 1 ? 0 : child,
							  .kind = SONDE_WAIT_CHILD,
							  .stack = stack});
		at_ns += (CHILD_MS + TAKEN_DOWN_MS) * MS;
		recording_switch_on(r, at_ns, 1, SONDE_SWITCH_IN, 0);
	}
	if (chain->orphan_ms)
		child_add(r, 101 + CHILDREN, START + chain->orphan_ms * MS - 1000, START + chain->orphan_ms * MS);
	if (chain->is_lossy)
		recording_lost(r, "cpu", "buffer full", 1);
	recording_thread_end(r, 1, START + END_MS * MS, 0);
	recording_process_end(r, 1, START + END_MS * MS, (FORK_MS + CHILD_MS + chain->used_ms) * CHILDREN * MS, 0);
}

/* `delay`: by how much others may have delayed it; NULL = too little to change the verdict. */
static void expect_delay(const struct chain *chain, const char *delay)
{
	struct recording r;
	struct evaluated evaluated;
	make(&r, chain);
	evaluate(&evaluated, &r);
	assert_int_equal(evaluated.found.is_noisy, delay != NULL);
	if (delay && !is_said(&evaluated, delay))
		fail_msg("not said: %s", delay);
	assert_true(delay || !strcmp(evaluated.found.rows[0].rule->id, "process-start"));
	forget(&evaluated);
}

/* From the last record of a child to the parent on a CPU again it is half of the run: on a CPU, or waiting for one. */
static void time_on_a_cpu_is_no_delay(void **state)
{
	(void)state;
	expect_delay(&(struct chain){.used_ms = 0}, "delayed it by up to 50 %");
	expect_delay(&(struct chain){.used_ms = 5}, "delayed it by up to 25 %");
	expect_delay(&(struct chain){.used_ms = 10}, NULL);
}

/* Where it is unknown when a child was gone, its CPU time may have been used outside of these times, too: of the last
 * 200 ms half is. */
static void the_bound_holds_whenever_that_time_was_used(void **state)
{
	(void)state;
	expect_delay(&(struct chain){.used_ms = 10, .orphan_ms = 800}, "delayed it by up to 10 %");
	expect_delay(&(struct chain){.used_ms = 5, .orphan_ms = 800}, "delayed it by up to 35 %");
	expect_delay(&(struct chain){.used_ms = 10, .orphan_ms = 1}, "delayed it by up to 50 %");
	expect_delay(&(struct chain){.used_ms = 10, .is_lossy = 1}, "delayed it by up to 50 %");
}

/* The call names no child, and none ended during it: it waited for the one that had ended before. */
static void the_only_child_is_what_was_waited_for(void **state)
{
	(void)state;
	expect_delay(&(struct chain){.used_ms = 10, .early = 2}, NULL);
	expect_delay(&(struct chain){.used_ms = 5, .early = 2}, "delayed it by up to 26 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(time_on_a_cpu_is_no_delay),
	    cmocka_unit_test(the_bound_holds_whenever_that_time_was_used),
	    cmocka_unit_test(the_only_child_is_what_was_waited_for),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
