/* images.c: copies, fills and maps of images (opencl/opencl.h). */
#include "inject/opencl/opencl.h"

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
				     const size_t *region, size_t row_b, size_t slice_b, void *to, cl_uint count,
				     const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueReadImage(queue, image, blocking, origin, region, row_b, slice_b, to, count,
						      wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueReadImage",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(image),
						.to = opencl_host_kind(to),
						.is_blocking = blocking != 0,
						.size_b = opencl_memory_region(image, region)});
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
				      const size_t *region, size_t row_b, size_t slice_b, const void *from,
				      cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueWriteImage(queue, image, blocking, origin, region, row_b, slice_b, from,
						       count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueWriteImage",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_host_kind(from),
						.to = opencl_memory_kind(image),
						.is_blocking = blocking != 0,
						.size_b = opencl_memory_region(image, region)});
}

static cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
				     const size_t *to_origin, const size_t *region, cl_uint count, const cl_event *wait,
				     cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueCopyImage",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(from),
						.to = opencl_memory_kind(to),
						.size_b = opencl_memory_region(from, region)});
}

static cl_int CL_API_CALL image_to_buffer(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin,
					  const size_t *region, size_t offset, cl_uint count, const cl_event *wait,
					  cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueCopyImageToBuffer",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(from),
						.to = opencl_memory_kind(to),
						.size_b = opencl_memory_region(from, region)});
}

static cl_int CL_API_CALL buffer_to_image(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset,
					  const size_t *origin, const size_t *region, cl_uint count,
					  const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueCopyBufferToImage",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(from),
						.to = opencl_memory_kind(to),
						.size_b = opencl_memory_region(to, region)});
}

static cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
				     const size_t *region, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueFillImage(queue, image, color, origin, region, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueFillImage",
						.kind = SONDE_OPERATION_FILL,
						.to = opencl_memory_kind(image),
						.size_b = opencl_memory_region(image, region)});
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
				   const size_t *origin, const size_t *region, size_t *row_b, size_t *slice_b,
				   cl_uint count, const cl_event *wait, cl_event *event, cl_int *code)
{
	struct opencl_call call;
	cl_int own = CL_SUCCESS;
	opencl_begin(&call, queue, event);
	void *at = opencl_next->clEnqueueMapImage(queue, image, blocking, flags, origin, region, row_b, slice_b, count,
						  wait, call.event, &own);
	opencl_end(&call, own,
		   &(struct opencl_what){.call = "clEnqueueMapImage",
					 .kind = SONDE_OPERATION_MAP,
					 .from = opencl_memory_kind(image),
					 .is_blocking = blocking != 0,
					 .size_b = opencl_memory_region(image, region)});
	if (code)
		*code = own;
	return at;
}

void opencl_images_fill(struct _cl_icd_dispatch *table)
{
	table->clEnqueueReadImage = read_image;
	table->clEnqueueWriteImage = write_image;
	table->clEnqueueCopyImage = copy_image;
	table->clEnqueueCopyImageToBuffer = image_to_buffer;
	table->clEnqueueCopyBufferToImage = buffer_to_image;
	table->clEnqueueFillImage = fill_image;
	table->clEnqueueMapImage = map_image;
}
