/* stacks.h: where calls were that launch, copy, fill or allocate. Any thread of the program. */
#ifndef SONDE_INJECT_CUDA_STACKS_H
#define SONDE_INJECT_CUDA_STACKS_H

#include <stdint.h>

#include "inject/cuda/library.h"

/* Has CUPTI call its subscriber as it enters such calls. If it cannot, that is told as lost (sonde/device.h). */
void cuda_stacks_enable(const struct cuda_library *cupti, void *subscriber);
/* A callback of CUPTI's. */
void cuda_stacks_called(uint32_t domain, const void *data);

#endif
