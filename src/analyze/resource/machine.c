/* machine.c: the section `machine`: utilisation of the whole system while the processes ran, including other programs,
 * and what its disks and networks transferred.
 *
 * All rows are shares with their denominator; bytes have a separate table. Only resources that were active or read have
 * a row.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/resource/machine_devices.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/marks.h"

#define TITLE "System"
#define BYTES_TITLE "Bytes moved by disks, networks and GPUs"

/* --- shares ------------------------------------------------------------------------------------------------------ */

enum { WHAT, OBJECT, MEAN, MOST, LEAST, WHOLE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [WHAT] = {SONDE_COLUMN_KEY(machine, what), "resource", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [OBJECT] = {SONDE_COLUMN_KEY(machine, object), "of", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {SONDE_COLUMN_KEY(machine, mean), "mean", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [MOST] = {SONDE_COLUMN_KEY(machine, max), "max", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [LEAST] = {"min", "min", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
    [WHOLE] = {SONDE_COLUMN_KEY(machine, whole), "100 % is", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

struct machine {
	struct sonde_series_sums sums;
	struct sonde_pass_options options;
	struct sonde_report *report;
	struct sonde_section *section;
	double cores;
};

static const char single[] = "a single reading";

/* Negative: unknown. */
static struct sonde_cell share_or(double share, const char *why)
{
	return share < 0 ? sonde_cell_absent(why) : sonde_cell_real(share, 0);
}

static struct sonde_cell *share_add(struct machine *machine, const char *what, const char *object, double mean,
				    const char *whole)
{
	struct sonde_cell *row = sonde_report_row(machine->report, machine->section);
	row[WHAT] = sonde_cell_text(what);
	row[OBJECT] = *object ? sonde_cell_text(object) : sonde_cell_absent("there is only one");
	row[MEAN] = share_or(mean, single);
	row[MOST] = row[LEAST] = sonde_cell_absent(single);
	row[WHOLE] = sonde_cell_text(whole);
	return row;
}

/* Adds a row for a total of time. */
static void time_add(struct machine *machine, const char *what, const char *object, const struct sonde_series_sum *sum,
		     const char *whole)
{
	double mean = sonde_machine_share(sum);
	if (mean < 0)
		return;
	struct sonde_cell *row = share_add(machine, what, object, mean, whole);
	if (sum->rates) {
		row[MOST] = sonde_cell_real(fmin(sum->rate_max, 1), 0);
		row[LEAST] = sonde_cell_real(fmin(fmax(sum->rate_min, 0), 1), 0);
	}
}

static void cpu_rows(struct machine *machine)
{
	const struct sonde_series_sums *sums = &machine->sums;
	struct sonde_machine_cpu cpu = sonde_machine_cpu_of(sums);
	const struct sonde_series_sum *load = sonde_series_sum_of(sums, 0, SONDE_METRIC_LOAD);
	const char *whole = sonde_report_text(machine->report, "the time of %.4g CPU%s", machine->cores,
					      machine->cores == 1 ? "" : "s");
	if (machine->cores <= 0)
		whole = "the time of all CPUs";
	if (cpu.known) {
		struct sonde_cell *row = share_add(machine, "CPU", "", cpu.busy, whole);
		if (sums->busy.count) {
			row[MOST] = sonde_cell_real(sums->busy.max, 0);
			row[LEAST] = sonde_cell_real(sums->busy.min, 0);
		}
		if (cpu.iowait > 0)
			share_add(machine, "CPU waiting for a disk", "", cpu.iowait, whole);
		if (cpu.stolen > 0)
			share_add(machine, "CPU stolen", "", cpu.stolen, whole);
	}
	if (!load || machine->cores <= 0)
		return;
	double unit = 1000 * machine->cores;
	struct sonde_cell *row =
	    share_add(machine, "load over a minute", "", sonde_series_mean(load) / unit,
		      sonde_report_text(machine->report, "%.4g task%s (mean %.1f)", machine->cores,
					machine->cores == 1 ? "" : "s", sonde_series_mean(load) / 1000));
	row[MOST] = sonde_cell_real((double)load->max / unit, 0);
	row[LEAST] = sonde_cell_real((double)load->min / unit, 0);
}

static void memory_row(struct machine *machine, const char *what, struct sonde_machine_memory memory, const char *of)
{
	if (!memory.known)
		return;
	struct sonde_cell *row =
	    share_add(machine, what, "", memory.mean,
		      sonde_report_text(machine->report, "%.3g GB%s", (double)memory.all_b / 1e9, of));
	row[MOST] = sonde_cell_real(memory.max, 0);
	row[LEAST] = sonde_cell_real(memory.min, 0);
}

static void disk_rows(struct machine *machine, const struct sonde_machine_object *disks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (disks[i].busy && sonde_machine_change(disks[i].busy) > 0)
			time_add(machine, "disk busy", disks[i].name, disks[i].busy, "time");
}

static void pressure_rows(struct machine *machine)
{
	static const char *const objects[] = {"cpu", "memory", "io"};
	for (size_t i = 0; i < 3; i++) {
		const struct sonde_series_sum *some =
		    sonde_series_sum_of_object(&machine->sums, SONDE_METRIC_PRESSURE_SOME, objects[i]);
		const struct sonde_series_sum *full =
		    sonde_series_sum_of_object(&machine->sums, SONDE_METRIC_PRESSURE_FULL, objects[i]);
		time_add(machine, "some tasks waited", objects[i], some, "time");
		if (sonde_machine_change(full) > 0)
			time_add(machine, "all tasks waited", objects[i], full, "time");
	}
}

/* Adds the machine's memory and the control group's, which has the group's limit as its whole. If the recorder stored
 * that limit as the machine's memory, only the control group's row is added. */
static void memory_rows(struct machine *machine)
{
	struct sonde_machine_memory group = sonde_machine_group_memory_of(&machine->sums);
	const struct sonde_series_sum *all = sonde_series_sum_of(&machine->sums, 0, SONDE_METRIC_MEMORY_TOTAL);
	if (!group.known || !all || group.all_b != (uint64_t)all->last)
		memory_row(machine, "memory", sonde_machine_memory_of(&machine->sums), "");
	memory_row(machine, "cgroup memory", group, ", its limit");
}

static void group_rows(struct machine *machine)
{
	const struct sonde_series_sums *sums = &machine->sums;
	double periods = sonde_machine_change(sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_PERIODS));
	const struct sonde_series_sum *held = sonde_series_sum_of(sums, 0, SONDE_METRIC_CGROUP_THROTTLED_PERIODS);
	if (!held || periods <= 0)
		return;
	share_add(machine, "throttled", "", sonde_machine_change(held) / periods,
		  sonde_report_text(machine->report, "%.0f periods of its quota", periods));
}

static void put_device(void *context, const struct sonde_machine_row *from)
{
	struct machine *machine = context;
	struct sonde_cell *row = share_add(machine, from->what, from->object, from->mean, from->whole);
	row[WHAT] = sonde_cell_label(from->what, (int)from->metric);
	row[MEAN] = share_or(from->mean, from->why);
	row[MOST] = share_or(from->most < 1 ? from->most : 1, from->why);
	row[LEAST] = share_or(from->least, from->why);
}

/* --- bytes ------------------------------------------------------------------------------------------------------- */

enum { KIND, NAME, IN_B, OUT_B, IN_RATE, OUT_RATE, IN_MOST, OUT_MOST, BYTE_COLUMNS };

static const struct sonde_column byte_columns[BYTE_COLUMNS] = {
    [KIND] = {"kind", "", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [IN_B] = {"in_b", "in", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [OUT_B] = {"out_b", "out", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [IN_RATE] = {"in_per_s_b", "in/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [OUT_RATE] = {"out_per_s_b", "out/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [IN_MOST] = {"in_per_s_max_b", "max in/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [OUT_MOST] = {"out_per_s_max_b", "max out/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
};

static void rate_cells(const struct sonde_series_sum *sum, struct sonde_cell *all, struct sonde_cell *mean,
		       struct sonde_cell *most)
{
	*all = *mean = *most = sonde_cell_absent("not read");
	if (!sum)
		return;
	*all = sonde_cell_int(sonde_series_whole(sonde_machine_change(sum)));
	*mean = *most = sonde_cell_absent(single);
	if (sum->last_ns > sum->first_ns)
		*mean = sonde_cell_real(sonde_machine_change(sum) / (double)(sum->last_ns - sum->first_ns) * 1e9, 0);
	if (sum->rates)
		*most = sonde_cell_real(sum->rate_max * 1e9, 0);
}

static int has_moved(const struct sonde_machine_object *object)
{
	return sonde_machine_change(object->in) > 0 || sonde_machine_change(object->out) > 0;
}

static void byte_rows(struct machine *machine, const char *kind, const struct sonde_machine_object *objects,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!has_moved(&objects[i]))
			continue;
		struct sonde_cell *row = sonde_report_row(machine->report, machine->section);
		row[KIND] = sonde_cell_text(kind);
		row[NAME] = sonde_cell_text(objects[i].name);
		rate_cells(objects[i].in, &row[IN_B], &row[IN_RATE], &row[IN_MOST]);
		rate_cells(objects[i].out, &row[OUT_B], &row[OUT_RATE], &row[OUT_MOST]);
	}
}

static int moved(const struct sonde_machine_object *objects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_moved(&objects[i]))
			return 1;
	return 0;
}

/* Adds all kinds to a table that is created for the first that transferred something. */
static void bytes_add(struct machine *machine)
{
	static const struct {
		enum sonde_machine_kind kind;
		const char *name;
	} rows[] = {{SONDE_MACHINE_DISKS, "disk"},
		    {SONDE_MACHINE_NETWORKS, "network"},
		    {SONDE_MACHINE_PCIE, "PCIe"},
		    {SONDE_MACHINE_NVLINK, "NVLink"}};
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	machine->section = NULL;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t count = sonde_machine_objects(&machine->sums, rows[i].kind, objects);
		if (!moved(objects, count))
			continue;
		if (!machine->section)
			machine->section =
			    sonde_report_table(machine->report, "machine-io", BYTES_TITLE, byte_columns, BYTE_COLUMNS);
		byte_rows(machine, rows[i].name, objects, count);
	}
}

/* --- the pass ---------------------------------------------------------------------------------------------------- */

static int machine_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct machine *machine = state;
	machine->options = *options;
	machine->cores = sonde_machine_cores(session);
	return sonde_series_sums_init(&machine->sums, session, options);
}

static void machine_end(void *state)
{
	struct machine *machine = state;
	sonde_series_sums_fini(&machine->sums);
}

static int machine_feed(void *state, const struct sonde_batch *batch)
{
	return sonde_series_sums_feed(&((struct machine *)state)->sums, batch);
}

static int is_read(const struct sonde_series_sums *sums)
{
	for (uint32_t id = 1; id <= sums->count; id++)
		if (sums->metric[id] >= 0 && sums->sum[id].count && !sonde_session_series(sums->session, id)->process)
			return 1;
	return 0;
}

static int machine_finish(void *state, struct sonde_report *report)
{
	static const char note[] =
	    "all programs, from the first reading to the last; pressure: tasks waited for CPU, memory or I/O";
	struct machine *machine = state;
	struct sonde_machine_object disks[SONDE_MACHINE_OBJECTS_MAX];
	sonde_series_sums_finish(&machine->sums);
	if (!is_read(&machine->sums))
		return sonde_pass_nothing(&machine->options, report, "machine", TITLE,
					  "the recording has no readings of the system");
	size_t disk_count = sonde_machine_objects(&machine->sums, SONDE_MACHINE_DISKS, disks);
	machine->report = report;
	machine->section = sonde_report_table(report, "machine", TITLE, columns, COLUMNS);
	sonde_report_note(report, machine->section, 0, note);
	cpu_rows(machine);
	memory_rows(machine);
	disk_rows(machine, disks, disk_count);
	pressure_rows(machine);
	group_rows(machine);
	sonde_machine_devices_put(&machine->sums, report, put_device, machine);
	sonde_machine_devices_note(&machine->sums, report, machine->section);
	bytes_add(machine);
	return 0;
}

const struct sonde_pass sonde_pass_machine = {
    .name = "machine",
    .needs = SONDE_NEEDS(READINGS),
    .has = sonde_has_readings,
    .title = "system: CPUs, memory, disks, networks, pressure, throttling, GPUs",
    .types = 1u << SONDE_CHUNK_SERIES,
    .standard = 1,
    .state_b = sizeof(struct machine),
    .begin = machine_begin,
    .feed = machine_feed,
    .finish = machine_finish,
    .end = machine_end,
};
