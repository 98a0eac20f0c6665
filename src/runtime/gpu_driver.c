/* gpu_driver.c: looks up device driver functions among the loaded libraries, and answers immediate queries. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "runtime/gpu_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "sonde/gpu.h"

const struct sonde_gpu_driver *sonde_gpu_driver_of(int api)
{
	return api == SONDE_GPU_CUDA     ? &sonde_gpu_driver_cuda
	       : api == SONDE_GPU_OPENCL ? &sonde_gpu_driver_opencl
					 : NULL;
}

int sonde_gpu_driver_find(const struct sonde_gpu_driver *driver, struct sonde_gpu_calls *out)
{
	struct sonde_gpu_calls calls = {0};
	void *library = dlopen(driver->soname, RTLD_LAZY | RTLD_NOLOAD);
	for (size_t i = 0; i < driver->function_count; i++) {
		const struct sonde_gpu_function *function = &driver->functions[i];
		void *from = library ? library : RTLD_DEFAULT;
		void *symbol = dlsym(from, function->name);
		if (!symbol && function->or_name)
			symbol = dlsym(from, function->or_name);
		if (!symbol && !function->is_optional)
			return 0;
		memcpy((char *)&calls + function->at, &symbol, sizeof symbol);
	}
	*out = calls;
	return 1;
}

static int memory(const struct sonde_gpu_driver *driver, struct sonde_gpu_memory *out)
{
	struct sonde_gpu_calls calls;
	if (!driver || !driver->memory || !sonde_gpu_driver_find(driver, &calls))
		return SONDE_ERR_UNKNOWN;
	uint64_t free_b = 0, total_b = 0;
	int code = driver->memory(&calls, &free_b, &total_b);
	if (code != SONDE_OK)
		return code;
	if (!total_b || free_b > total_b)
		return SONDE_ERR_SYSTEM;
	out->used_b = total_b - free_b;
	out->total_b = total_b;
	out->used = (double)out->used_b / (double)total_b;
	return SONDE_OK;
}

int sonde_gpu_memory_now(int api, struct sonde_gpu_memory *out)
{
	int saved = errno;
	int code = out ? memory(sonde_gpu_driver_of(api), out) : SONDE_ERR_ARGUMENT;
	errno = saved;
	return code;
}
