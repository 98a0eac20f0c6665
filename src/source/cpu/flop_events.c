/* flop_events.c: finds the row of cpu/flop_events.def for the processor, and the events of its kind.
 *
 * Intel's event counts instructions by width and precision: each of the eight umask bits selects one combination, and a
 * fused multiply-add counts twice. Combinations with the same number of FLOP per count share one event, so five
 * counters suffice (four without 512-bit vectors). AMD's event counts FLOP, a multiply-add as two. It can increase by
 * more than 15 per cycle, more than one counter can count; since 5.6, Linux merges two counters for it, and older
 * kernels give too low a figure.
 */
#include "source/cpu/flop_events.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "source/resource/processor.h"
#include "util/file.h"

#define PMU "/sys/bus/event_source/devices"
#define NEAR 0.01

enum kind { INTEL_256, INTEL_512, AMD_ALL, AMD_ZEN4, AMD_ZEN5 };

/* Bits of Intel's umask: 0 scalar double, 1 scalar single, 2 and 3 128-bit double and single, 4 and 5 256-bit, 6 and 7
 * 512-bit. */
static const struct sonde_flop_events kinds[] = {
    [INTEL_256] = {.event = {{0x03c7, 1}, {0x04c7, 2}, {0x18c7, 4}, {0x20c7, 8}}, .count = 4},
    [INTEL_512] = {.event = {{0x03c7, 1}, {0x04c7, 2}, {0x18c7, 4}, {0x60c7, 8}, {0x80c7, 16}}, .count = 5},
    [AMD_ALL] = {.event = {{0xff03, 1}}, .count = 1},
    [AMD_ZEN4] = {.event = {{0x1f03, 1}}, .count = 1},
    [AMD_ZEN5] = {.event = {{0x0f03, 1}}, .count = 1}, /* the upper half of its umask selects a precision: 0 = all */
};

static const struct {
	const char *name, *vendor;
	unsigned family, model_from, model_to;
	enum kind kind;
} rows[] = {
#define SONDE_FLOP_EVENTS(name, vendor, family, from, to, kind) {name, vendor, family, from, to, kind},
#include "source/cpu/flop_events.def"
#undef SONDE_FLOP_EVENTS
};

static int has_pmu(const char *root, const char *name)
{
	char text[32];
	return sonde_file_read(text, sizeof text, "%s" PMU "/%s/type", root, name) != 0;
}

static int is_kernel_before(const char *root, unsigned major, unsigned minor)
{
	char text[128];
	unsigned at[2] = {0};
	if (!sonde_file_read(text, sizeof text, "%s/proc/sys/kernel/osrelease", root) ||
	    sscanf(text, "%u.%u", &at[0], &at[1]) != 2)
		return 0;
	return at[0] < major || (at[0] == major && at[1] < minor);
}

int sonde_flop_events_find(struct sonde_flop_events *out, const char *root, char *why, size_t why_b)
{
	struct sonde_processor processor;
	if (has_pmu(root, "cpu_core")) {
		snprintf(why, why_b, "the processor has two kinds of cores, of which only one counts FLOP");
		return -ENOENT;
	}
	if (!has_pmu(root, "cpu")) {
		snprintf(why, why_b,
			 "the processor shows no counters here (" PMU
			 "/cpu), as in most virtual machines; the host can pass them through");
		return -ENOENT;
	}
	sonde_processor_read(&processor, root);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].vendor, processor.vendor) != 0 || rows[i].family != processor.family ||
		    processor.model < rows[i].model_from || processor.model > rows[i].model_to)
			continue;
		if (rows[i].kind >= AMD_ALL && is_kernel_before(root, 5, 6)) {
			snprintf(why, why_b, "Linux before 5.6 misreads this processor's FLOP counter");
			return -EOPNOTSUPP;
		}
		*out = kinds[rows[i].kind];
		out->name = rows[i].name;
		return 0;
	}
	snprintf(why, why_b, "this processor's FLOP counters are unknown (%s, family %u, model %u)",
		 *processor.vendor ? processor.vendor : "vendor not reported", processor.family, processor.model);
	return -EOPNOTSUPP;
}

double sonde_flop_events_sum(const struct sonde_flop_events *events, const struct sonde_flop_reading *readings,
			     double *least_share)
{
	double sum = 0;
	*least_share = 1;
	for (size_t i = 0; i < events->count; i++) {
		const struct sonde_flop_reading *reading = &readings[i];
		if (!reading->enabled_ns) /* nothing ran */
			continue;
		if (!reading->running_ns)
			return -1;
		double share = (double)reading->running_ns / (double)reading->enabled_ns;
		share = share < 1 ? share : 1;
		*least_share = share < *least_share ? share : *least_share;
		sum += events->event[i].flop * (double)reading->count / share;
	}
	return sum;
}

int sonde_flop_events_believable(double counted, double known)
{
	return fabs(counted - known) <= NEAR * known;
}
