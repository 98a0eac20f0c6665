/* buffers.c: copies, fills and maps of buffers (opencl/opencl.h). */
#include "inject/opencl/opencl.h"

static uint64_t volume(const size_t region[3])
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
				      size_t size_b, void *to, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueReadBuffer(queue, buffer, blocking, offset, size_b, to, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueReadBuffer",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(buffer),
						.to = opencl_host_kind(to),
						.is_blocking = blocking != 0,
						.size_b = size_b});
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
				       size_t size_b, const void *from, cl_uint count, const cl_event *wait,
				       cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size_b, from, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueWriteBuffer",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_host_kind(from),
						.to = opencl_memory_kind(buffer),
						.is_blocking = blocking != 0,
						.size_b = size_b});
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
				    const size_t *host_origin, const size_t *region, size_t row_b, size_t slice_b,
				    size_t host_row_b, size_t host_slice_b, void *to, cl_uint count,
				    const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueReadBufferRect(queue, buffer, blocking, origin, host_origin, region, row_b, slice_b,
						 host_row_b, host_slice_b, to, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueReadBufferRect",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(buffer),
						.to = opencl_host_kind(to),
						.is_blocking = blocking != 0,
						.size_b = volume(region)});
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
				     const size_t *host_origin, const size_t *region, size_t row_b, size_t slice_b,
				     size_t host_row_b, size_t host_slice_b, const void *from, cl_uint count,
				     const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueWriteBufferRect(queue, buffer, blocking, origin, host_origin, region, row_b, slice_b,
						  host_row_b, host_slice_b, from, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueWriteBufferRect",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_host_kind(from),
						.to = opencl_memory_kind(buffer),
						.is_blocking = blocking != 0,
						.size_b = volume(region)});
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
				      size_t to_offset, size_t size_b, cl_uint count, const cl_event *wait,
				      cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size_b, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueCopyBuffer",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(from),
						.to = opencl_memory_kind(to),
						.size_b = size_b});
}

static cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
				    const size_t *to_origin, const size_t *region, size_t from_row_b,
				    size_t from_slice_b, size_t to_row_b, size_t to_slice_b, cl_uint count,
				    const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row_b,
							   from_slice_b, to_row_b, to_slice_b, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueCopyBufferRect",
						.kind = SONDE_OPERATION_COPY,
						.from = opencl_memory_kind(from),
						.to = opencl_memory_kind(to),
						.size_b = volume(region)});
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_b,
				      size_t offset, size_t size_b, cl_uint count, const cl_event *wait,
				      cl_event *event)
{
	struct opencl_call call;
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueFillBuffer(queue, buffer, pattern, pattern_b, offset, size_b, count, wait,
						       call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueFillBuffer",
						.kind = SONDE_OPERATION_FILL,
						.to = opencl_memory_kind(buffer),
						.size_b = size_b});
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
				    size_t offset, size_t size_b, cl_uint count, const cl_event *wait, cl_event *event,
				    cl_int *code)
{
	struct opencl_call call;
	cl_int own = CL_SUCCESS;
	opencl_begin(&call, queue, event);
	void *at = opencl_next->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size_b, count, wait,
						   call.event, &own);
	if (own == CL_SUCCESS)
		opencl_mapped(buffer, at, size_b);
	opencl_end(&call, own,
		   &(struct opencl_what){.call = "clEnqueueMapBuffer",
					 .kind = SONDE_OPERATION_MAP,
					 .from = opencl_memory_kind(buffer),
					 .is_blocking = blocking != 0,
					 .size_b = size_b});
	if (code)
		*code = own;
	return at;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void *at, cl_uint count, const cl_event *wait,
				cl_event *event)
{
	struct opencl_call call;
	opencl_unmapped(at);
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueUnmapMemObject(queue, memory, at, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueUnmapMemObject",
						.kind = SONDE_OPERATION_MAP,
						.to = opencl_memory_kind(memory)});
}

/* The source is unknown: wherever the memory was last. */
static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint memory_count, const cl_mem *memory,
				  cl_mem_migration_flags flags, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	struct opencl_what what = {.call = "clEnqueueMigrateMemObjects",
				   .kind = SONDE_OPERATION_COPY,
				   .to = flags & CL_MIGRATE_MEM_OBJECT_HOST ? SONDE_MEMORY_HOST : SONDE_MEMORY_DEVICE};
	for (cl_uint i = 0; memory && i < memory_count && !(flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED); i++)
		what.size_b += opencl_memory_size(memory[i]);
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueMigrateMemObjects(queue, memory_count, memory, flags, count, wait, call.event);
	return opencl_end(&call, code, &what);
}

void opencl_buffers_fill(struct _cl_icd_dispatch *table)
{
	table->clEnqueueReadBuffer = read_buffer;
	table->clEnqueueWriteBuffer = write_buffer;
	table->clEnqueueReadBufferRect = read_rect;
	table->clEnqueueWriteBufferRect = write_rect;
	table->clEnqueueCopyBuffer = copy_buffer;
	table->clEnqueueCopyBufferRect = copy_rect;
	table->clEnqueueFillBuffer = fill_buffer;
	table->clEnqueueMapBuffer = map_buffer;
	table->clEnqueueUnmapMemObject = unmap;
	table->clEnqueueMigrateMemObjects = migrate;
}
