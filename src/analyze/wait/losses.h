/* losses.h: the note of sections that sum up calls when some calls were lost. */
#ifndef SONDE_ANALYZE_WAIT_LOSSES_H
#define SONDE_ANALYZE_WAIT_LOSSES_H

#include "analyze/wait/sums.h"

/* Adds the note; adds none if no calls were lost. */
void sonde_wait_losses_note(const struct sonde_wait_sums *sums, struct sonde_report *report,
			    struct sonde_section *section);

#endif
