/* library.h: CUPTI, loaded while the program runs. */
#ifndef SONDE_INJECT_CUDA_LIBRARY_H
#define SONDE_INJECT_CUDA_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "inject/cuda/abi.h"

struct cuda_library {
	uint32_t version;
#define CUDA_CALL(name, arguments, need) int(*name) arguments;
	CUDA_CALLS(CUDA_CALL) /* NULL: this version has none, where it is OPTIONAL */
#undef CUDA_CALL
};

/* The copy that the process has mapped, else one that the loader finds, else CUDA's own places. 0, or -1 with the
 * reason in `why`. It stays loaded. */
int cuda_library_load(struct cuda_library *out, char *why, size_t why_b);
/* What CUPTI calls an error; static. */
const char *cuda_library_error(const struct cuda_library *library, int code);

#endif
