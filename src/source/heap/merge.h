/* merge.h: merges the allocation records of a process's threads (format/heap.h) into one stream in time order.
 *
 * If one thread frees a block and another thread then receives it, the two records are merged in this order, because
 * the first thread had published the end before the second one could get the block. This requires that a run extends
 * only to a time that had passed before the first ring was read. The words are untrusted: nothing is assumed except
 * their order. One thread.
 */
#ifndef SONDE_SOURCE_HEAP_MERGE_H
#define SONDE_SOURCE_HEAP_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "format/heap.h"

enum sonde_heap_event_kind {
	SONDE_HEAP_BLOCK_KEPT,
	SONDE_HEAP_MAPPED,
	SONDE_HEAP_UNMAPPED,
	SONDE_HEAP_TAKEN, /* from a pool */
	SONDE_HEAP_GIVEN,
};

struct sonde_heap_event {
	enum sonde_heap_event_kind kind;
	uint32_t thread; /* the argument of sonde_heap_merge_add() */
	uint32_t stack;  /* the process's number of the stack, if a block begins */
	uint32_t pool;   /* the process's number */
	uint64_t address, size_b;
	uint64_t ticks; /* time by the clock of the words, >> SONDE_HEAP_TICK_SHIFT */
};

/* Begin or end of a malloc block. */
struct sonde_heap_change {
	uint64_t time; /* in ticks; for heap/chunks.h in ns */
	uint64_t address, size_b;
	uint32_t site; /* the process's stack number; for heap/chunks.h a site of the recording. 0 = the block ends */
	uint32_t thread;
};

struct sonde_heap_sink {
	void *context;
	/* Several changes at a time; the callee may modify them. */
	void (*blocks)(void *context, struct sonde_heap_change *changes, size_t count);
	/* Any other event, in order with the changes. */
	void (*event)(void *context, const struct sonde_heap_event *event);
	/* Defines a stack, before the first event that refers to it. */
	void (*stack)(void *context, uint32_t number, uint8_t status, const uint64_t *pcs, size_t count);
	/* Defines a pool, before the first event that refers to it. */
	void (*pool)(void *context, uint32_t number, const char *name, size_t name_b);
	/* True if a block is alive: decides the order of records of equal time. */
	int (*alive)(void *context, uint64_t address);
};

struct sonde_heap_merge;

#define SONDE_HEAP_WAITING_MAX ((size_t)32 << 20) /* words of a process: 256 MB */

int sonde_heap_merge_new(struct sonde_heap_merge **out, const struct sonde_heap_sink *sink);
void sonde_heap_merge_free(struct sonde_heap_merge *merge);

/* Sets the latest possible time: records with later times get this time. */
void sonde_heap_merge_latest(struct sonde_heap_merge *merge, uint64_t ticks);
/* Sets the maximum number of pending words (default SONDE_HEAP_WAITING_MAX); beyond it, records are handed out without
 * waiting for earlier ones. */
void sonde_heap_merge_most(struct sonde_heap_merge *merge, size_t words);
/* How often that limit was exceeded. */
uint64_t sonde_heap_merge_forced(const struct sonde_heap_merge *merge);
/* Adds `count` words of a thread's ring. `serial` identifies the thread in its process; `thread` is passed through to
 * the events. -ENOMEM. */
int sonde_heap_merge_add(struct sonde_heap_merge *merge, uint64_t serial, uint32_t thread, const uint64_t *words,
			 size_t count);
/* The thread writes no further words. */
void sonde_heap_merge_end(struct sonde_heap_merge *merge, uint64_t serial);
/* Hands out everything up to `ticks`. */
void sonde_heap_merge_run(struct sonde_heap_merge *merge, uint64_t ticks);

#endif
