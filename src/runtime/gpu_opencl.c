/* gpu_opencl.c: markers in OpenCL queues and their timestamps (gpu_driver.h). Constants are those of the OpenCL
 * headers. */
#include "runtime/gpu_driver.h"

enum { SUCCESS = 0, COMPLETE = 0 };
enum { QUEUE_PROPERTIES = 0x1093, EVENT_STATUS = 0x11D3, TIME_END = 0x1283 };

#define PROFILING_ENABLE UINT64_C(2)
#define FUNCTION(field) offsetof(struct sonde_gpu_calls, opencl.field)

static const struct sonde_gpu_function functions[] = {
    {FUNCTION(queue_info), "clGetCommandQueueInfo", NULL, 0},
    {FUNCTION(marker), "clEnqueueMarkerWithWaitList", NULL, 0},
    {FUNCTION(event_info), "clGetEventInfo", NULL, 0},
    {FUNCTION(event_times), "clGetEventProfilingInfo", NULL, 0},
    {FUNCTION(wait), "clWaitForEvents", NULL, 0},
    {FUNCTION(release), "clReleaseEvent", NULL, 0},
};

static const char *check(const struct sonde_gpu_calls *calls, void *queue, void **out_context)
{
	uint64_t flags = 0;
	*out_context = NULL;
	if (!queue || calls->opencl.queue_info(queue, QUEUE_PROPERTIES, sizeof flags, &flags, NULL) != SUCCESS)
		return "not an OpenCL queue";
	if (!(flags & PROFILING_ENABLE))
		return "the queue records no times: create it with CL_QUEUE_PROFILING_ENABLE among its properties";
	return NULL;
}

static const char *record(const struct sonde_gpu_calls *calls, void *queue, struct sonde_gpu_mark *mark)
{
	if (calls->opencl.marker(queue, 0, NULL, &mark->event) == SUCCESS)
		return NULL;
	mark->event = NULL;
	return "OpenCL refuses a marker in that queue";
}

static enum sonde_gpu_state state(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark)
{
	int32_t status = 0;
	if (calls->opencl.event_info(mark->event, EVENT_STATUS, sizeof status, &status, NULL) != SUCCESS || status < 0)
		return SONDE_GPU_FAILED;
	return status == COMPLETE ? SONDE_GPU_DONE : SONDE_GPU_NOT_YET;
}

static enum sonde_gpu_state await(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark)
{
	return calls->opencl.wait(1, &mark->event) == SUCCESS ? SONDE_GPU_DONE : SONDE_GPU_FAILED;
}

static enum sonde_gpu_state elapsed(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *begin,
				    const struct sonde_gpu_mark *end, uint64_t *out_ns)
{
	uint64_t from_ns = 0, to_ns = 0;
	if (calls->opencl.event_times(begin->event, TIME_END, sizeof from_ns, &from_ns, NULL) != SUCCESS ||
	    calls->opencl.event_times(end->event, TIME_END, sizeof to_ns, &to_ns, NULL) != SUCCESS || !from_ns ||
	    to_ns < from_ns)
		return SONDE_GPU_FAILED;
	*out_ns = to_ns - from_ns;
	return SONDE_GPU_DONE;
}

static void release(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark)
{
	calls->opencl.release(mark->event);
}

const struct sonde_gpu_driver sonde_gpu_driver_opencl = {
    .soname = "libOpenCL.so.1",
    .missing = "the program has not loaded OpenCL (libOpenCL.so.1), or its version is below 1.2",
    .functions = functions,
    .function_count = sizeof functions / sizeof *functions,
    .check = check,
    .record = record,
    .state = state,
    .wait = await,
    .elapsed = elapsed,
    .release = release,
};
