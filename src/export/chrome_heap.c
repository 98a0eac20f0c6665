/* chrome_heap.c: what was alive of each heap, as a counter of its process: "heap live", "mappings live", "pool NAME
 * live".
 *
 * A heap has some hundreds of points: its process's time in equal parts, each with the most that was alive in it, at
 * its middle, and what was alive at its end. A process's end is a point of 0.
 */
#include "export/chrome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/error.h"

enum { PARTS_MAX = 1000, PARTS_MIN = 50, PARTS_OF_ALL = 4000, NAME_MAX_B = 300 };

struct track {
	struct sonde_chrome *chrome;
	uint32_t process;
	char name[NAME_MAX_B];
};

static void put_point(const struct track *track, uint64_t time_ns, uint64_t live_b)
{
	struct sonde_chrome_event head = {
	    .phase = "C", .name = track->name, .category = "heap", .process = track->process, .time_ns = time_ns};
	sonde_chrome_begin(track->chrome, &head);
	sonde_chrome_args(track->chrome);
	sonde_json_put_uint(&track->chrome->json, "bytes", live_b);
	sonde_chrome_end(track->chrome);
}

/* A part in which nothing happened needs no point: a counter keeps its value. */
static void put_parts(const struct track *track, const struct sonde_heap_range *range,
		      const struct sonde_heap_interval *parts, size_t count)
{
	double part_ns = (double)(range->to_ns - range->from_ns) / (double)count;
	uint64_t live_b = parts[0].live_b - parts[0].begun_b + parts[0].ended_b;
	put_point(track, range->from_ns, live_b);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_heap_interval *part = &parts[i];
		if (part->peak_b > live_b && part->peak_b > part->live_b)
			put_point(track, range->from_ns + (uint64_t)(part_ns * ((double)i + 0.5)), part->peak_b);
		if (part->begins || part->ends)
			put_point(track, range->from_ns + (uint64_t)(part_ns * ((double)i + 1)), part->live_b);
		live_b = part->live_b;
	}
}

/* The part of the run in which a process was there, as far as it is wanted; whether that is any. */
static int range_of(const struct sonde_chrome *chrome, const struct sonde_process *process,
		    struct sonde_heap_range *out)
{
	const struct sonde_run *run = sonde_session_run(chrome->session);
	const struct sonde_format_options *options = chrome->options;
	*out = (struct sonde_heap_range){run->start_ns, run->end_ns, options->thread};
	if (process && process->start_ns > out->from_ns)
		out->from_ns = process->start_ns;
	if (process && process->end_ns && process->end_ns < out->to_ns)
		out->to_ns = process->end_ns;
	if (options->from_ns > out->from_ns)
		out->from_ns = options->from_ns;
	if (options->to_ns && options->to_ns < out->to_ns)
		out->to_ns = options->to_ns;
	return out->from_ns < out->to_ns;
}

static int put_heap(struct sonde_chrome *chrome, uint32_t id, struct sonde_heap_interval *parts, size_t count)
{
	const struct sonde_heap *heap = sonde_session_heap(chrome->session, id);
	const struct sonde_process *process = sonde_session_process(chrome->session, heap->process);
	struct track track = {.chrome = chrome, .process = heap->process};
	struct sonde_heap_range range;
	if (!range_of(chrome, process, &range))
		return 0;
	snprintf(track.name, sizeof track.name, "%s%s live",
		 heap->kind == SONDE_HEAP_MALLOC    ? "heap"
		 : heap->kind == SONDE_HEAP_MAPPING ? "mappings"
						    : "pool ",
		 heap->kind == SONDE_HEAP_POOL ? heap->name : "");
	int error = sonde_session_heap_timeline(chrome->session, id, &range, parts, count);
	if (error == -ENOMEM)
		return error;
	put_parts(&track, &range, parts, count);
	if (process && process->end_ns && range.to_ns == process->end_ns)
		put_point(&track, process->end_ns, 0);
	return 0;
}

int sonde_chrome_heaps(struct sonde_chrome *chrome)
{
	size_t heaps = sonde_session_heap_count(chrome->session);
	size_t count = heaps ? PARTS_OF_ALL / heaps : 0;
	count = count > PARTS_MAX ? PARTS_MAX : count < PARTS_MIN ? PARTS_MIN : count;
	struct sonde_heap_interval *parts = calloc(count, sizeof *parts);
	int error = parts ? 0 : sonde_error(ENOMEM, "out of memory for the curve of a heap");
	for (uint32_t id = 1; id <= heaps && !error; id++)
		error = put_heap(chrome, id, parts, count);
	free(parts);
	return error;
}
