/* curves.c: the timeline of each heap, from the summaries of its chunks. */
#include "export/curves.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

enum { PARTS_MAX = 1000, PARTS_MIN = 50, PARTS_OF_ALL = 4000, NAME_MAX_B = 300 };

struct walk {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	int (*take)(void *context, const struct sonde_curve *curve, uint64_t time_ns, uint64_t live_b);
	void *context;
	struct sonde_heap_interval *parts;
	size_t count;
	uint64_t left; /* heaps of which chunks could not be read */
};

/* A part in which nothing happened needs no point: a counter keeps its value. */
static int take_parts(const struct walk *walk, const struct sonde_curve *curve, const struct sonde_heap_range *range)
{
	const struct sonde_heap_interval *parts = walk->parts;
	double part_ns = (double)(range->to_ns - range->from_ns) / (double)walk->count;
	uint64_t live_b = parts[0].live_b - parts[0].begun_b + parts[0].ended_b;
	int error = walk->take(walk->context, curve, range->from_ns, live_b);
	for (size_t i = 0; i < walk->count && !error; i++) {
		const struct sonde_heap_interval *part = &parts[i];
		uint64_t middle_ns = range->from_ns + (uint64_t)(part_ns * ((double)i + 0.5)),
			 end_ns = range->from_ns + (uint64_t)(part_ns * ((double)i + 1));
		if (part->peak_b > live_b && part->peak_b > part->live_b)
			error = walk->take(walk->context, curve, middle_ns, part->peak_b);
		if ((part->begins || part->ends) && !error)
			error = walk->take(walk->context, curve, end_ns, part->live_b);
		live_b = part->live_b;
	}
	return error;
}

/* The part of the run in which a process was there, as far as it is wanted; whether that is any. */
static int range_of(const struct walk *walk, const struct sonde_process *process, struct sonde_heap_range *out)
{
	const struct sonde_run *run = sonde_session_run(walk->session);
	const struct sonde_format_options *options = walk->options;
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

static int take_heap(struct walk *walk, uint32_t id)
{
	const struct sonde_heap *heap = sonde_session_heap(walk->session, id);
	const struct sonde_process *process = sonde_session_process(walk->session, heap->process);
	char name[NAME_MAX_B];
	const struct sonde_curve curve = {id, heap->process, name};
	struct sonde_heap_range range;
	if (!range_of(walk, process, &range))
		return 0;
	snprintf(name, sizeof name, "%s%s live",
		 heap->kind == SONDE_HEAP_MALLOC    ? "heap"
		 : heap->kind == SONDE_HEAP_MAPPING ? "mappings"
						    : "pool ",
		 heap->kind == SONDE_HEAP_POOL ? heap->name : "");
	memset(walk->parts, 0, walk->count * sizeof *walk->parts);
	int error = sonde_session_heap_timeline(walk->session, id, &range, walk->parts, walk->count);
	if (error == -ENOMEM)
		return error;
	walk->left += error != 0;
	error = take_parts(walk, &curve, &range);
	if (!error && process && process->end_ns && range.to_ns == process->end_ns)
		error = walk->take(walk->context, &curve, process->end_ns, 0);
	return error;
}

int sonde_curves_heaps(struct sonde_session *session, const struct sonde_format_options *options,
		       int (*take)(void *context, const struct sonde_curve *curve, uint64_t time_ns, uint64_t live_b),
		       void *context, uint64_t *left)
{
	size_t heaps = sonde_session_heap_count(session);
	size_t count = heaps ? PARTS_OF_ALL / heaps : 0;
	struct walk walk = {session, options, take, context, NULL, 0, 0};
	walk.count = count > PARTS_MAX ? PARTS_MAX : count < PARTS_MIN ? PARTS_MIN : count;
	walk.parts = calloc(walk.count, sizeof *walk.parts);
	int error = walk.parts ? 0 : sonde_error(ENOMEM, "out of memory for the curve of a heap");
	for (uint32_t id = 1; id <= heaps && !error; id++)
		error = take_heap(&walk, id);
	free(walk.parts);
	*left = walk.left;
	return error;
}
