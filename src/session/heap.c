/* heap.c: HEAP chunks: their columns, and the sums that their summaries give.
 *
 * Sums read summaries alone. What each site held at the peak of its process is what chunks before the one with the peak
 * left alive, and then that chunk's events up to the peak, which are decoded.
 */
#include "session/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_worth.h"
#include "format/record.h"
#include "session/columns.h"
#include "session/state.h"
#include "trace/reader.h"
#include "util/error.h"

enum { BLOCK, SIZE, LIFE, THREAD, TIME, COLUMNS };

/* --- columns ----------------------------------------------------------------------------------------------------- */

static int decode_blocks(struct sonde_column *column, size_t count, uint32_t site_max, struct sonde_heap_columns *out)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t block;
		if (sonde_column_next(column, &block))
			return -EBADMSG;
		out->sites[i] = block >> 1 <= site_max ? (uint32_t)(block >> 1) : 0;
		out->ends[i] = block & 1;
	}
	return sonde_column_end(column);
}

static int decode_sizes(struct sonde_column *column, size_t count, uint64_t *out)
{
	for (size_t i = 0; i < count; i++)
		if (sonde_column_next(column, &out[i]))
			return -EBADMSG;
	return sonde_column_end(column);
}

static int decode_threads(struct sonde_column *column, size_t count, uint32_t thread_max, uint32_t *out)
{
	uint64_t thread, run;
	for (size_t i = 0; i < count; i += run) {
		if (sonde_column_next(column, &thread) || sonde_column_next(column, &run) || !run || run > count - i)
			return -EBADMSG;
		for (uint64_t j = 0; j < run; j++)
			out[i + j] = thread <= thread_max ? (uint32_t)thread : 0;
	}
	return sonde_column_end(column);
}

/* Between marks time is spread evenly. */
static int decode_times(struct sonde_column *column, size_t count, const struct sonde_chunk_head *head, size_t every,
			uint64_t *out)
{
	uint64_t from = head->time_min_ns, delta;
	for (size_t i = 0; i < count; i += every) {
		if (sonde_column_next(column, &delta))
			return -EBADMSG;
		from += delta;
		out[i] = from;
	}
	for (size_t i = 0; i < count; i += every) {
		size_t run = count - i < every ? count - i : every;
		uint64_t next = i + run < count ? out[i + run] : head->time_max_ns;
		uint64_t span = next > out[i] ? next - out[i] : 0;
		for (size_t j = 1; j < run; j++)
			out[i + j] = out[i] + span / run * j;
	}
	return sonde_column_end(column);
}

int sonde_heap_decode(struct sonde_heap_columns *out, const struct sonde_chunk_data *data, void *memory,
		      uint32_t thread_max, uint32_t site_max)
{
	struct sonde_column columns[COLUMNS];
	struct sonde_heap_summary summary;
	size_t count = data->head->count;
	if (data->head->summary_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, data->summary, sizeof summary);
	*out = (struct sonde_heap_columns){.time_ns = memory, .heap = summary.heap};
	out->sizes = out->time_ns + count;
	out->sites = (uint32_t *)(out->sizes + count);
	out->threads = out->sites + count;
	out->ends = (uint8_t *)(out->threads + count);
	if (!summary.time_every || sonde_columns_split(columns, COLUMNS, data) ||
	    decode_blocks(&columns[BLOCK], count, site_max, out) || decode_sizes(&columns[SIZE], count, out->sizes) ||
	    decode_threads(&columns[THREAD], count, thread_max, out->threads) ||
	    decode_times(&columns[TIME], count, data->head, summary.time_every, out->time_ns))
		return -EBADMSG;
	return 0;
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

/* The summary of a chunk, checked; the stats follow it. NULL when it makes no sense. */
static const struct sonde_heap_stat *read_summary(const struct sonde_session *session,
						  const struct sonde_chunk_data *data, struct sonde_heap_summary *out)
{
	size_t left_b = data->head->summary_b;
	if (left_b < sizeof *out)
		return NULL;
	memcpy(out, data->summary, sizeof *out);
	if (out->sites > (left_b - sizeof *out) / sizeof(struct sonde_heap_stat) || out->peak_at > data->head->count ||
	    !out->time_every || out->heap > session->heaps.count)
		return NULL;
	return (const struct sonde_heap_stat *)(const void *)(data->summary + sizeof *out);
}

static int is_heap(const struct sonde_chunk_head *head)
{
	return head->type == SONDE_CHUNK_HEAP && head->version <= SONDE_CHUNK_VERSION;
}

/* What a chunk leaves alive beyond what was alive before it. */
static int add_whole(const struct sonde_session *session, const struct sonde_chunk_data *data,
		     struct sonde_heap_alive *sites)
{
	struct sonde_heap_summary summary;
	const struct sonde_heap_stat *stats = read_summary(session, data, &summary);
	if (!stats)
		return -EBADMSG;
	for (uint32_t row = 0; row < summary.sites; row++) {
		struct sonde_heap_stat stat;
		memcpy(&stat, &stats[row], sizeof stat);
		struct sonde_heap_alive *site = &sites[stat.site <= session->heap_sites.count ? stat.site : 0];
		site->blocks += stat.begins - stat.ends;
		site->size_b += stat.begun_b - stat.ended_b;
	}
	return 0;
}

/* What its events leave alive: the first `at` of them, and none that is later than until_ns. The time of the last. */
static int add_some(const struct sonde_session *session, const struct sonde_chunk_data *data, uint32_t at,
		    uint64_t until_ns, struct sonde_heap_alive *sites, uint64_t *last_ns)
{
	struct sonde_heap_summary summary;
	struct sonde_heap_columns columns;
	if (!read_summary(session, data, &summary))
		return -EBADMSG;
	void *memory = malloc(data->head->count * SONDE_HEAP_ROW_B + 1);
	if (!memory)
		return sonde_error(ENOMEM, "out of memory for a heap chunk");
	int error = sonde_heap_decode(&columns, data, memory, UINT32_MAX, (uint32_t)session->heap_sites.count);
	for (uint32_t i = 0; !error && i < at && columns.time_ns[i] <= until_ns; i++) {
		struct sonde_heap_alive *site = &sites[columns.sites[i]];
		struct sonde_heap_worth worth = sonde_heap_worth(columns.sizes[i], summary.mean_b);
		uint64_t sign = columns.ends[i] ? UINT64_MAX : 1;
		site->blocks += sign * worth.blocks;
		site->size_b += sign * worth.size_b;
		*last_ns = columns.time_ns[i];
	}
	free(memory);
	return error;
}

int sonde_session_heap_alive(struct sonde_session *session, uint64_t time_ns, struct sonde_heap_alive *sites)
{
	struct sonde_chunk_data data = {0};
	int error = 0;
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; error != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		uint64_t last_ns;
		if (!is_heap(head) || head->time_min_ns > time_ns)
			continue;
		int whole = head->time_max_ns <= time_ns;
		int bad = whole ? sonde_reader_summary(session->reader, i, &data)
				: sonde_reader_read(session->reader, i, &data);
		if (!bad)
			bad = whole ? add_whole(session, &data, sites)
				    : add_some(session, &data, head->count, time_ns, sites, &last_ns);
		error = bad ? bad : error;
	}
	sonde_buf_fini(&data.buf);
	return error;
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

/* Where the peak of a heap was found. */
struct peak {
	size_t chunk; /* + 1; 0 = nowhere */
	uint32_t at;
};

struct summing {
	struct sonde_session *session;
	struct sonde_heap_sums *sums;
	struct peak *peaks; /* by heap id */
	struct sonde_chunk_data data;
};

static void add_stat(struct sonde_heap_sum *sum, struct sonde_heap_total *total, const struct sonde_heap_stat *stat)
{
	sum->begins += stat->begins;
	sum->begun_b += stat->begun_b;
	sum->ends += stat->ends;
	sum->ended_b += stat->ended_b;
	sum->temporary += stat->temporary;
	sum->begun_variance += stat->begun_variance;
	sum->ended_variance += stat->ended_variance;
	total->begins += stat->begins;
	total->begun_b += stat->begun_b;
	total->ends += stat->ends;
	total->ended_b += stat->ended_b;
	total->temporary += stat->temporary;
}

static int add_chunk(struct summing *summing, size_t i)
{
	struct sonde_heap_summary summary;
	const struct sonde_heap_stat *stats = read_summary(summing->session, &summing->data, &summary);
	const struct sonde_chunk_head *head = summing->data.head;
	size_t sites = summing->session->heap_sites.count;
	if (!stats)
		return -EBADMSG;
	struct sonde_heap_total *total = &summing->sums->heaps[summary.heap];
	total->mean_b = summary.mean_b;
	total->unknown += summary.unknown;
	if (summary.peak_b > total->peak_b) {
		total->peak_b = summary.peak_b;
		total->peak_blocks = summary.peak_blocks;
		total->peak_ns = head->time_min_ns;
		summing->peaks[summary.heap] = (struct peak){i + 1, summary.peak_at};
	}
	for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++) {
		total->size_classes[c] += summary.size_classes[c];
		total->life_classes[c] += summary.life_classes[c];
	}
	for (uint32_t row = 0; row < summary.sites; row++) {
		struct sonde_heap_stat stat;
		memcpy(&stat, &stats[row], sizeof stat);
		add_stat(&summing->sums->sites[stat.site <= sites ? stat.site : 0], total, &stat);
	}
	return 0;
}

/* What was alive at the peak of each heap: what its chunks before that one left, and that chunk's events up to it. */
static int add_peaks(struct summing *summing)
{
	struct sonde_session *session = summing->session;
	size_t sites = session->heap_sites.count;
	struct sonde_heap_alive *alive = calloc(sites + 1, sizeof *alive);
	int error = alive ? 0 : sonde_error(ENOMEM, "out of memory for %zu places that allocate", sites);
	for (size_t i = 0; error != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		struct sonde_heap_summary summary;
		if (!is_heap(&sonde_reader_entry(session->reader, i)->head) ||
		    sonde_reader_summary(session->reader, i, &summing->data) ||
		    !read_summary(session, &summing->data, &summary) || i + 1 > summing->peaks[summary.heap].chunk)
			continue;
		uint64_t *peak_ns = &summing->sums->heaps[summary.heap].peak_ns;
		int bad;
		if (i + 1 < summing->peaks[summary.heap].chunk)
			bad = add_whole(session, &summing->data, alive);
		else if (!(bad = sonde_reader_read(session->reader, i, &summing->data)))
			bad = add_some(session, &summing->data, summing->peaks[summary.heap].at, UINT64_MAX, alive,
				       peak_ns);
		error = bad ? bad : error;
	}
	for (size_t i = 0; alive && i <= sites; i++) {
		summing->sums->sites[i].peak_blocks = alive[i].blocks;
		summing->sums->sites[i].peak_b = alive[i].size_b;
	}
	free(alive);
	return error;
}

int sonde_session_heap_sums(struct sonde_session *session, struct sonde_heap_sums *out)
{
	struct summing summing = {.session = session, .sums = out};
	int error = 0;
	*out = (struct sonde_heap_sums){.sites = calloc(session->heap_sites.count + 1, sizeof *out->sites),
					.heaps = calloc(session->heaps.count + 1, sizeof *out->heaps)};
	summing.peaks = calloc(session->heaps.count + 1, sizeof *summing.peaks);
	sonde_buf_init(&summing.data.buf, SONDE_READER_BUF_MAX_B);
	if (!out->sites || !out->heaps || !summing.peaks)
		error = sonde_error(ENOMEM, "out of memory for %zu places that allocate", session->heap_sites.count);
	for (size_t i = 0; error != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		if (!is_heap(&sonde_reader_entry(session->reader, i)->head))
			continue;
		int bad = sonde_reader_summary(session->reader, i, &summing.data);
		bad = bad ? bad : add_chunk(&summing, i);
		error = bad ? bad : error;
	}
	if (error != -ENOMEM) {
		int bad = add_peaks(&summing);
		error = bad ? bad : error;
	}
	sonde_buf_fini(&summing.data.buf);
	free(summing.peaks);
	return error;
}

void sonde_heap_sums_free(struct sonde_heap_sums *sums)
{
	free(sums->sites);
	free(sums->heaps);
	*sums = (struct sonde_heap_sums){0};
}
