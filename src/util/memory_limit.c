/* memory_limit.c: sets RLIMIT_DATA relative to the current use in /proc/self/statm (memory_limit.h). Rejected:
 * accounting per table, because a table is easily forgotten; RLIMIT_AS, which counts mapped libraries and reserved
 * addresses. */
#include "util/memory_limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/error.h"

/* Private writable memory and stacks; 0 = unknown. */
static uint64_t used_b(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int sonde_memory_limit_set(uint64_t size_b)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_DATA, &limit))
		return sonde_error(errno, "memory limit: %s", strerror(errno));
	uint64_t most_b = used_b() + size_b;
	if (most_b < size_b || most_b >= limit.rlim_cur) /* RLIM_INFINITY is the largest number */
		return 0;
	limit.rlim_cur = most_b;
	if (setrlimit(RLIMIT_DATA, &limit))
		return sonde_error(errno, "memory limit: %s", strerror(errno));
	return 0;
}

const char *sonde_memory_limit_text(uint64_t size_b, char out[24])
{
	uint64_t unit_b = size_b % (UINT64_C(1) << 30) ? UINT64_C(1) << 20 : UINT64_C(1) << 30;
	uint64_t count = size_b / unit_b + (size_b % unit_b != 0);
	snprintf(out, 24, "%llu%c", (unsigned long long)count, unit_b >> 30 ? 'G' : 'M');
	return out;
}
