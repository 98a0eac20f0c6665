/* merge.c: one queue per thread; the queue with the earliest record is read until another queue has an earlier one
 * (heap/merge.h).
 *
 * If the next record of another thread is so close in time that the order of timestamps may differ from the order of
 * events, the two records are compared. Otherwise, and in single-threaded programs, records are only decoded.
 */
#include "source/heap/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

#define NEVER UINT64_MAX
#define BATCH 256u
#define NEAR 8u /* ticks: a processor may read its counter this much before earlier instructions complete */

struct queue {
	uint64_t serial;
	uint32_t thread;
	int ended; /* its thread writes no further words */
	uint64_t *words;
	size_t begin, end, cap;
	uint64_t ticks;  /* time of the last record taken */
	uint64_t size_b; /* from SIZE, for the next block; 0 = none */
	uint64_t next;   /* time of the record at `begin`; NEVER if there is none, or it is incomplete */
};

struct sonde_heap_merge {
	struct sonde_heap_sink sink;
	struct queue *queues;
	size_t count, cap;
	uint64_t latest; /* upper limit of all times */
	size_t waiting;  /* words, at most */
	size_t most;     /* limit of `waiting` */
	uint64_t forced; /* how often the limit was exceeded */
	size_t pending;
	struct sonde_heap_change changes[BATCH]; /* merged, but not passed to the sink yet */
};

int sonde_heap_merge_new(struct sonde_heap_merge **out, const struct sonde_heap_sink *sink)
{
	struct sonde_heap_merge *merge = calloc(1, sizeof *merge);
	if (!merge)
		return sonde_error(ENOMEM, "no memory to put allocations in order");
	merge->sink = *sink;
	merge->latest = NEVER - 1;
	merge->most = SONDE_HEAP_WAITING_MAX;
	*out = merge;
	return 0;
}

void sonde_heap_merge_free(struct sonde_heap_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++)
		free(merge->queues[i].words);
	free(merge->queues);
	free(merge);
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static uint64_t word(const struct queue *queue, size_t at)
{
	return queue->words[queue->begin + at];
}

static size_t left(const struct queue *queue)
{
	return queue->end - queue->begin;
}

static int is_op(uint64_t first)
{
	return !(first & SONDE_HEAP_ADDRESS_MASK);
}

/* Sizes, in words, of records other than blocks. They do not include a variable part, whose length is in the second
 * word. */
static const uint8_t op_sizes[] = {
    [SONDE_HEAP_TIME] = 2,      [SONDE_HEAP_STACK] = 2, [SONDE_HEAP_SIZE] = 2,
    [SONDE_HEAP_MAP] = 4,       [SONDE_HEAP_UNMAP] = 3, [SONDE_HEAP_KEPT] = 2,
    [SONDE_HEAP_POOL_NAME] = 2, [SONDE_HEAP_TAKE] = 4,  [SONDE_HEAP_GIVE] = 3,
};

static size_t op_size(uint64_t op, uint64_t second)
{
	size_t size = op < sizeof op_sizes && op_sizes[op] ? op_sizes[op] : 2;
	if (op == SONDE_HEAP_STACK)
		size += second & 0xffff;
	else if (op == SONDE_HEAP_POOL_NAME)
		size += ((second & 0xff) + 7) / 8;
	return size;
}

/* The number of words of the record at the front; 0 if the record is incomplete. */
static size_t record_size(const struct queue *queue)
{
	size_t have = left(queue);
	if (!have)
		return 0;
	uint64_t first = word(queue, 0);
	size_t size = first & SONDE_HEAP_BEGINS ? 2 : 1;
	if (is_op(first))
		size = op_size(sonde_heap_ticks(first), have > 1 ? word(queue, 1) : 0);
	return size <= have ? size : 0;
}

static void define(struct sonde_heap_merge *merge, struct queue *queue, uint64_t op, uint64_t second, size_t size)
{
	const uint64_t *more = &queue->words[queue->begin + 2];
	if (op == SONDE_HEAP_TIME)
		queue->ticks = second >> SONDE_HEAP_TICK_SHIFT;
	else if (op == SONDE_HEAP_SIZE)
		queue->size_b = second;
	else if (op == SONDE_HEAP_STACK)
		merge->sink.stack(merge->sink.context, (uint32_t)(second >> 32), (uint8_t)(second >> 16), more,
				  size - 2);
	else if (op == SONDE_HEAP_POOL_NAME)
		merge->sink.pool(merge->sink.context, (uint32_t)(second >> 32), (const char *)more,
				 strnlen((const char *)more, second & 0xff));
}

static int is_timed(uint64_t op)
{
	return op == SONDE_HEAP_KEPT || op == SONDE_HEAP_MAP || op == SONDE_HEAP_UNMAP || op == SONDE_HEAP_TAKE ||
	       op == SONDE_HEAP_GIVE;
}

/* The time of the record at the front: `passed` after the last record, but at most the latest possible time. */
static uint64_t time_of(const struct sonde_heap_merge *merge, struct queue *queue, uint64_t passed)
{
	if (queue->ticks > merge->latest || passed > merge->latest - queue->ticks)
		queue->ticks = merge->latest - passed;
	return queue->ticks + passed;
}

/* Processes STACK, POOL, TIME and SIZE immediately; other records wait for their time. */
static void take_definitions(struct sonde_heap_merge *merge, struct queue *queue)
{
	size_t size;
	queue->next = NEVER;
	while ((size = record_size(queue))) {
		uint64_t first = word(queue, 0), second = size > 1 ? word(queue, 1) : 0;
		uint64_t op = is_op(first) ? sonde_heap_ticks(first) : 0;
		if (!op) {
			queue->next = time_of(merge, queue, sonde_heap_ticks(first));
			return;
		}
		if (is_timed(op)) {
			queue->next = time_of(merge, queue, 0);
			return;
		}
		define(merge, queue, op, second, size);
		queue->begin += size;
	}
}

static int reserve(struct queue *queue, size_t more)
{
	if (queue->begin == queue->end)
		queue->begin = queue->end = 0;
	if (queue->end + more <= queue->cap)
		return 0;
	if (queue->begin && queue->begin >= left(queue)) { /* moves no more words than were taken */
		memmove(queue->words, queue->words + queue->begin, left(queue) * sizeof *queue->words);
		queue->end -= queue->begin;
		queue->begin = 0;
	}
	return SONDE_ARRAY_RESERVE(queue->words, queue->cap, queue->end + more)
		   ? sonde_error(ENOMEM, "no memory to put allocations in order")
		   : 0;
}

static struct queue *queue_of(struct sonde_heap_merge *merge, uint64_t serial, uint32_t thread)
{
	struct queue *unused = NULL;
	for (size_t i = 0; i < merge->count; i++) {
		struct queue *queue = &merge->queues[i];
		if (queue->serial == serial)
			return queue;
		if (!left(queue) && queue->ended)
			unused = queue;
	}
	if (!unused && SONDE_ARRAY_RESERVE(merge->queues, merge->cap, merge->count + 1))
		return NULL;
	if (!unused) {
		unused = &merge->queues[merge->count++];
		*unused = (struct queue){0};
	}
	*unused = (struct queue){
	    .serial = serial, .thread = thread, .words = unused->words, .cap = unused->cap, .next = NEVER};
	return unused;
}

static size_t count_waiting(const struct sonde_heap_merge *merge)
{
	size_t words = 0;
	for (size_t i = 0; i < merge->count; i++)
		words += left(&merge->queues[i]);
	return words;
}

/* If more words wait than the limit allows, hands out all records without waiting for earlier ones. Only incomplete
 * records remain, less than one per thread. */
static void make_capacity(struct sonde_heap_merge *merge)
{
	merge->waiting = count_waiting(merge);
	if (merge->waiting <= merge->most)
		return;
	sonde_heap_merge_run(merge, NEVER - 1);
	merge->waiting = count_waiting(merge);
	merge->forced++;
}

int sonde_heap_merge_add(struct sonde_heap_merge *merge, uint64_t serial, uint32_t thread, const uint64_t *words,
			 size_t count)
{
	struct queue *queue = queue_of(merge, serial, thread);
	if (!queue)
		return sonde_error(ENOMEM, "no memory to put allocations in order");
	int code = reserve(queue, count);
	if (code)
		return code;
	if (count)
		memcpy(queue->words + queue->end, words, count * sizeof *words);
	queue->end += count;
	if (queue->next == NEVER)
		take_definitions(merge, queue);
	merge->waiting += count;
	if (merge->waiting > merge->most)
		make_capacity(merge);
	return 0;
}

void sonde_heap_merge_latest(struct sonde_heap_merge *merge, uint64_t ticks)
{
	merge->latest = ticks;
}

void sonde_heap_merge_most(struct sonde_heap_merge *merge, size_t words)
{
	merge->most = words;
}

uint64_t sonde_heap_merge_forced(const struct sonde_heap_merge *merge)
{
	return merge->forced;
}

void sonde_heap_merge_end(struct sonde_heap_merge *merge, uint64_t serial)
{
	for (size_t i = 0; i < merge->count; i++)
		if (merge->queues[i].serial == serial)
			merge->queues[i].ended = 1;
}

/* --- order ------------------------------------------------------------------------------------------------------- */

static void read_op(const struct queue *queue, uint64_t op, struct sonde_heap_event *event)
{
	event->address = word(queue, 1);
	switch (op) {
	case SONDE_HEAP_MAP:
		event->kind = SONDE_HEAP_MAPPED;
		event->size_b = word(queue, 2);
		event->stack = (uint32_t)word(queue, 3);
		return;
	case SONDE_HEAP_UNMAP:
		event->kind = SONDE_HEAP_UNMAPPED;
		event->size_b = word(queue, 2);
		return;
	case SONDE_HEAP_TAKE:
		event->kind = SONDE_HEAP_TAKEN;
		event->pool = (uint32_t)(word(queue, 1) >> 32);
		event->stack = (uint32_t)word(queue, 1);
		event->address = word(queue, 2);
		event->size_b = word(queue, 3) - 1;
		return;
	case SONDE_HEAP_GIVE:
		event->kind = SONDE_HEAP_GIVEN;
		event->pool = (uint32_t)word(queue, 1);
		event->address = word(queue, 2);
		return;
	default:
		event->kind = SONDE_HEAP_BLOCK_KEPT;
		return;
	}
}

static void hand_out(struct sonde_heap_merge *merge)
{
	if (merge->pending)
		merge->sink.blocks(merge->sink.context, merge->changes, merge->pending);
	merge->pending = 0;
}

/* The size of a new block: size_b or, if it is too large for the block's own record, the size from a preceding SIZE
 * record. */
static uint64_t whole_size(struct queue *queue, uint64_t size_b)
{
	uint64_t recorded_b = queue->size_b;
	queue->size_b = 0;
	return recorded_b && size_b == SONDE_HEAP_SIZE_MAX ? recorded_b : size_b;
}

/* Takes block records with times up to `limit`. Stops at an incomplete record, or at a record of another kind. */
static void give_blocks(struct sonde_heap_merge *merge, struct queue *queue, uint64_t limit)
{
	const uint64_t *words = queue->words;
	size_t at = queue->begin, end = queue->end;
	uint64_t ticks = queue->ticks;
	while (at < end) {
		uint64_t first = words[at], next = ticks + sonde_heap_ticks(first);
		size_t size = first & SONDE_HEAP_BEGINS ? 2 : 1;
		if (is_op(first) || next > limit || at + size > end)
			break;
		uint64_t second = size == 2 ? words[at + 1] : 0;
		uint32_t stack = (uint32_t)second;
		if (merge->pending == BATCH)
			hand_out(merge);
		struct sonde_heap_change *change = &merge->changes[merge->pending++];
		change->time = next;
		change->address = sonde_heap_address(first);
		change->size_b = second >> 32;
		change->site = stack || size == 1 ? stack : UINT32_MAX; /* unknown stack */
		change->thread = queue->thread;
		if (__builtin_expect(queue->size_b && size == 2, 0))
			change->size_b = whole_size(queue, change->size_b);
		ticks = next;
		at += size;
	}
	queue->begin = at;
	queue->ticks = ticks;
}

/* Hands out the record at the front of a queue, whose time is `next`, and blocks after it up to `limit`. */
static void give(struct sonde_heap_merge *merge, struct queue *queue, uint64_t limit)
{
	uint64_t first = word(queue, 0);
	if (is_op(first)) {
		struct sonde_heap_event event = {.thread = queue->thread, .ticks = queue->next};
		read_op(queue, sonde_heap_ticks(first), &event);
		queue->ticks = queue->next;
		queue->begin += record_size(queue);
		hand_out(merge);
		merge->sink.event(merge->sink.context, &event);
	} else {
		give_blocks(merge, queue, limit > queue->next ? limit : queue->next);
	}
	take_definitions(merge, queue);
}

/* Finds another queue whose next record must come before the record at the front of `queue`: the end of the block whose
 * address is to be reused, or the beginning of the block that is to end. */
static struct queue *other_half(struct sonde_heap_merge *merge, const struct queue *queue)
{
	uint64_t first = word(queue, 0), address = sonde_heap_address(first);
	int begins = (first & SONDE_HEAP_BEGINS) != 0;
	for (size_t i = 0; !is_op(first) && i < merge->count; i++) {
		struct queue *other = &merge->queues[i];
		if (other == queue || other->next > queue->next + NEAR || is_op(word(other, 0)) ||
		    sonde_heap_address(word(other, 0)) != address ||
		    ((word(other, 0) & SONDE_HEAP_BEGINS) != 0) == begins)
			continue;
		hand_out(merge); /* so that `alive` reflects the events before this one */
		if (merge->sink.alive(merge->sink.context, address) == begins)
			return other;
	}
	return NULL;
}

/* The queue with the earliest record, and the time up to which it can be read before another queue has an earlier
 * one. */
static struct queue *earliest(struct sonde_heap_merge *merge, uint64_t *until)
{
	struct queue *first = NULL;
	uint64_t second = NEVER;
	for (size_t i = 0; i < merge->count; i++) {
		struct queue *queue = &merge->queues[i];
		if (!first || queue->next < first->next) {
			second = first ? first->next : NEVER;
			first = queue;
		} else if (queue->next < second) {
			second = queue->next;
		}
	}
	*until = second;
	return first;
}

void sonde_heap_merge_run(struct sonde_heap_merge *merge, uint64_t ticks)
{
	for (;;) {
		uint64_t until;
		struct queue *queue = earliest(merge, &until);
		if (!queue || queue->next == NEVER || queue->next > ticks)
			break;
		while (queue->next <= until && queue->next <= ticks && queue->next != NEVER) {
			if (until - queue->next > NEAR) {
				give(merge, queue, until - NEAR - 1 < ticks ? until - NEAR - 1 : ticks);
				continue;
			}
			struct queue *other = other_half(merge, queue);
			give(merge, other ? other : queue, 0);
			if (other)
				break;
		}
	}
	hand_out(merge);
}
