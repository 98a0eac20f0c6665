/* check.h: checksums of the file head and of chunks, and plausibility checks for chunk heads. */
#ifndef SONDE_TRACE_CHECK_H
#define SONDE_TRACE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

/* XXH3 64 of head_b bytes of a file head (at least a struct sonde_file_head), with its check field read as 0. */
uint64_t sonde_check_head(const void *head, size_t head_b);

/* XXH3 64 of a chunk: its head with check read as 0, its summary, its stored body. */
uint64_t sonde_check_chunk(const struct sonde_chunk_head *head, const void *summary, const void *stored);

/* The same for the chunk at `offset` of a file. `head` is already read; the rest is streamed through `scratch`, so the
 * sizes claimed by a head cost no memory. Returns 0 and the checksum, or a negative errno (-EBADMSG: the file ends
 * before the chunk does). */
int sonde_check_file_chunk(uint64_t *out, int fd, uint64_t offset, const struct sonde_chunk_head *head, void *scratch,
			   size_t scratch_b);

/* True if the head's fields are possible and a chunk at `offset` ends within `file_b` bytes. */
int sonde_check_plausible(const struct sonde_chunk_head *head, uint64_t offset, uint64_t file_b);

/* Size of a whole chunk. */
static inline uint64_t sonde_check_chunk_b(const struct sonde_chunk_head *head)
{
	return sizeof *head + (uint64_t)head->summary_b + head->stored_b;
}

#endif
