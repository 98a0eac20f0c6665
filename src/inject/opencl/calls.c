/* calls.c: hooks of calls that are only recorded, made from the rows of opencl/calls.def. */
#include "inject/opencl/opencl.h"

static uint64_t volume(const size_t region[3])
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

#define LISTED(...) __VA_ARGS__

#define ENQUEUE(name, parameters, arguments, what, from_kind, to_kind, blocks, bytes)                      \
	static cl_int CL_API_CALL hook_##name(LISTED parameters, cl_uint wait_count, const cl_event *wait, \
					      cl_event *event)                                             \
	{                                                                                                  \
		struct opencl_call call;                                                                   \
		opencl_begin(&call, queue, event);                                                         \
		cl_int code = opencl_next->name(LISTED arguments, wait_count, wait, call.event);           \
		return opencl_end(&call, code,                                                             \
				  &(struct opencl_what){.call = #name,                                     \
							.kind = SONDE_OPERATION_##what,                    \
							.from = from_kind,                                 \
							.to = to_kind,                                     \
							.is_blocking = (blocks) != 0,                      \
							.size_b = bytes});                                 \
	}

#define HOST(type, name, parameters, arguments, what, after)                                                   \
	static type CL_API_CALL hook_##name parameters                                                         \
	{                                                                                                      \
		uint64_t from_ns = opencl_host_begin();                                                        \
		type result = opencl_next->name arguments;                                                     \
		opencl_host_end(                                                                               \
		    &(struct opencl_host){.kind = SONDE_OPERATION_##what, .call = #name, .from_ns = from_ns}); \
		after;                                                                                         \
		return result;                                                                                 \
	}

#include "inject/opencl/calls.def"

void opencl_calls_fill(struct _cl_icd_dispatch *table)
{
#undef ENQUEUE
#undef HOST
#define ENQUEUE(name, ...) table->name = hook_##name;
#define HOST(type, name, ...) table->name = hook_##name;
#include "inject/opencl/calls.def"
}
