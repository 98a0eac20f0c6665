/* roofs.c: the section `device-roofs`: theoretical peak rates of GPUs (device/roofs.h). */
#include "analyze/device/roofs.h"

#include "analyze/device/sums.h"
#include "analyze/device/times.h"
#include "sonde/device.h"

#define TITLE "Theoretical GPU ceilings"
#define DEVICES_MAX 64 /* maximum number of devices with rows */
#define FIRST_TENSOR 70

/* Multiply-adds per clock and multiprocessor; 0 = unknown, or not the same for all chips of that capability. */
static const struct {
	uint32_t capability;
	uint16_t lanes[SONDE_DEVICE_ROOFS];
} units[] = {
    {50, {128, 4, 0}}, {52, {128, 4, 0}},     {53, {128, 4, 0}},   {60, {64, 32, 0}},
    {61, {128, 4, 0}}, {62, {128, 4, 0}},     {70, {64, 32, 512}}, {72, {64, 0, 0}},
    {75, {64, 2, 0}},  {80, {64, 32, 1024}},  {86, {128, 2, 0}},   {87, {128, 0, 0}},
    {89, {128, 2, 0}}, {90, {128, 64, 2048}}, {100, {128, 64, 0}}, {120, {128, 2, 0}},
};

static const char *const names[SONDE_DEVICE_ROOFS] = {"FP32", "FP64", "FP16, tensor cores"};

const char *sonde_device_roof_flops(double *out, uint32_t *lanes, const struct sonde_device *device,
				    enum sonde_device_roof roof)
{
	size_t i = 0;
	if (!device->capability)
		return "its lanes per unit are unknown: no compute capability was reported (CUDA reports it)";
	while (i < sizeof units / sizeof *units && units[i].capability != device->capability)
		i++;
	if (i == sizeof units / sizeof *units)
		return "the lanes per unit of its compute capability are unknown here";
	if (roof == SONDE_DEVICE_TENSOR_FP16 && device->capability < FIRST_TENSOR)
		return "it has no tensor cores";
	if (!units[i].lanes[roof])
		return "the number of lanes differs between GPUs of this compute capability, or is unknown here";
	if (!device->units || !device->clock_mhz)
		return "its number of units, or their clock, is unknown";
	if (lanes)
		*lanes = units[i].lanes[roof];
	*out = 2.0 * units[i].lanes[roof] * device->units * (device->clock_mhz * 1e6);
	return NULL;
}

/* --- the section ------------------------------------------------------------------------------------------------- */

enum { DEVICE, CEILING, SORT, RATE, RIDGE, FORMULA, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CEILING] = {"ceiling", "ceiling", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [SORT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"rate", "theoretical", SONDE_UNIT_NUMBER, SONDE_BASIS_MODELLED, 0, 0},
    [RIDGE] = {"ridge_flop_per_byte", "FLOP/B", SONDE_UNIT_NUMBER, SONDE_BASIS_MODELLED, 0, 1},
    [FORMULA] = {"formula", "from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
};

static void flops_row(const struct sonde_device *device, const char *label, enum sonde_device_roof roof,
		      struct sonde_report *report, struct sonde_section *section)
{
	double flops = 0;
	uint32_t lanes = 0;
	const char *why = sonde_device_roof_flops(&flops, &lanes, device, roof);
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *formula = why ? why
				  : sonde_report_text(report, "%u units × %u × 2 × %.4g GHz", device->units, lanes,
						      device->clock_mhz / 1e3);
	row[DEVICE] = sonde_cell_text(label);
	row[CEILING] = sonde_cell_text(names[roof]);
	row[SORT] = sonde_cell_text("GFLOP/s");
	row[RATE] = why ? sonde_cell_absent(why) : sonde_cell_real(flops / 1e9, 0);
	row[RIDGE] = why                      ? sonde_cell_absent(why)
		     : device->memory_b_per_s ? sonde_cell_real(flops / (double)device->memory_b_per_s, 0)
					      : sonde_cell_absent("its memory bandwidth is unknown");
	row[FORMULA] = why ? sonde_cell_absent(why) : sonde_cell_text(formula);
}

static void memory_row(const struct sonde_device *device, const char *label, struct sonde_report *report,
		       struct sonde_section *section)
{
	static const char why[] = "its memory bandwidth was not reported";
	struct sonde_cell *row = sonde_report_row(report, section);
	row[DEVICE] = sonde_cell_text(label);
	row[CEILING] = sonde_cell_text("memory");
	row[SORT] = sonde_cell_text("GB/s");
	row[RATE] = row[FORMULA] = sonde_cell_absent(why);
	if (device->memory_b_per_s) {
		row[RATE] = sonde_cell_real((double)device->memory_b_per_s / 1e9, 0);
		row[FORMULA] = sonde_cell_text("reported by the driver");
	}
	row[RIDGE] = sonde_cell_absent("only FLOP/s ceilings have one");
}

/* A device about which nothing is known has no rows: a note explains why. */
static void device_add(const struct sonde_session *session, const struct sonde_device *device,
		       struct sonde_report *report, struct sonde_section *section)
{
	const char *label = sonde_device_label(session, device->id, report);
	if (device->kind == SONDE_DEVICE_CPU) {
		sonde_report_note(report, section, 0, "%s is the processor: see the machine's ceilings", label);
		return;
	}
	if (!device->capability && !device->memory_b_per_s) {
		sonde_report_note(
		    report, section, 0,
		    "%s: unavailable: no compute capability or bandwidth was reported (CUDA does, OpenCL does not)",
		    label);
		return;
	}
	for (int roof = 0; roof < SONDE_DEVICE_ROOFS; roof++)
		flops_row(device, label, (enum sonde_device_roof)roof, report, section);
	memory_row(device, label, report, section);
}

void sonde_device_roofs_add(const struct sonde_session *session, struct sonde_report *report)
{
	size_t all = sonde_session_device_count(session), count = 0;
	if (!all)
		return;
	struct sonde_section *section = sonde_report_table(report, "device-roofs", TITLE, columns, COLUMNS);
	for (uint32_t id = 1; id <= all; id++)
		if (sonde_device_same(session, id) == id && count++ < DEVICES_MAX)
			device_add(session, sonde_session_device(session, id), report, section);
	sonde_report_note(
	    report, section, 0,
	    "theoretical, from the GPU's attributes at its highest clock; below this FLOP/B, memory is the "
	    "limit");
	sonde_report_note(report, section, 0, "kernels are not placed: their FLOP and bytes need the GPU's counters");
	if (count > DEVICES_MAX)
		sonde_report_note(report, section, 0, "%zu more GPUs are left out", count - DEVICES_MAX);
}
