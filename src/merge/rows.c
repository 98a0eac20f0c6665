/* rows.c: samples, switches and readings of all recordings, row by row in the order of their times.
 *
 * Each recording is a stream of rows of which a chunk is decoded at a time; the stream whose next row is the earliest
 * gives it. Where a recording itself goes back in time (rows that were added up at its end), a new chunk begins, since
 * times of a chunk cannot fall.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "merge/out.h"
#include "source/columns.h"
#include "util/error.h"

enum { ROWS_A_CHUNK = 16384 };

struct stream {
	const struct sonde_merge_input *input;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t at;
	uint64_t time_ns; /* of the row `at`, in the new clock */
	size_t index;
};

struct rows {
	struct sonde_merge_out *out;
	struct stream *streams;
	struct stream **heap; /* those that have a row, the earliest first */
	size_t left;
	struct sonde_columns columns;
	uint32_t stack; /* of the row before */
	uint64_t weight;
	int64_t *last; /* by series: its value before */
	int has_cpu, has_waker;
};

struct kind {
	enum sonde_chunk_type type;
	size_t columns;
	void (*put)(struct rows *rows, const struct stream *stream);
};

/* --- one row ----------------------------------------------------------------------------------------------------- */

static void put_change(struct sonde_columns *columns, size_t column, uint64_t value, uint64_t before)
{
	sonde_columns_put(columns, column, sonde_varint_zigzag((int64_t)(value - before)));
}

static void put_sample(struct rows *rows, const struct stream *stream)
{
	enum { TIME, THREAD, STACK, WEIGHT, STATUS };
	const struct sonde_batch *batch = stream->batch;
	struct sonde_columns *columns = &rows->columns;
	uint32_t stack = sonde_merge_node(stream->input, batch->stack[stream->at]);
	uint64_t weight = batch->weight_ns[stream->at];
	sonde_columns_put(columns, TIME, stream->time_ns - columns->time_max_ns);
	sonde_columns_put(columns, THREAD, sonde_merge_thread(stream->input, batch->thread_of[stream->at]));
	put_change(columns, STACK, stack, rows->stack);
	put_change(columns, WEIGHT, weight, rows->weight);
	sonde_columns_put_byte(columns, STATUS, batch->status[stream->at]);
	rows->stack = stack;
	rows->weight = weight;
}

static void put_switch(struct rows *rows, const struct stream *stream)
{
	enum { TIME, THREAD, KIND, CPU, WAITED, BY };
	const struct sonde_batch *batch = stream->batch;
	struct sonde_columns *columns = &rows->columns;
	size_t i = stream->at;
	uint32_t by = sonde_merge_thread(stream->input, batch->by[i]);
	sonde_columns_put(columns, TIME, stream->time_ns - columns->time_max_ns);
	sonde_columns_put(columns, THREAD, sonde_merge_thread(stream->input, batch->thread_of[i]));
	sonde_columns_put_byte(columns, KIND, batch->kind[i]);
	sonde_columns_put(columns, CPU, batch->cpu[i]);
	sonde_columns_put(columns, WAITED, batch->waited_ns[i]);
	sonde_columns_put(columns, BY, by);
	rows->has_cpu |= batch->cpu[i] != 0;
	rows->has_waker |= batch->waited_ns[i] || by;
}

static void put_point(struct rows *rows, const struct stream *stream)
{
	enum { TIME, SERIES, VALUE };
	const struct sonde_batch *batch = stream->batch;
	struct sonde_columns *columns = &rows->columns;
	uint32_t series = stream->input->series[batch->series[stream->at]];
	int64_t value = batch->value[stream->at];
	sonde_columns_put(columns, TIME, stream->time_ns - columns->time_max_ns);
	sonde_columns_put(columns, SERIES, series);
	put_change(columns, VALUE, (uint64_t)value, (uint64_t)rows->last[series]);
	rows->last[series] = value;
}

static int is_left_out(const struct stream *stream)
{
	return stream->batch->type == SONDE_CHUNK_SERIES && !stream->input->series[stream->batch->series[stream->at]];
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

static int flush(struct rows *rows, const struct kind *kind)
{
	struct sonde_columns *columns = &rows->columns;
	if (!columns->rows)
		return 0;
	struct sonde_chunk chunk = {
	    .type = (uint16_t)kind->type,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	if (kind->type == SONDE_CHUNK_SWITCHES)
		columns->count = rows->has_waker ? 6 : rows->has_cpu ? 4 : 3;
	int error = sonde_columns_write(columns, rows->out->writer, &chunk);
	for (size_t i = columns->count; i < kind->columns; i++)
		sonde_buf_clear(&columns->column[i]);
	columns->count = kind->columns;
	rows->stack = 0;
	rows->weight = 0;
	rows->has_cpu = rows->has_waker = 0;
	memset(rows->last, 0, ((size_t)rows->out->series.count + 1) * sizeof *rows->last);
	return error;
}

static int take(struct rows *rows, const struct kind *kind, const struct stream *stream)
{
	struct sonde_columns *columns = &rows->columns;
	int error = 0;
	if (is_left_out(stream))
		return 0;
	if (columns->rows && stream->time_ns < columns->time_max_ns)
		error = flush(rows, kind);
	if (!columns->rows)
		columns->time_min_ns = columns->time_max_ns = stream->time_ns;
	kind->put(rows, stream);
	columns->time_max_ns = stream->time_ns;
	if (++columns->rows >= ROWS_A_CHUNK && !error)
		error = flush(rows, kind);
	return error;
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

/* The next row: 1, 0 at the end, -ENOMEM. Chunks that cannot be read are counted. */
static int advance(struct sonde_merge_out *out, struct stream *stream)
{
	int rc = 1;
	stream->at++;
	while (!stream->batch || stream->at >= stream->batch->count) {
		rc = sonde_cursor_next(stream->cursor, &stream->batch);
		stream->at = 0;
		if (rc == 0 || rc == -ENOMEM)
			return rc;
		if (rc < 0) {
			stream->batch = NULL;
			out->skipped_chunks++;
		}
	}
	stream->time_ns = stream->batch->time_ns[stream->at] + stream->input->shift_ns;
	return 1;
}

static int is_before(const struct stream *a, const struct stream *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->index < b->index;
}

/* The stream at `i` may be later than those below it. */
static void sift(struct rows *rows, size_t i)
{
	struct stream **heap = rows->heap;
	for (size_t next; (next = 2 * i + 1) < rows->left; i = next) {
		if (next + 1 < rows->left && is_before(heap[next + 1], heap[next]))
			next++;
		if (!is_before(heap[next], heap[i]))
			return;
		struct stream *moved = heap[i];
		heap[i] = heap[next];
		heap[next] = moved;
	}
}

static int open_streams(struct rows *rows, const struct kind *kind)
{
	struct sonde_merge_inputs *inputs = rows->out->inputs;
	rows->streams = calloc(inputs->count + 1, sizeof *rows->streams);
	rows->heap = calloc(inputs->count + 1, sizeof(struct stream *));
	rows->last = calloc((size_t)rows->out->series.count + 1, sizeof *rows->last);
	if (!rows->streams || !rows->heap || !rows->last)
		return sonde_error(ENOMEM, "out of memory for %zu recordings", inputs->count);
	for (size_t i = 0; i < inputs->count; i++) {
		struct stream *stream = &rows->streams[i];
		stream->input = &inputs->input[i];
		stream->index = i;
		int rc = sonde_cursor_open(&stream->cursor, stream->input->session, 1u << kind->type);
		rc = rc < 0 ? rc : advance(rows->out, stream);
		if (rc < 0)
			return rc;
		if (rc > 0)
			rows->heap[rows->left++] = stream;
	}
	for (size_t i = rows->left; i > 0; i--)
		sift(rows, i - 1);
	return 0;
}

static int merge_kind(struct sonde_merge_out *out, const struct kind *kind)
{
	struct rows rows = {.out = out};
	sonde_columns_init(&rows.columns, kind->columns);
	int error = open_streams(&rows, kind);
	while (!error && rows.left) {
		error = take(&rows, kind, rows.heap[0]);
		int rc = advance(out, rows.heap[0]);
		if (rc < 0)
			error = error ? error : rc;
		else if (rc == 0)
			rows.heap[0] = rows.heap[--rows.left];
		sift(&rows, 0);
	}
	error = error ? error : flush(&rows, kind);
	for (size_t i = 0; rows.streams && i < out->inputs->count; i++)
		sonde_cursor_close(rows.streams[i].cursor);
	sonde_columns_fini(&rows.columns);
	free(rows.streams);
	free(rows.heap);
	free(rows.last);
	return error;
}

int sonde_merge_rows(struct sonde_merge_out *out)
{
	static const struct kind kinds[] = {
	    {SONDE_CHUNK_SAMPLES, 5, put_sample},
	    {SONDE_CHUNK_SWITCHES, 6, put_switch},
	    {SONDE_CHUNK_SERIES, 3, put_point},
	};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof kinds / sizeof *kinds; i++)
		error = merge_kind(out, &kinds[i]);
	return error;
}
