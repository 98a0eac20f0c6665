/* heap_memory.h: the memory of a process that waits, as heap_scan.h reads it. */
#ifndef SONDE_SOURCE_HEAP_MEMORY_H
#define SONDE_SOURCE_HEAP_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "source/heap_scan.h"

struct sonde_heap_memory {
	pid_t pid;
	int page_map; /* /proc/PID/pagemap, −1 where it may not be read */
	uint64_t page_b;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: from then on reading fails with -ETIMEDOUT */
	uint64_t read_b;
};

void sonde_heap_memory_open(struct sonde_heap_memory *memory, pid_t pid, uint64_t deadline_ns);
void sonde_heap_memory_close(struct sonde_heap_memory *memory);

/* `context` of these is a struct sonde_heap_memory. */
int sonde_heap_memory_read(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out);
/* Pages that were written to. A page of a file that nobody changed holds no pointer of this run. */
struct sonde_heap_extent sonde_heap_memory_present(void *context, struct sonde_heap_extent extent);

#endif
