/* host.c: describes the machine from /proc and /sys; a root prefix lets tests use captured trees. */
#include "source/resource/host.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/wait.h"
#include "run/redacted.h"
#include "run/shell.h"
#include "source/resource/cgroup.h"

/* Facts that are read from files. The value is the first line of the file or, with `field`, the text after the
 * separator in the line that starts with `field`. */
static const struct {
	const char *key, *path, *field;
	char separator;
} facts[] = {
    {"host.kernel", "/proc/sys/kernel/osrelease", NULL, 0},
    {"host.boot_id", "/proc/sys/kernel/random/boot_id", NULL, 0},
    {"host.clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL, 0},
    {"host.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", NULL, 0},
    {"host.kptr_restrict", "/proc/sys/kernel/kptr_restrict", NULL, 0},
    {"host.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", NULL, 0},
    {"host.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL, 0},
    {"host.smt", "/sys/devices/system/cpu/smt/control", NULL, 0},
    {"host.transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled", NULL, 0},
    {"host.numa_nodes", "/sys/devices/system/node/online", NULL, 0},
    {"host.cgroup_cpu_max", "/sys/fs/cgroup/cpu.max", NULL, 0},
    {"host.cgroup_memory_max", "/sys/fs/cgroup/memory.max", NULL, 0},
    {"host.cpu", "/proc/cpuinfo", "model name", ':'},
    {"host.memory", "/proc/meminfo", "MemTotal", ':'},
    {"host.os", "/etc/os-release", "PRETTY_NAME", '='},
};

/* Environment variables that change how a program runs and hold no secrets. */
static const char *const variables[] = {
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "GOMAXPROCS",
    "MALLOC_ARENA_MAX",
    "GLIBC_TUNABLES",
    "PYTHONPERFSUPPORT",
    "PYTHONMALLOC",
    "CUDA_VISIBLE_DEVICES",
    "LANG",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "SLURM_PROCID",
};

static void trim(char *text)
{
	size_t len = strlen(text);
	while (len && strchr(" \t\n\"", text[len - 1]))
		text[--len] = '\0';
	size_t skip = strspn(text, " \t\"");
	memmove(text, text + skip, len - skip + 1);
}

static FILE *open_under(const char *root, const char *path)
{
	char full[PATH_MAX + 256];
	snprintf(full, sizeof full, "%s%s", root, path);
	return fopen(full, "re");
}

static void say_fact(struct sonde_recorder *recorder, const char *root, size_t i)
{
	char line[512];
	const char *field = facts[i].field;
	FILE *file = open_under(root, facts[i].path);
	while (file && fgets(line, sizeof line, file)) {
		char *value = field ? strchr(line, facts[i].separator) : line;
		if (field && (!value || strncmp(line, field, strlen(field))))
			continue;
		value += field != NULL;
		trim(value);
		sonde_recorder_info(recorder, facts[i].key, value);
		break;
	}
	if (file)
		fclose(file);
}

static void say_number(struct sonde_recorder *recorder, const char *key, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRIu64, value);
	sonde_recorder_info(recorder, key, text);
}

/* --- CPUs available to the run ------------------------------------------------------------------------------------ */

static unsigned affinity_of(pid_t pid)
{
	enum { CPUS_MOST = 1 << 16 };
	size_t size_b = CPU_ALLOC_SIZE(CPUS_MOST);
	cpu_set_t *set = CPU_ALLOC(CPUS_MOST);
	int count = set && !sched_getaffinity(pid, size_b, set) ? CPU_COUNT_S(size_b, set) : 0;
	if (set)
		CPU_FREE(set);
	return (unsigned)count;
}

/* Writes how many CPUs the command may use: its CPU affinity, or its cgroup's quota if that is lower. */
static void say_cpus(struct sonde_recorder *recorder, pid_t pid)
{
	char text[32];
	double quota = sonde_cgroup_quota("", 0);
	unsigned cpus = affinity_of(pid);
	int limited = quota > 0 && (!cpus || quota < cpus);
	if (!limited && !cpus)
		return;
	snprintf(text, sizeof text, "%.4g", limited ? quota : cpus);
	sonde_recorder_info(recorder, "run.cpus", text);
	sonde_recorder_info(recorder, "run.cpus_limit", limited ? "cgroup quota" : "affinity");
}

void sonde_host_describe(struct sonde_recorder *recorder, const char *root)
{
	struct utsname name;
	if (!uname(&name)) {
		sonde_recorder_info(recorder, "host.name", name.nodename);
		sonde_recorder_info(recorder, "host.machine", name.machine);
	}
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		say_fact(recorder, root, i);
	say_number(recorder, "host.cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	char key[64];
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i]);
		snprintf(key, sizeof key, "env.%s", variables[i]);
		if (value)
			sonde_recorder_info(recorder, key, value);
	}
}

static void say_command(struct sonde_recorder *recorder, char **command)
{
	char text[4096];
	size_t len = 0;
	unsigned secrets = 0;
	int is_kept = sonde_recorder_options(recorder)->keep_arguments;
	char **redacted = is_kept ? NULL : sonde_redacted_words(command, &secrets);
	char **argv = is_kept ? command : redacted;
	if (!argv) /* no memory */
		return;
	for (char **word = argv; *word && len < sizeof text - 1; word++)
		len += (size_t)snprintf(text + len, sizeof text - len, word == argv ? "%s" : " %s", *word);
	sonde_recorder_info(recorder, "run.command", text);
	if (secrets)
		say_number(recorder, "run.redacted", secrets);
	char *line =
	    secrets ? NULL : sonde_shell_quoted(argv); /* without its secrets, the line would run another command */
	if (line && strlen(line) < sizeof text)        /* a truncated line would run another command, too */
		sonde_recorder_info(recorder, "run.command_line", line);
	free(line);
	free(redacted);
}

void sonde_host_describe_held(struct sonde_recorder *recorder, uint64_t rss_b)
{
	say_number(recorder, "run.held_rss_b", rss_b);
}

void sonde_host_describe_run(struct sonde_recorder *recorder)
{
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	char text[4096];
	if (options->command)
		say_command(recorder, options->command);
	else
		say_number(recorder, "run.attached_pid", (uint64_t)options->attach);
	if (getcwd(text, sizeof text))
		sonde_recorder_info(recorder, "run.directory", text);
	say_number(recorder, "run.uid", geteuid());
	say_cpus(recorder, options->command ? 0 : options->attach);
	say_number(recorder, "option.rate_hz", options->rate_hz);
	say_number(recorder, "option.buffer_b", options->buffer_b);
	if (options->waits)
		sonde_recorder_info(recorder, "option.waits",
				    !(options->waits & SONDE_WAIT_WHAT_IO)      ? "locks"
				    : !(options->waits & SONDE_WAIT_WHAT_LOCKS) ? "files"
										: "locks files");
	if (options->keep_ns)
		say_number(recorder, "option.keep_ns", options->keep_ns);
	if (options->when)
		sonde_recorder_info(recorder, "option.when", options->when);
}
