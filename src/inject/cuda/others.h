/* others.h: other profilers in the process: that one begins to use CUPTI is seen before CUPTI is asked. */
#ifndef SONDE_INJECT_CUDA_OTHERS_H
#define SONDE_INJECT_CUDA_OTHERS_H

#include "inject/cuda/library.h"

/* Called in whichever thread is about to begin with CUPTI, each time, before the call goes on. `who`: the object's
 * file, valid for the call; it is none of ours. */
typedef void cuda_others_taking(const char *who);

/* Stands in front of the calls by which a profiler begins, in objects that are linked to this CUPTI. To be called again
 * for those that were loaded since: cheap where there are none. One thread at a time. `cupti` and `taking` are to
 * stay. */
void cuda_others_watch(const struct cuda_library *cupti, cuda_others_taking *taking);

#endif
