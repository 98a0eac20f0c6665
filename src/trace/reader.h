/* reader.h: reads chunks of a recording, from a file that may be hostile, truncated, or still being written.
 *
 * Opening finds the chunks by the index, or by scanning if there is none. Nothing is decoded until requested, every
 * size is checked before use, and a bad file is rejected with the byte offset. Reading chunks is thread-safe (each
 * caller has its own struct sonde_chunk_data); refresh is not. The file is read with pread and never mapped, so a file
 * truncated in the meantime causes an error, not a SIGBUS.
 */
#ifndef SONDE_TRACE_READER_H
#define SONDE_TRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"
#include "util/buf.h"

struct sonde_reader;

int sonde_reader_open(struct sonde_reader **out, const char *path);
/* Reads from an open file; the descriptor is duplicated, and the path is used in messages only. */
int sonde_reader_open_fd(struct sonde_reader **out, int fd, const char *path);
void sonde_reader_close(struct sonde_reader *reader);

/* Finds chunks appended in the meantime; returns their number, or a negative errno. */
int sonde_reader_refresh(struct sonde_reader *reader);

const struct sonde_file_head *sonde_reader_head(const struct sonde_reader *reader);
const char *sonde_reader_path(const struct sonde_reader *reader);

/* Size of the file when last checked. */
uint64_t sonde_reader_size_b(const struct sonde_reader *reader);

/* True if the file was closed completely (has index and tail). */
int sonde_reader_is_closed(const struct sonde_reader *reader);

/* Bytes at the end or in between that could not be read as chunks; 0 for an intact file. `offset` (may be NULL): the
 * first such byte. Chunks listed in an index are only verified when read; those found bad then are added. */
uint64_t sonde_reader_damaged_b(const struct sonde_reader *reader, uint64_t *offset);

size_t sonde_reader_count(const struct sonde_reader *reader);
const struct sonde_index_entry *sonde_reader_entry(const struct sonde_reader *reader, size_t i);

/* A chunk's bytes, all of them in `buf`, which the caller initialises (sonde_buf_init(&data.buf,
 * SONDE_READER_BUF_MAX_B)), reuses for any number of chunks, and frees with sonde_buf_fini(). The checksum is verified;
 * `body` is decompressed and aligned to 16. Valid until the next read into the same struct. */
#define SONDE_READER_BUF_MAX_B (2 * (size_t)SONDE_CHUNK_MAX_RAW_B + SONDE_CHUNK_MAX_SUMMARY_B + 4096)

struct sonde_chunk_data {
	const struct sonde_chunk_head *head;
	const uint8_t *summary;
	const uint8_t *body;
	struct sonde_buf buf;
};

int sonde_reader_read(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data);

/* Reads only the summary, with the same checks but no decompression; `body` is NULL. */
int sonde_reader_summary(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data);

#endif
