/* keep.h: the flight recorder's memory: the newest chunks in stored form, oldest first. */
#ifndef SONDE_TRACE_KEEP_H
#define SONDE_TRACE_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_keep_chunk {
	struct sonde_keep_chunk *next;
	struct sonde_chunk_head head; /* seq and check are set when the chunk is written */
	uint8_t bytes[];              /* summary, then stored body */
};

/* Empty when zeroed except for the limits. */
struct sonde_keep {
	struct sonde_keep_chunk *first;
	struct sonde_keep_chunk *last;
	size_t held_b;
	size_t max_b;
	uint64_t max_ns;
	uint64_t newest_ns;
};

/* Copies a chunk in, then drops chunks beyond the limits (a chunk above max_b is dropped at once). */
int sonde_keep_push(struct sonde_keep *keep, const struct sonde_chunk_head *head, const void *summary,
		    const void *stored);

/* Removes and returns the oldest chunk; the caller frees it with free(). NULL when empty. */
struct sonde_keep_chunk *sonde_keep_take(struct sonde_keep *keep);

void sonde_keep_clear(struct sonde_keep *keep);

#endif
