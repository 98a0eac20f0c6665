/* heap_process.c: heaps of a process: malloc's, its own mappings, its pools. Each is kept and written by itself
 * (heap_chunks.h), from the first block that it has.
 */
#include "source/heap_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/heap_chunks.h"
#include "source/heap_leaks.h"
#include "source/heap_mappings.h"
#include "source/heap_merge.h"
#include "source/heap_roots.h"
#include "source/zones.h"
#include "util/error.h"

#define STACKS_MAX (1u << 24)
#define POOLS_MAX 4096u
#define STACKS_AHEAD (1u << 16)    /* of the highest known: a number beyond that is not one */
#define FUTURE (UINT64_C(1) << 30) /* counters of two cores, and clocks, may differ by this much, no more */
#define NUMBERS_MAX (1u << 20)     /* of pools: two threads may number one pool twice */

#define OLD_NS UINT64_C(5000000000) /* so long events wait at the most to be written */

struct stack {
	uint32_t node;
	uint8_t status;
	uint8_t is_loaders;    /* the dynamic loader allocates there */
	uint32_t thread, site; /* in malloc's heap, when it was met there last; site 0 = not yet */
};

struct heap {
	uint32_t id;                      /* the recording's */
	struct sonde_heap_chunks *chunks; /* NULL = not open yet */
	uint64_t written_ns;
	uint32_t last_thread, last_stack, last_site;
};

struct pool {
	char name[SONDE_HEAP_NAME_MAX_B + 1];
	struct heap heap;
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
	struct sonde_heap_extent loader; /* the dynamic loader's code */
	uint32_t *loader_sites;
	size_t loader_site_count;
	struct heap malloc;
	struct heap mapping;
	struct sonde_heap_mappings *mappings; /* with `mapping` */
	struct pool **pools;                  /* each by itself: they grow */
	size_t pool_count;
	uint32_t *pool_numbers; /* by the process's number − 1: index + 1 */
	size_t number_cap;
	int exact_times, scanned;
	const char *why_left; /* NULL = it has not */
	uint64_t until;       /* ticks; what came later is not taken */
	uint64_t pools_lost;  /* events of pools that were too many */
	uint64_t stacks_lost; /* whose numbers cannot be */

	/* for which there was no memory */
	uint64_t unread; /* words: nothing is taken any more */
	uint64_t unkept_stacks;
	uint64_t unkept_events; /* of heaps */
};

/* --- heaps ------------------------------------------------------------------------------------------------------- */

static int open_heap(struct sonde_heap_process *process, struct heap *heap, enum sonde_heap_kind kind, const char *name)
{
	if (heap->chunks)
		return 0;
	uint64_t mean_b = kind == SONDE_HEAP_MALLOC ? sonde_recorder_options(process->recorder)->heap_mean_b : 0;
	heap->written_ns = sonde_clock_now_ns();
	heap->id = sonde_recorder_heap(process->recorder, process->id, kind, name);
	int code = sonde_heap_chunks_new(&heap->chunks, process->recorder, process->id, heap->id, mean_b);
	return code || !process->exact_times ? code : sonde_heap_chunks_exact_times(heap->chunks);
}

static void lose(struct sonde_heap_process *process, const char *cause, uint64_t count)
{
	struct sonde_recorder_loss loss = {
	    .source = "heap", .cause = cause, .process = process->id, .count = count, .time_ns = sonde_clock_now_ns()};
	if (count)
		sonde_recorder_lost(process->recorder, &loss);
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

static uint32_t site_of(struct sonde_heap_process *process, struct heap *heap, uint32_t thread, uint32_t number)
{
	if (thread == heap->last_thread && number == heap->last_stack)
		return heap->last_site;
	struct stack stack = {.status = SONDE_STACK_NOT_SAMPLED};
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

/* --- what the merge hands out ------------------------------------------------------------------------------------ */

/* What turns ticks into ns: nearly always one piece of the clock's line for all of them, on which they are counted from
 * the first. */
struct conversion {
	const struct sonde_clockfit *fit; /* NULL: they are ns */
	uint64_t first, first_ns, mult;   /* raw time, and ns a cycle × 2^32; mult 0: each by itself */
};

static struct conversion conversion_of(const struct sonde_heap_process *process, uint64_t from, uint64_t to)
{
	struct conversion conversion = {0};
	if (process->clock != SONDE_RING_CLOCK_CYCLES)
		return conversion;
	conversion.fit = sonde_zones_fit();
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

/* As site_of(), where most blocks are. */
static inline uint32_t malloc_site(struct sonde_heap_process *process, uint32_t thread, uint32_t number)
{
	struct stack *stack = number <= process->stack_count ? &process->stacks[number - 1] : NULL;
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
	if (open_heap(process, &process->malloc, SONDE_HEAP_MALLOC, NULL))
		return;
	for (size_t i = 0; i < count; i++) {
		changes[i].time = converted(&conversion, changes[i].time);
		if (changes[i].site && !(changes[i].site = malloc_site(process, changes[i].thread, changes[i].site)))
			changes[i].address = 0; /* no memory for it: nothing begins or ends */
	}
	sonde_heap_chunks_changes(process->malloc.chunks, changes, count);
}

static void on_block(struct sonde_heap_process *process, struct heap *heap, const struct sonde_heap_event *event)
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
	struct heap *heap = &process->mapping;
	int maps = event->kind == SONDE_HEAP_MAPPED;
	uint64_t what = event->size_b >> SONDE_HEAP_MAP_SHIFT;
	int begins = what == SONDE_HEAP_MAP_MEMORY || what == SONDE_HEAP_MAP_OPENED || what == SONDE_HEAP_MAP_MOVED;
	if (!maps && !process->mappings)
		return;
	if (open_heap(process, heap, SONDE_HEAP_MAPPING, NULL) ||
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
	struct pool *pool = index ? process->pools[index - 1] : NULL;
	if (!pool)
		process->pools_lost++;
	else if (open_heap(process, &pool->heap, SONDE_HEAP_POOL, pool->name))
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
	else if (!open_heap(process, &process->malloc, SONDE_HEAP_MALLOC, NULL))
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
	if (number > process->stack_cap) {
		size_t cap = process->stack_cap ? process->stack_cap : 256;
		while (cap < number)
			cap *= 2;
		struct stack *stacks = realloc(process->stacks, cap * sizeof *stacks);
		if (!stacks) {
			process->unkept_stacks++;
			return;
		}
		memset(stacks + process->stack_cap, 0, (cap - process->stack_cap) * sizeof *stacks);
		process->stacks = stacks;
		process->stack_cap = cap;
	}
	if (number > process->stack_count)
		process->stack_count = number;
	uint32_t node = sonde_unwinder_intern(process->unwinder, process->pid, sonde_clock_now_ns(), pcs, count);
	int is_loaders = count && pcs[0] - process->loader.start < process->loader.end - process->loader.start;
	process->stacks[number - 1] = (struct stack){.node = node, .status = status, .is_loaders = (uint8_t)is_loaders};
}

/* Index + 1 of the pool of a name; 0 = there are too many, or no memory. */
static uint32_t find_pool(struct sonde_heap_process *process, const char *name, size_t name_b)
{
	for (size_t i = 0; i < process->pool_count; i++)
		if (!strncmp(process->pools[i]->name, name, name_b) && !process->pools[i]->name[name_b])
			return (uint32_t)i + 1;
	if (process->pool_count == POOLS_MAX)
		return 0;
	if (!process->pools && !(process->pools = calloc(POOLS_MAX, sizeof *process->pools)))
		return 0;
	struct pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return 0;
	memcpy(pool->name, name, name_b);
	process->pools[process->pool_count++] = pool;
	return (uint32_t)process->pool_count;
}

static void on_pool(void *context, uint32_t number, const char *name, size_t name_b)
{
	struct sonde_heap_process *process = context;
	if (!number || number > NUMBERS_MAX || name_b > SONDE_HEAP_NAME_MAX_B)
		return;
	if (number > process->number_cap) {
		size_t cap = process->number_cap ? process->number_cap : 64;
		while (cap < number)
			cap *= 2;
		uint32_t *numbers = realloc(process->pool_numbers, cap * sizeof *numbers);
		if (!numbers)
			return;
		memset(numbers + process->number_cap, 0, (cap - process->number_cap) * sizeof *numbers);
		process->pool_numbers = numbers;
		process->number_cap = cap;
	}
	process->pool_numbers[number - 1] = find_pool(process, name, name_b);
}

static int is_alive(void *context, uint64_t address)
{
	const struct sonde_heap_process *process = context;
	return process->malloc.chunks && sonde_heap_chunks_is_alive(process->malloc.chunks, address);
}

/* --- a process --------------------------------------------------------------------------------------------------- */

int sonde_heap_process_new(struct sonde_heap_process **out, struct sonde_recorder *recorder,
			   struct sonde_unwinder *unwinder, pid_t pid, uint32_t clock)
{
	struct sonde_heap_process *process = calloc(1, sizeof *process);
	if (!process)
		return sonde_error(ENOMEM, "no memory for the allocations of a process");
	*process = (struct sonde_heap_process){
	    .recorder = recorder, .unwinder = unwinder, .pid = pid, .clock = clock, .until = UINT64_MAX};
	process->id = sonde_recorder_process(recorder, pid, sonde_clock_now_ns());
	if (unwinder)
		process->loader = sonde_heap_areas_loader(pid);
	struct sonde_heap_sink sink = {process, on_blocks, on_event, on_stack, on_pool, is_alive};
	int code = sonde_heap_merge_new(&process->merge, &sink);
	if (!code && unwinder)
		code = open_heap(process, &process->malloc, SONDE_HEAP_MALLOC, NULL);
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
	sonde_heap_mappings_free(process->mappings);
	sonde_heap_chunks_free(process->malloc.chunks);
	sonde_heap_chunks_free(process->mapping.chunks);
	for (size_t i = 0; i < process->pool_count; i++) {
		sonde_heap_chunks_free(process->pools[i]->heap.chunks);
		free(process->pools[i]);
	}
	free(process->pools);
	free(process->pool_numbers);
	free(process->loader_sites);
	free(process->stacks);
	free(process);
}

void sonde_heap_process_add(struct sonde_heap_process *process, uint64_t serial, uint32_t thread, const uint64_t *words,
			    size_t count)
{
	/* read after the words were */
	uint64_t now = process->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns();
	sonde_heap_merge_latest(process->merge, (now + FUTURE) >> SONDE_HEAP_TICK_SHIFT);
	if (!process->unread && !sonde_heap_merge_add(process->merge, serial, thread, words, count))
		return;
	process->unread += count;
	process->until = 0; /* what has not been handed out is not taken, so that what was taken is all up to a time */
}

void sonde_heap_process_exact_times(struct sonde_heap_process *process)
{
	process->exact_times = 1;
	if (process->malloc.chunks)
		sonde_heap_chunks_exact_times(process->malloc.chunks);
	if (process->mapping.chunks)
		sonde_heap_chunks_exact_times(process->mapping.chunks);
	for (size_t i = 0; i < process->pool_count; i++)
		if (process->pools[i]->heap.chunks)
			sonde_heap_chunks_exact_times(process->pools[i]->heap.chunks);
}

void sonde_heap_process_thread_end(struct sonde_heap_process *process, uint64_t serial)
{
	sonde_heap_merge_end(process->merge, serial);
}

/* A recorder that is killed takes little with it, also of a program that allocates little. */
static void write_old(struct heap *heap, uint64_t ns)
{
	if (!heap->chunks || ns < heap->written_ns + OLD_NS)
		return;
	sonde_heap_chunks_flush(heap->chunks);
	heap->written_ns = ns;
}

void sonde_heap_process_run(struct sonde_heap_process *process, uint64_t cycles, uint64_t ns)
{
	uint64_t cut = process->clock == SONDE_RING_CLOCK_CYCLES ? cycles : ns;
	sonde_heap_merge_run(process->merge, cut >> SONDE_HEAP_TICK_SHIFT);
	write_old(&process->malloc, ns);
	write_old(&process->mapping, ns);
	for (size_t i = 0; i < process->pool_count; i++)
		write_old(&process->pools[i]->heap, ns);
}

static uint64_t last_of(const struct heap *heap, uint64_t time_ns)
{
	uint64_t last_ns = heap->chunks ? sonde_heap_chunks_last_ns(heap->chunks) : 0;
	return last_ns > time_ns ? last_ns : time_ns;
}

static void cut_heap(struct heap *heap, uint64_t time_ns)
{
	if (heap->chunks)
		sonde_heap_chunks_cut(heap->chunks, time_ns);
}

uint64_t sonde_heap_process_flush(struct sonde_heap_process *process, uint64_t time_ns,
				  struct sonde_snapshot_live *live)
{
	int all = time_ns == UINT64_MAX, in_cycles = process->clock == SONDE_RING_CLOCK_CYCLES;
	uint64_t cut = all ? UINT64_MAX - 1 : in_cycles ? sonde_clockfit_cycles(sonde_zones_fit(), time_ns) : time_ns;
	sonde_heap_merge_run(process->merge, all ? cut : cut >> SONDE_HEAP_TICK_SHIFT);
	time_ns = last_of(&process->mapping, last_of(&process->malloc, all ? 0 : time_ns));
	for (size_t i = 0; i < process->pool_count; i++)
		time_ns = last_of(&process->pools[i]->heap, time_ns);
	cut_heap(&process->malloc, time_ns);
	cut_heap(&process->mapping, time_ns);
	for (size_t i = 0; i < process->pool_count; i++)
		cut_heap(&process->pools[i]->heap, time_ns);
	*live = (struct sonde_snapshot_live){.mean_b = sonde_recorder_options(process->recorder)->heap_mean_b};
	if (process->malloc.chunks)
		sonde_heap_chunks_alive(process->malloc.chunks, &live->blocks, &live->size_b);
	return time_ns;
}

int sonde_heap_process_totals(const struct sonde_heap_process *process, const char *name, struct sonde_link_blocks *out)
{
	const struct heap *heap = *name ? NULL : &process->malloc;
	for (size_t i = 0; !heap && i < process->pool_count; i++)
		if (!strcmp(process->pools[i]->name, name))
			heap = &process->pools[i]->heap;
	if (!heap || !heap->chunks)
		return -ENOENT;
	sonde_heap_chunks_totals(heap->chunks, out);
	return 0;
}

int sonde_heap_process_has_malloc(const struct sonde_heap_process *process)
{
	return process->malloc.chunks != NULL;
}

uint32_t sonde_heap_process_id(const struct sonde_heap_process *process)
{
	return process->id;
}

int sonde_heap_process_scan(struct sonde_heap_process *process, const struct sonde_link_scan *question,
			    const struct sonde_zones_drainer *drainer)
{
	struct sonde_heap_threads threads;
	/* as we see it: another number in a pid namespace, where only the first thread's is known */
	pid_t asking = question->tid == question->pid ? process->pid : (pid_t)question->tid;
	uint64_t cycles = sonde_clock_cycles(), ns = sonde_clock_now_ns();
	drainer->drain(drainer->context, process->pid);
	sonde_heap_process_run(process, cycles, ns);
	if (process->unread && process->malloc.chunks)
		sonde_heap_chunks_looked(process->malloc.chunks, "the recorder had no memory to keep its blocks");
	if (process->unread || !process->malloc.chunks || !sonde_heap_chunks_live(process->malloc.chunks)->count)
		return 0; /* most processes, when blocks are sampled */
	cycles = sonde_clock_cycles();
	ns = sonde_clock_now_ns();
	int code = sonde_heap_freeze(&threads, process->pid, asking);
	drainer->drain(drainer->context, process->pid);
	sonde_heap_freeze_check(&threads);
	if (threads.running) /* it goes on writing: later events may yet come before those that were read */
		sonde_heap_process_run(process, cycles, ns);
	else
		sonde_heap_merge_run(process->merge, UINT64_MAX - 1);
	struct sonde_heap_leaks leaks = {
	    .recorder = process->recorder,
	    .pid = process->pid,
	    .question = question,
	    .threads = &threads,
	    .chunks = process->malloc.chunks,
	    .mappings = process->mapping.chunks ? sonde_heap_chunks_live(process->mapping.chunks) : NULL,
	    .loader_sites = process->loader_sites,
	    .loader_site_count = process->loader_site_count,
	};
	if (!code)
		code = sonde_heap_leaks_tell(&leaks);
	process->scanned = 1;
	sonde_heap_thaw(&threads);
	return code;
}

void sonde_heap_process_left(struct sonde_heap_process *process, const struct sonde_link_leave *leave)
{
	static const char *const reasons[SONDE_LINK_REASONS] = {
	    [SONDE_LINK_SANDBOX] =
		"recorded until it locked itself in (seccomp): it could be killed for a look at its memory",
	    [SONDE_LINK_NO_ROOM] = "recorded until its address space was short (ulimit -v)",
	};
	if (process->why_left)
		return;
	process->why_left = reasons[leave->reason];
	process->until = leave->time ? leave->time >> SONDE_HEAP_TICK_SHIFT : UINT64_MAX;
}

void sonde_heap_process_goes_on(struct sonde_heap_process *process)
{
	if (process->malloc.chunks)
		sonde_heap_chunks_looked(process->malloc.chunks, "it went on when the recording ended");
}

void sonde_heap_process_end(struct sonde_heap_process *process)
{
	sonde_heap_merge_run(process->merge, UINT64_MAX - 1);
	lose(process, "more than 4096 pools in a process", process->pools_lost);
	lose(process, "stacks whose numbers cannot be", process->stacks_lost);
	lose(process, "stacks for which the recorder has no memory", process->unkept_stacks);
	lose(process, "no memory to put allocations in order: not recorded from there on (words of 8 B)",
	     process->unread);
	lose(process, "no memory for another heap of a process", process->unkept_events);
	lose(process, "more than 256 MB waited to be put in order: some were read out of order",
	     sonde_heap_merge_forced(process->merge));
	lose(process, "more mappings in a process than are kept apart", sonde_heap_mappings_lost(process->mappings));
	if (process->why_left && process->malloc.chunks && !process->scanned)
		sonde_heap_chunks_looked(process->malloc.chunks, process->why_left);
	close_heap(&process->malloc);
	close_heap(&process->mapping);
	for (size_t i = 0; i < process->pool_count; i++)
		close_heap(&process->pools[i]->heap);
	sonde_heap_process_free(process);
}
