/* merge.h: what the threads of a process wrote about blocks (format/heap.h), read as one stream in time order.
 *
 * A block that is given back by one thread and out again by another is in order as long as a round only goes as far as
 * a time that had passed before the first ring of the round was read: whoever got the block got it after its end had
 * been published. Words are hostile: nothing in them is believed but their order. One thread.
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
	uint32_t thread; /* as it was added */
	uint32_t stack;  /* the process's number, where something begins */
	uint32_t pool;   /* the process's number */
	uint64_t address, size_b;
	uint64_t ticks; /* of the pool's clock >> SONDE_HEAP_TICK_SHIFT */
};

/* A block of malloc's begins or ends. */
struct sonde_heap_change {
	uint64_t time; /* ticks; for heap/chunks.h ns */
	uint64_t address, size_b;
	uint32_t site; /* the process's number of a stack; for heap/chunks.h the recording's of a site. 0 = it ends */
	uint32_t thread;
};

struct sonde_heap_sink {
	void *context;
	/* Some of them at a time; they may be changed. */
	void (*blocks)(void *context, struct sonde_heap_change *changes, size_t count);
	/* Any other event, in its place among them. */
	void (*event)(void *context, const struct sonde_heap_event *event);
	/* A stack that events will name; told before the first of them. */
	void (*stack)(void *context, uint32_t number, uint8_t status, const uint64_t *pcs, size_t count);
	/* A pool that events will name. */
	void (*pool)(void *context, uint32_t number, const char *name, size_t name_b);
	/* Whether a block is alive: decides between records of equal time. */
	int (*alive)(void *context, uint64_t address);
};

struct sonde_heap_merge;

#define SONDE_HEAP_WAITING_MAX ((size_t)32 << 20) /* words of a process: 256 MB */

int sonde_heap_merge_new(struct sonde_heap_merge **out, const struct sonde_heap_sink *sink);
void sonde_heap_merge_free(struct sonde_heap_merge *merge);

/* What claims to be later than this happened then. */
void sonde_heap_merge_latest(struct sonde_heap_merge *merge, uint64_t ticks);
/* Of more words than this (else SONDE_HEAP_WAITING_MAX) none waits for its time: they are handed out as they are. */
void sonde_heap_merge_most(struct sonde_heap_merge *merge, size_t words);
/* How often that was needed. */
uint64_t sonde_heap_merge_forced(const struct sonde_heap_merge *merge);
/* Takes `count` words of a thread's ring. `serial` names the thread in its process, `thread` is handed out again.
 * -ENOMEM. */
int sonde_heap_merge_add(struct sonde_heap_merge *merge, uint64_t serial, uint32_t thread, const uint64_t *words,
			 size_t count);
/* The thread will write no more. */
void sonde_heap_merge_end(struct sonde_heap_merge *merge, uint64_t serial);
/* Hands out everything up to `ticks`. */
void sonde_heap_merge_run(struct sonde_heap_merge *merge, uint64_t ticks);

#endif
