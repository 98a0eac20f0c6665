/* heap.c: decodes HEAP chunks into columns and computes what is live at a point in time: what earlier chunks left live,
 * plus the events up to that time in the chunk that contains it. Only that chunk is decoded. */
#include "session/heap/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_stat.h"
#include "fold/heap_worth.h"
#include "format/bodies.h"
#include "format/record.h"
#include "trace/columns_read.h"
#include "session/state.h"
#include "trace/reader.h"
#include "util/error.h"

/* --- columns ----------------------------------------------------------------------------------------------------- */

/* The distinct forms of a chunk's events (a form is a call site and a size), read when an event first has them. */
struct forms {
	struct sonde_column sites_from, sizes_from;
	uint32_t *sites;
	uint64_t *sizes;
	size_t count;
	uint64_t site; /* site of the last form */
};

static int next_form(struct forms *forms, uint32_t site_max)
{
	uint64_t delta;
	if (sonde_column_next(&forms->sites_from, &delta) ||
	    sonde_column_next(&forms->sizes_from, &forms->sizes[forms->count]))
		return -EBADMSG;
	forms->site += (uint64_t)sonde_varint_unzigzag(delta);
	forms->sites[forms->count++] = forms->site <= site_max ? (uint32_t)forms->site : 0;
	return 0;
}

static int decode_blocks(struct sonde_column *column, size_t count, struct forms *forms, uint32_t site_max,
			 struct sonde_heap_columns *out)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t block;
		if (sonde_column_next(column, &block) || block >> 1 > forms->count)
			return -EBADMSG;
		if (block >> 1 == forms->count && next_form(forms, site_max))
			return -EBADMSG;
		out->sites[i] = forms->sites[block >> 1];
		out->sizes[i] = forms->sizes[block >> 1];
		out->ends[i] = block & 1;
	}
	return sonde_column_end(column) || sonde_column_end(&forms->sites_from) ? -EBADMSG
										: sonde_column_end(&forms->sizes_from);
}

/* Decodes the lifetimes. Only frees have a value in the column; allocations get 0. */
static int decode_lives(const struct sonde_column *column, size_t count, const uint8_t *ends, uint8_t *out)
{
	const uint8_t *at = column->at;
	for (size_t i = 0; i < count; i++) {
		if (ends[i] && at == column->end)
			return -EBADMSG;
		out[i] = ends[i] ? *at++ : 0;
	}
	return at == column->end ? 0 : -EBADMSG;
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

/* Interpolates linearly between exact times. */
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
	struct sonde_column columns[SONDE_HEAP_COLUMNS];
	struct sonde_heap_summary summary;
	size_t count = data->head->count;
	if (data->head->summary_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, data->summary, sizeof summary);
	*out = (struct sonde_heap_columns){
	    .time_ns = memory, .heap = summary.heap, .time_every = summary.time_every, .mean_b = summary.mean_b};
	out->sizes = out->time_ns + count;
	out->sites = (uint32_t *)(out->sizes + count);
	out->threads = out->sites + count;
	out->ends = (uint8_t *)(out->threads + count);
	out->lives = out->ends + count;
	if (!summary.time_every || sonde_columns_split(columns, SONDE_HEAP_COLUMNS, data))
		return -EBADMSG;
	struct forms forms = {
	    columns[SONDE_HEAP_COLUMN_SITE], columns[SONDE_HEAP_COLUMN_SIZE], out->threads, out->time_ns, 0, 0};
	if (decode_blocks(&columns[SONDE_HEAP_COLUMN_BLOCK], count, &forms, site_max, out) ||
	    decode_lives(&columns[SONDE_HEAP_COLUMN_LIFE], count, out->ends, out->lives) ||
	    decode_threads(&columns[SONDE_HEAP_COLUMN_THREAD], count, thread_max, out->threads) ||
	    decode_times(&columns[SONDE_HEAP_COLUMN_TIME], count, data->head, summary.time_every, out->time_ns))
		return -EBADMSG;
	return 0;
}

int sonde_heap_columns_read(struct sonde_heap_columns *out, const struct sonde_session *session,
			    const struct sonde_chunk_data *data)
{
	out->time_ns = NULL;
	if (data->head->count > data->head->raw_b)
		return -EBADMSG;
	void *memory = malloc(data->head->count * SONDE_HEAP_ROW_B + 1);
	if (!memory)
		return sonde_error(ENOMEM, "out of memory for a heap chunk");
	int rc = sonde_heap_decode(out, data, memory, UINT32_MAX, (uint32_t)session->heap_sites.count);
	if (rc) {
		free(memory);
		out->time_ns = NULL;
	}
	return rc;
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

int sonde_heap_summary(const struct sonde_session *session, const struct sonde_chunk_data *data,
		       struct sonde_heap_summary *out, struct sonde_heap_stats *stats)
{
	size_t left_b = data->head->summary_b;
	if (left_b < sizeof *out)
		return -EBADMSG;
	memcpy(out, data->summary, sizeof *out);
	if (out->sites > (left_b - sizeof *out) / SONDE_HEAP_STAT_LEAST_B || out->peak_at > data->head->count ||
	    !out->time_every || out->heap > session->heaps.count)
		return -EBADMSG;
	*stats = (struct sonde_heap_stats){.at = (const uint8_t *)data->summary + sizeof *out,
					   .end = (const uint8_t *)data->summary + left_b,
					   .left = out->sites,
					   .sampled = out->mean_b != 0};
	return 0;
}

int sonde_heap_stats_next(struct sonde_heap_stats *stats)
{
	if (!stats->left)
		return 0;
	stats->left--;
	stats->at = sonde_heap_stat_get(stats->at, stats->end, &stats->row, stats->row.site, stats->sampled);
	if (!stats->at)
		stats->left = 0;
	return stats->at != NULL;
}

int sonde_heap_add_whole(const struct sonde_session *session, const struct sonde_chunk_data *data,
			 struct sonde_heap_alive *sites)
{
	struct sonde_heap_summary summary;
	struct sonde_heap_stats stats;
	const struct sonde_heap_stat *stat = &stats.row;
	if (sonde_heap_summary(session, data, &summary, &stats))
		return -EBADMSG;
	while (sonde_heap_stats_next(&stats)) {
		struct sonde_heap_alive *site = &sites[stat->site <= session->heap_sites.count ? stat->site : 0];
		site->blocks += stat->begins - stat->ends;
		site->size_b += stat->begun_b - stat->ended_b;
		site->variance += stat->begun_variance - stat->ended_variance;
	}
	return 0;
}

/* Adds the events of a chunk one by one. This is for sampled blocks, whose variances are summed in the order of the
 * events. */
static int add_sampled(const struct sonde_session *session, const struct sonde_chunk_data *data, uint32_t at,
		       uint64_t until_ns, struct sonde_heap_alive *sites, uint64_t *last_ns)
{
	struct sonde_heap_columns columns;
	int rc = sonde_heap_columns_read(&columns, session, data);
	for (uint32_t i = 0; !rc && i < at && columns.time_ns[i] <= until_ns; i++) {
		struct sonde_heap_alive *site = &sites[columns.sites[i]];
		struct sonde_heap_worth worth = sonde_heap_worth(columns.sizes[i], columns.mean_b);
		uint64_t sign = columns.ends[i] ? UINT64_MAX : 1;
		site->blocks += sign * worth.blocks;
		site->size_b += sign * worth.size_b;
		site->variance += columns.ends[i] ? -worth.variance : worth.variance;
		*last_ns = columns.time_ns[i];
	}
	free(columns.time_ns);
	return rc;
}

/* How many of the first `at` events are at or before until_ns, and the time of the last of these. */
static int events_until(struct sonde_column *column, const struct sonde_chunk_head *head, uint32_t every, uint32_t at,
			uint64_t until_ns, uint64_t *last_ns)
{
	uint64_t mark = head->time_min_ns, next, delta;
	uint32_t count = 0;
	if (!at)
		return 0;
	if (sonde_column_next(column, &delta))
		return -EBADMSG;
	for (mark += delta; count < at && mark <= until_ns; mark = next) {
		uint32_t run = head->count - count < every ? head->count - count : every, taken = 1;
		next = head->time_max_ns;
		if (count + run < head->count) {
			if (sonde_column_next(column, &delta))
				return -EBADMSG;
			next = mark + delta;
		}
		uint64_t step = (next > mark ? next - mark : 0) / run;
		uint32_t most = at - count < run ? at - count : run;
		while (taken < most && mark + step * taken <= until_ns)
			taken++;
		*last_ns = mark + step * (taken - 1);
		count += taken;
		if (taken < run)
			break;
	}
	return (int)count;
}

/* Counts the occurrences of each form in the first `count` events; -EBADMSG. */
static int count_forms(struct sonde_column *column, uint32_t count, struct forms *forms, int64_t *left,
		       uint32_t site_max)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t block;
		if (sonde_column_next(column, &block) || block >> 1 > forms->count)
			return -EBADMSG;
		if (block >> 1 == forms->count) {
			left[forms->count] = 0;
			if (next_form(forms, site_max))
				return -EBADMSG;
		}
		left[block >> 1] += block & 1 ? -1 : 1;
	}
	return 0;
}

/* Adds the events of a chunk in which every block was recorded. Programs repeat the same allocations, so counting forms
 * is enough, and no event is stored. */
static int add_counted(const struct sonde_session *session, const struct sonde_chunk_data *data, uint32_t at,
		       uint64_t until_ns, struct sonde_heap_alive *sites, uint64_t *last_ns)
{
	struct sonde_column columns[SONDE_HEAP_COLUMNS];
	struct sonde_heap_summary summary;
	memcpy(&summary, data->summary, sizeof summary);
	if (!summary.time_every || sonde_columns_split(columns, SONDE_HEAP_COLUMNS, data))
		return -EBADMSG;
	uint64_t time_ns = 0;
	int count =
	    events_until(&columns[SONDE_HEAP_COLUMN_TIME], data->head, summary.time_every, at, until_ns, &time_ns);
	if (count <= 0)
		return count;
	size_t most = sonde_column_b(&columns[SONDE_HEAP_COLUMN_SITE]) + 1; /* a form takes at least a byte */
	struct forms forms = {.sites_from = columns[SONDE_HEAP_COLUMN_SITE],
			      .sizes_from = columns[SONDE_HEAP_COLUMN_SIZE]};
	forms.sites = malloc(most * sizeof *forms.sites);
	forms.sizes = malloc(most * sizeof *forms.sizes);
	int64_t *left = malloc(most * sizeof *left);
	int rc = forms.sites && forms.sizes && left ? 0 : sonde_error(ENOMEM, "out of memory for a heap chunk");
	if (!rc)
		rc = count_forms(&columns[SONDE_HEAP_COLUMN_BLOCK], (uint32_t)count, &forms, left,
				 (uint32_t)session->heap_sites.count);
	for (size_t i = 0; !rc && i < forms.count; i++) {
		sites[forms.sites[i]].blocks += (uint64_t)left[i];
		sites[forms.sites[i]].size_b += (uint64_t)left[i] * forms.sizes[i];
	}
	if (!rc)
		*last_ns = time_ns;
	free(forms.sites);
	free(forms.sizes);
	free(left);
	return rc;
}

int sonde_heap_add_some(const struct sonde_session *session, const struct sonde_chunk_data *data, uint32_t at,
			uint64_t until_ns, struct sonde_heap_alive *sites, uint64_t *last_ns)
{
	struct sonde_heap_summary summary;
	struct sonde_heap_stats stats;
	if (sonde_heap_summary(session, data, &summary, &stats) || data->head->count > data->head->raw_b)
		return -EBADMSG;
	uint32_t most = at < data->head->count ? at : data->head->count;
	return (summary.mean_b ? add_sampled : add_counted)(session, data, most, until_ns, sites, last_ns);
}

int sonde_session_heap_alive(struct sonde_session *session, uint64_t time_ns, struct sonde_heap_alive *sites)
{
	struct sonde_chunk_data data = {0};
	int rc = 0;
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; rc != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		uint64_t last_ns;
		if (!sonde_heap_is_chunk(head) || head->time_min_ns > time_ns)
			continue;
		int whole = head->time_max_ns <= time_ns;
		int bad = whole ? sonde_reader_summary(session->reader, i, &data)
				: sonde_reader_read(session->reader, i, &data);
		if (!bad)
			bad = whole ? sonde_heap_add_whole(session, &data, sites)
				    : sonde_heap_add_some(session, &data, head->count, time_ns, sites, &last_ns);
		rc = bad ? bad : rc;
	}
	sonde_buf_fini(&data.buf);
	return rc;
}
