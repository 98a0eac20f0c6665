/* timeline.c: what one heap held and did in each of many equal intervals.
 *
 * A chunk within one interval contributes its summary; one that spans several is decoded. At most as many chunks span
 * several intervals as there are borders between them. If threads are selected, all chunks are decoded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_worth.h"
#include "session/heap/heap.h"
#include "session/state.h"

struct drawing {
	struct sonde_session *session;
	uint32_t heap, process; /* process of the heap: chunks of other processes are skipped */
	const struct sonde_selection *range;
	struct sonde_heap_interval *rows;
	size_t count;
	size_t row; /* current interval */
	uint64_t live_b, live_blocks;
	struct sonde_chunk_data data;
};

static int is_wanted(const struct drawing *drawing, uint32_t site)
{
	const struct sonde_heap_site *row = sonde_session_heap_site(drawing->session, site);
	return !drawing->range->thread ||
	       (row && row->thread <= drawing->session->threads.count && drawing->range->thread[row->thread]);
}

static void try_peak(struct sonde_heap_interval *row, uint64_t live_b, uint64_t live_blocks)
{
	if ((int64_t)live_b > (int64_t)row->peak_b) {
		row->peak_b = live_b;
		row->peak_blocks = live_blocks;
	}
}

/* Advances to the interval of a time: each interval passed ends with the live amount, with which the next one
 * begins. */
static struct sonde_heap_interval *row_at(struct drawing *drawing, uint64_t time_ns)
{
	const struct sonde_selection *range = drawing->range;
	double span = (double)(range->to_ns - range->from_ns), at = (double)(time_ns - range->from_ns);
	size_t row = span > 0 ? (size_t)(at / span * (double)drawing->count) : 0;
	row = row < drawing->count ? row : drawing->count - 1;
	while (drawing->row < row) {
		drawing->rows[drawing->row].live_b = drawing->live_b;
		drawing->rows[drawing->row].live_blocks = drawing->live_blocks;
		try_peak(&drawing->rows[++drawing->row], drawing->live_b, drawing->live_blocks);
	}
	return &drawing->rows[row > drawing->row ? row : drawing->row];
}

static void add_stats(struct drawing *drawing, struct sonde_heap_stats *stats, struct sonde_heap_interval *row)
{
	const struct sonde_heap_stat *stat = &stats->row;
	while (sonde_heap_stats_next(stats)) {
		if (!is_wanted(drawing, stat->site))
			continue;
		drawing->live_b += stat->begun_b - stat->ended_b;
		drawing->live_blocks += stat->begins - stat->ends;
		if (!row)
			continue;
		row->begins += stat->begins;
		row->begun_b += stat->begun_b;
		row->ends += stat->ends;
		row->ended_b += stat->ended_b;
	}
}

static void add_event(struct drawing *drawing, const struct sonde_heap_columns *columns, size_t i)
{
	if (!is_wanted(drawing, columns->sites[i]))
		return;
	struct sonde_heap_worth worth = sonde_heap_worth(columns->sizes[i], columns->mean_b);
	int inside = columns->time_ns[i] >= drawing->range->from_ns;
	struct sonde_heap_interval *row = inside ? row_at(drawing, columns->time_ns[i]) : NULL;
	uint64_t sign = columns->ends[i] ? UINT64_MAX : 1;
	drawing->live_b += sign * worth.size_b;
	drawing->live_blocks += sign * worth.blocks;
	if (!row) { /* the amount live at the start is the minimum of the first row */
		drawing->rows->peak_b = drawing->live_b;
		drawing->rows->peak_blocks = drawing->live_blocks;
		return;
	}
	row->begins += columns->ends[i] ? 0 : worth.blocks;
	row->begun_b += columns->ends[i] ? 0 : worth.size_b;
	row->ends += columns->ends[i] ? worth.blocks : 0;
	row->ended_b += columns->ends[i] ? worth.size_b : 0;
	try_peak(row, drawing->live_b, drawing->live_blocks);
}

static int add_events(struct drawing *drawing)
{
	struct sonde_heap_columns columns;
	int rc = sonde_heap_columns_read(&columns, drawing->session, &drawing->data);
	for (size_t i = 0; !rc && i < drawing->data.head->count && columns.time_ns[i] < drawing->range->to_ns; i++)
		add_event(drawing, &columns, i);
	free(columns.time_ns);
	return rc;
}

/* True if a chunk lies within a single interval. */
static int is_in_one(const struct drawing *drawing, const struct sonde_chunk_head *head)
{
	double span = (double)(drawing->range->to_ns - drawing->range->from_ns), count = (double)drawing->count;
	double from = (double)(head->time_min_ns - drawing->range->from_ns) / span * count;
	double to = (double)(head->time_max_ns - drawing->range->from_ns) / span * count;
	return (size_t)from == (size_t)to;
}

static int read_chunk(struct drawing *drawing, size_t i)
{
	struct sonde_session *session = drawing->session;
	const struct sonde_selection *range = drawing->range;
	const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
	struct sonde_heap_summary summary;
	struct sonde_heap_stats stats;
	if (!sonde_heap_is_chunk(head) || head->time_min_ns >= range->to_ns || head->process != drawing->process)
		return 0;
	int rc = sonde_reader_summary(session->reader, i, &drawing->data);
	rc = rc ? rc : sonde_heap_summary(session, &drawing->data, &summary, &stats);
	if (rc)
		return rc;
	if (summary.heap != drawing->heap)
		return 0;
	if (head->time_max_ns < range->from_ns) {
		add_stats(drawing, &stats, NULL);
		drawing->rows->peak_b = drawing->live_b;
		drawing->rows->peak_blocks = drawing->live_blocks;
		return 0;
	}
	if (!range->thread) {
		drawing->live_b = summary.live_b;
		drawing->live_blocks = summary.live_blocks;
	}
	if (range->thread || head->time_min_ns < range->from_ns || head->time_max_ns >= range->to_ns ||
	    !is_in_one(drawing, head)) {
		rc = sonde_reader_read(session->reader, i, &drawing->data);
		return rc ? rc : add_events(drawing);
	}
	struct sonde_heap_interval *row = row_at(drawing, head->time_min_ns);
	try_peak(row, summary.peak_b, summary.peak_blocks);
	add_stats(drawing, &stats, row);
	return 0;
}

int sonde_session_heap_timeline(struct sonde_session *session, uint32_t heap, const struct sonde_selection *range,
				struct sonde_heap_interval *rows, size_t count)
{
	const struct sonde_heap *of = sonde_session_heap(session, heap);
	struct drawing drawing = {.session = session,
				  .heap = heap,
				  .process = of ? of->process : 0,
				  .range = range,
				  .rows = rows,
				  .count = count};
	int rc = 0;
	if (!count || range->to_ns <= range->from_ns)
		return 0;
	memset(rows, 0, count * sizeof *rows);
	sonde_buf_init(&drawing.data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; rc != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		int bad = read_chunk(&drawing, i);
		rc = bad ? bad : rc;
	}
	row_at(&drawing, range->to_ns);
	drawing.rows[count - 1].live_b = drawing.live_b;
	drawing.rows[count - 1].live_blocks = drawing.live_blocks;
	sonde_buf_fini(&drawing.data.buf);
	return rc;
}
