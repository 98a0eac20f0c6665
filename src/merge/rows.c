/* rows.c: merges samples, switches and series readings of all recordings row by row, by time.
 *
 * Each recording is a stream of rows, decoded one chunk at a time; the next row is taken from the stream with the
 * earliest time. If the times of a recording decrease (rows summed up at its end), a new chunk begins, since times
 * within a chunk cannot decrease.
 */
#include <errno.h>
#include <stdlib.h>

#include "merge/out.h"
#include "util/error.h"

struct stream {
	const struct sonde_merge_input *input;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t at;
	uint64_t time_ns; /* time of row `at`, in the new clock */
	size_t index;
};

struct rows {
	struct sonde_merge_out *out;
	struct stream *streams;
	struct stream **heap; /* min-heap by time of the streams that still have rows */
	size_t left;
	struct sonde_encoder encoder;
};

/* --- rows -------------------------------------------------------------------------------------------------------- */

/* True for a series that is not in the merged recording. */
static int is_left_out(const struct stream *stream)
{
	return stream->batch->type == SONDE_CHUNK_SERIES &&
	       !stream->input->series[stream->batch->series.series[stream->at]];
}

static int take(struct rows *rows, const struct stream *stream)
{
	int rc = 0;
	if (is_left_out(stream))
		return 0;
	if (stream->time_ns < sonde_encoder_until_ns(&rows->encoder))
		rc = sonde_encoder_flush(&rows->encoder, rows->out->writer);
	int is_full = sonde_merge_row(&rows->encoder, stream->input, stream->batch, stream->at);
	return is_full && !rc ? sonde_encoder_flush(&rows->encoder, rows->out->writer) : rc;
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

/* Every type merged here has times in its first column. */
static const uint64_t *times_of(const struct sonde_batch *batch)
{
	return batch->type == SONDE_CHUNK_SAMPLES    ? batch->samples.time_ns
	       : batch->type == SONDE_CHUNK_SWITCHES ? batch->switches.time_ns
						     : batch->series.time_ns;
}

/* Advances to the next row: 1, 0 at the end, -ENOMEM. Unreadable chunks are counted. */
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
	stream->time_ns = times_of(stream->batch)[stream->at] + stream->input->shift_ns;
	return 1;
}

static int is_before(const struct stream *a, const struct stream *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->index < b->index;
}

/* Restores the heap if the stream at `i` is later than its children. */
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

static int open_streams(struct rows *rows, enum sonde_chunk_type type)
{
	struct sonde_merge_inputs *inputs = rows->out->inputs;
	rows->streams = calloc(inputs->count + 1, sizeof *rows->streams);
	rows->heap = calloc(inputs->count + 1, sizeof(struct stream *));
	if (!rows->streams || !rows->heap)
		return sonde_error(ENOMEM, "out of memory for %zu recordings", inputs->count);
	for (size_t i = 0; i < inputs->count; i++) {
		struct stream *stream = &rows->streams[i];
		stream->input = &inputs->input[i];
		stream->index = i;
		int rc = sonde_cursor_open(&stream->cursor, stream->input->session, 1u << type);
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

static int merge_type(struct sonde_merge_out *out, enum sonde_chunk_type type)
{
	struct rows rows = {.out = out};
	sonde_encoder_init(&rows.encoder, type, SONDE_ENCODER_ROWS);
	int error = open_streams(&rows, type);
	while (!error && rows.left) {
		error = take(&rows, rows.heap[0]);
		int rc = advance(out, rows.heap[0]);
		if (rc < 0)
			error = error ? error : rc;
		else if (rc == 0)
			rows.heap[0] = rows.heap[--rows.left];
		sift(&rows, 0);
	}
	error = error ? error : sonde_encoder_flush(&rows.encoder, out->writer);
	for (size_t i = 0; rows.streams && i < out->inputs->count; i++)
		sonde_cursor_close(rows.streams[i].cursor);
	sonde_encoder_fini(&rows.encoder);
	free(rows.streams);
	free(rows.heap);
	return error;
}

int sonde_merge_rows(struct sonde_merge_out *out)
{
	static const enum sonde_chunk_type types[] = {SONDE_CHUNK_SAMPLES, SONDE_CHUNK_SWITCHES, SONDE_CHUNK_SERIES};
	int rc = 0;
	for (size_t i = 0; !rc && i < sizeof types / sizeof *types; i++)
		rc = merge_type(out, types[i]);
	return rc;
}
