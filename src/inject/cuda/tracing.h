/* tracing.h: starts CUPTI's tracing, and restores its settings when another profiler takes over. */
#ifndef SONDE_INJECT_CUDA_TRACING_H
#define SONDE_INJECT_CUDA_TRACING_H

#include <stddef.h>
#include <stdint.h>

#include "inject/cuda/library.h"

enum cuda_level { CUDA_LEVEL_KERNELS, CUDA_LEVEL_API, CUDA_LEVEL_FULL };

struct cuda_tracing {
	const struct cuda_library *cupti;
	void *subscriber;
	enum cuda_level level;
};

/* CUPTI's callbacks: for an empty buffer, and with a full one. */
struct cuda_tracing_calls {
	cuda_request *request;
	cuda_complete *complete;
};

/* Subscribes to CUPTI. Call this first: only one subscriber can get the device's records. Returns 0, or an error code
 * with the reason in `why`. */
int cuda_tracing_subscribe(struct cuda_tracing *tracing, char *why, size_t why_b);
/* Does not start tracing yet. 0, or the reason in `why`. */
int cuda_tracing_configure(const struct cuda_tracing *tracing, const struct cuda_tracing_calls *calls, char *why,
			   size_t why_b);
/* Kinds that cannot be traced are reported as lost (sonde/device.h). */
void cuda_tracing_enable(const struct cuda_tracing *tracing);
/* Restores CUPTI's settings; all records up to now are passed to `complete` first. */
void cuda_tracing_leave(const struct cuda_tracing *tracing);

#endif
