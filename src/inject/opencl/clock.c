/* clock.c: converts a device's clock to CLOCK_MONOTONIC (opencl/opencl.h).
 *
 * OpenCL only guarantees that all its times are from one clock. But a command is queued during the call that enqueues
 * it, and has ended when it is seen to be complete. So offset = host − device lies between (call start − QUEUED) and
 * the lesser of (call return − QUEUED) and (seen complete − END). The bounds of many commands are intersected: the
 * offset is the middle, the error half of the remaining interval. Clocks diverge by at most 500 ppm (the kernel's limit
 * for steering CLOCK_MONOTONIC), so bounds widen by that over time. Contradictory bounds mean that a clock was set: the
 * newer ones apply. Rejected: clGetDeviceAndHostTimer, which is optional, and whose host clock is not specified.
 */
#include "inject/opencl/opencl.h"

#define DRIFT_PER 2000 /* 1 / 500 ppm */

static int64_t drift(uint64_t a_ns, uint64_t b_ns)
{
	return (int64_t)((a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns) / DRIFT_PER) + 1;
}

void opencl_clock_seen(struct opencl_clock *clock, const struct opencl_seen *seen)
{
	int64_t low = (int64_t)(seen->from_ns - seen->queued_ns) - drift(seen->from_ns, seen->to_ns);
	int64_t high = (int64_t)(seen->to_ns - seen->queued_ns) + drift(seen->from_ns, seen->to_ns);
	int64_t ended = (int64_t)(seen->done_ns - seen->end_ns) + drift(seen->to_ns, seen->done_ns);
	int64_t apart = clock->is_known ? drift(clock->at_ns, seen->to_ns) : 0;
	high = ended < high && ended >= low ? ended : high;
	if (clock->is_known && clock->low - apart <= high && clock->high + apart >= low) {
		low = clock->low - apart > low ? clock->low - apart : low;
		high = clock->high + apart < high ? clock->high + apart : high;
	}
	*clock = (struct opencl_clock){.low = low, .high = high, .at_ns = seen->to_ns, .is_known = 1};
}

uint64_t opencl_clock_time(const struct opencl_clock *clock, uint64_t device_ns)
{
	return device_ns ? device_ns + (uint64_t)(clock->low + (clock->high - clock->low) / 2) : 0;
}

uint64_t opencl_clock_error(const struct opencl_clock *clock, uint64_t oldest_ns)
{
	return (uint64_t)(clock->high - clock->low) / 2 + (uint64_t)drift(oldest_ns, clock->at_ns);
}
