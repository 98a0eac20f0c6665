/* memory.c: rules about memory use. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/rules.h"
#include "analyze/heap/rss.h"

/* Mapped memory that was never touched is not resident, so the saving is at most what was ever resident. */
static int hotspot_add(const struct sonde_facts *facts, const struct sonde_columns_heap *heap, size_t row,
		       struct sonde_found *found)
{
	double share = sonde_column_ratio(heap, row, peak_share), peak_b = sonde_column_bytes(heap, row, peak_b);
	double resident_b = sonde_summary_value(&facts->columns, memory, peak_process_rss_b);
	double held_b = peak_b > resident_b ? resident_b : peak_b; /* NAN = unknown */
	if (!(share > facts->threshold[SONDE_THRESHOLD_HOTSPOT]) ||
	    !(held_b > facts->threshold[SONDE_THRESHOLD_HOTSPOT_B]))
		return 0;
	const char *beyond =
	    held_b < peak_b
		? sonde_report_text(found->report, "; at most %.1f MB of them were ever resident", held_b / 1e6)
		: "";
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = sonde_report_text(found->report, "%s", sonde_column_text(heap, row, function)),
		       .evidence = sonde_report_text(
			   found->report, "%.1f MB in %.0f blocks at the peak: %.1f %% of the peak%s", peak_b / 1e6,
			   sonde_column_count(heap, row, peak_blocks), 100 * share, beyond),
		       .bytes = held_b,
		       .weighs = fmin(share, 1) * held_b / peak_b});
}

SONDE_EVALUATE(hotspot)
{
	const struct sonde_columns_heap *heap = &facts->columns.heap;
	int rc = 0;
	for (size_t i = 0; !rc && i < heap->of.rows; i++)
		rc = hotspot_add(facts, heap, i, found);
	return rc;
}

static double peak_of(const struct sonde_facts *facts)
{
	const struct sonde_columns_heaps *heaps = &facts->columns.heaps;
	double most_b = 0;
	for (size_t i = 0; i < heaps->of.rows; i++)
		most_b = fmax(most_b, sonde_column_bytes(heaps, i, peak_b));
	return most_b;
}

/* Compares leaked bytes with all allocated bytes, and with the peak: in a heap with high turnover, leaked bytes are a
 * small share of the allocated bytes. */
static int leak_add(const struct sonde_facts *facts, const struct sonde_columns_leaks *leaks, size_t row,
		    struct sonde_found *found)
{
	const char *function = sonde_column_text(leaks, row, function);
	enum sonde_leak_class class = sonde_column_label(leaks, row, class);
	double bytes = sonde_column_bytes(leaks, row, bytes), blocks = sonde_column_count(leaks, row, blocks);
	double peak_b = peak_of(facts), share = sonde_column_ratio(leaks, row, share);
	double of_peak = peak_b > 0 ? fmin(bytes / peak_b, 1) : 0;
	int is_growing = class == SONDE_LEAK_GROWING;
	if (class != SONDE_LEAK_UNREACHABLE && !is_growing)
		return 0;
	if (!(fmax(share, of_peak) > facts->threshold[SONDE_THRESHOLD_LEAK]) ||
	    !(bytes > facts->threshold[SONDE_THRESHOLD_LEAK_B]))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = sonde_report_text(found->report, "%s", function),
		       .evidence = sonde_report_text(
			   found->report,
			   is_growing ? "it grew throughout the run, to %.2f MB in %.0f blocks (%.1f %% of the peak)"
				      : "%.2f MB leaked in %.0f blocks (unreachable at exit, %.1f %% of the peak)",
			   bytes / 1e6, blocks, 100 * of_peak),
		       .confidence = is_growing ? sonde_column_ratio(leaks, row, confidence) * 0.8 : 0,
		       .bytes = bytes,
		       .weighs = fmax(fmin(share, 1), of_peak)});
}

SONDE_EVALUATE(leak)
{
	const struct sonde_columns_leaks *leaks = &facts->columns.leaks;
	int rc = 0;
	for (size_t i = 0; !rc && i < leaks->of.rows; i++)
		rc = leak_add(facts, leaks, i, found);
	return rc;
}

/* --- fragmentation ------------------------------------------------------------------------------------------------ */

#define LAST_POINTS 3
#define POINTS_MOST 16 /* each requires a pass over the heap's chunks */
#define LAST_PART 5    /* consider at least the last 1/LAST_PART of its lifetime */

static double alive_b(const struct sonde_facts *facts, uint32_t process, uint64_t time_ns,
		      struct sonde_heap_alive *sites)
{
	size_t count = sonde_session_heap_site_count(facts->session);
	double sum_b = 0;
	memset(sites, 0, (count + 1) * sizeof *sites);
	if (sonde_session_heap_alive(facts->session, time_ns, sites))
		return NAN;
	for (uint32_t id = 1; id <= count; id++) {
		const struct sonde_heap_site *site = sonde_session_heap_site(facts->session, id);
		const struct sonde_heap *heap = site ? sonde_session_heap(facts->session, site->heap) : NULL;
		if (heap && heap->process == process)
			sum_b += (double)sites[id].size_b;
	}
	return sum_b;
}

/* Private anonymous memory of a process: neither file pages nor shared memory, such as the recorder's rings. */
struct private_memory {
	const struct sonde_rss_series *resident, *file;
};

static double private_b(const struct private_memory *memory, const struct sonde_rss_point *point)
{
	const struct sonde_rss_point *file = sonde_rss_at(memory->file, point->time_ns);
	file = file || !memory->file->count ? file : memory->file->points; /* sampled together with the first point */
	return file ? fmax((double)point->size_b - (double)file->size_b, 0) : NAN;
}

/* The least private memory in excess of live bytes at the last points. It is the minimum because memory freed just
 * before one point may still be resident then, but not at the others. */
static double least_over_b(const struct sonde_facts *facts, const struct private_memory *memory, uint32_t process,
			   struct sonde_heap_alive *sites, double *then_b)
{
	const struct sonde_rss_series *series = memory->resident;
	double least_b = INFINITY;
	const struct sonde_rss_point *last = &series->points[series->count ? series->count - 1 : 0],
				     *first = series->points;
	for (size_t i = 0; i < series->count && i < POINTS_MOST; i++) {
		const struct sonde_rss_point *point = &series->points[series->count - 1 - i];
		if (i >= LAST_POINTS && last->time_ns - point->time_ns > (last->time_ns - first->time_ns) / LAST_PART)
			break;
		/* Large blocks that were just freed may still be resident. */
		uint64_t before_ns = i + 1 < series->count ? series->points[series->count - 2 - i].time_ns : 0;
		double live_b =
		    fmax(alive_b(facts, process, point->time_ns, sites), alive_b(facts, process, before_ns, sites));
		double over_b = private_b(memory, point) - live_b;
		if (isnan(over_b))
			return NAN;
		if (over_b < least_b) {
			least_b = over_b;
			*then_b = private_b(memory, point);
		}
	}
	return series->count < LAST_POINTS ? NAN : least_b;
}

/* What stays resident after most blocks were freed. Module data and stacks are included, hence the limit in bytes. */
static int evaluate_fragments(struct sonde_found *found, const struct sonde_facts *facts, uint32_t id,
			      const struct private_memory *memory, struct sonde_heap_alive *sites)
{
	const struct sonde_process *process = sonde_session_process(facts->session, id);
	double then_b = 0, over_b = least_over_b(facts, memory, id, sites, &then_b), share = over_b / then_b;
	if (!process || !(share > facts->threshold[SONDE_THRESHOLD_FRAGMENTS]) ||
	    !(over_b > facts->threshold[SONDE_THRESHOLD_FRAGMENTS_B]))
		return 0;
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){.subject = sonde_report_text(found->report, "%s (%u)", process->name, process->pid),
				    .evidence = sonde_report_text(
					found->report,
					"%.1f MB of anonymous memory were resident at exit, %.1f MB of it in live "
					"blocks and mappings: the other %.0f %% was freed but not returned to the "
					"kernel, or never was a block",
					then_b / 1e6, (then_b - over_b) / 1e6, 100 * share),
				    .bytes = over_b,
				    .weighs = fmin(share, 1)});
}

SONDE_EVALUATE(fragmentation)
{
	struct sonde_rss rss, files;
	int rc = 0;
	if (!facts->columns.heaps.of.rows || sonde_rss_read(&rss, facts->session))
		return 0;
	if (sonde_rss_read_of(&files, facts->session, SONDE_METRIC_MEMORY_FILE)) {
		sonde_rss_fini(&rss);
		return 0;
	}
	struct sonde_heap_alive *sites = calloc(sonde_session_heap_site_count(facts->session) + 1, sizeof *sites);
	int unknown = 0;
	for (uint32_t id = 1; sites && id < rss.count; id++)
		unknown |= rss.series[id].count >= LAST_POINTS && !files.series[id].count;
	if (unknown)
		sonde_report_note(
		    found->report, found->section, 0,
		    "not checked: memory retained by processes whose RSS includes an unknown share of files");
	for (uint32_t id = 1; !rc && sites && id < rss.count; id++)
		rc = evaluate_fragments(found, facts, id, &(struct private_memory){&rss.series[id], &files.series[id]},
					sites);
	rc = sites ? rc : sonde_found_add(found, &(struct sonde_finding){0});
	free(sites);
	sonde_rss_fini(&files);
	sonde_rss_fini(&rss);
	return rc;
}
