/* queues.c: creates queues with profiling enabled, and hides that from programs that did not ask for it
 * (opencl/opencl.h).
 *
 * If the driver cannot create a queue with profiling, it is created as the program requested, and its commands are
 * counted as lost. Queues created in other ways (by an extension's function) are registered at their first use.
 */
#include <stdlib.h>
#include <string.h>

#include "inject/opencl/opencl.h"

static struct opencl_queue queues[OPENCL_QUEUES];
static struct opencl_slot slots[4 * OPENCL_QUEUES];
static struct opencl_map map = {slots, 4 * OPENCL_QUEUES, 0};
static uint32_t most;     /* all indices used so far are below */
static uint32_t held;     /* entries in use or reserved: see promise() */
static uint64_t ordinals; /* protected by the lock, like all of this */

struct opencl_queue *opencl_queue_find(cl_command_queue handle)
{
	struct opencl_slot *slot = opencl_map_find(&map, handle);
	return slot ? &queues[slot->values[0]] : NULL;
}

struct opencl_queue *opencl_queue_at(uint32_t place)
{
	return place < most ? &queues[place] : NULL;
}

void opencl_queue_settle(struct opencl_queue *queue)
{
	if (queue->refs || queue->first || !queue->is_used)
		return;
	if (opencl_queue_find(queue->handle) == queue) /* else a newer queue has its handle */
		opencl_map_remove(&map, queue->handle);
	queue->is_used = 0;
	held--;
}

/* Reserves an entry in the table before a queue is created with properties that the program did not request: without an
 * entry, they could not be hidden from the program. */
static int promise(void)
{
	opencl_look(NULL); /* frees the entries of released queues whose commands are complete */
	opencl_lock();
	int has_capacity = held < OPENCL_QUEUES;
	held += (uint32_t)has_capacity;
	opencl_unlock();
	return has_capacity;
}

/* Adds the queue; NULL = no free entry. */
static struct opencl_queue *place_for(const struct opencl_queue *made)
{
	uint32_t at = held < OPENCL_QUEUES ? 0 : OPENCL_QUEUES; /* full: skips the search */
	while (at < most && queues[at].is_used)
		at++;
	struct opencl_slot *slot = at < OPENCL_QUEUES ? opencl_map_put(&map, made->handle) : NULL;
	if (!slot)
		return NULL;
	held++;
	most = at == most ? most + 1 : most;
	slot->values[0] = at;
	queues[at] = *made;
	queues[at].is_used = 1;
	queues[at].refs = 1;
	queues[at].ordinal = ++ordinals;
	return &queues[at];
}

/* Called with the lock, which is released while the driver is queried and the queue is reported. */
static struct opencl_queue *record(struct opencl_queue *queue)
{
	cl_command_queue handle = queue->handle;
	cl_device_id device = queue->device_handle;
	struct sonde_queue_info info = {.flags = queue->is_out_of_order ? SONDE_QUEUE_OUT_OF_ORDER : 0,
					.context = (uint64_t)(uintptr_t)queue->context,
					.handle = queue->ordinal};
	opencl_unlock();
	uint32_t place = opencl_device(device), number = 0;
	info.device = opencl_device_number(place);
	if (place < OPENCL_DEVICES)
		number = sonde_queue_add(&info);
	opencl_lock();
	queue = opencl_queue_find(handle);
	if (queue && !queue->number) {
		queue->number = number;
		queue->device = place;
	}
	return queue;
}

static struct opencl_queue *add(const struct opencl_queue *made)
{
	struct opencl_queue *queue = place_for(made);
	return queue ? record(queue) : NULL;
}

struct opencl_queue *opencl_queue_learn(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_find(handle), made = {.handle = handle};
	cl_command_queue_properties properties = 0;
	if (queue)
		return queue->number ? queue : record(queue);
	opencl_unlock();
	cl_int code =
	    opencl_next->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
	code |= opencl_next->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(made.context), &made.context, NULL);
	code |= opencl_next->clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(made.device_handle),
						   &made.device_handle, NULL);
	made.has_times = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
	made.is_out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
	opencl_lock();
	queue = opencl_queue_find(handle);
	return queue || code != CL_SUCCESS ? queue : add(&made);
}

/* Forgets all queues in a forked child. */
void opencl_queues_forget(void)
{
	for (uint32_t i = 0; i < most; i++) {
		queues[i].number = queues[i].first = queues[i].last = queues[i].fresh = 0;
		opencl_queue_settle(&queues[i]);
	}
}

/* --- creating ---------------------------------------------------------------------------------------------------- */

/* `promised`: an entry is reserved. A queue without an entry stays unknown, and has the requested properties. */
static void created(struct opencl_queue *made, cl_command_queue_properties properties, int promised)
{
	made->is_out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
	made->is_hidden = made->has_times && !(properties & CL_QUEUE_PROFILING_ENABLE);
	if (made->handle)
		opencl_at_exit();
	opencl_lock();
	held -= (uint32_t)promised;
	if (made->handle && promised)
		add(made);
	opencl_unlock();
}

static cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device,
					   cl_command_queue_properties properties, cl_int *code)
{
	struct opencl_queue made = {.context = context, .device_handle = device};
	uint64_t from_ns = opencl_host_begin();
	int promised = promise();
	if (promised)
		made.handle =
		    opencl_next->clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, code);
	made.has_times = made.handle || (properties & CL_QUEUE_PROFILING_ENABLE);
	if (!made.handle)
		made.handle = opencl_next->clCreateCommandQueue(context, device, properties, code);
	created(&made, properties, promised);
	opencl_host_end(
	    &(struct opencl_host){.kind = SONDE_OPERATION_API, .call = "clCreateCommandQueue", .from_ns = from_ns});
	return made.handle;
}

/* Copies pairs up to the final 0, which must be in the first OPENCL_PROPERTIES words. Returns the flags, or 0. */
static cl_command_queue_properties copy(struct opencl_queue *made, const cl_queue_properties *list)
{
	cl_command_queue_properties flags = 0;
	uint32_t at = 0;
	for (; list && at + 2 < OPENCL_PROPERTIES && list[at]; at += 2) {
		made->properties[at] = list[at];
		made->properties[at + 1] = list[at + 1];
		flags = list[at] == CL_QUEUE_PROPERTIES ? list[at + 1] : flags;
	}
	made->property_count = list ? at + 1 : 0;
	made->was_listed = !list || !list[at];
	return flags;
}

/* The list with profiling added; a queue on the device itself has no commands of ours. */
static void with_times(cl_queue_properties out[OPENCL_PROPERTIES + 3], const struct opencl_queue *made)
{
	uint32_t at = 0, has = 0;
	for (; at + 1 < made->property_count; at += 2) {
		int is_flags = made->properties[at] == CL_QUEUE_PROPERTIES;
		out[at] = made->properties[at];
		out[at + 1] = made->properties[at + 1] | (is_flags ? CL_QUEUE_PROFILING_ENABLE : 0);
		has |= (uint32_t)is_flags;
	}
	if (!has) {
		out[at++] = CL_QUEUE_PROPERTIES;
		out[at++] = CL_QUEUE_PROFILING_ENABLE;
	}
	out[at] = 0;
}

static cl_command_queue CL_API_CALL create_listed(cl_context context, cl_device_id device,
						  const cl_queue_properties *properties, cl_int *code)
{
	struct opencl_queue made = {.context = context, .device_handle = device};
	cl_queue_properties wanted[OPENCL_PROPERTIES + 3];
	cl_command_queue_properties flags = copy(&made, properties);
	uint64_t from_ns = opencl_host_begin();
	int promised = promise();
	if (promised && made.was_listed && !(flags & CL_QUEUE_ON_DEVICE)) {
		with_times(wanted, &made);
		made.handle = opencl_next->clCreateCommandQueueWithProperties(context, device, wanted, code);
	}
	made.has_times = made.handle || (flags & CL_QUEUE_PROFILING_ENABLE);
	if (!made.handle)
		made.handle = opencl_next->clCreateCommandQueueWithProperties(context, device, properties, code);
	created(&made, flags, promised);
	opencl_host_end(&(struct opencl_host){
	    .kind = SONDE_OPERATION_API, .call = "clCreateCommandQueueWithProperties", .from_ns = from_ns});
	return made.handle;
}

static cl_int CL_API_CALL retain(cl_command_queue handle)
{
	cl_int code = opencl_next->clRetainCommandQueue(handle);
	opencl_lock();
	struct opencl_queue *queue = opencl_queue_find(handle);
	if (queue && code == CL_SUCCESS)
		queue->refs++;
	opencl_unlock();
	return code;
}

static cl_int CL_API_CALL release(cl_command_queue handle)
{
	opencl_lock();
	struct opencl_queue *queue = opencl_queue_find(handle);
	if (queue && queue->refs)
		queue->refs--;
	opencl_unlock();
	opencl_look(handle);
	return opencl_next->clReleaseCommandQueue(handle);
}

/* --- queries of the program -------------------------------------------------------------------------------------- */

static cl_int give(const void *value, size_t value_b, size_t out_b, void *out, size_t *out_b_ret)
{
	if (out && out_b < value_b)
		return CL_INVALID_VALUE;
	if (out && value_b)
		memcpy(out, value, value_b);
	if (out_b_ret)
		*out_b_ret = value_b;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_info(cl_command_queue handle, cl_command_queue_info what, size_t out_b, void *out,
				   size_t *out_b_ret)
{
	struct opencl_queue seen = {0};
	opencl_lock();
	const struct opencl_queue *queue = opencl_queue_find(handle);
	if (queue)
		seen = *queue;
	opencl_unlock();
	if (seen.is_hidden && seen.was_listed && what == CL_QUEUE_PROPERTIES_ARRAY) {
		size_t there_b = 0;
		cl_int code = opencl_next->clGetCommandQueueInfo(handle, what, 0, NULL, &there_b);
		return code ? code
			    : give(seen.properties, seen.property_count * sizeof(*seen.properties), out_b, out,
				   out_b_ret);
	}
	cl_int code = opencl_next->clGetCommandQueueInfo(handle, what, out_b, out, out_b_ret);
	if (code == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && out && seen.is_hidden)
		*(cl_command_queue_properties *)out &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return code;
}

static int is_hidden(cl_event event)
{
	cl_command_queue handle = NULL;
	if (opencl_next->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) != CL_SUCCESS)
		return 0;
	opencl_lock();
	const struct opencl_queue *queue = opencl_queue_find(handle);
	int hidden = queue && queue->is_hidden;
	opencl_unlock();
	return hidden;
}

static cl_int CL_API_CALL get_times(cl_event event, cl_profiling_info what, size_t out_b, void *out, size_t *out_b_ret)
{
	return is_hidden(event) ? CL_PROFILING_INFO_NOT_AVAILABLE
				: opencl_next->clGetEventProfilingInfo(event, what, out_b, out, out_b_ret);
}

static cl_int CL_API_CALL get_event(cl_event event, cl_event_info what, size_t out_b, void *out, size_t *out_b_ret)
{
	cl_int code = opencl_next->clGetEventInfo(event, what, out_b, out, out_b_ret);
	if (code == CL_SUCCESS && what == CL_EVENT_REFERENCE_COUNT && out && opencl_commands_hold(event))
		--*(cl_uint *)out;
	return code;
}

void opencl_queues_fill(struct _cl_icd_dispatch *table)
{
	table->clCreateCommandQueue = create;
	if (opencl_next->clCreateCommandQueueWithProperties)
		table->clCreateCommandQueueWithProperties = create_listed;
	table->clRetainCommandQueue = retain;
	table->clReleaseCommandQueue = release;
	table->clGetCommandQueueInfo = get_info;
	table->clGetEventProfilingInfo = get_times;
	table->clGetEventInfo = get_event;
}
