/* sizes.h: sizes and large counts in sentences. */
#ifndef SONDE_ANALYZE_SIZES_H
#define SONDE_ANALYZE_SIZES_H

#include <stdint.h>

#include "report/report.h"

/* "12.3 MB", with a variance "12.3 MB ± 0.4 MB"; "12,345". size_b in bytes, variance in bytes²; 0 = exact. Allocated in
 * the report; NULL if out of memory. */
const char *sonde_size_text(struct sonde_report *report, uint64_t size_b, double variance);
const char *sonde_count_text(struct sonde_report *report, double count);

#endif
