/* writer.h: appends chunks to a recording.
 *
 * One thread at a time. A failed write (disk full) is sticky: the writer keeps what is on disk readable, refuses more,
 * and sonde_writer_error() says why. Bodies of at least 128 bytes are compressed with zstd level 1 when that makes them
 * smaller.
 */
#ifndef SONDE_TRACE_WRITER_H
#define SONDE_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_writer;

struct sonde_writer_options {
	int overwrite; /* 0: an existing file is -EEXIST; else sonde_writer_commit() puts the new one in its place */
	int no_compression;
	int fd;                              /* written to instead of making a file; a copy is taken. 0 = none */
	size_t max_keep_b;                   /* flight recorder: memory for kept chunks; 0 = 64 MiB */
	const struct sonde_file_head *begun; /* when and where it was recorded: of another one; NULL = now and here */
	uint64_t keep_ns; /* flight recorder: keep event chunks of the last so many ns in memory; 0 = stream */
};

/* Creates the file (mode 0600) and writes its head. */
int sonde_writer_open(struct sonde_writer **out, const char *path, const struct sonde_writer_options *options);

/* What a caller fills in of a chunk; magic, seq, codec, sizes and check are the writer's. */
struct sonde_chunk {
	uint16_t type;
	uint8_t version; /* 0 = SONDE_CHUNK_VERSION */
	uint32_t process;
	uint32_t thread;
	uint64_t time_min_ns;
	uint64_t time_max_ns;
	uint32_t count;
	const void *summary;
	uint32_t summary_b;
	const void *body;
	uint32_t body_b; /* ≤ SONDE_CHUNK_MAX_RAW_B */
};

int sonde_writer_chunk(struct sonde_writer *writer, const struct sonde_chunk *chunk);

/* Adds a META record: head.type is set by the caller, head.size_b here. `more` follows `record` (string bytes,
 * locations) and may be NULL. Buffered; written before the next chunk that is not META, and on flush. */
int sonde_writer_meta(struct sonde_writer *writer, const void *record, size_t record_b, const void *more,
		      size_t more_b);

int sonde_writer_flush(struct sonde_writer *writer);

/* Flight recorder: writes what is kept in memory to the file and goes on keeping. */
int sonde_writer_keep_dump(struct sonde_writer *writer);

/* When the recording began: CLOCK_MONOTONIC. */
uint64_t sonde_writer_start_ns(const struct sonde_writer *writer);
uint64_t sonde_writer_size_b(const struct sonde_writer *writer);
int sonde_writer_error(const struct sonde_writer *writer);

/* After an error: META records alone can be written again, to say what happened; the last chunks are given up where
 * there is no room for them. The file gets no index, and closing returns the error all the same. */
void sonde_writer_last_words(struct sonde_writer *writer);

/* Recording has begun: an existing file of that name, untouched until now, makes way for this one, in one step. Does
 * nothing where that is done; an error leaves both files as they are, and closing tries again. */
int sonde_writer_commit(struct sonde_writer *writer);

/* Commits, flushes, writes index and tail, closes, frees. Returns the first error of the recording, if any. */
int sonde_writer_close(struct sonde_writer *writer);

/* Nothing was recorded: removes the new file, unless it is a device or a pipe, and frees. */
void sonde_writer_discard(struct sonde_writer *writer);

#endif
