/* reader.h: chunks of a recording, from a file that may be hostile, cut off, or still being written.
 *
 * Opening finds the chunks by the index, or by scanning when there is none. Nothing is decoded until asked for, every
 * size is checked before it is used, and a bad file is refused with the byte offset. Reading chunks is thread-safe
 * (each caller has its own struct sonde_chunk_data); refresh is not.
 */
#ifndef SONDE_TRACE_READER_H
#define SONDE_TRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"
#include "util/buf.h"

struct sonde_reader;

int sonde_reader_open(struct sonde_reader **out, const char *path);
void sonde_reader_close(struct sonde_reader *reader);

/* Looks for chunks that were appended since; returns how many, or a negative errno. */
int sonde_reader_refresh(struct sonde_reader *reader);

const struct sonde_file_head *sonde_reader_head(const struct sonde_reader *reader);
const char *sonde_reader_path(const struct sonde_reader *reader);

/* Closed in order (index and tail are there). */
int sonde_reader_is_closed(const struct sonde_reader *reader);

/* Bytes at the end or in between that could not be understood; 0 for a whole file. `offset` (may be NULL): the first. */
uint64_t sonde_reader_damaged_b(const struct sonde_reader *reader, uint64_t *offset);

size_t sonde_reader_count(const struct sonde_reader *reader);
const struct sonde_index_entry *sonde_reader_entry(const struct sonde_reader *reader, size_t i);

/* A chunk's bytes. `body` is decompressed into `buf`, which the caller inits (any maximum ≥ SONDE_CHUNK_MAX_RAW_B) and
 * reuses; raw bodies and summaries point into the mapped file. Checksum verified. */
struct sonde_chunk_data {
	const struct sonde_chunk_head *head;
	const uint8_t *summary;
	const uint8_t *body;
	struct sonde_buf buf;
};

int sonde_reader_read(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data);

/* The summary alone: no decompression; checked as sonde_reader_read() does. */
int sonde_reader_summary(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data);

#endif
