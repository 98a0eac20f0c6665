/* process_state.h: the state that heap/process.c and heap/intake.c share: one lifetime of a program in a process. */
#ifndef SONDE_SOURCE_HEAP_PROCESS_STATE_H
#define SONDE_SOURCE_HEAP_PROCESS_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fold/clockfit.h"
#include "format/heap.h"
#include "source/heap/chunks.h"
#include "source/heap/mappings.h"
#include "source/heap/merge.h"
#include "source/heap/roots.h"
#include "source/record/recorder.h"
#include "source/stack/unwinder.h"

struct sonde_heap_stack {
	uint32_t node;
	uint8_t status;
	uint8_t is_loaders;    /* the stack's call site is in the dynamic loader */
	uint32_t thread, site; /* last used thread and site in malloc's heap; site 0 = none yet */
};

struct sonde_heap_own {
	uint32_t id;                      /* id in the recording */
	struct sonde_heap_chunks *chunks; /* NULL = not opened yet */
	uint64_t written_ns;
	uint32_t last_thread, last_stack, last_site;
};

struct sonde_heap_pool {
	char name[SONDE_HEAP_NAME_MAX_B + 1];
	struct sonde_heap_own heap;
};

struct sonde_heap_late;

struct sonde_heap_process {
	struct sonde_recorder *recorder;
	struct sonde_unwinder *unwinder;
	const struct sonde_clockfit *fit;
	struct sonde_heap_late *late;
	pid_t pid;
	uint32_t clock; /* enum sonde_ring_clock */
	uint32_t id;    /* id in the recording */
	struct sonde_heap_merge *merge;
	struct sonde_heap_stack *stacks; /* by the process's number − 1 */
	size_t stack_count, stack_cap;
	struct sonde_heap_extent loader; /* the dynamic loader's code */
	uint32_t *loader_sites;
	size_t loader_site_count;
	struct sonde_heap_own malloc;
	struct sonde_heap_own mapping;
	struct sonde_heap_mappings *mappings; /* tracks the mappings of the heap `mapping` */
	struct sonde_heap_pool **pools;       /* allocated one by one; the array grows */
	size_t pool_count;
	uint32_t *pool_numbers; /* index in `pools` + 1, by the process's number of the pool − 1 */
	size_t number_cap;
	int exact_times, scanned;
	const char *why_left; /* why recording stopped; NULL = it did not */
	uint64_t until;       /* ticks; later events are ignored */
	uint64_t pools_lost;  /* events of pools beyond the limit */
	uint64_t stacks_lost; /* number of stacks with invalid numbers */

	/* losses for lack of memory */
	uint64_t unread; /* words that were not read, since no more are accepted */
	uint64_t unkept_stacks;
	uint64_t unkept_events; /* number of events of heaps that could not be opened */
};

/* Opens one of its heaps at its first block. 0 or a negative errno. */
int sonde_heap_intake_open(struct sonde_heap_process *process, struct sonde_heap_own *heap, enum sonde_heap_kind kind,
			   const char *name);
/* The sink that receives the merged records. */
struct sonde_heap_sink sonde_heap_intake(struct sonde_heap_process *process);

#endif
