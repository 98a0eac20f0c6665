/* cupti_stand_in.c: a stand-in for CUPTI that reports work with known times, without a device.
 *
 * STAND_IN in the environment selects its behaviour, by comma-separated words:
 *	version=N	the version of it and of its records
 *	busy		another tool has subscribed
 *	fails		all calls fail, as without a driver
 *	dropped=N	reports once that it dropped N records
 *	unknown		some records have an unknown kind
 *	cut		the last record of a buffer is incomplete
 *	copies		copies cannot be reported
 *	uncalled	nobody is called back as calls are entered
 * STAND_IN_LOG names a file for the calls, in their order. Compiled with STAND_IN_PLAIN it has neither a clock that can
 * be set nor cuptiSubscribe_v2(), and tells the time of day.
 *
 * Like the real CUPTI before CUDA 13.3, it has one state for the whole process: there is one subscriber; the callbacks
 * registered last apply to all buffers, including those that other clients gave; a kind is reported as long as any
 * client has enabled it; and after the clock is set again, the first kernel has a time of the old clock.
 */
#include "cupti_stand_in.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/cuda/abi.h"

#define EXPORT __attribute__((visibility("default")))
#define MS UINT64_C(1000000)
#define MANY_NS UINT64_C(20)
#define UNKNOWN_KIND 60
#define UNKNOWN_B 32
#define RECORD_MAX_B 256
#define NEWER_B 16 /* bytes that each kernel's record has more than the known versions of the record */
#define PUT(record, field, value)                                        \
	do {                                                             \
		__typeof__(value) value_ = (value);                      \
		memcpy((record) + CUDA_##field, &value_, sizeof value_); \
	} while (0)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* protects the buffer */
static pthread_mutex_t working = PTHREAD_MUTEX_INITIALIZER; /* records reported together are flushed together */
static uint8_t *buffer;
static size_t buffer_b, filled_b, lost;
static cuda_request *request;
static cuda_complete *complete;
static cuda_clock *clock_of;
static uint8_t is_enabled[CUDA_KINDS];
static const char *subscribed;     /* the subscriber */
static cuda_callback *callback;    /* the subscriber's callback */
static uint8_t is_called[3][1024]; /* by domain and call: 1 = the callback is called */
static int thread_ids, has_stale_time;
static uint32_t context = 1, graph; /* context and graph of kernels; graph 0 = none */

/* --- what it is like ---------------------------------------------------------------------------------------------- */

static const char *word(const char *name)
{
	const char *words = getenv("STAND_IN");
	const char *at = words ? strstr(words, name) : NULL;
	return at ? at + strlen(name) : NULL;
}

static uint32_t version(void)
{
	const char *value = word("version=");
	return value ? (uint32_t)atoi(value) : 130001;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	const char *path = getenv("STAND_IN_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;
	va_list values;
	if (!file)
		return;
	va_start(values, format);
	vfprintf(file, format, values);
	va_end(values);
	fputc('\n', file);
	fclose(file);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns the time in the form that records have. */
static uint64_t told_ns(void)
{
	return clock_of ? clock_of() : now_ns(CLOCK_REALTIME);
}

static size_t record_b(uint32_t kind)
{
	size_t size_b = kind == UNKNOWN_KIND ? UNKNOWN_B : 0;
#define SIZE(name, since, bytes)                              \
	if (kind == CUDA_KIND_##name && version() >= (since)) \
		size_b = (bytes);
	CUDA_SIZES(SIZE)
#undef SIZE
	return size_b + (kind == CUDA_KIND_CONCURRENT_KERNEL && version() > 130100 ? NEWER_B : 0);
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

static void give_back(void)
{
	pthread_mutex_lock(&lock);
	uint8_t *full = buffer;
	size_t full_b = filled_b, size_b = buffer_b;
	buffer = NULL;
	filled_b = 0;
	pthread_mutex_unlock(&lock);
	if (full)
		complete(NULL, 0, full, size_b, full_b);
}

static void put(const uint8_t *record, uint32_t kind)
{
	size_t size_b = record_b(kind), max = 0;
	if (kind != UNKNOWN_KIND && !is_enabled[kind])
		return;
	if (buffer && filled_b + size_b > buffer_b)
		give_back();
	pthread_mutex_lock(&lock);
	if (!buffer) {
		request(&buffer, &buffer_b, &max);
		if (buffer)
			memset(buffer, 0, buffer_b);
	}
	if (buffer)
		memcpy(buffer + filled_b, record, size_b);
	else
		lost++;
	filled_b += buffer ? size_b : 0;
	pthread_mutex_unlock(&lock);
}

static void begin(uint8_t record[RECORD_MAX_B], uint32_t kind)
{
	memset(record, 0, RECORD_MAX_B);
	/* bytes after the known fields must not matter */
	memset(record + record_b(kind), 0xee, RECORD_MAX_B - record_b(kind));
	memcpy(record, &kind, sizeof kind);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static uint32_t own_tid(void)
{
	return thread_ids == CUDA_THREAD_ID_SYSTEM ? (uint32_t)syscall(SYS_gettid) : (uint32_t)pthread_self();
}

/* Reports a device, of which there are two; the second has only memory, and copies from the first. */
static void put_one_device(uint32_t id)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_DEVICE);
	PUT(record, Device5_id, id);
	for (uint8_t i = 0; i < 16; i++)
		record[CUDA_Device5_uuid + i] = (uint8_t)(0x10 * (id + 1) + i);
	PUT(record, Device5_name, (const char *)"Stand-in <G1>");
	PUT(record, Device5_globalMemorySize, UINT64_C(80000000000));
	PUT(record, Device5_globalMemoryBandwidth, UINT64_C(3352320000));
	PUT(record, Device5_computeCapabilityMajor, 9u);
	PUT(record, Device5_coreClockRate, 1980000u);
	PUT(record, Device5_numMultiprocessors, 132u);
	PUT(record, Device5_numThreadsPerWarp, 32u);
	PUT(record, Device5_maxWarpsPerMultiprocessor, 64u);
	PUT(record, Device5_maxBlocksPerMultiprocessor, 32u);
	PUT(record, Device5_maxRegistersPerMultiprocessor, 65536u);
	PUT(record, Device5_maxSharedMemoryPerMultiprocessor, 233472u);
	put(record, CUDA_KIND_DEVICE);
}

static void put_device(void)
{
	uint8_t record[RECORD_MAX_B];
	put_one_device(0);
	put_one_device(1);
	begin(record, CUDA_KIND_CONTEXT);
	PUT(record, Context3_contextId, context);
	PUT(record, Context3_nullStreamId, (uint16_t)7);
	put(record, CUDA_KIND_CONTEXT);
}

static void put_call(uint32_t kind, uint32_t number, uint32_t correlation, uint64_t start_ns, uint64_t end_ns)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, kind);
	PUT(record, API_cbid, number);
	PUT(record, API_start, start_ns);
	PUT(record, API_end, end_ns);
	PUT(record, API_threadId, own_tid());
	PUT(record, API_correlationId, correlation);
	put(record, kind);
}

struct kernel {
	const char *name;
	uint32_t stream, correlation;
	uint64_t start_ns, end_ns;
};

static void put_kernel(const struct kernel *kernel)
{
	uint8_t record[RECORD_MAX_B];
	const uint32_t grid[3] = {64, 2, 1}, block[3] = {256, 1, 1};
	begin(record, CUDA_KIND_CONCURRENT_KERNEL);
	PUT(record, Kernel10_name, kernel->name);
	uint64_t shift_ns = has_stale_time && kernel->start_ns ? now_ns(CLOCK_REALTIME) - told_ns() : 0;
	has_stale_time = 0;
	PUT(record, Kernel10_start, kernel->start_ns + shift_ns);
	PUT(record, Kernel10_end, kernel->end_ns + shift_ns);
	PUT(record, Kernel10_contextId, context);
	PUT(record, Kernel10_streamId, kernel->stream);
	PUT(record, Kernel10_correlationId, kernel->correlation);
	PUT(record, Kernel10_graphId, graph);
	PUT(record, Kernel10_registersPerThread, (uint16_t)40);
	PUT(record, Kernel10_staticSharedMemory, 1024u);
	PUT(record, Kernel10_dynamicSharedMemory, 2048u);
	PUT(record, Kernel10_sharedMemoryExecuted, 65536u);
	memcpy(record + CUDA_Kernel10_gridX, grid, sizeof grid);
	memcpy(record + CUDA_Kernel10_blockX, block, sizeof block);
	put(record, CUDA_KIND_CONCURRENT_KERNEL);
}

struct copy {
	uint8_t kind, from, to;
	uint32_t correlation;
	uint64_t start_ns, end_ns, size_b;
};

static void put_copy(const struct copy *copy)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_MEMCPY);
	PUT(record, Memcpy6_copyKind, copy->kind);
	PUT(record, Memcpy6_srcKind, copy->from);
	PUT(record, Memcpy6_dstKind, copy->to);
	PUT(record, Memcpy6_bytes, copy->size_b);
	PUT(record, Memcpy6_start, copy->start_ns);
	PUT(record, Memcpy6_end, copy->end_ns);
	PUT(record, Memcpy6_contextId, context);
	PUT(record, Memcpy6_streamId, 7u);
	PUT(record, Memcpy6_correlationId, copy->correlation);
	put(record, CUDA_KIND_MEMCPY);
}

static void put_peer_copy(uint64_t start_ns, uint64_t end_ns)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_MEMCPY2);
	PUT(record, MemcpyPtoP4_bytes, UINT64_C(2000000));
	PUT(record, MemcpyPtoP4_start, start_ns);
	PUT(record, MemcpyPtoP4_end, end_ns);
	PUT(record, MemcpyPtoP4_contextId, context);
	PUT(record, MemcpyPtoP4_streamId, 7u);
	PUT(record, MemcpyPtoP4_dstDeviceId, 1u);
	put(record, CUDA_KIND_MEMCPY2);
}

static void put_fill(uint64_t start_ns, uint64_t end_ns)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_MEMSET);
	PUT(record, Memset4_bytes, UINT64_C(512));
	PUT(record, Memset4_start, start_ns);
	PUT(record, Memset4_end, end_ns);
	PUT(record, Memset4_contextId, context);
	PUT(record, Memset4_streamId, 7u);
	PUT(record, Memset4_memoryKind, (uint16_t)3);
	put(record, CUDA_KIND_MEMSET);
}

static void put_memory(uint32_t operation, uint32_t correlation, uint64_t time_ns, uint64_t address, uint64_t size_b)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_MEMORY2);
	PUT(record, Memory4_memoryOperationType, operation);
	PUT(record, Memory4_memoryKind, 3u);
	PUT(record, Memory4_correlationId, correlation);
	PUT(record, Memory4_address, address);
	PUT(record, Memory4_bytes, size_b);
	PUT(record, Memory4_timestamp, time_ns);
	PUT(record, Memory4_contextId, context);
	PUT(record, Memory4_streamId, (uint32_t)CUDA_NO_STREAM);
	put(record, CUDA_KIND_MEMORY2);
}

static void put_sync(uint32_t type, uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_SYNCHRONIZATION);
	PUT(record, Synchronization2_type, type);
	PUT(record, Synchronization2_start, start_ns);
	PUT(record, Synchronization2_end, end_ns);
	PUT(record, Synchronization2_correlationId, 50u);
	PUT(record, Synchronization2_contextId, context);
	PUT(record, Synchronization2_streamId, stream);
	put(record, CUDA_KIND_SYNCHRONIZATION);
}

static void put_overhead(uint64_t start_ns, uint64_t end_ns)
{
	uint8_t record[RECORD_MAX_B];
	begin(record, CUDA_KIND_OVERHEAD);
	PUT(record, Overhead3_overheadKind, 1u << 16);
	PUT(record, Overhead3_objectKind, (uint32_t)CUDA_OBJECT_THREAD);
	memcpy(record + CUDA_Overhead3_objectId + 4, &(uint32_t){own_tid()}, 4);
	PUT(record, Overhead3_start, start_ns);
	PUT(record, Overhead3_end, end_ns);
	put(record, CUDA_KIND_OVERHEAD);
}

static void tell_work(void)
{
	uint64_t base = told_ns();
	uint8_t record[RECORD_MAX_B];
	for (uint32_t i = 0; i < 10; i++)
		put_kernel(&(struct kernel){"_Z5alphaPfi", 7, i + 1, base + (1 + 8 * i) * MS, base + (6 + 8 * i) * MS});
	put_kernel(&(struct kernel){"beta", 13, 20, base + 20 * MS, base + 50 * MS});
	put_kernel(&(struct kernel){"_Z5alphaPfi", 7, 21, 0, 0}); /* it had not ended */
	if (word("unknown")) {
		begin(record, UNKNOWN_KIND);
		put(record, UNKNOWN_KIND);
	}
	put_copy(&(struct copy){1, 1, 3, 31, base + 95 * MS, base + 97 * MS, 4000000});
	put_copy(&(struct copy){2, 3, 2, 32, base + 98 * MS, base + 99 * MS, 1000000});
	put_peer_copy(base + 91 * MS, base + 92 * MS);
	put_fill(base + 93 * MS, base + 94 * MS);
	put_memory(CUDA_MEMORY_ALLOCATION, 0, base, 0x7f0000000000, 1 << 20);
	put_memory(CUDA_MEMORY_RELEASE, 0, base + 99 * MS, 0x7f0000000000, 1 << 20);
	put_sync(CUDA_SYNC_STREAM, 13, base + 80 * MS, base + 100 * MS);
	put_sync(CUDA_SYNC_STREAM_WAIT, 13, base + 70 * MS, base + 71 * MS);
	put_overhead(base + 60 * MS, base + 61 * MS);
	/* Records of calls come after the records of the work that the calls launched, in the same round. */
	for (uint32_t i = 0; i < 10; i++)
		put_call(CUDA_KIND_RUNTIME, 211, i + 1, base + 8 * i * MS, base + 8 * i * MS + MS / 10);
	put_call(CUDA_KIND_RUNTIME, 131, 50, base + 80 * MS, base + 100 * MS);
	put_call(CUDA_KIND_RUNTIME, 9999, 51, base + 2 * MS, base + 3 * MS);
	put_call(CUDA_KIND_DRIVER, 307, 1, base + MS / 100, base + MS / 20);
	if (word("cut")) {
		put_fill(base, base + MS);
		filled_b -= 40;
	}
}

EXPORT void stand_in_work(void)
{
	pthread_mutex_lock(&working);
	if (complete)
		tell_work();
	pthread_mutex_unlock(&working);
}

EXPORT void stand_in_graph(uint32_t count)
{
	pthread_mutex_lock(&working);
	uint64_t at_ns = told_ns();
	graph = 9;
	for (uint32_t i = 0; complete && i < count; i++, at_ns += 3 * MS) {
		put_kernel(&(struct kernel){"first", 7, 100 + i, at_ns + MS, at_ns + 2 * MS});
		put_kernel(&(struct kernel){"second", 7, 100 + i, at_ns + 2 * MS, at_ns + 3 * MS});
		put_call(CUDA_KIND_RUNTIME, 311, 100 + i, at_ns, at_ns + MS / 2);
	}
	graph = 0;
	pthread_mutex_unlock(&working);
}

EXPORT void stand_in_reset(void)
{
	pthread_mutex_lock(&working);
	context++;
	if (complete)
		put_device();
	pthread_mutex_unlock(&working);
}

EXPORT void stand_in_many(uint64_t count)
{
	uint64_t from_ns = told_ns() - MANY_NS * count;
	for (uint64_t i = 0; complete && i < count; i++, from_ns += MANY_NS)
		put_kernel(&(struct kernel){"many", 7, 0, from_ns, from_ns + MANY_NS});
}

static void call_back(int domain, uint32_t call, uint32_t site, uint32_t correlation)
{
	uint8_t data[72];
	memset(data, 0xee, sizeof data);
	memcpy(data + CUDA_CALLBACK_site, &site, sizeof site);
	memcpy(data + CUDA_CALLBACK_correlation, &correlation, sizeof correlation);
	if (callback && is_called[domain][call])
		callback(NULL, (uint32_t)domain, call, data);
}

static void tell_call(int what, uint32_t number, uint32_t correlation, uint64_t dur_ns)
{
	uint64_t now = told_ns();
	if (what == STAND_IN_LAUNCH)
		put_kernel(&(struct kernel){"_Z5gammaf", 7, correlation, now - dur_ns, now});
	else if (what == STAND_IN_COPY)
		put_copy(&(struct copy){1, 1, 3, correlation, now - dur_ns, now, 4096});
	else
		put_memory(CUDA_MEMORY_ALLOCATION, correlation, now, 0x7f0000000000 + ((uint64_t)correlation << 12),
			   4096);
	put_call(CUDA_KIND_RUNTIME, number, correlation, now - dur_ns, now - dur_ns / 2);
}

EXPORT void stand_in_call(int what, uint64_t dur_ns)
{
	static const struct {
		uint32_t run_time, driver;
	} calls[] = {[STAND_IN_LAUNCH] = {211, 307}, [STAND_IN_COPY] = {31, 277}, [STAND_IN_ALLOCATE] = {20, 243}};
	static _Atomic uint32_t correlations = 100000;
	uint32_t correlation = ++correlations;
	call_back(CUDA_DOMAIN_RUNTIME, calls[what].run_time, CUDA_SITE_ENTER, correlation);
	call_back(CUDA_DOMAIN_DRIVER, calls[what].driver, CUDA_SITE_ENTER, correlation);
	pthread_mutex_lock(&working);
	if (complete)
		tell_call(what, calls[what].run_time, correlation, dur_ns);
	pthread_mutex_unlock(&working);
	call_back(CUDA_DOMAIN_DRIVER, calls[what].driver, CUDA_SITE_ENTER + 1, correlation);
	call_back(CUDA_DOMAIN_RUNTIME, calls[what].run_time, CUDA_SITE_ENTER + 1, correlation);
}

/* --- CUPTI's own functions ---------------------------------------------------------------------------------------- */

EXPORT int cuptiGetVersion(uint32_t *out);
EXPORT int cuptiGetResultString(int code, const char **text);
EXPORT int cuptiGetTimestamp(uint64_t *time_ns);
EXPORT int cuptiSubscribe(void **subscriber, cuda_callback *call, void *data);
EXPORT int cuptiSubscribe_v2(void **subscriber, cuda_callback *call, void *data, struct cuda_subscriber_params *params);
EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t call);
EXPORT int cuptiUnsubscribe(void *subscriber);
EXPORT int cuptiSetThreadIdType(int type);
EXPORT int cuptiActivityRegisterTimestampCallback(cuda_clock *clock);
EXPORT int cuptiActivitySetAttribute(int attribute, size_t *value_b, void *value);
EXPORT int cuptiActivityRegisterCallbacks(cuda_request *asks, cuda_complete *completes);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t enable);
EXPORT int cuptiActivityEnableDriverApi(uint32_t call, uint8_t enable);
EXPORT int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid_b, void **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *of, uint32_t stream, size_t *dropped);
EXPORT int cuptiActivityFlushAll(uint32_t flag);

int cuptiGetVersion(uint32_t *out)
{
	*out = version();
	return 0;
}

int cuptiGetResultString(int code, const char **text)
{
	*text = code == 999 ? "CUPTI_ERROR_UNKNOWN" : code == 27 ? "CUPTI_ERROR_NOT_SUPPORTED" : "CUPTI_ERROR";
	return 0;
}

int cuptiGetTimestamp(uint64_t *time_ns)
{
	*time_ns = told_ns();
	return 0;
}

static int subscribe(void **subscriber, cuda_callback *call, const char *name)
{
	say("subscribe %s", name);
	*subscriber = is_enabled;
	if (word("busy") || subscribed)
		return CUDA_ERROR_MULTIPLE_SUBSCRIBERS;
	if (word("fails") || !call)
		return 999;
	subscribed = name;
	callback = call;
	return 0;
}

int cuptiSubscribe(void **subscriber, cuda_callback *call, void *data)
{
	(void)data;
	return subscribe(subscriber, call, "");
}

#ifndef STAND_IN_PLAIN
int cuptiSubscribe_v2(void **subscriber, cuda_callback *call, void *data, struct cuda_subscriber_params *params)
{
	(void)data;
	if (word("busy") || subscribed)
		snprintf(params->old_name, params->old_name_b, "%s",
			 subscribed ? subscribed : "CUPTI for Another Tool");
	return subscribe(subscriber, call, params->name);
}

int cuptiActivityRegisterTimestampCallback(cuda_clock *clock)
{
	say("clock");
	has_stale_time = clock_of != NULL;
	clock_of = clock;
	return 0;
}
#endif

int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t call)
{
	if (word("uncalled") || !subscribed || !subscriber || domain < 1 || domain > 2 || call >= 1024)
		return 1;
	is_called[domain][call] = enable != 0;
	return 0;
}

int cuptiUnsubscribe(void *subscriber)
{
	say("unsubscribe");
	subscribed = NULL;
	callback = NULL;
	memset(is_called, 0, sizeof is_called);
	return !subscriber;
}

int cuptiSetThreadIdType(int type)
{
	say("thread ids %d", type);
	thread_ids = type;
	return 0;
}

int cuptiActivitySetAttribute(int attribute, size_t *value_b, void *value)
{
	say("attribute %d of %zu: %d", attribute, *value_b, *(uint8_t *)value);
	return 0;
}

int cuptiActivityRegisterCallbacks(cuda_request *asks, cuda_complete *completes)
{
	say("callbacks");
	request = asks;
	complete = completes;
	return 0;
}

int cuptiActivityEnable(int kind)
{
	say("enable %d", kind);
	if (kind == CUDA_KIND_MEMCPY && word("copies"))
		return 27;
	is_enabled[kind] = 1;
	if (kind == CUDA_KIND_CONTEXT)
		put_device();
	return 0;
}

int cuptiActivityDisable(int kind)
{
	say("disable %d", kind);
	is_enabled[kind] = 0;
	return 0;
}

int cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t enable)
{
	say("runtime call %u: %d", call, enable);
	return 0;
}

int cuptiActivityEnableDriverApi(uint32_t call, uint8_t enable)
{
	say("driver call %u: %d", call, enable);
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid_b, void **record)
{
	uint32_t kind;
	uint8_t *next = bytes;
	if (*record) {
		memcpy(&kind, *record, sizeof kind);
		next = (uint8_t *)*record + record_b(kind);
	}
	if (next >= bytes + valid_b)
		return 12;
	*record = next;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *of, uint32_t stream, size_t *dropped)
{
	static int is_told;
	const char *value = word("dropped=");
	(void)of;
	(void)stream;
	pthread_mutex_lock(&lock);
	*dropped = lost + (value && !is_told ? (size_t)atoi(value) : 0);
	is_told = 1;
	lost = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	if (flag)
		say("flush %u", flag);
	pthread_mutex_lock(&working);
	if (complete)
		give_back();
	pthread_mutex_unlock(&working);
	return 0;
}
