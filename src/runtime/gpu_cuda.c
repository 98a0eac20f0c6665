/* gpu_cuda.c: timing events of the CUDA driver (gpu_driver.h).
 *
 * Constants are those of the CUDA driver API: results, states and capture modes. While other streams are being
 * captured, events can be recorded and queried only in the relaxed mode, else the capture breaks: so each call here
 * switches its own thread to that mode.
 */
#include "runtime/gpu_driver.h"

#include "sonde/sonde.h"

enum { SUCCESS = 0, INVALID_CONTEXT = 201, NOT_READY = 600 };
enum { CAPTURE_NONE = 0, CAPTURE_RELAXED = 2 };

#define FUNCTION(field) offsetof(struct sonde_gpu_calls, cuda.field)

static const struct sonde_gpu_function functions[] = {
    {FUNCTION(event_create), "cuEventCreate", NULL, 0},
    {FUNCTION(event_record), "cuEventRecord", NULL, 0},
    {FUNCTION(event_query), "cuEventQuery", NULL, 0},
    {FUNCTION(event_synchronize), "cuEventSynchronize", NULL, 0},
    {FUNCTION(event_elapsed), "cuEventElapsedTime", "cuEventElapsedTime_v2", 0},
    {FUNCTION(event_destroy), "cuEventDestroy_v2", "cuEventDestroy", 0},
    {FUNCTION(context_current), "cuCtxGetCurrent", NULL, 0},
    {FUNCTION(memory), "cuMemGetInfo_v2", "cuMemGetInfo", 1},
    {FUNCTION(is_capturing), "cuStreamIsCapturing", NULL, 1},
    {FUNCTION(capture_mode), "cuThreadExchangeStreamCaptureMode", NULL, 1},
};

static int mode_exchange(const struct sonde_gpu_calls *calls, int mode)
{
	if (calls->cuda.capture_mode && calls->cuda.capture_mode(&mode) != SUCCESS)
		return CAPTURE_RELAXED;
	return mode;
}

static const char *check(const struct sonde_gpu_calls *calls, void *stream, void **out_context)
{
	int status = CAPTURE_NONE;
	if (calls->cuda.context_current(out_context) != SUCCESS || !*out_context)
		return "no CUDA context is current in this thread: make the stream's context current";
	if (calls->cuda.is_capturing && calls->cuda.is_capturing(stream, &status) != SUCCESS)
		return "the driver does not say whether the stream is being captured: it may be a graph, or no stream";
	if (status != CAPTURE_NONE)
		return "the stream is being captured into a graph: time the launch of the graph";
	return NULL;
}

static const char *record(const struct sonde_gpu_calls *calls, void *stream, struct sonde_gpu_mark *mark)
{
	int before = mode_exchange(calls, CAPTURE_RELAXED), is_new = !mark->event;
	int code = is_new ? calls->cuda.event_create(&mark->event, 0) : SUCCESS;
	if (code != SUCCESS)
		mark->event = NULL;
	else
		code = calls->cuda.event_record(mark->event, stream);
	if (code != SUCCESS && is_new && mark->event)
		calls->cuda.event_destroy(mark->event);
	if (code != SUCCESS) /* a reused event may belong to a destroyed context: leave it alone */
		mark->event = NULL;
	mode_exchange(calls, before);
	return code == SUCCESS ? NULL
			       : "the driver refuses an event in that stream: does it belong to the current context?";
}

static enum sonde_gpu_state state_of(int code)
{
	if (code == SUCCESS)
		return SONDE_GPU_DONE;
	return code == NOT_READY || code == INVALID_CONTEXT ? SONDE_GPU_NOT_YET : SONDE_GPU_FAILED;
}

static enum sonde_gpu_state state(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark)
{
	int before = mode_exchange(calls, CAPTURE_RELAXED);
	int code = calls->cuda.event_query(mark->event);
	mode_exchange(calls, before);
	return state_of(code);
}

static enum sonde_gpu_state await(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark)
{
	int before = mode_exchange(calls, CAPTURE_RELAXED);
	int code = calls->cuda.event_synchronize(mark->event);
	mode_exchange(calls, before);
	return state_of(code);
}

static enum sonde_gpu_state elapsed(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *begin,
				    const struct sonde_gpu_mark *end, uint64_t *out_ns)
{
	float ms = 0;
	enum sonde_gpu_state state = state_of(calls->cuda.event_elapsed(&ms, begin->event, end->event));
	if (state == SONDE_GPU_DONE && !(ms >= 0 && ms < 1e12F))
		return SONDE_GPU_FAILED;
	if (state == SONDE_GPU_DONE)
		*out_ns = (uint64_t)((double)ms * 1e6 + 0.5);
	return state;
}

/* Destroying a context destroys its events. So an event is destroyed here only if its context is the current one. */
static void release(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark)
{
	void *context = NULL;
	if (calls->cuda.context_current(&context) == SUCCESS && context == mark->context)
		calls->cuda.event_destroy(mark->event);
}

static int memory(const struct sonde_gpu_calls *calls, uint64_t *free_b, uint64_t *total_b)
{
	void *context = NULL;
	size_t unused = 0, all = 0;
	if (!calls->cuda.memory || calls->cuda.context_current(&context) != SUCCESS || !context)
		return SONDE_ERR_UNKNOWN;
	if (calls->cuda.memory(&unused, &all) != SUCCESS)
		return SONDE_ERR_SYSTEM;
	*free_b = unused;
	*total_b = all;
	return SONDE_OK;
}

const struct sonde_gpu_driver sonde_gpu_driver_cuda = {
    .soname = "libcuda.so.1",
    .missing = "the program has not loaded CUDA's driver (libcuda.so.1), or its version is too old",
    .functions = functions,
    .function_count = sizeof functions / sizeof *functions,
    .keeps_events = 1,
    .check = check,
    .record = record,
    .state = state,
    .wait = await,
    .elapsed = elapsed,
    .release = release,
    .memory = memory,
};
