/* device_fixture.h: shared by the tests of devices: a recording with devices that is easy to fill. Times are in ms. */
#ifndef SONDE_TESTS_DEVICE_FIXTURE_H
#define SONDE_TESTS_DEVICE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"

/* An activity from `from_ms` on for so long, asked for at queued_ms (negative: not known) by thread 1. */
static inline void put(struct recording *recording, uint32_t operation, uint32_t queue, double queued_ms,
		       double from_ms, double ms)
{
	recording_activity(recording, (struct recording_activity){
					  .start_ns = START + (uint64_t)(from_ms * 1e6),
					  .dur_ns = (uint64_t)(ms * 1e6),
					  .operation = operation,
					  .queue = queue,
					  .thread = 1,
					  .queued_ns = queued_ms < 0 ? 0 : START + (uint64_t)(queued_ms * 1e6),
				      });
}

static inline void put_sized(struct recording *recording, uint32_t operation, uint32_t queue, double from_ms, double ms,
			     uint64_t size_b)
{
	recording_activity(recording, (struct recording_activity){.start_ns = START + (uint64_t)(from_ms * 1e6),
								  .dur_ns = (uint64_t)(ms * 1e6),
								  .operation = operation,
								  .queue = queue,
								  .thread = 1,
								  .size_b = size_b});
}

static inline uint32_t kernel(struct recording *recording, const char *name)
{
	return recording_operation(recording, SONDE_ACTIVITY_KERNEL, name, (struct sonde_meta_operation){0});
}

static inline uint32_t device(struct recording *recording, const char *name, uint32_t index)
{
	return recording_device(recording, 1, "Own", name, (struct sonde_meta_device){.index = index});
}

/* An integer of a row by its number. */
static inline uint64_t cell_int(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	if (cell->kind != SONDE_CELL_INT)
		fail_msg("%s of row %zu of %s is no integer: %s", key, row, section->id,
			 cell->text ? cell->text : "absent");
	return cell->integer;
}

static inline double cell_real(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	if (cell->kind != SONDE_CELL_REAL)
		fail_msg("%s of row %zu of %s is no real number: %s", key, row, section->id,
			 cell->text ? cell->text : "absent");
	return cell->real;
}

static inline void assert_absent(const struct sonde_section *section, size_t row, const char *key, const char *why)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	assert_int_equal(cell->kind, SONDE_CELL_ABSENT);
	assert_non_null(cell->text);
	if (!strstr(cell->text, why))
		fail_msg("%s of row %zu: \"%s\" does not say \"%s\"", key, row, cell->text, why);
}

#endif
