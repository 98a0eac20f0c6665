/* mappings.h: a program's own memory mappings, as blocks of a heap. One thread. */
#ifndef SONDE_SOURCE_HEAP_MAPPINGS_H
#define SONDE_SOURCE_HEAP_MAPPINGS_H

#include <stdint.h>

#include "format/heap.h"
#include "source/heap/chunks.h"

struct sonde_heap_mappings;

/* `chunks` records the heap's blocks; borrowed. -ENOMEM. */
int sonde_heap_mappings_new(struct sonde_heap_mappings **out, struct sonde_heap_chunks *chunks);
void sonde_heap_mappings_free(struct sonde_heap_mappings *mappings);

struct sonde_heap_mapping {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t site; /* for MAP: a heap site of the recording */
	uint64_t address, size_b;
};

/* MAP and UNMAP records of a process, in time order. */
void sonde_heap_mappings_map(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *mapping,
			     enum sonde_heap_map what);
void sonde_heap_mappings_unmap(struct sonde_heap_mappings *mappings, const struct sonde_heap_mapping *mapping);

/* Number of mappings that could not be stored. */
uint64_t sonde_heap_mappings_lost(const struct sonde_heap_mappings *mappings);

#endif
