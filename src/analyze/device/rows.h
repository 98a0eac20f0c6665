/* rows.h: shared by the tables about GPUs: rows of several GPUs, times in notes. */
#ifndef SONDE_ANALYZE_DEVICE_ROWS_H
#define SONDE_ANALYZE_DEVICE_ROWS_H

#include "report/report.h"
#include "session/session.h"

/* Call once all rows of a table are added: if they belong to several devices, the column `device` stops being a detail,
 * so that narrow terminals do not hide it. `section` may be NULL. */
void sonde_device_rows_apart(struct sonde_report *report, struct sonde_section *section);

/* A cell with a label from sonde_device_label(): "" is absent. */
struct sonde_cell sonde_device_cell(const char *label);

/* A duration for a note: "1.204 s", "31 ms", "187 µs"; in the report's arena. NULL if out of memory. */
const char *sonde_device_length(struct sonde_report *report, uint64_t ns);

/* Why the recording has no `what` ("kernel"): the recorder's report about devices, or else how to record them at
 * `level` ("api", "full"; NULL: any). In the report's arena. NULL if out of memory. */
const char *sonde_device_none(const struct sonde_session *session, struct sonde_report *report, const char *what,
			      const char *level);

#endif
