/* facts.h: the facts behind the summary and the notes with which every report begins. */
#ifndef SONDE_ANALYZE_SUMMARY_FACTS_H
#define SONDE_ANALYZE_SUMMARY_FACTS_H

#include <stdint.h>

#include "analyze/cpu/cputime.h"
#include "analyze/cpu/samples.h"

struct sonde_summary_facts {
	struct sonde_session *session;
	const struct sonde_run *run;
	const struct sonde_samples *samples;
	struct sonde_cpu_time cpu;
	uint64_t cost_ns, lost, zones;
	int lost_zones; /* some of `lost` are zone events */
	int cost_known;
};

struct sonde_summary_facts sonde_summary_facts_of(const struct sonde_samples *samples);

/* Why `lost` may not be all that was lost; NULL = it is all. Losses are written when a recording is closed, so they are
 * unknown for a truncated recording; and most formats that can be imported do not state what was lost. Both also hold
 * for each part of a merged recording. */
const char *sonde_summary_lost_unknown(const struct sonde_summary_facts *facts);

/* The recorder's CPU time as a share of the run's, or of its wall time if the CPU time cannot be known (attached). If
 * the recording was cut off, the recorder's time may cover far more than what remains. */
double sonde_summary_cost_share(const struct sonde_summary_facts *facts);
int sonde_summary_is_cost_known(const struct sonde_summary_facts *facts);
/* NULL = no such source in the recording. */

/* The title, a line that suffices if all is well, and a note for each problem (summary/notes.c). */
void sonde_summary_notes(const struct sonde_summary_facts *facts, struct sonde_report *report);
/* Adds the notes on a merged recording: its parts, and what was left out (summary/merged_notes.c). */
void sonde_merged_notes(const struct sonde_summary_facts *facts, struct sonde_report *report);
/* Adds the notes on an imported recording: its origin, and what was left out (summary/import_notes.c). */
void sonde_import_notes(const struct sonde_summary_facts *facts, struct sonde_report *report);

#endif
