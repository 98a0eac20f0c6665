/* intake.c: passes the merged events into the heaps of a process (heap/process.h): converts times to ns, and numbers of
 * stacks and pools to sites and heaps.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/heap/process_state.h"
#include "util/array.h"

#define STACKS_MAX (1u << 24)
#define POOLS_MAX 4096u
#define STACKS_AHEAD (1u << 16) /* how far a number may exceed the highest known one; beyond that it is invalid */
#define NUMBERS_MAX (1u << 20)  /* of pools: two threads may number the same pool twice */

/* --- heaps ------------------------------------------------------------------------------------------------------- */

int sonde_heap_intake_open(struct sonde_heap_process *process, struct sonde_heap_own *heap, enum sonde_heap_kind kind,
			   const char *name)
{
	if (heap->chunks)
		return 0;
	uint64_t mean_b = kind == SONDE_HEAP_MALLOC ? sonde_recorder_options(process->recorder)->heap_mean_b : 0;
	heap->written_ns = sonde_clock_now_ns();
	heap->id = sonde_recorder_heap(process->recorder, process->id, kind, name);
	int code = sonde_heap_chunks_new(&heap->chunks, process->recorder, process->id, heap->id, mean_b);
	return code || !process->exact_times ? code : sonde_heap_chunks_exact_times(heap->chunks);
}

static uint64_t time_of(const struct sonde_heap_process *process, uint64_t ticks)
{
	uint64_t raw = ticks << SONDE_HEAP_TICK_SHIFT;
	return process->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clockfit_ns(process->fit, raw) : raw;
}

static void keep_loader_site(struct sonde_heap_process *process, uint32_t site)
{
	for (size_t i = 0; i < process->loader_site_count; i++)
		if (process->loader_sites[i] == site)
			return;
	size_t size_b = (process->loader_site_count + 1) * sizeof *process->loader_sites;
	uint32_t *sites = realloc(process->loader_sites, size_b);
	if (!sites)
		return;
	process->loader_sites = sites;
	sites[process->loader_site_count++] = site;
}

static uint32_t site_of(struct sonde_heap_process *process, struct sonde_heap_own *heap, uint32_t thread,
			uint32_t number)
{
	if (thread == heap->last_thread && number == heap->last_stack)
		return heap->last_site;
	struct sonde_heap_stack stack = {.status = SONDE_STACK_NOT_SAMPLED};
	if (number && number <= process->stack_count)
		stack = process->stacks[number - 1];
	struct sonde_recorder_heap_site site = {heap->id, thread, stack.node, stack.status};
	heap->last_thread = thread;
	heap->last_stack = number;
	heap->last_site = sonde_recorder_heap_site(process->recorder, &site);
	if (stack.is_loaders)
		keep_loader_site(process, heap->last_site);
	return heap->last_site;
}

/* --- merged events ----------------------------------------------------------------------------------------------- */

/* Converts the ticks of a batch to ns. Nearly always, one piece of the piecewise linear clock fit applies to the whole
 * batch, so times are computed relative to the first one. */
struct conversion {
	const struct sonde_clockfit *fit; /* NULL: ticks are ns */
	uint64_t first, first_ns, mult;   /* raw time, and ns per cycle × 2^32; mult 0: convert each by itself */
};

static struct conversion conversion_of(const struct sonde_heap_process *process, uint64_t from, uint64_t to)
{
	struct conversion conversion = {0};
	if (process->clock != SONDE_RING_CLOCK_CYCLES)
		return conversion;
	conversion.fit = process->fit;
	uint64_t first = from << SONDE_HEAP_TICK_SHIFT, last = to << SONDE_HEAP_TICK_SHIFT;
	const struct sonde_clock_scale *piece = sonde_clockfit_piece(conversion.fit, first, last);
	if (!piece || piece->mult >> 32 || last - first >= UINT64_C(1) << 31)
		return conversion;
	conversion.first = first;
	conversion.first_ns = sonde_clock_scale_ns(piece, first);
	conversion.mult = piece->mult;
	return conversion;
}

static inline uint64_t converted(const struct conversion *conversion, uint64_t ticks)
{
	uint64_t raw = ticks << SONDE_HEAP_TICK_SHIFT, passed = raw - conversion->first;
	if (!conversion->fit)
		return raw;
	if (conversion->mult && !(passed >> 31))
		return conversion->first_ns + (passed * conversion->mult >> 32);
	return sonde_clockfit_ns(conversion->fit, raw);
}

/* Like site_of(), but faster, for malloc's heap, which has most of the blocks. */
static inline uint32_t malloc_site(struct sonde_heap_process *process, uint32_t thread, uint32_t number)
{
	struct sonde_heap_stack *stack = number <= process->stack_count ? &process->stacks[number - 1] : NULL;
	if (stack && stack->site && stack->thread == thread)
		return stack->site;
	uint32_t site = site_of(process, &process->malloc, thread, number);
	if (stack) {
		stack->site = site;
		stack->thread = thread;
	}
	return site;
}

static void on_blocks(void *context, struct sonde_heap_change *changes, size_t count)
{
	struct sonde_heap_process *process = context;
	while (count && changes[count - 1].time > process->until)
		count--;
	if (!count)
		return;
	struct conversion conversion = conversion_of(process, changes[0].time, changes[count - 1].time);
	if (sonde_heap_intake_open(process, &process->malloc, SONDE_HEAP_MALLOC, NULL))
		return;
	for (size_t i = 0; i < count; i++) {
		changes[i].time = converted(&conversion, changes[i].time);
		if (changes[i].site && !(changes[i].site = malloc_site(process, changes[i].thread, changes[i].site)))
			changes[i].address = 0; /* out of memory: neither begins nor ends a block */
	}
	sonde_heap_chunks_changes(process->malloc.chunks, changes, count);
}

static void on_block(struct sonde_heap_process *process, struct sonde_heap_own *heap,
		     const struct sonde_heap_event *event)
{
	uint64_t time_ns = time_of(process, event->ticks);
	if (event->kind == SONDE_HEAP_TAKEN)
		sonde_heap_chunks_begins(heap->chunks, time_ns, event->thread, event->address, event->size_b,
					 site_of(process, heap, event->thread, event->stack));
	else if (event->kind == SONDE_HEAP_BLOCK_KEPT)
		sonde_heap_chunks_kept(heap->chunks, time_ns, event->thread, event->address);
	else
		sonde_heap_chunks_ends(heap->chunks, time_ns, event->thread, event->address);
}

static void on_mapping(struct sonde_heap_process *process, const struct sonde_heap_event *event)
{
	struct sonde_heap_own *heap = &process->mapping;
	int maps = event->kind == SONDE_HEAP_MAPPED;
	uint64_t what = event->size_b >> SONDE_HEAP_MAP_SHIFT;
	int begins = what == SONDE_HEAP_MAP_MEMORY || what == SONDE_HEAP_MAP_OPENED || what == SONDE_HEAP_MAP_MOVED;
	if (!maps && !process->mappings)
		return;
	if (sonde_heap_intake_open(process, heap, SONDE_HEAP_MAPPING, NULL) ||
	    (!process->mappings && sonde_heap_mappings_new(&process->mappings, heap->chunks))) {
		process->unkept_events++;
		return;
	}
	struct sonde_heap_mapping mapping = {
	    .time_ns = time_of(process, event->ticks),
	    .thread = event->thread,
	    .site = maps && begins ? site_of(process, heap, event->thread, event->stack) : 0,
	    .address = event->address,
	    .size_b = event->size_b & ((UINT64_C(1) << SONDE_HEAP_MAP_SHIFT) - 1),
	};
	if (maps)
		sonde_heap_mappings_map(process->mappings, &mapping, (enum sonde_heap_map)what);
	else
		sonde_heap_mappings_unmap(process->mappings, &mapping);
}

static void on_pool_block(struct sonde_heap_process *process, const struct sonde_heap_event *event)
{
	uint32_t index = event->pool && event->pool <= process->number_cap ? process->pool_numbers[event->pool - 1] : 0;
	struct sonde_heap_pool *pool = index ? process->pools[index - 1] : NULL;
	if (!pool)
		process->pools_lost++;
	else if (sonde_heap_intake_open(process, &pool->heap, SONDE_HEAP_POOL, pool->name))
		process->unkept_events++;
	else
		on_block(process, &pool->heap, event);
}

static void on_event(void *context, const struct sonde_heap_event *event)
{
	struct sonde_heap_process *process = context;
	if (event->ticks > process->until)
		return;
	if (event->kind == SONDE_HEAP_MAPPED || event->kind == SONDE_HEAP_UNMAPPED)
		on_mapping(process, event);
	else if (event->kind == SONDE_HEAP_TAKEN || event->kind == SONDE_HEAP_GIVEN)
		on_pool_block(process, event);
	else if (!sonde_heap_intake_open(process, &process->malloc, SONDE_HEAP_MALLOC, NULL))
		on_block(process, &process->malloc, event);
}

static void on_stack(void *context, uint32_t number, uint8_t status, const uint64_t *pcs, size_t count)
{
	struct sonde_heap_process *process = context;
	if (!number || status >= SONDE_STACK_STATUS_COUNT || !process->unwinder)
		return;
	if (number > STACKS_MAX || number > process->stack_count + STACKS_AHEAD) {
		process->stacks_lost++;
		return;
	}
	if (SONDE_ARRAY_RESERVE_ZEROS(process->stacks, process->stack_cap, number)) {
		process->unkept_stacks++;
		return;
	}
	if (number > process->stack_count)
		process->stack_count = number;
	uint32_t node = sonde_unwinder_intern(process->unwinder, process->pid, sonde_clock_now_ns(), pcs, count);
	int is_loaders = count && pcs[0] - process->loader.start < process->loader.end - process->loader.start;
	process->stacks[number - 1] =
	    (struct sonde_heap_stack){.node = node, .status = status, .is_loaders = (uint8_t)is_loaders};
}

/* Index + 1 of the pool with a name; 0 = too many, or out of memory. */
static uint32_t find_pool(struct sonde_heap_process *process, const char *name, size_t name_b)
{
	for (size_t i = 0; i < process->pool_count; i++)
		if (!strncmp(process->pools[i]->name, name, name_b) && !process->pools[i]->name[name_b])
			return (uint32_t)i + 1;
	if (process->pool_count == POOLS_MAX)
		return 0;
	if (!process->pools && !(process->pools = calloc(POOLS_MAX, sizeof *process->pools)))
		return 0;
	struct sonde_heap_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return 0;
	memcpy(pool->name, name, name_b);
	process->pools[process->pool_count++] = pool;
	return (uint32_t)process->pool_count;
}

static void on_pool(void *context, uint32_t number, const char *name, size_t name_b)
{
	struct sonde_heap_process *process = context;
	if (number && number <= NUMBERS_MAX && name_b <= SONDE_HEAP_NAME_MAX_B &&
	    !SONDE_ARRAY_RESERVE_ZEROS(process->pool_numbers, process->number_cap, number))
		process->pool_numbers[number - 1] = find_pool(process, name, name_b);
}

static int is_alive(void *context, uint64_t address)
{
	const struct sonde_heap_process *process = context;
	return process->malloc.chunks && sonde_heap_chunks_is_alive(process->malloc.chunks, address);
}

struct sonde_heap_sink sonde_heap_intake(struct sonde_heap_process *process)
{
	return (struct sonde_heap_sink){process, on_blocks, on_event, on_stack, on_pool, is_alive};
}
