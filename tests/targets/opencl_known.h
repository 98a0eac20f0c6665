/* opencl_known.h: shared by the OpenCL targets. A failure ends the program with code 77 if there is no device, else
 * with 3 and a message. */
#ifndef OPENCL_KNOWN_H
#define OPENCL_KNOWN_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct opencl {
	cl_context context;
	cl_device_id device;
	cl_program program;
};

static inline void need(cl_int code, const char *what)
{
	if (code == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, code);
	exit(3);
}

static inline uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline cl_program program_of(const struct opencl *cl, const char *source)
{
	cl_int code;
	cl_program program = clCreateProgramWithSource(cl->context, 1, &source, NULL, &code);
	need(code, "clCreateProgramWithSource");
	need(clBuildProgram(program, 1, &cl->device, "", NULL, NULL), "clBuildProgram");
	return program;
}

static inline void opencl_open(struct opencl *cl, const char *source)
{
	cl_platform_id platform;
	cl_uint count = 0;
	cl_int code;
	if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || !count ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &cl->device, &count) != CL_SUCCESS || !count)
		exit(77);
	cl->context = clCreateContext(NULL, 1, &cl->device, NULL, NULL, &code);
	need(code, "clCreateContext");
	cl->program = program_of(cl, source);
}

static inline cl_command_queue queue_of(const struct opencl *cl, cl_command_queue_properties flags)
{
	cl_int code;
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, flags, 0};
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(cl->context, cl->device, flags ? list : NULL, &code);
	need(code, "clCreateCommandQueueWithProperties");
	return queue;
}

static inline cl_kernel kernel_of(const struct opencl *cl, const char *name)
{
	cl_int code;
	cl_kernel kernel = clCreateKernel(cl->program, name, &code);
	need(code, "clCreateKernel");
	return kernel;
}

static inline cl_mem buffer_of(const struct opencl *cl, size_t size_b, cl_mem_flags flags)
{
	cl_int code;
	cl_mem buffer = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | flags, size_b, NULL, &code);
	need(code, "clCreateBuffer");
	return buffer;
}

#endif
