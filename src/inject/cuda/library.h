/* library.h: loads CUPTI at run time. */
#ifndef SONDE_INJECT_CUDA_LIBRARY_H
#define SONDE_INJECT_CUDA_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "inject/cuda/abi.h"

struct cuda_library {
	uint32_t version;
#define CUDA_CALL(name, arguments, need) int(*name) arguments;
	CUDA_CALLS(CUDA_CALL) /* NULL: an OPTIONAL function that this version lacks */
#undef CUDA_CALL
};

/* Loads the copy that the process has mapped, or one found by the loader, or one in CUDA's usual directories. 0, or -1
 * with the reason in `why`. It stays loaded. */
int cuda_library_load(struct cuda_library *out, char *why, size_t why_b);
/* CUPTI's text for an error; static. */
const char *cuda_library_error(const struct cuda_library *library, int code);

#endif
