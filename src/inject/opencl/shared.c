/* shared.c: shared virtual memory of OpenCL 2 (opencl/opencl.h), which migrates on use. */
#include "inject/opencl/opencl.h"

enum { SHARED = 16384 };

static struct opencl_slot slots[SHARED];
static struct opencl_map map = {slots, SHARED, 0}; /* sizes by address */

static uint64_t forget(const void *at)
{
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, at);
	uint64_t size_b = slot ? slot->values[0] : 0;
	opencl_map_remove(&map, at);
	opencl_unlock();
	return size_b;
}

uint8_t opencl_shared_kind(const void *at)
{
	opencl_lock();
	int is_shared = opencl_map_find(&map, at) != NULL;
	opencl_unlock();
	return is_shared ? SONDE_MEMORY_MANAGED : SONDE_MEMORY_UNKNOWN;
}

static void *CL_API_CALL alloc(cl_context context, cl_svm_mem_flags flags, size_t size_b, cl_uint alignment)
{
	uint64_t from_ns = opencl_host_begin();
	void *at = opencl_next->clSVMAlloc(context, flags, size_b, alignment);
	if (!at)
		return NULL;
	opencl_lock();
	struct opencl_slot *slot = opencl_map_put(&map, at);
	if (slot)
		slot->values[0] = size_b;
	opencl_unlock();
	opencl_host_end(&(struct opencl_host){.kind = SONDE_OPERATION_ALLOC,
					      .call = "clSVMAlloc",
					      .from_ns = from_ns,
					      .size_b = size_b,
					      .address = (uint64_t)(uintptr_t)at,
					      .to = SONDE_MEMORY_MANAGED});
	return at;
}

static void freed(const void *at, uint64_t from_ns, const char *call)
{
	uint64_t size_b = at ? forget(at) : 0;
	if (size_b)
		opencl_host_end(&(struct opencl_host){.kind = SONDE_OPERATION_FREE,
						      .call = call,
						      .from_ns = from_ns,
						      .size_b = size_b,
						      .address = (uint64_t)(uintptr_t)at,
						      .to = SONDE_MEMORY_MANAGED});
}

/* The release is recorded before the driver can return the address again; the call itself is short. */
static void CL_API_CALL give_back(cl_context context, void *at)
{
	freed(at, opencl_host_begin(), "clSVMFree");
	opencl_next->clSVMFree(context, at);
}

static cl_int CL_API_CALL enqueue_free(cl_command_queue queue, cl_uint pointer_count, void *pointers[],
				       void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *),
				       void *data, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	uint64_t from_ns = opencl_host_begin();
	for (cl_uint i = 0; pointers && i < pointer_count; i++)
		freed(pointers[i], from_ns, "clEnqueueSVMFree");
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueSVMFree(queue, pointer_count, pointers, function, data, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueSVMFree", .kind = SONDE_OPERATION_MARKER});
}

/* A size of 0 means the whole allocation. */
static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint pointer_count, const void **pointers,
				  const size_t *sizes, cl_mem_migration_flags flags, cl_uint count,
				  const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	struct opencl_what what = {.call = "clEnqueueSVMMigrateMem",
				   .kind = SONDE_OPERATION_COPY,
				   .from = SONDE_MEMORY_MANAGED,
				   .to = flags & CL_MIGRATE_MEM_OBJECT_HOST ? SONDE_MEMORY_HOST : SONDE_MEMORY_DEVICE};
	for (cl_uint i = 0; sizes && i < pointer_count; i++)
		what.size_b += sizes[i];
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueSVMMigrateMem(queue, pointer_count, pointers, sizes, flags, count, wait, call.event);
	return opencl_end(&call, code, &what);
}

void opencl_shared_fill(struct _cl_icd_dispatch *table)
{
	table->clSVMAlloc = alloc;
	table->clSVMFree = give_back;
	table->clEnqueueSVMFree = enqueue_free;
	table->clEnqueueSVMMigrateMem = migrate;
}
