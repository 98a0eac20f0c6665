/* test_flop_events.c: which counters of which processor count FLOP, how many FLOP a count stands for, and which
 * values are rejected. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "source/cpu/flop_events.h"

static char root[64];

static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0755);
		*at = '/';
	}
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
	(void)state;
	snprintf(root, sizeof root, "/tmp/sonde-flop-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command);
}

static void put_processor(const char *vendor, unsigned family, unsigned model)
{
	char text[256];
	snprintf(text, sizeof text,
		 "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nmodel name\t: A Processor\n",
		 vendor, family, model);
	put("/proc/cpuinfo", text);
	put("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
	put("/sys/bus/event_source/devices/cpu/type", "4\n");
}

static int find(struct sonde_flop_events *out, char *why, size_t why_b)
{
	memset(out, 0, sizeof *out);
	why[0] = '\0';
	return sonde_flop_events_find(out, root, why, why_b);
}

/* A layer of events that counts what a program with these instructions retires, as Intel's event does: eight kinds by
 * umask, and a multiply-add twice. */
struct retired {
	unsigned umask;
	uint64_t plain, fused;
};

static struct sonde_flop_reading intel_counts(uint64_t config, const struct retired *retired, size_t count)
{
	struct sonde_flop_reading reading = {.enabled_ns = 1000, .running_ns = 1000};
	assert_int_equal(config & 0xff, 0xc7);
	for (size_t i = 0; i < count; i++)
		if (config >> 8 & retired[i].umask)
			reading.count += retired[i].plain + 2 * retired[i].fused;
	return reading;
}

static double intel_sum(const struct sonde_flop_events *events, const struct retired *retired, size_t count)
{
	struct sonde_flop_reading readings[SONDE_FLOP_EVENTS_MAX];
	double share;
	for (size_t i = 0; i < events->count; i++)
		readings[i] = intel_counts(events->event[i].config, retired, count);
	double sum = sonde_flop_events_sum(events, readings, &share);
	assert_true(share >= 1);
	return sum;
}

static void intel_counts_by_width_and_precision(void **state)
{
	static const struct retired narrow[] = {{0x01, 5, 1},  {0x02, 7, 0},  {0x04, 11, 2},
						{0x08, 13, 0}, {0x10, 17, 3}, {0x20, 19, 4}};
	static const struct retired wide[] = {{0x40, 23, 5}, {0x80, 29, 6}};
	/* elements × (plain + 2 fused) */
	const double narrow_flop = 1 * 7 + 1 * 7 + 2 * 15 + 4 * 13 + 4 * 23 + 8 * 27, wide_flop = 8 * 33 + 16 * 41;
	struct sonde_flop_events events;
	char why[256];
	(void)state;
	put_processor("GenuineIntel", 6, 0x9e);
	assert_int_equal(find(&events, why, sizeof why), 0);
	assert_int_equal(events.count, 4);
	assert_true(intel_sum(&events, narrow, 6) == narrow_flop);
	put_processor("GenuineIntel", 6, 0x6a);
	assert_int_equal(find(&events, why, sizeof why), 0);
	assert_string_equal(events.name, "Intel Ice Lake");
	assert_int_equal(events.count, 5);
	assert_true(intel_sum(&events, narrow, 6) == narrow_flop);
	assert_true(intel_sum(&events, wide, 2) == wide_flop);
	unsigned all = 0; /* each bit once */
	for (size_t i = 0; i < events.count; i++) {
		assert_int_equal(all & events.event[i].config >> 8, 0);
		all |= (unsigned)(events.event[i].config >> 8);
	}
	assert_int_equal(all, 0xff);
}

static void amd_counts_flop_themselves(void **state)
{
	static const struct {
		unsigned family, model;
		uint64_t config;
	} expected[] = {
	    {23, 0x01, 0xff03}, {23, 0x31, 0xff03}, {25, 0x01, 0xff03}, {25, 0x11, 0x1f03},
	    {25, 0x21, 0xff03}, {25, 0x61, 0x1f03}, {25, 0xa0, 0x1f03}, {26, 0x02, 0x0f03},
	};
	(void)state;
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct sonde_flop_events events;
		char why[256];
		double share;
		put_processor("AuthenticAMD", expected[i].family, expected[i].model);
		assert_int_equal(find(&events, why, sizeof why), 0);
		assert_int_equal(events.count, 1);
		assert_int_equal(events.event[0].config, expected[i].config);
		struct sonde_flop_reading reading = {12345, 10, 10};
		assert_true(sonde_flop_events_sum(&events, &reading, &share) == 12345);
	}
}

static void what_cannot_be_counted_says_why(void **state)
{
	struct sonde_flop_events events;
	char why[256], path[128];
	(void)state;
	put_processor("AuthenticAMD", 23, 1);
	put("/proc/sys/kernel/osrelease", "5.4.0\n"); /* one counter of 4 bits a cycle */
	assert_int_equal(find(&events, why, sizeof why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "before 5.6"));
	put_processor("GenuineIntel", 6, 0x3c); /* Haswell has none */
	assert_int_equal(find(&events, why, sizeof why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "GenuineIntel, family 6, model 60"));
	put("/sys/bus/event_source/devices/cpu_core/type", "4\n");
	assert_int_equal(find(&events, why, sizeof why), -ENOENT);
	assert_non_null(strstr(why, "two kinds"));
	snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu_core/type", root);
	unlink(path);
	snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu/type", root);
	unlink(path);
	assert_int_equal(find(&events, why, sizeof why), -ENOENT);
	assert_non_null(strstr(why, "shows no counters here"));
	assert_int_equal(events.count, 0);
}

static void shared_counters_are_extrapolated_and_absent_ones_are_no_zero(void **state)
{
	struct sonde_flop_events events;
	char why[256];
	double share;
	(void)state;
	put_processor("GenuineIntel", 6, 0x9e);
	assert_int_equal(find(&events, why, sizeof why), 0);
	struct sonde_flop_reading readings[4] = {{100, 1000, 1000}, {50, 1000, 500}, {0, 1000, 1000}, {10, 1000, 250}};
	assert_true(sonde_flop_events_sum(&events, readings, &share) == 100 + 2 * 100 + 8 * 40);
	assert_true(share == 0.25);
	readings[3].running_ns = 0;
	assert_true(sonde_flop_events_sum(&events, readings, &share) < 0);
	readings[3].enabled_ns = 0; /* nothing ran */
	assert_true(sonde_flop_events_sum(&events, readings, &share) == 300);
}

/* Hypervisors show counters that stand still, or count only some. */
static void counters_that_miscount_are_not_believed(void **state)
{
	(void)state;
	assert_true(sonde_flop_events_believable(30000, 30000));
	assert_true(sonde_flop_events_believable(30200, 30000));
	assert_false(sonde_flop_events_believable(0, 30000));
	assert_false(sonde_flop_events_believable(20000, 30000));
	assert_false(sonde_flop_events_believable(-1, 30000));
	assert_false(sonde_flop_events_believable(30400, 30000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(intel_counts_by_width_and_precision, begin, end),
	    cmocka_unit_test_setup_teardown(amd_counts_flop_themselves, begin, end),
	    cmocka_unit_test_setup_teardown(what_cannot_be_counted_says_why, begin, end),
	    cmocka_unit_test_setup_teardown(shared_counters_are_extrapolated_and_absent_ones_are_no_zero, begin, end),
	    cmocka_unit_test(counters_that_miscount_are_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
