/* abi.h: the part of CUPTI that we use (CUDA 12.0 to 13.0): numbers, offsets of record fields, functions.
 *
 * It is declared here so that building needs no CUDA; if its headers are installed, tests/unit/device/test_cuda_abi.c
 * compares everything with them. The length of a record depends on the runtime's version: later versions only append
 * fields. So a field has one offset, and is present if the record is long enough. Versions newer than we know are read
 * as the newest known.
 */
#ifndef SONDE_INJECT_CUDA_ABI_H
#define SONDE_INJECT_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* --- versions, as reported by cuptiGetVersion() ------------------------------------------------------------------- */

enum {
	CUDA_12_0 = 19,
	CUDA_12_2 = 20,
	CUDA_12_4 = 22,
	CUDA_12_6 = 24,
	CUDA_12_8 = 26,
	CUDA_12_9 = 27,
	CUDA_13_0 = 130000,
};

/* --- record kinds ------------------------------------------------------------------------------------------------- */

enum cuda_kind {
	CUDA_KIND_MEMCPY = 1,
	CUDA_KIND_MEMSET = 2,
	CUDA_KIND_KERNEL = 3,
	CUDA_KIND_DRIVER = 4,
	CUDA_KIND_RUNTIME = 5,
	CUDA_KIND_DEVICE = 8,
	CUDA_KIND_CONTEXT = 9,
	CUDA_KIND_CONCURRENT_KERNEL = 10,
	CUDA_KIND_OVERHEAD = 17,
	CUDA_KIND_MEMCPY2 = 22, /* P2P copy */
	CUDA_KIND_SYNCHRONIZATION = 38,
	CUDA_KIND_MEMORY2 = 49,
	CUDA_KIND_MEMORY_POOL = 50,
	CUDA_KIND_GRAPH_TRACE = 51,
	CUDA_KINDS = 64, /* all known kinds are smaller */
};

/* Length of a record, from a version on: SIZE(kind, version, bytes). */
#define CUDA_SIZES(SIZE)                        \
	SIZE(MEMCPY, CUDA_12_0, 88)             \
	SIZE(MEMCPY, CUDA_12_8, 96)             \
	SIZE(MEMSET, CUDA_12_0, 88)             \
	SIZE(KERNEL, CUDA_12_0, 208)            \
	SIZE(KERNEL, CUDA_13_0, 216)            \
	SIZE(DRIVER, CUDA_12_0, 40)             \
	SIZE(RUNTIME, CUDA_12_0, 40)            \
	SIZE(DEVICE, CUDA_12_0, 176)            \
	SIZE(DEVICE, CUDA_12_8, 184)            \
	SIZE(CONTEXT, CUDA_12_0, 16)            \
	SIZE(CONTEXT, CUDA_12_4, 24)            \
	SIZE(CONTEXT, CUDA_12_8, 32)            \
	SIZE(CONCURRENT_KERNEL, CUDA_12_0, 208) \
	SIZE(CONCURRENT_KERNEL, CUDA_13_0, 216) \
	SIZE(OVERHEAD, CUDA_12_0, 40)           \
	SIZE(OVERHEAD, CUDA_12_2, 48)           \
	SIZE(OVERHEAD, CUDA_12_4, 56)           \
	SIZE(MEMCPY2, CUDA_12_0, 96)            \
	SIZE(SYNCHRONIZATION, CUDA_12_0, 40)    \
	SIZE(SYNCHRONIZATION, CUDA_12_8, 56)    \
	SIZE(MEMORY2, CUDA_12_0, 120)           \
	SIZE(MEMORY2, CUDA_12_6, 128)           \
	SIZE(MEMORY_POOL, CUDA_12_0, 72)        \
	SIZE(MEMORY_POOL, CUDA_13_0, 80)        \
	SIZE(GRAPH_TRACE, CUDA_12_0, 48)        \
	SIZE(GRAPH_TRACE, CUDA_12_4, 56)

/* --- field offsets: FIELD(record, name, offset, bytes) ------------------------------------------------------------ */

#define CUDA_FIELDS(FIELD)                                      \
	FIELD(Kernel10, registersPerThread, 6, 2)               \
	FIELD(Kernel10, start, 16, 8)                           \
	FIELD(Kernel10, end, 24, 8)                             \
	FIELD(Kernel10, deviceId, 40, 4)                        \
	FIELD(Kernel10, contextId, 44, 4)                       \
	FIELD(Kernel10, streamId, 48, 4)                        \
	FIELD(Kernel10, gridX, 52, 4)                           \
	FIELD(Kernel10, blockX, 64, 4)                          \
	FIELD(Kernel10, staticSharedMemory, 76, 4)              \
	FIELD(Kernel10, dynamicSharedMemory, 80, 4)             \
	FIELD(Kernel10, localMemoryPerThread, 84, 4)            \
	FIELD(Kernel10, correlationId, 92, 4)                   \
	FIELD(Kernel10, name, 104, 8)                           \
	FIELD(Kernel10, submitted, 128, 8)                      \
	FIELD(Kernel10, sharedMemoryExecuted, 140, 4)           \
	FIELD(Kernel10, graphId, 156, 4)                        \
	FIELD(Memcpy6, copyKind, 4, 1)                          \
	FIELD(Memcpy6, srcKind, 5, 1)                           \
	FIELD(Memcpy6, dstKind, 6, 1)                           \
	FIELD(Memcpy6, bytes, 8, 8)                             \
	FIELD(Memcpy6, start, 16, 8)                            \
	FIELD(Memcpy6, end, 24, 8)                              \
	FIELD(Memcpy6, deviceId, 32, 4)                         \
	FIELD(Memcpy6, contextId, 36, 4)                        \
	FIELD(Memcpy6, streamId, 40, 4)                         \
	FIELD(Memcpy6, correlationId, 44, 4)                    \
	FIELD(Memcpy6, graphId, 72, 4)                          \
	FIELD(MemcpyPtoP4, bytes, 8, 8)                         \
	FIELD(MemcpyPtoP4, start, 16, 8)                        \
	FIELD(MemcpyPtoP4, end, 24, 8)                          \
	FIELD(MemcpyPtoP4, deviceId, 32, 4)                     \
	FIELD(MemcpyPtoP4, contextId, 36, 4)                    \
	FIELD(MemcpyPtoP4, streamId, 40, 4)                     \
	FIELD(MemcpyPtoP4, srcDeviceId, 44, 4)                  \
	FIELD(MemcpyPtoP4, dstDeviceId, 52, 4)                  \
	FIELD(MemcpyPtoP4, correlationId, 60, 4)                \
	FIELD(MemcpyPtoP4, graphId, 80, 4)                      \
	FIELD(Memset4, bytes, 8, 8)                             \
	FIELD(Memset4, start, 16, 8)                            \
	FIELD(Memset4, end, 24, 8)                              \
	FIELD(Memset4, deviceId, 32, 4)                         \
	FIELD(Memset4, contextId, 36, 4)                        \
	FIELD(Memset4, streamId, 40, 4)                         \
	FIELD(Memset4, correlationId, 44, 4)                    \
	FIELD(Memset4, memoryKind, 50, 2)                       \
	FIELD(Memset4, graphId, 72, 4)                          \
	FIELD(Memory4, memoryOperationType, 4, 4)               \
	FIELD(Memory4, memoryKind, 8, 4)                        \
	FIELD(Memory4, correlationId, 12, 4)                    \
	FIELD(Memory4, address, 16, 8)                          \
	FIELD(Memory4, bytes, 24, 8)                            \
	FIELD(Memory4, timestamp, 32, 8)                        \
	FIELD(Memory4, deviceId, 52, 4)                         \
	FIELD(Memory4, contextId, 56, 4)                        \
	FIELD(Memory4, streamId, 60, 4)                         \
	FIELD(MemoryPool3, memoryPoolOperationType, 4, 4)       \
	FIELD(MemoryPool3, memoryPoolType, 8, 4)                \
	FIELD(MemoryPool3, correlationId, 12, 4)                \
	FIELD(MemoryPool3, deviceId, 20, 4)                     \
	FIELD(MemoryPool3, address, 32, 8)                      \
	FIELD(MemoryPool3, size, 40, 8)                         \
	FIELD(MemoryPool3, timestamp, 56, 8)                    \
	FIELD(Synchronization2, type, 4, 4)                     \
	FIELD(Synchronization2, start, 8, 8)                    \
	FIELD(Synchronization2, end, 16, 8)                     \
	FIELD(Synchronization2, correlationId, 24, 4)           \
	FIELD(Synchronization2, contextId, 28, 4)               \
	FIELD(Synchronization2, streamId, 32, 4)                \
	FIELD(API, cbid, 4, 4)                                  \
	FIELD(API, start, 8, 8)                                 \
	FIELD(API, end, 16, 8)                                  \
	FIELD(API, threadId, 28, 4)                             \
	FIELD(API, correlationId, 32, 4)                        \
	FIELD(Device5, globalMemoryBandwidth, 8, 8)             \
	FIELD(Device5, globalMemorySize, 16, 8)                 \
	FIELD(Device5, numThreadsPerWarp, 32, 4)                \
	FIELD(Device5, coreClockRate, 36, 4)                    \
	FIELD(Device5, numMultiprocessors, 44, 4)               \
	FIELD(Device5, maxWarpsPerMultiprocessor, 52, 4)        \
	FIELD(Device5, maxBlocksPerMultiprocessor, 56, 4)       \
	FIELD(Device5, maxSharedMemoryPerMultiprocessor, 60, 4) \
	FIELD(Device5, maxRegistersPerMultiprocessor, 64, 4)    \
	FIELD(Device5, computeCapabilityMajor, 104, 4)          \
	FIELD(Device5, computeCapabilityMinor, 108, 4)          \
	FIELD(Device5, id, 112, 4)                              \
	FIELD(Device5, uuid, 120, 16)                           \
	FIELD(Device5, name, 136, 8)                            \
	FIELD(Context3, contextId, 4, 4)                        \
	FIELD(Context3, deviceId, 8, 4)                         \
	FIELD(Context3, nullStreamId, 14, 2)                    \
	FIELD(Overhead3, overheadKind, 4, 4)                    \
	FIELD(Overhead3, objectKind, 8, 4)                      \
	FIELD(Overhead3, objectId, 12, 12)                      \
	FIELD(Overhead3, start, 24, 8)                          \
	FIELD(Overhead3, end, 32, 8)                            \
	FIELD(Overhead3, correlationId, 40, 4)                  \
	FIELD(GraphTrace2, correlationId, 4, 4)                 \
	FIELD(GraphTrace2, start, 8, 8)                         \
	FIELD(GraphTrace2, end, 16, 8)                          \
	FIELD(GraphTrace2, deviceId, 24, 4)                     \
	FIELD(GraphTrace2, graphId, 28, 4)                      \
	FIELD(GraphTrace2, contextId, 32, 4)                    \
	FIELD(GraphTrace2, streamId, 36, 4)

enum {
#define CUDA_FIELD(record, name, place, size_b) CUDA_##record##_##name = (place),
	CUDA_FIELDS(CUDA_FIELD)
#undef CUDA_FIELD
	/* in Memory4's nested structure on the pool that the memory is from */
	CUDA_Memory4_poolType = 80,
	CUDA_Memory4_poolAddress = 88,
	CUDA_Memory4_poolSize = 104,
};

/* --- values ------------------------------------------------------------------------------------------------------- */

enum {
	CUDA_NO_STREAM = -1,
	CUDA_OBJECT_THREAD = 2, /* of an overhead record: process and thread are given */
	CUDA_MEMORY_ALLOCATION = 1,
	CUDA_MEMORY_RELEASE = 2,
	CUDA_POOL_CREATED = 1,
	CUDA_POOL_DESTROYED = 2,
	CUDA_POOL_TRIMMED = 3,
	CUDA_POOL_LOCAL = 1, /* belongs to this process */
	CUDA_SYNC_EVENT = 1,
	CUDA_SYNC_STREAM_WAIT = 2, /* a stream waits, not the calling thread */
	CUDA_SYNC_STREAM = 3,
	CUDA_SYNC_CONTEXT = 4,
	CUDA_THREAD_ID_USUAL = 0,  /* like pthread_self() */
	CUDA_THREAD_ID_SYSTEM = 1, /* like gettid() */
	CUDA_FLUSH_FORCED = 1,
	CUDA_ERROR_MULTIPLE_SUBSCRIBERS = 39,
	CUDA_SUBSCRIBER_NAME_B = 64,
	CUDA_DOMAIN_DRIVER = 1,
	CUDA_DOMAIN_RUNTIME = 2,
	CUDA_SITE_ENTER = 0,
	/* Offsets in the data of a callback about a call: 4 bytes each. */
	CUDA_CALLBACK_site = 0,
	CUDA_CALLBACK_correlation = 64,
};

struct cuda_subscriber_params {
	size_t size_b;
	const char *name;
	char *old_name; /* name of the current subscriber */
	size_t old_name_b;
};

/* --- functions ---------------------------------------------------------------------------------------------------- */

typedef void cuda_callback(void *context, uint32_t domain, uint32_t id, const void *data);
typedef uint64_t cuda_clock(void);
typedef void cuda_request(uint8_t **buffer, size_t *size_b, size_t *max_records);
typedef void cuda_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size_b, size_t valid_b);

/* CALL(name, parameters, NEEDED or OPTIONAL): all return 0 or an error. */
#define CUDA_CALLS(CALL)                                                                                               \
	CALL(cuptiGetVersion, (uint32_t * version), NEEDED)                                                            \
	CALL(cuptiGetResultString, (int code, const char **text), NEEDED)                                              \
	CALL(cuptiGetTimestamp, (uint64_t * time_ns), NEEDED)                                                          \
	CALL(cuptiSubscribe, (void **subscriber, cuda_callback *call, void *context), NEEDED)                          \
	CALL(cuptiSubscribe_v2,                                                                                        \
	     (void **subscriber, cuda_callback *call, void *context, struct cuda_subscriber_params *params), OPTIONAL) \
	CALL(cuptiEnableCallback, (uint32_t enable, void *subscriber, int domain, uint32_t call), OPTIONAL)            \
	CALL(cuptiUnsubscribe, (void *subscriber), NEEDED)                                                             \
	CALL(cuptiSetThreadIdType, (int type), OPTIONAL)                                                               \
	CALL(cuptiActivityRegisterTimestampCallback, (cuda_clock * clock), OPTIONAL)                                   \
	CALL(cuptiActivitySetAttribute, (int attribute, size_t *value_b, void *value), NEEDED)                         \
	CALL(cuptiActivityRegisterCallbacks, (cuda_request * request, cuda_complete * complete), NEEDED)               \
	CALL(cuptiActivityEnable, (int kind), NEEDED)                                                                  \
	CALL(cuptiActivityDisable, (int kind), NEEDED)                                                                 \
	CALL(cuptiActivityEnableRuntimeApi, (uint32_t call, uint8_t enable), OPTIONAL)                                 \
	CALL(cuptiActivityEnableDriverApi, (uint32_t call, uint8_t enable), OPTIONAL)                                  \
	CALL(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid_b, void **record), NEEDED)                    \
	CALL(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped), NEEDED)             \
	CALL(cuptiActivityFlushAll, (uint32_t flag), NEEDED)

#endif
