/* tracing.c: selects what CUPTI traces (cuda/tracing.h).
 *
 * All settings apply to the whole process, so a profiler that follows us would inherit them: kinds that it has not
 * enabled, another type of thread ids. All of that is undone on leaving. The clock is not set, though it could be: if
 * it is set a second time, as the program's own profiler does, the next kernels have times of the previous clock, and
 * that profiler discards them.
 */
#include "inject/cuda/tracing.h"

#include <stdio.h>

#include <sonde/device.h>

#include "inject/cuda/buffers.h"
#include "inject/cuda/stacks.h"

/* The kinds of records to trace. GRAPH_TRACE is not among them, because it would hide the kernels of graphs. */
static const struct {
	int kind;
	enum cuda_level least;
	const char *name;
} kinds[] = {
    {CUDA_KIND_DEVICE, CUDA_LEVEL_KERNELS, "devices"},
    {CUDA_KIND_CONTEXT, CUDA_LEVEL_KERNELS, "contexts"},
    {CUDA_KIND_CONCURRENT_KERNEL, CUDA_LEVEL_KERNELS, "kernels"},
    {CUDA_KIND_MEMCPY, CUDA_LEVEL_KERNELS, "copies"},
    {CUDA_KIND_MEMCPY2, CUDA_LEVEL_KERNELS, "P2P copies"},
    {CUDA_KIND_MEMSET, CUDA_LEVEL_KERNELS, "fills"},
    {CUDA_KIND_MEMORY2, CUDA_LEVEL_KERNELS, "allocations"},
    {CUDA_KIND_MEMORY_POOL, CUDA_LEVEL_KERNELS, "memory pools"},
    {CUDA_KIND_SYNCHRONIZATION, CUDA_LEVEL_KERNELS, "synchronisation"},
    {CUDA_KIND_OVERHEAD, CUDA_LEVEL_KERNELS, "overhead"},
    {CUDA_KIND_RUNTIME, CUDA_LEVEL_API, "runtime calls"},
    {CUDA_KIND_DRIVER, CUDA_LEVEL_FULL, "driver calls"},
};

#define FLUSHES 4 /* maximum */
#define KINDS (sizeof kinds / sizeof *kinds)

/* Frequent calls without effect: a number, and whether it is a driver call. */
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

/* We subscribe to be the only subscriber: callbacks are used for stacks only (cuda/stacks.h). */
static void called(void *context, uint32_t domain, uint32_t id, const void *data)
{
	(void)context;
	(void)id;
	cuda_stacks_called(domain, data);
}

int cuda_tracing_subscribe(struct cuda_tracing *tracing, char *why, size_t why_b)
{
	const struct cuda_library *cupti = tracing->cupti;
	char other[CUDA_SUBSCRIBER_NAME_B] = "";
	struct cuda_subscriber_params params = {
	    .size_b = sizeof params, .name = "sonde", .old_name = other, .old_name_b = sizeof other};
	int code = cupti->cuptiSubscribe_v2 ? cupti->cuptiSubscribe_v2(&tracing->subscriber, called, NULL, &params)
					    : cupti->cuptiSubscribe(&tracing->subscriber, called, NULL);
	other[sizeof other - 1] = '\0';
	if (code == CUDA_ERROR_MULTIPLE_SUBSCRIBERS)
		snprintf(why, why_b, "another tool traces them already: %s", *other ? other : "it has no name");
	else if (code)
		snprintf(why, why_b, "CUPTI cannot be subscribed to: %s (%d)", cuda_library_error(cupti, code), code);
	return code;
}

int cuda_tracing_configure(const struct cuda_tracing *tracing, const struct cuda_tracing_calls *calls, char *why,
			   size_t why_b)
{
	const struct cuda_library *cupti = tracing->cupti;
	const char *failed = "cuptiSetThreadIdType";
	int code = 0;
	if (cupti->cuptiSetThreadIdType)
		code = cupti->cuptiSetThreadIdType(CUDA_THREAD_ID_SYSTEM);
	if (!code) {
		failed = "cuptiActivityRegisterCallbacks";
		code = cupti->cuptiActivityRegisterCallbacks(calls->request, calls->complete);
	}
	if (code)
		snprintf(why, why_b, "%s: %s", failed, cuda_library_error(cupti, code));
	return code;
}

static void set_useless(const struct cuda_tracing *tracing, uint8_t is_told)
{
	const struct cuda_library *cupti = tracing->cupti;
	for (size_t i = 0; tracing->level >= CUDA_LEVEL_API && i < sizeof useless / sizeof *useless; i++) {
		if (!useless[i].is_driver && cupti->cuptiActivityEnableRuntimeApi)
			cupti->cuptiActivityEnableRuntimeApi(useless[i].call, is_told);
		if (useless[i].is_driver && tracing->level >= CUDA_LEVEL_FULL && cupti->cuptiActivityEnableDriverApi)
			cupti->cuptiActivityEnableDriverApi(useless[i].call, is_told);
	}
}

void cuda_tracing_enable(const struct cuda_tracing *tracing)
{
	const struct cuda_library *cupti = tracing->cupti;
	for (size_t i = 0; i < KINDS; i++) {
		int code = kinds[i].least <= tracing->level ? cupti->cuptiActivityEnable(kinds[i].kind) : 0;
		char cause[256];
		if (!code)
			continue;
		snprintf(cause, sizeof cause, "CUDA: processes of which %s are not recorded: %s (%d)", kinds[i].name,
			 cuda_library_error(cupti, code), code);
		sonde_activity_lost(cause, 1);
	}
	set_useless(tracing, 0);
	if (tracing->level >= CUDA_LEVEL_FULL)
		cuda_stacks_enable(cupti, tracing->subscriber);
}

/* A call that is enabled individually is traced even without its kind: so kinds are disabled last. */
void cuda_tracing_leave(const struct cuda_tracing *tracing)
{
	const struct cuda_library *cupti = tracing->cupti;
	set_useless(tracing, 1);
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].least <= tracing->level)
			cupti->cuptiActivityDisable(kinds[i].kind);
	/* A call in progress when its kind was disabled may take one more buffer. */
	for (int i = 0; i < FLUSHES && (!i || cuda_buffers_lent()); i++)
		cupti->cuptiActivityFlushAll(CUDA_FLUSH_FORCED);
	if (cupti->cuptiSetThreadIdType)
		cupti->cuptiSetThreadIdType(CUDA_THREAD_ID_USUAL);
	cupti->cuptiUnsubscribe(tracing->subscriber);
}
