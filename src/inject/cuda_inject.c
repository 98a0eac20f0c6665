/* cuda_inject.c: what the CUDA driver loads by CUDA_INJECTION64_PATH: has CUPTI tell what devices do, and says it on.
 *
 * A thread of ours asks for finished records every 200 ms, decodes them and tells them (cuda_decode.h); CUPTI's
 * callbacks, in threads of the program, only hand buffers over. No lock of ours is held in a call of CUPTI, and nothing
 * here waits for a device. At exit that thread has CUPTI give out what is left; the program waits for it, but not for
 * ever. Whatever fails is said in the recording, and the program goes on as without us. A forked child has no CUDA, so
 * nothing is done there.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <sonde/device.h>

#include "format/link.h"
#include "inject/cuda_buffers.h"
#include "inject/cuda_decode.h"
#include "inject/cuda_library.h"

#define ROUND_NS UINT64_C(200000000)
#define EXIT_WAIT_NS UINT64_C(10000000000)
#define NS_PER_S UINT64_C(1000000000)

enum level { LEVEL_KERNELS, LEVEL_API, LEVEL_FULL };

static const struct cuda_out told = {sonde_device_add, sonde_queue_add, sonde_operation_add, sonde_activity_add,
				     sonde_activity_lost};
static struct cuda_library cupti;
static struct cuda_decoder *decoder; /* our thread's */
static void *subscriber;
static pid_t home; /* the process that all this belongs to */
static _Atomic uint32_t begun;
static int has_own_clock; /* CUPTI asks us for the time */

/* Between our thread and who ends the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int is_ending, has_ended;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* What is not recorded of this process, and why. */
static int give_way(const char *why)
{
	char cause[256];
	snprintf(cause, sizeof cause, "CUDA: processes whose devices are not recorded: %s", why);
	sonde_activity_lost(cause, 1);
	return 1;
}

/* --- in threads of the program ------------------------------------------------------------------------------------ */

static void request(uint8_t **buffer, size_t *size_b, size_t *max_records)
{
	*buffer = cuda_buffers_give(size_b, cupti.version >= CUDA_12_9);
	*max_records = 0; /* as many as there is room for */
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size_b, size_t valid_b)
{
	(void)context;
	(void)stream;
	(void)size_b;
	cuda_buffers_full(buffer, valid_b);
}

/* Subscribed for the sake of being the one who is: nothing is called back. */
static void called(void *context, uint32_t domain, uint32_t id, const void *data)
{
	(void)context;
	(void)domain;
	(void)id;
	(void)data;
}

/* --- our thread --------------------------------------------------------------------------------------------------- */

/* From CUPTI's clock to ours, where that cannot be set: it is read between two looks at ours, the closest of some. */
static void calibrate(void)
{
	uint64_t best_ns = UINT64_MAX;
	int64_t shift_ns = 0;
	for (int i = 0; i < 8; i++) {
		uint64_t before = now_ns(), theirs = 0;
		int code = cupti.cuptiGetTimestamp(&theirs);
		uint64_t after = now_ns();
		if (code || after - before >= best_ns)
			continue;
		best_ns = after - before;
		shift_ns = (int64_t)(before + best_ns / 2 - theirs);
	}
	cuda_decoder_shift(decoder, shift_ns);
}

/* How many buffers were full. */
static size_t decode_round(void)
{
	static uint32_t full[CUDA_BUFFERS_ALL];
	size_t count = cuda_buffers_take(full, CUDA_BUFFERS_ALL);
	for (int pass = 0; pass < CUDA_PASSES; pass++)
		for (size_t i = 0; i < count; i++) {
			size_t valid_b;
			uint8_t *bytes = cuda_buffers_bytes(full[i], &valid_b);
			cuda_decode(decoder, bytes, valid_b, (enum cuda_pass)pass, cupti.cuptiActivityGetNextRecord);
		}
	for (size_t i = 0; i < count; i++)
		cuda_buffers_free(full[i]);
	cuda_decoder_settle(decoder);
	return count;
}

static void flush_round(uint32_t flag)
{
	size_t dropped = 0;
	cupti.cuptiActivityFlushAll(flag);
	if (!has_own_clock)
		calibrate();
	decode_round();
	if (!cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) && dropped)
		sonde_activity_lost("CUDA: records that CUPTI dropped: no buffer was left", dropped);
}

/* Whether the process ends. */
static int rest(void)
{
	uint64_t until_ns = now_ns() + ROUND_NS;
	struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
	pthread_mutex_lock(&lock);
	int code = 0;
	while (!is_ending && !code)
		code = pthread_cond_timedwait(&changed, &lock, &until);
	int ends = is_ending;
	pthread_mutex_unlock(&lock);
	return ends;
}

static void *loop(void *unused)
{
	prctl(PR_SET_NAME, "sonde-cuda");
	while (!rest())
		flush_round(0);
	flush_round(CUDA_FLUSH_FORCED);
	while (decode_round()) /* what threads that go on have filled meanwhile */
		;
	pthread_mutex_lock(&lock);
	has_ended = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void end(void)
{
	uint64_t until_ns = now_ns() + EXIT_WAIT_NS;
	struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
	if (home != getpid())
		return;
	pthread_mutex_lock(&lock);
	is_ending = 1;
	pthread_cond_broadcast(&changed);
	int code = 0;
	while (!has_ended && !code)
		code = pthread_cond_timedwait(&changed, &lock, &until);
	pthread_mutex_unlock(&lock);
	if (code)
		sonde_activity_lost("CUDA: processes whose last records did not come in time at their end", 1);
}

static int start_thread(void)
{
	pthread_condattr_t clock;
	pthread_t thread;
	sigset_t all, before;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &clock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int code = pthread_create(&thread, NULL, loop, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!code)
		pthread_detach(thread);
	return code;
}

/* --- setting up --------------------------------------------------------------------------------------------------- */

static enum level level_asked(void)
{
	const char *level = secure_getenv("SONDE_GPU");
	if (level && !strcmp(level, "kernels"))
		return LEVEL_KERNELS;
	return level && !strcmp(level, "full") ? LEVEL_FULL : LEVEL_API;
}

/* Before anything else: only one can have the device's records. */
static int subscribe(char *why, size_t why_b)
{
	char other[CUDA_SUBSCRIBER_NAME_B] = "";
	struct cuda_subscriber_params params = {
	    .size_b = sizeof params, .name = "sonde", .old_name = other, .old_name_b = sizeof other};
	int code = cupti.cuptiSubscribe_v2 ? cupti.cuptiSubscribe_v2(&subscriber, called, NULL, &params)
					   : cupti.cuptiSubscribe(&subscriber, called, NULL);
	other[sizeof other - 1] = '\0';
	if (code == CUDA_ERROR_MULTIPLE_SUBSCRIBERS)
		snprintf(why, why_b, "another tool traces them already: %s", *other ? other : "it has no name");
	else if (code)
		snprintf(why, why_b, "CUPTI cannot be subscribed to: %s (%d)", cuda_library_error(&cupti, code), code);
	return code;
}

/* 0, or the name of the call that failed, with its code. */
static const char *configure(int *code)
{
	uint8_t yes = 1;
	size_t yes_b = sizeof yes;
	has_own_clock =
	    cupti.cuptiActivityRegisterTimestampCallback && !cupti.cuptiActivityRegisterTimestampCallback(now_ns);
	if (cupti.cuptiSetThreadIdType && (*code = cupti.cuptiSetThreadIdType(CUDA_THREAD_ID_SYSTEM)))
		return "cuptiSetThreadIdType";
	/* That buffers are zeroed only saves CUPTI doing it again. */
	cupti.cuptiActivitySetAttribute(CUDA_ATTRIBUTE_ZEROED, &yes_b, &yes);
	*code = cupti.cuptiActivityRegisterCallbacks(request, complete);
	return *code ? "cuptiActivityRegisterCallbacks" : NULL;
}

/* GRAPH_TRACE is left out: it hides the kernels of graphs. */
static const struct {
	int kind;
	enum level least;
	const char *name;
} kinds[] = {
    {CUDA_KIND_DEVICE, LEVEL_KERNELS, "devices"},
    {CUDA_KIND_CONTEXT, LEVEL_KERNELS, "contexts"},
    {CUDA_KIND_CONCURRENT_KERNEL, LEVEL_KERNELS, "kernels"},
    {CUDA_KIND_MEMCPY, LEVEL_KERNELS, "copies"},
    {CUDA_KIND_MEMCPY2, LEVEL_KERNELS, "copies between devices"},
    {CUDA_KIND_MEMSET, LEVEL_KERNELS, "fills"},
    {CUDA_KIND_MEMORY2, LEVEL_KERNELS, "allocations"},
    {CUDA_KIND_MEMORY_POOL, LEVEL_KERNELS, "memory pools"},
    {CUDA_KIND_SYNCHRONIZATION, LEVEL_KERNELS, "synchronisation"},
    {CUDA_KIND_OVERHEAD, LEVEL_KERNELS, "overhead"},
    {CUDA_KIND_RUNTIME, LEVEL_API, "calls of the run time"},
    {CUDA_KIND_DRIVER, LEVEL_FULL, "calls of the driver"},
};

/* Calls that are made again and again and do nothing: a number, and whether it is the driver's. */
static const struct {
	uint16_t call;
	uint8_t is_driver;
} useless[] = {
    {10, 0},  /* cudaGetLastError */
    {11, 0},  /* cudaPeekAtLastError */
    {16, 0},  /* cudaSetDevice */
    {17, 0},  /* cudaGetDevice */
    {304, 1}, /* cuCtxGetCurrent */
    {392, 1}, /* cuDevicePrimaryCtxGetState */
    {686, 1}, /* cuKernelGetAttribute */
};

static void enable(enum level level)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int code = kinds[i].least <= level ? cupti.cuptiActivityEnable(kinds[i].kind) : 0;
		char cause[256];
		if (!code)
			continue;
		snprintf(cause, sizeof cause, "CUDA: processes of which %s are not recorded: %s (%d)", kinds[i].name,
			 cuda_library_error(&cupti, code), code);
		sonde_activity_lost(cause, 1);
	}
	for (size_t i = 0; level >= LEVEL_API && i < sizeof useless / sizeof *useless; i++) {
		if (!useless[i].is_driver && cupti.cuptiActivityEnableRuntimeApi)
			cupti.cuptiActivityEnableRuntimeApi(useless[i].call, 0);
		if (useless[i].is_driver && level >= LEVEL_FULL && cupti.cuptiActivityEnableDriverApi)
			cupti.cuptiActivityEnableDriverApi(useless[i].call, 0);
	}
}

static int set_up(void)
{
	char why[200];
	int code = 0;
	if (cuda_library_load(&cupti, why, sizeof why))
		return give_way(why);
	if (subscribe(why, sizeof why))
		return give_way(why);
	decoder = cuda_decoder_new(&told, cupti.version);
	const char *failed = decoder ? configure(&code) : "no memory";
	if (!failed && start_thread())
		failed = "no thread could be begun";
	if (failed) {
		snprintf(why, sizeof why, "%s%s%s", failed, code ? ": " : "",
			 code ? cuda_library_error(&cupti, code) : "");
		cupti.cuptiUnsubscribe(subscriber);
		return give_way(why);
	}
	enable(level_asked());
	atexit(end);
	return 1;
}

/* Called by the driver as it is initialised, once a process; 1: all is well, which it is for the program anyway. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	int saved = errno;
	if (atomic_exchange(&begun, 1))
		return 1;
	home = getpid();
	if (secure_getenv(SONDE_LINK_ENV)) /* else there is nobody to tell */
		set_up();
	errno = saved;
	return 1;
}
