/* test_device_roofs.c: theoretical ceilings are those that makers publish for the same units and clocks. */
#include "device_fixture.h"
#include "analyze/device_roofs.h"
#include "sonde/device.h"

/* TFLOP/s by hand: units × lanes × 2 × clock; 0 = not known. Beside it what the data sheet has. */
static const struct {
	struct sonde_device device;
	double fp32, fp64, tensor;
} known[] = {
    /* P100 SXM2: 56 × 64 × 2 × 1.48: 10.6, 5.3 */
    {{.units = 56, .clock_mhz = 1480, .capability = 60}, 10.60864, 5.30432, 0},
    /* V100 SXM2: 80 × 64 × 2 × 1.53: 15.7, 7.8, 125 */
    {{.units = 80, .clock_mhz = 1530, .capability = 70}, 15.6672, 7.8336, 125.3376},
    /* T4: 40 × 64 × 2 × 1.59: 8.1 */
    {{.units = 40, .clock_mhz = 1590, .capability = 75}, 8.1408, 0.2544, 0},
    /* A100 SXM4: 108 × 64 × 2 × 1.41: 19.5, 9.7, 312 */
    {{.units = 108, .clock_mhz = 1410, .capability = 80}, 19.49184, 9.74592, 311.86944},
    /* RTX 4090: 128 × 128 × 2 × 2.52: 82.6, 1.29 */
    {{.units = 128, .clock_mhz = 2520, .capability = 89}, 82.57536, 1.29024, 0},
    /* H100 SXM5: 132 × 128 × 2 × 1.98: 67, 34; of tensor cores it has 989, at 1.83 GHz */
    {{.units = 132, .clock_mhz = 1980, .capability = 90}, 66.90816, 33.45408, 1070.53056},
};

static void ceilings_are_those_of_data_sheets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const double expected[SONDE_DEVICE_ROOFS] = {known[i].fp32, known[i].fp64, known[i].tensor};
		for (int roof = 0; roof < SONDE_DEVICE_ROOFS; roof++) {
			double flops = -1;
			const char *why =
			    sonde_device_roof_flops(&flops, NULL, &known[i].device, (enum sonde_device_roof)roof);
			assert_int_equal(why == NULL, expected[roof] > 0);
			assert_near(flops, expected[roof] > 0 ? expected[roof] * 1e12 : -1, 1e3);
		}
	}
}

static void what_is_not_known_is_absent_with_why(void **state)
{
	struct sonde_device device = {.units = 10, .clock_mhz = 1000};
	double flops = -1;
	(void)state;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_FP32), "nobody told"));
	device.capability = 999;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_FP32), "not known here"));
	device.capability = 61;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_TENSOR_FP16), "no tensor"));
	device.capability = 89;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_TENSOR_FP16), "the same"));
	device.clock_mhz = 0;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_FP32), "clock"));
	assert_near(flops, -1, 0);
}

/* A GPU with all of it, used by two processes; one of which nobody tells anything; a processor. */
static void the_section_has_each_device_once(void **state)
{
	const struct sonde_meta_device gpu = {.kind = SONDE_DEVICE_GPU,
					      .units = 132,
					      .clock_mhz = 1980,
					      .capability = 90,
					      .memory_b_per_s = 3352320000000};
	struct sonde_meta_device mine = gpu;
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_process(&r, 101, 1, "other", START);
	mine.uuid = recording_string(&r, "GPU-a");
	recording_device(&r, 1, "CUDA", "G1", mine);
	recording_device(&r, 2, "CUDA", "G1", mine);
	recording_device(&r, 1, "OpenCL", "G2", (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU, .units = 8});
	recording_device(&r, 1, "OpenCL", "cpu", (struct sonde_meta_device){.kind = SONDE_DEVICE_CPU});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "roofline", NULL);
	const struct sonde_section *roofs = sections_get(&s, "device-roofs");
	static const char *const ceilings[] = {"FP32", "FP64", "FP16, tensor cores", "memory"};
	static const double rates[] = {66908.16, 33454.08, 1070530.56, 3352.32};
	assert_int_equal(roofs->table.row_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(sonde_report_cell_text(roofs, i, "device"), "CUDA G1 0");
		assert_string_equal(sonde_report_cell_text(roofs, i, "ceiling"), ceilings[i]);
		assert_near(cell_real(roofs, i, "rate"), rates[i], 1e-6);
	}
	assert_near(cell_real(roofs, 0, "ridge_flop_per_byte"), 66908.16 / 3352.32, 1e-9);
	assert_string_equal(sonde_report_cell_text(roofs, 0, "formula"), "132 units × 128 × 2 × 1.98 GHz");
	assert_true(sections_noted(roofs->notes, "not measured"));
	assert_true(sections_noted(roofs->notes, "OpenCL G2 0: unavailable"));
	assert_true(sections_noted(roofs->notes, "OpenCL cpu 0 is the processor"));
	assert_true(sections_noted(roofs->notes, "no kernel is placed"));
	sections_free(&s);
}

static void without_devices_there_are_none(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "roofline", NULL);
	assert_null(sections_find(&s, "device-roofs"));
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ceilings_are_those_of_data_sheets),
	    cmocka_unit_test(what_is_not_known_is_absent_with_why),
	    cmocka_unit_test(the_section_has_each_device_once),
	    cmocka_unit_test(without_devices_there_are_none),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
