/* facts.h: what the summary is about, and its notes, with which every report begins. */
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
	int lost_zones; /* some of `lost` are events of zones */
	int cost_known;
};

struct sonde_summary_facts sonde_summary_facts_of(const struct sonde_samples *samples);

/* Losses are written when a recording is closed: of one that was cut off none is said to be 0. */
int sonde_summary_is_lost_known(const struct sonde_summary_facts *facts);

/* The recorder's CPU time as a share of the run's, or of its wall time where the CPU time cannot be known (attached).
 * What is left of a recording that was cut off may be far less than what the recorder's time was spent on. */
double sonde_summary_cost_share(const struct sonde_summary_facts *facts);
int sonde_summary_is_cost_known(const struct sonde_summary_facts *facts);
/* NULL = the recording has no such source. */
const struct sonde_source_row *sonde_summary_source(const struct sonde_session *session, const char *name);

/* Title, the line that says it all when all is well, and a sentence for each thing that is not (summary/notes.c). */
int sonde_summary_notes(const struct sonde_summary_facts *facts, struct sonde_report *report);
/* Of a merged recording: what it is made of, and what was left out (summary/merged_notes.c). */
int sonde_merged_notes(const struct sonde_summary_facts *facts, struct sonde_report *report);
/* Of an imported one: of what it was made, and what was left out (summary/import_notes.c). */
int sonde_import_notes(const struct sonde_summary_facts *facts, struct sonde_report *report);

#endif
