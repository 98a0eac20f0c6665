/* check.c: XXH3 over heads and chunks, from memory or directly from a file.
 *
 * The only file that includes xxhash, inlined: for calls of 64 bytes to a few hundred KB the hash is faster than
 * copying the bytes.
 */
#include "trace/check.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/error.h"

uint64_t sonde_check_head(const void *head, size_t head_b)
{
	struct sonde_file_head first;
	memcpy(&first, head, sizeof first);
	first.check = 0;
	XXH3_state_t state;
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, &first, sizeof first);
	XXH3_64bits_update(&state, (const char *)head + sizeof first, head_b - sizeof first);
	return XXH3_64bits_digest(&state);
}

static void begin(XXH3_state_t *state, const struct sonde_chunk_head *head)
{
	struct sonde_chunk_head unchecked = *head;
	unchecked.check = 0;
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, &unchecked, sizeof unchecked);
}

uint64_t sonde_check_chunk(const struct sonde_chunk_head *head, const void *summary, const void *stored)
{
	XXH3_state_t state;
	begin(&state, head);
	if (head->summary_b)
		XXH3_64bits_update(&state, summary, head->summary_b);
	if (head->stored_b)
		XXH3_64bits_update(&state, stored, head->stored_b);
	return XXH3_64bits_digest(&state);
}

int sonde_check_file_chunk(uint64_t *out, int fd, uint64_t offset, const struct sonde_chunk_head *head, void *scratch,
			   size_t scratch_b)
{
	XXH3_state_t state;
	begin(&state, head);
	uint64_t at = offset + sizeof *head;
	uint64_t end = offset + sonde_check_chunk_b(head);
	while (at < end) {
		size_t want_b = end - at < scratch_b ? (size_t)(end - at) : scratch_b;
		ssize_t got_b = pread(fd, scratch, want_b, (off_t)at);
		if (got_b < 0 && errno == EINTR)
			continue;
		if (got_b < 0)
			return sonde_error(errno, "byte %llu cannot be read: %s", (unsigned long long)at,
					   strerror(errno));
		if (got_b == 0)
			return sonde_error(EBADMSG, "the file ends at byte %llu, within a chunk",
					   (unsigned long long)at);
		XXH3_64bits_update(&state, scratch, (size_t)got_b);
		at += (uint64_t)got_b;
	}
	*out = XXH3_64bits_digest(&state);
	return 0;
}

int sonde_check_plausible(const struct sonde_chunk_head *head, uint64_t offset, uint64_t file_b)
{
	if (head->magic != SONDE_CHUNK_MAGIC || !head->type)
		return 0;
	if (head->summary_b > SONDE_CHUNK_MAX_SUMMARY_B || head->raw_b > SONDE_CHUNK_MAX_RAW_B ||
	    head->stored_b > head->raw_b)
		return 0;
	if (head->codec == SONDE_CODEC_RAW && head->stored_b != head->raw_b)
		return 0;
	return offset <= file_b && sonde_check_chunk_b(head) <= file_b - offset;
}
