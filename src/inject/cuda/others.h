/* others.h: notices other profilers in the process before they start to use CUPTI. */
#ifndef SONDE_INJECT_CUDA_OTHERS_H
#define SONDE_INJECT_CUDA_OTHERS_H

#include "inject/cuda/library.h"

/* Called in the thread that is about to use CUPTI, at each such call, before it is forwarded. `who`: the object's file,
 * valid for the call; never one of ours. */
typedef void cuda_others_taking(const char *who);

/* Interposes the calls by which a profiler starts, in objects linked to this CUPTI. Call again for objects loaded since
 * then: cheap if there are none. One thread at a time. `cupti` and `taking` must remain valid. */
void cuda_others_watch(const struct cuda_library *cupti, cuda_others_taking *taking);

#endif
