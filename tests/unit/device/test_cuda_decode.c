/* test_cuda_decode.c: records of every CUPTI version are decoded correctly, and nothing is read beyond their end.
 *
 * Records are made here, in memory that ends where they do. Bytes after the fields of their version have meaningless
 * values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "inject/cuda/abi.h"
#include "inject/cuda/decode.h"
#include "inject/cuda/intern.h"

#define RECORD_MAX_B 256

/* What was reported. */
static struct {
	struct sonde_device_info devices[16];
	struct sonde_queue_info queues[16];
	struct sonde_operation_info operations[64];
	char names[64][64];
	struct sonde_activity activities[64];
	uint32_t device_count, queue_count, operation_count, refuse;
	uint64_t activity_count, lost;
	char cause[256];
} told;

static uint32_t add_device(const struct sonde_device_info *info)
{
	told.devices[told.device_count % 16] = *info;
	return ++told.device_count;
}

static uint32_t add_queue(const struct sonde_queue_info *info)
{
	told.queues[told.queue_count % 16] = *info;
	return ++told.queue_count;
}

static uint32_t add_operation(const struct sonde_operation_info *info)
{
	if (told.refuse) {
		told.refuse--;
		return 0;
	}
	uint32_t at = told.operation_count % 64;
	told.operations[at] = *info;
	snprintf(told.names[at], sizeof told.names[at], "%s", info->name ? info->name : "");
	return ++told.operation_count;
}

static int add_activity(const struct sonde_activity *activity)
{
	told.activities[told.activity_count++ % 64] = *activity;
	return 0;
}

static int add_lost(const char *cause, uint64_t count)
{
	told.lost += count;
	snprintf(told.cause, sizeof told.cause, "%s", cause);
	return 0;
}

static const struct cuda_out out = {add_device, add_queue, add_operation, add_activity, add_lost};
static const uint32_t versions[] = {CUDA_12_0, CUDA_12_2, CUDA_12_4, CUDA_12_6,
				    CUDA_12_8, CUDA_12_9, CUDA_13_0, 999999};
enum { VERSIONS = sizeof versions / sizeof *versions };

#define PUT(record, field, value)                                        \
	do {                                                             \
		__typeof__(value) value_ = (value);                      \
		memcpy((record) + CUDA_##field, &value_, sizeof value_); \
	} while (0)

static void begin(uint8_t record[RECORD_MAX_B], uint32_t version, uint32_t kind)
{
	memset(record, 0xee, RECORD_MAX_B);
	memset(record, 0, cuda_record_b(version, kind));
	memcpy(record, &kind, sizeof kind);
}

/* Both passes over the records of a buffer that ends with them. */
static void decode(struct cuda_decoder *decoder, const uint8_t *bytes, size_t size_b)
{
	uint8_t *exact = malloc(size_b ? size_b : 1);
	memcpy(exact, bytes, size_b);
	cuda_decode(decoder, exact, size_b, CUDA_PASS_FACTS, NULL);
	cuda_decode(decoder, exact, size_b, CUDA_PASS_WORK, NULL);
	cuda_decoder_settle(decoder);
	free(exact);
}

static void put_kernel(uint8_t record[RECORD_MAX_B], uint32_t version, const char *name, uint32_t correlation)
{
	const uint32_t grid[3] = {64, 2, 3}, block[3] = {256, 4, 5};
	begin(record, version, CUDA_KIND_CONCURRENT_KERNEL);
	PUT(record, Kernel10_name, name);
	PUT(record, Kernel10_start, UINT64_C(1000));
	PUT(record, Kernel10_end, UINT64_C(3500));
	PUT(record, Kernel10_submitted, UINT64_C(900));
	PUT(record, Kernel10_deviceId, 1u);
	PUT(record, Kernel10_contextId, 2u);
	PUT(record, Kernel10_streamId, 7u);
	PUT(record, Kernel10_correlationId, correlation);
	PUT(record, Kernel10_registersPerThread, (uint16_t)40);
	PUT(record, Kernel10_staticSharedMemory, 1024u);
	PUT(record, Kernel10_dynamicSharedMemory, 2048u);
	PUT(record, Kernel10_localMemoryPerThread, 16u);
	PUT(record, Kernel10_sharedMemoryExecuted, 65536u);
	memcpy(record + CUDA_Kernel10_gridX, grid, sizeof grid);
	memcpy(record + CUDA_Kernel10_blockX, block, sizeof block);
}

static void put_call(uint8_t record[RECORD_MAX_B], uint32_t kind, uint32_t number, uint64_t start_ns, uint32_t tid)
{
	begin(record, CUDA_12_0, kind);
	PUT(record, API_cbid, number);
	PUT(record, API_start, start_ns);
	PUT(record, API_end, start_ns + 50);
	PUT(record, API_threadId, tid);
	PUT(record, API_correlationId, 77u);
}

static void kernels_of_every_version(void **state)
{
	(void)state;
	for (int i = 0; i < VERSIONS; i++) {
		uint8_t buffer[3 * RECORD_MAX_B];
		size_t kernel_b = cuda_record_b(versions[i], CUDA_KIND_CONCURRENT_KERNEL);
		struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[i]);
		memset(&told, 0, sizeof told);
		put_kernel(buffer, versions[i], "saxpy", 77);
		put_kernel(buffer + kernel_b, versions[i], "saxpy", 78);
		put_call(buffer + 2 * kernel_b, CUDA_KIND_RUNTIME, 211, 400, 4711);
		decode(decoder, buffer, 2 * kernel_b + cuda_record_b(versions[i], CUDA_KIND_RUNTIME));
		assert_int_equal(told.activity_count, 3);
		assert_int_equal(told.lost, 0);
		const struct sonde_activity *call = &told.activities[0], *kernel = &told.activities[1];
		assert_int_equal(told.operations[call->operation - 1].kind, SONDE_OPERATION_API);
		assert_string_equal(told.names[call->operation - 1], "cudaLaunchKernel");
		assert_true(call->tid == 4711 && !call->queue && call->start_ns == 400 && call->end_ns == 450);
		const struct sonde_operation_info *operation = &told.operations[kernel->operation - 1];
		assert_string_equal(told.names[kernel->operation - 1], "saxpy");
		assert_true(operation->kind == SONDE_OPERATION_KERNEL && operation->registers == 40);
		assert_true(operation->grid[0] == 64 && operation->grid[1] == 2 && operation->grid[2] == 3);
		assert_true(operation->block[0] == 256 && operation->block[1] == 4 && operation->block[2] == 5);
		assert_true(operation->static_shared_b == 1024 && operation->dynamic_shared_b == 2048);
		assert_true(operation->local_b == 16 && operation->shared_unit_b == 65536);
		assert_true(kernel->start_ns == 1000 && kernel->end_ns == 3500 && kernel->submitted_ns == 900);
		assert_true(kernel->queued_ns == 400 && kernel->tid == 4711 && kernel->correlation == 77);
		/* the second one: of an unknown thread, in the same queue, of the same operation */
		assert_true(told.activities[2].tid == SONDE_TID_UNKNOWN && !told.activities[2].queued_ns);
		assert_true(told.activities[2].operation == kernel->operation && told.queue_count == 1);
		assert_true(told.queues[0].context == 2 && told.queues[0].handle == 7 && told.devices[0].index == 1);
		assert_int_equal(told.operation_count, 2);
		cuda_decoder_free(decoder);
	}
}

/* Two launches of a graph of two kernels and a copy, one of another, and a kernel whose call is not known. */
static void launches_of_graphs_are_told_once(void **state)
{
	static const struct {
		uint32_t correlation, graph;
	} launched[] = {{77, 9}, {77, 9}, {76, 9}, {76, 9}, {75, 10}, {5, 9}, {74, 0}};
	uint8_t buffer[16 * RECORD_MAX_B];
	size_t at = 0, kernel_b = cuda_record_b(CUDA_12_0, CUDA_KIND_CONCURRENT_KERNEL);
	struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
	(void)state;
	memset(&told, 0, sizeof told);
	for (size_t i = 0; i < sizeof launched / sizeof *launched; i++, at += kernel_b) {
		put_kernel(buffer + at, CUDA_12_0, "node", launched[i].correlation);
		PUT(buffer + at, Kernel10_graphId, launched[i].graph);
	}
	begin(buffer + at, CUDA_12_0, CUDA_KIND_MEMCPY);
	PUT(buffer + at, Memcpy6_start, UINT64_C(4000));
	PUT(buffer + at, Memcpy6_end, UINT64_C(4100));
	PUT(buffer + at, Memcpy6_correlationId, 77u);
	PUT(buffer + at, Memcpy6_graphId, 9u);
	at += cuda_record_b(CUDA_12_0, CUDA_KIND_MEMCPY);
	for (uint32_t i = 0; i < 4; i++, at += cuda_record_b(CUDA_12_0, CUDA_KIND_RUNTIME)) {
		put_call(buffer + at, CUDA_KIND_RUNTIME, 311, 400 + 100 * i, 4711);
		PUT(buffer + at, API_correlationId, 77u - i);
	}
	decode(decoder, buffer, at);
	uint32_t launches[2] = {0, 0};
	for (size_t i = 0; i < told.activity_count; i++) {
		const struct sonde_activity *activity = &told.activities[i];
		const char *name = told.names[activity->operation - 1];
		int graph = !strcmp(name, "launch of graph 9") ? 0 : !strcmp(name, "launch of graph 10") ? 1 : -1;
		if (graph < 0)
			continue;
		launches[graph]++;
		assert_int_equal(told.operations[activity->operation - 1].kind, SONDE_OPERATION_API);
		assert_true(!activity->queue && activity->tid == 4711);
		assert_int_equal(activity->start_ns, 400 + 100 * (77 - activity->correlation));
		assert_int_equal(activity->end_ns, activity->start_ns + 50);
	}
	assert_true(launches[0] == 2 && launches[1] == 1);
	assert_int_equal(told.activity_count, 7 + 1 + 4 + 3);
	assert_int_equal(told.lost, 0);
	cuda_decoder_free(decoder);
}

static void copies_have_a_direction(void **state)
{
	static const struct {
		uint8_t kind, from, to, told_from, told_to;
		const char *name;
	} copies[] = {
	    {1, 1, 3, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_DEVICE, "copy host to device"},
	    {1, 2, 3, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, "copy host to device"},
	    {2, 3, 2, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PINNED, "copy device to host"},
	    {2, 0, 0, SONDE_MEMORY_DEVICE, SONDE_MEMORY_HOST, "copy device to host"},
	    {8, 3, 6, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, "copy device to device"},
	    {4, 4, 5, SONDE_MEMORY_ARRAY, SONDE_MEMORY_MANAGED, "copy array to host"},
	    {99, 88, 77, SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_UNKNOWN, "copy"},
	};
	(void)state;
	for (int v = 0; v < VERSIONS; v++)
		for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
			uint8_t record[RECORD_MAX_B];
			struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[v]);
			memset(&told, 0, sizeof told);
			begin(record, versions[v], CUDA_KIND_MEMCPY);
			PUT(record, Memcpy6_copyKind, copies[i].kind);
			PUT(record, Memcpy6_srcKind, copies[i].from);
			PUT(record, Memcpy6_dstKind, copies[i].to);
			PUT(record, Memcpy6_bytes, UINT64_C(4096));
			PUT(record, Memcpy6_start, UINT64_C(10));
			PUT(record, Memcpy6_end, UINT64_C(20));
			decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_MEMCPY));
			assert_int_equal(told.activity_count, 1);
			assert_int_equal(told.activities[0].size_b, 4096);
			assert_int_equal(told.operations[0].kind, SONDE_OPERATION_COPY);
			assert_int_equal(told.operations[0].from, copies[i].told_from);
			assert_int_equal(told.operations[0].to, copies[i].told_to);
			assert_string_equal(told.names[0], copies[i].name);
			cuda_decoder_free(decoder);
		}
}

/* The same copy as reported by each of the two devices. */
static void peers_are_told_apart(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 2; at++) {
		uint8_t record[RECORD_MAX_B];
		struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_13_0);
		memset(&told, 0, sizeof told);
		begin(record, CUDA_13_0, CUDA_KIND_MEMCPY2);
		PUT(record, MemcpyPtoP4_deviceId, at);
		PUT(record, MemcpyPtoP4_dstDeviceId, 1u);
		PUT(record, MemcpyPtoP4_start, UINT64_C(10));
		PUT(record, MemcpyPtoP4_end, UINT64_C(20));
		PUT(record, MemcpyPtoP4_bytes, UINT64_C(7));
		decode(decoder, record, cuda_record_b(CUDA_13_0, CUDA_KIND_MEMCPY2));
		assert_string_equal(told.names[0], "copy device 0 to device 1");
		assert_int_equal(told.operations[0].from, at ? SONDE_MEMORY_PEER : SONDE_MEMORY_DEVICE);
		assert_int_equal(told.operations[0].to, at ? SONDE_MEMORY_DEVICE : SONDE_MEMORY_PEER);
		assert_int_equal(told.activities[0].size_b, 7);
		/* devices without a record are reported by their number: the source first */
		assert_int_equal(told.device_count, 2);
		assert_true(told.devices[0].index == 0 && told.devices[1].index == 1);
		assert_int_equal(told.operations[0].from_device, 1);
		assert_int_equal(told.operations[0].to_device, 2);
		assert_int_equal(told.queues[0].device, at + 1);
		cuda_decoder_free(decoder);
	}
}

static void devices_and_contexts(void **state)
{
	(void)state;
	for (int v = 0; v < VERSIONS; v++) {
		uint8_t buffer[3 * RECORD_MAX_B];
		size_t device_b = cuda_record_b(versions[v], CUDA_KIND_DEVICE);
		size_t context_b = cuda_record_b(versions[v], CUDA_KIND_CONTEXT);
		struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[v]);
		memset(&told, 0, sizeof told);
		begin(buffer, versions[v], CUDA_KIND_DEVICE);
		PUT(buffer, Device5_name, (const char *)"G1");
		PUT(buffer, Device5_id, 1u);
		PUT(buffer, Device5_globalMemorySize, UINT64_C(80000000000));
		PUT(buffer, Device5_globalMemoryBandwidth, UINT64_C(3352320000)); /* kB/s */
		PUT(buffer, Device5_computeCapabilityMajor, 9u);
		PUT(buffer, Device5_computeCapabilityMinor, 0u);
		buffer[CUDA_Device5_uuid] = (uint8_t)(v % 2 ? 0xab : 0);
		PUT(buffer, Device5_coreClockRate, 1980000u);
		PUT(buffer, Device5_numMultiprocessors, 132u);
		PUT(buffer, Device5_numThreadsPerWarp, 32u);
		PUT(buffer, Device5_maxWarpsPerMultiprocessor, 64u);
		PUT(buffer, Device5_maxBlocksPerMultiprocessor, 24u);
		PUT(buffer, Device5_maxRegistersPerMultiprocessor, 65536u);
		PUT(buffer, Device5_maxSharedMemoryPerMultiprocessor, 233472u);
		begin(buffer + device_b, versions[v], CUDA_KIND_CONTEXT);
		PUT(buffer + device_b, Context3_contextId, 2u);
		PUT(buffer + device_b, Context3_nullStreamId, (uint16_t)7);
		put_kernel(buffer + device_b + context_b, versions[v], "k", 0);
		decode(decoder, buffer, device_b + context_b + cuda_record_b(versions[v], CUDA_KIND_CONCURRENT_KERNEL));
		assert_int_equal(told.device_count, 1);
		const struct sonde_device_info *device = &told.devices[0];
		assert_string_equal(device->api, "CUDA");
		assert_true(device->index == 1 && device->units == 132 && device->clock_mhz == 1980);
		assert_true(device->capability == 90 && device->memory_b_per_s == 3352320000000);
		assert_int_equal(device->uuid != NULL, v % 2); /* all 0 is none */
		assert_true(device->memory_b == 80000000000 && device->warp == 32 && device->warps_unit == 64);
		assert_true(device->blocks_unit == 24 && device->registers_unit == 65536);
		assert_true(device->shared_unit_b == 233472 && device->kind == SONDE_DEVICE_GPU);
		assert_int_equal(told.queues[0].flags, SONDE_QUEUE_DEFAULT);
		assert_string_equal(told.queues[0].name, "default stream");
		assert_int_equal(told.queues[0].device, 1);
		cuda_decoder_free(decoder);
	}
}

/* Allocations from a pool give the pool's reserve, as do the pool's own records; those of another process do not. */
static void pools_have_a_reserve(void **state)
{
	(void)state;
	for (int v = 0; v < VERSIONS; v++) {
		uint8_t record[RECORD_MAX_B];
		struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[v]);
		memset(&told, 0, sizeof told);
		for (uint32_t type = 1; type < 3; type++) {
			begin(record, versions[v], CUDA_KIND_MEMORY2);
			PUT(record, Memory4_memoryOperationType, (uint32_t)CUDA_MEMORY_ALLOCATION);
			PUT(record, Memory4_memoryKind, 3u);
			PUT(record, Memory4_address, UINT64_C(0xdead000) + type);
			PUT(record, Memory4_bytes, UINT64_C(64));
			PUT(record, Memory4_timestamp, UINT64_C(5));
			PUT(record, Memory4_streamId, (uint32_t)CUDA_NO_STREAM);
			PUT(record, Memory4_poolType, type);
			PUT(record, Memory4_poolAddress, UINT64_C(0xbeef));
			PUT(record, Memory4_poolSize, UINT64_C(1) << 21);
			decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_MEMORY2));
		}
		begin(record, versions[v], CUDA_KIND_MEMORY_POOL);
		PUT(record, MemoryPool3_memoryPoolOperationType, (uint32_t)CUDA_POOL_DESTROYED);
		PUT(record, MemoryPool3_memoryPoolType, (uint32_t)CUDA_POOL_LOCAL);
		PUT(record, MemoryPool3_address, UINT64_C(0xbeef));
		PUT(record, MemoryPool3_size, UINT64_C(1) << 21);
		PUT(record, MemoryPool3_timestamp, UINT64_C(9));
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_MEMORY_POOL));
		assert_int_equal(told.operations[1].kind, SONDE_OPERATION_POOL);
		assert_int_equal(told.operations[1].to, SONDE_MEMORY_DEVICE);
		assert_int_equal(told.activity_count, 5); /* two blocks, one size; a call, another size */
		assert_true(told.activities[1].address == 0xbeef && told.activities[1].size_b == 1 << 21);
		assert_true(told.activities[1].operation == told.activities[4].operation);
		assert_true(told.activities[4].address == 0xbeef && told.activities[4].size_b == 0);
		assert_true(told.activities[4].end_ns == 9);
		cuda_decoder_free(decoder);
	}
}

static void memory_pools_waits_overhead(void **state)
{
	(void)state;
	for (int v = 0; v < VERSIONS; v++) {
		uint8_t record[RECORD_MAX_B];
		struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[v]);
		memset(&told, 0, sizeof told);
		begin(record, versions[v], CUDA_KIND_MEMORY2);
		PUT(record, Memory4_memoryOperationType, (uint32_t)CUDA_MEMORY_RELEASE);
		PUT(record, Memory4_memoryKind, 2u);
		PUT(record, Memory4_address, UINT64_C(0xdead000));
		PUT(record, Memory4_bytes, UINT64_C(64));
		PUT(record, Memory4_timestamp, UINT64_C(5));
		PUT(record, Memory4_streamId, (uint32_t)CUDA_NO_STREAM);
		PUT(record, Memory4_deviceId, 3u);
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_MEMORY2));
		assert_int_equal(told.operations[0].kind, SONDE_OPERATION_FREE);
		assert_int_equal(told.operations[0].to, SONDE_MEMORY_PINNED);
		assert_true(told.activities[0].address == 0xdead000 && told.activities[0].size_b == 64);
		assert_int_equal(told.activities[0].queue, 0);
		assert_int_equal(told.operations[0].to_device, 1); /* whose memory it is needs no stream */
		assert_int_equal(told.devices[0].index, 3);
		begin(record, versions[v], CUDA_KIND_MEMORY_POOL);
		PUT(record, MemoryPool3_memoryPoolOperationType, (uint32_t)CUDA_POOL_TRIMMED);
		PUT(record, MemoryPool3_size, UINT64_C(4096));
		PUT(record, MemoryPool3_timestamp, UINT64_C(6));
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_MEMORY_POOL));
		assert_string_equal(told.names[1], "memory pool trimmed");
		begin(record, versions[v], CUDA_KIND_SYNCHRONIZATION);
		PUT(record, Synchronization2_type, (uint32_t)CUDA_SYNC_CONTEXT);
		PUT(record, Synchronization2_start, UINT64_C(7));
		PUT(record, Synchronization2_end, UINT64_C(9));
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_SYNCHRONIZATION));
		assert_string_equal(told.names[2], "context synchronize");
		assert_int_equal(told.operations[2].kind, SONDE_OPERATION_SYNC);
		begin(record, versions[v], CUDA_KIND_OVERHEAD);
		PUT(record, Overhead3_overheadKind, 4u << 16);
		PUT(record, Overhead3_objectKind, (uint32_t)CUDA_OBJECT_THREAD);
		memcpy(record + CUDA_Overhead3_objectId + 4, &(uint32_t){99}, 4);
		PUT(record, Overhead3_start, UINT64_C(7));
		PUT(record, Overhead3_end, UINT64_C(9));
		if (versions[v] >= CUDA_12_2) /* there is none before */
			PUT(record, Overhead3_correlationId, 8u);
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_OVERHEAD));
		assert_string_equal(told.names[3], "loading modules");
		assert_int_equal(told.activities[3].tid, 99);
		assert_int_equal(told.activities[3].correlation, versions[v] >= CUDA_12_2 ? 8 : 0);
		assert_int_equal(told.lost, 0);
		cuda_decoder_free(decoder);
	}
}

static void put_wait(uint8_t record[RECORD_MAX_B], uint32_t version, uint32_t type, uint32_t context, uint32_t stream)
{
	begin(record, version, CUDA_KIND_SYNCHRONIZATION);
	PUT(record, Synchronization2_type, type);
	PUT(record, Synchronization2_start, UINT64_C(7));
	PUT(record, Synchronization2_end, UINT64_C(9));
	PUT(record, Synchronization2_contextId, context);
	PUT(record, Synchronization2_streamId, stream);
}

/* Context 2 belongs to device 1, with 7 as its default stream; waiting for that says nothing about other streams. */
static void waits_for_a_stream_name_its_queue(void **state)
{
	static const struct {
		uint32_t type, context, stream, queue;
	} waits[] = {
	    {CUDA_SYNC_STREAM, 2, 13, 1},
	    {CUDA_SYNC_STREAM, 2, 14, 2},
	    {CUDA_SYNC_STREAM, 2, 13, 1},
	    {CUDA_SYNC_STREAM, 2, 7, 0},
	    {CUDA_SYNC_STREAM, 3, 13, 0}, /* a context that was never reported */
	    {CUDA_SYNC_STREAM, 2, (uint32_t)CUDA_NO_STREAM, 0},
	    {CUDA_SYNC_CONTEXT, 2, (uint32_t)CUDA_NO_STREAM, 0},
	    {CUDA_SYNC_EVENT, 2, (uint32_t)CUDA_NO_STREAM, 0},
	    {CUDA_SYNC_STREAM_WAIT, 2, 13, 0}, /* no thread waits */
	};
	(void)state;
	for (int v = 0; v < VERSIONS; v++) {
		uint8_t record[RECORD_MAX_B];
		struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[v]);
		memset(&told, 0, sizeof told);
		begin(record, versions[v], CUDA_KIND_CONTEXT);
		PUT(record, Context3_contextId, 2u);
		PUT(record, Context3_deviceId, 1u);
		PUT(record, Context3_nullStreamId, (uint16_t)7);
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_CONTEXT));
		for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
			put_wait(record, versions[v], waits[i].type, waits[i].context, waits[i].stream);
			decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_SYNCHRONIZATION));
			assert_int_equal(told.activities[i].queue, waits[i].queue);
			assert_int_equal(told.activities[i].end_ns, 9);
		}
		assert_int_equal(told.queue_count, 2);
		assert_true(told.queues[0].handle == 13 && told.queues[0].context == 2 && told.queues[1].handle == 14);
		assert_int_equal(told.devices[told.queues[0].device - 1].index, 1);
		/* Work in that stream is in the same queue. */
		put_kernel(record, versions[v], "k", 0);
		PUT(record, Kernel10_streamId, 13u);
		decode(decoder, record, cuda_record_b(versions[v], CUDA_KIND_CONCURRENT_KERNEL));
		assert_int_equal(told.activities[sizeof waits / sizeof *waits].queue, 1);
		assert_int_equal(told.lost, 0);
		cuda_decoder_free(decoder);
	}
}

/* The driver's call within the runtime's: the outer one began first. */
static void calls_in_calls_are_the_outer_ones(void **state)
{
	uint8_t buffer[3 * RECORD_MAX_B];
	struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_13_0);
	size_t call_b = cuda_record_b(CUDA_13_0, CUDA_KIND_DRIVER);
	(void)state;
	memset(&told, 0, sizeof told);
	put_call(buffer, CUDA_KIND_DRIVER, 307, 500, 1);
	put_call(buffer + call_b, CUDA_KIND_RUNTIME, 60000, 400, 1);
	put_kernel(buffer + 2 * call_b, CUDA_13_0, "k", 77);
	decode(decoder, buffer, 2 * call_b + cuda_record_b(CUDA_13_0, CUDA_KIND_CONCURRENT_KERNEL));
	assert_string_equal(told.names[0], "cuLaunchKernel");
	assert_string_equal(told.names[1], "cuda call 60000");
	assert_int_equal(told.activities[2].queued_ns, 400);
	cuda_decoder_free(decoder);
}

/* Truncated records are counted once, and everything before them is reported. */
static void cut_records_are_counted(void **state)
{
	uint8_t buffer[2 * RECORD_MAX_B];
	size_t kernel_b = cuda_record_b(CUDA_12_0, CUDA_KIND_CONCURRENT_KERNEL);
	(void)state;
	put_kernel(buffer, CUDA_12_0, "k", 1);
	put_kernel(buffer + kernel_b, CUDA_12_0, "k", 2);
	for (size_t size_b = kernel_b + 1; size_b < 2 * kernel_b; size_b++) {
		struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
		memset(&told, 0, sizeof told);
		decode(decoder, buffer, size_b);
		assert_int_equal(told.activity_count, 1);
		assert_int_equal(told.lost, 1);
		assert_non_null(strstr(told.cause, "cut off"));
		cuda_decoder_free(decoder);
	}
}

static void unknown_kinds_are_counted(void **state)
{
	uint8_t buffer[2 * RECORD_MAX_B];
	static const uint32_t kinds[] = {7, 55, 63, 64, 1000, UINT32_MAX};
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
		memset(&told, 0, sizeof told);
		memset(buffer, 0x55, sizeof buffer);
		memcpy(buffer, &kinds[i], 4);
		decode(decoder, buffer, sizeof buffer);
		assert_int_equal(told.activity_count, 0);
		assert_int_equal(told.lost, 1);
		assert_non_null(strstr(told.cause, "unknown kinds"));
		cuda_decoder_free(decoder);
	}
}

static void times_that_are_not_there(void **state)
{
	static const uint64_t times[][2] = {{0, 0}, {10, 0}, {0, 10}, {20, 10}};
	(void)state;
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		uint8_t record[RECORD_MAX_B];
		struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
		memset(&told, 0, sizeof told);
		cuda_decoder_shift(decoder, 1000000);
		put_kernel(record, CUDA_12_0, "k", 1);
		PUT(record, Kernel10_start, times[i][0]);
		PUT(record, Kernel10_end, times[i][1]);
		decode(decoder, record, cuda_record_b(CUDA_12_0, CUDA_KIND_CONCURRENT_KERNEL));
		assert_int_equal(told.activity_count, 0);
		assert_int_equal(told.lost, 1);
		cuda_decoder_free(decoder);
	}
}

/* Conversion to another clock, in both directions; 0 stays unknown. */
static void times_are_shifted(void **state)
{
	uint8_t record[RECORD_MAX_B];
	struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
	(void)state;
	memset(&told, 0, sizeof told);
	put_kernel(record, CUDA_12_0, "k", 1);
	PUT(record, Kernel10_submitted, UINT64_C(0));
	cuda_decoder_shift(decoder, -600);
	decode(decoder, record, cuda_record_b(CUDA_12_0, CUDA_KIND_CONCURRENT_KERNEL));
	assert_true(told.activities[0].start_ns == 400 && told.activities[0].end_ns == 2900);
	assert_int_equal(told.activities[0].submitted_ns, 0);
	cuda_decoder_free(decoder);
}

/* A name is identified by its text, not by its address: modules come and go. */
static void names_are_compared(void **state)
{
	uint8_t record[RECORD_MAX_B];
	char place[16] = "first", elsewhere[16] = "first";
	struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
	size_t kernel_b = cuda_record_b(CUDA_12_0, CUDA_KIND_CONCURRENT_KERNEL);
	(void)state;
	memset(&told, 0, sizeof told);
	put_kernel(record, CUDA_12_0, place, 1);
	decode(decoder, record, kernel_b);
	strcpy(place, "second");
	decode(decoder, record, kernel_b);
	put_kernel(record, CUDA_12_0, elsewhere, 1);
	decode(decoder, record, kernel_b);
	put_kernel(record, CUDA_12_0, NULL, 1);
	decode(decoder, record, kernel_b);
	assert_int_equal(told.operation_count, 3);
	assert_string_equal(told.names[1], "second");
	assert_int_equal(told.activities[0].operation, told.activities[2].operation);
	assert_string_equal(told.names[2], "");
	cuda_decoder_free(decoder);
}

/* Records that were refused for lack of space are offered again. */
static void refused_operations_are_tried_again(void **state)
{
	uint8_t record[RECORD_MAX_B];
	struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_12_0);
	size_t kernel_b = cuda_record_b(CUDA_12_0, CUDA_KIND_CONCURRENT_KERNEL);
	(void)state;
	memset(&told, 0, sizeof told);
	told.refuse = 1;
	put_kernel(record, CUDA_12_0, "k", 1);
	decode(decoder, record, kernel_b);
	assert_int_equal(told.lost, 1);
	decode(decoder, record, kernel_b);
	assert_int_equal(told.activity_count, 1);
	cuda_decoder_free(decoder);
}

/* Memory is bounded: of keys, and of names. */
static void tables_are_bounded(void **state)
{
	struct cuda_table table = {.key_words = 2, .max = 1000};
	struct cuda_names *names = calloc(1, sizeof *names);
	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t *number = cuda_table_of(&table, (const uint64_t[]){i, 7});
		assert_int_equal(number != NULL, i < 1000);
		if (number)
			*number = i + 1;
	}
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(*cuda_table_of(&table, (const uint64_t[]){i, 7}), i + 1);
	for (uint32_t i = 0; i < CUDA_NAMES_MAX + 10; i++) {
		char name[16];
		snprintf(name, sizeof name, "n%u", i);
		assert_int_equal(cuda_name_of(names, name), i < CUDA_NAMES_MAX ? i + 1 : 0);
	}
	assert_string_equal(cuda_name_text(names, 4), "n3");
	char *longest = malloc(9000);
	memset(longest, 'x', 8999);
	longest[8999] = '\0';
	cuda_names_fini(names);
	assert_int_equal(strlen(cuda_name_text(names, cuda_name_of(names, longest))), CUDA_NAME_MAX_B);
	assert_int_equal(cuda_name_of(names, longest), 1);
	cuda_names_fini(names);
	free(longest);
	free(names);
	cuda_table_fini(&table);
}

/* Random bytes, for all kinds without pointers. */
static void any_bytes_are_survived(void **state)
{
	static const uint8_t kinds[] = {1, 2, 4, 5, 9, 17, 22, 38, 49, 50, 51, 60};
	uint32_t seed = 12345;
	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint8_t buffer[600];
		struct cuda_decoder *decoder = cuda_decoder_new(&out, versions[round % VERSIONS]);
		for (size_t i = 0; i < sizeof buffer; i++) {
			seed = seed * 1103515245 + 12345;
			buffer[i] = (uint8_t)(seed >> 16);
		}
		uint32_t kind = kinds[(size_t)round % sizeof kinds];
		size_t step = cuda_record_b(versions[round % VERSIONS], kind);
		for (size_t at = 0; at + 4 <= sizeof buffer; at += step ? step : sizeof buffer)
			memcpy(buffer + at, &kind, 4);
		memset(&told, 0, sizeof told);
		decode(decoder, buffer, sizeof buffer - (size_t)round % 100);
		assert_true(told.activity_count + told.lost > 0 || kind == CUDA_KIND_CONTEXT);
		for (uint64_t i = 0; i < told.activity_count; i++)
			assert_true(told.activities[i].end_ns >= told.activities[i].start_ns);
		cuda_decoder_free(decoder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels_of_every_version),
	    cmocka_unit_test(launches_of_graphs_are_told_once),
	    cmocka_unit_test(copies_have_a_direction),
	    cmocka_unit_test(peers_are_told_apart),
	    cmocka_unit_test(devices_and_contexts),
	    cmocka_unit_test(memory_pools_waits_overhead),
	    cmocka_unit_test(pools_have_a_reserve),
	    cmocka_unit_test(waits_for_a_stream_name_its_queue),
	    cmocka_unit_test(calls_in_calls_are_the_outer_ones),
	    cmocka_unit_test(cut_records_are_counted),
	    cmocka_unit_test(unknown_kinds_are_counted),
	    cmocka_unit_test(times_that_are_not_there),
	    cmocka_unit_test(times_are_shifted),
	    cmocka_unit_test(names_are_compared),
	    cmocka_unit_test(refused_operations_are_tried_again),
	    cmocka_unit_test(tables_are_bounded),
	    cmocka_unit_test(any_bytes_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
