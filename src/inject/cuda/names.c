/* names.c: names of CUDA calls, and lengths of CUPTI's records (cuda/decode.h). */
#include "inject/cuda/abi.h"
#include "inject/cuda/decode.h"

#define SONDE_CUDA_RUNTIME(number, name, version) [number] = #name,
#define SONDE_CUDA_DRIVER(number, name, version)
static const char *const runtime_calls[] = {
#include "inject/cuda/calls.def"
};
#undef SONDE_CUDA_RUNTIME
#undef SONDE_CUDA_DRIVER
#define SONDE_CUDA_RUNTIME(number, name, version)
#define SONDE_CUDA_DRIVER(number, name, version) [number] = #name,
static const char *const driver_calls[] = {
#include "inject/cuda/calls.def"
};
#undef SONDE_CUDA_RUNTIME
#undef SONDE_CUDA_DRIVER

const char *cuda_call_name(int is_driver, uint32_t call)
{
	if (is_driver)
		return call < sizeof driver_calls / sizeof *driver_calls ? driver_calls[call] : NULL;
	return call < sizeof runtime_calls / sizeof *runtime_calls ? runtime_calls[call] : NULL;
}

size_t cuda_record_b(uint32_t version, uint32_t kind)
{
	static const struct {
		uint32_t kind, since, size_b;
	} sizes[] = {
#define CUDA_SIZE(kind, version, size_b) {CUDA_KIND_##kind, version, size_b},
	    CUDA_SIZES(CUDA_SIZE)
#undef CUDA_SIZE
	};
	size_t size_b = 0;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].kind == kind && version >= sizes[i].since)
			size_b = sizes[i].size_b;
	return size_b;
}
