/* keep.c: a list of compressed chunks with a limit on bytes and on age.
 *
 * Chunks arrive nearly in time order (each thread's do; threads lag by one drain). So age is relative to the latest end
 * seen, and only the oldest arrival is checked: a late chunk may outlive the limit by the lag, but none is dropped
 * early.
 */
#include "trace/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

static size_t chunk_b(const struct sonde_keep_chunk *chunk)
{
	return sizeof *chunk + chunk->head.summary_b + chunk->head.stored_b;
}

static int is_old(const struct sonde_keep *keep, const struct sonde_keep_chunk *chunk)
{
	uint64_t end_ns = chunk->head.time_max_ns;
	return end_ns < keep->newest_ns && keep->newest_ns - end_ns > keep->max_ns;
}

int sonde_keep_push(struct sonde_keep *keep, const struct sonde_chunk_head *head, const void *summary,
		    const void *stored)
{
	struct sonde_keep_chunk *chunk = malloc(sizeof *chunk + head->summary_b + head->stored_b);
	if (!chunk)
		return sonde_error(ENOMEM, "out of memory for a kept chunk of %u bytes", head->stored_b);
	chunk->next = NULL;
	chunk->head = *head;
	if (head->summary_b)
		memcpy(chunk->bytes, summary, head->summary_b);
	if (head->stored_b)
		memcpy(chunk->bytes + head->summary_b, stored, head->stored_b);
	if (keep->last)
		keep->last->next = chunk;
	else
		keep->first = chunk;
	keep->last = chunk;
	keep->held_b += chunk_b(chunk);
	if (head->time_max_ns > keep->newest_ns)
		keep->newest_ns = head->time_max_ns;
	while (keep->first && (keep->held_b > keep->max_b || is_old(keep, keep->first)))
		free(sonde_keep_take(keep));
	return 0;
}

struct sonde_keep_chunk *sonde_keep_take(struct sonde_keep *keep)
{
	struct sonde_keep_chunk *chunk = keep->first;
	if (!chunk)
		return NULL;
	keep->first = chunk->next;
	if (!keep->first)
		keep->last = NULL;
	keep->held_b -= chunk_b(chunk);
	return chunk;
}

void sonde_keep_clear(struct sonde_keep *keep)
{
	while (keep->first)
		free(sonde_keep_take(keep));
}
