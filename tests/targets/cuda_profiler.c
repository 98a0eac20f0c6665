/* cuda_profiler.c: what a program's own profiler, such as PyTorch's, does with CUPTI. It subscribes once, for good, and
 * reports no device if that fails; it sets its clock, its buffers and the kinds of each session; at the end it takes
 * its own buffers. It is linked to libcupti. STAND_IN_PROFILER: "silent" = it does not subscribe, like later versions.
 */
#include "cuda_profiler.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/cuda/abi.h"

#define BUFFER_B ((size_t)4 << 20)
#define BUFFERS 64
#define FAR_NS UINT64_C(5000000000000000) /* start of its clock, which nothing else uses */

int cuptiSubscribe(void **subscriber, cuda_callback *call, void *data);
int cuptiActivityRegisterTimestampCallback(cuda_clock *clock);
int cuptiActivityRegisterCallbacks(cuda_request *asks, cuda_complete *completes);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid_b, void **record);

static const int kinds[] = {CUDA_KIND_MEMCPY,  CUDA_KIND_MEMSET, CUDA_KIND_CONCURRENT_KERNEL,
			    CUDA_KIND_RUNTIME, CUDA_KIND_DRIVER, CUDA_KIND_OVERHEAD};
static struct {
	uint8_t *bytes;
	size_t valid_b;
	int is_full;
} buffers[BUFFERS];
static int buffer_count, foreign;
static uint64_t from_ns;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + FAR_NS;
}

static void called(void *data, uint32_t domain, uint32_t id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static void request(uint8_t **buffer, size_t *size_b, size_t *max_records)
{
	*max_records = 0;
	*size_b = 0;
	*buffer = buffer_count < BUFFERS ? malloc(BUFFER_B) : NULL;
	if (!*buffer)
		return;
	buffers[buffer_count++].bytes = *buffer;
	*size_b = BUFFER_B;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size_b, size_t valid_b)
{
	(void)context;
	(void)stream;
	(void)size_b;
	for (int i = 0; i < buffer_count; i++)
		if (buffers[i].bytes == buffer) {
			buffers[i].valid_b = valid_b;
			buffers[i].is_full = 1;
			return;
		}
	foreign++;
}

int profiler_begin(void)
{
	static int subscription = -1;
	static void *subscriber;
	const char *how = getenv("STAND_IN_PROFILER");
	if (subscription < 0)
		subscription = how && strstr(how, "silent") ? 0 : cuptiSubscribe(&subscriber, called, NULL);
	if (subscription)
		return subscription;
	from_ns = now_ns();
	cuptiActivityRegisterTimestampCallback(now_ns);
	cuptiActivityRegisterCallbacks(request, complete);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		cuptiActivityEnable(kinds[i]);
	return 0;
}

/* Only the times of kernels are read, because they come from the device itself. */
static void take(const uint8_t *record, struct profiler_events *out)
{
	uint32_t kind;
	uint64_t start_ns;
	memcpy(&kind, record, sizeof kind);
	memcpy(&start_ns, record + CUDA_Kernel10_start, sizeof start_ns);
	if (kind == CUDA_KIND_CONCURRENT_KERNEL && start_ns && (start_ns < from_ns || start_ns > from_ns + 60000000000))
		out->outside++;
	else if (kind < CUDA_KINDS)
		out->counts[kind]++;
}

struct profiler_events profiler_end(void)
{
	struct profiler_events events = {.foreign = foreign};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		cuptiActivityDisable(kinds[i]);
	cuptiActivityFlushAll(0);
	cuptiActivityFlushAll(CUDA_FLUSH_FORCED);
	for (int i = 0; i < buffer_count; i++) {
		void *record = NULL;
		while (buffers[i].is_full &&
		       !cuptiActivityGetNextRecord(buffers[i].bytes, buffers[i].valid_b, &record) && record)
			take(record, &events);
		events.unreturned += !buffers[i].is_full;
		free(buffers[i].bytes);
	}
	events.foreign = foreign;
	buffer_count = 0;
	return events;
}
