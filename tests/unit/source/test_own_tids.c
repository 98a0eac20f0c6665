/* test_own_tids.c: a thread's number in its own namespace, and everything else in /proc/PID/status, is found however
 * long the list of the user's groups is. */
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/signals.h"
#include "source/resource/process.h"
#include "source/sched/schedstat.h"
#include "source/target/own_tids.h"
#include "source/target/unsampled.h"

#define GROUPS 4000u /* "100000 " each: longer than any buffer of fixed size that was used */

/* A process whose user is in many groups; 0 = that takes root. */
static pid_t start_member(void)
{
	static gid_t groups[GROUPS];
	int ready[2];
	char is_member = 0;
	for (gid_t i = 0; i < GROUPS; i++)
		groups[i] = 100000 + i;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		is_member = setgroups(GROUPS, groups) == 0;
		signal(SIGUSR1, SIG_IGN);
		if (write(ready[1], &is_member, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &is_member, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (is_member)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void many_groups_hide_no_tid(void **state)
{
	(void)state;
	struct sonde_own_tids tids = {0};
	pid_t pid = start_member();
	if (!pid)
		skip();
	assert_int_equal(sonde_own_tids_find(&tids, pid, pid), pid); /* it is in our namespace */
	assert_int_equal(sonde_own_tids_find(&tids, pid, pid + 1), 0);
	assert_int_equal(sonde_unsampled_filters(pid), sonde_unsampled_filters(getpid()));
	sonde_own_tids_fini(&tids);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void many_groups_hide_nothing_else(void **state)
{
	(void)state;
	static const enum sonde_resource wanted[] = {SONDE_RESOURCE_SWITCHES_VOLUNTARY,
						     SONDE_RESOURCE_SWITCHES_INVOLUNTARY};
	struct sonde_resources_process process;
	struct sonde_resources now;
	uint64_t voluntary = 0, involuntary = 0;
	pid_t pid = start_member();
	if (!pid)
		skip();
	assert_int_equal(sonde_schedstat_switches(&voluntary, &involuntary, pid, pid), 0);
	assert_true(sonde_signals_is_ignored_by(pid, SIGUSR1));
	assert_false(sonde_signals_is_ignored_by(pid, SIGUSR2));
	for (int keep = 0; keep < 2; keep++) {
		assert_int_equal(sonde_resources_process_open(&process, "", pid, keep), SONDE_RESOURCES_FOUND);
		assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
		for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
			assert_true(now.known & 1u << wanted[i]);
		sonde_resources_process_close(&process);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(many_groups_hide_no_tid),
					   cmocka_unit_test(many_groups_hide_nothing_else)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
