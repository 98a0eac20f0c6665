/* memory.h: the memory of a process that waits, as heap/scan.h reads it.
 *
 * A call costs as much as copying tens of thousands of bytes, so small pieces are read with what lies around them, and
 * that is kept, up to 256 MB or a sixteenth of the machine's memory: pointers that lead through a heap of that size in
 * any order cost no call each. In larger heaps only pieces that are asked for one by one are read so.
 */
#ifndef SONDE_SOURCE_HEAP_MEMORY_H
#define SONDE_SOURCE_HEAP_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "source/heap/scan.h"

struct sonde_heap_memory {
	pid_t pid;
	int page_map; /* /proc/PID/pagemap, −1 where it may not be read */
	uint64_t page_b;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: from then on reading fails with -ETIMEDOUT */
	uint64_t read_b;
	int is_small; /* all of the heap can be kept */
	size_t window_count;
	uint8_t *windows;  /* NULL = nothing is kept */
	uint64_t *in_them; /* number of the window that each has, + 1 */
};

void sonde_heap_memory_open(struct sonde_heap_memory *memory, pid_t pid, uint64_t heap_b, uint64_t deadline_ns);
void sonde_heap_memory_close(struct sonde_heap_memory *memory);

/* `context` of these is a struct sonde_heap_memory. */
int sonde_heap_memory_read(void *context, const struct sonde_heap_extent *pieces, size_t count, void *out);
/* Pages that were written to. A page of a file that nobody changed holds no pointer of this run. */
struct sonde_heap_extent sonde_heap_memory_present(void *context, struct sonde_heap_extent extent);

#endif
