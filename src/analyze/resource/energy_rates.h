/* energy_rates.h: what of the processes' energy a part of their sampled CPU time had: what sections about functions and
 * zones share.
 *
 * Processes have shares of what was measured or modelled (resource/energy_sums.h), which are estimates. Their joules for a
 * second of CPU time, all processes together, times the time that a part was sampled in: a share of an estimate. That
 * one second costs more than another, since it moves data or has wide vectors, is not known.
 */
#ifndef SONDE_ANALYZE_RESOURCE_ENERGY_RATES_H
#define SONDE_ANALYZE_RESOURCE_ENERGY_RATES_H

#include "analyze/resource/energy_sums.h"
#include "analyze/pass.h"

struct sonde_energy_rates {
	struct sonde_energy_points points;
	struct sonde_energy_sums sums;
	double j_per_ns[SONDE_ENERGY_CASES]; /* of CPU time of the recorded processes, rising */
};

int sonde_energy_rates_init(struct sonde_energy_rates *rates, struct sonde_session *session);
void sonde_energy_rates_fini(struct sonde_energy_rates *rates);

/* After the last batch of series. `out_why`: NULL, or why there are none; valid as long as `rates`. */
int sonde_energy_rates_finish(struct sonde_energy_rates *rates, const struct sonde_pass_options *options,
			      const char **out_why);

/* The columns, or of a model a copy of the report's in which all figures are modelled; NULL: out of memory. */
const struct sonde_column *sonde_energy_columns(const struct sonde_energy_sums *sums, struct sonde_report *report,
						const struct sonde_column *columns, size_t count);

/* Joules of so much CPU time, in one of the cases. */
struct sonde_cell sonde_energy_rates_cell(const struct sonde_energy_rates *rates, int which, uint64_t cpu_ns);

/* What the figures are shares of; "in a function". `too_short` parts have no row, being below
 * SONDE_ENERGY_LEAST_CPU_NS. */
int sonde_energy_rates_notes(const struct sonde_energy_rates *rates, const char *part, size_t too_short,
			     struct sonde_report *report, struct sonde_section *section);

#endif
