/* test_blocked.c: what the kernel says of blocked threads, as text; kinds of calls; why processes may not be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "source/blocked_call.h"
#include "source/blocked_why.h"

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

/* What is said first is what has to be changed first. */
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
	has(&facts, "root alone");
	facts.yama = 3;
	has(&facts, "nobody");
	facts.owner = 0;
	has(&facts, "PR_SET_DUMPABLE");
	facts.effective = 0;
	has(&facts, "another user (uid 0)");
	facts.hidden = 1;
	has(&facts, "hidepid");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_is_taken_apart),
	    cmocka_unit_test(what_is_no_call_is_told_apart),
	    cmocka_unit_test(calls_have_kinds),
	    cmocka_unit_test(denial_has_a_reason_and_a_remedy),
	};
	return cmocka_run_group_tests_name("blocked", tests, NULL, NULL);
}
