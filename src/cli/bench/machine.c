/* machine.c: identifies the machine (bench/machine.h). */
#include "cli/bench/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analyze/diff/machines.h"
#include "source/resource/cgroup.h"
#include "util/file.h"

/* Keys whose value is the first line of a file. */
static const struct {
	const char *key, *path;
} files[] = {
    {"host.kernel", "/proc/sys/kernel/osrelease"},
    {"host.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
    {"host.smt", "/sys/devices/system/cpu/smt/control"},
    {"host.transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"host.clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
};

static void put(struct sonde_bench_machine *out, const char *key, const char *value)
{
	for (size_t i = 0; i < sonde_machine_key_count && i < SONDE_BENCH_MACHINE_KEYS; i++)
		if (!strcmp(sonde_machine_keys[i].key, key))
			snprintf(out->value[i], sizeof out->value[i], "%.*s", (int)strcspn(value, "\n"), value);
}

/* Identifies the CPU: on x86 by its model name, on AArch64 by the register that identifies the core. */
static void put_cpu(struct sonde_bench_machine *out)
{
	char text[8192];
	sonde_file_read(text, sizeof text, "/proc/cpuinfo");
	const char *line = strstr(text, "model name"), *colon = line ? strchr(line, ':') : NULL;
	if (!colon) {
		sonde_file_read(text, sizeof text, "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
		put(out, "host.cpu", text);
		return;
	}
	put(out, "host.cpu", colon + 1 + strspn(colon + 1, " \t"));
}

static void put_cpus(struct sonde_bench_machine *out)
{
	enum { CPUS_MOST = 1 << 16 };
	char text[32];
	double quota = sonde_cgroup_quota("", 0);
	size_t size_b = CPU_ALLOC_SIZE(CPUS_MOST);
	cpu_set_t *set = CPU_ALLOC(CPUS_MOST);
	int count = set && !sched_getaffinity(0, size_b, set) ? CPU_COUNT_S(size_b, set) : 0;
	if (set)
		CPU_FREE(set);
	snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	put(out, "host.cpus", text);
	snprintf(text, sizeof text, "%.4g", quota > 0 && quota < count ? quota : count);
	if (count)
		put(out, "run.cpus", text);
}

void sonde_bench_machine_here(struct sonde_bench_machine *out)
{
	struct utsname name;
	char text[512];
	*out = (struct sonde_bench_machine){0};
	if (!uname(&name))
		put(out, "host.machine", name.machine);
	put_cpu(out);
	put_cpus(out);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (sonde_file_read(text, sizeof text, "%s", files[i].path))
			put(out, files[i].key, text);
}

void sonde_bench_machine_put(struct sonde_json *json, const struct sonde_bench_machine *machine)
{
	sonde_json_put_object(json, "host");
	for (size_t i = 0; i < sonde_machine_key_count && i < SONDE_BENCH_MACHINE_KEYS; i++)
		if (*machine->value[i])
			sonde_json_put_text(json, sonde_machine_keys[i].key, machine->value[i]);
	sonde_json_end(json);
}

void sonde_bench_machine_read(struct sonde_bench_machine *out, const json_t *host)
{
	*out = (struct sonde_bench_machine){0};
	for (size_t i = 0; i < sonde_machine_key_count && i < SONDE_BENCH_MACHINE_KEYS; i++) {
		const char *value = json_string_value(json_object_get(host, sonde_machine_keys[i].key));
		snprintf(out->value[i], sizeof out->value[i], "%s", value ? value : "");
	}
}

int sonde_bench_machine_compare(const struct sonde_bench_machine *a, const struct sonde_bench_machine *b,
				void (*say)(void *context, const char *sentence), void *context)
{
	int is_comparable = 1;
	char sentence[1024];
	for (size_t i = 0; i < sonde_machine_key_count && i < SONDE_BENCH_MACHINE_KEYS; i++) {
		const struct sonde_machine_key *key = &sonde_machine_keys[i];
		if (!*a->value[i] || !*b->value[i] || !strcmp(a->value[i], b->value[i]))
			continue;
		is_comparable &= !key->decides;
		snprintf(sentence, sizeof sentence, "the %s differ: %s, %s%s", key->what, a->value[i], b->value[i],
			 key->decides ? ": the two are not comparable" : "");
		say(context, sentence);
	}
	return is_comparable;
}

int sonde_bench_machine_is_known(const struct sonde_bench_machine *machine)
{
	for (size_t i = 0; i < SONDE_BENCH_MACHINE_KEYS; i++)
		if (*machine->value[i])
			return 1;
	return 0;
}
