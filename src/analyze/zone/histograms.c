/* histograms.c: histograms recorded by the program, merged over its processes. No events are read: the recorder stores
 * each histogram already merged over threads. */
#include "analyze/marks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "fold/hist.h"
#include "util/error.h"

enum { NAME, COUNT, MEAN, MIN, P50, P95, P99, MAX, UNIT, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"histogram", "histogram", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [COUNT] = {"count", "count", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"mean", "mean", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [MIN] = {"min", "min", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [P50] = {"p50", "p50", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [P95] = {"p95", "p95", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 2},
    [P99] = {"p99", "p99", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [MAX] = {"max", "max", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [UNIT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
};

struct histograms {
	struct sonde_session *session;
	struct sonde_pass_options options;
};

static int histograms_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct histograms *histograms = state;
	histograms->session = session;
	histograms->options = *options;
	return 0;
}

/* Adds up all histograms of one site into `sum`, whose hits belong to the caller. */
static void site_merge(const struct sonde_session *session, uint32_t site, struct sonde_histogram *sum, uint64_t *hits)
{
	*sum = (struct sonde_histogram){.site = site, .min = UINT64_MAX, .hits = hits};
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		hits[i] = 0;
	for (size_t i = 0; i < sonde_session_histogram_count(session); i++) {
		const struct sonde_histogram *one = sonde_session_histogram(session, i);
		if (one->site != site || !one->count)
			continue;
		sum->count += one->count;
		sum->sum += one->sum;
		sum->min = one->min < sum->min ? one->min : sum->min;
		sum->max = one->max > sum->max ? one->max : sum->max;
		for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++)
			hits[bucket] += one->hits[bucket];
	}
}

static void row_add(const struct sonde_session *session, const struct sonde_histogram *sum, struct sonde_report *report,
		    struct sonde_section *section)
{
	static const double quantiles[] = {0.50, 0.95, 0.99};
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_site *site = sonde_session_site(session, sum->site);
	row[NAME] = sonde_cell_text(site ? site->name : "(unknown)");
	row[COUNT] = sonde_cell_int(sum->count);
	row[MEAN] = sonde_cell_real((double)sum->sum / (double)sum->count, 0);
	row[MIN] = sonde_cell_int(sum->min);
	for (int i = 0; i < 3; i++)
		row[P50 + i] =
		    sonde_cell_int(sonde_hist_quantile(sum->hits, sum->count, sum->min, sum->max, quantiles[i]));
	row[MAX] = sonde_cell_int(sum->max);
	row[UNIT] = sonde_cell_text(site ? site->unit : "");
}

static int is_first_of_site(const struct sonde_session *session, size_t i)
{
	uint32_t site = sonde_session_histogram(session, i)->site;
	for (size_t k = 0; k < i; k++)
		if (sonde_session_histogram(session, k)->site == site)
			return 0;
	return 1;
}

static int rows_add(const struct sonde_session *session, struct sonde_report *report, struct sonde_section *section)
{
	uint64_t *hits = malloc(SONDE_HIST_BUCKETS * sizeof *hits), fewest = UINT64_MAX;
	int rc = hits ? 0 : sonde_error(ENOMEM, "out of memory for histograms");
	for (size_t i = 0; rc == 0 && i < sonde_session_histogram_count(session); i++) {
		struct sonde_histogram sum;
		if (!is_first_of_site(session, i))
			continue;
		site_merge(session, sonde_session_histogram(session, i)->site, &sum, hits);
		fewest = sum.count < fewest ? sum.count : fewest;
		if (sum.count)
			row_add(session, &sum, report, section);
	}
	free(hits);
	if (rc == 0)
		sonde_report_note(report, section, 0,
				  "count, mean, min and max are exact; percentiles: nearest rank, within 0.39 %%");
	if (rc == 0 && fewest < sonde_stats_quantile_needs(0.99))
		sonde_report_note(report, section, 0, "too few values for p99 in some rows: it needs %llu",
				  (unsigned long long)sonde_stats_quantile_needs(0.99));
	return rc;
}

static int histograms_finish(void *state, struct sonde_report *report)
{
	struct histograms *histograms = state;
	if (!sonde_session_histogram_count(histograms->session))
		return sonde_pass_nothing(&histograms->options, report, "histograms", "Histograms",
					  "no histograms: add sonde_histogram_record() (sonde/sonde.h)");
	struct sonde_section *section = sonde_report_table(report, "histograms", "Histograms", columns, COLUMNS);
	return rows_add(histograms->session, report, section);
}

const struct sonde_pass sonde_pass_histograms = {
    .name = "histograms",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_histograms,
    .title = "histograms: count, mean, percentiles",
    .standard = 1,
    .state_b = sizeof(struct histograms),
    .begin = histograms_begin,
    .finish = histograms_finish,
};
