/* cuda_decode.c: CUPTI's records into activities of devices (cuda_decode.h).
 *
 * Fields are read by their places (cuda_abi.h), after a look at how long the record is. A kernel's record does not say
 * who launched it, or when: the record of the call does, which has the same correlation. Calls are kept for that, the
 * newest 65536 by their correlation; it counts up, so that a new one takes the place of one long gone.
 */
#include "inject/cuda_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cuda_abi.h"
#include "inject/cuda_intern.h"

#define CALLS 65536u
#define OPERATIONS_MAX (1u << 17)
#define QUEUES_MAX (1u << 14)
#define DEVICES_MAX 256u
#define CONTEXTS_MAX (1u << 12)

/* Of bounded size: a context's default stream is what is kept of it. */
struct call {
	uint32_t correlation, tid;
	uint64_t start_ns;
};

enum loss { LOSS_CUT, LOSS_KIND, LOSS_TIMES, LOSS_MANY, LOSSES };

static const char *const losses[LOSSES] = {
    [LOSS_CUT] = "CUDA: records that were cut off",
    [LOSS_KIND] = "CUDA: records of kinds that are not known here",
    [LOSS_TIMES] = "CUDA: work whose times are not known: it had not ended",
    [LOSS_MANY] = "CUDA: too many kernels, launch configurations or streams",
};

struct cuda_decoder {
	const struct cuda_out *out;
	uint64_t shift_ns;
	uint64_t lost[LOSSES];
	uint32_t sizes[CUDA_KINDS];
	struct cuda_table devices, contexts, queues, operations;
	struct cuda_names names;
	struct call calls[CALLS];
};

/* --- fields ------------------------------------------------------------------------------------------------------- */

static uint8_t u8(const uint8_t *record, size_t at)
{
	return record[at];
}

static uint16_t u16(const uint8_t *record, size_t at)
{
	uint16_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static uint32_t u32(const uint8_t *record, size_t at)
{
	uint32_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static uint64_t u64(const uint8_t *record, size_t at)
{
	uint64_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static const char *text(const uint8_t *record, size_t at)
{
	const char *value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static uint64_t moment(const struct cuda_decoder *decoder, uint64_t time_ns)
{
	return time_ns ? time_ns + decoder->shift_ns : 0;
}

/* --- devices, queues, operations ---------------------------------------------------------------------------------- */

/* Gives a place of a table back that could not be used: it is the key's own, and the last that was taken. */
static uint32_t settle(struct cuda_table *table, uint64_t *number, uint32_t id)
{
	*number = id;
	table->count -= !id;
	return id;
}

/* A device that nobody has told of is known by its number alone. */
static uint32_t device_of(struct cuda_decoder *decoder, uint32_t index, const struct sonde_device_info *info)
{
	const struct sonde_device_info unknown = {.api = "CUDA", .kind = SONDE_DEVICE_GPU, .index = index};
	uint64_t *number = cuda_table_of(&decoder->devices, &(uint64_t){index});
	if (!number)
		return 0;
	return *number ? (uint32_t)*number
		       : settle(&decoder->devices, number, decoder->out->device(info ? info : &unknown));
}

/* The number of a context's default stream, + 1; 0 = not known. */
static uint64_t default_stream(struct cuda_decoder *decoder, uint32_t context)
{
	uint64_t *number = cuda_table_of(&decoder->contexts, &(uint64_t){context});
	if (number && !*number)
		settle(&decoder->contexts, number, 0);
	return number ? *number : 0;
}

static uint32_t queue_of(struct cuda_decoder *decoder, uint32_t device, uint32_t context, uint32_t stream)
{
	const uint64_t key[2] = {device, (uint64_t)context << 32 | stream};
	uint64_t *number = cuda_table_of(&decoder->queues, key);
	if (!number || *number)
		return number ? (uint32_t)*number : 0;
	int is_default = default_stream(decoder, context) == (uint64_t)stream + 1;
	struct sonde_queue_info info = {
	    .device = device_of(decoder, device, NULL),
	    .flags = is_default ? SONDE_QUEUE_DEFAULT : 0,
	    .context = context,
	    .handle = stream,
	    .name = is_default ? "default stream" : NULL,
	};
	return settle(&decoder->queues, number, decoder->out->queue(&info));
}

/* All of an operation but its name, which is known by its number. */
struct operation {
	uint32_t kind, name;
	uint32_t grid[3], block[3];
	uint32_t registers, local_b, static_shared_b, dynamic_shared_b, shared_unit_b;
	uint32_t memory; /* from, and to × 256 */
};
_Static_assert(sizeof(struct operation) == 7 * sizeof(uint64_t), "a key of words");

static uint32_t add_operation(struct cuda_decoder *decoder, const struct operation *operation)
{
	struct sonde_operation_info info = {
	    .kind = operation->kind,
	    .name = cuda_name_text(&decoder->names, operation->name),
	    .registers = operation->registers,
	    .local_b = operation->local_b,
	    .static_shared_b = operation->static_shared_b,
	    .dynamic_shared_b = operation->dynamic_shared_b,
	    .shared_unit_b = operation->shared_unit_b,
	    .from = (uint8_t)operation->memory,
	    .to = (uint8_t)(operation->memory >> 8),
	};
	memcpy(info.grid, operation->grid, sizeof info.grid);
	memcpy(info.block, operation->block, sizeof info.block);
	return decoder->out->operation(&info);
}

static uint32_t operation_of(struct cuda_decoder *decoder, const struct operation *operation)
{
	uint64_t key[7];
	memcpy(key, operation, sizeof key);
	uint64_t *number = cuda_table_of(&decoder->operations, key);
	if (!number)
		return 0;
	return *number ? (uint32_t)*number : settle(&decoder->operations, number, add_operation(decoder, operation));
}

static uint32_t named(struct cuda_decoder *decoder, uint32_t kind, const char *name, uint32_t from, uint32_t to)
{
	struct operation operation = {
	    .kind = kind, .name = cuda_name_of(&decoder->names, name), .memory = from | to << 8};
	return operation_of(decoder, &operation);
}

/* --- activities --------------------------------------------------------------------------------------------------- */

static const struct call *call_of(const struct cuda_decoder *decoder, uint32_t correlation)
{
	const struct call *call = &decoder->calls[correlation % CALLS];
	return correlation && call->correlation == correlation ? call : NULL;
}

static void tell(struct cuda_decoder *decoder, const struct sonde_activity *activity)
{
	if (!activity->start_ns || activity->end_ns < activity->start_ns)
		decoder->lost[LOSS_TIMES]++;
	else if (!activity->operation)
		decoder->lost[LOSS_MANY]++;
	else
		decoder->out->activity(activity); /* what finds no room is counted where that is seen */
}

/* Of a device: in a queue, by whoever called for it. */
static void tell_work(struct cuda_decoder *decoder, struct sonde_activity *activity, const uint8_t *record,
		      size_t device_at)
{
	const struct call *call = call_of(decoder, (uint32_t)activity->correlation);
	activity->queue =
	    queue_of(decoder, u32(record, device_at), u32(record, device_at + 4), u32(record, device_at + 8));
	activity->tid = call ? call->tid : SONDE_TID_UNKNOWN;
	activity->queued_ns = call && call->start_ns <= activity->start_ns ? call->start_ns : 0;
	if (!activity->queue)
		activity->operation = 0;
	tell(decoder, activity);
}

/* Of the host: in the thread that called. */
static void tell_host(struct cuda_decoder *decoder, struct sonde_activity *activity)
{
	const struct call *call = call_of(decoder, (uint32_t)activity->correlation);
	if (!activity->tid)
		activity->tid = call ? call->tid : SONDE_TID_UNKNOWN;
	tell(decoder, activity);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static void take_kernel(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	struct operation operation = {
	    .kind = SONDE_OPERATION_KERNEL,
	    .name = cuda_name_of(&decoder->names, text(record, CUDA_Kernel10_name)),
	    .registers = u16(record, CUDA_Kernel10_registersPerThread),
	    .local_b = u32(record, CUDA_Kernel10_localMemoryPerThread),
	    .static_shared_b = u32(record, CUDA_Kernel10_staticSharedMemory),
	    .dynamic_shared_b = u32(record, CUDA_Kernel10_dynamicSharedMemory),
	    .shared_unit_b = u32(record, CUDA_Kernel10_sharedMemoryExecuted),
	};
	(void)size_b;
	memcpy(operation.grid, record + CUDA_Kernel10_gridX, sizeof operation.grid);
	memcpy(operation.block, record + CUDA_Kernel10_blockX, sizeof operation.block);
	struct sonde_activity activity = {
	    .operation = operation_of(decoder, &operation),
	    .start_ns = moment(decoder, u64(record, CUDA_Kernel10_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_Kernel10_end)),
	    .submitted_ns = moment(decoder, u64(record, CUDA_Kernel10_submitted)),
	    .correlation = u32(record, CUDA_Kernel10_correlationId),
	};
	tell_work(decoder, &activity, record, CUDA_Kernel10_deviceId);
}

/* CUPTI's kinds of memory; its static ones are 6 and 7. */
static uint32_t memory_kind(uint32_t kind)
{
	static const uint8_t kinds[] = {SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_PINNED,
					SONDE_MEMORY_DEVICE,  SONDE_MEMORY_ARRAY,    SONDE_MEMORY_MANAGED,
					SONDE_MEMORY_DEVICE,  SONDE_MEMORY_MANAGED};
	return kind < sizeof kinds ? kinds[kind] : SONDE_MEMORY_UNKNOWN;
}

/* CUPTI's kinds of copies, from 0 on: which way, where the kinds of memory are not told. */
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
    {"copy between devices", SONDE_MEMORY_DEVICE, SONDE_MEMORY_PEER},
};

static void take_copy(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t kind = u8(record, CUDA_Memcpy6_copyKind);
	uint32_t from = memory_kind(u8(record, CUDA_Memcpy6_srcKind));
	uint32_t to = memory_kind(u8(record, CUDA_Memcpy6_dstKind));
	(void)size_b;
	if (kind >= sizeof copies / sizeof *copies)
		kind = 0;
	struct sonde_activity activity = {
	    .operation = named(decoder, SONDE_OPERATION_COPY, copies[kind].name, from ? from : copies[kind].from,
			       to ? to : copies[kind].to),
	    .start_ns = moment(decoder, u64(record, CUDA_Memcpy6_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_Memcpy6_end)),
	    .correlation = u32(record, CUDA_Memcpy6_correlationId),
	    .size_b = u64(record, CUDA_Memcpy6_bytes),
	};
	tell_work(decoder, &activity, record, CUDA_Memcpy6_deviceId);
}

static void take_peer_copy(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t device = u32(record, CUDA_MemcpyPtoP4_deviceId);
	uint32_t source = u32(record, CUDA_MemcpyPtoP4_srcDeviceId), to = u32(record, CUDA_MemcpyPtoP4_dstDeviceId);
	int is_read = device == to && source != to;
	char name[64];
	(void)size_b;
	snprintf(name, sizeof name, "copy device %u to device %u", source, to);
	struct sonde_activity activity = {
	    .operation = named(decoder, SONDE_OPERATION_COPY, name, is_read ? SONDE_MEMORY_PEER : SONDE_MEMORY_DEVICE,
			       is_read || source == to ? SONDE_MEMORY_DEVICE : SONDE_MEMORY_PEER),
	    .start_ns = moment(decoder, u64(record, CUDA_MemcpyPtoP4_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_MemcpyPtoP4_end)),
	    .correlation = u32(record, CUDA_MemcpyPtoP4_correlationId),
	    .size_b = u64(record, CUDA_MemcpyPtoP4_bytes),
	};
	tell_work(decoder, &activity, record, CUDA_MemcpyPtoP4_deviceId);
}

static void take_fill(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t to = memory_kind(u16(record, CUDA_Memset4_memoryKind));
	(void)size_b;
	struct sonde_activity activity = {
	    .operation = named(decoder, SONDE_OPERATION_FILL, "fill", SONDE_MEMORY_UNKNOWN, to),
	    .start_ns = moment(decoder, u64(record, CUDA_Memset4_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_Memset4_end)),
	    .correlation = u32(record, CUDA_Memset4_correlationId),
	    .size_b = u64(record, CUDA_Memset4_bytes),
	};
	tell_work(decoder, &activity, record, CUDA_Memset4_deviceId);
}

static void take_graph(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	char name[32];
	(void)size_b;
	snprintf(name, sizeof name, "graph %u", u32(record, CUDA_GraphTrace2_graphId));
	struct sonde_activity activity = {
	    .operation = named(decoder, SONDE_OPERATION_GRAPH, name, 0, 0),
	    .start_ns = moment(decoder, u64(record, CUDA_GraphTrace2_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_GraphTrace2_end)),
	    .correlation = u32(record, CUDA_GraphTrace2_correlationId),
	    .queue = queue_of(decoder, u32(record, CUDA_GraphTrace2_deviceId), u32(record, CUDA_GraphTrace2_contextId),
			      u32(record, CUDA_GraphTrace2_streamId)),
	};
	const struct call *call = call_of(decoder, (uint32_t)activity.correlation);
	activity.tid = call ? call->tid : SONDE_TID_UNKNOWN;
	activity.queued_ns = call && call->start_ns <= activity.start_ns ? call->start_ns : 0;
	if (!activity.queue)
		activity.operation = 0;
	tell(decoder, &activity);
}

/* The queue tells whose memory it is; where no stream is told, the context's default one. */
static uint32_t memory_queue(struct cuda_decoder *decoder, const uint8_t *record)
{
	uint32_t context = u32(record, CUDA_Memory4_contextId), stream = u32(record, CUDA_Memory4_streamId);
	uint64_t usual = stream == (uint32_t)CUDA_NO_STREAM ? default_stream(decoder, context) : 0;
	if (stream == (uint32_t)CUDA_NO_STREAM && !usual)
		return 0;
	return queue_of(decoder, u32(record, CUDA_Memory4_deviceId), context, usual ? (uint32_t)usual - 1 : stream);
}

static void take_memory(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const char *const names[] = {"memory",        "pageable memory", "pinned memory",
					    "device memory", "array memory",    "managed memory"};
	uint32_t type = u32(record, CUDA_Memory4_memoryOperationType);
	uint32_t kind = memory_kind(u32(record, CUDA_Memory4_memoryKind));
	(void)size_b;
	if (type != CUDA_MEMORY_ALLOCATION && type != CUDA_MEMORY_RELEASE) {
		decoder->lost[LOSS_KIND]++;
		return;
	}
	uint64_t time_ns = moment(decoder, u64(record, CUDA_Memory4_timestamp));
	struct sonde_activity activity = {
	    .operation = named(decoder, type == CUDA_MEMORY_ALLOCATION ? SONDE_OPERATION_ALLOC : SONDE_OPERATION_FREE,
			       names[kind], 0, kind),
	    .queue = memory_queue(decoder, record),
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .correlation = u32(record, CUDA_Memory4_correlationId),
	    .size_b = u64(record, CUDA_Memory4_bytes),
	    .address = u64(record, CUDA_Memory4_address),
	};
	tell_host(decoder, &activity);
}

/* A pool's memory is not counted as allocated here: what is taken from it is told by records of its own. */
static void take_pool(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const char *const names[] = {[CUDA_POOL_CREATED] = "memory pool created",
					    [CUDA_POOL_DESTROYED] = "memory pool destroyed",
					    [CUDA_POOL_TRIMMED] = "memory pool trimmed"};
	uint32_t type = u32(record, CUDA_MemoryPool3_memoryPoolOperationType);
	uint64_t time_ns = moment(decoder, u64(record, CUDA_MemoryPool3_timestamp));
	(void)size_b;
	if (type >= sizeof names / sizeof *names || !names[type]) {
		decoder->lost[LOSS_KIND]++;
		return;
	}
	struct sonde_activity activity = {
	    .operation = named(decoder, SONDE_OPERATION_API, names[type], 0, 0),
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .correlation = u32(record, CUDA_MemoryPool3_correlationId),
	    .size_b = u64(record, CUDA_MemoryPool3_size),
	    .address = u64(record, CUDA_MemoryPool3_address),
	};
	tell_host(decoder, &activity);
}

/* A stream that waits for an event holds nobody up: that call is one as others are. */
static void take_sync(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	static const char *const names[] = {
	    "synchronize", [CUDA_SYNC_EVENT] = "event synchronize", [CUDA_SYNC_STREAM_WAIT] = "stream waits for event",
	    [CUDA_SYNC_STREAM] = "stream synchronize", [CUDA_SYNC_CONTEXT] = "context synchronize"};
	uint32_t type = u32(record, CUDA_Synchronization2_type);
	uint32_t kind = type == CUDA_SYNC_STREAM_WAIT ? SONDE_OPERATION_API : SONDE_OPERATION_SYNC;
	(void)size_b;
	struct sonde_activity activity = {
	    .operation = named(decoder, kind, names[type < sizeof names / sizeof *names ? type : 0], 0, 0),
	    .start_ns = moment(decoder, u64(record, CUDA_Synchronization2_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_Synchronization2_end)),
	    .correlation = u32(record, CUDA_Synchronization2_correlationId),
	};
	tell_host(decoder, &activity);
}

/* CUPTI's own numbers begin at 65536. */
static const char *overhead_name(uint32_t kind)
{
	static const char *const driver[] = {"overhead", "compiling for the device"};
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
	    .operation =
		named(decoder, SONDE_OPERATION_OVERHEAD, overhead_name(u32(record, CUDA_Overhead3_overheadKind)), 0, 0),
	    .start_ns = moment(decoder, u64(record, CUDA_Overhead3_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_Overhead3_end)),
	};
	if (u32(record, CUDA_Overhead3_objectKind) == CUDA_OBJECT_THREAD)
		activity.tid = u32(record, CUDA_Overhead3_objectId + 4);
	if (size_b >= CUDA_Overhead3_correlationId + 4)
		activity.correlation = u32(record, CUDA_Overhead3_correlationId);
	tell_host(decoder, &activity);
}

/* Calls within calls have one correlation: whoever asked began first. */
static void keep_call(struct cuda_decoder *decoder, const struct sonde_activity *activity)
{
	struct call *call = &decoder->calls[activity->correlation % CALLS];
	if (activity->correlation && activity->start_ns &&
	    (call->correlation != activity->correlation || activity->start_ns < call->start_ns))
		*call = (struct call){(uint32_t)activity->correlation, activity->tid, activity->start_ns};
}

static void take_call(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint32_t number = u32(record, CUDA_API_cbid);
	int is_driver = u32(record, 0) == CUDA_KIND_DRIVER;
	const char *name = cuda_call_name(is_driver, number);
	char other[48];
	(void)size_b;
	snprintf(other, sizeof other, is_driver ? "cuda driver call %u" : "cuda call %u", number);
	struct sonde_activity activity = {
	    .operation = named(decoder, SONDE_OPERATION_API, name ? name : other, 0, 0),
	    .tid = u32(record, CUDA_API_threadId),
	    .start_ns = moment(decoder, u64(record, CUDA_API_start)),
	    .end_ns = moment(decoder, u64(record, CUDA_API_end)),
	    .correlation = u32(record, CUDA_API_correlationId),
	};
	keep_call(decoder, &activity);
	tell_host(decoder, &activity);
}

static void take_device(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint8_t id[16];
	char uuid[48];
	memcpy(id, record + CUDA_Device5_uuid, sizeof id);
	(void)size_b;
	snprintf(uuid, sizeof uuid, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
		 id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
		 id[15]);
	struct sonde_device_info info = {
	    .api = "CUDA",
	    .name = text(record, CUDA_Device5_name),
	    .uuid = uuid,
	    .kind = SONDE_DEVICE_GPU,
	    .index = u32(record, CUDA_Device5_id),
	    .units = u32(record, CUDA_Device5_numMultiprocessors),
	    .clock_mhz = u32(record, CUDA_Device5_coreClockRate) / 1000,
	    .memory_b = u64(record, CUDA_Device5_globalMemorySize),
	    .warp = u32(record, CUDA_Device5_numThreadsPerWarp),
	    .warps_unit = u32(record, CUDA_Device5_maxWarpsPerMultiprocessor),
	    .blocks_unit = u32(record, CUDA_Device5_maxBlocksPerMultiprocessor),
	    .registers_unit = u32(record, CUDA_Device5_maxRegistersPerMultiprocessor),
	    .shared_unit_b = u32(record, CUDA_Device5_maxSharedMemoryPerMultiprocessor),
	};
	device_of(decoder, info.index, &info);
}

static void take_context(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b)
{
	uint64_t *number = cuda_table_of(&decoder->contexts, &(uint64_t){u32(record, CUDA_Context3_contextId)});
	(void)size_b;
	if (number)
		*number = (uint64_t)u16(record, CUDA_Context3_nullStreamId) + 1;
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

/* `least_b`: what is read of it without a look. */
static const struct {
	void (*take)(struct cuda_decoder *decoder, const uint8_t *record, size_t size_b);
	uint16_t least_b;
	uint8_t pass;
} kinds[CUDA_KINDS] = {
    [CUDA_KIND_MEMCPY] = {take_copy, CUDA_Memcpy6_correlationId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_MEMSET] = {take_fill, CUDA_Memset4_memoryKind + 2, CUDA_PASS_WORK},
    [CUDA_KIND_KERNEL] = {take_kernel, CUDA_Kernel10_sharedMemoryExecuted + 4, CUDA_PASS_WORK},
    [CUDA_KIND_CONCURRENT_KERNEL] = {take_kernel, CUDA_Kernel10_sharedMemoryExecuted + 4, CUDA_PASS_WORK},
    [CUDA_KIND_DRIVER] = {take_call, CUDA_API_correlationId + 4, CUDA_PASS_FACTS},
    [CUDA_KIND_RUNTIME] = {take_call, CUDA_API_correlationId + 4, CUDA_PASS_FACTS},
    [CUDA_KIND_DEVICE] = {take_device, CUDA_Device5_name + 8, CUDA_PASS_FACTS},
    [CUDA_KIND_CONTEXT] = {take_context, CUDA_Context3_nullStreamId + 2, CUDA_PASS_FACTS},
    [CUDA_KIND_OVERHEAD] = {take_overhead, CUDA_Overhead3_end + 8, CUDA_PASS_WORK},
    [CUDA_KIND_MEMCPY2] = {take_peer_copy, CUDA_MemcpyPtoP4_correlationId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_SYNCHRONIZATION] = {take_sync, CUDA_Synchronization2_correlationId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_MEMORY2] = {take_memory, CUDA_Memory4_streamId + 4, CUDA_PASS_WORK},
    [CUDA_KIND_MEMORY_POOL] = {take_pool, CUDA_MemoryPool3_timestamp + 8, CUDA_PASS_WORK},
    [CUDA_KIND_GRAPH_TRACE] = {take_graph, CUDA_GraphTrace2_streamId + 4, CUDA_PASS_WORK},
};

static void lose(struct cuda_decoder *decoder, enum cuda_pass pass, enum loss loss)
{
	decoder->lost[loss] += pass == CUDA_PASS_WORK;
}

static void take(struct cuda_decoder *decoder, const uint8_t *record, size_t rest_b, enum cuda_pass pass)
{
	uint32_t kind = rest_b >= 4 ? u32(record, 0) : 0;
	size_t size_b = kind < CUDA_KINDS ? decoder->sizes[kind] : 0;
	if (!kind && rest_b >= 4)
		return; /* CUPTI's own, of no kind */
	if (rest_b < 4 || (size_b && size_b > rest_b))
		lose(decoder, pass, LOSS_CUT);
	else if (!size_b || !kinds[kind].take || size_b < kinds[kind].least_b)
		lose(decoder, pass, LOSS_KIND);
	else if (kinds[kind].pass == pass)
		kinds[kind].take(decoder, record, size_b);
}

/* Without CUPTI: the length of the record, or all that is left where that is not known. */
static size_t length(const struct cuda_decoder *decoder, const uint8_t *record, size_t rest_b)
{
	uint32_t kind = rest_b >= 4 ? u32(record, 0) : 0;
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

void cuda_decoder_settle(struct cuda_decoder *decoder)
{
	for (int i = 0; i < LOSSES; i++) {
		if (decoder->lost[i])
			decoder->out->lost(losses[i], decoder->lost[i]);
		decoder->lost[i] = 0;
	}
}

void cuda_decoder_shift(struct cuda_decoder *decoder, int64_t shift_ns)
{
	decoder->shift_ns = (uint64_t)shift_ns;
}

struct cuda_decoder *cuda_decoder_new(const struct cuda_out *out, uint32_t version)
{
	struct cuda_decoder *decoder = calloc(1, sizeof *decoder);
	if (!decoder)
		return NULL;
	decoder->out = out;
	for (uint32_t kind = 0; kind < CUDA_KINDS; kind++)
		decoder->sizes[kind] = (uint32_t)cuda_record_b(version, kind);
	decoder->devices = (struct cuda_table){.key_words = 1, .max = DEVICES_MAX};
	decoder->contexts = (struct cuda_table){.key_words = 1, .max = CONTEXTS_MAX};
	decoder->queues = (struct cuda_table){.key_words = 2, .max = QUEUES_MAX};
	decoder->operations = (struct cuda_table){.key_words = 7, .max = OPERATIONS_MAX};
	return decoder;
}

void cuda_decoder_free(struct cuda_decoder *decoder)
{
	if (!decoder)
		return;
	cuda_table_fini(&decoder->devices);
	cuda_table_fini(&decoder->contexts);
	cuda_table_fini(&decoder->queues);
	cuda_table_fini(&decoder->operations);
	cuda_names_fini(&decoder->names);
	free(decoder);
}
