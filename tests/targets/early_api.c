/* early_api.c: calls each function of early_api.def once. */
#include <sonde/device.h>
#include <sonde/gpu.h>
#include <sonde/sonde.h>

#include "early_calls.h"

static char block[1];
static const struct sonde_device_info device_info = {.api = "api", .name = "device"};
static struct sonde_queue_info queue_info = {.name = "queue"};
static const struct sonde_operation_info operation_info = {.kind = SONDE_OPERATION_KERNEL, .name = "kernel"};
static struct sonde_activity activity = {.start_ns = 1, .end_ns = 2};
static uint32_t device, queue, operation;
static struct sonde_gpu_timer *timer;
static struct sonde_gpu_loop loop;
static struct sonde_gpu_memory memory;
static struct sonde_stats stats;
static struct sonde_pool_stats pool_stats;
static struct sonde_profiler *profiler;
static uint64_t elapsed_ns;

static long zones(void)
{
	SONDE_ZONE("scope");
	SONDE_ZONE_WORK(1, 2, 3);
	SONDE_ZONE_ARG("key", 1);
	SONDE_BEGIN("first");
	SONDE_ZONE_NEXT("next");
	SONDE_END();
	return 0;
}

static long counted(void)
{
	SONDE_COUNT("count");
	SONDE_COUNTER_ADD("counter", 2);
	return 0;
}

static long gauged(void)
{
	SONDE_GAUGE_SET("gauge", 1);
	return 0;
}

static long histogram(void)
{
	SONDE_HISTOGRAM("histogram", 1);
	return 0;
}

static long instants(void)
{
	SONDE_INSTANT("instant");
	return 0;
}

static long iterations(void)
{
	SONDE_ITERATION("loop", 1);
	return 0;
}

static long spans(void)
{
	SONDE_SPAN_BEGIN("span", 2);
	SONDE_SPAN_END(2);
	return 0;
}

#define MAKE(name, call)            \
	do {                        \
		(void)(long)(call); \
		calls++;            \
	} while (0);
#define SKIP(name, call)

void early_calls_first(const char *where)
{
	long calls = 0;
#define UNDER MAKE
#define LATER SKIP
#define OUTSIDE SKIP
#include "early_api.def"
#undef LATER
	early_say_end(where, calls);
}

void early_calls_second(const char *where)
{
	early_calls_first(where);
}

void early_calls_under(const char *where)
{
	long calls = 0;
#define LATER MAKE
#include "early_api.def"
#undef UNDER
#undef LATER
#undef OUTSIDE
	early_say_end(where, calls);
}

void early_calls_outside(const char *where)
{
	long calls = 0;
	loop.timer = timer;
	loop.name = "loop";
#define UNDER SKIP
#define LATER SKIP
#define OUTSIDE MAKE
#include "early_api.def"
	early_say_end(where, calls);
}
