/* heap.h: decodes HEAP chunks, for the files of this folder. */
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
	uint8_t *lives; /* of ends: log2 of the lifetime, | SONDE_HEAP_TEMPORARY */
	uint32_t heap;  /* as it stands there */
	uint32_t time_every;
	uint64_t mean_b;
};

#define SONDE_HEAP_ROW_B 26u /* of all columns */

/* `memory`: head->count rows of SONDE_HEAP_ROW_B bytes. Ids above the largest become 0. -EBADMSG. */
int sonde_heap_decode(struct sonde_heap_columns *out, const struct sonde_chunk_data *data, void *memory,
		      uint32_t thread_max, uint32_t site_max);

static inline int sonde_heap_is_chunk(const struct sonde_chunk_head *head)
{
	return head->type == SONDE_CHUNK_HEAP && head->version <= SONDE_CHUNK_VERSION;
}

/* The rows of a summary, one after the other. */
struct sonde_heap_stats {
	const uint8_t *at, *end;
	uint32_t left;
	int sampled;
	struct sonde_heap_stat row;
};

/* The summary of a chunk, checked, and its rows, to be read from the first. -EBADMSG when it makes no sense. */
int sonde_heap_summary(const struct sonde_session *session, const struct sonde_chunk_data *data,
		       struct sonde_heap_summary *out, struct sonde_heap_stats *stats);
/* The next of them in `row`; 0 when there is none. */
int sonde_heap_stats_next(struct sonde_heap_stats *stats);

/* What a chunk leaves alive beyond what was alive before it. -EBADMSG. */
int sonde_heap_add_whole(const struct sonde_session *session, const struct sonde_chunk_data *data,
			 struct sonde_heap_alive *sites);
/* What its events leave alive: the first `at` of them, and none that is later than until_ns; the time of the last. */
int sonde_heap_add_some(const struct sonde_session *session, const struct sonde_chunk_data *data, uint32_t at,
			uint64_t until_ns, struct sonde_heap_alive *sites, uint64_t *last_ns);

#endif
