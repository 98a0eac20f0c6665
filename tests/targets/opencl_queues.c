/* opencl_queues.c: two in-order queues, or one out of order.
 *
 * Usage: opencl_queues overlap|apart|unordered|build|abandon|left|killed|crowd|many N overlap: five kernels "spin" (of
 * one work-group, which takes a while) in each of two queues; no kernel waits for another; apart: as overlap, but each
 * kernel waits for the previous one in the other queue; unordered: four such kernels in one out-of-order queue, with an
 * event between the first two; build: a program of many functions is built, and no kernel is run; abandon: exits when
 * one kernel is finished and another is not; left, killed: as abandon, by _exit() and by SIGKILL; crowd: four threads
 * put 2000 kernels each into one queue and a queue out of order in turn, half of them with an event; many: N kernels
 * "spin" that do next to nothing, then ns a clEnqueueNDRangeKernel (the mean) on standard output, twice.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "opencl_known.h"

static const char source[] = "kernel void spin(global uint *x, uint times) { uint a = x[0];\n"
			     "  for (uint i = 0; i < times; i++) a = a * 1664525u + 1013904223u + (a >> 7);\n"
			     "  x[0] = a; }\n";

static struct opencl cl;

static cl_kernel spin_of(cl_mem x, cl_uint times)
{
	cl_kernel kernel = kernel_of(&cl, "spin");
	need(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
	need(clSetKernelArg(kernel, 1, sizeof times, &times), "clSetKernelArg");
	return kernel;
}

static void spin(cl_command_queue queue, cl_kernel kernel, const cl_event *after, cl_event *event)
{
	const size_t one = 1;
	need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, after ? 1 : 0, after, event), "spin");
	need(clFlush(queue), "clFlush");
}

static void two_queues(int is_apart)
{
	cl_command_queue queues[2] = {queue_of(&cl, 0), queue_of(&cl, CL_QUEUE_PROFILING_ENABLE)};
	cl_kernel kernels[2], warm = spin_of(buffer_of(&cl, 4, 0), 1);
	cl_event last = NULL;
	spin(queues[0], warm, NULL, NULL); /* it is compiled */
	need(clFinish(queues[0]), "clFinish");
	for (int i = 0; i < 2; i++)
		kernels[i] = spin_of(buffer_of(&cl, 4, 0), 20000000);
	for (int i = 0; i < 10; i++) {
		cl_event event, before = last;
		spin(queues[i % 2], kernels[i % 2], is_apart && before ? &before : NULL, &event);
		if (before)
			need(clReleaseEvent(before), "clReleaseEvent");
		last = event;
	}
	for (int i = 0; i < 2; i++)
		need(clFinish(queues[i]), "clFinish");
	cl_ulong end_ns = 0;
	need(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, NULL), "times");
	printf("times %d\n", end_ns != 0); /* the second queue has them */
}

static void unordered(void)
{
	cl_command_queue queue = queue_of(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_kernel kernel = spin_of(buffer_of(&cl, 4, 0), 1000000);
	cl_event first;
	spin(queue, kernel, NULL, &first);
	spin(queue, kernel, &first, NULL);
	spin(queue, kernel, NULL, NULL);
	spin(queue, kernel, NULL, NULL);
	need(clFinish(queue), "clFinish");
}

static void build(void)
{
	enum { FUNCTIONS = 200, SIZE = 1 << 16 };
	char *text = malloc(SIZE);
	size_t used = 0;
	for (int i = 0; i < FUNCTIONS; i++)
		used += (size_t)snprintf(
		    text + used, SIZE - used,
		    "kernel void f%d(global float *x) { for (int i = 0; i < %d; i++) x[i] = sin(x[i]) * "
		    "exp(x[i + %d]); }\n",
		    i, i + 3, i);
	uint64_t from_ns = now_ns();
	program_of(&cl, text);
	fprintf(stderr, "%llu\n", (unsigned long long)(now_ns() - from_ns));
	free(text);
}

static void abandon(void)
{
	cl_command_queue queue = queue_of(&cl, 0);
	spin(queue, spin_of(buffer_of(&cl, 4, 0), 1), NULL, NULL);
	need(clFinish(queue), "clFinish");
	spin(queue, spin_of(buffer_of(&cl, 4, 0), 200000000), NULL, NULL);
}

static void abandon_at_once(int is_killed)
{
	abandon();
	if (is_killed)
		raise(SIGKILL);
	_exit(6);
}

static cl_command_queue crowded[2];

static void *crowd_main(void *unused)
{
	const size_t one = 1;
	cl_kernel kernel = spin_of(buffer_of(&cl, 4, 0), 1);
	for (int i = 0; i < 2000; i++) {
		cl_event event = NULL;
		need(clEnqueueNDRangeKernel(crowded[i % 2], kernel, 1, NULL, &one, &one, 0, NULL,
					    i % 4 < 2 ? &event : NULL),
		     "spin");
		if (i % 100 == 1)
			need(clWaitForEvents(1, &event), "clWaitForEvents");
		if (event)
			need(clReleaseEvent(event), "clReleaseEvent");
		if (i % 150 == 149)
			need(clFinish(crowded[i % 2]), "clFinish");
	}
	return unused;
}

static void crowd(void)
{
	pthread_t threads[4];
	crowded[0] = queue_of(&cl, 0);
	crowded[1] = queue_of(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, crowd_main, NULL))
			exit(3);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		need(clFinish(crowded[i]), "clFinish");
}

static void many(int count)
{
	cl_command_queue queue = queue_of(&cl, 0);
	cl_kernel kernel = spin_of(buffer_of(&cl, 4, 0), 1);
	const size_t one = 1;
	for (int round = 0; round < 3; round++) {
		uint64_t ns = 0;
		for (int i = 0; i < count; i++) {
			uint64_t from_ns = now_ns();
			need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "spin");
			ns += now_ns() - from_ns;
			if (i % 500 == 499)
				need(clFinish(queue), "clFinish");
		}
		need(clFinish(queue), "clFinish");
		if (round)
			printf("%llu\n", (unsigned long long)(ns / (uint64_t)count));
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	opencl_open(&cl, source);
	if (!strcmp(mode, "overlap") || !strcmp(mode, "apart"))
		two_queues(!strcmp(mode, "apart"));
	else if (!strcmp(mode, "unordered"))
		unordered();
	else if (!strcmp(mode, "build"))
		build();
	else if (!strcmp(mode, "crowd"))
		crowd();
	else if (!strcmp(mode, "abandon"))
		abandon();
	else if (!strcmp(mode, "left") || !strcmp(mode, "killed"))
		abandon_at_once(!strcmp(mode, "killed"));
	else if (!strcmp(mode, "many") && argc > 2)
		many(atoi(argv[2]));
	else
		return 2;
	return 0;
}
