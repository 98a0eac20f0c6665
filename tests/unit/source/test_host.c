/* test_host.c: the CPU quota, from captured trees of both versions of cgroups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "source/resource/cgroup.h"

static char root[32];

static int root_make(void **state)
{
	(void)state;
	strcpy(root, "/tmp/sonde-host-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

/* Writes a file under the root, its directories made. */
static void put(const char *path, const char *text)
{
	char full[256];
	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_quota(double expected)
{
	double quota = sonde_cgroup_quota(root, 0);
	if (fabs(quota - expected) > 1e-9)
		fail_msg("a quota of %g, not %g", quota, expected);
}

static void the_lowest_quota_above_holds(void **state)
{
	(void)state;
	assert_quota(0); /* no cgroups */
	put("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
	put("/proc/self/cgroup", "0::/a/b\n");
	assert_quota(0);
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	assert_quota(0);
	put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
	assert_quota(1.5);
	put("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
	assert_quota(1.5);
	put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
	assert_quota(0.5);
	put("/sys/fs/cgroup/cpu.max", "25000 100000\n"); /* of a container's root */
	assert_quota(0.25);
}

static void version_1_has_two_files(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "9:name=systemd:/x\n3:cpuset:/x\n2:cpuacct,cpu:/x\n");
	put("/proc/self/mountinfo", "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
				    "32 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "1\n"); /* not where it is */
	assert_quota(0);
	put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "200000\n");
	put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "50000\n");
	assert_quota(4);
	put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "0\n");
	assert_quota(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(the_lowest_quota_above_holds, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(version_1_has_two_files, root_make, root_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
