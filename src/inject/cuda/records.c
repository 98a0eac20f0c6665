/* records.c: decodes CUPTI's records, kind by kind: fields are read at their offsets (cuda/abi.h), after a check of the
 * record's length.
 */
#include <stdio.h>

#include "inject/cuda/decode_state.h"

/* Start, end and correlation of an activity, from a record of that kind. */
#define TIMES(kind)                                                              \
	.start_ns = cuda_moment(decoder, cuda_u64(record, CUDA_##kind##_start)), \
	.end_ns = cuda_moment(decoder, cuda_u64(record, CUDA_##kind##_end)),     \
	.correlation = cuda_u32(record, CUDA_##kind##_correlationId)

/* --- records ------------------------------------------------------------------------------------------------------ */

/* The operation that stands for launches of the graph; one for all graphs if there are too many. */
static uint32_t launch_of(struct cuda_decoder *decoder, uint32_t graph)
{
	uint64_t *number = cuda_table_of(&decoder->graphs, &(uint64_t){graph});
	char name[40] = "launch of a graph";
	if (number && *number)
		return (uint32_t)*number;
	if (number)
		snprintf(name, sizeof name, "launch of graph %u", graph);
	uint32_t operation = cuda_named(decoder, SONDE_OPERATION_API, name, 0, 0);
	if (number)
		*number = operation;
	return operation;
}

/* A graph launch is recognised by the device work that it causes: for the first such record a launch is reported, with
 * the times of the call that made it. Without call records, launches are unknown. */
static void take_launch(struct cuda_decoder *decoder, uint32_t graph, uint32_t correlation)
{
	const struct cuda_call *call = graph ? cuda_call_of(decoder, correlation) : NULL;
	uint32_t *last = &decoder->launches[correlation % CUDA_LAUNCHES_KEPT];
	if (!call || *last == correlation)
		return;
	*last = correlation;
	struct sonde_activity activity = {
	    .operation = launch_of(decoder, graph),
	    .tid = call->tid,
	    .start_ns = call->start_ns,
	    .end_ns = call->end_ns,
	    .correlation = correlation,
	};
	cuda_record(decoder, &activity);
}

static void take_kernel(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	struct cuda_operation operation = {
	    .kind = SONDE_OPERATION_KERNEL,
	    .name = cuda_name_of(&decoder->names, cuda_text(record, CUDA_Kernel10_name)),
	    .registers = cuda_u16(record, CUDA_Kernel10_registersPerThread),
	    .local_b = cuda_u32(record, CUDA_Kernel10_localMemoryPerThread),
	    .static_shared_b = cuda_u32(record, CUDA_Kernel10_staticSharedMemory),
	    .dynamic_shared_b = cuda_u32(record, CUDA_Kernel10_dynamicSharedMemory),
	    .shared_unit_b = cuda_u32(record, CUDA_Kernel10_sharedMemoryExecuted),
	};
	(void)size_b;
	memcpy(operation.grid, record + CUDA_Kernel10_gridX, sizeof operation.grid);
	memcpy(operation.block, record + CUDA_Kernel10_blockX, sizeof operation.block);
	struct sonde_activity activity = {
	    .operation = cuda_operation_of(decoder, &operation),
	    TIMES(Kernel10),
	    .submitted_ns = cuda_moment(decoder, cuda_u64(record, CUDA_Kernel10_submitted)),
	};
	take_launch(decoder, cuda_u32(record, CUDA_Kernel10_graphId), (uint32_t)activity.correlation);
	cuda_record_work(decoder, &activity, record, CUDA_Kernel10_deviceId);
}

/* Converts CUPTI's kind of memory to enum sonde_memory_kind. CUPTI's kinds 6 and 7 are static memory: of the device,
 * and managed. */
static uint32_t memory_kind(uint32_t kind)
{
	static const uint8_t kinds[] = {SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_PINNED,
					SONDE_MEMORY_DEVICE,  SONDE_MEMORY_ARRAY,    SONDE_MEMORY_MANAGED,
					SONDE_MEMORY_DEVICE,  SONDE_MEMORY_MANAGED};
	return kind < sizeof kinds ? kinds[kind] : SONDE_MEMORY_UNKNOWN;
}

/* CUPTI's kinds of copies, from 0 on: the direction, for records without kinds of memory. */
static const struct {
	const char *name;
	uint8_t from, to;
} copies[] = {
    {"copy", SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_UNKNOWN},
    {"copy host to device", SONDE_MEMORY_HOST, SONDE_MEMORY_DEVICE},
    {"copy device to host", SONDE_MEMORY_DEVICE, SONDE_MEMORY_HOST},
    {"copy host to array", SONDE_MEMORY_HOST, SONDE_MEMORY_ARRAY},
    {"copy array to host", SONDE_MEMORY_ARRAY, SONDE_MEMORY_HOST},
    {"copy array to array", SONDE_MEMORY_ARRAY, SONDE_MEMORY_ARRAY},
    {"copy array to device", SONDE_MEMORY_ARRAY, SONDE_MEMORY_DEVICE},
    {"copy device to array", SONDE_MEMORY_DEVICE, SONDE_MEMORY_ARRAY},
    {"copy device to device", SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE},
    {"copy host to host", SONDE_MEMORY_HOST, SONDE_MEMORY_HOST},
    {"copy between GPUs", SONDE_MEMORY_DEVICE, SONDE_MEMORY_PEER},
};

static void take_copy(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t kind = cuda_u8(record, CUDA_Memcpy6_copyKind);
	uint32_t from = memory_kind(cuda_u8(record, CUDA_Memcpy6_srcKind));
	uint32_t to = memory_kind(cuda_u8(record, CUDA_Memcpy6_dstKind));
	(void)size_b;
	if (kind >= sizeof copies / sizeof *copies)
		kind = 0;
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, SONDE_OPERATION_COPY, copies[kind].name, from ? from : copies[kind].from,
				    to ? to : copies[kind].to),
	    TIMES(Memcpy6),
	    .size_b = cuda_u64(record, CUDA_Memcpy6_bytes),
	};
	take_launch(decoder, cuda_u32(record, CUDA_Memcpy6_graphId), (uint32_t)activity.correlation);
	cuda_record_work(decoder, &activity, record, CUDA_Memcpy6_deviceId);
}

static void take_peer_copy(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t device = cuda_u32(record, CUDA_MemcpyPtoP4_deviceId);
	uint32_t source = cuda_u32(record, CUDA_MemcpyPtoP4_srcDeviceId),
		 to = cuda_u32(record, CUDA_MemcpyPtoP4_dstDeviceId);
	int is_read = device == to && source != to;
	char name[64];
	(void)size_b;
	snprintf(name, sizeof name, "copy device %u to device %u", source, to);
	uint32_t from_kind = is_read ? SONDE_MEMORY_PEER : SONDE_MEMORY_DEVICE;
	uint32_t to_kind = is_read || source == to ? SONDE_MEMORY_DEVICE : SONDE_MEMORY_PEER;
	const struct cuda_operation operation = {
	    .kind = SONDE_OPERATION_COPY,
	    .name = cuda_name_of(&decoder->names, name),
	    .memory = from_kind | to_kind << 8,
	    .from_device = cuda_device_of(decoder, source, NULL),
	    .to_device = cuda_device_of(decoder, to, NULL),
	};
	struct sonde_activity activity = {
	    .operation = cuda_operation_of(decoder, &operation),
	    TIMES(MemcpyPtoP4),
	    .size_b = cuda_u64(record, CUDA_MemcpyPtoP4_bytes),
	};
	take_launch(decoder, cuda_u32(record, CUDA_MemcpyPtoP4_graphId), (uint32_t)activity.correlation);
	cuda_record_work(decoder, &activity, record, CUDA_MemcpyPtoP4_deviceId);
}

static void take_fill(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t to = memory_kind(cuda_u16(record, CUDA_Memset4_memoryKind));
	(void)size_b;
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, SONDE_OPERATION_FILL, "fill", SONDE_MEMORY_UNKNOWN, to),
	    TIMES(Memset4),
	    .size_b = cuda_u64(record, CUDA_Memset4_bytes),
	};
	take_launch(decoder, cuda_u32(record, CUDA_Memset4_graphId), (uint32_t)activity.correlation);
	cuda_record_work(decoder, &activity, record, CUDA_Memset4_deviceId);
}

static void take_graph(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	char name[32];
	(void)size_b;
	snprintf(name, sizeof name, "graph %u", cuda_u32(record, CUDA_GraphTrace2_graphId));
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, SONDE_OPERATION_GRAPH, name, 0, 0),
	    TIMES(GraphTrace2),
	    .queue = cuda_queue_of(decoder, cuda_u32(record, CUDA_GraphTrace2_deviceId),
				   cuda_u32(record, CUDA_GraphTrace2_contextId),
				   cuda_u32(record, CUDA_GraphTrace2_streamId)),
	};
	const struct cuda_call *call = cuda_call_of(decoder, (uint32_t)activity.correlation);
	activity.tid = call ? call->tid : SONDE_TID_UNKNOWN;
	activity.queued_ns = call && call->start_ns <= activity.start_ns ? call->start_ns : 0;
	if (!activity.queue)
		activity.operation = 0;
	cuda_record(decoder, &activity);
}

/* The queue to which the memory is attributed: that of the record's stream, or else of the context's default stream; 0
 * = unknown. */
static uint32_t memory_queue(struct cuda_decoder *decoder, const uint8_t *record)
{
	uint32_t context = cuda_u32(record, CUDA_Memory4_contextId), stream = cuda_u32(record, CUDA_Memory4_streamId);
	uint64_t usual = stream == (uint32_t)CUDA_NO_STREAM ? cuda_default_stream(decoder, context) : 0;
	if (stream == (uint32_t)CUDA_NO_STREAM && !usual)
		return 0;
	return cuda_queue_of(decoder, cuda_u32(record, CUDA_Memory4_deviceId), context,
			     usual ? (uint32_t)usual - 1 : stream);
}

/* Reports how much memory a pool of this process has reserved; called for every record that contains that number. */
static void record_pool(struct cuda_decoder *decoder, uint32_t device, uint64_t time_ns, uint64_t address,
			uint64_t pool_b)
{
	const struct cuda_operation operation = {
	    .kind = SONDE_OPERATION_POOL,
	    .name = cuda_name_of(&decoder->names, "memory pool"),
	    .memory = SONDE_MEMORY_DEVICE << 8,
	    .to_device = cuda_device_of(decoder, device, NULL),
	};
	struct sonde_activity activity = {
	    .operation = cuda_operation_of(decoder, &operation),
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .size_b = pool_b,
	    .address = address,
	};
	cuda_record_host(decoder, &activity);
}

static void take_memory(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const char *const names[] = {"memory",        "pageable memory", "pinned memory",
					    "device memory", "array memory",    "managed memory"};
	uint32_t type = cuda_u32(record, CUDA_Memory4_memoryOperationType);
	uint32_t kind = memory_kind(cuda_u32(record, CUDA_Memory4_memoryKind));
	if (type != CUDA_MEMORY_ALLOCATION && type != CUDA_MEMORY_RELEASE) {
		decoder->lost[CUDA_LOSS_KIND]++;
		return;
	}
	uint64_t time_ns = cuda_moment(decoder, cuda_u64(record, CUDA_Memory4_timestamp));
	const struct cuda_operation operation = {
	    .kind = type == CUDA_MEMORY_ALLOCATION ? SONDE_OPERATION_ALLOC : SONDE_OPERATION_FREE,
	    .name = cuda_name_of(&decoder->names, names[kind]),
	    .memory = kind << 8,
	    .to_device = cuda_device_of(decoder, cuda_u32(record, CUDA_Memory4_deviceId), NULL),
	};
	struct sonde_activity activity = {
	    .operation = cuda_operation_of(decoder, &operation),
	    .queue = memory_queue(decoder, record),
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .correlation = cuda_u32(record, CUDA_Memory4_correlationId),
	    .size_b = cuda_u64(record, CUDA_Memory4_bytes),
	    .address = cuda_u64(record, CUDA_Memory4_address),
	};
	cuda_record_host(decoder, &activity);
	if (size_b >= CUDA_Memory4_poolSize + 8 && cuda_u32(record, CUDA_Memory4_poolType) == CUDA_POOL_LOCAL &&
	    cuda_u64(record, CUDA_Memory4_poolAddress))
		record_pool(decoder, cuda_u32(record, CUDA_Memory4_deviceId), time_ns,
			    cuda_u64(record, CUDA_Memory4_poolAddress), cuda_u64(record, CUDA_Memory4_poolSize));
}

/* A pool's memory is not counted as allocated here: allocations from it have records of their own. */
static void take_pool(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const char *const names[] = {[CUDA_POOL_CREATED] = "memory pool created",
					    [CUDA_POOL_DESTROYED] = "memory pool destroyed",
					    [CUDA_POOL_TRIMMED] = "memory pool trimmed"};
	uint32_t type = cuda_u32(record, CUDA_MemoryPool3_memoryPoolOperationType);
	uint64_t time_ns = cuda_moment(decoder, cuda_u64(record, CUDA_MemoryPool3_timestamp));
	(void)size_b;
	if (type >= sizeof names / sizeof *names || !names[type]) {
		decoder->lost[CUDA_LOSS_KIND]++;
		return;
	}
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, SONDE_OPERATION_API, names[type], 0, 0),
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .correlation = cuda_u32(record, CUDA_MemoryPool3_correlationId),
	    .size_b = cuda_u64(record, CUDA_MemoryPool3_size),
	    .address = cuda_u64(record, CUDA_MemoryPool3_address),
	};
	cuda_record_host(decoder, &activity);
	if (cuda_u32(record, CUDA_MemoryPool3_memoryPoolType) == CUDA_POOL_LOCAL && activity.address)
		record_pool(decoder, cuda_u32(record, CUDA_MemoryPool3_deviceId), time_ns, activity.address,
			    type == CUDA_POOL_DESTROYED ? 0 : activity.size_b);
}

/* If a stream waits for an event, no thread is blocked, so such a record is reported as an ordinary call. A wait for a
 * stream is reported with the stream's queue; CUPTI's records of waits for a context or an event contain no stream. */
static void take_sync(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const char *const names[] = {
	    "synchronize", [CUDA_SYNC_EVENT] = "event synchronize", [CUDA_SYNC_STREAM_WAIT] = "stream waits for event",
	    [CUDA_SYNC_STREAM] = "stream synchronize", [CUDA_SYNC_CONTEXT] = "context synchronize"};
	uint32_t type = cuda_u32(record, CUDA_Synchronization2_type);
	uint32_t kind = type == CUDA_SYNC_STREAM_WAIT ? SONDE_OPERATION_API : SONDE_OPERATION_SYNC;
	(void)size_b;
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, kind, names[type < sizeof names / sizeof *names ? type : 0], 0, 0),
	    TIMES(Synchronization2),
	};
	if (type == CUDA_SYNC_STREAM)
		activity.queue = cuda_queue_of_context(decoder, cuda_u32(record, CUDA_Synchronization2_contextId),
						       cuda_u32(record, CUDA_Synchronization2_streamId));
	cuda_record_host(decoder, &activity);
}

/* The name of a kind of overhead: small numbers are the driver's, those from 65536 on CUPTI's own. */
static const char *overhead_name(uint32_t kind)
{
	static const char *const driver[] = {"overhead", "compiling for the GPU"};
	static const char *const others[] = {"overhead",
					     "flushing records",
					     "instrumenting",
					     "making room for records",
					     "loading modules",
					     "loading functions lazily",
					     "the command buffer is full",
					     "asking for a buffer of records",
					     "starting unified memory's records"};
	if (kind >> 16 && !(kind & 0xffff) && kind >> 16 < sizeof others / sizeof *others)
		return others[kind >> 16];
	return driver[kind == 1];
}

static void take_overhead(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, SONDE_OPERATION_OVERHEAD,
				    overhead_name(cuda_u32(record, CUDA_Overhead3_overheadKind)), 0, 0),
	    .start_ns = cuda_moment(decoder, cuda_u64(record, CUDA_Overhead3_start)),
	    .end_ns = cuda_moment(decoder, cuda_u64(record, CUDA_Overhead3_end)),
	};
	if (cuda_u32(record, CUDA_Overhead3_objectKind) == CUDA_OBJECT_THREAD)
		activity.tid = cuda_u32(record, CUDA_Overhead3_objectId + 4);
	if (size_b >= CUDA_Overhead3_correlationId + 4)
		activity.correlation = cuda_u32(record, CUDA_Overhead3_correlationId);
	cuda_record_host(decoder, &activity);
}

/* Stores the call under its correlation. Nested calls have the same correlation; the outermost is kept, which is the
 * one that started first. */
static void keep_call(struct cuda_decoder *decoder, const struct sonde_activity *activity)
{
	struct cuda_call *call = &decoder->calls[activity->correlation % CUDA_CALLS_KEPT];
	if (activity->correlation && activity->start_ns &&
	    (call->correlation != activity->correlation || activity->start_ns < call->start_ns))
		*call = (struct cuda_call){(uint32_t)activity->correlation, activity->tid, activity->start_ns,
					   activity->end_ns};
}

static void take_call(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t number = cuda_u32(record, CUDA_API_cbid);
	int is_driver = cuda_u32(record, 0) == CUDA_KIND_DRIVER;
	const char *name = cuda_call_name(is_driver, number);
	char other[48];
	(void)size_b;
	snprintf(other, sizeof other, is_driver ? "cuda driver call %u" : "cuda call %u", number);
	struct sonde_activity activity = {
	    .operation = cuda_named(decoder, SONDE_OPERATION_API, name ? name : other, 0, 0),
	    .tid = cuda_u32(record, CUDA_API_threadId),
	    TIMES(API),
	};
	keep_call(decoder, &activity);
	cuda_record_host(decoder, &activity);
}

static void take_device(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const uint8_t none[16];
	uint8_t id[16];
	char uuid[48];
	memcpy(id, record + CUDA_Device5_uuid, sizeof id);
	(void)size_b;
	snprintf(uuid, sizeof uuid, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
		 id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
		 id[15]);
	struct sonde_device_info info = {
	    .api = "CUDA",
	    .name = cuda_text(record, CUDA_Device5_name),
	    .uuid = memcmp(id, none, sizeof id) ? uuid : NULL,
	    .kind = SONDE_DEVICE_GPU,
	    .index = cuda_u32(record, CUDA_Device5_id),
	    .units = cuda_u32(record, CUDA_Device5_numMultiprocessors),
	    .clock_mhz = cuda_u32(record, CUDA_Device5_coreClockRate) / 1000,
	    .memory_b = cuda_u64(record, CUDA_Device5_globalMemorySize),
	    .memory_b_per_s = cuda_u64(record, CUDA_Device5_globalMemoryBandwidth) * 1000,
	    .capability = cuda_u32(record, CUDA_Device5_computeCapabilityMajor) * 10 +
			  cuda_u32(record, CUDA_Device5_computeCapabilityMinor),
	    .warp = cuda_u32(record, CUDA_Device5_numThreadsPerWarp),
	    .warps_unit = cuda_u32(record, CUDA_Device5_maxWarpsPerMultiprocessor),
	    .blocks_unit = cuda_u32(record, CUDA_Device5_maxBlocksPerMultiprocessor),
	    .registers_unit = cuda_u32(record, CUDA_Device5_maxRegistersPerMultiprocessor),
	    .shared_unit_b = cuda_u32(record, CUDA_Device5_maxSharedMemoryPerMultiprocessor),
	};
	cuda_device_of(decoder, info.index, &info);
}

static void take_context(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	(void)size_b;
	cuda_context_recorded(decoder, cuda_u32(record, CUDA_Context3_contextId),
			      cuda_u32(record, CUDA_Context3_deviceId), cuda_u16(record, CUDA_Context3_nullStreamId));
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

/* `least_b`: the part that is read without further checks. */
static const struct {
	void (*take)(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b);
	uint16_t least_b;
	uint8_t pass;
} kinds[CUDA_KINDS] = {
    [CUDA_KIND_MEMCPY] = {take_copy, CUDA_Memcpy6_graphId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_MEMSET] = {take_fill, CUDA_Memset4_graphId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_KERNEL] = {take_kernel, CUDA_Kernel10_graphId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_CONCURRENT_KERNEL] = {take_kernel, CUDA_Kernel10_graphId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_DRIVER] = {take_call, CUDA_API_correlationId + 4, CUDA_PASS_FACTS},
    [CUDA_KIND_RUNTIME] = {take_call, CUDA_API_correlationId + 4, CUDA_PASS_FACTS},
    [CUDA_KIND_DEVICE] = {take_device, CUDA_Device5_name + 8, CUDA_PASS_FACTS},
    [CUDA_KIND_CONTEXT] = {take_context, CUDA_Context3_nullStreamId + 2, CUDA_PASS_FACTS},
    [CUDA_KIND_OVERHEAD] = {take_overhead, CUDA_Overhead3_end + 8, CUDA_PASS_WORK},
    [CUDA_KIND_MEMCPY2] = {take_peer_copy, CUDA_MemcpyPtoP4_graphId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_SYNCHRONIZATION] = {take_sync, CUDA_Synchronization2_streamId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_MEMORY2] = {take_memory, CUDA_Memory4_streamId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_MEMORY_POOL] = {take_pool, CUDA_MemoryPool3_timestamp + 8, CUDA_PASS_WORK},
    [CUDA_KIND_GRAPH_TRACE] = {take_graph, CUDA_GraphTrace2_streamId + 4, CUDA_PASS_WORK},
};

static void lose(struct cuda_decoder *decoder, enum cuda_pass pass, enum cuda_loss loss)
{
	decoder->lost[loss] += pass == CUDA_PASS_WORK;
}

static void take(struct cuda_decoder *decoder, const uint8_t *record, size_t rest_b, enum cuda_pass pass)
{
	uint32_t kind = rest_b >= 4 ? cuda_u32(record, 0) : 0;
	size_t size_b = kind < CUDA_KINDS ? decoder->sizes[kind] : 0;
	if (!kind && rest_b >= 4)
		return; /* padding of CUPTI's, of no kind */
	if (rest_b < 4 || (size_b && size_b > rest_b))
		lose(decoder, pass, CUDA_LOSS_CUT);
	else if (!size_b || !kinds[kind].take || size_b < kinds[kind].least_b)
		lose(decoder, pass, CUDA_LOSS_KIND);
	else if (kinds[kind].pass == pass)
		kinds[kind].take(decoder, record, size_b);
}

/* For decoding without CUPTI: the length of the record; if it is unknown, that of the rest of the buffer. */
static size_t length(const struct cuda_decoder *decoder, const uint8_t *record, size_t rest_b)
{
	uint32_t kind = rest_b >= 4 ? cuda_u32(record, 0) : 0;
	size_t size_b = kind < CUDA_KINDS ? decoder->sizes[kind] : 0;
	return size_b && size_b <= rest_b ? size_b : rest_b;
}

void cuda_decode(struct cuda_decoder *decoder, uint8_t *bytes, size_t size_b, enum cuda_pass pass, cuda_next *next)
{
	void *record = NULL;
	if (next) {
		while (!next(bytes, size_b, &record) && record)
			take(decoder, record, size_b - (size_t)((uint8_t *)record - bytes), pass);
		return;
	}
	for (size_t at = 0; at < size_b; at += length(decoder, bytes + at, size_b - at))
		take(decoder, bytes + at, size_b - at, pass);
}
