/* losses.h: what a section says that adds up calls, when some were lost. */
#ifndef SONDE_ANALYZE_WAIT_LOSSES_H
#define SONDE_ANALYZE_WAIT_LOSSES_H

#include "analyze/wait/sums.h"

/* Nothing where none were. */
int sonde_wait_losses_note(const struct sonde_wait_sums *sums, struct sonde_report *report,
			   struct sonde_section *section);

#endif
