/* test_energy_parts.c: energy of functions and zones: shares of the processes' energy by sampled CPU time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "energy_fixture.h"
#include "sections.h"

/* 30 J for 3 s of CPU time that both processes had together: 10 J a second, of 100 ms or more in a function. */
static void functions_have_shares_by_cpu_time(void **state)
{
	(void)state;
	struct recording r;
	begin_known(&r);
	uint32_t outer = recording_call(&r, 0, 1, "outer", 3), inner = recording_call(&r, outer, 1, "inner", 7);
	uint32_t moment = recording_call(&r, outer, 1, "moment", 9);
	recording_sample(&r, (struct recording_sample){START + S, 1, outer, S / 2, 0});
	recording_sample(&r, (struct recording_sample){START + 2 * S, 1, inner, S, 0});
	recording_sample(&r, (struct recording_sample){START + 3 * S, 1, moment, S / 20, 0});
	close_after(&r, 4 * S);
	struct sections sections = sections_of(path, "energy-functions", NULL);
	const struct sonde_section *functions = sections_get(&sections, "energy-functions");
	assert_int_equal(functions->table.row_count, 2);
	assert_near(sections_real(functions, "function", "inner", "self_j"), 10, UJ);
	assert_near(sections_real(functions, "function", "outer", "self_j"), 5, UJ);
	assert_near(sections_real(functions, "function", "outer", "total_j"), 15.5, UJ);
	assert_true(sections_noted(functions->notes, "estimated: 10 J"));
	assert_true(sections_noted(functions->notes, "1 function with less than 100 ms of CPU time is too short"));
	sections_free(&sections);
}

/* Two calls of "outer", 0.5 s to 3.5 s and 3.6 s to 3.7 s, and in the first "inner" from 1.5 s to 2.5 s, which calls
 * itself from 1.8 s to 2.2 s. Another thread is in "inner" while the first is. 10 J for a second of CPU time. */
static void write_zones(void)
{
	struct recording r;
	begin_known(&r);
	uint32_t outer = recording_site(&r, SONDE_SITE_ZONE, "outer", ""),
		 inner = recording_site(&r, SONDE_SITE_ZONE, "inner", ""),
		 moment = recording_site(&r, SONDE_SITE_ZONE, "moment", "");
	uint32_t other = recording_thread(&r, 1, 200, "other", START);
	const struct recording_mark marks[] = {
	    {outer, 500},   {inner, 1500}, {inner, 1800}, {0, 2200},     {0, 2500},
	    {moment, 2900}, {0, 3100},     {0, 3500},     {outer, 3600}, {0, 3700},
	};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		uint64_t time_ns = START + marks[i].time_ns * MS;
		if (marks[i].site)
			recording_begin(&r, 1, marks[i].site, time_ns);
		else
			recording_end(&r, 1, time_ns);
	}
	recording_begin(&r, other, inner, START + 1500 * MS);
	recording_end(&r, other, START + 2500 * MS);
	const struct recording_sample samples[] = {
	    {START + 400 * MS, 1, 0, 30 * MS, 0},                      /* before all */
	    {START + 1000 * MS, 1, 0, 500 * MS, 0},                    /* outer */
	    {START + 1700 * MS, 1, 0, 300 * MS, 0},                    /* inner */
	    {START + 2000 * MS, 1, 0, 200 * MS, SONDE_SAMPLE_KERNEL},  /* inner in inner: no stack, but a time */
	    {START + 2000 * MS, other, 0, 100 * MS, 0},                /* inner, of the other thread */
	    {START + 2500 * MS, 1, 0, 40 * MS, 0},                     /* inner is over: outer */
	    {START + 3000 * MS, 1, 0, 60 * MS, 0},                     /* a time */
	    {START + 3650 * MS, 1, 0, 10 * MS, 0},                     /* outer, the second call */
	    {START + 3900 * MS, 1, 0, 70 * MS, 0},                     /* after all */
	    {START + 2000 * MS, 1, 0, 250 * MS, SONDE_STACK_MEASURED}, /* some time before */
	};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		recording_sample(&r, samples[i]);
	close_after(&r, 4 * S);
}

static void zones_have_shares_by_cpu_time_sampled_in_them(void **state)
{
	(void)state;
	write_zones();
	struct sections sections = sections_of(path, "energy-zones", NULL);
	const struct sonde_section *zones = sections_get(&sections, "energy-zones");
	assert_int_equal(zones->table.row_count, 2);
	assert_near(sections_real(zones, "zone", "inner", "self_j"), 6, UJ);
	assert_near(sections_real(zones, "zone", "inner", "total_j"), 6, UJ); /* once, though it calls itself */
	assert_near(sections_real(zones, "zone", "inner", "total_per_call_j"), 2, UJ);
	assert_int_equal(sections_int(zones, "zone", "inner", "calls"), 3);
	assert_near(sections_real(zones, "zone", "inner", "self_low_j"), 6, UJ);
	assert_near(sections_real(zones, "zone", "inner", "self_high_j"), 8.5, UJ); /* including what has no time */
	assert_near(sections_real(zones, "zone", "outer", "self_j"), 5.5, UJ);
	assert_near(sections_real(zones, "zone", "outer", "total_j"), 11.1, UJ);
	assert_near(sections_real(zones, "zone", "outer", "total_per_call_j"), 5.55, UJ);
	assert_int_equal(sections_int(zones, "zone", "outer", "total_cpu_ns"), 1110 * MS);
	assert_int_equal(zones->table.columns[0].basis, SONDE_BASIS_ESTIMATED);
	assert_true(sections_noted(zones->notes, "estimated: 10 J per second of CPU time"));
	assert_true(sections_noted(zones->notes, "1 zone with less than 100 ms of CPU time is too short"));
	assert_true(sections_noted(zones->notes, "1.210 s of 1.310 s of sampled CPU time was in zones"));
	assert_true(sections_noted(zones->notes, "0.250 s more of unsampled CPU time are in no zone"));
	sections_free(&sections);
}

static void zones_of_a_part_have_what_lies_in_it(void **state)
{
	struct sonde_pass_options options = {.selection.from_ns = START + 1 * S, .selection.to_ns = START + 2 * S};
	const uint8_t second[] = {0, 0, 1};
	(void)state;
	write_zones();
	struct sections sections = sections_of(path, "energy-zones", &options);
	const struct sonde_section *zones = sections_get(&sections, "energy-zones");
	assert_int_equal(sections_int(zones, "zone", "outer", "self_cpu_ns"), 500 * MS);
	assert_int_equal(sections_int(zones, "zone", "outer", "total_cpu_ns"), 800 * MS);
	assert_int_equal(sections_int(zones, "zone", "inner", "self_cpu_ns"), 300 * MS);
	assert_int_equal(sections_cell(zones, sections_row(zones, "zone", "outer"), "total_per_call_j")->kind,
			 SONDE_CELL_ABSENT);
	sections_free(&sections);
	sections = sections_of(path, "energy-zones", &(struct sonde_pass_options){.selection.thread = second});
	zones = sections_get(&sections, "energy-zones");
	assert_int_equal(zones->table.row_count, 1);
	assert_int_equal(sections_int(zones, "zone", "inner", "total_cpu_ns"), 100 * MS);
	sections_free(&sections);
}

/* Where idle power is anything from 0 W to all, a function or zone has from nothing to all that processes had. */
static void shares_by_cpu_time_have_the_range_of_processes(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	put_energy(&r, "package-0", (const double[]){0, 50, 100, 150}, 4);
	put_machine(&r, (const double[]){0, 2, 4, 6}, 4);
	put_cpu(&r, 1, (const double[]){0, 1, 2, 3}, 4);
	uint32_t work = recording_call(&r, 0, 1, "work", 3), site = recording_site(&r, SONDE_SITE_ZONE, "work", "");
	recording_begin(&r, 1, site, START);
	recording_sample(&r, (struct recording_sample){START + S, 1, work, 2 * S, 0});
	recording_end(&r, 1, START + 3 * S);
	close_after(&r, 3 * S);
	struct sections sections = sections_of(path, "energy-functions energy-zones", NULL);
	const struct sonde_section *functions = sections_get(&sections, "energy-functions"),
				   *zones = sections_get(&sections, "energy-zones");
	assert_near(sections_real(functions, "function", "work", "self_low_j"), 0, UJ);
	assert_near(sections_real(functions, "function", "work", "self_j"), 25, UJ);
	assert_near(sections_real(functions, "function", "work", "self_high_j"), 50, UJ); /* 75 J for 3 s */
	assert_near(sections_real(zones, "zone", "work", "self_low_j"), 0, UJ);
	assert_near(sections_real(zones, "zone", "work", "self_j"), 25, UJ);
	assert_near(sections_real(zones, "zone", "work", "self_high_j"), 50, UJ);
	sections_free(&sections);
}

static void without_zones_or_energy_there_is_a_reason(void **state)
{
	struct sonde_pass_options requested = {.requested = 1};
	(void)state;
	struct recording r;
	begin_known(&r);
	close_after(&r, 4 * S);
	struct sections sections = sections_of(path, "energy-zones", &requested);
	assert_true(sections_noted(sections_get(&sections, "energy-zones")->notes, "not recorded: zones, counters"));
	sections_free(&sections);
	begin_known(&r);
	recording_source(&r, "zones", SONDE_SOURCE_ON, "rings", "", 0);
	close_after(&r, 4 * S);
	sections = sections_of(path, "energy-zones", &requested);
	assert_true(
	    sections_noted(sections_get(&sections, "energy-zones")->notes, "no zones: mark them with SONDE_ZONE()"));
	sections_free(&sections);
	sections = sections_of(path, "energy-zones", NULL);
	assert_null(sections_find(&sections, "energy-zones"));
	sections_free(&sections);
}

static void shares_of_a_model_are_called_modelled(void **state)
{
	static const char *const ids[] = {"energy-functions", "energy-zones"}, *const keys[] = {"function", "zone"};
	(void)state;
	write_modelled();
	struct sections sections = sections_of(path, "energy-functions energy-zones", NULL);
	for (size_t i = 0; i < 2; i++) {
		const struct sonde_section *section = sections_get(&sections, ids[i]);
		assert_near(sections_real(section, keys[i], "work", "self_j"), 2, UJ); /* 4 W */
		assert_near(sections_real(section, keys[i], "work", "self_low_j"), 1.75, UJ);
		assert_near(sections_real(section, keys[i], "work", "self_high_j"), 3, UJ);
		for (size_t c = 0; c < section->table.column_count; c++)
			if (section->table.columns[c].unit == SONDE_UNIT_JOULES)
				assert_int_equal(section->table.columns[c].basis, SONDE_BASIS_MODELLED);
		assert_true(sections_noted(section->notes, "modelled, not measured: 4 J"));
	}
	sections_free(&sections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_have_shares_by_cpu_time),
	    cmocka_unit_test(zones_have_shares_by_cpu_time_sampled_in_them),
	    cmocka_unit_test(zones_of_a_part_have_what_lies_in_it),
	    cmocka_unit_test(shares_by_cpu_time_have_the_range_of_processes),
	    cmocka_unit_test(without_zones_or_energy_there_is_a_reason),
	    cmocka_unit_test(shares_of_a_model_are_called_modelled),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
