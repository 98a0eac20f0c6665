/* opencl_known.c: OpenCL with known kernels, sizes and bytes.
 *
 * Usage: opencl_known [exit|leave|fork|fail|threads]
 * Writes 4 MB, blocking; fills 1 MB; runs "scale" 50 times on 262,144 items in groups of 64, "sums" 10 times on 100
 * in groups of 32 with 4,000 B of local memory, "tiny" 7 times on 16 as the driver likes; copies 256 KB; reads 4 MB,
 * blocking; maps 1 MB, pinned, writes 64 KB from there, and unmaps; a marker; clFinish. Prints a sum of what came out,
 * what it sees of its queue, and the ns that 50 × scale took from the first call to the end of clFinish (to stderr).
 * exit: without releasing; leave: by _exit; fork: a child that only exits, in the middle; fail: a command waits for an
 * event that fails; threads: four threads run "scale" 50 times each.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opencl_known.h"

enum { ITEMS = 1 << 20, MB = 1 << 20, SCALES = 262144, THREADS = 4 };

static const char source[] = "kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }\n"
			     "kernel void sums(global float *x, local float *part) {\n"
			     "  part[get_local_id(0)] = x[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
			     "  if (!get_local_id(0)) x[get_global_id(0)] = part[0] + part[1]; }\n"
			     "kernel void tiny(global float *x) { x[get_global_id(0)] += 1; }\n";

static struct opencl cl;
static float host[ITEMS];

static void scale(cl_command_queue queue, cl_mem x, int times)
{
	cl_kernel kernel = kernel_of(&cl, "scale");
	const size_t global = SCALES, local = 64;
	const float by = 1;
	need(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
	need(clSetKernelArg(kernel, 1, sizeof by, &by), "clSetKernelArg");
	for (int i = 0; i < times; i++)
		need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "scale");
	need(clReleaseKernel(kernel), "clReleaseKernel");
}

static void others(cl_command_queue queue, cl_mem x)
{
	cl_kernel sums = kernel_of(&cl, "sums"), tiny = kernel_of(&cl, "tiny");
	const size_t global = 96, local = 32, few[3] = {4, 2, 2};
	need(clSetKernelArg(sums, 0, sizeof x, &x), "clSetKernelArg");
	need(clSetKernelArg(sums, 1, 4000, NULL), "clSetKernelArg");
	need(clSetKernelArg(tiny, 0, sizeof x, &x), "clSetKernelArg");
	for (int i = 0; i < 10; i++)
		need(clEnqueueNDRangeKernel(queue, sums, 1, NULL, &global, &local, 0, NULL, NULL), "sums");
	for (int i = 0; i < 7; i++)
		need(clEnqueueNDRangeKernel(queue, tiny, 3, NULL, few, NULL, 0, NULL, NULL), "tiny");
	need(clReleaseKernel(sums), "clReleaseKernel");
	need(clReleaseKernel(tiny), "clReleaseKernel");
}

static void move(cl_command_queue queue, cl_mem x, cl_mem y, cl_mem pinned)
{
	cl_event event;
	cl_int code;
	need(clEnqueueCopyBuffer(queue, x, y, 0, 0, 256 << 10, 0, NULL, &event), "copy");
	need(clWaitForEvents(1, &event), "clWaitForEvents");
	need(clReleaseEvent(event), "clReleaseEvent");
	need(clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
	char *at = clEnqueueMapBuffer(queue, pinned, CL_TRUE, CL_MAP_WRITE, 0, MB, 0, NULL, NULL, &code);
	need(code, "map");
	memset(at, 0, MB);
	need(clEnqueueWriteBuffer(queue, y, CL_FALSE, 0, 64 << 10, at + 4096, 0, NULL, NULL), "write");
	need(clFinish(queue), "clFinish");
	need(clEnqueueUnmapMemObject(queue, pinned, at, 0, NULL, NULL), "unmap");
	need(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL), "marker");
	need(clFinish(queue), "clFinish");
}

/* Prints the properties that the program sees of its queue; it did not request profiling. */
static void print_seen(cl_command_queue queue, cl_mem x)
{
	cl_command_queue_properties flags = 99;
	cl_queue_properties list[8] = {99};
	cl_ulong time_ns;
	cl_uint references = 0;
	cl_event event;
	size_t list_b = 99;
	float one;
	need(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof flags, &flags, NULL), "info");
	cl_int listed = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &list_b);
	need(clEnqueueReadBuffer(queue, x, CL_FALSE, 0, sizeof one, &one, 0, NULL, &event), "read");
	need(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL), "count");
	need(clFinish(queue), "clFinish");
	cl_int timed = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time_ns, &time_ns, NULL);
	printf("flags %u, list %d of %zu bytes, times %d\n", (unsigned)flags, listed, listed ? 0 : list_b, timed);
	need(clReleaseEvent(event), "clReleaseEvent");
}

static void fail(cl_command_queue queue, cl_mem x)
{
	cl_int code, status = 0;
	cl_event gate = clCreateUserEvent(cl.context, &code), event;
	need(code, "clCreateUserEvent");
	need(clEnqueueReadBuffer(queue, x, CL_FALSE, 0, 4096, host, 1, &gate, &event), "read");
	need(clSetUserEventStatus(gate, -5), "clSetUserEventStatus");
	clWaitForEvents(1, &event);
	need(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL), "status");
	printf("status %s\n", status < 0 ? "failed" : "fine");
	clReleaseEvent(event);
	clReleaseEvent(gate);
}

static void *thread_main(void *unused)
{
	cl_command_queue queue = queue_of(&cl, 0);
	cl_mem x = buffer_of(&cl, sizeof host, 0);
	const float zero = 0;
	need(clEnqueueFillBuffer(queue, x, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL), "fill");
	scale(queue, x, 50);
	need(clFinish(queue), "clFinish");
	need(clReleaseMemObject(x), "clReleaseMemObject");
	need(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	return unused;
}

static void in_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, NULL))
			exit(3);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void in_child(void)
{
	pid_t pid = fork();
	if (!pid)
		exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(3);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const float two = 2;
	double sum = 0;
	opencl_open(&cl, source);
	cl_command_queue queue = queue_of(&cl, 0);
	cl_mem x = buffer_of(&cl, sizeof host, 0), y = buffer_of(&cl, MB, 0);
	cl_mem pinned = buffer_of(&cl, MB, CL_MEM_ALLOC_HOST_PTR);
	for (int i = 0; i < ITEMS; i++)
		host[i] = (float)(i % 7);
	need(clEnqueueWriteBuffer(queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "write");
	need(clEnqueueFillBuffer(queue, y, &two, sizeof two, 0, MB, 0, NULL, NULL), "fill");
	uint64_t from_ns = now_ns();
	scale(queue, x, 50);
	need(clFinish(queue), "clFinish");
	fprintf(stderr, "%llu\n", (unsigned long long)(now_ns() - from_ns));
	if (!strcmp(mode, "fork"))
		in_child();
	others(queue, x);
	move(queue, x, y, pinned);
	print_seen(queue, x);
	for (int i = 0; i < ITEMS; i++)
		sum += (double)host[i];
	printf("sum %.1f\n", sum);
	if (!strcmp(mode, "fail"))
		fail(queue, x);
	if (!strcmp(mode, "threads"))
		in_threads();
	fflush(stdout);
	if (!strcmp(mode, "leave"))
		_exit(5);
	if (!strcmp(mode, "exit"))
		return 5;
	need(clReleaseMemObject(x), "clReleaseMemObject");
	need(clReleaseMemObject(y), "clReleaseMemObject");
	need(clReleaseMemObject(pinned), "clReleaseMemObject");
	need(clReleaseProgram(cl.program), "clReleaseProgram");
	need(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	need(clReleaseContext(cl.context), "clReleaseContext");
	return 0;
}
