/* json_summary.h: the key figures for programs in a JSON report: durations of operations, memory, throughput. */
#ifndef SONDE_EXPORT_TEXT_JSON_SUMMARY_H
#define SONDE_EXPORT_TEXT_JSON_SUMMARY_H

#include "report/report.h"
#include "util/json.h"

/* Writes the member "summary" if the report has a section that provides its figures (summary, zones, iterations).
 * -ENOMEM. */
int sonde_json_summary(struct sonde_json *json, const struct sonde_report *report);

#endif
