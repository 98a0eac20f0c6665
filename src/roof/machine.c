/* machine.c: the machine fingerprint that keys measured ceilings, from /proc and /sys.
 *
 * Two machines of the same model with different memory have different ceilings, so the memory size is part of the
 * fingerprint; host names are not, because containers invent them. Where /sys lists no caches, as in some virtual
 * machines, the C library queries the processor.
 */
#include "roof/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hash.h"
#include "util/file.h"

#define GIB ((uint64_t)1 << 30)
#define INDEXES_MAX 8 /* cache entries per CPU */
#define UNLIMITED_B ((uint64_t)1 << 60)

static void trim(char *text)
{
	size_t len = strcspn(text, "\n");
	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	text[len] = '\0';
	size_t skip = strspn(text, " \t");
	memmove(text, text + skip, len - skip + 1);
}

/* Reads the value of `field` from a text of lines "FIELD: VALUE"; returns true if it was found. */
static int read_field(char *out, size_t out_b, const char *text, const char *field)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *colon = strncmp(line, field, strlen(field)) ? NULL : strchr(line, ':');
		if (!colon)
			continue;
		snprintf(out, out_b, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
		trim(out);
		return 1;
	}
	return 0;
}

/* x86 has a model name; AArch64 the register that identifies the core. */
static void read_cpu(struct sonde_roof *roof, const char *root)
{
	char text[8192];
	sonde_file_read(text, sizeof text, "%s/proc/cpuinfo", root);
	if (read_field(roof->cpu, sizeof roof->cpu, text, "model name"))
		return;
	sonde_file_read(roof->cpu, sizeof roof->cpu, "%s/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
			root);
	trim(roof->cpu);
}

static uint64_t read_kib(const char *root, const char *field)
{
	char text[8192], value[64];
	sonde_file_read(text, sizeof text, "%s/proc/meminfo", root);
	return read_field(value, sizeof value, text, field) ? strtoull(value, NULL, 10) : 0;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Reads a file whose cgroup path may be longer than sonde_file_read() takes; "" if there is no such file. */
static void read_of(char *out, size_t max_b, const char *root, const char *directory, const char *name)
{
	char path[PATH_MAX];
	*out = '\0';
	if ((size_t)snprintf(path, sizeof path, "%s%s/%s", root, directory, name) >= sizeof path)
		return;
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	out[fread(out, 1, max_b - 1, file)] = '\0';
	fclose(file);
}

/* Memory left below one cgroup's limit; inactive page cache counts as free, because it is reclaimed on demand.
 * UINT64_MAX = no limit: "max" in version 2, a number beyond all memory in version 1. */
static uint64_t left_of(const char *root, const char *directory, int is_2)
{
	static const char *const limits[2][2] = {{"memory.limit_in_bytes", NULL}, {"memory.max", "memory.high"}};
	const char *cached_field = is_2 ? "\ninactive_file " : "\ntotal_inactive_file ";
	char text[8192];
	uint64_t limit_b = UINT64_MAX;
	for (int i = 0; i < 2 && limits[is_2][i]; i++) {
		read_of(text, sizeof text, root, directory, limits[is_2][i]);
		uint64_t said_b = strtoull(text, NULL, 10);
		limit_b = said_b && said_b < UNLIMITED_B && said_b < limit_b ? said_b : limit_b;
	}
	if (limit_b == UINT64_MAX)
		return limit_b;
	read_of(text, sizeof text, root, directory, is_2 ? "memory.current" : "memory.usage_in_bytes");
	uint64_t used_b = strtoull(text, NULL, 10);
	read_of(text, sizeof text, root, directory, "memory.stat");
	const char *cached = strstr(text, cached_field);
	uint64_t cached_b = cached ? strtoull(cached + strlen(cached_field), NULL, 10) : 0;
	used_b -= cached_b < used_b ? cached_b : used_b;
	return limit_b > used_b ? limit_b - used_b : 1;
}

/* The least memory left below the limits of a cgroup and its ancestors; `directory` is cut back to `base_len`. */
static uint64_t left_upwards(const char *root, char *directory, size_t base_len, int is_2)
{
	uint64_t least_b = left_of(root, directory, is_2);
	while (strlen(directory) > base_len) {
		*strrchr(directory, '/') = '\0';
		uint64_t left_b = left_of(root, directory, is_2);
		least_b = left_b < least_b ? left_b : least_b;
	}
	return least_b;
}

static int is_memory_controller(const char *controllers)
{
	for (const char *at = controllers; (at = strstr(at, "memory")); at++)
		if ((at == controllers || at[-1] == ',') && (!at[6] || at[6] == ','))
			return 1;
	return 0;
}

uint64_t sonde_roof_memory(const char *root)
{
	char line[PATH_MAX], directory[PATH_MAX + 64];
	uint64_t available_b = read_kib(root, "MemAvailable") << 10;
	uint64_t least_b = left_of(root, "/sys/fs/cgroup", 1); /* root cgroup of a container */
	snprintf(directory, sizeof directory, "%s/proc/self/cgroup", root);
	FILE *file = fopen(directory, "re");
	while (file && fgets(line, sizeof line, file)) { /* id:controllers:path */
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = *path++ = '\0';
		trim(path);
		if (*controllers && !is_memory_controller(controllers))
			continue;
		const char *base = *controllers ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
		snprintf(directory, sizeof directory, "%s%s", base, *path == '/' && path[1] ? path : "");
		uint64_t left_b = left_upwards(root, directory, strlen(base), !*controllers);
		least_b = left_b < least_b ? left_b : least_b;
	}
	if (file)
		fclose(file);
	if (least_b == UINT64_MAX)
		return available_b;
	return !available_b || least_b < available_b ? least_b : available_b;
}

/* --- caches ------------------------------------------------------------------------------------------------------- */

static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t size = strtoull(text, &end, 10);
	return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

static void read_index(struct sonde_roof_caches *out, const char *root, unsigned cpu, unsigned index)
{
	char kind[32], text[64];
	char path[128];
	snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%u/", root, cpu, index);
	sonde_file_read(kind, sizeof kind, "%stype", path);
	sonde_file_read(text, sizeof text, "%slevel", path);
	unsigned long level = strtoul(text, NULL, 10);
	if (level < 1 || level > SONDE_ROOF_DRAM || (strncmp(kind, "Data", 4) && strncmp(kind, "Unified", 7)))
		return;
	sonde_file_read(text, sizeof text, "%ssize", path);
	out->size_b[level - 1] = parse_size(text);
	sonde_file_read(out->shared[level - 1], sizeof out->shared[0], "%sshared_cpu_list", path);
	trim(out->shared[level - 1]);
}

void sonde_roof_caches(struct sonde_roof_caches *out, const char *root, unsigned cpu)
{
	static const int requested[SONDE_ROOF_DRAM] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
						       _SC_LEVEL3_CACHE_SIZE};
	memset(out, 0, sizeof *out);
	for (unsigned index = 0; index < INDEXES_MAX; index++)
		read_index(out, root, cpu, index);
	int is_told = *root || out->size_b[SONDE_ROOF_L1];
	for (int level = 0; level < SONDE_ROOF_DRAM && !is_told; level++) {
		long size = sysconf(requested[level]);
		out->size_b[level] = size > 0 ? (uint64_t)size : 0;
	}
}

int sonde_roof_list_has(const char *list, unsigned cpu)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (cpu >= from && cpu <= to)
			return 1;
		list = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* --- the fingerprint ---------------------------------------------------------------------------------------------- */

/* Number of CPUs in a list such as "0-3,8". */
static uint64_t count_list(const char *list)
{
	uint64_t count = 0;
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		count += to >= from ? to - from + 1 : 0;
		list = *end == ',' ? end + 1 : end;
	}
	return count;
}

void sonde_roof_machine(struct sonde_roof *roof, const char *root)
{
	char text[512];
	struct utsname name;
	struct sonde_roof_caches caches;
	read_cpu(roof, root);
	snprintf(roof->machine, sizeof roof->machine, "%.31s", uname(&name) ? "" : name.machine);
	sonde_file_read(text, sizeof text, "%s/sys/devices/system/cpu/online", root);
	roof->cpus = count_list(text);
	if (!roof->cpus && !*root)
		roof->cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	roof->memory_gib = ((read_kib(root, "MemTotal") << 10) + GIB - 1) / GIB;
	sonde_roof_caches(&caches, root, 0);
	snprintf(roof->caches, sizeof roof->caches, "%" PRIu64 "K %" PRIu64 "K %" PRIu64 "K", caches.size_b[0] >> 10,
		 caches.size_b[1] >> 10, caches.size_b[2] >> 10);
	snprintf(text, sizeof text, "%s|%s|%s|%" PRIu64 "|%" PRIu64, roof->cpu, roof->machine, roof->caches, roof->cpus,
		 roof->memory_gib);
	snprintf(roof->fingerprint, sizeof roof->fingerprint, "%016" PRIx64, sonde_hash_bytes(text, strlen(text)));
}
