/* device_waits.c: inserts waits of threads for devices into their segments (critical/devices.h).
 *
 * From the start of the call until the awaited activity ended, the thread could not make progress, whatever it did:
 * some drivers sleep, some poll. That time becomes one blocked segment, whose cause is the activity. If the thread was
 * blocked again before the call returned, the segment extends to the end of that blocking: by then, the driver had
 * woken the thread, and the thread was on its way to a CPU. The rest of the call stays unchanged.
 */
#include <stdlib.h>

#include "analyze/critical/devices.h"
#include "analyze/critical/segments.h"

/* Position of a backward iteration over a thread's segments: a segment, and the following one (0 = none). */
struct place {
	struct sonde_critical *critical;
	uint32_t thread, id, after;
};

static void link_to(const struct place *place, uint32_t id)
{
	if (place->after)
		place->critical->segments[place->after].previous = id;
	else
		place->critical->lives[place->thread].last = id;
}

static uint64_t from_of(const struct place *place, uint32_t id)
{
	return sonde_critical_from(place->critical, place->thread, id);
}

/* Moves to the segment before a time, or containing it. */
static void go_before(struct place *place, uint64_t time_ns)
{
	while (place->id && from_of(place, place->id) >= time_ns) {
		place->after = place->id;
		place->id = place->critical->segments[place->id].previous;
	}
}

/* When the thread was finally active again, after the activity ended at ended_ns; the call returned at to_ns. */
static uint64_t got_on(const struct place *place, uint64_t ended_ns, uint64_t to_ns)
{
	const struct sonde_critical_segment *segments = place->critical->segments;
	for (uint32_t id = place->id; id; id = segments[id].previous) {
		if (segments[id].state == SONDE_INTERVAL_BLOCKED)
			return segments[id].to_ns < to_ns ? (uint64_t)segments[id].to_ns : to_ns;
		if (from_of(place, id) <= ended_ns)
			break;
	}
	return ended_ns;
}

/* Copies the part of a segment up to a time within it; the copy has no cause, since the original's cause came later. */
static int cut(const struct place *place, uint32_t *out, uint32_t id, uint64_t to_ns)
{
	struct sonde_critical_segment segment = place->critical->segments[id];
	struct sonde_critical_cause cause = place->critical->causes[segment.cause];
	cause.thread = cause.work = 0;
	cause.is_held = 0;
	segment.to_ns = to_ns & ((UINT64_C(1) << 61) - 1);
	return sonde_critical_segment_new(place->critical, out, segment, &cause);
}

/* The segment before the wait, shortened to end where the wait begins. */
static int end_before(const struct place *place, uint32_t *out, uint64_t from_ns)
{
	const struct sonde_critical_segment *segments = place->critical->segments;
	uint32_t id = place->id;
	while (id && from_of(place, id) >= from_ns)
		id = segments[id].previous;
	*out = id;
	return id && segments[id].to_ns > from_ns ? cut(place, out, id, from_ns) : 0;
}

static int put(struct place *place, const struct sonde_critical_device_wait *wait)
{
	struct sonde_critical *critical = place->critical;
	uint64_t ended_ns = critical->works[wait->work].end_ns;
	go_before(place, wait->to_ns);
	if (!place->id || critical->lives[place->thread].start_ns >= ended_ns)
		return 0;
	uint64_t last_ns = critical->segments[place->id].to_ns;
	uint64_t to_ns = wait->to_ns < last_ns ? wait->to_ns : last_ns;
	if (ended_ns > to_ns) /* after the exit of the thread */
		return 0;
	to_ns = got_on(place, ended_ns, to_ns);
	go_before(place, to_ns);
	uint32_t before, id;
	int rc = end_before(place, &before, wait->from_ns);
	const struct sonde_critical_segment segment = {
	    .to_ns = to_ns & ((UINT64_C(1) << 61) - 1), .state = SONDE_INTERVAL_BLOCKED, .previous = before};
	const struct sonde_critical_cause cause = {.at_ns = ended_ns, .work = wait->work};
	rc = rc ? rc : sonde_critical_segment_new(critical, &id, segment, &cause);
	if (rc)
		return rc;
	if (critical->segments[place->id].to_ns > to_ns) /* the remaining part of the segment follows the wait */
		place->after = place->id;
	link_to(place, id);
	place->after = id;
	place->id = before;
	return 0;
}

/* Of waits that begin at the same time, the longest, which encloses the others, comes first. */
static int compare_waits(const void *left, const void *right)
{
	const struct sonde_critical_device_wait *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->to_ns < b->to_ns) - (a->to_ns > b->to_ns);
}

/* Of nested calls, only the outermost counts; sets `work` of the others to 0. */
static void leave_inner_out(struct sonde_critical_device_wait *waits, size_t count)
{
	const struct sonde_critical_device_wait *last = NULL;
	for (size_t i = 0; i < count; i++) {
		if (!waits[i].work)
			continue;
		if (last && last->thread == waits[i].thread && waits[i].from_ns < last->to_ns)
			waits[i].work = 0;
		else
			last = &waits[i];
	}
}

int sonde_critical_device_waits_put(struct sonde_critical *critical, struct sonde_critical_device_wait *waits,
				    size_t count)
{
	struct place place = {.critical = critical};
	int rc = 0;
	if (count)
		qsort(waits, count, sizeof *waits, compare_waits);
	leave_inner_out(waits, count);
	for (size_t i = count; i-- > 0 && !rc;) {
		if (!waits[i].work)
			continue;
		if (place.thread != waits[i].thread)
			place = (struct place){critical, waits[i].thread, critical->lives[waits[i].thread].last, 0};
		rc = put(&place, &waits[i]);
	}
	return rc;
}
