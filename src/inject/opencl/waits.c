/* waits.c: hooks of calls that wait for a queue, put a marker into it, or release its context (opencl/opencl.h). */
#include "inject/opencl/opencl.h"

/* The number under which a queue was reported; 0 = it was not. */
static uint32_t number_of(cl_command_queue handle)
{
	opencl_lock();
	const struct opencl_queue *queue = opencl_queue_find(handle);
	uint32_t number = queue ? queue->number : 0;
	opencl_unlock();
	return number;
}

/* The queue is looked up before the call, while the caller still holds it. */
static cl_int CL_API_CALL finish(cl_command_queue queue)
{
	uint64_t from_ns = opencl_host_begin();
	uint32_t number = from_ns ? number_of(queue) : 0;
	cl_int code = opencl_next->clFinish(queue);
	opencl_host_end(&(struct opencl_host){
	    .kind = SONDE_OPERATION_SYNC, .call = "clFinish", .from_ns = from_ns, .queue = number});
	opencl_look(queue);
	return code;
}

static cl_int CL_API_CALL release_context(cl_context context)
{
	opencl_look(NULL);
	return opencl_next->clReleaseContext(context);
}

static cl_int CL_API_CALL mark(cl_command_queue queue, cl_event *event)
{
	struct opencl_call call;
	if (!event) /* an error, which the driver reports */
		return opencl_next->clEnqueueMarker(queue, event);
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueMarker(queue, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueMarker", .kind = SONDE_OPERATION_MARKER});
}

void opencl_waits_fill(struct _cl_icd_dispatch *table)
{
	table->clFinish = finish;
	table->clReleaseContext = release_context;
	table->clEnqueueMarker = mark;
}
