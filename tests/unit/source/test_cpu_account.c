/* test_cpu_account.c: the CPU time of an attached process tree: children that spin, and one that ends during the
 * recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "source/cpu/account.h"
#include "source/resource/proc_stat.h"

#define SPIN_NS 200000000u /* of CPU time */
#define PROCESSES 3u

static uint64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	return clock_getcpuclockid(pid, &clock) ? 0 : sonde_clock_read_ns(clock);
}

static pid_t spinner(uint64_t most_ns)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	while (sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < most_ns)
		;
	_exit(0);
}

/* A process with two children: one spins until it is killed, the other for a while, and is waited for. */
static pid_t tree_start(pid_t *endless)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t root = fork();
	if (!root) {
		pid_t child = spinner(UINT64_MAX), other = spinner(SPIN_NS);
		if (write(ends[1], &child, sizeof child) != sizeof child)
			_exit(1);
		waitpid(other, NULL, 0);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], endless, sizeof *endless), sizeof *endless);
	close(ends[0]);
	close(ends[1]);
	return root;
}

static void a_tree_is_counted(void **state)
{
	(void)state;
	struct sonde_cpu_account account;
	pid_t endless, root = tree_start(&endless);
	uint64_t before_ns = cpu_ns(endless);
	sonde_cpu_account_begin(&account, root, 1);
	uint64_t began_ns = account.user_ns + account.system_ns, slack_ns = 2 * PROCESSES * sonde_proc_tick_ns();
	while (cpu_ns(endless) < before_ns + 2 * SPIN_NS)
		usleep(1000);
	struct sonde_proc_stat stat;
	do { /* the other one ends, and is waited for */
		usleep(1000);
		assert_int_equal(sonde_proc_stat_read(&stat, root, 0), 0);
	} while (!(stat.child_user_ns + stat.child_system_ns));
	uint64_t least_ns = cpu_ns(endless) - before_ns;
	struct sonde_cpu_account since = sonde_cpu_account_since(&account);
	uint64_t most_ns = cpu_ns(endless) - before_ns + SPIN_NS, all_ns = since.user_ns + since.system_ns;
	kill(endless, SIGKILL);
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	least_ns += SPIN_NS > began_ns ? SPIN_NS - began_ns : 0;
	assert_in_range(all_ns, least_ns - slack_ns, most_ns + slack_ns);
	assert_in_range(since.coarse, 2, PROCESSES);
}

static void a_tree_that_is_gone_has_no_time(void **state)
{
	(void)state;
	struct sonde_cpu_account account;
	pid_t endless, root = tree_start(&endless);
	sonde_cpu_account_begin(&account, root, 1);
	kill(endless, SIGKILL);
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	struct sonde_cpu_account since = sonde_cpu_account_since(&account);
	assert_int_equal(since.user_ns + since.system_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tree_is_counted),
	    cmocka_unit_test(a_tree_that_is_gone_has_no_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
