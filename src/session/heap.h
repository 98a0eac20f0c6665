/* heap.h: decodes a HEAP chunk. */
#ifndef SONDE_SESSION_HEAP_H
#define SONDE_SESSION_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct sonde_chunk_data;

struct sonde_heap_columns {
	uint64_t *time_ns, *sizes;
	uint32_t *sites, *threads;
	uint8_t *ends;
	uint32_t heap; /* as it stands there */
};

#define SONDE_HEAP_ROW_B 25u /* of all columns */

/* `memory`: head->count rows of SONDE_HEAP_ROW_B bytes. Ids above the largest become 0. -EBADMSG. */
int sonde_heap_decode(struct sonde_heap_columns *out, const struct sonde_chunk_data *data, void *memory,
		      uint32_t thread_max, uint32_t site_max);

#endif
