/* opencl_loaded.c: a program that loads OpenCL itself, and releases what it has in unusual orders.
 *
 * Usage: opencl_loaded closed|context|queues|late closed: while five kernels "spin" are running, the program releases
 * everything, closes the loader and exits with code 4; context: as closed, but it waits for the callback that the
 * context is destroyed; queues: makes 1100 queues, more than are recorded, and prints how many report that they measure
 * times, which was not requested of any, and how many have times of a kernel.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "opencl_known.h"

enum { QUEUES = 1100 };

#define FUNCTIONS(DO)                 \
	DO(clGetPlatformIDs)          \
	DO(clGetDeviceIDs)            \
	DO(clCreateContext)           \
	DO(clCreateCommandQueue)      \
	DO(clCreateProgramWithSource) \
	DO(clBuildProgram)            \
	DO(clCreateKernel)            \
	DO(clCreateBuffer)            \
	DO(clSetKernelArg)            \
	DO(clEnqueueNDRangeKernel)    \
	DO(clFlush)                   \
	DO(clFinish)                  \
	DO(clGetCommandQueueInfo)     \
	DO(clGetEventProfilingInfo)   \
	DO(clReleaseEvent)            \
	DO(clReleaseKernel)           \
	DO(clReleaseProgram)          \
	DO(clReleaseMemObject)        \
	DO(clReleaseCommandQueue)     \
	DO(clReleaseContext)

static struct {
#define POINTER(name) __typeof__(&(name)) name;
	FUNCTIONS(POINTER)
	cl_int(CL_API_CALL *clSetContextDestructorCallback)(cl_context, void(CL_CALLBACK *)(cl_context, void *),
							    void *);
} call;

static const char source[] = "kernel void spin(global uint *x, uint times) { uint a = x[0];\n"
			     "  for (uint i = 0; i < times; i++) a = a * 1664525u + 1013904223u + (a >> 7);\n"
			     "  x[0] = a; }\n";

static void *loader;
static cl_device_id device;
static cl_context context;
static cl_program program;
static cl_kernel kernel;
static cl_mem memory;
static atomic_int is_gone;

static void find(const char *name, void *out)
{
	void *symbol = dlsym(loader, name);
	memcpy(out, &symbol, sizeof symbol);
	if (!symbol)
		exit(77);
}

static void begin(cl_uint times)
{
	const char *text = source;
	cl_platform_id platform;
	cl_uint count = 0;
	cl_int code;
	loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!loader)
		exit(77);
#define FIND(name) find(#name, &call.name);
	FUNCTIONS(FIND)
	if (call.clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || !count ||
	    call.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS || !count)
		exit(77);
	context = call.clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	need(code, "clCreateContext");
	program = call.clCreateProgramWithSource(context, 1, &text, NULL, &code);
	need(code, "clCreateProgramWithSource");
	need(call.clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = call.clCreateKernel(program, "spin", &code);
	need(code, "clCreateKernel");
	memory = call.clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &code);
	need(code, "clCreateBuffer");
	need(call.clSetKernelArg(kernel, 0, sizeof memory, &memory), "clSetKernelArg");
	need(call.clSetKernelArg(kernel, 1, sizeof times, &times), "clSetKernelArg");
}

static cl_command_queue queue_made(void)
{
	cl_int code;
	cl_command_queue queue = call.clCreateCommandQueue(context, device, 0, &code);
	need(code, "clCreateCommandQueue");
	return queue;
}

static void spin(cl_command_queue queue, cl_event *event)
{
	const size_t one = 1;
	need(call.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, event), "spin");
	need(call.clFlush(queue), "clFlush");
}

static void give_up(cl_command_queue queue)
{
	for (int i = 0; i < 5; i++)
		spin(queue, NULL);
	need(call.clReleaseKernel(kernel), "clReleaseKernel");
	need(call.clReleaseProgram(program), "clReleaseProgram");
	need(call.clReleaseMemObject(memory), "clReleaseMemObject");
	need(call.clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	need(call.clReleaseContext(context), "clReleaseContext");
}

static void CL_CALLBACK gone(cl_context unused, void *also_unused)
{
	(void)unused, (void)also_unused;
	is_gone = 1;
}

static void wait_until_gone(void)
{
	begin(20000000);
	find("clSetContextDestructorCallback", &call.clSetContextDestructorCallback);
	need(call.clSetContextDestructorCallback(context, gone, NULL), "clSetContextDestructorCallback");
	give_up(queue_made());
	for (int i = 0; i < 3000 && !is_gone; i++)
		usleep(10000);
	printf("the context is %s\n", is_gone ? "gone" : "there");
}

static void make_queues(void)
{
	static cl_command_queue queues[QUEUES];
	int marked = 0, timed = 0;
	begin(1);
	for (int i = 0; i < QUEUES; i++) {
		cl_command_queue_properties flags = 0;
		cl_event event;
		cl_ulong end_ns;
		queues[i] = queue_made();
		need(call.clGetCommandQueueInfo(queues[i], CL_QUEUE_PROPERTIES, sizeof flags, &flags, NULL), "flags");
		spin(queues[i], &event);
		need(call.clFinish(queues[i]), "clFinish");
		marked += flags != 0;
		timed += call.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, NULL) ==
			 CL_SUCCESS;
		need(call.clReleaseEvent(event), "clReleaseEvent");
	}
	printf("%d with flags, %d with times\n", marked, timed);
}

static cl_command_queue last;

static void finish_late(void)
{
	need(call.clFinish(last), "clFinish");
	puts("finished");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "late")) {
		atexit(finish_late);
		begin(20000000);
		last = queue_made();
		for (int i = 0; i < 5; i++)
			spin(last, NULL);
		return 4;
	}
	if (!strcmp(mode, "closed")) {
		begin(20000000);
		give_up(queue_made());
		printf("closed %d\n", dlclose(loader));
		return 4;
	}
	if (!strcmp(mode, "context"))
		wait_until_gone();
	else if (!strcmp(mode, "queues"))
		make_queues();
	else
		return 2;
	return 0;
}
