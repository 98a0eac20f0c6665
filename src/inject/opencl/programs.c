/* programs.c: properties of the kernels of programs (opencl/opencl.h).
 *
 * A kernel's name and memory are queried once, and again after local memory was set (an argument without a value).
 */
#include <stdlib.h>

#include "inject/opencl/opencl.h"

enum { KERNELS = 16384 };
enum { NAME, MEMORY, STATE }; /* a text; local | private << 32; references << 1 | memory is known */

static struct opencl_slot slots[KERNELS];
static struct opencl_map map = {slots, KERNELS, 0};

static const char *name_of(cl_kernel kernel)
{
	char text[256], *longer;
	const char *name = NULL;
	size_t size_b = 0;
	if (opencl_next->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size_b) || !size_b)
		return NULL;
	longer = size_b > sizeof(text) ? malloc(size_b) : text;
	if (longer && !opencl_next->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size_b, longer, NULL))
		name = opencl_name(longer);
	if (longer != text)
		free(longer);
	return name;
}

static void created(cl_kernel kernel)
{
	const char *name = kernel ? name_of(kernel) : NULL;
	opencl_lock();
	struct opencl_slot *slot = name ? opencl_map_put(&map, kernel) : NULL;
	if (slot) {
		slot->values[NAME] = (uint64_t)(uintptr_t)name;
		slot->values[STATE] = 1u << 1;
	}
	opencl_unlock();
}

static uint64_t ask_memory(cl_kernel kernel, cl_device_id device)
{
	cl_ulong local_b = 0, private_b = 0;
	opencl_next->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local_b), &local_b,
					      NULL);
	opencl_next->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof(private_b), &private_b,
					      NULL);
	return (local_b & UINT32_MAX) | private_b << 32;
}

void opencl_kernel_what(cl_kernel kernel, cl_device_id device, struct opencl_what *out)
{
	uint64_t memory = 0;
	int is_known = 0;
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, kernel);
	if (slot) {
		out->name = (const char *)(uintptr_t)slot->values[NAME];
		memory = slot->values[MEMORY];
		is_known = slot->values[STATE] & 1;
	}
	opencl_unlock();
	if (!slot)
		out->name = name_of(kernel);
	if (!out->name)
		out->name = "(kernel)";
	if (!is_known) {
		memory = ask_memory(kernel, device);
		opencl_lock();
		if ((slot = opencl_map_find(&map, kernel))) {
			slot->values[MEMORY] = memory;
			slot->values[STATE] |= 1;
		}
		opencl_unlock();
	}
	out->shared_b = (uint32_t)memory;
	out->local_b = (uint32_t)(memory >> 32);
}

/* --- kernels ----------------------------------------------------------------------------------------------------- */

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code)
{
	uint64_t from_ns = opencl_host_begin();
	cl_kernel kernel = opencl_next->clCreateKernel(program, name, code);
	created(kernel);
	opencl_host_end(
	    &(struct opencl_host){.kind = SONDE_OPERATION_API, .call = "clCreateKernel", .from_ns = from_ns});
	return kernel;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint most, cl_kernel *kernels, cl_uint *count)
{
	cl_uint made = 0;
	cl_int code = opencl_next->clCreateKernelsInProgram(program, most, kernels, &made);
	for (cl_uint i = 0; code == CL_SUCCESS && kernels && i < made && i < most; i++)
		created(kernels[i]);
	if (count && code == CL_SUCCESS)
		*count = made;
	return code;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel from, cl_int *code)
{
	cl_kernel kernel = opencl_next->clCloneKernel(from, code);
	created(kernel);
	return kernel;
}

static cl_int CL_API_CALL set_arg(cl_kernel kernel, cl_uint index, size_t size_b, const void *value)
{
	cl_int code = opencl_next->clSetKernelArg(kernel, index, size_b, value);
	if (value)
		return code;
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, kernel);
	if (slot)
		slot->values[STATE] &= ~UINT64_C(1);
	opencl_unlock();
	return code;
}

static cl_int CL_API_CALL retain(cl_kernel kernel)
{
	cl_int code = opencl_next->clRetainKernel(kernel);
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, kernel);
	if (slot && code == CL_SUCCESS)
		slot->values[STATE] += 1u << 1;
	opencl_unlock();
	return code;
}

static cl_int CL_API_CALL release(cl_kernel kernel)
{
	opencl_lock();
	struct opencl_slot *slot = opencl_map_find(&map, kernel);
	if (slot && (slot->values[STATE] -= 1u << 1) >> 1 == 0)
		opencl_map_remove(&map, kernel);
	opencl_unlock();
	return opencl_next->clReleaseKernel(kernel);
}

void opencl_programs_fill(struct _cl_icd_dispatch *table)
{
	table->clCreateKernel = create_kernel;
	table->clCreateKernelsInProgram = create_kernels;
	table->clCloneKernel = clone_kernel;
	table->clSetKernelArg = set_arg;
	table->clRetainKernel = retain;
	table->clReleaseKernel = release;
}
