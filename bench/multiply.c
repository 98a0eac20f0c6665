/* multiply.c: makes a recording with many CPU samples from a real recording.
 *
 *	multiply FROM TO SAMPLES
 *
 * Everything but the samples is copied as it is, except for SYMBOL records, which are left out: a reader of the copy
 * has to look up every symbol. The chunks of samples are written again and again, each time later by the length of the
 * run, until there are SAMPLES of them. Their columns are relative to the chunk's time, so no body has to be decoded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "util/error.h"

struct copy {
	struct sonde_reader *reader;
	struct sonde_writer *writer;
	uint64_t samples, shift_ns;
	struct sonde_meta_close close;
};

static int copy_meta(struct copy *copy, const uint8_t *body, size_t body_b)
{
	while (body_b >= sizeof(struct sonde_meta_head)) {
		const struct sonde_meta_head *head = (const void *)body;
		size_t padded_b = ((size_t)head->size_b + 7) & ~(size_t)7;
		if (head->size_b < sizeof *head || padded_b > body_b)
			return sonde_error(EINVAL, "a META record of %u bytes", head->size_b);
		int code = 0;
		if (head->type == SONDE_META_CLOSE && head->size_b >= sizeof copy->close)
			memcpy(&copy->close, head, sizeof copy->close);
		else if (head->type != SONDE_META_SYMBOL)
			code = sonde_writer_meta(copy->writer, head, head->size_b, NULL, 0);
		if (code)
			return code;
		body += padded_b;
		body_b -= padded_b;
	}
	return 0;
}

static int copy_chunk(struct copy *copy, const struct sonde_chunk_data *data)
{
	const struct sonde_chunk_head *head = data->head;
	if (head->type == SONDE_CHUNK_META)
		return copy_meta(copy, data->body, head->raw_b);
	if (head->type == SONDE_CHUNK_SAMPLES)
		copy->samples += head->count;
	struct sonde_chunk chunk = {
	    .type = head->type,
	    .version = head->version,
	    .process = head->process,
	    .thread = head->thread,
	    .time_min_ns = head->time_min_ns + copy->shift_ns,
	    .time_max_ns = head->time_max_ns + copy->shift_ns,
	    .count = head->count,
	    .summary = data->summary,
	    .summary_b = head->summary_b,
	    .body = data->body,
	    .body_b = head->raw_b,
	};
	return sonde_writer_chunk(copy->writer, &chunk);
}

/* One pass over the recording: everything, or the samples alone. */
static int copy_chunks(struct copy *copy, int samples_only, uint64_t wanted)
{
	struct sonde_chunk_data data = {0};
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	int code = 0;
	for (size_t i = 0; i < sonde_reader_count(copy->reader) && !code; i++) {
		uint16_t type = sonde_reader_entry(copy->reader, i)->head.type;
		int is_sample = type == SONDE_CHUNK_SAMPLES;
		if (type == SONDE_CHUNK_INDEX || (samples_only && (!is_sample || copy->samples >= wanted)))
			continue;
		code = sonde_reader_read(copy->reader, i, &data);
		if (!code)
			code = copy_chunk(copy, &data);
	}
	sonde_buf_fini(&data.buf);
	return code;
}

static int multiply(struct copy *copy, uint64_t wanted)
{
	copy->shift_ns =
	    sonde_clock_now_ns() - sonde_reader_head(copy->reader)->start_mono_ns; /* the copy starts now */
	int code = copy_chunks(copy, 0, wanted);
	uint64_t length_ns = copy->close.time_ns - sonde_reader_head(copy->reader)->start_mono_ns;
	if (!code && (!copy->samples || !copy->close.head.type))
		code = sonde_error(EINVAL, "no samples, or a recording that was not closed");
	while (!code && copy->samples < wanted) {
		copy->shift_ns += length_ns;
		code = copy_chunks(copy, 1, wanted);
	}
	copy->close.time_ns += copy->shift_ns;
	return code ? code : sonde_writer_meta(copy->writer, &copy->close, sizeof copy->close, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: multiply FROM TO SAMPLES\n");
		return 2;
	}
	struct copy copy = {0};
	const struct sonde_writer_options options = {.overwrite = 1};
	int code = sonde_reader_open(&copy.reader, argv[1]);
	if (!code)
		code = sonde_writer_open(&copy.writer, argv[2], &options);
	if (!code)
		code = multiply(&copy, strtoull(argv[3], NULL, 10));
	if (copy.writer && sonde_writer_close(copy.writer) && !code)
		code = -EIO;
	sonde_reader_close(copy.reader);
	if (code)
		fprintf(stderr, "multiply: %s\n", sonde_error_text());
	else
		printf("%lu\n", (unsigned long)copy.samples);
	return code ? 1 : 0;
}
