/* work.c: rules about zones whose work (FLOP, bytes) is known, from annotations or from BLAS calls.
 *
 * If ceilings are doubtful (roof/doubt.c), a zone below them is below the roof: the true ceilings are higher. No zone
 * is then known to be near a ceiling; zones that may be are found only under SONDE_CEILINGS_ANY.
 */
#include <math.h>
#include <string.h>

#include "analyze/findings/rules.h"
#include "analyze/work/roofline.h"

#define CALLS_LEAST 1000
#define FROM_CACHE 1.5  /* multiple of the measured DRAM bandwidth */
#define MEMORY_NEAR 0.5 /* share of the measured DRAM bandwidth */

static double on_path_ns(const struct sonde_facts *facts, const char *zone, double wall_ns)
{
	double path_ns = facts->has_path
			     ? sonde_facts_stretched(facts, sonde_facts_on_path(facts, SONDE_CRITICAL_ELEMENT_ZONE,
										zone, SONDE_CRITICAL_KINDS))
			     : wall_ns;
	return fmin(fmin(path_ns, wall_ns), facts->span_ns);
}

/* Considers FLOP/s only. Zones with a known position under the roof are left to the rules below-roof and
 * memory-bound. */
SONDE_EVALUATE(low_throughput)
{
	const struct sonde_columns_roofline *zones = &facts->columns.roofline;
	int rc = 0;
	for (size_t i = 0; !rc && i < zones->of.rows; i++) {
		const char *name = sonde_column_text(zones, i, zone);
		double flop = sonde_column_number(zones, i, flop),
		       rate = 1e9 * sonde_column_number(zones, i, gflop_per_s);
		double wall_ns = sonde_column_ns(zones, i, wall_ns), saves_ns = on_path_ns(facts, name, wall_ns);
		double share = saves_ns / facts->span_ns, roof_share = sonde_column_ratio(zones, i, roof_share);
		if (!(flop > 0) || !(rate < facts->threshold[SONDE_THRESHOLD_FLOPS]) ||
		    !(share > facts->threshold[SONDE_THRESHOLD_HOT]) ||
		    (roof_share > 0 && *sonde_column_label_text(zones, i, bytes_are)))
			continue;
		rc = sonde_found_add(
		    found, &(struct sonde_finding){
			       .subject = sonde_report_text(found->report, "%s", name),
			       .evidence = sonde_report_text(found->report, "%.3g FLOP at %.3g FLOP/s in %.3f s", flop,
							     rate, wall_ns / 1e9),
			       .saves_ns = roof_share > 0 ? saves_ns * (1 - fmin(roof_share, 1)) : saves_ns,
			       .place = {.ns = sonde_facts_zone_ns(facts, name)},
			       .peak_share = roof_share > 0 ? roof_share : 0,
			       .weighs = share});
	}
	return rc;
}

/* "12.3 % of the attainable 58.7 GFLOP/s"; if ceilings are doubtful, what is known. */
static const char *roof_text(const struct sonde_facts *facts, size_t row, struct sonde_report *report)
{
	const struct sonde_columns_roofline *zones = &facts->columns.roofline;
	int is_sure = facts->ceilings == SONDE_CEILINGS_SURE;
	return sonde_report_text(report, "%s%.1f %% of the attainable %s%.3g GFLOP/s", is_sure ? "" : "at most ",
				 100 * sonde_column_ratio(zones, row, roof_share), is_sure ? "" : "(at least) ",
				 sonde_column_number(zones, row, roof_gflop_per_s));
}

/* f = time × (1 − achieved/roof), with the roof at the zone's intensity. Excludes BLAS calls: the number of threads
 * that they used is unknown, so their shares are lower bounds. */
SONDE_EVALUATE(below_roof)
{
	const struct sonde_columns_roofline *zones = &facts->columns.roofline;
	int is_any = facts->ceilings == SONDE_CEILINGS_ANY, rc = 0;
	for (size_t i = 0; !rc && i < zones->of.rows; i++) {
		const char *name = sonde_column_text(zones, i, zone);
		const char *bytes = sonde_column_label_text(zones, i, bytes_are);
		double share = sonde_column_ratio(zones, i, roof_share),
		       gflops = sonde_column_number(zones, i, gflop_per_s);
		double saves_ns =
		    on_path_ns(facts, name, sonde_column_ns(zones, i, wall_ns)) * (is_any ? 1 : 1 - share);
		int is_below = is_any ? share > 0 : share < facts->threshold[SONDE_THRESHOLD_ROOF];
		if (sonde_column_label(zones, i, bytes_are) != SONDE_ROOFLINE_BYTES_REPORTED || !is_below ||
		    !(saves_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_HOT]))
			continue;
		const char *under = roof_text(facts, i, found->report);
		if (!under)
			return sonde_found_add(found, &(struct sonde_finding){0});
		rc = sonde_found_add(
		    found,
		    &(struct sonde_finding){.subject = sonde_report_text(found->report, "%s", name),
					    .evidence = sonde_report_text(found->report, "%.3g GFLOP/s, %s (bytes: %s)",
									  gflops, under, bytes),
					    .saves_ns = saves_ns,
					    .place = {.ns = sonde_facts_zone_ns(facts, name)},
					    .peak_share = share,
					    .weighs = saves_ns / facts->span_ns});
	}
	return rc;
}

/* A rate far above the measured DRAM bandwidth comes from a cache; slightly above, it is DRAM that was measured while
 * the machine was busier. */
static int is_memory(enum sonde_roof_level bound, double dram_share)
{
	return bound == SONDE_ROOF_DRAM || (bound == SONDE_ROOF_L3 && dram_share < FROM_CACHE);
}

/* Near the DRAM bandwidth: blocking could gain the difference to the bandwidth of the level-2 cache. */
SONDE_EVALUATE(memory_bound)
{
	const struct sonde_columns_roofline *zones = &facts->columns.roofline;
	struct sonde_roof roof;
	int from_cache, is_any = facts->ceilings == SONDE_CEILINGS_ANY, rc = 0;
	if (facts->ceilings == SONDE_CEILINGS_DOUBTFUL || !zones->of.rows ||
	    sonde_roofline_roof(&roof, &from_cache, facts->session))
		return 0;
	for (size_t i = 0; !rc && i < zones->of.rows; i++) {
		const char *name = sonde_column_text(zones, i, zone);
		enum sonde_roof_level bound = sonde_column_label(zones, i, bound);
		double share = sonde_column_ratio(zones, i, dram_share),
		       threads = sonde_column_number(zones, i, threads);
		double dram = sonde_roofline_bandwidth(&roof, SONDE_ROOF_DRAM, threads);
		double cache = sonde_roofline_bandwidth(&roof, SONDE_ROOF_L2, threads);
		double time_ns = on_path_ns(facts, name, sonde_column_ns(zones, i, wall_ns));
		double saves_ns = dram > 0 && cache > dram ? time_ns * (1 - fmin(share * dram / cache, 1)) : 0;
		if (is_any) /* the difference between higher ceilings may be larger */
			saves_ns = time_ns;
		if (!(share > MEMORY_NEAR * (1 - facts->slowed)) || !(is_any || is_memory(bound, share)) ||
		    !(saves_ns / facts->span_ns > facts->threshold[SONDE_THRESHOLD_HOT]))
			continue;
		rc = sonde_found_add(
		    found,
		    &(struct sonde_finding){
			.subject = sonde_report_text(found->report, "%s", name),
			.evidence = sonde_report_text(
			    found->report, "%.3g GB/s, %.0f %% of the bandwidth of %.3g threads, at %.3g FLOP/byte",
			    sonde_column_bytes(zones, i, bytes_per_s) / 1e9, 100 * share, threads,
			    sonde_column_number(zones, i, flop_per_byte)),
			.saves_ns = saves_ns,
			.place = {.ns = sonde_facts_zone_ns(facts, name)},
			.peak_share = fmin(share, 1),
			.weighs = saves_ns / facts->span_ns});
	}
	return rc;
}

static int is_blas(const struct sonde_session *session, const char *name)
{
	for (uint32_t id = 1; id <= sonde_session_site_count(session); id++) {
		const struct sonde_site *site = sonde_session_site(session, id);
		if (!strcmp(site->name, name) && (!strcmp(site->unit, "blas") || !strcmp(site->unit, "lapack")))
			return 1;
	}
	return 0;
}

/* The bound is all time of the calls: which part of it is spent on calling and on waking threads is unknown. */
SONDE_EVALUATE(small_blas)
{
	const struct sonde_columns_zones *zones = &facts->columns.zones;
	int rc = 0;
	for (size_t i = 0; !rc && i < zones->of.rows; i++) {
		const char *name = sonde_column_text(zones, i, zone);
		double calls = sonde_column_count(zones, i, calls), total_ns = sonde_column_ns(zones, i, total_ns);
		double saves_ns = fmin(total_ns, facts->span_ns), share = saves_ns / facts->span_ns;
		if (!(calls > CALLS_LEAST) || !(total_ns / calls < facts->threshold[SONDE_THRESHOLD_BLAS_NS]) ||
		    !(share > facts->threshold[SONDE_THRESHOLD_BLAS_SHARE]) || !is_blas(facts->session, name))
			continue;
		rc = sonde_found_add(
		    found, &(struct sonde_finding){
			       .subject = sonde_report_text(found->report, "%s", name),
			       .evidence = sonde_report_text(found->report,
							     "called %.0f times, %.2f µs each: %.3f s in all, about "
							     "the overhead of calling and of waking threads",
							     calls, total_ns / calls / 1e3, total_ns / 1e9),
			       .saves_ns = saves_ns,
			       .weighs = share});
	}
	return rc;
}
