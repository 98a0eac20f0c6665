/* losses.h: the note of sections that sum up calls when some calls were lost. */
#ifndef SONDE_ANALYZE_WAIT_LOSSES_H
#define SONDE_ANALYZE_WAIT_LOSSES_H

#include "analyze/wait/sums.h"

/* No note if none were lost. */
void sonde_wait_losses_note(const struct sonde_wait_sums *sums, struct sonde_report *report,
			    struct sonde_section *section);

#endif
