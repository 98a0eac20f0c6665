/* writer.h: appends chunks to a recording.
 *
 * For one thread at a time. A failed write (disk full) is sticky: the writer keeps the file readable, rejects further
 * chunks, and sonde_writer_error() explains why. Bodies of at least 128 bytes are compressed with zstd level 1 if that
 * makes them smaller.
 */
#ifndef SONDE_TRACE_WRITER_H
#define SONDE_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_writer;

struct sonde_writer_options {
	int overwrite; /* 0: an existing file is -EEXIST; else sonde_writer_commit() replaces it with the new one */
	int no_compression;
	int fd;                              /* written to instead of creating a file; duplicated. 0 = none */
	size_t max_keep_b;                   /* flight recorder: memory for kept chunks; 0 = 64 MiB */
	const struct sonde_file_head *begun; /* start and machine of another recording to copy; NULL = now and here */
	uint64_t keep_ns; /* flight recorder: keep this many ns of event chunks in memory; 0 = stream */
};

/* Creates the file (mode 0600) and writes its head. */
int sonde_writer_open(struct sonde_writer **out, const char *path, const struct sonde_writer_options *options);

/* The caller's part of a chunk; the writer sets magic, seq, codec, sizes and check. */
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

/* Flight recorder: writes the kept chunks to the file and continues to keep new ones. */
int sonde_writer_keep_dump(struct sonde_writer *writer);

/* Start of the recording: CLOCK_MONOTONIC. */
uint64_t sonde_writer_start_ns(const struct sonde_writer *writer);
uint64_t sonde_writer_size_b(const struct sonde_writer *writer);
int sonde_writer_error(const struct sonde_writer *writer);

/* After an error: allows writing META records again, to record what happened; the last chunks are dropped if there is
 * no space for them. The file gets no index, and closing still returns the error. */
void sonde_writer_last_words(struct sonde_writer *writer);

/* Recording has begun: atomically replaces an existing file of that name, which was untouched until now. Later calls do
 * nothing. On an error both files stay as they are, and closing tries again. */
int sonde_writer_commit(struct sonde_writer *writer);

/* Commits, flushes, writes index and tail, closes, frees. Returns the first error of the recording, if any. */
int sonde_writer_close(struct sonde_writer *writer);

/* For a recording without data: removes the new file, unless it is a device or a pipe, and frees. */
void sonde_writer_discard(struct sonde_writer *writer);

#endif
