/* test_cuda_abi.c: our declarations of CUPTI equal those of its headers: numbers, offsets and sizes of fields,
 * functions.
 *
 * Nearly everything is checked by the compiler. The headers are those of one version, including the structures of older
 * versions that it still has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <cupti.h>

#include "inject/cuda/abi.h"
#include "inject/cuda/decode.h"

#define FIELD(record, name, place, size_b)                                                                \
	_Static_assert(offsetof(CUpti_Activity##record, name) == (place), #record "." #name " is there"); \
	_Static_assert(sizeof((CUpti_Activity##record *)0)->name == (size_b), #record "." #name " is so long");
CUDA_FIELDS(FIELD)
#undef FIELD

/* The three dimensions of grids and blocks are read at once. */
_Static_assert(offsetof(CUpti_ActivityKernel10, gridZ) == CUDA_Kernel10_gridX + 8, "grid");
_Static_assert(offsetof(CUpti_ActivityKernel10, blockZ) == CUDA_Kernel10_blockX + 8, "block");
/* and device, context, stream */
_Static_assert(offsetof(CUpti_ActivityMemset4, streamId) == CUDA_Memset4_deviceId + 8, "stream");
_Static_assert(offsetof(CUpti_ActivityKernel10, streamId) == CUDA_Kernel10_deviceId + 8, "stream");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, streamId) == CUDA_Memcpy6_deviceId + 8, "stream");
_Static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, streamId) == CUDA_MemcpyPtoP4_deviceId + 8, "stream");

/* The pool that memory is of is a structure within its record. */
#define POOL(name, place, size_b)                                                                         \
	_Static_assert(offsetof(CUpti_ActivityMemory4, memoryPoolConfig.name) == (place), "pool " #name); \
	_Static_assert(sizeof((CUpti_ActivityMemory4 *)0)->memoryPoolConfig.name == (size_b), "pool " #name);
POOL(memoryPoolType, CUDA_Memory4_poolType, 4)
POOL(address, CUDA_Memory4_poolAddress, 8)
POOL(pool.size, CUDA_Memory4_poolSize, 8)

/* Fields of earlier records are where later ones have them. */
#define SAME(early, late, name)                                                                       \
	_Static_assert(offsetof(CUpti_Activity##early, name) == offsetof(CUpti_Activity##late, name), \
		       #early "." #name " has stayed");
SAME(Kernel9, Kernel10, name)
SAME(Kernel9, Kernel10, sharedMemoryExecuted)
SAME(Memcpy5, Memcpy6, correlationId)
SAME(Memory3, Memory4, streamId)
SAME(Memory3, Memory4, memoryPoolConfig)
SAME(MemoryPool2, MemoryPool3, timestamp)
SAME(Synchronization, Synchronization2, correlationId)
SAME(Synchronization, Synchronization2, streamId)
SAME(Device4, Device5, name)
SAME(Context, Context3, nullStreamId)
SAME(Overhead, Overhead3, end)
SAME(Overhead2, Overhead3, correlationId)
SAME(GraphTrace, GraphTrace2, streamId)

#define KIND(name) _Static_assert((int)CUDA_KIND_##name == (int)CUPTI_ACTIVITY_KIND_##name, #name);
KIND(MEMCPY)
KIND(MEMSET)
KIND(KERNEL)
KIND(DRIVER)
KIND(RUNTIME)
KIND(DEVICE)
KIND(CONTEXT)
KIND(CONCURRENT_KERNEL)
KIND(OVERHEAD)
KIND(MEMCPY2)
KIND(SYNCHRONIZATION)
KIND(MEMORY2)
KIND(MEMORY_POOL)
KIND(GRAPH_TRACE)

#define VALUE(ours, theirs) _Static_assert((uint32_t)(ours) == (uint32_t)(theirs), #theirs);
VALUE(CUDA_NO_STREAM, CUPTI_INVALID_STREAM_ID)
VALUE(CUDA_NO_STREAM, CUPTI_SYNCHRONIZATION_INVALID_VALUE)
VALUE(CUDA_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD)
VALUE(CUDA_MEMORY_ALLOCATION, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION)
VALUE(CUDA_MEMORY_RELEASE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
VALUE(CUDA_POOL_CREATED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED)
VALUE(CUDA_POOL_DESTROYED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED)
VALUE(CUDA_POOL_TRIMMED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED)
VALUE(CUDA_POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
VALUE(CUDA_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE)
VALUE(CUDA_SYNC_STREAM_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT)
VALUE(CUDA_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE)
VALUE(CUDA_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE)
VALUE(CUDA_THREAD_ID_USUAL, CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT)
VALUE(CUDA_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
VALUE(CUDA_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
VALUE(CUDA_ERROR_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
VALUE(CUDA_SUBSCRIBER_NAME_B, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN)
VALUE(CUDA_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API)
VALUE(CUDA_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API)
VALUE(CUDA_SITE_ENTER, CUPTI_API_ENTER)
VALUE(CUDA_CALLBACK_site, offsetof(CUpti_CallbackData, callbackSite))
VALUE(CUDA_CALLBACK_correlation, offsetof(CUpti_CallbackData, correlationId))
VALUE(4, sizeof((CUpti_CallbackData *)0)->correlationId)
VALUE(sizeof(struct cuda_subscriber_params), sizeof(CUpti_SubscriberParams))
VALUE(offsetof(struct cuda_subscriber_params, old_name), offsetof(CUpti_SubscriberParams, oldSubscriberName))
/* Kinds of memory and of copies are the places of tables (cuda_decode.c). */
VALUE(SONDE_MEMORY_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
VALUE(SONDE_MEMORY_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED)
VALUE(SONDE_MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)
VALUE(SONDE_MEMORY_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY)
VALUE(SONDE_MEMORY_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED)
VALUE(6, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC)
VALUE(7, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC)
VALUE(1, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
VALUE(2, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
VALUE(3, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA)
VALUE(4, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH)
VALUE(5, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA)
VALUE(6, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD)
VALUE(7, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA)
VALUE(8, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
VALUE(9, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH)
VALUE(10, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)

#define SONDE_CUDA_RUNTIME(number, name, version) \
	_Static_assert(CUPTI_RUNTIME_TRACE_CBID_##name##version == (number), #name);
#define SONDE_CUDA_DRIVER(number, name, version) \
	_Static_assert(CUPTI_DRIVER_TRACE_CBID_##name##version == (number), #name);
#include "inject/cuda/calls.def"
#undef SONDE_CUDA_RUNTIME
#undef SONDE_CUDA_DRIVER

static void records_are_as_long(void **state)
{
	(void)state;
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_CONCURRENT_KERNEL), sizeof(CUpti_ActivityKernel10));
	assert_int_equal(cuda_record_b(CUDA_12_9, CUDA_KIND_CONCURRENT_KERNEL), sizeof(CUpti_ActivityKernel9));
	assert_int_equal(cuda_record_b(CUDA_12_8, CUDA_KIND_MEMCPY), sizeof(CUpti_ActivityMemcpy6));
	assert_int_equal(cuda_record_b(CUDA_12_6, CUDA_KIND_MEMCPY), sizeof(CUpti_ActivityMemcpy5));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_MEMCPY2), sizeof(CUpti_ActivityMemcpyPtoP4));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_MEMSET), sizeof(CUpti_ActivityMemset4));
	assert_int_equal(cuda_record_b(CUDA_12_6, CUDA_KIND_MEMORY2), sizeof(CUpti_ActivityMemory4));
	assert_int_equal(cuda_record_b(CUDA_12_4, CUDA_KIND_MEMORY2), sizeof(CUpti_ActivityMemory3));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_MEMORY_POOL), sizeof(CUpti_ActivityMemoryPool3));
	assert_int_equal(cuda_record_b(CUDA_12_9, CUDA_KIND_MEMORY_POOL), sizeof(CUpti_ActivityMemoryPool2));
	assert_int_equal(cuda_record_b(CUDA_12_8, CUDA_KIND_SYNCHRONIZATION), sizeof(CUpti_ActivitySynchronization2));
	assert_int_equal(cuda_record_b(CUDA_12_6, CUDA_KIND_SYNCHRONIZATION), sizeof(CUpti_ActivitySynchronization));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_RUNTIME), sizeof(CUpti_ActivityAPI));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_DEVICE), sizeof(CUpti_ActivityDevice5));
	assert_int_equal(cuda_record_b(CUDA_12_0, CUDA_KIND_DEVICE), sizeof(CUpti_ActivityDevice4));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_CONTEXT), sizeof(CUpti_ActivityContext3));
	assert_int_equal(cuda_record_b(CUDA_12_4, CUDA_KIND_CONTEXT), sizeof(CUpti_ActivityContext2));
	assert_int_equal(cuda_record_b(CUDA_12_2, CUDA_KIND_CONTEXT), sizeof(CUpti_ActivityContext));
	assert_int_equal(cuda_record_b(CUDA_12_4, CUDA_KIND_OVERHEAD), sizeof(CUpti_ActivityOverhead3));
	assert_int_equal(cuda_record_b(CUDA_12_2, CUDA_KIND_OVERHEAD), sizeof(CUpti_ActivityOverhead2));
	assert_int_equal(cuda_record_b(CUDA_12_0, CUDA_KIND_OVERHEAD), sizeof(CUpti_ActivityOverhead));
	assert_int_equal(cuda_record_b(CUDA_13_0, CUDA_KIND_GRAPH_TRACE), sizeof(CUpti_ActivityGraphTrace2));
	assert_int_equal(cuda_record_b(CUDA_12_0, CUDA_KIND_GRAPH_TRACE), sizeof(CUpti_ActivityGraphTrace));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(records_are_as_long)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
