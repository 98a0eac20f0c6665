/* file.h: writes a recording (format/record.h) using only libc: uncompressed chunks of one process.
 *
 * One thread at a time. A failed write is sticky; data already on disk stays readable.
 */
#ifndef SONDE_RUNTIME_FILE_H
#define SONDE_RUNTIME_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_file;

/* Creates the file; 0, or a negative errno without leaving a file. */
int sonde_file_open(struct sonde_file **out, const char *path);
/* Adds a META record, followed by `more` (may be NULL). */
void sonde_file_meta(struct sonde_file *file, void *record, size_t record_b, const void *more, size_t more_b);
/* Writes a string and returns its id; 0 for an empty string. */
uint32_t sonde_file_string(struct sonde_file *file, const char *text, size_t text_b);
void sonde_file_info(struct sonde_file *file, const char *key, const char *value);

struct sonde_file_chunk {
	uint16_t type;
	uint32_t thread;
	uint32_t count;
	uint64_t time_min_ns, time_max_ns;
	const void *summary;
	uint32_t summary_b;
	const void *body;
	uint32_t body_b;
};

/* Writes pending META records, then the chunk. */
void sonde_file_chunk(struct sonde_file *file, const struct sonde_file_chunk *chunk);
/* Writes index and tail, closes and frees; returns the first error that occurred, as a negative errno. */
int sonde_file_close(struct sonde_file *file);
/* Closes and frees without writing: in a forked child, because the file is its parent's, or before anything was
 * written. */
void sonde_file_abandon(struct sonde_file *file);

#endif
