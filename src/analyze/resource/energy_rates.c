/* energy_rates.c: energy per second of CPU time, and the notes that explain it. */
#include "analyze/resource/energy_rates.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/window.h"
#include "analyze/words.h"

#define UJ_A_J 1e6
#define NS_A_S 1e9

int sonde_energy_rates_init(struct sonde_energy_rates *rates, struct sonde_session *session)
{
	*rates = (struct sonde_energy_rates){0};
	return sonde_energy_points_init(&rates->points, session);
}

void sonde_energy_rates_fini(struct sonde_energy_rates *rates)
{
	sonde_energy_points_fini(&rates->points);
	sonde_energy_sums_fini(&rates->sums);
}

static int rising(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Uses the processes that have a figure. A case with less idle energy has more energy for processes, so the rates are
 * sorted into ascending order. */
static void find_rates(struct sonde_energy_rates *rates)
{
	double cpu_ns = 0, uj[SONDE_ENERGY_CASES] = {0};
	for (size_t i = 0; i < rates->sums.share_count; i++) {
		const struct sonde_energy_share *share = &rates->sums.shares[i];
		if (share->too_short)
			continue;
		cpu_ns += share->cpu_ns;
		for (int c = 0; c < SONDE_ENERGY_CASES; c++)
			uj[c] += share->uj[c];
	}
	for (int c = 0; c < SONDE_ENERGY_CASES; c++)
		rates->j_per_ns[c] = cpu_ns > 0 ? uj[c] / UJ_A_J / cpu_ns : 0;
	qsort(rates->j_per_ns, SONDE_ENERGY_CASES, sizeof *rates->j_per_ns, rising);
}

int sonde_energy_rates_finish(struct sonde_energy_rates *rates, const struct sonde_pass_options *options,
			      const char **out_why)
{
	struct sonde_window window = sonde_window_of(rates->points.session, options);
	int rc = sonde_energy_points_finish(&rates->points);
	if (rc == 0)
		rc = sonde_energy_sums_init(&rates->sums, &rates->points, window.from_ns, window.to_ns);
	if (rc)
		return rc;
	find_rates(rates);
	int has_rates = rates->sums.is_known && rates->j_per_ns[SONDE_ENERGY_LIKELY] > 0;
	*out_why = has_rates ? NULL : *rates->sums.why ? rates->sums.why : "no process has a share of the energy";
	return 0;
}

const struct sonde_column *sonde_energy_columns(const struct sonde_energy_sums *sums, struct sonde_report *report,
						const struct sonde_column *columns, size_t count)
{
	if (!sums->fit.name)
		return columns;
	struct sonde_column *own = sonde_report_columns(report, columns, count);
	for (size_t i = 0; i < count; i++)
		if (own[i].unit == SONDE_UNIT_NUMBER || own[i].unit == SONDE_UNIT_RATIO ||
		    own[i].unit == SONDE_UNIT_JOULES || own[i].unit == SONDE_UNIT_GRAMS)
			own[i].basis = SONDE_BASIS_MODELLED;
	return own;
}

struct sonde_cell sonde_energy_rates_cell(const struct sonde_energy_rates *rates, int which, uint64_t cpu_ns)
{
	return sonde_cell_real((double)cpu_ns * rates->j_per_ns[which], 0);
}

void sonde_energy_rates_notes(const struct sonde_energy_rates *rates, const char *part, size_t too_short,
			      struct sonde_report *report, struct sonde_section *section)
{
	int is_model = rates->sums.fit.name != NULL;
	sonde_report_note(
	    report, section, is_model,
	    "%s: %.3g J per second of CPU time (mean of the processes) × sampled CPU time of a %s",
	    is_model ? "modelled, not measured" : "estimated", rates->j_per_ns[SONDE_ENERGY_LIKELY] * NS_A_S, part);
	if (too_short)
		sonde_report_note(report, section, 0,
				  "%zu %s%s with less than 100 ms of CPU time %s too short to measure", too_short, part,
				  sonde_plural(too_short), sonde_word(too_short, "is", "are"));
}
