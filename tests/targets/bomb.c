/* bomb.c: writes a recording whose chunks are valid, including checksums, and unpack to thousands of times their
 * size: bomb FILE TYPE CHUNKS [ROWS]. TYPE is an enum sonde_chunk_type; rows are as similar as the type allows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/meta.h"
#include "trace/writer.h"
#include "util/error.h"

static uint8_t body[SONDE_CHUNK_MAX_RAW_B];

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "bomb: %s\n", sonde_error_text());
	exit(1);
}

static void string(struct sonde_writer *writer, uint32_t id, const char *text)
{
	struct sonde_meta_string record = {
	    .head.type = SONDE_META_STRING, .id = id, .len_b = (uint32_t)strlen(text)};
	must(sonde_writer_meta(writer, &record, sizeof record, text, strlen(text)));
}

/* Writes one of each thing to which rows refer. */
static void tables(struct sonde_writer *writer)
{
	struct sonde_meta_process process = {.head.type = SONDE_META_PROCESS, .id = 1, .pid = 10, .name = 1, .start_ns = 1};
	struct sonde_meta_thread thread = {
	    .head.type = SONDE_META_THREAD, .id = 1, .process = 1, .tid = 10, .name = 1, .start_ns = 1};
	struct sonde_meta_module module = {.head.type = SONDE_META_MODULE, .id = 1, .path = 1};
	struct sonde_meta_site site = {.head.type = SONDE_META_SITE, .id = 1, .kind = 1, .name = 1};
	string(writer, 1, "bomb");
	must(sonde_writer_meta(writer, &process, sizeof process, NULL, 0));
	must(sonde_writer_meta(writer, &thread, sizeof thread, NULL, 0));
	must(sonde_writer_meta(writer, &module, sizeof module, NULL, 0));
	must(sonde_writer_meta(writer, &site, sizeof site, NULL, 0));
}

/* Writes columns that have one byte per row. */
static uint32_t columns_fill(uint32_t count, uint32_t rows, const uint8_t *values)
{
	uint8_t *at = body + 4 * (size_t)count;
	for (uint32_t i = 0; i < count; i++, at += rows) {
		memcpy(body + 4 * (size_t)i, &rows, 4);
		memset(at, values[i], rows);
	}
	return (uint32_t)(at - body);
}

static const struct {
	uint32_t columns;
	uint8_t values[10];
} types[SONDE_CHUNK_TYPES] = {
    [SONDE_CHUNK_STACKS] = {3, {1, 1, 2}},
    [SONDE_CHUNK_SAMPLES] = {5, {1, 1, 0, 0, 0}},
    [SONDE_CHUNK_SWITCHES] = {6, {1, 1, 0, 1, 1, 0}},
    [SONDE_CHUNK_ZONES] = {2, {1, 1}},
    [SONDE_CHUNK_SERIES] = {3, {1, 1, 2}},
    [SONDE_CHUNK_WAITS] = {9, {2, 1, 1, 0, 1, 0, 0, 0, 1}},
    [SONDE_CHUNK_ACTIVITIES] = {10, {2, 1, 0, 0, 1, 0, 0, 2, 0, 0}},
    [SONDE_CHUNK_CALL_STACKS] = {5, {2, 1, 2, 0, 0}},
};

int main(int argc, char **argv)
{
	struct sonde_writer *writer;
	struct sonde_writer_options how = {.overwrite = 1};
	uint32_t type = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	if (argc < 4 || type >= SONDE_CHUNK_TYPES)
		return 2;
	must(sonde_writer_open(&writer, argv[1], &how));
	tables(writer);
	uint32_t most = types[type].columns ? (uint32_t)(sizeof body - 64) / types[type].columns : 0;
	uint32_t rows = argc > 4 ? (uint32_t)atoi(argv[4]) : most;
	rows = rows < most ? rows : most;
	uint64_t time_ns = sonde_writer_start_ns(writer) + 1, node = 1;
	for (int i = 0; i < atoi(argv[3]); i++) {
		struct sonde_stacks_summary stacks = {.first_node = (uint32_t)node};
		struct sonde_zones_summary zones = {0};
		struct sonde_chunk chunk = {.type = (uint16_t)type,
					    .process = type == SONDE_CHUNK_ZONES,
					    .thread = type == SONDE_CHUNK_ZONES,
					    .time_min_ns = time_ns,
					    .time_max_ns = time_ns + rows,
					    .count = rows,
					    .body = body};
		if (type == SONDE_CHUNK_STACKS) {
			chunk.summary = &stacks;
			chunk.summary_b = sizeof stacks;
		} else if (type == SONDE_CHUNK_ZONES) {
			chunk.summary = &zones;
			chunk.summary_b = sizeof zones;
		}
		if (types[type].columns) {
			chunk.body_b = columns_fill(types[type].columns, rows, types[type].values);
			if (type == SONDE_CHUNK_ZONES) /* begins and ends */
				for (uint32_t row = 1; row < rows; row += 2)
					body[8 + row] = 0;
			must(sonde_writer_chunk(writer, &chunk));
		}
		time_ns += rows;
		node += rows;
	}
	struct sonde_meta_close close = {.head.type = SONDE_META_CLOSE, .time_ns = time_ns, .status = 0};
	must(sonde_writer_meta(writer, &close, sizeof close, NULL, 0));
	must(sonde_writer_close(writer));
	return 0;
}
