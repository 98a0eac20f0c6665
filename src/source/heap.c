/* heap.c: the heap source: who allocated what, from hooks inside the target (src/inject/heap.h).
 *
 * libsonde-heap.so is preloaded into the command and what it starts. Its words come through the rings of the zones
 * source (zones.h), which drains before us; they are put in order (heap_merge.h), live blocks are kept, and events are
 * written (heap_chunks.h). We also hand out the call-frame tables by which the target walks its stacks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/heap_process.h"
#include "source/image.h"
#include "source/preload.h"
#include "source/source.h"
#include "source/spaces.h"
#include "source/unwinder.h"
#include "source/zones.h"
#include "symbol/cfi.h"
#include "util/error.h"

#define OBJECT "libsonde-heap.so"
#define ENVIRONMENT "SONDE_HEAP" /* src/inject: mean bytes between samples, 0 = every block */
#define METHOD "allocation functions, every call; stacks from call-frame tables"
#define METHOD_SAMPLED "allocation functions, sampled by bytes; stacks from call-frame tables"

/* One life of a program in one process. */
struct process {
	pid_t pid;
	struct sonde_heap_process *heaps;
	struct process *next;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_zones_listener listener;
	struct process *processes;
	uint64_t cut_cycles, cut_ns; /* had passed before the rings were read */
	uint64_t connected;
};

/* --- what the zones source tells --------------------------------------------------------------------------------- */

static struct process *find(struct sonde_source_run *run, pid_t pid)
{
	struct process *process = run->processes;
	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static void on_opened(void *context, pid_t pid, uint32_t clock)
{
	struct sonde_source_run *run = context;
	struct process *process = calloc(1, sizeof *process);
	if (!process)
		return;
	sonde_spaces_exec(run->spaces, pid, "");
	process->pid = pid;
	if (sonde_heap_process_new(&process->heaps, run->recorder, run->unwinder, pid, clock)) {
		free(process);
		return;
	}
	process->next = run->processes; /* the newest life of a number is found first */
	run->processes = process;
	run->connected++;
}

static void on_heap(void *context, pid_t pid, const struct sonde_pool_thread *thread, const uint64_t *words,
		    size_t count)
{
	struct process *process = find(context, pid);
	if (!process)
		return;
	if (words)
		sonde_heap_process_add(process->heaps, thread->serial, thread->id, words, count);
	else
		sonde_heap_process_thread_end(process->heaps, thread->serial);
}

static void on_closed(void *context, pid_t pid)
{
	struct sonde_source_run *run = context;
	struct process **link = &run->processes, **oldest = NULL;
	for (; *link; link = &(*link)->next)
		if ((*link)->pid == pid)
			oldest = link;
	if (!oldest)
		return;
	struct process *process = *oldest;
	*oldest = process->next;
	sonde_heap_process_end(process->heaps);
	free(process);
}

static int on_table(void *context, pid_t pid, uint64_t address, struct sonde_link_table *out)
{
	struct sonde_source_run *run = context;
	uint64_t now_ns = sonde_clock_now_ns();
	struct sonde_space *space = sonde_spaces_get(run->spaces, pid, now_ns);
	if (!space)
		return -1;
	space->reread_ns = 0; /* what is there now, not what was */
	sonde_spaces_refresh(run->spaces, space, now_ns);
	const struct sonde_mapping *mapping = sonde_maps_find(space->maps, address);
	if (!mapping)
		return -1;
	struct sonde_image *image = mapping->image;
	sonde_images_open(run->images, image, pid, mapping);
	out->status = 0;
	out->start = mapping->start;
	out->end = mapping->end;
	out->bias = address - sonde_image_address(image, mapping, address);
	out->build_id_b = (uint32_t)image->build_id_b;
	memcpy(out->build_id, image->build_id, image->build_id_b);
	return image->known && image->table.count ? sonde_cfi_share(&image->table, image->build_id, image->build_id_b)
						  : -1;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int heap_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options && !options->heap)
		return -ECANCELED;
	if (options && options->no_inject) {
		snprintf(why, why_b, "--no-inject puts nothing into the processes");
		return -EOPNOTSUPP;
	}
	if (options && options->attach) {
		snprintf(why, why_b,
			 "allocations are recorded of programs that sonde starts: sonde record --heap -- …");
		return -EOPNOTSUPP;
	}
	return sonde_preload_probe(OBJECT, why, why_b);
}

static void free_run(struct sonde_source_run *run)
{
	sonde_zones_listen(SONDE_LINK_HEAP, NULL);
	while (run->processes) {
		struct process *process = run->processes;
		run->processes = process->next;
		sonde_heap_process_free(process->heaps);
		free(process);
	}
	sonde_unwinder_free(run->unwinder);
	sonde_spaces_free(run->spaces);
	sonde_images_free(run->images);
	free(run);
}

static int heap_open(struct sonde_source_run **out, struct sonde_recorder *recorder)
{
	struct sonde_source_run *run = calloc(1, sizeof *run);
	if (!run)
		return sonde_error(ENOMEM, "out of memory for the heap source");
	run->recorder = recorder;
	int result = sonde_images_new(&run->images, recorder, NULL, NULL);
	result = result ? result : sonde_spaces_new(&run->spaces, run->images);
	result = result ? result : sonde_unwinder_new(&run->unwinder, recorder, run->images, run->spaces);
	if (result < 0) {
		free_run(run);
		return result;
	}
	run->listener = (struct sonde_zones_listener){
	    .context = run, .opened = on_opened, .heap = on_heap, .closed = on_closed, .table = on_table};
	sonde_zones_listen(SONDE_LINK_HEAP, &run->listener);
	*out = run;
	return 0;
}

static int heap_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	char mean[32];
	snprintf(mean, sizeof mean, "%llu", (unsigned long long)sonde_recorder_options(run->recorder)->heap_mean_b);
	int result = sonde_launch_setenv(launch, ENVIRONMENT, mean);
	return result ? result : sonde_preload_add(launch, OBJECT);
}

static int heap_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	(void) final; /* processes that have ended were finished when the zones source closed them */
	for (struct process *process = run->processes; process; process = process->next)
		sonde_heap_process_run(process->heaps, run->cut_cycles, run->cut_ns);
	run->cut_cycles = sonde_clock_cycles();
	run->cut_ns = sonde_clock_now_ns();
	return sonde_recorder_error(run->recorder);
}

static void heap_stop(struct sonde_source_run *run)
{
	struct sonde_recorder_state state = {
	    .state = run->connected ? SONDE_SOURCE_ON : SONDE_SOURCE_UNAVAILABLE,
	    .method = sonde_recorder_options(run->recorder)->heap_mean_b ? METHOD_SAMPLED : METHOD,
	    .detail = run->connected ? NULL : "no process loaded " OBJECT ": static programs do not",
	};
	sonde_recorder_source(run->recorder, "heap", &state);
	free_run(run);
}

const struct sonde_source sonde_source_heap = {
    .name = "heap",
    .title = "allocations: who allocated what, the peak, what was left (--heap)",
    .cost = "depends on how often the program allocates",
    .probe = heap_probe,
    .open = heap_open,
    .prepare = heap_prepare,
    .drain = heap_drain,
    .stop = heap_stop,
};
