/* test_blocked.c: the kernel's texts about blocked threads; kinds of calls; why a process may not be read; the limit on
 * the overhead of polling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "source/wait/blocked_budget.h"
#include "source/wait/blocked_call.h"
#include "source/wait/blocked_look.h"

/* As the kernel writes it: number, six arguments, sp, pc. */
static void a_call_is_taken_apart(void **state)
{
	(void)state;
	struct sonde_blocked_call call;
	assert_int_equal(
	    sonde_blocked_call_parse(&call, "202 0x4c9a10 0x80 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x401a2b\n"), 0);
	assert_int_equal(call.number, 202);
	assert_int_equal(call.arguments[0], 0x4c9a10);
	assert_int_equal(call.arguments[5], 0xffffffff);
	assert_int_equal(call.sp, 0x7ffd10);
	assert_int_equal(call.pc, 0x401a2b);
	assert_int_equal(sonde_blocked_call_parse(&call, "-1 0x7ffd18 0x401a2c\n"), 0);
	assert_int_equal(call.number, -1);
	assert_int_equal(call.arguments[0], 0);
	assert_int_equal(call.sp, 0x7ffd18);
	assert_int_equal(call.pc, 0x401a2c);
}

static void what_is_no_call_is_told_apart(void **state)
{
	(void)state;
	struct sonde_blocked_call call = {.number = 77};
	assert_int_equal(sonde_blocked_call_parse(&call, "running\n"), -EAGAIN);
	assert_int_equal(sonde_blocked_call_parse(&call, "-1 0x0 0x0\n"), -ESRCH);
	assert_int_equal(sonde_blocked_call_parse(&call, "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"), -ESRCH);
	assert_int_equal(sonde_blocked_call_parse(&call, ""), -EBADMSG);
	assert_int_equal(sonde_blocked_call_parse(&call, "0 0x3 0x7ff\n"), -EBADMSG);
	assert_int_equal(sonde_blocked_call_parse(&call, "-1\n"), -EBADMSG);
	assert_int_equal(sonde_blocked_call_parse(&call, "what"), -EBADMSG);
	assert_int_equal(call.number, 77); /* untouched */
}

static void calls_have_kinds(void **state)
{
	(void)state;
	static const struct {
		int64_t number;
		enum sonde_wait_kind kind;
		enum sonde_blocked_argument argument;
	} known[] = {
	    {SYS_futex, SONDE_WAIT_FUTEX, SONDE_BLOCKED_ADDRESS},
	    {SYS_clock_nanosleep, SONDE_WAIT_SLEEP, SONDE_BLOCKED_NOTHING},
	    {SYS_epoll_pwait, SONDE_WAIT_POLL, SONDE_BLOCKED_NOTHING},
	    {SYS_wait4, SONDE_WAIT_CHILD, SONDE_BLOCKED_NOTHING},
	    {SYS_read, SONDE_WAIT_READ, SONDE_BLOCKED_DESCRIPTOR},
	    {SYS_fsync, SONDE_WAIT_SYNC, SONDE_BLOCKED_DESCRIPTOR},
	    {SYS_recvfrom, SONDE_WAIT_RECEIVE, SONDE_BLOCKED_DESCRIPTOR},
	    {SYS_accept4, SONDE_WAIT_CONNECT, SONDE_BLOCKED_DESCRIPTOR},
	    {-1, SONDE_WAIT_FAULT, SONDE_BLOCKED_NOTHING},
	    {SYS_getpid, SONDE_WAIT_OTHER, SONDE_BLOCKED_NOTHING},
	    {1 << 20, SONDE_WAIT_OTHER, SONDE_BLOCKED_NOTHING},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct sonde_blocked_row row = sonde_blocked_row(known[i].number);
		assert_int_equal(row.kind, known[i].kind);
		assert_int_equal(row.argument, known[i].argument);
		assert_non_null(sonde_wait_row(row.kind)->name);
	}
}

static void has(const struct sonde_blocked_facts *facts, const char *words)
{
	char out[192];
	assert_non_null(strstr(sonde_blocked_why(facts, out, sizeof out), words));
}

/* The first reason is the first one to be fixed. */
static void denial_has_a_reason_and_a_remedy(void **state)
{
	(void)state;
	const struct sonde_blocked_facts own = {
	    .own = 1000, .real = 1000, .effective = 1000, .saved = 1000, .owner = 1000};
	struct sonde_blocked_facts facts = own;
	has(&facts, "CAP_SYS_PTRACE");
	facts.yama = 1;
	has(&facts, "sudo sysctl kernel.yama.ptrace_scope=0");
	facts.yama = 2;
	has(&facts, "only by root");
	facts.yama = 3;
	has(&facts, "nobody");
	facts.owner = 0;
	has(&facts, "PR_SET_DUMPABLE");
	facts.effective = 0;
	has(&facts, "another user (uid 0)");
	facts.hidden = 1;
	has(&facts, "hidepid");
}

/* --- the budget -------------------------------------------------------------------------------------------------- */

/* A machine with given costs of a wake-up and of a poll, on which other work is pending at every fifth wake-up. */
struct machine {
	size_t threads;
	uint64_t wake_ns, look_ns, work_ns;
};

struct outcome {
	uint64_t cpu_ns, looks, rounds, passed_ns;
	struct sonde_blocked_budget budget;
};

static struct outcome run_for(const struct machine *machine, uint64_t ns)
{
	struct outcome outcome = {0};
	uint64_t now_ns = 1000000000, end_ns = now_ns + ns;
	sonde_blocked_budget_init(&outcome.budget, now_ns);
	while (now_ns < end_ns) {
		uint64_t work_ns = outcome.rounds++ % 5 ? 0 : machine->work_ns;
		sonde_blocked_budget_learn_wake(&outcome.budget, machine->wake_ns + work_ns);
		struct sonde_blocked_round round = sonde_blocked_budget_round(&outcome.budget, machine->threads, 0);
		uint64_t looks = round.stride ? (machine->threads + round.stride - 1) / round.stride : 0;
		uint64_t cpu_ns = looks * machine->look_ns;
		sonde_blocked_budget_learn_looks(&outcome.budget, cpu_ns, looks);
		uint64_t paid_ns = sonde_blocked_budget_pay(&outcome.budget, cpu_ns, now_ns);
		outcome.cpu_ns += machine->wake_ns + cpu_ns;
		outcome.looks += looks;
		now_ns = now_ns + round.period_ns > paid_ns ? now_ns + round.period_ns : paid_ns;
	}
	outcome.passed_ns = now_ns - (end_ns - ns);
	return outcome;
}

/* Whatever wake-ups and polls cost, and however many threads there are: 0.5 % of a CPU, plus the 10 ms that may be
 * spent at once and the initial estimate of the costs. */
static void looks_keep_their_budget(void **state)
{
	(void)state;
	static const size_t threads[] = {1, 8, 100, 2000, 50000};
	static const uint64_t wakes_ns[] = {10000, 40000, 100000, 200000}, looks_ns[] = {3000, 15000, 60000};
	for (size_t t = 0; t < 5; t++)
		for (size_t w = 0; w < 4; w++)
			for (size_t l = 0; l < 3; l++) {
				struct machine machine = {threads[t], wakes_ns[w], looks_ns[l], 3000000};
				struct outcome outcome = run_for(&machine, 60000000000);
				assert_in_range(outcome.cpu_ns, 1, outcome.passed_ns / 200 + 20000000);
				assert_true(outcome.looks >= outcome.rounds);
			}
}

/* A cheap wake-up is recognised in a few seconds, whatever others do at some of them: few threads are polled at the
 * highest rate. An expensive one makes polls less frequent. */
static void wakes_cost_what_they_cost(void **state)
{
	(void)state;
	struct machine machine = {4, 20000, 5000, 3000000};
	struct outcome cheap = run_for(&machine, 10000000000);
	assert_in_range(cheap.budget.wake_ns, 18000, 22000);
	assert_in_range(cheap.passed_ns / cheap.rounds, 20000000, 22000000);
	machine.wake_ns = 200000;
	struct outcome dear = run_for(&machine, 10000000000);
	assert_in_range(dear.budget.wake_ns, 180000, 220000);
	assert_in_range(dear.passed_ns / dear.rounds, 38000000, 46000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_is_taken_apart),   cmocka_unit_test(what_is_no_call_is_told_apart),
	    cmocka_unit_test(calls_have_kinds),        cmocka_unit_test(denial_has_a_reason_and_a_remedy),
	    cmocka_unit_test(looks_keep_their_budget), cmocka_unit_test(wakes_cost_what_they_cost),
	};
	return cmocka_run_group_tests_name("blocked", tests, NULL, NULL);
}
