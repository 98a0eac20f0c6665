/* events.c: translates events into the words of the allocation hooks (format/heap.h), to be merged and recorded like
 * the hooks' words. Events arrive one thread after the other; the merge puts them in time order.
 */
#include "source/heap/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/heap.h"
#include "format/ring.h"
#include "source/heap/process.h"
#include "util/error.h"

struct sonde_heap_events {
	struct sonde_heap_process *heaps;
};

int sonde_heap_events_new(struct sonde_heap_events **out, struct sonde_recorder *recorder, pid_t pid)
{
	struct sonde_heap_events *events = calloc(1, sizeof *events);
	if (!events)
		return sonde_error(ENOMEM, "no memory for the pools of a process");
	const struct sonde_heap_process_options options = {
	    .recorder = recorder, .pid = pid, .clock = SONDE_RING_CLOCK_NS};
	int code = sonde_heap_process_new(&events->heaps, &options);
	if (code) {
		free(events);
		return code;
	}
	*out = events;
	return 0;
}

void sonde_heap_events_name(struct sonde_heap_events *events, uint32_t site, const char *name)
{
	uint64_t words[2 + (SONDE_HEAP_NAME_MAX_B + 7) / 8] = {0};
	size_t name_b = strnlen(name, SONDE_HEAP_NAME_MAX_B);
	words[0] = sonde_heap_op(SONDE_HEAP_POOL_NAME);
	words[1] = (uint64_t)site << 32 | name_b;
	memcpy(&words[2], name, name_b);
	/* belongs to no thread: processed immediately */
	sonde_heap_process_add(events->heaps, 0, 0, words, 2 + (name_b + 7) / 8);
}

void sonde_heap_events_add(struct sonde_heap_events *events, uint64_t serial, uint32_t thread,
			   const struct sonde_event_block *event)
{
	uint64_t words[6] = {sonde_heap_op(SONDE_HEAP_TIME), event->head.time | 1};
	if (event->head.type == SONDE_EVENT_POOL_TAKE) {
		words[2] = sonde_heap_op(SONDE_HEAP_TAKE);
		words[3] = (uint64_t)event->head.site << 32;
		words[4] = event->address;
		words[5] = event->size_b < UINT64_MAX ? event->size_b + 1 : event->size_b;
		sonde_heap_process_add(events->heaps, serial, thread, words, 6);
		return;
	}
	words[2] = sonde_heap_op(SONDE_HEAP_GIVE);
	words[3] = event->head.site;
	words[4] = event->address;
	sonde_heap_process_add(events->heaps, serial, thread, words, 5);
}

void sonde_heap_events_thread_end(struct sonde_heap_events *events, uint64_t serial)
{
	sonde_heap_process_thread_end(events->heaps, serial);
}

void sonde_heap_events_run(struct sonde_heap_events *events, uint64_t time_ns)
{
	sonde_heap_process_run(events->heaps, 0, time_ns);
}

int sonde_heap_events_totals(const struct sonde_heap_events *events, const char *name, struct sonde_link_blocks *out)
{
	return sonde_heap_process_totals(events->heaps, name, out);
}

void sonde_heap_events_end(struct sonde_heap_events *events)
{
	sonde_heap_process_end(events->heaps);
	free(events);
}
