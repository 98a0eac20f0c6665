/* json_summary.c: "summary" of a JSON report: timing.NAME.mean, .std, .min, .max and percentiles, in ms;
 * memory.peak_allocated and .peak_reserved in bytes, and the same per GPU (memory.devices.NAME);
 * throughput.samples_per_sec and .iterations_per_sec.
 *
 * All figures are taken from sections: an operation is a row of the section zones, throughput the first row of
 * iterations, and memory comes from the section summary: allocated is the peak of live heap memory, reserved the peak
 * RSS of any process; GPU memory comes from the section devices. What was not measured is null, and "absent" gives the
 * reason under the same path. Zones with the same name are distinguished by their call sites. The section has no more
 * rows than requested: "timing_omitted" is the number of zones missing from timing.
 */
#include "export/text/json_summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/intern.h"
#include "util/buf.h"
#include "util/error.h"

enum { NAME_MAX_B = 16 << 10 };

struct figure {
	const char *key, *column;
	double size; /* divisor that converts from the column's unit */
};

static const struct figure durations[] = {{"mean", "mean_ns", 1e6}, {"std", "std_ns", 1e6},     {"min", "min_ns", 1e6},
					  {"max", "max_ns", 1e6},   {"p50", "p50_ns", 1e6},     {"p95", "p95_ns", 1e6},
					  {"p99", "p99_ns", 1e6},   {"total", "total_ns", 1e6}, {"count", "calls", 1}};
static const struct figure rates[] = {{"samples_per_sec", "samples_per_sec", 1},
				      {"iterations_per_sec", "iterations_per_sec", 1}};
static const struct figure memory[] = {{"peak_allocated", "memory.heap_peak_b", 1},
				       {"peak_reserved", "memory.peak_process_rss_b", 1}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_cell(struct sonde_json *json, const struct figure *figure, const struct sonde_cell *cell)
{
	sonde_json_key(json, figure->key);
	if (cell->kind == SONDE_CELL_INT && figure->size == 1)
		sonde_json_uint(json, cell->integer);
	else if (cell->kind == SONDE_CELL_INT || cell->kind == SONDE_CELL_REAL)
		sonde_json_real(json,
				(cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->real) / figure->size);
	else
		sonde_json_null(json);
}

/* The cell of a metric in the section summary. */
static const struct sonde_cell *metric_of(const struct sonde_section *section, const char *metric)
{
	size_t rows = section ? section->table.row_count : 0;
	for (size_t i = 0; i < rows; i++)
		if (!strcmp(sonde_report_cell_text(section, i, "metric"), metric))
			return sonde_report_cell(section, i, "value");
	return sonde_report_cell(NULL, 0, "value");
}

/* Writes a name that is unique among operations. */
static int put_name(struct sonde_json *json, struct sonde_intern *names, const struct sonde_section *zones, size_t row)
{
	const char *name = sonde_report_cell_text(zones, row, "zone");
	const struct sonde_cell *line = sonde_report_cell(zones, row, "line");
	struct sonde_buf text;
	int rc = 0;
	sonde_buf_init(&text, NAME_MAX_B);
	sonde_buf_printf(&text, "%.4000s", name);
	for (size_t again = 0; !rc && !sonde_buf_error(&text); again++) {
		size_t before = names->count;
		sonde_buf_append(&text, "", 1);
		sonde_intern(names, *text.data ? (const char *)text.data : "(unnamed)", &rc);
		if (rc || names->count > before)
			break;
		sonde_buf_clear(&text);
		sonde_buf_printf(&text, "%.4000s (%.4000s:%llu)", name, sonde_report_cell_text(zones, row, "file"),
				 (unsigned long long)(line->kind == SONDE_CELL_INT ? line->integer : 0));
		if (again)
			sonde_buf_printf(&text, " %zu", again + 1);
	}
	rc = rc ? rc : sonde_buf_error(&text);
	if (!rc)
		sonde_json_key(json, *text.data ? (const char *)text.data : "(unnamed)");
	sonde_buf_fini(&text);
	return rc ? sonde_error(ENOMEM, "out of memory for names of zones") : 0;
}

static int put_timing(struct sonde_json *json, const struct sonde_section *zones)
{
	struct sonde_intern names = {0};
	size_t rows = zones ? zones->table.row_count : 0;
	int rc = 0;
	sonde_json_put_object(json, "timing");
	for (size_t row = 0; row < rows && !rc; row++) {
		rc = put_name(json, &names, zones, row);
		if (rc)
			break;
		sonde_json_object(json);
		for (size_t i = 0; i < COUNT(durations); i++)
			put_cell(json, &durations[i], sonde_report_cell(zones, row, durations[i].column));
		sonde_json_end(json);
	}
	sonde_json_end(json);
	sonde_json_put_uint(json, "timing_omitted", zones ? zones->table.omitted : 0);
	sonde_intern_fini(&names);
	return rc;
}

static void put_why(struct sonde_json *json, const char *group, const char *key, const struct sonde_cell *cell,
		    const char *otherwise)
{
	char path[400];
	if (cell->kind != SONDE_CELL_ABSENT)
		return;
	snprintf(path, sizeof path, "%s.%s", group, key);
	sonde_json_put_text(json, path, cell->text ? cell->text : otherwise);
}

/* --- devices ----------------------------------------------------------------------------------------------------- */

static const struct figure device_memory[] = {{"peak_allocated", "peak_b", 1}, {"peak_reserved", "reserved_b", 1}};

/* Device name of a row, with API and number; a repeated name, from another process, gets " 2" appended. */
static int device_name(char out[256], struct sonde_intern *names, const struct sonde_section *devices, size_t row)
{
	const char *name = sonde_report_cell_text(devices, row, "device");
	size_t before = names->count;
	int rc = 0;
	snprintf(out, 256, "%.200s", name);
	for (size_t again = 2; !rc; again++) {
		sonde_intern(names, out, &rc);
		if (names->count > before)
			return 0;
		snprintf(out, 256, "%.200s %zu", name, again);
	}
	return sonde_error(ENOMEM, "out of memory for names of devices");
}

/* Writes the figures of the devices; or, if `is_why`, the reasons for missing ones. */
static int put_devices(struct sonde_json *json, const struct sonde_section *devices, int is_why)
{
	struct sonde_intern names = {0};
	char name[256], group[300];
	int rc = 0;
	for (size_t row = 0; devices && row < devices->table.row_count && !rc; row++) {
		rc = device_name(name, &names, devices, row);
		if (rc)
			break;
		snprintf(group, sizeof group, "memory.devices.%s", name);
		if (!is_why) {
			sonde_json_put_object(json, name);
		}
		for (size_t i = 0; i < COUNT(device_memory); i++) {
			const struct sonde_cell *cell = sonde_report_cell(devices, row, device_memory[i].column);
			if (is_why)
				put_why(json, group, device_memory[i].key, cell, "not recorded");
			else
				put_cell(json, &device_memory[i], cell);
		}
		if (!is_why)
			sonde_json_end(json);
	}
	sonde_intern_fini(&names);
	return rc;
}

int sonde_json_summary(struct sonde_json *json, const struct sonde_report *report)
{
	const struct sonde_section *summary = sonde_report_find(report, "summary"),
				   *zones = sonde_report_find(report, "zones"),
				   *iterations = sonde_report_find(report, "iterations"),
				   *devices = sonde_report_find(report, "devices");
	if (!summary && !zones && !iterations)
		return 0;
	sonde_json_put_object(json, "summary");
	int rc = put_timing(json, zones);
	if (rc)
		return rc;
	sonde_json_put_object(json, "memory");
	for (size_t i = 0; i < COUNT(memory); i++)
		put_cell(json, &memory[i], metric_of(summary, memory[i].column));
	if (devices) {
		sonde_json_put_object(json, "devices");
		rc = put_devices(json, devices, 0);
		sonde_json_end(json);
	}
	if (rc)
		return rc;
	sonde_json_end(json);
	sonde_json_put_object(json, "throughput");
	for (size_t i = 0; i < COUNT(rates); i++)
		put_cell(json, &rates[i], sonde_report_cell(iterations, 0, rates[i].column));
	sonde_json_end(json);
	sonde_json_put_object(json, "absent");
	for (size_t i = 0; i < COUNT(memory); i++)
		put_why(json, "memory", memory[i].key, metric_of(summary, memory[i].column),
			summary ? "not recorded" : "the section summary is not in this report");
	for (size_t i = 0; i < COUNT(rates); i++)
		put_why(json, "throughput", rates[i].key, sonde_report_cell(iterations, 0, rates[i].column),
			"no iterations are marked (SONDE_ITERATION), or the section is not in this report");
	rc = put_devices(json, devices, 1);
	sonde_json_end(json);
	sonde_json_end(json);
	return rc;
}
