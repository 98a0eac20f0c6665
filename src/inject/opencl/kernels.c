/* kernels.c: hooks of calls that enqueue kernels (opencl/opencl.h). */
#include <string.h>

#include "inject/opencl/opencl.h"

static uint32_t narrow(size_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Counts work-groups of the requested size, the last of which may be smaller; if the driver chooses the size,
 * work-items. */
static void shape(struct opencl_what *what, cl_uint dimensions, const size_t *global, const size_t *local)
{
	for (cl_uint i = 0; i < 3; i++) {
		size_t all = i < dimensions && global ? global[i] : 1;
		size_t of_group = !local ? 0 : i < dimensions ? local[i] : 1;
		what->block[i] = narrow(of_group);
		what->grid[i] = narrow(of_group ? all / of_group + (all % of_group != 0) : all);
	}
}

static cl_device_id device_of(cl_command_queue handle)
{
	opencl_lock();
	const struct opencl_queue *queue = opencl_queue_find(handle);
	cl_device_id device = queue ? queue->device_handle : NULL;
	opencl_unlock();
	return device;
}

static cl_int CL_API_CALL run(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
			      const size_t *global, const size_t *local, cl_uint count, const cl_event *wait,
			      cl_event *event)
{
	struct opencl_call call;
	struct opencl_what what = {.call = "clEnqueueNDRangeKernel", .kind = SONDE_OPERATION_KERNEL};
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, wait,
							  call.event);
	if (call.from_ns && code == CL_SUCCESS) {
		shape(&what, dimensions, global, local);
		opencl_kernel_what(kernel, device_of(queue), &what);
	}
	return opencl_end(&call, code, &what);
}

static cl_int CL_API_CALL run_task(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *wait,
				   cl_event *event)
{
	struct opencl_call call;
	struct opencl_what what = {
	    .call = "clEnqueueTask", .kind = SONDE_OPERATION_KERNEL, .grid = {1, 1, 1}, .block = {1, 1, 1}};
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueTask(queue, kernel, count, wait, call.event);
	if (call.from_ns && code == CL_SUCCESS)
		opencl_kernel_what(kernel, device_of(queue), &what);
	return opencl_end(&call, code, &what);
}

static cl_int CL_API_CALL run_native(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *args,
				     size_t args_b, cl_uint memory_count, const cl_mem *memory, const void **memory_at,
				     cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueNativeKernel(queue, function, args, args_b, memory_count, memory, memory_at,
							 count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueNativeKernel",
						.name = "(native kernel)",
						.kind = SONDE_OPERATION_KERNEL});
}

void opencl_kernels_fill(struct _cl_icd_dispatch *table)
{
	table->clEnqueueNDRangeKernel = run;
	table->clEnqueueTask = run_task;
	table->clEnqueueNativeKernel = run_native;
}
