/* memory.h: reads the memory of a waiting process for heap/scan.h.
 *
 * A system call costs as much as copying tens of thousands of bytes. So a small piece is read together with its
 * surroundings, which are cached. The cache is as large as a sixteenth of the machine's memory, but at least 256 MB. In
 * a heap of at most half that size, pointers can be followed in any order without a system call for each. In larger
 * heaps only pieces that are requested one by one are cached.
 */
#ifndef SONDE_SOURCE_HEAP_MEMORY_H
#define SONDE_SOURCE_HEAP_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "source/heap/scan.h"

struct sonde_heap_memory {
	pid_t pid;
	int page_map; /* /proc/PID/pagemap, −1 if not readable */
	uint64_t page_b;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: after it, reads fail with -ETIMEDOUT */
	uint64_t read_b;
	int is_small; /* the whole heap fits in the cache */
	size_t window_count;
	uint8_t *windows;  /* NULL = no cache */
	uint64_t *in_them; /* by slot: number of the window that is cached there, + 1 */
};

void sonde_heap_memory_open(struct sonde_heap_memory *memory, pid_t pid, uint64_t heap_b, uint64_t deadline_ns);
void sonde_heap_memory_close(struct sonde_heap_memory *memory);

/* `context` is a struct sonde_heap_memory. */
int sonde_heap_memory_read(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out);
/* Finds the next pages that were written to. Other pages need not be read: an unmodified page of a file contains no
 * pointer of this run. */
struct sonde_heap_extent sonde_heap_memory_present(void *context, struct sonde_heap_extent extent);

#endif
