/* opencl.h: shared by the examples that use OpenCL: the first device, one program, and one of its kernels. If anything
 * fails, the program exits with the reason; without a device it exits with code 77. */
#ifndef SONDE_EXAMPLE_OPENCL_H
#define SONDE_EXAMPLE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "example.h"

struct opencl {
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
};

static inline void need(cl_int code, const char *what)
{
	if (code == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, code);
	exit(1);
}

static inline struct opencl opencl_open(const char *source, const char *kernel)
{
	struct opencl cl;
	cl_platform_id platform;
	cl_device_id device;
	cl_uint count = 0;
	cl_int code;
	if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || !count ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS || !count) {
		fprintf(stderr, "there is no OpenCL device\n");
		exit(77);
	}
	cl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	need(code, "clCreateContext");
	cl.queue = clCreateCommandQueue(cl.context, device, 0, &code);
	need(code, "clCreateCommandQueue");
	cl_program program = clCreateProgramWithSource(cl.context, 1, &source, NULL, &code);
	need(code, "clCreateProgramWithSource");
	need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	cl.kernel = clCreateKernel(program, kernel, &code);
	need(code, "clCreateKernel");
	clReleaseProgram(program);
	return cl;
}

static inline cl_mem opencl_buffer(const struct opencl *cl, size_t size_b)
{
	cl_int code;
	cl_mem buffer = clCreateBuffer(cl->context, CL_MEM_READ_WRITE, size_b, NULL, &code);
	need(code, "clCreateBuffer");
	return buffer;
}

static inline void opencl_argument(const struct opencl *cl, cl_uint number, size_t size_b, const void *value)
{
	need(clSetKernelArg(cl->kernel, number, size_b, value), "clSetKernelArg");
}

static inline void opencl_run(const struct opencl *cl, size_t items, size_t group)
{
	need(clEnqueueNDRangeKernel(cl->queue, cl->kernel, 1, NULL, &items, &group, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
}

static inline void opencl_close(struct opencl *cl)
{
	clReleaseKernel(cl->kernel);
	clReleaseCommandQueue(cl->queue);
	clReleaseContext(cl->context);
}

#endif
