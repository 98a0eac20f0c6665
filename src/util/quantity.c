/* quantity.c: parses a number followed by a unit from a table. */
#include "util/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

struct unit {
	const char *name;
	double factor;
};

static const struct unit durations[] = {
    {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0},
};

static const struct unit sizes[] = {
    {"", 1},         {"B", 1},         {"K", 1024},       {"KB", 1024},       {"KiB", 1024},       {"M", 1048576},
    {"MB", 1048576}, {"MiB", 1048576}, {"G", 1073741824}, {"GB", 1073741824}, {"GiB", 1073741824}, {NULL, 0},
};

static int parse(uint64_t *out, const char *text, const struct unit *units)
{
	char *end;
	double number = strtod(text, &end);
	if (end == text || !isfinite(number) || number < 0)
		return -EINVAL;
	while (units->name && strcasecmp(units->name, end) != 0)
		units++;
	if (!units->name || number * units->factor >= 9.2e18)
		return -EINVAL;
	*out = (uint64_t)(number * units->factor + 0.5);
	return 0;
}

int sonde_quantity_duration(uint64_t *out_ns, const char *text)
{
	if (parse(out_ns, text, durations))
		return sonde_error(EINVAL, "'%s' is not a duration: use 10s, 250ms, 2m", text);
	return 0;
}

int sonde_quantity_bytes(uint64_t *out_b, const char *text)
{
	if (parse(out_b, text, sizes))
		return sonde_error(EINVAL, "'%s' is not a size: use 4096, 64K, 16M, 1G", text);
	return 0;
}

int sonde_quantity_integer(uint64_t *out, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max)
		return sonde_error(EINVAL, "'%s' is not a whole number from %" PRIu64 " to %" PRIu64, text, min, max);
	*out = value;
	return 0;
}

int sonde_quantity_share(double *out, const char *text)
{
	char *end;
	double share = strtod(text, &end);
	int is_number = end != text;
	end += strspn(end, " ");
	if (*end == '%') {
		share /= 100;
		end++;
	}
	if (!is_number || *end || !(share >= 0 && share < 1))
		return sonde_error(EINVAL, "'%s': use a share below 100 %%, like 1%% or 0.01", text);
	*out = share;
	return 0;
}
