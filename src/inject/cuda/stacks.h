/* stacks.h: records the stacks of calls that launch, copy, fill or allocate. For any thread of the program. */
#ifndef SONDE_INJECT_CUDA_STACKS_H
#define SONDE_INJECT_CUDA_STACKS_H

#include <stdint.h>

#include "inject/cuda/library.h"

/* Makes CUPTI call its subscriber on entry to calls that launch, copy, fill or allocate. A failure is reported as lost
 * (sonde/device.h). */
void cuda_stacks_enable(const struct cuda_library *cupti, void *subscriber);
/* Callback for CUPTI. */
void cuda_stacks_called(uint32_t domain, const void *data);

#endif
