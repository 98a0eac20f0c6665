/* hostile.c: copies a recording with hostile texts: hostile FROM TO. Names of functions, files, processes, threads,
 * zones and modules, and the values of INFO, get markup, escapes, formulas and newlines before or behind them. Texts
 * that readers compare with words of their own (keys, names of sources and of metrics) stay the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/meta.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "util/error.h"

#define BEHIND                                                                                                \
	"<script>alert(31337)</script><img src=x onerror=alert(31337)>\n```\n</pre></td></table></svg>\n"     \
	"# head\n- item|cell|<a href=\"javascript:alert(31337)\">x</a>[x](javascript:alert(31337))"           \
	"![x](http://evil.example/x)`code`<http://evil.example> http://evil.example www.evil.example "        \
	"mailto:a@evil.example @root #1 ~~s~~ **b** \\<b> &lt;script&gt; $x$ \"q\" 'q' ]]> --> {x} "          \
	"\x1b[31m\x1b]0;t\x07\xe2\x80\xae\xe2\x80\x8f\x9b\xff\r\t."
#define BEFORE "=1+1;<b>"

enum { TEXT_MAX_B = 1 << 16, STRINGS_MAX = 1 << 20 };

static uint8_t kept[STRINGS_MAX], valued[STRINGS_MAX];

static void must(int error)
{
	if (error >= 0)
		return;
	fprintf(stderr, "hostile: %s\n", sonde_error_text());
	exit(1);
}

static void keep(uint8_t *of, uint32_t id)
{
	if (id < STRINGS_MAX)
		of[id] = 1;
}

/* Notes which strings must stay the same, and which may only get longer. */
static void look(const void *record, uint16_t type)
{
	const struct sonde_meta_info *info = record;
	const struct sonde_meta_source *source = record;
	const struct sonde_meta_lost *lost = record;
	const struct sonde_meta_cost *cost = record;
	const struct sonde_meta_series *series = record;
	if (type == SONDE_META_INFO) {
		keep(kept, info->key);
		keep(valued, info->value);
	} else if (type == SONDE_META_SOURCE) {
		keep(kept, source->name);
	} else if (type == SONDE_META_LOST) {
		keep(kept, lost->source);
	} else if (type == SONDE_META_COST) {
		keep(kept, cost->what);
	} else if (type == SONDE_META_SERIES) {
		keep(kept, series->name);
		keep(kept, series->unit);
	}
}

static void string_write(struct sonde_writer *writer, const struct sonde_meta_string *record, const char *from)
{
	static char text[TEXT_MAX_B];
	struct sonde_meta_string out = *record;
	uint32_t id = record->id < STRINGS_MAX ? record->id : 0;
	int len_b = snprintf(text, sizeof text, "%s%.*s%s", kept[id] || valued[id] || id % 2 ? "" : BEFORE,
			     (int)(record->len_b < 4096 ? record->len_b : 4096), from, kept[id] ? "" : BEHIND);
	out.len_b = (uint32_t)len_b;
	must(sonde_writer_meta(writer, &out, sizeof out, text, out.len_b));
}

/* Each record of a META chunk; `writer` NULL: the records are only read. */
static void records(const uint8_t *at, size_t size_b, struct sonde_writer *writer)
{
	for (const uint8_t *end = at + size_b; (size_t)(end - at) >= sizeof(struct sonde_meta_head);) {
		struct sonde_meta_head head;
		_Alignas(8) uint8_t whole[512] = {0};
		memcpy(&head, at, sizeof head);
		if (head.size_b < sizeof head || head.size_b > (size_t)(end - at))
			return;
		memcpy(whole, at, head.size_b < sizeof whole ? head.size_b : sizeof whole);
		if (!writer)
			look(whole, head.type);
		else if (head.type == SONDE_META_STRING)
			string_write(writer, (const void *)whole, (const char *)at + sizeof(struct sonde_meta_string));
		else
			must(sonde_writer_meta(writer, at, head.size_b, NULL, 0));
		at += (head.size_b + 7) & ~(size_t)7;
	}
}

static void chunk_write(struct sonde_writer *writer, const struct sonde_chunk_data *data)
{
	const struct sonde_chunk_head *head = data->head;
	struct sonde_chunk chunk = {.type = head->type,
				    .version = head->version,
				    .process = head->process,
				    .thread = head->thread,
				    .time_min_ns = head->time_min_ns,
				    .time_max_ns = head->time_max_ns,
				    .count = head->count,
				    .summary = data->summary,
				    .summary_b = head->summary_b,
				    .body = data->body,
				    .body_b = head->raw_b};
	must(sonde_writer_chunk(writer, &chunk));
}

int main(int argc, char **argv)
{
	struct sonde_reader *reader;
	struct sonde_writer *writer;
	struct sonde_chunk_data data = {0};
	if (argc != 3)
		return 2;
	must(sonde_reader_open(&reader, argv[1]));
	struct sonde_writer_options how = {.overwrite = 1, .begun = sonde_reader_head(reader)};
	must(sonde_writer_open(&writer, argv[2], &how));
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (int writes = 0; writes < 2; writes++)
		for (size_t i = 0; i < sonde_reader_count(reader); i++) {
			int is_meta = sonde_reader_entry(reader, i)->head.type == SONDE_CHUNK_META;
			must(is_meta || writes ? sonde_reader_read(reader, i, &data) : 0);
			if (is_meta)
				records(data.body, data.head->raw_b, writes ? writer : NULL);
			else if (writes)
				chunk_write(writer, &data);
		}
	must(sonde_writer_close(writer));
	sonde_buf_fini(&data.buf);
	sonde_reader_close(reader);
	return 0;
}
