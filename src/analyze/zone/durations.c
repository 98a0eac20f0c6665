/* durations.c: statistics of a set of durations. */
#include "analyze/zone/durations.h"

#include "analyze/statistics/stats.h"

/* Mean and Σ(x − mean)² from the shifted sums. */
static struct sonde_moments moments_of(const struct sonde_durations *durations)
{
	struct sonde_moments moments = {.count = durations->count};
	if (!durations->count)
		return moments;
	double n = (double)durations->count;
	double m2 = durations->squares - durations->sum * durations->sum / n;
	moments.mean = durations->shift + durations->sum / n;
	moments.m2 = m2 > 0 ? m2 : 0;
	return moments;
}

int sonde_durations_add_all(struct sonde_durations *durations, const uint64_t *values, size_t count)
{
	int rc = count ? sonde_durations_add(durations, values[0]) : 0;
	if (rc || count < 2)
		return rc;
	struct sonde_durations sums = *durations;
	for (size_t i = 1; i < count; i++) {
		double shifted = (double)values[i] - sums.shift;
		sums.sum += shifted;
		sums.squares += shifted * shifted;
		sums.min = values[i] < sums.min ? values[i] : sums.min;
		sums.max = values[i] > sums.max ? values[i] : sums.max;
		sums.hits[sonde_hist_bucket(values[i])]++;
	}
	sums.count += count - 1;
	*durations = sums;
	return 0;
}

void sonde_durations_merge(struct sonde_durations *durations, struct sonde_durations *other)
{
	if (!other->count)
		return;
	if (!durations->count) {
		struct sonde_durations empty = *durations;
		*durations = *other;
		*other = empty;
		return;
	}
	struct sonde_moments moments = moments_of(durations), more = moments_of(other);
	sonde_moments_merge(&moments, &more);
	durations->count = moments.count;
	durations->shift = moments.mean;
	durations->sum = 0;
	durations->squares = moments.m2;
	durations->min = other->min < durations->min ? other->min : durations->min;
	durations->max = other->max > durations->max ? other->max : durations->max;
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		durations->hits[i] += other->hits[i];
}

void sonde_durations_fini(struct sonde_durations *durations)
{
	free(durations->hits);
	*durations = (struct sonde_durations){0};
}

double sonde_durations_mean(const struct sonde_durations *durations)
{
	return moments_of(durations).mean;
}

/* Sample standard deviation; 0 for fewer than two values. */
static double deviation_of(const struct sonde_durations *durations)
{
	struct sonde_moments moments = moments_of(durations);
	return sonde_moments_std(&moments);
}

struct sonde_cell sonde_durations_quantile(const struct sonde_durations *durations, double quantile)
{
	if (!durations->count)
		return sonde_cell_absent("none ended");
	return sonde_cell_int(
	    sonde_hist_quantile(durations->hits, durations->count, durations->min, durations->max, quantile));
}

void sonde_durations_cells(const struct sonde_durations *durations, struct sonde_cell *cells)
{
	if (!durations->count) {
		for (int i = 0; i < SONDE_DURATION_CELLS; i++)
			cells[i] = sonde_cell_absent("none ended");
		return;
	}
	cells[0] = sonde_cell_real(sonde_durations_mean(durations), 0);
	cells[1] = durations->count > 1 ? sonde_cell_real(deviation_of(durations), 0)
					: sonde_cell_absent("one value has no spread");
	cells[2] = sonde_cell_int(durations->min);
	cells[3] = sonde_durations_quantile(durations, 0.50);
	cells[4] = sonde_durations_quantile(durations, 0.95);
	cells[5] = sonde_durations_quantile(durations, 0.99);
	cells[6] = sonde_cell_int(durations->max);
}

void sonde_durations_note(uint64_t fewest, struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(report, section, 0,
			  "std: sample standard deviation; percentiles: nearest rank, within 0.39 %%");
	if (fewest < sonde_stats_quantile_needs(0.99))
		sonde_report_note(report, section, 0,
				  "too few values for a percentile in some rows: p95 needs %llu and p99 %llu",
				  (unsigned long long)sonde_stats_quantile_needs(0.95),
				  (unsigned long long)sonde_stats_quantile_needs(0.99));
}
