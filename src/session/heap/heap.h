/* heap.h: decodes HEAP chunks; private to this folder. */
#ifndef SONDE_SESSION_HEAP_HEAP_H
#define SONDE_SESSION_HEAP_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"
#include "session/session.h"

struct sonde_chunk_data;

struct sonde_heap_columns {
	uint64_t *time_ns, *sizes;
	uint32_t *sites, *threads;
	uint8_t *ends;
	uint8_t *lives; /* for frees: log2 of the block's lifetime, | SONDE_HEAP_TEMPORARY */
	uint32_t heap;  /* id as stored in the chunk */
	uint32_t time_every;
	uint64_t mean_b;
};

#define SONDE_HEAP_ROW_B 26u /* size of a row over all columns */

/* `memory` provides head->count rows of SONDE_HEAP_ROW_B bytes. Ids above the maxima become 0. -EBADMSG. */
int sonde_heap_decode(struct sonde_heap_columns *out, const struct sonde_chunk_data *data, void *memory,
		      uint32_t thread_max, uint32_t site_max);

/* The same with memory of its own, which the caller frees: out->time_ns, NULL after an error. -EBADMSG, -ENOMEM. */
int sonde_heap_columns_read(struct sonde_heap_columns *out, const struct sonde_session *session,
			    const struct sonde_chunk_data *data);

static inline int sonde_heap_is_chunk(const struct sonde_chunk_head *head)
{
	return head->type == SONDE_CHUNK_HEAP && head->version <= SONDE_CHUNK_VERSION;
}

/* Iterates over the rows of a summary. */
struct sonde_heap_stats {
	const uint8_t *at, *end;
	uint32_t left;
	int sampled;
	struct sonde_heap_stat row;
};

/* Validates the summary of a chunk and positions `stats` before its first row. -EBADMSG if malformed. */
int sonde_heap_summary(const struct sonde_session *session, const struct sonde_chunk_data *data,
		       struct sonde_heap_summary *out, struct sonde_heap_stats *stats);
/* Reads the next row into `row`; 0 at the end. */
int sonde_heap_stats_next(struct sonde_heap_stats *stats);

/* Adds the change in live blocks over a whole chunk. -EBADMSG. */
int sonde_heap_add_whole(const struct sonde_session *session, const struct sonde_chunk_data *data,
			 struct sonde_heap_alive *sites);
/* Adds the change over the first `at` events of a chunk, stopping after until_ns; *last_ns: time of the last one. */
int sonde_heap_add_some(const struct sonde_session *session, const struct sonde_chunk_data *data, uint32_t at,
			uint64_t until_ns, struct sonde_heap_alive *sites, uint64_t *last_ns);

#endif
