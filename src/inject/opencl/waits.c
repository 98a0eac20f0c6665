/* waits.c: hooks of calls that wait for a queue, put markers into it, or release its context (opencl/opencl.h). */
#include "inject/opencl/opencl.h"

/* 0 = not reported. */
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

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
	uint64_t from_ns = opencl_host_begin();
	cl_int code = opencl_next->clFlush(queue);
	opencl_host_end(&(struct opencl_host){.kind = SONDE_OPERATION_API, .call = "clFlush", .from_ns = from_ns});
	opencl_look(queue);
	return code;
}

static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events)
{
	uint64_t from_ns = opencl_host_begin();
	cl_int code = opencl_next->clWaitForEvents(count, events);
	opencl_host_end(
	    &(struct opencl_host){.kind = SONDE_OPERATION_SYNC, .call = "clWaitForEvents", .from_ns = from_ns});
	opencl_look(NULL);
	return code;
}

static cl_int CL_API_CALL release_context(cl_context context)
{
	opencl_look(NULL);
	return opencl_next->clReleaseContext(context);
}

static cl_int CL_API_CALL mark_behind(cl_command_queue queue, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueMarkerWithWaitList(queue, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueMarkerWithWaitList", .kind = SONDE_OPERATION_MARKER});
}

static cl_int CL_API_CALL bar_behind(cl_command_queue queue, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueBarrierWithWaitList(queue, count, wait, call.event);
	return opencl_end(
	    &call, code, &(struct opencl_what){.call = "clEnqueueBarrierWithWaitList", .kind = SONDE_OPERATION_MARKER});
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

/* These calls have no event: only the call is recorded. */
static cl_int CL_API_CALL bar(cl_command_queue queue)
{
	uint64_t from_ns = opencl_host_begin();
	cl_int code = opencl_next->clEnqueueBarrier(queue);
	opencl_host_end(
	    &(struct opencl_host){.kind = SONDE_OPERATION_API, .call = "clEnqueueBarrier", .from_ns = from_ns});
	return code;
}

static cl_int CL_API_CALL bar_for(cl_command_queue queue, cl_uint count, const cl_event *events)
{
	uint64_t from_ns = opencl_host_begin();
	cl_int code = opencl_next->clEnqueueWaitForEvents(queue, count, events);
	opencl_host_end(
	    &(struct opencl_host){.kind = SONDE_OPERATION_API, .call = "clEnqueueWaitForEvents", .from_ns = from_ns});
	return code;
}

void opencl_waits_fill(struct _cl_icd_dispatch *table)
{
	table->clFinish = finish;
	table->clFlush = flush;
	table->clWaitForEvents = wait_for;
	table->clReleaseContext = release_context;
	table->clEnqueueMarkerWithWaitList = mark_behind;
	table->clEnqueueBarrierWithWaitList = bar_behind;
	table->clEnqueueMarker = mark;
	table->clEnqueueBarrier = bar;
	table->clEnqueueWaitForEvents = bar_for;
}
