/* heap_process.c: heaps of a process: malloc's, its own mappings, its pools. Each is kept and written by itself
 * (heap_chunks.h).
 */
#include "source/heap_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/heap_chunks.h"
#include "source/heap_merge.h"
#include "source/zones.h"
#include "util/error.h"

#define STACKS_MAX (1u << 24)

struct stack {
	uint32_t node;
	uint8_t status;
};

struct heap {
	uint32_t id; /* the recording's */
	struct sonde_heap_chunks *chunks;
	uint32_t last_thread, last_stack, last_site;
};

struct sonde_heap_process {
	struct sonde_recorder *recorder;
	struct sonde_unwinder *unwinder;
	pid_t pid;
	uint32_t clock; /* enum sonde_ring_clock */
	uint32_t id;    /* the recording's */
	struct sonde_heap_merge *merge;
	struct stack *stacks; /* by the process's number − 1 */
	size_t stack_count, stack_cap;
	struct heap malloc;
};

/* --- heaps ------------------------------------------------------------------------------------------------------- */

static int open_heap(struct sonde_heap_process *process, struct heap *heap, enum sonde_heap_kind kind, const char *name)
{
	uint64_t mean_b = kind == SONDE_HEAP_MALLOC ? sonde_recorder_options(process->recorder)->heap_mean_b : 0;
	heap->id = sonde_recorder_heap(process->recorder, process->id, kind, name);
	return sonde_heap_chunks_new(&heap->chunks, process->recorder, process->id, heap->id, mean_b);
}

static void close_heap(struct heap *heap)
{
	if (heap->chunks)
		sonde_heap_chunks_close(heap->chunks);
}

static uint64_t time_of(const struct sonde_heap_process *process, uint64_t ticks)
{
	uint64_t raw = ticks << SONDE_HEAP_TICK_SHIFT;
	return process->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clockfit_ns(sonde_zones_fit(), raw) : raw;
}

static uint32_t site_of(struct sonde_heap_process *process, struct heap *heap, uint32_t thread, uint32_t number)
{
	if (thread == heap->last_thread && number == heap->last_stack)
		return heap->last_site;
	struct stack stack = {0, SONDE_STACK_NOT_SAMPLED};
	if (number && number <= process->stack_count)
		stack = process->stacks[number - 1];
	struct sonde_recorder_heap_site site = {heap->id, thread, stack.node, stack.status};
	heap->last_thread = thread;
	heap->last_stack = number;
	return heap->last_site = sonde_recorder_heap_site(process->recorder, &site);
}

/* --- what the merge hands out ------------------------------------------------------------------------------------ */

static void on_event(void *context, const struct sonde_heap_event *event)
{
	struct sonde_heap_process *process = context;
	struct heap *heap = &process->malloc;
	uint64_t time_ns = time_of(process, event->ticks);
	switch (event->kind) {
	case SONDE_HEAP_BLOCK_BEGINS:
		sonde_heap_chunks_begins(heap->chunks, time_ns, event->thread, event->address, event->size_b,
					 site_of(process, heap, event->thread, event->stack));
		break;
	case SONDE_HEAP_BLOCK_ENDS:
		sonde_heap_chunks_ends(heap->chunks, time_ns, event->thread, event->address);
		break;
	case SONDE_HEAP_BLOCK_KEPT:
		sonde_heap_chunks_kept(heap->chunks, time_ns, event->thread, event->address);
		break;
	default:
		break;
	}
}

static void on_stack(void *context, uint32_t number, uint8_t status, const uint64_t *pcs, size_t count)
{
	struct sonde_heap_process *process = context;
	if (!number || number > STACKS_MAX || status >= SONDE_STACK_STATUS_COUNT)
		return;
	if (number > process->stack_cap) {
		size_t cap = process->stack_cap ? process->stack_cap : 256;
		while (cap < number)
			cap *= 2;
		struct stack *stacks = realloc(process->stacks, cap * sizeof *stacks);
		if (!stacks)
			return;
		memset(stacks + process->stack_cap, 0, (cap - process->stack_cap) * sizeof *stacks);
		process->stacks = stacks;
		process->stack_cap = cap;
	}
	if (number > process->stack_count)
		process->stack_count = number;
	uint32_t node = sonde_unwinder_intern(process->unwinder, process->pid, sonde_clock_now_ns(), pcs, count);
	process->stacks[number - 1] = (struct stack){node, status};
}

static void on_pool(void *context, uint32_t number, const char *name, size_t name_b)
{
	(void)context, (void)number, (void)name, (void)name_b;
}

static int is_alive(void *context, uint64_t address)
{
	const struct sonde_heap_process *process = context;
	return sonde_heap_chunks_is_alive(process->malloc.chunks, address);
}

/* --- a process --------------------------------------------------------------------------------------------------- */

int sonde_heap_process_new(struct sonde_heap_process **out, struct sonde_recorder *recorder,
			   struct sonde_unwinder *unwinder, pid_t pid, uint32_t clock)
{
	struct sonde_heap_process *process = calloc(1, sizeof *process);
	if (!process)
		return sonde_error(ENOMEM, "no memory for the allocations of a process");
	*process = (struct sonde_heap_process){.recorder = recorder, .unwinder = unwinder, .pid = pid, .clock = clock};
	process->id = sonde_recorder_process(recorder, pid, sonde_clock_now_ns());
	struct sonde_heap_sink sink = {process, on_event, on_stack, on_pool, is_alive};
	int code = sonde_heap_merge_new(&process->merge, &sink);
	code = code ? code : open_heap(process, &process->malloc, SONDE_HEAP_MALLOC, NULL);
	if (code) {
		sonde_heap_process_free(process);
		return code;
	}
	*out = process;
	return 0;
}

void sonde_heap_process_free(struct sonde_heap_process *process)
{
	if (!process)
		return;
	sonde_heap_merge_free(process->merge);
	sonde_heap_chunks_free(process->malloc.chunks);
	free(process->stacks);
	free(process);
}

void sonde_heap_process_add(struct sonde_heap_process *process, uint64_t serial, uint32_t thread, const uint64_t *words,
			    size_t count)
{
	sonde_heap_merge_add(process->merge, serial, thread, words, count);
}

void sonde_heap_process_thread_end(struct sonde_heap_process *process, uint64_t serial)
{
	sonde_heap_merge_end(process->merge, serial);
}

void sonde_heap_process_run(struct sonde_heap_process *process, uint64_t cycles, uint64_t ns)
{
	uint64_t cut = process->clock == SONDE_RING_CLOCK_CYCLES ? cycles : ns;
	sonde_heap_merge_run(process->merge, cut >> SONDE_HEAP_TICK_SHIFT);
}

void sonde_heap_process_end(struct sonde_heap_process *process)
{
	sonde_heap_merge_run(process->merge, UINT64_MAX - 1);
	close_heap(&process->malloc);
	sonde_heap_process_free(process);
}
