/* test_machine_devices.c: devices among the rows of the section machine, and their energy, agree with synthetic
 * recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/resource/stat_figures.h"
#include "energy_fixture.h"
#include "sections.h"

#define GB 1000000000ll
#define DEVICE "GPU 0 Test"

struct point {
	enum sonde_metric metric;
	const char *object;
	int64_t values[3]; /* at 0, 1 and 3 s; −1 = not read then */
};

static void write_points(struct recording *r, const struct point *points, size_t count)
{
	static const uint64_t times[] = {0, S, 3 * S};
	uint32_t ids[16];
	assert_true(count <= sizeof ids / sizeof *ids);
	for (size_t i = 0; i < count; i++)
		ids[i] = recording_series(r, points[i].metric, 0, 0, points[i].object);
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < count; i++)
			if (points[i].values[k] >= 0)
				recording_point(r, START + times[k], ids[i], points[i].values[k]);
}

/* Busy for half of the first second and all of the others; its clock at half, then at all; tensor cores for 0.6 of 3 s;
 * slow for 1.5 s, which was first seen at 1 s. */
static void write_device(void)
{
	static const struct point points[] = {
	    {SONDE_METRIC_DEVICE_UTILIZATION, DEVICE, {500, 500, 1000}},
	    {SONDE_METRIC_DEVICE_MEMORY_TOTAL, DEVICE, {100 * GB, 100 * GB, 100 * GB}},
	    {SONDE_METRIC_DEVICE_MEMORY_USED, DEVICE, {10 * GB, 10 * GB, 91 * GB}},
	    {SONDE_METRIC_DEVICE_CLOCK_SM, DEVICE, {1000 * 1000000ll, 1000 * 1000000ll, 2000 * 1000000ll}},
	    {SONDE_METRIC_DEVICE_CLOCK_SM_MOST, DEVICE, {2000 * 1000000ll, -1, -1}},
	    {SONDE_METRIC_DEVICE_POWER, DEVICE, {100000, 100000, 300000}},
	    {SONDE_METRIC_DEVICE_TENSOR_ACTIVE, DEVICE, {0, 0, 600000000}},
	    {SONDE_METRIC_DEVICE_SLOWED_HEAT, DEVICE, {-1, 0, 1500000000}},
	    {SONDE_METRIC_DEVICE_PCIE_RECEIVED, DEVICE, {0, 3 * GB, 3 * GB}},
	    {SONDE_METRIC_DEVICE_PCIE_SENT, DEVICE, {7, 7, 7}},
	    {SONDE_METRIC_DEVICE_MEMORY_TOTAL, "GPU 1", {100 * GB, -1, -1}},
	    {SONDE_METRIC_DEVICE_MEMORY_USED, "GPU 1", {90 * GB, 90 * GB, 90 * GB}},
	};
	struct recording r;
	simple_open(&r);
	r.chunk_rows = 1;
	write_points(&r, points, sizeof points / sizeof *points);
	recording_close(&r, START + 3 * S, 0);
}

static void rows_are_shares_of_what_can_be(void **state)
{
	(void)state;
	write_device();
	struct sections s = sections_of(path, "machine", NULL);
	const struct sonde_section *t = sections_get(&s, "machine");
	assert_near(sections_real(t, "what", "GPU busy", "mean"), (0.5 + 2 * 0.75) / 3, 1e-9);
	assert_near(sections_real(t, "what", "GPU busy", "max"), 1, 1e-9);
	assert_near(sections_real(t, "object", "GPU 1", "mean"), 0.9, 1e-9);
	assert_near(sections_real(t, "what", "GPU memory", "max"), 0.91, 1e-9);
	assert_near(sections_real(t, "what", "GPU clock", "mean"), (0.5 + 2 * 0.75) / 3, 1e-9);
	assert_near(sections_real(t, "what", "tensor cores", "mean"), 0.2, 1e-9);
	assert_near(sections_real(t, "what", "tensor cores", "max"), 0.3, 1e-9);
	assert_near(sections_real(t, "what", "throttled: heat", "mean"), 0.5, 1e-9);
	assert_null(sections_row(t, "what", "throttled: power"));
	assert_null(sections_row(t, "what", "SMs active"));
	/* a power without a limit is no share */
	const struct sonde_cell *power = sections_row(t, "what", "GPU power");
	assert_int_equal(sections_cell(t, power, "mean")->kind, SONDE_CELL_ABSENT);
	assert_string_equal(sections_cell(t, power, "whole")->text, "an unknown limit (mean 166.7 W)");
	assert_true(sections_noted(t->notes, DEVICE ": up to 91 % of its memory was used (91 of 100 GB)"));
	assert_false(sections_noted(t->notes, "GPU 1: up to")); /* 90 % is not above it */
	t = sections_get(&s, "machine-io");
	assert_near(sections_real(t, "name", DEVICE, "in_per_s_b"), 1e9, 1);
	assert_int_equal(sections_int(t, "name", DEVICE, "out_b"), 0);
	sections_free(&s);
}

static void a_part_is_of_that_part(void **state)
{
	(void)state;
	write_device();
	const struct sonde_pass_options options = {.selection.from_ns = START + S, .selection.to_ns = START + 4 * S};
	struct sections s = sections_of(path, "machine", &options);
	const struct sonde_section *t = sections_get(&s, "machine");
	assert_near(sections_real(t, "what", "GPU busy", "mean"), 0.75, 1e-9);
	assert_near(sections_real(t, "what", "tensor cores", "mean"), 0.3, 1e-9);
	assert_near(sections_real(t, "what", "throttled: heat", "mean"), 0.75, 1e-9);
	sections_free(&s);
}

/* A process that is read each 100 ms and busy for 40 % throughout; a device that is read twice as often. */
static void devices_are_in_no_round(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_info(&r, "host.cpus", "2");
	recording_info(&r, "option.interval_ns", "100000000");
	uint32_t user = recording_series(&r, SONDE_METRIC_CPU_USER, 1, 0, "");
	uint32_t power = recording_series(&r, SONDE_METRIC_DEVICE_POWER, 0, 0, DEVICE);
	for (uint64_t i = 0; i <= 10; i++) {
		recording_point(&r, START + i * 100 * MS, user, (int64_t)(i * 40 * MS));
		recording_point(&r, START + i * 100 * MS + 20 * MS, power, 5);
		recording_point(&r, START + i * 100 * MS + 70 * MS, power, 5);
	}
	recording_close(&r, START + 11 * 100 * MS, 0);
	struct sonde_series_sums sums;
	struct sonde_session *session;
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_series_sums_read(&sums, session, NULL), 0);
	assert_near(sums.cpu.max, 0.4, 1e-9);
	assert_near(sums.cpu.min, 0.4, 1e-9);
	sonde_series_sums_fini(&sums);
	sonde_session_close(session);
}

static void put_device(struct recording *r, const char *name, const double *joules, size_t count)
{
	put_each_second(r, recording_series(r, SONDE_METRIC_DEVICE_ENERGY, 0, 0, name), joules, count, 1e6);
}

/* Next to packages: in no sum. */
static void joules_of_devices_are_apart(void **state)
{
	(void)state;
	struct recording r;
	begin_known(&r);
	put_device(&r, DEVICE, (const double[]){0, 300, 600, 900, 1200}, 5);
	close_after(&r, 4 * S);
	struct sections s = sections_of(path, "energy", NULL);
	const struct sonde_section *t = sections_get(&s, "energy");
	assert_near(sections_real(t, "meter", "all packages", "energy_j"), 120, 1e-6);
	assert_near(sections_real(t, "meter", DEVICE " (not added)", "energy_j"), 1200, 1e-6);
	assert_near(sections_real(t, "meter", DEVICE " (not added)", "mean_w"), 300, 1e-6);
	assert_true(sections_noted(t->notes, "GPUs: by their drivers' counters"));
	sections_free(&s);
}

static void joules_of_devices_need_no_others(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	put_device(&r, DEVICE, (const double[]){0, 50, 100}, 3);
	close_after(&r, 2 * S);
	struct sections s = sections_of(path, "energy", NULL);
	const struct sonde_section *t = sections_get(&s, "energy");
	assert_near(sections_real(t, "meter", DEVICE " (not added)", "energy_j"), 100, 1e-6);
	assert_true(sections_noted(t->notes, "processors were not recorded"));
	assert_null(sections_find(&s, "energy_processes"));
	sections_free(&s);
}

/* For less than a second, there is no figure. */
static void joules_of_a_moment_are_none(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t energy = recording_series(&r, SONDE_METRIC_DEVICE_ENERGY, 0, 0, DEVICE);
	recording_point(&r, START, energy, 0);
	recording_point(&r, START + 999 * MS, energy, 1000000);
	close_after(&r, 2 * S);
	struct sections s = sections_of(path, "energy", NULL);
	const struct sonde_section *t = sections_get(&s, "energy");
	const struct sonde_cell *row = sections_row(t, "meter", DEVICE " (not added)");
	assert_int_equal(sections_cell(t, row, "energy_j")->kind, SONDE_CELL_ABSENT);
	assert_string_equal(sections_cell(t, row, "how")->text, "unavailable");
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_shares_of_what_can_be),   cmocka_unit_test(a_part_is_of_that_part),
	    cmocka_unit_test(devices_are_in_no_round),          cmocka_unit_test(joules_of_devices_are_apart),
	    cmocka_unit_test(joules_of_devices_need_no_others), cmocka_unit_test(joules_of_a_moment_are_none),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
