/* host.c: a fingerprint of the machine, read from /proc and /sys under a root prefix so that captured trees are tests.
 */
#include "source/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A file whose first line is the value. */
static const struct {
	const char *key, *path;
} files[] = {
    {"host.kernel", "/proc/sys/kernel/osrelease"},
    {"host.boot_id", "/proc/sys/kernel/random/boot_id"},
    {"host.clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"host.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"},
    {"host.kptr_restrict", "/proc/sys/kernel/kptr_restrict"},
    {"host.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope"},
    {"host.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
    {"host.smt", "/sys/devices/system/cpu/smt/control"},
    {"host.transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"host.cgroup_cpu_max", "/sys/fs/cgroup/cpu.max"},
    {"host.cgroup_memory_max", "/sys/fs/cgroup/memory.max"},
};

/* A line of a file that starts with `field`; the value stands after `separator`. */
static const struct {
	const char *key, *path, *field;
	char separator;
} fields[] = {
    {"host.cpu", "/proc/cpuinfo", "model name", ':'},
    {"host.memory", "/proc/meminfo", "MemTotal", ':'},
    {"host.os", "/etc/os-release", "PRETTY_NAME", '='},
};

/* They change how a program runs and hold no secrets. */
static const char *const variables[] = {
    "LD_PRELOAD",        "LD_LIBRARY_PATH", "OMP_NUM_THREADS",      "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",   "GOMAXPROCS",      "MALLOC_ARENA_MAX",     "GLIBC_TUNABLES",
    "PYTHONPERFSUPPORT", "PYTHONMALLOC",    "CUDA_VISIBLE_DEVICES", "LANG",
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
	char full[512];
	snprintf(full, sizeof full, "%s%s", root, path);
	return fopen(full, "re");
}

static void say_file(struct sonde_recorder *recorder, const char *root, size_t i)
{
	char line[512];
	FILE *file = open_under(root, files[i].path);
	if (file && fgets(line, sizeof line, file)) {
		trim(line);
		sonde_recorder_info(recorder, files[i].key, line);
	}
	if (file)
		fclose(file);
}

static void say_field(struct sonde_recorder *recorder, const char *root, size_t i)
{
	char line[512];
	FILE *file = open_under(root, fields[i].path);
	while (file && fgets(line, sizeof line, file)) {
		char *value = strchr(line, fields[i].separator);
		if (!value || strncmp(line, fields[i].field, strlen(fields[i].field)))
			continue;
		trim(++value);
		sonde_recorder_info(recorder, fields[i].key, value);
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

void sonde_host_describe(struct sonde_recorder *recorder, const char *root)
{
	struct utsname name;
	if (!uname(&name)) {
		sonde_recorder_info(recorder, "host.name", name.nodename);
		sonde_recorder_info(recorder, "host.machine", name.machine);
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		say_file(recorder, root, i);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		say_field(recorder, root, i);
	say_number(recorder, "host.cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	char key[64];
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i]);
		snprintf(key, sizeof key, "env.%s", variables[i]);
		if (value)
			sonde_recorder_info(recorder, key, value);
	}
}

static void say_command(struct sonde_recorder *recorder, char **argv)
{
	char text[4096];
	size_t len = 0;
	for (char **word = argv; *word && len < sizeof text - 1; word++)
		len += (size_t)snprintf(text + len, sizeof text - len, word == argv ? "%s" : " %s", *word);
	sonde_recorder_info(recorder, "run.command", text);
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
	say_number(recorder, "option.rate_hz", options->rate_hz);
	say_number(recorder, "option.buffer_b", options->buffer_b);
	if (options->keep_ns)
		say_number(recorder, "option.keep_ns", options->keep_ns);
	if (options->when)
		sonde_recorder_info(recorder, "option.when", options->when);
}
