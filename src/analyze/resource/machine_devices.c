/* machine_devices.c: rows for GPUs in the section `machine` (resource/machine_devices.h).
 *
 * Every row is a share with its denominator: power relative to the power limit, a clock relative to its maximum. What
 * the driver calls utilisation is the share of time in which any kernel ran, however small. If the GPU counts them, the
 * rows below it show the utilisation of multiprocessors, warps, tensor cores and memory.
 */
#include "analyze/resource/machine_devices.h"

#include <string.h>

#include "analyze/resource/machine_sums.h"
#include "report/report.h"

static const char single[] = "a single reading";

static const struct sonde_series_sum *sum_of(const struct sonde_series_sums *sums, enum sonde_metric metric,
					     const char *device)
{
	return sonde_series_sum_of_object(sums, metric, device);
}

static int is_known(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return 1;
	return 0;
}

size_t sonde_machine_devices(const struct sonde_series_sums *sums, const char **out)
{
	size_t count = 0;
	for (uint32_t id = 1; id <= sums->count && count < SONDE_MACHINE_DEVICES_MAX; id++) {
		const struct sonde_series *series = sonde_session_series(sums->session, id);
		if (sums->metric[id] < (int)SONDE_METRIC_DEVICE_UTILIZATION ||
		    sums->metric[id] > (int)SONDE_METRIC_DEVICE_SLOWED_SETTING || series->process ||
		    !sums->sum[id].count || is_known(out, count, series->object))
			continue;
		out[count++] = series->object;
	}
	return count;
}

/* The largest amount held by a recorded process. */
static double own_most_b(const struct sonde_series_sums *sums, const char *name)
{
	double most = -1;
	for (uint32_t id = 1; id <= sums->count; id++) {
		const struct sonde_series *series = sonde_session_series(sums->session, id);
		if (sums->metric[id] == (int)SONDE_METRIC_DEVICE_MEMORY_USED && series->process &&
		    sums->sum[id].count && !strcmp(series->object, name) && (double)sums->sum[id].max > most)
			most = (double)sums->sum[id].max;
	}
	return most;
}

void sonde_machine_device_of(struct sonde_machine_device *out, const struct sonde_series_sums *sums, const char *name)
{
	const struct sonde_series_sum *busy = sum_of(sums, SONDE_METRIC_DEVICE_UTILIZATION, name);
	const struct sonde_series_sum *used = sum_of(sums, SONDE_METRIC_DEVICE_MEMORY_USED, name);
	const struct sonde_series_sum *all = sum_of(sums, SONDE_METRIC_DEVICE_MEMORY_TOTAL, name);
	*out = (struct sonde_machine_device){.name = name,
					     .busy = busy ? sonde_series_mean(busy) / 1000 : -1,
					     .busy_most = busy ? (double)busy->max / 1000 : -1,
					     .memory_most_b = used ? (double)used->max : -1,
					     .memory_all_b = all ? (double)all->last : -1,
					     .own_most_b = own_most_b(sums, name)};
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

struct writer {
	const struct sonde_series_sums *sums;
	struct sonde_report *report;
	const char *device;
	sonde_machine_put *put;
	void *context;
};

/* Adds a gauge as a share of its maximum. */
static void put_gauge(const struct writer *writer, enum sonde_metric metric, const char *what,
		      const struct sonde_series_sum *sum, double whole, const char *text)
{
	struct sonde_machine_row row = {.metric = metric,
					.what = what,
					.object = writer->device,
					.whole = text,
					.mean = -1,
					.most = -1,
					.least = -1};
	row.why = "its limit is not reported";
	if (whole > 0) {
		row.mean = sonde_series_mean(sum) / whole;
		row.most = (double)sum->max / whole;
		row.least = (double)sum->min / whole;
	}
	writer->put(writer->context, &row);
}

static void utilization_row(const struct writer *writer)
{
	const struct sonde_series_sum *sum = sum_of(writer->sums, SONDE_METRIC_DEVICE_UTILIZATION, writer->device);
	if (sum)
		put_gauge(writer, SONDE_METRIC_DEVICE_UTILIZATION, "GPU busy", sum, 1000,
			  "time with any kernel running, by the driver");
}

static void memory_row(const struct writer *writer)
{
	const struct sonde_series_sum *used = sum_of(writer->sums, SONDE_METRIC_DEVICE_MEMORY_USED, writer->device);
	const struct sonde_series_sum *all = sum_of(writer->sums, SONDE_METRIC_DEVICE_MEMORY_TOTAL, writer->device);
	if (used && all && all->last > 0)
		put_gauge(writer, SONDE_METRIC_DEVICE_MEMORY_USED, "GPU memory", used, (double)all->last,
			  sonde_report_text(writer->report, "%.3g GB", (double)all->last / 1e9));
}

static void power_row(const struct writer *writer)
{
	const struct sonde_series_sum *power = sum_of(writer->sums, SONDE_METRIC_DEVICE_POWER, writer->device);
	const struct sonde_series_sum *limit = sum_of(writer->sums, SONDE_METRIC_DEVICE_POWER_LIMIT, writer->device);
	if (power && limit)
		put_gauge(writer, SONDE_METRIC_DEVICE_POWER, "GPU power", power, (double)limit->last,
			  sonde_report_text(writer->report, "%.4g W, its limit (mean %.4g W)",
					    (double)limit->last / 1e3, sonde_series_mean(power) / 1e3));
	else if (power)
		put_gauge(writer, SONDE_METRIC_DEVICE_POWER, "GPU power", power, 0,
			  sonde_report_text(writer->report, "an unknown limit (mean %.4g W)",
					    sonde_series_mean(power) / 1e3));
}

static void clock_row(const struct writer *writer)
{
	const struct sonde_series_sum *clock = sum_of(writer->sums, SONDE_METRIC_DEVICE_CLOCK_SM, writer->device);
	const struct sonde_series_sum *most = sum_of(writer->sums, SONDE_METRIC_DEVICE_CLOCK_SM_MOST, writer->device);
	if (clock && most)
		put_gauge(writer, SONDE_METRIC_DEVICE_CLOCK_SM, "GPU clock", clock, (double)most->last,
			  sonde_report_text(writer->report, "%.4g MHz, its highest (mean %.4g MHz)",
					    (double)most->last / 1e6, sonde_series_mean(clock) / 1e6));
}

/* Adds totals of time from the GPU's counters. */
static void counter_rows(const struct writer *writer)
{
	static const struct {
		enum sonde_metric metric;
		const char *what, *whole;
	} rows[] = {
	    {SONDE_METRIC_DEVICE_SM_ACTIVE, "SMs active", "time of all multiprocessors"},
	    {SONDE_METRIC_DEVICE_SM_OCCUPANCY, "SM occupancy", "all warps that fit (achieved)"},
	    {SONDE_METRIC_DEVICE_TENSOR_ACTIVE, "tensor cores", "time of all tensor cores"},
	    {SONDE_METRIC_DEVICE_DRAM_ACTIVE, "GPU bandwidth", "its memory's maximum"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sonde_series_sum *sum = sum_of(writer->sums, rows[i].metric, writer->device);
		struct sonde_machine_row row = {.metric = rows[i].metric,
						.what = rows[i].what,
						.object = writer->device,
						.whole = rows[i].whole,
						.why = single,
						.mean = sonde_machine_share(sum),
						.most = sum && sum->rates ? sum->rate_max : -1,
						.least = sum && sum->rates ? sum->rate_min : -1};
		if (sum)
			writer->put(writer->context, &row);
	}
}

/* Returns for how long the GPU was polled. The series of a throttle reason does not show that: it starts when the
 * reason first occurs. */
static double read_ns(const struct writer *writer)
{
	const struct sonde_series_sum *sum = sum_of(writer->sums, SONDE_METRIC_DEVICE_CLOCK_SM, writer->device);
	sum = sum ? sum : sum_of(writer->sums, SONDE_METRIC_DEVICE_MEMORY_USED, writer->device);
	return sum ? (double)(sum->last_ns - sum->first_ns) : 0;
}

static void slowed_rows(const struct writer *writer)
{
	static const struct {
		enum sonde_metric metric;
		const char *what;
	} rows[] = {
	    {SONDE_METRIC_DEVICE_SLOWED_POWER, "throttled: power"},
	    {SONDE_METRIC_DEVICE_SLOWED_HEAT, "throttled: heat"},
	    {SONDE_METRIC_DEVICE_SLOWED_HARDWARE, "throttled: hardware"},
	    {SONDE_METRIC_DEVICE_SLOWED_SETTING, "clocks set low"},
	};
	double time_ns = read_ns(writer);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double slow_ns = sonde_machine_change(sum_of(writer->sums, rows[i].metric, writer->device));
		struct sonde_machine_row row = {.metric = rows[i].metric,
						.what = rows[i].what,
						.object = writer->device,
						.whole = "time",
						.why = "it is a share of time and has no value",
						.mean = slow_ns < time_ns ? slow_ns / time_ns : 1,
						.most = -1,
						.least = -1};
		if (slow_ns > 0 && time_ns > 0)
			writer->put(writer->context, &row);
	}
}

void sonde_machine_devices_put(const struct sonde_series_sums *sums, struct sonde_report *report,
			       sonde_machine_put *put, void *context)
{
	static void (*const rows[])(const struct writer *) = {utilization_row, counter_rows, memory_row,
							      power_row,       clock_row,    slowed_rows};
	const char *devices[SONDE_MACHINE_DEVICES_MAX];
	size_t count = sonde_machine_devices(sums, devices);
	for (size_t i = 0; i < count; i++) {
		const struct writer writer = {sums, report, devices[i], put, context};
		for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
			rows[row](&writer);
	}
}

void sonde_machine_devices_note(const struct sonde_series_sums *sums, struct sonde_report *report,
				struct sonde_section *section)
{
	const char *devices[SONDE_MACHINE_DEVICES_MAX];
	size_t count = sonde_machine_devices(sums, devices);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_series_sum *used = sum_of(sums, SONDE_METRIC_DEVICE_MEMORY_USED, devices[i]);
		const struct sonde_series_sum *all = sum_of(sums, SONDE_METRIC_DEVICE_MEMORY_TOTAL, devices[i]);
		if (!used || !all || (double)used->max <= SONDE_MACHINE_DEVICE_FULL * (double)all->last)
			continue;
		sonde_report_note(report, section, 1,
				  "%s: up to %.0f %% of its memory was used (%.3g of %.3g GB): larger data fails "
				  "or spills to the host",
				  devices[i], 100 * (double)used->max / (double)all->last, (double)used->max / 1e9,
				  (double)all->last / 1e9);
	}
}
