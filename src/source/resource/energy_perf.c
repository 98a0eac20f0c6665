/* energy_perf.c: opens power/energy-pkg/ on the one CPU per package that the kernel lists in "cpumask". */
#include "source/resource/energy_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/file.h"

#define FOLDER "/sys/bus/event_source/devices/power"

/* "0,18" or "0-1". */
static int read_cpus(struct sonde_energy_perf_shape *out, const char *text)
{
	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long from = strtoul(text, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && out->cpu_count < SONDE_ENERGY_PERF_MAX; from++)
			out->cpus[out->cpu_count++] = (int)from;
		text = end + (*end == ',');
	}
	return out->cpu_count ? 0 : -EINVAL;
}

int sonde_energy_perf_shape(struct sonde_energy_perf_shape *out, const char *root)
{
	char text[256], unit[32];
	const char *config;
	*out = (struct sonde_energy_perf_shape){0};
	if (!sonde_file_read(text, sizeof text, "%s" FOLDER "/type", root))
		return -ENOENT;
	out->type = (uint32_t)strtoul(text, NULL, 10);
	if (!sonde_file_read(text, sizeof text, "%s" FOLDER "/events/energy-pkg", root))
		return -ENOENT;
	config = strstr(text, "event=");
	out->config = config ? strtoull(config + 6, NULL, 0) : 0;
	sonde_file_read(text, sizeof text, "%s" FOLDER "/events/energy-pkg.scale", root);
	out->scale_j = strtod(text, NULL);
	sonde_file_read(unit, sizeof unit, "%s" FOLDER "/events/energy-pkg.unit", root);
	sonde_file_read(text, sizeof text, "%s" FOLDER "/cpumask", root);
	if (!out->type || !out->config || !(out->scale_j > 0 && out->scale_j < 1) || strncmp(unit, "Joules", 6) != 0)
		return -EINVAL;
	return read_cpus(out, text);
}

static unsigned long topology(const char *root, int cpu, const char *what)
{
	char text[32];
	sonde_file_read(text, sizeof text, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu, what);
	return strtoul(text, NULL, 10);
}

/* Named as in powercap: "package-0", or "package-0-die-1" if a package has several dies. */
static void name_package(const struct sonde_energy_perf *perf, char *out, size_t out_b, const char *root, int cpu)
{
	unsigned long package = topology(root, cpu, "physical_package_id");
	snprintf(out, out_b, "package-%lu", package);
	for (size_t i = 0; i < perf->count; i++)
		if (!strcmp(perf->packages[i].name, out))
			snprintf(out, out_b, "package-%lu-die-%lu", package, topology(root, cpu, "die_id"));
}

int sonde_energy_perf_open(struct sonde_energy_perf *out, const char *root, char *why, size_t why_b)
{
	struct sonde_energy_perf_shape shape;
	int rc = sonde_energy_perf_shape(&shape, root);
	*out = (struct sonde_energy_perf){.scale_j = shape.scale_j};
	if (rc) {
		snprintf(why, why_b, "the kernel has no energy events (" FOLDER ")");
		return rc;
	}
	struct perf_event_attr attr = {.size = sizeof attr, .type = shape.type, .config = shape.config};
	for (size_t i = 0; i < shape.cpu_count; i++) {
		long fd = syscall(SYS_perf_event_open, &attr, -1, shape.cpus[i], -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0) {
			rc = -errno;
			sonde_energy_perf_close(out);
			snprintf(why, why_b,
				 "the kernel's energy events are forbidden (%s): give sonde CAP_PERFMON, or set "
				 "kernel.perf_event_paranoid to 0",
				 strerror(-rc));
			return rc;
		}
		out->packages[out->count].fd = (int)fd;
		name_package(out, out->packages[out->count].name, sizeof out->packages->name, root, shape.cpus[i]);
		out->count++;
	}
	return 0;
}

void sonde_energy_perf_close(struct sonde_energy_perf *perf)
{
	for (size_t i = 0; i < perf->count; i++)
		close(perf->packages[i].fd);
	perf->count = 0;
}

int64_t sonde_energy_perf_read_uj(const struct sonde_energy_perf *perf, size_t i)
{
	uint64_t count;
	if (read(perf->packages[i].fd, &count, sizeof count) != sizeof count)
		return -1;
	return (int64_t)((double)count * perf->scale_j * 1e6);
}
