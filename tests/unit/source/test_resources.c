/* test_resources.c: the kernel's figures about processes, the system and control groups, from captured trees;
 * budgets. */
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

#include "source/resource/cgroup.h"
#include "source/resource/proc_stat.h"
#include "source/resource/budget.h"
#include "source/resource/machine.h"
#include "source/resource/bytes.h"
#include "source/resource/process.h"

#define MIB ((int64_t)1 << 20)

static char root[32];

static int root_make(void **state)
{
	(void)state;
	strcpy(root, "/tmp/sonde-resources-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int root_remove(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

/* Writes a file under the root, its directories made; a path that ends in a slash is a directory. */
static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	if (full[strlen(full) - 1] == '/')
		return;
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void put_stat(const char *path, const char *name, char state, unsigned threads, unsigned start)
{
	char text[512];
	snprintf(text, sizeof text,
		 "77 (%s) %c 12 77 77 0 -1 4194304 1234 99 5 7 250 30 11 12 20 0 %u 0 %u 4096000 300 "
		 "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		 name, state, threads, start);
	put(path, text);
}

static void assert_value(const struct sonde_resources *now, enum sonde_resource resource, int64_t expected)
{
	if (!(now->known & 1u << resource))
		fail_msg("resource %d is not known", resource);
	assert_int_equal(now->value[resource], expected);
}

static void put_process(void)
{
	put_stat("/proc/77/stat", "a ) (b", 'S', 1, 1000);
	put("/proc/77/status", "Name:\ta\nVmHWM:\t  2048 kB\nVmRSS:\t 1200 kB\nVmSwap:\t 8 kB\nThreads:\t1\n"
			       "voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t3\n");
	put("/proc/77/io", "rchar: 4000\nwchar: 5000\nsyscr: 1\nsyscw: 1\nread_bytes: 8192\nwrite_bytes: 4096\n"
			   "cancelled_write_bytes: 0\n");
	put("/proc/77/smaps_rollup", "1-2 ---p 0 0:0 0 [rollup]\nRss: 1200 kB\nPss: 700 kB\nPss_Dirty: 1 kB\n");
	for (int i = 0; i < 5; i++) {
		char path[64];
		snprintf(path, sizeof path, "/proc/77/fd/%d", i);
		put(path, "");
	}
}

static void a_process_is_read(void **state)
{
	(void)state;
	struct sonde_resources_process process;
	struct sonde_resources now;
	int64_t tick_ns = (int64_t)sonde_proc_tick_ns();
	put_process();
	for (int keep = 0; keep < 2; keep++) {
		assert_int_equal(sonde_resources_process_open(&process, root, 77, keep), SONDE_RESOURCES_FOUND);
		assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
		assert_string_equal(now.name, "a ) (b");
		assert_int_equal(now.parent, 12);
		assert_false(now.is_dead);
		assert_value(&now, SONDE_RESOURCE_CPU_USER, 250 * tick_ns);
		assert_value(&now, SONDE_RESOURCE_CPU_SYSTEM, 30 * tick_ns);
		assert_value(&now, SONDE_RESOURCE_FAULTS_MINOR, 1234);
		assert_value(&now, SONDE_RESOURCE_FAULTS_MAJOR, 5);
		assert_value(&now, SONDE_RESOURCE_THREADS, 1);
		assert_value(&now, SONDE_RESOURCE_MEMORY_RSS, 300 * (int64_t)getpagesize());
		assert_value(&now, SONDE_RESOURCE_FILES, 5);
		assert_value(&now, SONDE_RESOURCE_IO_READ_ALL, 4000);
		assert_value(&now, SONDE_RESOURCE_IO_WRITTEN_ALL, 5000);
		assert_value(&now, SONDE_RESOURCE_IO_READ, 8192);
		assert_value(&now, SONDE_RESOURCE_IO_WRITTEN, 4096);
		assert_value(&now, SONDE_RESOURCE_MEMORY_PEAK_RSS, 2 * MIB);
		assert_value(&now, SONDE_RESOURCE_MEMORY_SWAP, 8192);
		assert_value(&now, SONDE_RESOURCE_SWITCHES_VOLUNTARY, 40);
		assert_value(&now, SONDE_RESOURCE_SWITCHES_INVOLUNTARY, 3);
		sonde_resources_process_pss(&process, &now);
		assert_value(&now, SONDE_RESOURCE_MEMORY_PSS, 700 * 1024);
		assert_int_equal(sonde_resources_process_read(&process, 0, &now), SONDE_RESOURCES_FOUND);
		assert_false(now.known & 1u << SONDE_RESOURCE_MEMORY_PEAK_RSS);
		sonde_resources_process_close(&process);
	}
}

/* Values that may not be read are unknown, all others are known. */
static void what_is_closed_is_not_known(void **state)
{
	(void)state;
	struct sonde_resources_process process;
	struct sonde_resources now;
	put_stat("/proc/77/stat", "other", 'R', 3, 1000);
	assert_int_equal(sonde_resources_process_open(&process, root, 77, 1), SONDE_RESOURCES_FOUND);
	assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
	assert_int_equal(now.known, 1u << SONDE_RESOURCE_CPU_USER | 1u << SONDE_RESOURCE_CPU_SYSTEM |
					1u << SONDE_RESOURCE_FAULTS_MINOR | 1u << SONDE_RESOURCE_FAULTS_MAJOR |
					1u << SONDE_RESOURCE_THREADS | 1u << SONDE_RESOURCE_MEMORY_RSS);
	sonde_resources_process_pss(&process, &now);
	assert_int_equal(now.known, 0);
	assert_true(process.has_no_pss);
	sonde_resources_process_switches(&process, &now);
	assert_int_equal(now.known, 0);
	sonde_resources_process_close(&process);
	assert_int_equal(sonde_resources_process_open(&process, root, 78, 1), SONDE_RESOURCES_GONE);
}

/* By the next reading, the pid may belong to another process, or to none. */
static void another_process_with_the_number_is_not_it(void **state)
{
	(void)state;
	struct sonde_resources_process process;
	struct sonde_resources now;
	char command[64];
	put_stat("/proc/77/stat", "one", 'R', 1, 1000);
	assert_int_equal(sonde_resources_process_open(&process, root, 77, 0), SONDE_RESOURCES_FOUND);
	assert_int_equal(sonde_resources_process_read(&process, 0, &now), SONDE_RESOURCES_FOUND);
	put_stat("/proc/77/stat", "two", 'R', 1, 1001);
	assert_int_equal(sonde_resources_process_read(&process, 0, &now), SONDE_RESOURCES_GONE);
	snprintf(command, sizeof command, "rm -rf %s/proc/77", root);
	assert_int_equal(system(command), 0);
	assert_int_equal(sonde_resources_process_read(&process, 0, &now), SONDE_RESOURCES_GONE);
	sonde_resources_process_close(&process);
}

/* A process whose first thread has ended lives while it has others. */
static void a_dead_process_says_what_is_final(void **state)
{
	(void)state;
	struct sonde_resources_process process;
	struct sonde_resources now;
	put_process();
	put_stat("/proc/77/stat", "dead", 'Z', 1, 1000);
	put("/proc/77/status", "Name:\tdead\nState:\tZ (zombie)\nvoluntary_ctxt_switches:\t41\n"
			       "nonvoluntary_ctxt_switches:\t3\n");
	assert_int_equal(sonde_resources_process_open(&process, root, 77, 1), SONDE_RESOURCES_FOUND);
	assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
	assert_true(now.is_dead);
	assert_value(&now, SONDE_RESOURCE_FAULTS_MINOR, 1234);
	assert_value(&now, SONDE_RESOURCE_SWITCHES_VOLUNTARY, 41);
	assert_false(now.known & (1u << SONDE_RESOURCE_MEMORY_RSS | 1u << SONDE_RESOURCE_THREADS |
				  1u << SONDE_RESOURCE_MEMORY_PEAK_RSS | 1u << SONDE_RESOURCE_FILES));
	put_stat("/proc/77/stat", "dead", 'Z', 2, 1000);
	assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
	assert_false(now.is_dead);
	assert_value(&now, SONDE_RESOURCE_THREADS, 2);
	sonde_resources_process_close(&process);
}

static void put_task(int tid, int voluntary, int involuntary)
{
	char path[64], text[128];
	snprintf(path, sizeof path, "/proc/77/task/%d/status", tid);
	snprintf(text, sizeof text, "Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		 voluntary, involuntary);
	put(path, text);
}

static void assert_switches(struct sonde_resources_process *process, int64_t voluntary, int64_t involuntary)
{
	struct sonde_resources now;
	sonde_resources_process_switches(process, &now);
	assert_value(&now, SONDE_RESOURCE_SWITCHES_VOLUNTARY, voluntary);
	assert_value(&now, SONDE_RESOURCE_SWITCHES_INVOLUNTARY, involuntary);
}

/* Threads that ended keep their last reading; another one may reuse the tid. */
static void switches_of_threads_add_up(void **state)
{
	(void)state;
	struct sonde_resources_process process;
	struct sonde_resources now;
	char command[64];
	put_process();
	put_stat("/proc/77/stat", "many", 'S', 3, 1000);
	put_task(77, 10, 1);
	put_task(78, 20, 2);
	put_task(79, 30, 3);
	assert_int_equal(sonde_resources_process_open(&process, root, 77, 1), SONDE_RESOURCES_FOUND);
	assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
	assert_false(now.known & 1u << SONDE_RESOURCE_SWITCHES_VOLUNTARY); /* status has the first thread's alone */
	assert_switches(&process, 60, 6);
	put_task(77, 11, 1);
	snprintf(command, sizeof command, "rm -rf %s/proc/77/task/78", root);
	assert_int_equal(system(command), 0);
	put_task(79, 5, 0); /* another thread */
	put_task(80, 7, 0);
	assert_switches(&process, 11 + 20 + 30 + 5 + 7, 1 + 2 + 3);
	put_stat("/proc/77/stat", "many", 'S', 1, 1000); /* it has had several */
	assert_int_equal(sonde_resources_process_read(&process, 1, &now), SONDE_RESOURCES_FOUND);
	assert_false(now.known & 1u << SONDE_RESOURCE_SWITCHES_VOLUNTARY);
	assert_switches(&process, 73, 6);
	sonde_resources_process_close(&process);
}

/* --- bytes of children -------------------------------------------------------------------------------------------- */

static struct sonde_resources bytes_of(int64_t read_b, int64_t written_b)
{
	struct sonde_resources now = {.known = 1u << SONDE_RESOURCE_IO_READ_ALL | 1u << SONDE_RESOURCE_IO_WRITTEN_ALL};
	now.value[SONDE_RESOURCE_IO_READ_ALL] = read_b;
	now.value[SONDE_RESOURCE_IO_WRITTEN_ALL] = written_b;
	return now;
}

static void assert_own(struct sonde_resources_bytes *bytes, int64_t read_b, int64_t written_b)
{
	struct sonde_resources now;
	sonde_resources_bytes_record(bytes, &now);
	assert_value(&now, SONDE_RESOURCE_IO_READ_ALL, read_b);
	assert_value(&now, SONDE_RESOURCE_IO_WRITTEN_ALL, written_b);
	assert_false(now.known & 1u << SONDE_RESOURCE_IO_READ);
}

/* A parent gets 300 and 40 of a child that was read last at 200 and 30: the rest stays with it. */
static void bytes_of_children_are_taken_off(void **state)
{
	(void)state;
	struct sonde_resources_bytes parent = {0}, child = {0}, grandchild = {0};
	struct sonde_resources now = bytes_of(1001, 104);
	sonde_resources_bytes_begin(&parent, 1, 4); /* in its name */
	sonde_resources_bytes_see(&parent, &now);
	assert_own(&parent, 1000, 100);
	now = bytes_of(200, 30);
	sonde_resources_bytes_see(&child, &now);
	now = bytes_of(1051, 104); /* it has not waited yet, and may never */
	sonde_resources_bytes_see(&parent, &now);
	assert_false(sonde_resources_bytes_take(&parent, &child));
	assert_own(&parent, 1050, 100);
	now = bytes_of(1351, 144);
	sonde_resources_bytes_see_again(&parent, &now);
	assert_true(sonde_resources_bytes_take(&parent, &child));
	assert_false(sonde_resources_bytes_take(&parent, &child)); /* another one like it */
	assert_own(&parent, 1150, 110);
	/* The parent has exited, too, with an unseen child in its count: its own bytes are as before, and both are
	 * passed on.
	 */
	now = bytes_of(70, 7);
	sonde_resources_bytes_see(&grandchild, &now);
	sonde_resources_bytes_join(&parent, &grandchild);
	assert_own(&parent, 1150, 110);
	assert_int_equal(parent.raw[2], 1351 + 70);
}

/* --- control groups ----------------------------------------------------------------------------------------------- */

static void put_mounts_2(void)
{
	put("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
}

static struct sonde_cgroup_use use_of(pid_t pid, const char *cpu, const char *memory)
{
	struct sonde_cgroup cgroup;
	struct sonde_cgroup_use use;
	sonde_cgroup_open(&cgroup, root, pid);
	assert_string_equal(cgroup.cpu, cpu);
	assert_string_equal(cgroup.memory, memory);
	sonde_cgroup_read(&cgroup, 0, &use);
	assert_false(use.known & (SONDE_CGROUP_MEMORY | SONDE_CGROUP_LIMIT));
	sonde_cgroup_read(&cgroup, 1, &use);
	sonde_cgroup_close(&cgroup);
	return use;
}

static void the_tightest_group_of_version_2_holds(void **state)
{
	(void)state;
	assert_int_equal(use_of(5, "", "").known, 0);
	put_mounts_2();
	put("/proc/5/cgroup", "0::/a/b\n");
	put("/proc/self/cgroup", "0::/elsewhere\n");
	put("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 2000\nuser_usec 1500\nsystem_usec 500\n");
	put("/sys/fs/cgroup/a/b/memory.current", "1000\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	struct sonde_cgroup_use use = use_of(5, "/a/b", "/a/b");
	assert_int_equal(use.known, SONDE_CGROUP_CPU | SONDE_CGROUP_MEMORY);
	assert_int_equal(use.cpu_ns, 2000000);
	assert_int_equal(use.memory_b, 1000);
	put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "80000 100000\n");
	put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9000\nnr_periods 100\nnr_throttled 40\nthrottled_usec 777\n");
	put("/sys/fs/cgroup/a/memory.max", "5000\n");
	put("/sys/fs/cgroup/a/memory.current", "4000\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 300\nactive_file 9\n");
	use = use_of(5, "/a", "/a");
	assert_int_equal(use.known,
			 SONDE_CGROUP_CPU | SONDE_CGROUP_THROTTLE | SONDE_CGROUP_MEMORY | SONDE_CGROUP_LIMIT);
	assert_int_equal(use.cpu_ns, 9000000);
	assert_int_equal(use.periods, 100);
	assert_int_equal(use.throttled_periods, 40);
	assert_int_equal(use.throttled_ns, 777000);
	assert_int_equal(use.limit_b, 5000);
	assert_int_equal(use.reclaimable_b, 300);
}

/* Each controller has a tree of its own; a container's mount begins below the root that paths count from. */
static void version_1_has_a_tree_a_controller(void **state)
{
	(void)state;
	put("/proc/self/mountinfo",
	    "31 24 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	    "32 24 0:28 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	    "33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/proc/5/cgroup", "4:memory:/docker/abc/job\n3:cpuset:/x\n2:cpu,cpuacct:/docker/abc\n0::/y\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 123456\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "987654321\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "100000000\n");
	put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "60000000\n");
	put("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
	struct sonde_cgroup_use use = use_of(5, "/", "/job");
	assert_int_equal(use.cpu_ns, 987654321);
	assert_int_equal(use.throttled_periods, 4);
	assert_int_equal(use.throttled_ns, 123456);
	assert_int_equal(use.memory_b, 60000000);
	assert_int_equal(use.limit_b, 100000000);
	assert_int_equal(use.reclaimable_b, 2000);
}

/* A namespace shows groups outside as "/..", and the whole machine is no group. */
static void namespaces_and_the_whole_machine(void **state)
{
	(void)state;
	put_mounts_2();
	put("/proc/5/cgroup", "0::/../other\n");
	put("/sys/fs/cgroup/memory.current", "1000\n");
	put("/sys/fs/cgroup/cpu.stat", "usage_usec 3\n");
	assert_int_equal(use_of(5, "", "").known, 0);
	put("/sys/fs/cgroup/cgroup.type", "domain\n");
	assert_int_equal(use_of(5, "/", "/").known, SONDE_CGROUP_CPU | SONDE_CGROUP_MEMORY);
}

/* --- the machine -------------------------------------------------------------------------------------------------- */

struct seen {
	char text[8192];
	size_t used;
};

static void see(void *context, enum sonde_metric metric, const char *object, int64_t value)
{
	struct seen *seen = context;
	seen->used += (size_t)snprintf(seen->text + seen->used, sizeof seen->text - seen->used, "%s %s %lld\n",
				       sonde_metric_row(metric)->name, object ? object : "-", (long long)value);
}

static void assert_seen(struct sonde_resources_machine *machine, const char *expected)
{
	struct seen seen = {0};
	sonde_resources_machine_read(machine, 1, see, &seen);
	assert_string_equal(seen.text, expected);
}

static void put_machine(void)
{
	put("/proc/loadavg", "3.62 5.26 3.78 4/119 30815\n");
	put("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n");
	put("/proc/5/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/cgroup.type", "domain\n");
	put_mounts_2();
}

static void memory_is_what_the_group_leaves(void **state)
{
	(void)state;
	struct sonde_resources_machine *machine;
	char missing[512];
	put_machine();
	put("/sys/fs/cgroup/a/memory.current", "307200\n");
	put("/sys/fs/cgroup/a/memory.max", "512000\n");
	put("/sys/fs/cgroup/a/memory.stat", "inactive_file 102400\n");
	assert_int_equal(sonde_resources_machine_new(&machine, root, 5), 0);
	assert_seen(machine, "load - 3620\nthreads - 119\nmemory.total - 512000\nmemory.available - 307200\n"
			     "cgroup.memory /a 307200\ncgroup.memory_limit /a 512000\n");
	assert_int_equal(sonde_resources_machine_last_pid(machine), 30815);
	put("/sys/fs/cgroup/a/memory.max", "999999999\n"); /* more than there is */
	assert_seen(machine, "load - 3620\nthreads - 119\nmemory.total - 1024000\nmemory.available - 614400\n"
			     "cgroup.memory /a 307200\ncgroup.memory_limit /a 999999999\n");
	assert_true(sonde_resources_machine_missing(machine, missing, sizeof missing) > 0);
	assert_non_null(strstr(missing, "pressure"));
	assert_non_null(strstr(missing, "disks"));
	assert_null(strstr(missing, "meminfo"));
	sonde_resources_machine_free(machine);
}

static void note_stacked(void *context, enum sonde_metric metric, const char *object, int64_t value)
{
	char *seen = context;
	if (metric == SONDE_METRIC_NETWORK_STACKED) {
		assert_int_equal(value, 1);
		strcat(strcat(seen, object), " ");
	}
}

static void disks_are_whole_and_once(void **state)
{
	(void)state;
	struct sonde_resources_machine *machine;
	put("/proc/diskstats", "   7       0 loop0 1 0 9 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"
			       " 259       0 nvme0n1 10 0 16 1 20 0 32 1 0 40 2 0 0 0 0 0 0\n"
			       " 259       1 nvme0n1p1 10 0 16 1 20 0 32 1 0 40 2 0 0 0 0 0 0\n"
			       " 253       0 dm-0 10 0 16 1 20 0 32 1 0 40 2 0 0 0 0 0 0\n"
			       " 252       0 zram0 10 0 16 1 20 0 32 1 0 40 2 0 0 0 0 0 0\n"
			       " 104       0 cciss/c0d0 1 0 2 1 1 0 4 1 0 6 2\n");
	put("/sys/block/loop0/slaves/", "");
	put("/sys/block/nvme0n1/slaves/", "");
	put("/sys/block/zram0/slaves/", "");
	put("/sys/block/dm-0/slaves/nvme0n1p1/", "");
	put("/sys/block/cciss!c0d0/slaves/", "");
	assert_int_equal(sonde_resources_machine_new(&machine, root, 5), 0);
	assert_seen(machine, "disk.busy nvme0n1 40000000\ndisk.read nvme0n1 8192\ndisk.written nvme0n1 16384\n"
			     "disk.busy cciss/c0d0 6000000\ndisk.read cciss/c0d0 1024\ndisk.written cciss/c0d0 2048\n");
	sonde_resources_machine_free(machine);
}

static void cpus_networks_and_pressure(void **state)
{
	(void)state;
	struct sonde_resources_machine *machine;
	char expected[1024];
	unsigned long long tick_ns = sonde_proc_tick_ns();
	put("/proc/stat", "cpu  100 20 30 400 5 1 2 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
	put("/proc/5/net/dev", "Inter-|   Receive  |  Transmit\n face |bytes    packets\n"
			       "    lo: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
			       "eth0:12345 1 0 0 0 0 0 0 678 1 0 0 0 0 0 0\n");
	put("/proc/self/net/dev", "");
	put("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=700\n");
	assert_int_equal(sonde_resources_machine_new(&machine, root, 5), 0);
	snprintf(expected, sizeof expected,
		 "cpu.user - %llu\ncpu.system - %llu\ncpu.idle - %llu\ncpu.iowait - %llu\ncpu.stolen - %llu\n"
		 "network.received lo 100\nnetwork.sent lo 200\nnetwork.received eth0 12345\nnetwork.sent eth0 678\n"
		 "pressure.some io 1500000\npressure.full io 700000\n",
		 120 * tick_ns, 33 * tick_ns, 400 * tick_ns, 5 * tick_ns, 8 * tick_ns);
	assert_seen(machine, expected);
	sonde_resources_machine_free(machine);
}

/* A pair of which one end is part of a bridge; a second pair; a machine with a device beside bridges of containers. */
static void bytes_of_stacked_networks_are_marked(void **state)
{
	(void)state;
	struct sonde_resources_machine *machine;
	static const char *const files[][2] = {
	    {"v0/ifindex", "3\n"}, {"v0/iflink", "2\n"},   {"v0/upper_br0/", ""}, {"v1/ifindex", "2\n"},
	    {"v1/iflink", "3\n"},  {"br0/ifindex", "4\n"}, {"br0/iflink", "4\n"}, {"br0/lower_v0/", ""},
	    {"w0/ifindex", "6\n"}, {"w0/iflink", "5\n"},   {"w1/ifindex", "5\n"}, {"w1/iflink", "6\n"},
	};
	char path[64];
	put("/proc/5/net/dev", "v0: 372 1 0 0 0 0 0 0 218 1\nv1: 218 1 0 0 0 0 0 0 372 1\nbr0: 176 1 0 0 0 0 0 0 9 1\n"
			       "w0: 1 1 0 0 0 0 0 0 2 1\nw1: 2 1 0 0 0 0 0 0 1 1\nelsewhere: 3 1 0 0 0 0 0 0 4 1\n");
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "/sys/class/net/%s", files[i][0]);
		put(path, files[i][1]);
	}
	char seen[1024] = "";
	assert_int_equal(sonde_resources_machine_new(&machine, root, 5), 0);
	sonde_resources_machine_read(machine, 1, note_stacked, seen);
	assert_string_equal(seen, "v0 br0 w0 ");
	sonde_resources_machine_free(machine);

	put("/sys/class/net/eth0/device/", "");
	put("/sys/class/net/eth0/upper_br0/", "");
	put("/proc/5/net/dev", "br0: 1 1 0 0 0 0 0 0 1 1\nv1: 218 1 0 0 0 0 0 0 372 1\neth0: 2 1 0 0 0 0 0 0 2 1\n"
			       "lo: 2 1 0 0 0 0 0 0 2 1\n");
	seen[0] = 0;
	assert_int_equal(sonde_resources_machine_new(&machine, root, 5), 0);
	sonde_resources_machine_read(machine, 1, note_stacked, seen);
	assert_string_equal(seen, "br0 v1 ");
	sonde_resources_machine_free(machine);
}

/* Files that end anywhere, or hold something else, crash nothing and say nothing. */
static void nonsense_is_not_known(void **state)
{
	(void)state;
	static const char *const paths[] = {"/proc/stat",      "/proc/meminfo",       "/proc/loadavg",
					    "/proc/diskstats", "/proc/5/net/dev",     "/proc/pressure/cpu",
					    "/proc/5/cgroup",  "/proc/self/mountinfo"};
	static const char *const texts[] = {"", "\n", "cpu", ":::", "cpu 1 2 3", "a b c - - -\n", "0::", "total="};
	struct sonde_resources_machine *machine;
	for (size_t text = 0; text < sizeof texts / sizeof *texts; text++) {
		for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
			put(paths[i], texts[text]);
		put("/proc/77/stat", texts[text]);
		assert_int_equal(sonde_resources_machine_new(&machine, root, 5), 0);
		assert_seen(machine, "");
		sonde_resources_machine_free(machine);
		struct sonde_resources_process process;
		assert_int_equal(sonde_resources_process_open(&process, root, 77, 1), SONDE_RESOURCES_GONE);
	}
}

/* --- budgets ------------------------------------------------------------------------------------------------------ */

static void a_share_is_kept(void **state)
{
	(void)state;
	struct sonde_budget budget;
	uint64_t now_ns = 1000, spent_ns = 0, rounds = 0;
	sonde_budget_init(&budget, 500, 1000000, now_ns);
	for (uint64_t end_ns = now_ns + 10000000000u; now_ns < end_ns; rounds++) { /* each round takes 1 ms */
		spent_ns += 1000000;
		sonde_budget_spend(&budget, 1000000, now_ns);
		uint64_t due_ns = sonde_budget_due_ns(&budget);
		now_ns = due_ns > now_ns + 100000000 ? due_ns : now_ns + 100000000;
	}
	assert_in_range(spent_ns, 20000000, 22000000); /* 0.2 % of 10 s, and what was left over at the beginning */
	assert_in_range(rounds, 20, 22);
	assert_true(sonde_budget_allows(&budget, 0, now_ns + 1000000000));
	assert_false(sonde_budget_allows(&budget, 50000000, now_ns + 1000000000)); /* saved for from here on */
	assert_true(sonde_budget_allows(&budget, 50000000, now_ns + 26000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_process_is_read, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(what_is_closed_is_not_known, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(another_process_with_the_number_is_not_it, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(a_dead_process_says_what_is_final, root_make, root_remove),
	    cmocka_unit_test(bytes_of_children_are_taken_off),
	    cmocka_unit_test_setup_teardown(switches_of_threads_add_up, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(the_tightest_group_of_version_2_holds, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(version_1_has_a_tree_a_controller, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(namespaces_and_the_whole_machine, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(memory_is_what_the_group_leaves, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(disks_are_whole_and_once, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(cpus_networks_and_pressure, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(bytes_of_stacked_networks_are_marked, root_make, root_remove),
	    cmocka_unit_test_setup_teardown(nonsense_is_not_known, root_make, root_remove),
	    cmocka_unit_test(a_share_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
