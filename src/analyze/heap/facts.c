/* facts.c: the key figures of a recorded heap. */
#include "analyze/heap/facts.h"

/* Why not a single block was recorded. */
static const char *why_none(const struct sonde_session *session)
{
	const struct sonde_source_row *row = sonde_session_source_named(session, "heap");
	if (row && (row->state == SONDE_SOURCE_ON || row->state == SONDE_SOURCE_LIMITED))
		return "nothing was allocated, or no block was sampled";
	if (row && row->state == SONDE_SOURCE_UNAVAILABLE)
		return *row->detail ? row->detail : "allocations could not be recorded";
	return "not recorded: sonde record --heap";
}

static void add_heap(struct sonde_heap_facts *facts, const struct sonde_heap_total *total)
{
	facts->processes += total->begins != 0;
	facts->mean_b = total->mean_b > facts->mean_b ? total->mean_b : facts->mean_b;
	facts->peak_ns = total->peak_b > facts->peak_b ? total->peak_ns : facts->peak_ns;
	facts->peak_b = total->peak_b > facts->peak_b ? total->peak_b : facts->peak_b;
	facts->begins += total->begins;
	facts->begun_b += total->begun_b;
	facts->left_b += total->left_b;
}

/* Adds a site's figures. Samples of different sites are independent, so the sites' variances add up. */
static void add_site(struct sonde_heap_facts *facts, const struct sonde_heap_sum *sum, int is_of_peak)
{
	facts->largest_b = sum->largest_b > facts->largest_b ? sum->largest_b : facts->largest_b;
	facts->peak_variance += is_of_peak ? sum->peak_variance : 0;
	facts->begun_variance += sum->begun_variance;
	facts->left_variance += sum->left_variance;
}

void sonde_heap_facts_read(struct sonde_heap_facts *out, struct sonde_session *session)
{
	struct sonde_heap_sums sums;
	*out = (struct sonde_heap_facts){.why_not = why_none(session)};
	if (!sonde_session_heap_site_count(session))
		return;
	int rc = sonde_session_heap_sums(session, &sums);
	out->why_not = rc < 0 ? "unknown: some allocations cannot be read" : NULL;
	uint32_t highest = 0;
	for (uint32_t id = 1; sums.heaps && id <= sonde_session_heap_count(session); id++) {
		if (sonde_session_heap(session, id)->kind != SONDE_HEAP_MALLOC)
			continue;
		highest = sums.heaps[id].peak_b > out->peak_b ? id : highest;
		add_heap(out, &sums.heaps[id]);
	}
	for (uint32_t id = 1; sums.sites && id <= sonde_session_heap_site_count(session); id++) {
		const struct sonde_heap *heap = sonde_session_heap(session, sonde_session_heap_site(session, id)->heap);
		if (heap && heap->kind == SONDE_HEAP_MALLOC)
			add_site(out, &sums.sites[id], sonde_session_heap_site(session, id)->heap == highest);
	}
	if (!out->why_not && !out->begins && !sonde_session_run(session)->closed)
		out->why_not = "unknown: the recording ends before the first readable allocation";
	sonde_heap_sums_free(&sums);
}
