/* memory.c: buffers and images: size, kind of memory, creation, release and maps (opencl/opencl.h).
 *
 * A memory object ends with the program's last reference, which is counted here, since the driver's count includes its
 * own references. The driver may keep the memory until commands that use it are complete. A sub-buffer has no memory of
 * its own.
 */
#include "inject/opencl/opencl.h"

enum { MEMORY = 65536, MAPPED = 64 };
enum { SIZE, ELEMENT, STATE }; /* ELEMENT: bytes of an image element */

#define OWN (UINT64_C(1) << 63) /* in STATE: has memory of its own; lower bits: its kind, and references << 8 */

static struct opencl_slot slots[MEMORY];
static struct opencl_map map = {slots, MEMORY, 0};
static struct {
	const char *at;
	uint64_t size_b;
} mapped[MAPPED]; /* mapped buffers in host memory; protected by the lock, like all of this */

static uint64_t value_of(cl_mem memory, int which)
{
	opencl_lock();
	const struct opencl_slot *slot = opencl_map_find(&map, memory);
	uint64_t value = slot ? slot->values[which] : 0;
	opencl_unlock();
	return value;
}

uint8_t opencl_memory_kind(cl_mem memory)
{
	return (uint8_t)value_of(memory, STATE);
}

uint64_t opencl_memory_region(cl_mem image, const size_t region[3])
{
	return region ? value_of(image, ELEMENT) * region[0] * region[1] * region[2] : 0;
}

uint8_t opencl_host_kind(const void *pointer)
{
	uint8_t kind = SONDE_MEMORY_PAGEABLE;
	opencl_lock();
	for (int i = 0; i < MAPPED; i++)
		if (mapped[i].at && (uint64_t)((const char *)pointer - mapped[i].at) < mapped[i].size_b)
			kind = SONDE_MEMORY_HOST;
	opencl_unlock();
	return kind;
}

static void mapped_add(cl_mem memory, const void *pointer, uint64_t size_b)
{
	int at = 0;
	if (opencl_memory_kind(memory) != SONDE_MEMORY_HOST)
		return;
	opencl_lock();
	while (at < MAPPED && mapped[at].at)
		at++;
	if (at < MAPPED) {
		mapped[at].at = pointer;
		mapped[at].size_b = size_b;
	}
	opencl_unlock();
}

static void mapped_remove(const void *pointer)
{
	int at = 0;
	opencl_lock();
	while (at < MAPPED && mapped[at].at != pointer)
		at++;
	if (at < MAPPED)
		mapped[at].at = NULL;
	opencl_unlock();
}

/* --- creation and release ---------------------------------------------------------------------------------------- */

/* The kind of memory passed in by the program is unknown; host memory allocated by a driver may be page-locked. */
static uint8_t kind_of(cl_mem_flags flags, int is_image)
{
	if (flags & CL_MEM_USE_HOST_PTR)
		return SONDE_MEMORY_UNKNOWN;
	if (flags & CL_MEM_ALLOC_HOST_PTR)
		return SONDE_MEMORY_HOST;
	return is_image ? SONDE_MEMORY_ARRAY : SONDE_MEMORY_DEVICE;
}

struct made {
	const char *call;
	uint64_t from_ns;
	cl_mem_flags flags;
	int is_image, is_part;
};

static cl_mem created(cl_mem memory, const struct made *made)
{
	size_t size_b = 0, element_b = 0;
	uint8_t kind = kind_of(made->flags, made->is_image);
	if (!memory)
		return memory;
	opencl_next->clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size_b), &size_b, NULL);
	if (made->is_image)
		opencl_next->clGetImageInfo(memory, CL_IMAGE_ELEMENT_SIZE, sizeof(element_b), &element_b, NULL);
	opencl_lock();
	struct opencl_slot *slot = opencl_map_put(&map, memory);
	if (slot) {
		slot->values[SIZE] = size_b;
		slot->values[ELEMENT] = element_b;
		slot->values[STATE] = kind | 1u << 8 | (made->is_part ? 0 : OWN);
	}
	opencl_unlock();
	if (slot)
		opencl_host_end(
		    &(struct opencl_host){.kind = made->is_part ? SONDE_OPERATION_API : SONDE_OPERATION_ALLOC,
					  .call = made->call,
					  .from_ns = made->from_ns,
					  .size_b = made->is_part ? 0 : size_b,
					  .address = (uint64_t)(uintptr_t)memory,
					  .to = kind});
	else
		sonde_activity_lost("OpenCL: too many buffers to follow", 1);
	return memory;
}

/* True if an image is a view of a buffer, whose memory it then uses. */
static int is_view(const cl_image_desc *image)
{
	return image && image->mem_object;
}

/* Calls that create an object with memory of its own, unless is_part: name, parameters, arguments, is_image, is_part.
 */
#define CREATES(CREATE)                                                                                             \
	CREATE(clCreateBuffer, (cl_context context, cl_mem_flags flags, size_t size_b, void *host, cl_int *code),   \
	       (context, flags, size_b, host, code), 0, 0)                                                          \
	CREATE(clCreateBufferWithProperties,                                                                        \
	       (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size_b,         \
		void *host, cl_int *code),                                                                          \
	       (context, properties, flags, size_b, host, code), 0, 0)                                              \
	CREATE(clCreateImage,                                                                                       \
	       (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *image,  \
		void *host, cl_int *code),                                                                          \
	       (context, flags, format, image, host, code), 1, is_view(image))                                      \
	CREATE(clCreateImageWithProperties,                                                                         \
	       (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,                        \
		const cl_image_format *format, const cl_image_desc *image, void *host, cl_int *code),               \
	       (context, properties, flags, format, image, host, code), 1, is_view(image))                          \
	CREATE(clCreateImage2D,                                                                                     \
	       (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, \
		size_t row_b, void *host, cl_int *code),                                                            \
	       (context, flags, format, width, height, row_b, host, code), 1, 0)                                    \
	CREATE(clCreateImage3D,                                                                                     \
	       (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, \
		size_t depth, size_t row_b, size_t slice_b, void *host, cl_int *code),                              \
	       (context, flags, format, width, height, depth, row_b, slice_b, host, code), 1, 0)

#define HOOK(name, parameters, arguments, is_image, is_part)                               \
	static cl_mem CL_API_CALL hook_##name parameters                                   \
	{                                                                                  \
		struct made made = {#name, opencl_host_begin(), flags, is_image, is_part}; \
		return created(opencl_next->name arguments, &made);                        \
	}

CREATES(HOOK)

static cl_mem CL_API_CALL create_part(cl_mem whole, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
				      cl_int *code)
{
	struct made made = {"clCreateSubBuffer", opencl_host_begin(), 0, 0, 1};
	if (opencl_memory_kind(whole) == SONDE_MEMORY_HOST)
		made.flags = CL_MEM_ALLOC_HOST_PTR;
	return created(opencl_next->clCreateSubBuffer(whole, flags, type, info, code), &made);
}

static cl_int CL_API_CALL retain(cl_mem memory)
{
	cl_int code = opencl_next->clRetainMemObject(memory);
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, memory);
	if (slot && code == CL_SUCCESS)
		slot->values[STATE] += 1u << 8;
	opencl_unlock();
	return code;
}

/* The object is forgotten before the release, because the driver may give the handle to another thread at once. */
static cl_int CL_API_CALL release(cl_mem memory)
{
	struct opencl_host host = {
	    .kind = SONDE_OPERATION_FREE, .call = "clReleaseMemObject", .address = (uint64_t)(uintptr_t)memory};
	int is_last = 0;
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, memory);
	if (slot) {
		slot->values[STATE] -= 1u << 8;
		is_last = (slot->values[STATE] & ~OWN) >> 8 == 0;
		host.size_b = slot->values[STATE] & OWN && is_last ? slot->values[SIZE] : 0;
		host.to = (uint8_t)slot->values[STATE];
	}
	if (is_last)
		opencl_map_remove(&map, memory);
	opencl_unlock();
	host.from_ns = opencl_host_begin();
	cl_int code = opencl_next->clReleaseMemObject(memory);
	if (host.size_b)
		opencl_host_end(&host);
	return code;
}

/* --- maps and migration --------------------------------------------------------------------------------------------
 */

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
		mapped_add(buffer, at, size_b);
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

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void *at, cl_uint count, const cl_event *wait,
				cl_event *event)
{
	struct opencl_call call;
	mapped_remove(at);
	opencl_begin(&call, queue, event);
	cl_int code = opencl_next->clEnqueueUnmapMemObject(queue, memory, at, count, wait, call.event);
	return opencl_end(&call, code,
			  &(struct opencl_what){.call = "clEnqueueUnmapMemObject",
						.kind = SONDE_OPERATION_MAP,
						.to = opencl_memory_kind(memory)});
}

/* The source of the copy is not recorded: it is wherever the memory was last, which is unknown here. */
static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint memory_count, const cl_mem *memory,
				  cl_mem_migration_flags flags, cl_uint count, const cl_event *wait, cl_event *event)
{
	struct opencl_call call;
	struct opencl_what what = {.call = "clEnqueueMigrateMemObjects",
				   .kind = SONDE_OPERATION_COPY,
				   .to = flags & CL_MIGRATE_MEM_OBJECT_HOST ? SONDE_MEMORY_HOST : SONDE_MEMORY_DEVICE};
	for (cl_uint i = 0; memory && i < memory_count && !(flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED); i++)
		what.size_b += value_of(memory[i], SIZE);
	opencl_begin(&call, queue, event);
	cl_int code =
	    opencl_next->clEnqueueMigrateMemObjects(queue, memory_count, memory, flags, count, wait, call.event);
	return opencl_end(&call, code, &what);
}

#define FILL(name, ...) table->name = hook_##name;

void opencl_memory_fill(struct _cl_icd_dispatch *table)
{
	CREATES(FILL)
	table->clCreateSubBuffer = create_part;
	table->clRetainMemObject = retain;
	table->clReleaseMemObject = release;
	table->clEnqueueMapBuffer = map_buffer;
	table->clEnqueueMapImage = map_image;
	table->clEnqueueUnmapMemObject = unmap;
	table->clEnqueueMigrateMemObjects = migrate;
}
