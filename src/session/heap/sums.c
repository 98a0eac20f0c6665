/* sums.c: sums of each site and each heap over a range of a recording.
 *
 * Chunks entirely within the range contribute their summaries; those at its ends are decoded. If threads are selected,
 * all chunks are decoded, because totals and peaks in summaries cover all threads. The bytes of a site at the peak of
 * its heap are computed from what the earlier chunks left live, plus the events up to the peak in the chunk that
 * contains it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_class.h"
#include "fold/heap_worth.h"
#include "session/heap/heap.h"
#include "session/state.h"
#include "util/error.h"

/* Position of the peak of a heap. */
struct peak {
	size_t chunk; /* index + 1; 0 = none */
	uint32_t at;  /* number of its events up to the peak */
	int entered;  /* the range contains events of the heap */
	uint64_t live_b, live_blocks;
};

struct summing {
	struct sonde_session *session;
	const struct sonde_selection *range;
	uint64_t to_ns;
	struct sonde_heap_sums *sums;
	struct peak *peaks;   /* by heap id */
	const uint8_t *wants; /* by site id: selected; NULL = all */
	struct sonde_chunk_data data;
};

/* The row of a site; NULL if it is not selected. */
static struct sonde_heap_sum *row_of(const struct summing *summing, uint32_t site)
{
	size_t id = site <= summing->session->heap_sites.count ? site : 0;
	return !summing->wants || summing->wants[id] ? &summing->sums->sites[id] : NULL;
}

static void add_counts(struct sonde_heap_sum *sum, struct sonde_heap_total *total, const struct sonde_heap_stat *stat)
{
	sum->begins += stat->begins;
	sum->begun_b += stat->begun_b;
	sum->ends += stat->ends;
	sum->ended_b += stat->ended_b;
	sum->temporary += stat->temporary;
	sum->begun_variance += stat->begun_variance;
	sum->ended_variance += stat->ended_variance;
	sum->largest_b = stat->largest_b > sum->largest_b ? stat->largest_b : sum->largest_b;
	total->begins += stat->begins;
	total->begun_b += stat->begun_b;
	total->ends += stat->ends;
	total->ended_b += stat->ended_b;
	total->temporary += stat->temporary;
}

static void add_left(struct sonde_heap_sum *sum, struct peak *peak, const struct sonde_heap_stat *stat)
{
	uint64_t size_b = stat->begun_b - stat->ended_b, blocks = stat->begins - stat->ends;
	sum->left_b += size_b;
	sum->left_blocks += blocks;
	sum->left_variance += stat->begun_variance - stat->ended_variance;
	peak->live_b += size_b;
	peak->live_blocks += blocks;
}

/* Updates the peak with an amount that was live within the range. */
static void try_peak(struct summing *summing, uint32_t heap, size_t chunk, uint32_t at, uint64_t time_ns)
{
	struct sonde_heap_total *total = &summing->sums->heaps[heap];
	struct peak *peak = &summing->peaks[heap];
	peak->entered = 1;
	if ((int64_t)peak->live_b <= (int64_t)total->peak_b) /* negative if allocations are missing */
		return;
	total->peak_b = peak->live_b;
	total->peak_blocks = peak->live_blocks;
	total->peak_ns = time_ns;
	peak->chunk = chunk + 1;
	peak->at = at;
}

/* --- a chunk ----------------------------------------------------------------------------------------------------- */

static void add_stats(struct summing *summing, uint32_t heap, struct sonde_heap_stats *stats, int counts)
{
	while (sonde_heap_stats_next(stats)) {
		struct sonde_heap_sum *sum = row_of(summing, stats->row.site);
		if (sum)
			add_left(sum, &summing->peaks[heap], &stats->row);
		if (sum && counts)
			add_counts(sum, &summing->sums->heaps[heap], &stats->row);
	}
}

static void add_chunk(struct summing *summing, size_t i, const struct sonde_heap_summary *summary,
		      struct sonde_heap_stats *stats)
{
	struct sonde_heap_total *total = &summing->sums->heaps[summary->heap];
	struct peak *peak = &summing->peaks[summary->heap];
	uint64_t min_ns = summing->data.head->time_min_ns;
	if (!peak->entered && summing->range->from_ns)
		try_peak(summing, summary->heap, i, 0, summing->range->from_ns);
	total->unknown += summary->unknown;
	for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++) {
		total->size_classes[c] += summary->size_classes[c];
		total->life_classes[c] += summary->life_classes[c];
	}
	add_stats(summing, summary->heap, stats, 1);
	struct peak after = *peak;
	peak->live_b = summary->peak_b;
	peak->live_blocks = summary->peak_blocks;
	try_peak(summing, summary->heap, i, summary->peak_at, min_ns);
	peak->live_b = after.live_b;
	peak->live_blocks = after.live_blocks;
}

static struct sonde_heap_stat stat_of(const struct sonde_heap_columns *columns, size_t i)
{
	struct sonde_heap_worth worth = sonde_heap_worth(columns->sizes[i], columns->mean_b);
	if (columns->ends[i])
		return (struct sonde_heap_stat){
		    .ends = worth.blocks,
		    .ended_b = worth.size_b,
		    .ended_variance = worth.variance,
		    .temporary = columns->lives[i] & SONDE_HEAP_TEMPORARY ? (uint32_t)worth.blocks : 0};
	return (struct sonde_heap_stat){.begins = worth.blocks,
					.begun_b = worth.size_b,
					.begun_variance = worth.variance,
					.largest_b = columns->sizes[i]};
}

static void add_event(struct summing *summing, size_t chunk, uint32_t heap, const struct sonde_heap_columns *columns,
		      uint32_t i)
{
	struct sonde_heap_total *total = &summing->sums->heaps[heap];
	struct sonde_heap_sum *sum = row_of(summing, columns->sites[i]);
	struct peak *peak = &summing->peaks[heap];
	int inside = columns->time_ns[i] >= summing->range->from_ns;
	if (inside && !peak->entered)
		try_peak(summing, heap, chunk, i,
			 summing->range->from_ns ? summing->range->from_ns : columns->time_ns[i]);
	if (!sum)
		return;
	struct sonde_heap_stat stat = stat_of(columns, i);
	add_left(sum, peak, &stat);
	if (!inside)
		return;
	add_counts(sum, total, &stat);
	if (columns->ends[i]) {
		unsigned class = columns->lives[i] & (SONDE_HEAP_TEMPORARY - 1u);
		total->life_classes[class < SONDE_HEAP_CLASSES ? class : SONDE_HEAP_CLASSES - 1] += stat.ends;
	} else {
		total->size_classes[sonde_heap_class(columns->sizes[i])] += stat.begins;
		try_peak(summing, heap, chunk, i + 1, columns->time_ns[i]);
	}
}

static int add_events(struct summing *summing, size_t i, uint32_t heap)
{
	struct sonde_heap_columns columns;
	int rc = sonde_heap_columns_read(&columns, summing->session, &summing->data);
	for (uint32_t at = 0; !rc && at < summing->data.head->count && columns.time_ns[at] < summing->to_ns; at++)
		add_event(summing, i, heap, &columns, at);
	free(columns.time_ns);
	return rc;
}

static int read_chunk(struct summing *summing, size_t i)
{
	struct sonde_session *session = summing->session;
	const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
	struct sonde_heap_summary summary;
	int before = head->time_max_ns < summing->range->from_ns, after = head->time_min_ns >= summing->to_ns;
	int whole = head->time_min_ns >= summing->range->from_ns && head->time_max_ns < summing->to_ns;
	int decode = !before && !after && (summing->wants || !whole);
	int rc = decode ? sonde_reader_read(session->reader, i, &summing->data)
			: sonde_reader_summary(session->reader, i, &summing->data);
	if (rc)
		return rc;
	struct sonde_heap_stats stats;
	if (sonde_heap_summary(session, &summing->data, &summary, &stats))
		return -EBADMSG;
	struct peak *peak = &summing->peaks[summary.heap];
	summing->sums->heaps[summary.heap].mean_b = summary.mean_b;
	if (!summing->wants && !after) { /* correct even if an earlier chunk was unreadable */
		peak->live_b = summary.live_b;
		peak->live_blocks = summary.live_blocks;
	}
	uint64_t *first_ns = &summing->sums->heaps[summary.heap].first_ns;
	if (!before && !after && !*first_ns)
		*first_ns = head->time_min_ns;
	if (before)
		add_stats(summing, summary.heap, &stats, 0);
	else if (after && !peak->entered)
		try_peak(summing, summary.heap, i, 0, summing->range->from_ns);
	else if (decode)
		return add_events(summing, i, summary.heap);
	else if (!after)
		add_chunk(summing, i, &summary, &stats);
	return 0;
}

/* --- the sums ---------------------------------------------------------------------------------------------------- */

/* What was live at the peak of each heap: left by the chunks before the peak's chunk, plus that chunk's events up to
 * it. */
static int add_peaks(struct summing *summing)
{
	struct sonde_session *session = summing->session;
	size_t sites = session->heap_sites.count;
	struct sonde_heap_alive *alive = calloc(sites + 1, sizeof *alive);
	int rc = alive ? 0 : sonde_error(ENOMEM, "out of memory for %zu places that allocate", sites);
	for (size_t i = 0; rc != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		struct sonde_heap_summary summary;
		struct sonde_heap_stats stats;
		if (!sonde_heap_is_chunk(&sonde_reader_entry(session->reader, i)->head) ||
		    sonde_reader_summary(session->reader, i, &summing->data) ||
		    sonde_heap_summary(session, &summing->data, &summary, &stats))
			continue;
		const struct peak *peak = &summing->peaks[summary.heap];
		uint64_t *peak_ns = &summing->sums->heaps[summary.heap].peak_ns;
		int bad = 0;
		if (i + 1 < peak->chunk)
			bad = sonde_heap_add_whole(session, &summing->data, alive);
		else if (i + 1 == peak->chunk && peak->at &&
			 !(bad = sonde_reader_read(session->reader, i, &summing->data)))
			bad = sonde_heap_add_some(session, &summing->data, peak->at, UINT64_MAX, alive, peak_ns);
		rc = bad ? bad : rc;
	}
	for (size_t i = 0; alive && i <= sites; i++) {
		struct sonde_heap_sum *sum = row_of(summing, (uint32_t)i);
		if (!sum)
			continue;
		sum->peak_blocks = alive[i].blocks;
		sum->peak_b = alive[i].size_b;
		sum->peak_variance = alive[i].variance;
	}
	free(alive);
	return rc;
}

/* By site id: whether a selected thread allocates there. */
static uint8_t *sites_chosen(const struct sonde_session *session, const uint8_t *thread)
{
	uint8_t *wants = calloc(session->heap_sites.count + 1, 1);
	for (uint32_t id = 1; wants && id <= session->heap_sites.count; id++) {
		uint32_t of = sonde_session_heap_site(session, id)->thread;
		wants[id] = of <= session->threads.count && thread[of];
	}
	return wants;
}

static void add_ends(struct summing *summing)
{
	for (uint32_t heap = 0; heap <= summing->session->heaps.count; heap++) {
		struct peak *peak = &summing->peaks[heap];
		struct sonde_heap_total *total = &summing->sums->heaps[heap];
		if (!peak->entered) /* no events in the range or after it */
			try_peak(summing, heap, sonde_reader_count(summing->session->reader), 0,
				 summing->range->from_ns);
		total->left_b = peak->live_b;
		total->left_blocks = peak->live_blocks;
	}
}

static int sum_up(struct sonde_session *session, const struct sonde_selection *range, struct sonde_heap_sums *out)
{
	struct summing summing = {.session = session, .sums = out, .range = range};
	uint8_t *wants = NULL;
	int rc = 0;
	summing.to_ns = summing.range->to_ns ? summing.range->to_ns : UINT64_MAX;
	*out = (struct sonde_heap_sums){.sites = calloc(session->heap_sites.count + 1, sizeof *out->sites),
					.heaps = calloc(session->heaps.count + 1, sizeof *out->heaps)};
	summing.peaks = calloc(session->heaps.count + 1, sizeof *summing.peaks);
	if (summing.range->thread)
		summing.wants = wants = sites_chosen(session, summing.range->thread);
	sonde_buf_init(&summing.data.buf, SONDE_READER_BUF_MAX_B);
	if (!out->sites || !out->heaps || !summing.peaks || (summing.range->thread && !wants))
		rc = sonde_error(ENOMEM, "out of memory for %zu places that allocate", session->heap_sites.count);
	for (size_t i = 0; rc != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		if (!sonde_heap_is_chunk(&sonde_reader_entry(session->reader, i)->head))
			continue;
		int bad = read_chunk(&summing, i);
		rc = bad ? bad : rc;
	}
	if (rc != -ENOMEM) {
		add_ends(&summing);
		int bad = add_peaks(&summing);
		rc = bad ? bad : rc;
	}
	sonde_buf_fini(&summing.data.buf);
	free(summing.peaks);
	free(wants);
	return rc;
}

/* Caches the sums, since the sections of a report ask for the same ones. Not if a chunk was unreadable: each caller
 * then retries and gets the error message. */
static int keep(struct sonde_session *session, const struct sonde_selection *range, struct sonde_heap_sums *out)
{
	out->users = malloc(sizeof *out->users);
	if (!out->users)
		return sonde_error(ENOMEM, "out of memory for the heap");
	sonde_heap_sums_free(&session->heap_sums);
	*out->users = 2;
	session->heap_sums = *out;
	session->heap_summed = *range;
	return 0;
}

int sonde_session_heap_sums_of(struct sonde_session *session, const struct sonde_selection *range,
			       struct sonde_heap_sums *out)
{
	static const struct sonde_selection whole;
	const struct sonde_selection *last = &session->heap_summed;
	range = range ? range : &whole;
	if (session->heap_sums.users && !range->thread && range->from_ns == last->from_ns &&
	    range->to_ns == last->to_ns) {
		*out = session->heap_sums;
		++*out->users;
		return 0;
	}
	int rc = sum_up(session, range, out);
	return rc || range->thread ? rc : keep(session, range, out);
}

int sonde_session_heap_sums(struct sonde_session *session, struct sonde_heap_sums *out)
{
	return sonde_session_heap_sums_of(session, NULL, out);
}

void sonde_heap_sums_free(struct sonde_heap_sums *sums)
{
	if (!sums->users || !--*sums->users) {
		free(sums->sites);
		free(sums->heaps);
		free(sums->users);
	}
	*sums = (struct sonde_heap_sums){0};
}
