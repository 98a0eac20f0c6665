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
static int decode_times(struct sonde_column *column, size_t count, const struct sonde_chunk_head *head, uint64_t *out)
{
	uint64_t from = head->time_min_ns, delta;
	for (size_t i = 0; i < count; i += SONDE_HEAP_TIME_EVERY) {
		if (sonde_column_next(column, &delta))
			return -EBADMSG;
		from += delta;
		out[i] = from;
	}
	for (size_t i = 0; i < count; i += SONDE_HEAP_TIME_EVERY) {
		size_t run = count - i < SONDE_HEAP_TIME_EVERY ? count - i : SONDE_HEAP_TIME_EVERY;
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
	size_t count = data->head->count;
	*out = (struct sonde_heap_columns){.time_ns = memory};
	out->sizes = out->time_ns + count;
	out->sites = (uint32_t *)(out->sizes + count);
	out->threads = out->sites + count;
	out->ends = (uint8_t *)(out->threads + count);
	if (sonde_columns_split(columns, COLUMNS, data) || decode_blocks(&columns[BLOCK], count, site_max, out) ||
	    decode_sizes(&columns[SIZE], count, out->sizes) ||
	    decode_threads(&columns[THREAD], count, thread_max, out->threads) ||
	    decode_times(&columns[TIME], count, data->head, out->time_ns))
		return -EBADMSG;
	return 0;
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

/* What is found on the way, of a process. */
struct peak {
	size_t chunk;
	uint32_t at;
};

struct summing {
	struct sonde_session *session;
	struct sonde_heap_sums *sums;
	struct peak *peaks; /* as sums->processes */
	uint32_t *row_of;   /* by process id; row + 1 */
	struct sonde_chunk_data data;
};

static struct sonde_heap_process *process_of(struct summing *summing, uint32_t id)
{
	struct sonde_heap_sums *sums = summing->sums;
	if (id > summing->session->processes.count)
		return NULL;
	if (summing->row_of[id])
		return &sums->processes[summing->row_of[id] - 1];
	struct sonde_heap_process *rows = realloc(sums->processes, (sums->process_count + 1) * sizeof *rows);
	if (!rows)
		return NULL;
	sums->processes = rows;
	struct peak *peaks = realloc(summing->peaks, (sums->process_count + 1) * sizeof *peaks);
	if (!peaks)
		return NULL;
	summing->peaks = peaks;
	rows[sums->process_count] = (struct sonde_heap_process){.process = id};
	peaks[sums->process_count] = (struct peak){0};
	summing->row_of[id] = (uint32_t)++sums->process_count;
	return &rows[sums->process_count - 1];
}

/* The summary of a chunk, checked; the stats follow it. NULL when it makes no sense. */
static const struct sonde_heap_stat *read_summary(const struct sonde_chunk_data *data, struct sonde_heap_summary *out)
{
	size_t left_b = data->head->summary_b;
	if (left_b < sizeof *out)
		return NULL;
	memcpy(out, data->summary, sizeof *out);
	if (out->sites > (left_b - sizeof *out) / sizeof(struct sonde_heap_stat) || out->peak_at > data->head->count)
		return NULL;
	return (const struct sonde_heap_stat *)(const void *)(data->summary + sizeof *out);
}

static int add_chunk(struct summing *summing, size_t i)
{
	struct sonde_heap_summary summary;
	const struct sonde_heap_stat *stats = read_summary(&summing->data, &summary);
	const struct sonde_chunk_head *head = summing->data.head;
	struct sonde_heap_process *process = stats ? process_of(summing, head->process) : NULL;
	size_t sites = summing->session->heap_sites.count;
	if (!process)
		return -EBADMSG;
	process->mean_b = summary.mean_b;
	process->unknown += summary.unknown;
	if (summary.peak_b > process->peak_b) {
		process->peak_b = summary.peak_b;
		process->peak_blocks = summary.peak_blocks;
		process->peak_ns = head->time_min_ns;
		summing->peaks[process - summing->sums->processes] = (struct peak){i + 1, summary.peak_at};
	}
	for (size_t c = 0; c < SONDE_HEAP_CLASSES; c++) {
		summing->sums->size_classes[c] += summary.size_classes[c];
		summing->sums->life_classes[c] += summary.life_classes[c];
	}
	for (uint32_t row = 0; row < summary.sites; row++) {
		struct sonde_heap_stat stat;
		memcpy(&stat, &stats[row], sizeof stat);
		struct sonde_heap_sum *sum = &summing->sums->sites[stat.site <= sites ? stat.site : 0];
		sum->begins += stat.begins;
		sum->begun_b += stat.begun_b;
		sum->ends += stat.ends;
		sum->ended_b += stat.ended_b;
		sum->temporary += stat.temporary;
		sum->begun_variance += stat.begun_variance;
		sum->ended_variance += stat.ended_variance;
		process->begins += stat.begins;
		process->begun_b += stat.begun_b;
		process->ends += stat.ends;
		process->ended_b += stat.ended_b;
		process->temporary += stat.temporary;
	}
	return 0;
}

static int is_heap(const struct sonde_chunk_head *head)
{
	return head->type == SONDE_CHUNK_HEAP && head->version <= SONDE_CHUNK_VERSION;
}

/* What a chunk before the peak leaves alive. */
static void add_before(struct summing *summing)
{
	struct sonde_heap_summary summary;
	const struct sonde_heap_stat *stats = read_summary(&summing->data, &summary);
	size_t sites = summing->session->heap_sites.count;
	for (uint32_t row = 0; stats && row < summary.sites; row++) {
		struct sonde_heap_stat stat;
		memcpy(&stat, &stats[row], sizeof stat);
		struct sonde_heap_sum *sum = &summing->sums->sites[stat.site <= sites ? stat.site : 0];
		sum->peak_blocks += stat.begins - stat.ends;
		sum->peak_b += stat.begun_b - stat.ended_b;
	}
}

/* The events of the chunk with the peak, up to it. */
static int add_until(struct summing *summing, struct sonde_heap_process *process, uint32_t at)
{
	size_t count = summing->data.head->count;
	struct sonde_heap_columns columns;
	void *memory = malloc(count * SONDE_HEAP_ROW_B + 1);
	if (!memory)
		return sonde_error(ENOMEM, "out of memory for a heap chunk");
	int error = sonde_heap_decode(&columns, &summing->data, memory, UINT32_MAX,
				      (uint32_t)summing->session->heap_sites.count);
	for (uint32_t i = 0; !error && i < at; i++) {
		struct sonde_heap_sum *sum = &summing->sums->sites[columns.sites[i]];
		struct sonde_heap_worth worth = sonde_heap_worth(columns.sizes[i], process->mean_b);
		uint64_t sign = columns.ends[i] ? UINT64_MAX : 1;
		sum->peak_blocks += sign * worth.blocks;
		sum->peak_b += sign * worth.size_b;
	}
	if (!error && at)
		process->peak_ns = columns.time_ns[at - 1];
	free(memory);
	return error;
}

static int add_peaks(struct summing *summing)
{
	struct sonde_session *session = summing->session;
	int error = 0;
	for (size_t i = 0; error != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		uint32_t row =
		    is_heap(head) && head->process <= session->processes.count ? summing->row_of[head->process] : 0;
		const struct peak *peak = row ? &summing->peaks[row - 1] : NULL;
		if (!peak || i + 1 > peak->chunk)
			continue;
		int bad = i + 1 < peak->chunk ? sonde_reader_summary(session->reader, i, &summing->data)
					      : sonde_reader_read(session->reader, i, &summing->data);
		if (!bad && i + 1 < peak->chunk)
			add_before(summing);
		else if (!bad)
			bad = add_until(summing, &summing->sums->processes[row - 1], peak->at);
		error = bad ? bad : error;
	}
	return error;
}

int sonde_session_heap_sums(struct sonde_session *session, struct sonde_heap_sums *out)
{
	struct summing summing = {.session = session, .sums = out};
	int error = 0;
	*out = (struct sonde_heap_sums){.sites = calloc(session->heap_sites.count + 1, sizeof *out->sites)};
	summing.row_of = calloc(session->processes.count + 1, sizeof *summing.row_of);
	sonde_buf_init(&summing.data.buf, SONDE_READER_BUF_MAX_B);
	if (!out->sites || !summing.row_of)
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
	free(summing.row_of);
	free(summing.peaks);
	return error;
}

void sonde_heap_sums_free(struct sonde_heap_sums *sums)
{
	free(sums->sites);
	free(sums->processes);
	*sums = (struct sonde_heap_sums){0};
}
