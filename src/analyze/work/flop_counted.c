/* flop_counted.c: FLOP of the whole run from hardware counters: one series per command, whose last point is the
 * total. */
#include "analyze/work/flop_counted.h"

#include "analyze/resource/series.h"
#include "analyze/statistics/stats.h"

static const char *why_not(const struct sonde_session *session)
{
	const struct sonde_source_row *source = sonde_session_source_named(session, "flop");
	return !source ? NULL : *source->detail ? source->detail : "they cannot be read from the file";
}

int sonde_flop_counted_read(struct sonde_flop_counted *out, struct sonde_session *session)
{
	struct sonde_series_sums sums;
	size_t known = 0;
	*out = (struct sonde_flop_counted){.why = why_not(session)};
	if (!out->why)
		return 0;
	int rc = sonde_series_sums_read(&sums, session, NULL);
	if (rc)
		return rc;
	out->flop = sonde_series_tree_change(&sums, SONDE_METRIC_FLOP, &known);
	out->is_known = known > 0;
	sonde_series_sums_fini(&sums);
	return 0;
}

void sonde_flop_counted_note(const struct sonde_flop_counted *counted, double known, struct sonde_report *report,
			     struct sonde_section *section)
{
	if (!counted->is_known) {
		if (counted->why)
			sonde_report_note(report, section, 1, "FLOP by hardware counters: unknown: %s", counted->why);
		return;
	}
	if (known <= 0 || known > counted->flop)
		sonde_report_note(report, section, 0, "FLOP by hardware counters: %.4g in the whole run (user code)",
				  counted->flop);
	else
		sonde_report_note(
		    report, section, 0,
		    "FLOP by hardware counters: %.4g in the whole run (user code), %.1f %% of them counted above",
		    counted->flop, 100 * sonde_stats_share(known, counted->flop));
}
