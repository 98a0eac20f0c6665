/* checks.c: checks what the kernel and the machine allow: each check reads one fact and explains what the fact means
 * for recording.
 *
 * Where possible, a check tries the operation itself (perf_event_open), because files in /proc/sys do not reflect
 * seccomp, containers and capabilities. Nothing here has a lasting effect.
 */
#include "cli/common/checks.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/file.h"

#define PERF_HELP                                                                                                 \
	"sudo sysctl kernel.perf_event_paranoid=1 (in a container: --cap-add PERFMON, or a seccomp profile that " \
	"allows perf_event_open)"

#define SAY(out, colour, ...)                                          \
	do {                                                           \
		(out)->verdict = SONDE_VERDICT_##colour;               \
		snprintf((out)->what, sizeof(out)->what, __VA_ARGS__); \
	} while (0)

#define FIX(out, ...) snprintf((out)->fix, sizeof(out)->fix, __VA_ARGS__)

/* Reads the first line of a small file; 0 if it cannot be read. */
static int read_line(char *out, size_t out_b, const char *path)
{
	size_t read_b = sonde_file_read(out, out_b, "%s", path);
	out[strcspn(out, "\n")] = '\0';
	return read_b != 0;
}

static int read_number(long *out, const char *path)
{
	char line[64];
	if (!read_line(line, sizeof line, path))
		return 0;
	*out = strtol(line, NULL, 10);
	return 1;
}

static int try_event(uint32_t type, uint64_t config, int with_kernel)
{
	struct perf_event_attr attr = {.size = sizeof attr, .type = type, .config = config, .disabled = 1};
	attr.sample_period = 1000000;
	attr.exclude_kernel = !with_kernel;
	attr.exclude_hv = 1;
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static void look_at_proc(struct sonde_finding *out)
{
	if (access("/proc/self/maps", R_OK) == 0) {
		SAY(out, GREEN, "/proc is mounted");
		return;
	}
	SAY(out, RED, "/proc/self/maps cannot be read: no modules or threads");
	FIX(out, "mount -t proc proc /proc");
}

static void look_at_perf(struct sonde_finding *out)
{
	long level = 0;
	const char *path = "/proc/sys/kernel/perf_event_paranoid";
	char reason[64] = "perf_event_paranoid does not exist";
	if (read_number(&level, path))
		snprintf(reason, sizeof reason, "perf_event_paranoid is %ld", level);
	int code = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0);
	if (code == 0) {
		SAY(out, GREEN, "allowed for your own programs (%s)", reason);
		return;
	}
	SAY(out, YELLOW, "forbidden: %s (%s); timers inside the program sample it, at the kernel's tick",
	    strerror(-code), reason);
	FIX(out, PERF_HELP);
}

static void look_at_kernel_frames(struct sonde_finding *out)
{
	long restricted = 0;
	int code = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1);
	read_number(&restricted, "/proc/sys/kernel/kptr_restrict");
	if (code != 0) {
		SAY(out, YELLOW, "kernel time is one entry, [kernel]: %s", strerror(-code));
		FIX(out, PERF_HELP);
	} else if (restricted > 1 || (restricted == 1 && geteuid() != 0)) {
		SAY(out, YELLOW, "sampled, but without names (kptr_restrict is %ld)", restricted);
		FIX(out, "sudo sysctl kernel.kptr_restrict=0");
	} else {
		SAY(out, GREEN, "sampled, with names (kptr_restrict is %ld)", restricted);
	}
}

static void look_at_buffers(struct sonde_finding *out)
{
	long kb = 0;
	if (!read_number(&kb, "/proc/sys/kernel/perf_event_mlock_kb")) {
		SAY(out, YELLOW, "perf_event_mlock_kb cannot be read: the kernel may lack perf events");
		return;
	}
	SAY(out, GREEN, "perf_event_mlock_kb is %ld", kb);
	if (kb >= 516 || geteuid() == 0)
		return;
	out->verdict = SONDE_VERDICT_YELLOW;
	FIX(out, "sudo sysctl kernel.perf_event_mlock_kb=516 (less loses samples in busy programs)");
}

static void look_at_attach(struct sonde_finding *out)
{
	long scope = 0;
	if (!read_number(&scope, "/proc/sys/kernel/yama/ptrace_scope") || scope == 0 || (geteuid() == 0 && scope < 3)) {
		SAY(out, GREEN, "-p can attach to your running programs");
		return;
	}
	SAY(out, YELLOW, "ptrace_scope is %ld: only programs that sonde starts can be read", scope);
	if (scope < 3)
		FIX(out, "sudo sysctl kernel.yama.ptrace_scope=0, or run sonde record -p as root");
	else
		FIX(out, "set kernel.yama.ptrace_scope below 3 in /etc/sysctl.d and reboot");
}

static void look_at_counters(struct sonde_finding *out)
{
	int code = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0);
	if (code == 0) {
		SAY(out, GREEN, "the CPU cycle counter is available");
		return;
	}
	int absent = code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP;
	SAY(out, YELLOW, "none: %s; the kernel's clock drives the samples",
	    absent ? "the processor has none here, as in most virtual machines" : strerror(-code));
	if (absent)
		FIX(out, "none is needed; a virtual machine's host can pass them through");
	else
		FIX(out, PERF_HELP);
}

static void look_at_nodes(struct sonde_finding *out)
{
	char nodes[64];
	if (!read_line(nodes, sizeof nodes, "/sys/devices/system/node/online"))
		SAY(out, YELLOW, "the kernel reports no NUMA nodes: remote memory is not checked");
	else if (!nodes[strspn(nodes, "0123456789")])
		SAY(out, GREEN, "one NUMA node: all memory is local");
	else
		SAY(out, YELLOW, "NUMA nodes %s: remote memory is not checked, since remote accesses are not counted",
		    nodes);
}

static void look_at_tracing(struct sonde_finding *out)
{
	int types = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	int events = access("/sys/kernel/tracing/events/sched", R_OK) == 0 ||
		     access("/sys/kernel/debug/tracing/events/sched", R_OK) == 0;
	const char *reason = types ? "type information (BTF) is available" : "type information (BTF) is missing";
	if (types && events) {
		SAY(out, GREEN, "tracepoints can be read, %s", reason);
		return;
	}
	SAY(out, YELLOW, "%s, %s; this version does not use them",
	    events ? "tracepoints can be read" : "tracepoints cannot be read", reason);
	if (!events)
		FIX(out, "as root: mount -t tracefs tracefs /sys/kernel/tracing");
}

static void look_at_clock(struct sonde_finding *out)
{
	char name[64];
	if (!read_line(name, sizeof name, "/sys/devices/system/clocksource/clocksource0/current_clocksource")) {
		SAY(out, YELLOW, "the kernel's clock source is unknown");
		return;
	}
	SAY(out, GREEN, "the kernel's clock source is %s", name);
	if (strcmp(name, "tsc") == 0 || strcmp(name, "arch_sys_counter") == 0)
		return;
	out->verdict = SONDE_VERDICT_YELLOW;
	FIX(out, "the kernel does not trust the cycle counter, so each time stamp costs a system call; boot with "
		 "tsc=reliable if the counter is known to be good");
}

/* Cuts `path` to its deepest existing directory. */
static void existing_part(char *path)
{
	struct stat status;
	char *slash;
	while (stat(path, &status) != 0 && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
}

static void look_at_cache(struct sonde_finding *out)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char wanted[PATH_MAX], there[PATH_MAX];
	if (cache && *cache == '/')
		snprintf(wanted, sizeof wanted, "%s/sonde", cache);
	else
		snprintf(wanted, sizeof wanted, "%s/.cache/sonde", home ? home : "");
	memcpy(there, wanted, sizeof there);
	existing_part(there);
	struct stat status;
	int ours = stat(there, &status) == 0 && status.st_uid == geteuid();
	if (ours && access(there, W_OK) == 0) {
		SAY(out, GREEN, "symbols and unwind tables are cached in %.400s", wanted);
		return;
	}
	SAY(out, YELLOW, "%.400s is not writable by you: symbols are looked up anew each time", wanted);
	FIX(out, "set XDG_CACHE_HOME to a folder of your own");
}

static void look_at_debuginfod(struct sonde_finding *out)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (urls && *urls) {
		SAY(out, GREEN, "--debuginfod asks %.400s", urls);
		return;
	}
	SAY(out, YELLOW, "DEBUGINFOD_URLS is not set: --debuginfod has no server for system libraries");
	FIX(out, "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org (Debian: https://debuginfod.debian.net)");
}

static void look_at_directory(struct sonde_finding *out)
{
	char here[PATH_MAX];
	if (!getcwd(here, sizeof here))
		snprintf(here, sizeof here, ".");
	if (access(".", W_OK) == 0) {
		SAY(out, GREEN, "recordings can be written to %.400s", here);
		return;
	}
	SAY(out, YELLOW, "%.400s cannot be written to: %s", here, strerror(errno));
	FIX(out, "use another folder: sonde record -o /tmp/app.sonde");
}

const struct sonde_check sonde_checks[] = {
    {"process files", look_at_proc},   {"perf events", look_at_perf},       {"kernel frames", look_at_kernel_frames},
    {"perf buffers", look_at_buffers}, {"attaching", look_at_attach},       {"hardware counters", look_at_counters},
    {"NUMA", look_at_nodes},           {"kernel tracing", look_at_tracing}, {"clock", look_at_clock},
    {"cache", look_at_cache},          {"debuginfod", look_at_debuginfod},  {"directory", look_at_directory},
};
const size_t sonde_check_count = sizeof sonde_checks / sizeof *sonde_checks;
