/* test_device_roofs.c: theoretical ceilings equal those that vendors publish for the same units and clocks. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "device_fixture.h"
#include "analyze/device/roofs.h"
#include "export/format.h"
#include "export/plot/roofline_svg.h"
#include "sonde/device.h"

/* Figures of data sheets in TFLOP/s, rounded as there; 0 = unknown. tensor_mhz: the clock of the data sheet's figure
 * for tensor cores, if that is not the highest clock. */
static const struct {
	struct sonde_device device;
	uint32_t tensor_mhz;
	double published[SONDE_DEVICE_ROOFS];
} known[] = {
    /* P100 SXM2 */
    {{.units = 56, .clock_mhz = 1480, .capability = 60}, 1480, {10.6, 5.3, 0}},
    /* V100 SXM2 */
    {{.units = 80, .clock_mhz = 1530, .capability = 70}, 1530, {15.7, 7.8, 125}},
    /* T4 */
    {{.units = 40, .clock_mhz = 1590, .capability = 75}, 1590, {8.1, 0.254, 0}},
    /* A100 SXM4 */
    {{.units = 108, .clock_mhz = 1410, .capability = 80}, 1410, {19.5, 9.7, 312}},
    /* RTX 4090 */
    {{.units = 128, .clock_mhz = 2520, .capability = 89}, 2520, {82.6, 1.29, 0}},
    /* H100 SXM5: of tensor cores 989.4, at 1.83 GHz */
    {{.units = 132, .clock_mhz = 1980, .capability = 90}, 1830, {67, 34, 989.4}},
};

static void ceilings_are_those_of_data_sheets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (int roof = 0; roof < SONDE_DEVICE_ROOFS; roof++) {
			struct sonde_device device = known[i].device;
			double flops = -1, published = known[i].published[roof] * 1e12, at_highest;
			if (roof == SONDE_DEVICE_TENSOR_FP16)
				device.clock_mhz = known[i].tensor_mhz;
			const char *why = sonde_device_roof_flops(&flops, NULL, &device, (enum sonde_device_roof)roof);
			assert_int_equal(why == NULL, published > 0);
			if (why) {
				assert_near(flops, -1, 0);
				continue;
			}
			assert_near(flops, published, 0.02 * published);
			/* The ceiling is that of the highest clock. */
			sonde_device_roof_flops(&at_highest, NULL, &known[i].device, (enum sonde_device_roof)roof);
			assert_near(at_highest, flops * known[i].device.clock_mhz / device.clock_mhz, 1e3);
		}
}

static void what_is_not_known_is_absent_with_why(void **state)
{
	struct sonde_device device = {.units = 10, .clock_mhz = 1000};
	double flops = -1;
	(void)state;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_FP32),
			       "no compute capability was reported"));
	device.capability = 999;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_FP32), "unknown here"));
	device.capability = 61;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_TENSOR_FP16), "no tensor"));
	device.capability = 89;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_TENSOR_FP16),
			       "the number of lanes differs between GPUs"));
	device.clock_mhz = 0;
	assert_non_null(strstr(sonde_device_roof_flops(&flops, NULL, &device, SONDE_DEVICE_FP32), "clock"));
	assert_near(flops, -1, 0);
}

/* A GPU with all figures, used by two processes; a GPU without any; a CPU. */
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
	/* At the highest clock; the data sheet has 989.4 TFLOP/s for tensor cores, at 1.83 GHz: see below. */
	assert_int_equal(roofs->table.row_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(sonde_report_cell_text(roofs, i, "device"), "CUDA G1 0");
		assert_string_equal(sonde_report_cell_text(roofs, i, "ceiling"), ceilings[i]);
		assert_near(cell_real(roofs, i, "rate"), rates[i], 1e-6);
	}
	assert_near(cell_real(roofs, 0, "ridge_flop_per_byte"), 66908.16 / 3352.32, 1e-9);
	assert_string_equal(sonde_report_cell_text(roofs, 0, "formula"), "132 units × 128 × 2 × 1.98 GHz");
	assert_true(sections_noted(roofs->notes, "theoretical, "));
	assert_true(sections_noted(roofs->notes, "theoretical, from the GPU's attributes at its highest clock"));
	assert_true(sections_noted(roofs->notes, "OpenCL G2 0: unavailable"));
	assert_true(sections_noted(roofs->notes, "OpenCL cpu 0 is the processor"));
	assert_true(sections_noted(roofs->notes, "kernels are not placed"));
	sections_free(&s);
}

/* --- the picture -------------------------------------------------------------------------------------------------- */

static char *picture_of(const struct sonde_report *report)
{
	static const struct sonde_format_options plain;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(sonde_format_roofline_svg.render(report, &plain, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

/* Where an axis has a number: `x` of what reads so. */
static double tick_at(const char *svg, const char *anchor, const char *number, const char *format)
{
	char wanted[64];
	double at = -1;
	snprintf(wanted, sizeof wanted, "text-anchor=\"%s\">%s</text>", anchor, number);
	const char *found = strstr(svg, wanted);
	assert_non_null(found);
	while (found > svg && strncmp(found, "<text", 5) != 0)
		found--;
	assert_int_equal(sscanf(found, format, &at), 1);
	return at;
}

static double on_axis(double low, double high, double powers, double at)
{
	return pow(10, powers * (at - low) / (high - low));
}

/* Lines meet at what is known of such a device: memory limits below 66908 ÷ 3352 = 19.96 FLOP/B. */
static void the_picture_has_a_panel_of_devices_that_are_alike(void **state)
{
	struct sonde_meta_device gpu = {.kind = SONDE_DEVICE_GPU,
					.units = 132,
					.clock_mhz = 1980,
					.capability = 90,
					.memory_b_per_s = 3352320000000};
	struct recording r;
	(void)state;
	simple_open(&r);
	for (gpu.index = 0; gpu.index < 3; gpu.index++)
		recording_device(&r, 1, "CUDA", "G1 <b>", gpu);
	recording_device(&r, 1, "CUDA", "old",
			 (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU, .memory_b_per_s = 320000000000});
	recording_device(&r, 1, "OpenCL", "G2", (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU, .units = 8});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "roofline", NULL);
	char *svg = picture_of(s.report);
	assert_int_equal(count_of(svg, "<g class=\"device\">"), 2);
	assert_non_null(strstr(svg, ">CUDA G1 &lt;b&gt; 0, 1, 2</text>"));
	assert_non_null(strstr(svg, ">CUDA old 0</text>"));
	assert_null(strstr(svg, "G2"));
	assert_int_equal(count_of(svg, "Theoretical ceilings"), 2);
	assert_int_equal(count_of(svg, "Kernels are not shown"), 2);
	assert_int_equal(count_of(svg, "<circle"), 0);
	assert_int_equal(count_of(svg, "class=\"cpu maker\""), 3); /* nothing solid: nothing is measured */
	assert_int_equal(count_of(svg, "class=\"mem maker\""), 2);
	assert_int_equal(count_of(svg, "class=\"cpu") - count_of(svg, "class=\"cpul\""), 3);
	assert_int_equal(count_of(svg, "66.91 TFLOP/s"), 3); /* the line, its label, the key */
	assert_int_equal(count_of(svg, "3352 GB/s"), 2);
	assert_int_equal(count_of(svg, "unknown: see the table"), 3);
	assert_null(strstr(svg, "nan"));
	static const char across[] = "<text class=\"sub\" x=\"%lf\"", up[] = "<text class=\"sub\" x=\"%*d\" y=\"%lf\"";
	double one = tick_at(svg, "middle", "1", across), hundred = tick_at(svg, "middle", "100", across);
	double low = tick_at(svg, "end", "1000", up), high = tick_at(svg, "end", "10⁶", up), x, y;
	const char *line = strstr(svg, "<line class=\"cpu maker\"");
	assert_int_equal(sscanf(line, "<line class=\"cpu maker\" x1=\"%lf\" y1=\"%lf\"", &x, &y), 2);
	assert_near(on_axis(one, hundred, 2, x) / (66908.16 / 3352.32), 1, 0.01);
	assert_near(1000 * on_axis(low, high, 3, y + 4) / 66908.16, 1, 0.02);
	line = strstr(svg, "<line class=\"mem maker\"");
	assert_int_equal(sscanf(line, "<line class=\"mem maker\" x1=\"%lf\" y1=\"%lf\"", &x, &y), 2);
	assert_near(1000 * on_axis(low, high, 3, y + 4) / on_axis(one, hundred, 2, x) / 3352.32, 1, 0.02);
	free(svg);
	sections_free(&s);
}

/* A device of which nothing is known has no panel; if there are only such devices, there is no picture. */
static void a_picture_of_nothing_is_refused(void **state)
{
	static const struct sonde_format_options plain;
	struct recording r;
	(void)state;
	simple_open(&r);
	recording_device(&r, 1, "OpenCL", "G2", (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU, .units = 8});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "roofline", NULL);
	FILE *out = fopen("/dev/null", "w");
	assert_non_null(out);
	assert_int_equal(sonde_format_roofline_svg.render(s.report, &plain, out), -ENODATA);
	fclose(out);
	sections_free(&s);
}

/* If there are many kinds of devices, the first have panels; any value in a recording has a place, or none. */
static void panels_are_bounded(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	for (uint32_t i = 0; i < 11; i++)
		recording_device(&r, 1, "CUDA", "G",
				 (struct sonde_meta_device){.kind = SONDE_DEVICE_GPU,
							    .index = i,
							    .units = i ? i : UINT32_MAX,
							    .clock_mhz = i ? 1000 : UINT32_MAX,
							    .capability = 90,
							    .memory_b_per_s = i ? 1 : UINT64_MAX});
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "roofline", NULL);
	char *svg = picture_of(s.report);
	assert_int_equal(count_of(svg, "<g class=\"device\">"), 8);
	assert_non_null(strstr(svg, ">3 more GPUs are only in the table<"));
	assert_null(strstr(svg, "nan"));
	assert_null(strstr(svg, "inf"));
	assert_true(count_of(svg, "class=\"grid\"") < 8 * 60);
	free(svg);
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
	    cmocka_unit_test(the_picture_has_a_panel_of_devices_that_are_alike),
	    cmocka_unit_test(a_picture_of_nothing_is_refused),
	    cmocka_unit_test(panels_are_bounded),
	    cmocka_unit_test(without_devices_there_are_none),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
