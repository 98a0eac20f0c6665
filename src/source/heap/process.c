/* process.c: the heaps of a process: malloc's, its own mappings, its pools. Each is tracked and written separately
 * (heap/chunks.h), from its first block on. Their input comes from heap/intake.c.
 */
#include "source/heap/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/ring.h"
#include "source/heap/leaks.h"
#include "source/heap/process_state.h"
#include "source/target/channel.h"
#include "util/error.h"

#define FUTURE (UINT64_C(1) << 30)  /* maximum difference between the counters of two cores, and between clocks */
#define OLD_NS UINT64_C(5000000000) /* maximum time that events wait to be written */

static void lose(struct sonde_heap_process *process, const char *cause, uint64_t count)
{
	struct sonde_recorder_loss loss = {.source = "heap", .cause = cause, .process = process->id, .count = count};
	sonde_recorder_lost(process->recorder, &loss);
}

static void close_heap(struct sonde_heap_own *heap)
{
	if (heap->chunks)
		sonde_heap_chunks_close(heap->chunks);
}

/* --- a process --------------------------------------------------------------------------------------------------- */

int sonde_heap_process_new(struct sonde_heap_process **out, const struct sonde_heap_process_options *options)
{
	struct sonde_heap_process *process = calloc(1, sizeof *process);
	if (!process)
		return sonde_error(ENOMEM, "no memory for the allocations of a process");
	*process = (struct sonde_heap_process){.recorder = options->recorder,
					       .unwinder = options->unwinder,
					       .fit = options->fit,
					       .late = options->late,
					       .pid = options->pid,
					       .clock = options->clock,
					       .until = UINT64_MAX};
	process->id = sonde_recorder_process(options->recorder, options->pid, sonde_clock_now_ns());
	if (options->unwinder)
		process->loader = sonde_heap_areas_loader(options->pid);
	struct sonde_heap_sink sink = sonde_heap_intake(process);
	int code = sonde_heap_merge_new(&process->merge, &sink);
	if (!code && options->unwinder)
		code = sonde_heap_intake_open(process, &process->malloc, SONDE_HEAP_MALLOC, NULL);
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
	/* this clock is read after the words, so it is later than all valid times */
	uint64_t now = process->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns();
	sonde_heap_merge_latest(process->merge, (now + FUTURE) >> SONDE_HEAP_TICK_SHIFT);
	if (!process->unread && !sonde_heap_merge_add(process->merge, serial, thread, words, count))
		return;
	process->unread += count;
	process->until = 0; /* ignore the events that still wait, so that what is recorded is complete up to one time */
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

/* Writes events that have waited for OLD_NS. So even for a program that allocates little, little is lost if the
 * recorder is killed. */
static void write_old(struct sonde_heap_own *heap, uint64_t ns)
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

static uint64_t last_of(const struct sonde_heap_own *heap, uint64_t time_ns)
{
	uint64_t last_ns = heap->chunks ? sonde_heap_chunks_last_ns(heap->chunks) : 0;
	return last_ns > time_ns ? last_ns : time_ns;
}

static void cut_heap(struct sonde_heap_own *heap, uint64_t time_ns)
{
	if (heap->chunks)
		sonde_heap_chunks_cut(heap->chunks, time_ns);
}

uint64_t sonde_heap_process_flush(struct sonde_heap_process *process, uint64_t time_ns,
				  struct sonde_snapshot_live *live)
{
	int all = time_ns == UINT64_MAX, in_cycles = process->clock == SONDE_RING_CLOCK_CYCLES;
	uint64_t cut = all ? UINT64_MAX - 1 : in_cycles ? sonde_clockfit_cycles(process->fit, time_ns) : time_ns;
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
	const struct sonde_heap_own *heap = *name ? NULL : &process->malloc;
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
			    const struct sonde_channel_drainer *drainer)
{
	struct sonde_heap_threads threads = {.pid = process->pid, .late = process->late};
	if (!sonde_channel_is_waiting(drainer->asker)) {
		if (process->malloc.chunks)
			sonde_heap_chunks_looked(process->malloc.chunks, SONDE_HEAP_SILENT);
		return 0;
	}
	/* the tid in our pid namespace; for a process in another one, we know only the tid of its first thread */
	pid_t asking = question->tid == question->pid ? process->pid : (pid_t)question->tid;
	uint64_t cycles = sonde_clock_cycles(), ns = sonde_clock_now_ns();
	drainer->drain(drainer->context, process->pid);
	sonde_heap_process_run(process, cycles, ns);
	if (process->unread && process->malloc.chunks)
		sonde_heap_chunks_looked(process->malloc.chunks, "the recorder had no memory for its blocks");
	if (process->unread || !process->malloc.chunks || !sonde_heap_chunks_live(process->malloc.chunks)->count)
		return 0; /* the usual case if blocks are sampled */
	cycles = sonde_clock_cycles();
	ns = sonde_clock_now_ns();
	int code = sonde_heap_freeze(&threads, asking);
	drainer->drain(drainer->context, process->pid);
	sonde_heap_freeze_check(&threads);
	if (threads.running) /* running threads continue to write: data that is read later may contain earlier events */
		sonde_heap_process_run(process, cycles, ns);
	else
		sonde_heap_merge_run(process->merge, UINT64_MAX - 1);
	struct sonde_heap_leaks leaks = {
	    .recorder = process->recorder,
	    .pid = process->pid,
	    .question = question,
	    .asker = drainer->asker,
	    .threads = &threads,
	    .chunks = process->malloc.chunks,
	    .mappings = process->mapping.chunks ? sonde_heap_chunks_live(process->mapping.chunks) : NULL,
	    .loader_sites = process->loader_sites,
	    .loader_site_count = process->loader_site_count,
	};
	if (!code)
		code = sonde_heap_leaks_record(&leaks);
	process->scanned = 1;
	sonde_heap_thaw(&threads);
	return code;
}

void sonde_heap_process_left(struct sonde_heap_process *process, const struct sonde_link_leave *leave)
{
	static const char *const reasons[SONDE_LINK_REASONS] = {
	    [SONDE_LINK_SANDBOX] =
		"recorded until it locked itself down (seccomp): reading its memory could get it killed",
	    [SONDE_LINK_NO_CAPACITY] = "recorded until its address space ran low (ulimit -v, ulimit -d)",
	    [SONDE_LINK_NO_CLOCK] = "recorded until it disabled the cycle counter (PR_SET_TSC)",
	    [SONDE_LINK_SILENT] = "the recorder was stopped or too busy when it started",
	    [SONDE_LINK_NO_FILES] = "recorded until it executed a program that cannot read sonde's files",
	};
	if (process->why_left)
		return;
	process->why_left = reasons[leave->reason];
	process->until = leave->time ? leave->time >> SONDE_HEAP_TICK_SHIFT : UINT64_MAX;
}

void sonde_heap_process_goes_on(struct sonde_heap_process *process)
{
	if (process->malloc.chunks)
		sonde_heap_chunks_looked(process->malloc.chunks, "it outlived the recording");
}

void sonde_heap_process_end(struct sonde_heap_process *process)
{
	sonde_heap_merge_run(process->merge, UINT64_MAX - 1);
	lose(process, "more than 4096 pools in a process", process->pools_lost);
	lose(process, "invalid stack numbers", process->stacks_lost);
	lose(process, "stacks for which the recorder has no memory", process->unkept_stacks);
	lose(process, "no memory to sort allocations: not recorded from there on (words of 8 B)", process->unread);
	lose(process, "no memory for another heap of a process", process->unkept_events);
	lose(process, "more than 256 MB waited to be sorted: some were read out of order",
	     sonde_heap_merge_forced(process->merge));
	lose(process, "more mappings in a process than can be told apart", sonde_heap_mappings_lost(process->mappings));
	if (process->why_left && process->malloc.chunks && !process->scanned)
		sonde_heap_chunks_looked(process->malloc.chunks, process->why_left);
	close_heap(&process->malloc);
	close_heap(&process->mapping);
	for (size_t i = 0; i < process->pool_count; i++)
		close_heap(&process->pools[i]->heap);
	sonde_heap_process_free(process);
}
