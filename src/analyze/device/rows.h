/* rows.h: what tables of devices share: rows of several devices, times in sentences. */
#ifndef SONDE_ANALYZE_DEVICE_ROWS_H
#define SONDE_ANALYZE_DEVICE_ROWS_H

#include "report/report.h"
#include "session/session.h"

/* When all rows of a table are there: where they are of several devices its column `device` tells them apart, so that
 * narrow terminals do not leave it out. `section` may be NULL. -ENOMEM. */
int sonde_device_rows_apart(struct sonde_report *report, struct sonde_section *section);

/* What a device is called, by sonde_device_label(): "" is none. */
struct sonde_cell sonde_device_cell(const char *label);

/* A time in a sentence: "1.204 s", "31 ms", "187 µs"; in the report's arena. NULL when out of memory. */
const char *sonde_device_length(struct sonde_report *report, uint64_t ns);

/* Why nothing of `what` ("kernel") is there: what the recorder said of devices, or else what helps if they were not
 * recorded at `level` ("api", "full"; NULL: any). In the report's arena. NULL when out of memory. */
const char *sonde_device_none(const struct sonde_session *session, struct sonde_report *report, const char *what,
			      const char *level);

#endif
