/* losses.c: counts calls that were lost because their ring was full, or that were malformed (wait/losses.h).
 *
 * A call is one event, and the first use of an object is another: so a number of lost events means at most as many lost
 * calls. Processes that were not recorded at all are counted only in the report's head.
 */
#include "analyze/wait/losses.h"

#include <string.h>

#include "analyze/words.h"

#define PROCESSES "processes " /* prefix of causes that count processes */

void sonde_wait_losses_note(const struct sonde_wait_sums *sums, struct sonde_report *report,
			    struct sonde_section *section)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < sonde_session_lost_count(sums->session); i++) {
		const struct sonde_lost *row = sonde_session_lost(sums->session, i);
		if (!strcmp(row->source, "waits") && strncmp(row->cause, PROCESSES, strlen(PROCESSES)) != 0)
			lost += row->count;
	}
	if (!lost)
		return;
	sonde_report_note(report, section, 1,
			  "%llu event%s of calls %s lost in the whole recording: sums and counts are lower bounds",
			  (unsigned long long)lost, sonde_plural(lost), sonde_word(lost, "was", "were"));
}
