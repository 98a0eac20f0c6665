/* opencl_clock.c: a device's clock as CLOCK_MONOTONIC (opencl.h).
 *
 * OpenCL says only that its times are of one clock. But a command is queued while the call that queues it runs: offset
 * = host − device lies between (call began − QUEUED) and (call returned − QUEUED). Bounds of many calls are
 * intersected: the offset is the middle, the error half of what is between them. Clocks run apart by 500 ppm at most
 * (what the kernel may steer CLOCK_MONOTONIC by), so bounds widen by that with time. Bounds that exclude each other are
 * of a clock that was set: the newer hold. Rejected: clGetDeviceAndHostTimer, which is optional, and whose host's clock
 * nobody names.
 */
#include "inject/opencl.h"

#define DRIFT_PER 2000 /* 1 / 500 ppm */

void opencl_clock_seen(struct opencl_clock *clock, uint64_t from_ns, uint64_t to_ns, uint64_t device_ns)
{
	int64_t low = (int64_t)(from_ns - device_ns), high = (int64_t)(to_ns - device_ns);
	int64_t apart = (int64_t)(to_ns - clock->at_ns);
	int64_t drift = (apart < 0 ? -apart : apart) / DRIFT_PER + 1;
	if (clock->is_known && clock->low - drift <= high && clock->high + drift >= low) {
		low = clock->low - drift > low ? clock->low - drift : low;
		high = clock->high + drift < high ? clock->high + drift : high;
	}
	*clock = (struct opencl_clock){.low = low, .high = high, .at_ns = to_ns, .is_known = 1};
}

uint64_t opencl_clock_time(const struct opencl_clock *clock, uint64_t device_ns)
{
	return device_ns ? device_ns + (uint64_t)(clock->low + (clock->high - clock->low) / 2) : 0;
}

uint64_t opencl_clock_error(const struct opencl_clock *clock)
{
	return (uint64_t)(clock->high - clock->low) / 2 + 1;
}
