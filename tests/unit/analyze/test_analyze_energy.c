/* test_analyze_energy.c: energy and its shares, on recordings whose answers are computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/resource/carbon.h"
#include "energy_fixture.h"
#include "sections.h"

static void write_known(void)
{
	struct recording r;
	begin_known(&r);
	close_after(&r, 4 * S);
}

static double of(const struct sonde_section *section, const char *meter, const char *column)
{
	return sections_real(section, "meter", meter, column);
}

static double of_process(const struct sonde_section *section, const char *name, const char *column)
{
	return sections_real(section, "process", name, column);
}

static const char *text_of(const struct sonde_section *section, const char *key, const char *what, const char *column)
{
	return sections_cell(section, sections_row(section, key, what), column)->text;
}

static void joules_by_meter(void **state)
{
	(void)state;
	write_known();
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_near(of(energy, "package-0", "energy_j"), 80, UJ);
	assert_near(of(energy, "package-1", "energy_j"), 40, UJ);
	assert_near(of(energy, "all packages", "energy_j"), 120, UJ); /* without the memory's 4 J */
	assert_near(of(energy, "all packages", "mean_w"), 30, UJ);
	assert_near(of(energy, "dram-0 (not added)", "energy_j"), 4, UJ);
	assert_string_equal(text_of(energy, "meter", "package-0", "how"), "measured");
	for (size_t i = 0; i < energy->table.row_count; i++) /* estimates are elsewhere */
		assert_string_equal(
		    sections_cell(energy, &energy->table.cells[i * energy->table.column_count], "how")->text,
		    "measured");
	assert_int_equal(sections_int(energy, "meter", "package-0", "longest_ns"), S);
	assert_int_equal(sections_int(energy, "meter", "package-0", "readings"), 5);
	assert_true(sections_noted(energy->notes, "dram is not added"));
	assert_true(sections_noted(energy->notes, "GPUs: unavailable"));
	sections_free(&sections);
}

static void shares_and_idling_make_up_the_whole(void **state)
{
	(void)state;
	write_known();
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_near(of_process(shares, "prog", "energy_j"), 17.5, UJ);
	assert_near(of_process(shares, "second", "energy_j"), 12.5, UJ);
	assert_near(of_process(shares, "all else", "energy_j"), 10, UJ);
	assert_near(of_process(shares, "idle", "energy_j"), 80, UJ);
	assert_int_equal(sections_int(shares, "process", "prog", "cpu_ns"), 1750000000);
	assert_near(of_process(shares, "prog", "share"), 17.5 / 120, 1e-9);
	assert_string_equal(text_of(shares, "process", "prog", "how"), "estimated");
	assert_string_equal(text_of(shares, "process", "idle", "how"), "estimated");
	double sum = 0;
	for (size_t i = 0; i < shares->table.row_count; i++)
		sum += sections_cell(shares, &shares->table.cells[i * shares->table.column_count], "energy_j")->real;
	assert_near(sum, 120, UJ);
	sections_free(&sections);
}

/* The second half: 40 J and 30 J. The second with the lowest power, 20 J, lies outside: the range of idle power is
 * wider. */
static void a_part_is_of_that_part(void **state)
{
	struct sonde_pass_options options = {.selection.from_ns = START + 2 * S, .selection.to_ns = START + 4 * S};
	(void)state;
	write_known();
	struct sections sections = sections_of(path, "energy", &options);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_near(of(energy, "all packages", "energy_j"), 70, UJ);
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_near(of_process(shares, "idle", "energy_low_j"), 40, UJ);  /* 30 − 0.5 × (35 − 30) / 0.25 W */
	assert_near(of_process(shares, "idle", "energy_high_j"), 60, UJ); /* the lowest second's 30 W */
	assert_near(of_process(shares, "idle", "energy_j"), 50, UJ);
	assert_near(of_process(shares, "prog", "energy_high_j"), 10, UJ); /* half of 40 − 20 */
	assert_near(of_process(shares, "prog", "energy_low_j"), 5, UJ);
	assert_near(of_process(shares, "second", "energy_j"), 3.75 + 2.5, UJ);
	sections_free(&sections);
}

/* If a machine is busy all the time, its idle power is unknown: anything from nothing to all of its power. */
static void idle_power_of_a_busy_machine_is_not_known(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	put_energy(&r, "package-0", (const double[]){0, 50, 100, 150}, 4);
	put_machine(&r, (const double[]){0, 2, 4, 6}, 4);
	put_cpu(&r, 1, (const double[]){0, 1, 2, 3}, 4);
	close_after(&r, 3 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_near(of_process(shares, "idle", "energy_low_j"), 0, UJ);
	assert_near(of_process(shares, "idle", "energy_high_j"), 150, UJ);
	assert_near(of_process(shares, "prog", "energy_high_j"), 75, UJ);
	assert_null(sections_row(energy, "meter", "all packages")); /* one is all */
	sections_free(&sections);
}

/* A machine that idled throughout: the little work that it did cannot have drawn more than the maximum of a package. */
static void idle_power_of_an_idle_machine_is_known_nearly(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	put_energy(&r, "package-0", (const double[]){0, 50, 100, 150}, 4);
	put_machine(&r, (const double[]){0, 0.01, 0.02, 0.03}, 4);
	close_after(&r, 3 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_near(of_process(shares, "idle", "energy_low_j"), 135, UJ); /* 50 W − 0.005 × 1000 W */
	assert_true(sections_noted(shares->notes, "idling took at least 90 % of the energy"));
	sections_free(&sections);
}

/* If a counter could not be followed, nothing is counted, and the gap is not a time without power. */
static void a_gap_is_no_idling(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	put_energy(&r, "package-0", (const double[]){0, 30, 60}, 3);
	put_machine(&r, (const double[]){0, 1, 2, 3, 4, 5}, 6);
	uint32_t anew = recording_series(&r, SONDE_METRIC_ENERGY, 0, 0, "package-0");
	for (uint64_t i = 0; i < 2; i++)
		recording_point(&r, START + (4 + i) * S, anew, (int64_t)i * 30000000);
	recording_lost(&r, "energy", "package-0: its counter may have wrapped more than once", 1);
	close_after(&r, 5 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_near(of(energy, "package-0", "energy_j"), 90, UJ);
	assert_int_equal(sections_int(energy, "meter", "package-0", "covered_ns"), 3 * S);
	assert_near(of(energy, "package-0", "mean_w"), 30, UJ);
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_near(of_process(shares, "idle", "energy_high_j"), 90, UJ); /* 30 W over 3 s, not 0 */
	assert_true(sections_noted(energy->notes, "may have wrapped more than once"));
	sections_free(&sections);
}

static void a_short_process_has_no_figure_of_its_own(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	recording_process(&r, 102, 1, "blink", START);
	put_energy(&r, "package-0", (const double[]){0, 20, 60}, 3);
	put_machine(&r, (const double[]){0, 0, 2}, 3);
	put_cpu(&r, 1, (const double[]){0, 0, 1}, 3);
	put_cpu(&r, 2, (const double[]){0, 0, 0.05}, 3);
	close_after(&r, 2 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_null(sections_row(shares, "process", "blink"));
	assert_near(of_process(shares, "all else", "energy_j"), 10, UJ);
	assert_near(of_process(shares, "prog", "energy_j"), 10, UJ);
	assert_true(sections_noted(shares->notes, "1 process was too short to measure"));
	sections_free(&sections);
}

static void a_short_run_has_no_figure(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	uint32_t series = recording_series(&r, SONDE_METRIC_ENERGY, 0, 0, "package-0");
	recording_point(&r, START, series, 0);
	recording_point(&r, START + 900 * MS, series, 27000000);
	close_after(&r, 900 * MS);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_int_equal(energy->table.row_count, 0);
	assert_true(sections_noted(energy->notes, "too short to measure"));
	assert_null(sections_find(&sections, "energy_processes"));
	sections_free(&sections);
}

static void a_counter_that_stands_still_is_no_measurement(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	put_energy(&r, "package-0", (const double[]){7, 7, 7}, 3);
	close_after(&r, 2 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_int_equal(energy->table.row_count, 0);
	assert_true(sections_noted(energy->notes, "do not advance"));
	sections_free(&sections);
}

static void without_the_machines_clock_there_are_no_shares(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	put_energy(&r, "package-0", (const double[]){0, 20, 60}, 3);
	close_after(&r, 2 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_near(of(energy, "package-0", "energy_j"), 60, UJ);
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_true(sections_noted(shares->notes, "no shares of processes"));
	assert_null(sections_row(shares, "process", "prog"));
	assert_near(of_process(shares, "idle", "energy_high_j"), 40, UJ); /* 20 W, the lowest second's */
	assert_near(of_process(shares, "work of unknown processes", "energy_j"), 40, UJ);
	sections_free(&sections);
}

/* --- the model --------------------------------------------------------------------------------------------------- */

static void a_model_is_called_one(void **state)
{
	(void)state;
	write_modelled();
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	/* idle 2 CPUs × 1 W × 2 s; work (0.5 + 1) s × 4 W */
	assert_near(of_process(sections_get(&sections, "energy_processes"), "idle", "energy_j"), 4, UJ);
	assert_near(of(energy, "a model of the server", "energy_j"), 10, UJ);
	assert_near(of(energy, "a model of the server", "energy_low_j"), 2 + 1.5 * 3.5, UJ);
	assert_near(of(energy, "a model of the server", "energy_high_j"), 8 + 1.5 * 6, UJ);
	assert_string_equal(text_of(energy, "meter", "a model of the server", "how"), "modelled");
	for (size_t i = 0; i < energy->table.column_count; i++)
		if (energy->table.columns[i].unit == SONDE_UNIT_JOULES ||
		    energy->table.columns[i].unit == SONDE_UNIT_GRAMS)
			assert_int_equal(energy->table.columns[i].basis, SONDE_BASIS_MODELLED);
	assert_true(sections_noted(energy->notes, "modelled, not measured: the processor shows no energy counter"));
	assert_true(sections_noted(energy->notes, "of this virtual machine only"));
	const struct sonde_section *shares = sections_get(&sections, "energy_processes");
	assert_near(of_process(shares, "prog", "energy_j"), 2 + 2, UJ);
	assert_string_equal(text_of(shares, "process", "prog", "how"), "modelled");
	assert_near(of_process(shares, "all else", "energy_j"), 2, UJ);
	sections_free(&sections);
}

static void a_model_needs_utilisation(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_info(&r, "energy.model", "Some Processor");
	recording_info(&r, "energy.model_cpus", "2");
	recording_info(&r, "energy.model_idle_mw", "500 1000 2000");
	recording_info(&r, "energy.model_full_mw", "4000 5000 8000");
	close_after(&r, 2 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	assert_int_equal(energy->table.row_count, 0);
	assert_true(sections_noted(energy->notes, "needs the system's CPU time"));
	sections_free(&sections);
}

/* --- carbon ------------------------------------------------------------------------------------------------------ */

static void grams_need_an_intensity(void **state)
{
	struct sonde_pass_options given = {.carbon_intensity = "300"}, country = {.country = "fr"};
	(void)state;
	write_known();
	struct sections sections = sections_of(path, "energy", NULL);
	const struct sonde_section *energy = sections_get(&sections, "energy");
	const struct sonde_cell *row = sections_row(energy, "meter", "all packages");
	assert_int_equal(sections_cell(energy, row, "gco2e_g")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(energy->notes, "grams of CO2e need --country CODE"));
	sections_free(&sections);
	sections = sections_of(path, "energy", &given);
	energy = sections_get(&sections, "energy");
	assert_near(of(energy, "all packages", "gco2e_g"), 0.01, 1e-12); /* 120 J = 1/30000 kWh */
	sections_free(&sections);
	sections = sections_of(path, "energy", &country);
	energy = sections_get(&sections, "energy");
	assert_near(of(energy, "all packages", "gco2e_g"), sonde_carbon_find("FRA")->g_kwh / 30000, 1e-12);
	assert_true(sections_noted(energy->notes, "France, average of 20"));
	sections_free(&sections);
}

static void what_the_report_asks_goes_first(void **state)
{
	struct sonde_pass_options options = {.country = "SE"};
	struct recording r;
	(void)state;
	simple_open(&r);
	r.chunk_rows = 1;
	recording_info(&r, "option.carbon_intensity", "100");
	put_energy(&r, "package-0", (const double[]){0, 1800, 3600}, 3);
	close_after(&r, 2 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	assert_near(of(sections_get(&sections, "energy"), "package-0", "gco2e_g"), 0.1, 1e-12);
	sections_free(&sections);
	sections = sections_of(path, "energy", &options);
	assert_near(of(sections_get(&sections, "energy"), "package-0", "gco2e_g"),
		    sonde_carbon_find("SE")->g_kwh / 1000, 1e-12);
	sections_free(&sections);
}

static void the_table_of_countries_is_in_order(void **state)
{
	const struct sonde_carbon_row *least, *most;
	double g_kwh = -1;
	(void)state;
	sonde_carbon_extremes(&least, &most);
	assert_true(least->g_kwh >= 1 && most->g_kwh <= 1500 && least->g_kwh < most->g_kwh);
	assert_ptr_equal(sonde_carbon_find("de"), sonde_carbon_find("DEU"));
	assert_null(sonde_carbon_find("XX"));
	assert_int_equal(sonde_carbon_check("WORLD"), 0);
	assert_true(sonde_carbon_check("Germany") < 0);
	assert_int_equal(sonde_carbon_parse("0.5", &g_kwh), 0);
	assert_true(g_kwh == 0.5);
	static const char *const wrong[] = {"", "-1", "nan", "56g", "1e9", "much"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_true(sonde_carbon_parse(wrong[i], &g_kwh) < 0);
}

static void nothing_was_requested_for(void **state)
{
	struct sonde_pass_options options = {.requested = 1};
	struct recording r;
	(void)state;
	simple_open(&r);
	close_after(&r, 2 * S);
	struct sections sections = sections_of(path, "energy", NULL);
	assert_null(sections_find(&sections, "energy"));
	sections_free(&sections);
	sections = sections_of(path, "energy", &options);
	assert_true(
	    sections_noted(sections_get(&sections, "energy")->notes, "not recorded: energy (record with --energy)"));
	const struct sonde_action *advised = &sections_get(&sections, "energy")->notes->action;
	assert_int_equal(advised->kind, SONDE_ACTION_RECORD);
	assert_string_equal(advised->text, "--energy");
	sections_free(&sections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(joules_by_meter),
	    cmocka_unit_test(shares_and_idling_make_up_the_whole),
	    cmocka_unit_test(a_part_is_of_that_part),
	    cmocka_unit_test(idle_power_of_a_busy_machine_is_not_known),
	    cmocka_unit_test(idle_power_of_an_idle_machine_is_known_nearly),
	    cmocka_unit_test(a_gap_is_no_idling),
	    cmocka_unit_test(a_short_process_has_no_figure_of_its_own),
	    cmocka_unit_test(a_short_run_has_no_figure),
	    cmocka_unit_test(a_counter_that_stands_still_is_no_measurement),
	    cmocka_unit_test(without_the_machines_clock_there_are_no_shares),
	    cmocka_unit_test(a_model_is_called_one),
	    cmocka_unit_test(a_model_needs_utilisation),
	    cmocka_unit_test(grams_need_an_intensity),
	    cmocka_unit_test(what_the_report_asks_goes_first),
	    cmocka_unit_test(the_table_of_countries_is_in_order),
	    cmocka_unit_test(nothing_was_requested_for),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
