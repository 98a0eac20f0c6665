/* waits_sampled.h: sections of waits that were sampled from outside, shown next to the measured ones. */
#ifndef SONDE_ANALYZE_WAIT_WAITS_SAMPLED_H
#define SONDE_ANALYZE_WAIT_WAITS_SAMPLED_H

#include "analyze/wait/sums.h"

/* Waits of the groups (bits 1 << enum sonde_wait_group) by function and kind; no section if there are none. */
int sonde_waits_sampled_places(const struct sonde_wait_sums *sums, uint32_t groups, struct sonde_report *report);
void sonde_waits_sampled_kinds(const struct sonde_wait_sums *sums, struct sonde_report *report);
/* Waits for locks, grouped by lock. Returns 1, or 0 if there are none: then there is no section. */
int sonde_waits_sampled_locks(const struct sonde_wait_sums *sums, struct sonde_report *report);

#endif
