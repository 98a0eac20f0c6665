/* cuda_stand_in.c: a libcuda.so.1 without a device: events with known times, for sonde/gpu.h (cuda_timed.c).
 *
 * Streams have a clock of their own, which stand_in_launch() moves on; an event has the time of its stream when it was
 * recorded. The device has finished everything before `now`, which only stand_in_run() and waiting move. It is as
 * strict as the driver: an event belongs to its context, using an event after its end aborts, and querying an event in
 * a mode other than the relaxed one breaks a capture in progress.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_READY = 600, DESTROYED = 709, UNSUPPORTED = 900 };
enum { STREAMS = 8, EVENTS = 4096, CONTEXTS = 4, RELAXED = 2 };

struct event {
	uint64_t time_ns;
	int is_alive, is_recorded, context;
};

static uint64_t now_ns, stream_ns[STREAMS];
static struct event events[EVENTS];
static unsigned created, waits;
static int context = 1, is_gone[CONTEXTS], captured = -1, is_broken, mode;

static struct event *event_of(void *handle)
{
	struct event *event = handle;
	if (event < events || event >= events + created || !event->is_alive) {
		fprintf(stderr, "an event that is none\n");
		abort();
	}
	return event;
}

static size_t number_of(const void *stream)
{
	return (size_t)(uintptr_t)stream % STREAMS;
}

/* True if a capture is in progress, which then breaks: the caller's function is forbidden while anything is
 * captured. */
static int is_forbidden(void)
{
	if (captured < 0 || mode == RELAXED)
		return 0;
	is_broken = 1;
	return 1;
}

/* --- what a program has of it ------------------------------------------------------------------------------------- */

void stand_in_launch(void *stream, uint64_t ns)
{
	stream_ns[number_of(stream)] += ns;
}

void stand_in_run(uint64_t until_ns)
{
	now_ns = until_ns;
}

void stand_in_capture(void *stream, int yes)
{
	captured = yes ? (int)number_of(stream) : -1;
}

void stand_in_context(int current)
{
	context = current;
}

void stand_in_context_destroy(int which)
{
	is_gone[which] = 1;
}

/* Returns a counter, named by its first letter: "created", "alive", "waits" or "broken". */
unsigned stand_in_count(char what)
{
	unsigned alive = 0;
	for (unsigned i = 0; i < created; i++)
		alive += events[i].is_alive != 0;
	return what == 'c' ? created : what == 'a' ? alive : what == 'w' ? waits : (unsigned)is_broken;
}

/* --- the driver's ------------------------------------------------------------------------------------------------- */

int cuCtxGetCurrent(void **out)
{
	*out = context ? (void *)&is_gone[context] : NULL;
	return 0;
}

int cuMemGetInfo_v2(size_t *free_b, size_t *total_b)
{
	if (!context)
		return INVALID_CONTEXT;
	if (is_gone[context])
		return DESTROYED;
	*free_b = (size_t)30 << 30;
	*total_b = (size_t)40 << 30;
	return 0;
}

int cuThreadExchangeStreamCaptureMode(int *of)
{
	int before = mode;
	mode = *of;
	*of = before;
	return 0;
}

int cuStreamIsCapturing(void *stream, int *status)
{
	*status = captured == (int)number_of(stream);
	return 0;
}

int cuEventCreate(void **out, unsigned flags)
{
	(void)flags;
	if (is_forbidden())
		return UNSUPPORTED;
	if (!context || created == EVENTS)
		return INVALID_CONTEXT;
	events[created] = (struct event){.is_alive = 1, .context = context};
	*out = &events[created++];
	return 0;
}

int cuEventRecord(void *handle, void *stream)
{
	struct event *event = event_of(handle);
	if (event->context != context)
		return INVALID_HANDLE;
	event->time_ns = stream_ns[number_of(stream)];
	event->is_recorded = 1;
	return 0;
}

int cuEventQuery(void *handle)
{
	const struct event *event = event_of(handle);
	if (is_forbidden())
		return UNSUPPORTED;
	if (is_gone[event->context])
		return DESTROYED;
	return event->time_ns <= now_ns ? 0 : NOT_READY;
}

int cuEventSynchronize(void *handle)
{
	const struct event *event = event_of(handle);
	waits++;
	if (is_gone[event->context])
		return DESTROYED;
	now_ns = now_ns > event->time_ns ? now_ns : event->time_ns;
	return 0;
}

int cuEventElapsedTime(float *ms, void *begin, void *end)
{
	const struct event *from = event_of(begin), *to = event_of(end);
	if (!from->is_recorded || !to->is_recorded || from->context != to->context)
		return INVALID_HANDLE;
	if (from->time_ns > now_ns || to->time_ns > now_ns)
		return NOT_READY;
	*ms = (float)((double)(to->time_ns - from->time_ns) / 1e6);
	return 0;
}

int cuEventDestroy_v2(void *handle)
{
	struct event *event = event_of(handle);
	if (is_gone[event->context]) {
		fprintf(stderr, "an event of a context that is no more\n");
		abort();
	}
	event->is_alive = 0;
	return 0;
}
