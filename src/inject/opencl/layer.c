/* layer.c: the layer's interface to the OpenCL loader, and code shared by all hooks (opencl/opencl.h).
 *
 * OPENCL_LAYERS names us; without SONDE_GPU (the level: kernels, api, full) nothing is hooked. Once recording has
 * ended, calls are only forwarded. Level `full` is `api` plus the stacks of calls that enqueue or allocate.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/opencl/opencl.h"

#define LAYER_NAME "sonde"

#define EXPORT __attribute__((visibility("default")))

const struct _cl_icd_dispatch *opencl_next;
static struct _cl_icd_dispatch ours;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static int is_of_host, is_full;
static _Atomic uint64_t correlation = UINT64_C(1) << 32; /* the last one; CUDA's, in the same process, are smaller */
static _Atomic uint32_t generation = 1;                  /* of processes: changes in a forked child */
static _Thread_local struct {
	uint32_t tid, generation;
} self;

void opencl_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void opencl_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

int opencl_is_of_host(void)
{
	return is_of_host && sonde_is_on();
}

uint32_t opencl_tid(void)
{
	if (self.generation != generation) {
		self.tid = (uint32_t)syscall(SYS_gettid);
		self.generation = generation;
	}
	return self.tid;
}

uint64_t opencl_correlation(void)
{
	return ++correlation;
}

void opencl_stack(uint64_t of)
{
	if (is_full && of)
		sonde_call_stack(of);
}

uint64_t opencl_host_begin(void)
{
	return opencl_is_of_host() ? sonde_clock_now_ns() : 0;
}

void opencl_host_end(const struct opencl_host *host)
{
	if (!host->from_ns || !opencl_is_of_host())
		return;
	uint64_t of = host->correlation, end_ns = sonde_clock_now_ns();
	if (is_full && host->kind == SONDE_OPERATION_ALLOC && !of)
		opencl_stack(of = opencl_correlation());
	sonde_activity_add(&(struct sonde_activity){
	    .operation = opencl_operation(
		&(struct sonde_operation_info){.kind = host->kind, .name = host->call, .to = host->to}),
	    .queue = host->queue,
	    .start_ns = host->from_ns,
	    .end_ns = end_ns,
	    .correlation = of,
	    .size_b = host->size_b,
	    .address = host->address,
	});
}

/* --- processes --------------------------------------------------------------------------------------------------- */

static void at_exit(void)
{
	opencl_look(NULL);
	opencl_commands_end();
}

/* Handlers that are registered later run earlier. Drivers have registered theirs before, so they are still usable when
 * ours runs. */
static void register_exit(void)
{
	atexit(at_exit);
}

void opencl_at_exit(void)
{
	pthread_once(&exit_once, register_exit);
}

/* The parent's numbers are not valid in a child, and its commands are not the child's. */
static void in_child(void)
{
	pthread_mutex_init(&mutex, NULL);
	generation++;
	opencl_operations_forget();
	opencl_devices_forget();
	opencl_queues_forget();
	opencl_commands_forget();
}

/* --- the loader -------------------------------------------------------------------------------------------------- */

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t out_b, void *out, size_t *out_b_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value = what == CL_LAYER_API_VERSION ? (const void *)&version : LAYER_NAME;
	size_t value_b = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(LAYER_NAME);
	if ((what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) || (out && out_b < value_b))
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, value_b);
	if (out_b_ret)
		*out_b_ret = value_b;
	return CL_SUCCESS;
}

static void fill(void)
{
	static void (*const fills[])(struct _cl_icd_dispatch *) = {
	    opencl_calls_fill,  opencl_kernels_fill,  opencl_shared_fill, opencl_queues_fill,
	    opencl_memory_fill, opencl_programs_fill, opencl_waits_fill,
	};
	for (size_t i = 0; i < sizeof(fills) / sizeof(*fills); i++)
		fills[i](&ours);
}

/* Functions that the loader or driver lacks remain NULL. */
static void leave_out_missing(void)
{
	void **mine = (void **)&ours;
	void *const *theirs = (void *const *)opencl_next;
	for (size_t i = 0; i < sizeof(ours) / sizeof(*mine); i++)
		if (!theirs[i])
			mine[i] = NULL;
}

/* Keeps the loader and its tables loaded as long as we are: events are queried and released even after the program has
 * closed the loader. */
static void keep_loader(const void *inside)
{
	Dl_info loader;
	if (dladdr(inside, &loader) && loader.dli_fname)
		dlopen(loader.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The loader calls this once, before anything else of ours. */
EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *next, cl_uint *count_ret,
						   const cl_icd_dispatch **ret)
{
	const char *level = secure_getenv("SONDE_GPU");
	if (!next || !count_ret || !ret || count < sizeof(ours) / sizeof(void *) || opencl_next)
		return CL_INVALID_VALUE;
	opencl_next = next;
	is_of_host = level && strcmp(level, "kernels") != 0;
	is_full = level && !strcmp(level, "full");
	if (level && *level) {
		fill();
		leave_out_missing();
		keep_loader(__builtin_return_address(0));
		pthread_atfork(NULL, NULL, in_child);
	}
	*ret = &ours;
	*count_ret = sizeof(ours) / sizeof(void *);
	return CL_SUCCESS;
}
