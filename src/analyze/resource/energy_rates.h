/* energy_rates.h: estimates the energy of parts of the sampled CPU time: shared by the sections about functions and
 * zones.
 *
 * Processes have estimated shares of the measured or modelled energy (resource/energy_sums.h). Their joules per second
 * of CPU time, over all processes, are multiplied by the sampled time of a part. The result is a share of an estimate.
 * It is unknown how much more power some code draws than other code, because it moves data or uses wide vectors.
 */
#ifndef SONDE_ANALYZE_RESOURCE_ENERGY_RATES_H
#define SONDE_ANALYZE_RESOURCE_ENERGY_RATES_H

#include "analyze/resource/energy_sums.h"
#include "analyze/pass.h"

struct sonde_energy_rates {
	struct sonde_energy_points points;
	struct sonde_energy_sums sums;
	double j_per_ns[SONDE_ENERGY_CASES]; /* per ns of CPU time of the recorded processes, ascending */
};

int sonde_energy_rates_init(struct sonde_energy_rates *rates, struct sonde_session *session);
void sonde_energy_rates_fini(struct sonde_energy_rates *rates);

/* Call after the last batch of series. `out_why`: NULL, or why there are no rates; valid as long as `rates`. */
int sonde_energy_rates_finish(struct sonde_energy_rates *rates, const struct sonde_pass_options *options,
			      const char **out_why);

/* The columns; for a model, a copy in the report that marks all figures as modelled; NULL if out of memory. */
const struct sonde_column *sonde_energy_columns(const struct sonde_energy_sums *sums, struct sonde_report *report,
						const struct sonde_column *columns, size_t count);

/* Energy of some CPU time in one of the cases. */
struct sonde_cell sonde_energy_rates_cell(const struct sonde_energy_rates *rates, int which, uint64_t cpu_ns);

/* Notes what the figures are shares of; `part`: "in a function". `too_short` parts below SONDE_ENERGY_LEAST_CPU_NS have
 * no row. */
void sonde_energy_rates_notes(const struct sonde_energy_rates *rates, const char *part, size_t too_short,
			      struct sonde_report *report, struct sonde_section *section);

#endif
