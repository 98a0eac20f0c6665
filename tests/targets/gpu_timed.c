/* gpu_timed.c: measures known kernels with sonde/gpu.h, and prints their own events' times next to them.
 *
 * Usage: gpu_timed WHAT; it prints lines of JSON for tests/cli/device/gpu-timers.sh:
 * one: a kernel that keeps the queue busy, then "spin" ten times, each in a scope: the time of the scope, and the time
 * of its event; nested: "outer" with two "inner" and a kernel between them; under way: what a reading says before it is
 * done, and that start and stop of many scopes do not wait; warmup: a loop with warm-up; plain: a queue without
 * profiling; fork: a child with its parent's timer.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/gpu.h>

#include "opencl_known.h"

static const char source[] = "kernel void spin(global uint *x, uint times) { uint a = x[0];\n"
			     "  for (uint i = 0; i < times; i++) a = a * 1664525u + 1013904223u + (a >> 7);\n"
			     "  x[0] = a; }\n";

static struct opencl cl;
static cl_mem memory;

static cl_event spin(cl_command_queue queue, cl_uint times)
{
	const size_t one = 1;
	cl_event event;
	cl_kernel kernel = kernel_of(&cl, "spin");
	need(clSetKernelArg(kernel, 0, sizeof memory, &memory), "clSetKernelArg");
	need(clSetKernelArg(kernel, 1, sizeof times, &times), "clSetKernelArg");
	need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &event), "spin");
	need(clReleaseKernel(kernel), "clReleaseKernel");
	return event;
}

static unsigned long long took_ns(cl_event event)
{
	cl_ulong from_ns = 0, to_ns = 0;
	need(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from_ns, &from_ns, NULL), "start");
	need(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to_ns, &to_ns, NULL), "end");
	return to_ns - from_ns;
}

static unsigned long long elapsed(struct sonde_gpu_timer *timer, const char *name, uint32_t repetition)
{
	uint64_t ns = 0;
	int code = sonde_gpu_elapsed(timer, name, repetition, &ns);
	if (code != SONDE_OK) {
		fprintf(stderr, "%s %u: %d: %s\n", name, repetition, code, sonde_gpu_why(timer));
		exit(4);
	}
	return ns;
}

static void good(int code, const struct sonde_gpu_timer *timer)
{
	if (code == SONDE_OK)
		return;
	fprintf(stderr, "%d: %s\n", code, sonde_gpu_why((struct sonde_gpu_timer *)(uintptr_t)timer));
	exit(5);
}

static void stats_print(struct sonde_gpu_timer *timer, const char *name)
{
	struct sonde_stats stats;
	good(sonde_gpu_stats(timer, name, &stats), timer);
	printf("{\"name\": \"%s\", \"count\": %llu, \"total_ns\": %llu, \"min_ns\": %llu, \"max_ns\": %llu, \"lost\": "
	       "%llu}\n",
	       stats.name, (unsigned long long)stats.count, (unsigned long long)stats.total_ns,
	       (unsigned long long)stats.min_ns, (unsigned long long)stats.max_ns,
	       (unsigned long long)sonde_gpu_lost(timer));
}

/* The queue is busy while all of them are enqueued: each starts when the previous one has ended. */
static void one(cl_command_queue queue, struct sonde_gpu_timer *timer)
{
	cl_event events[10];
	spin(queue, 50000000);
	for (int i = 0; i < 10; i++) {
		good(sonde_gpu_start(timer, "spin", queue), timer);
		events[i] = spin(queue, 10000000);
		good(sonde_gpu_stop(timer, "spin", queue), timer);
	}
	good(sonde_gpu_wait(timer), timer);
	for (uint32_t i = 0; i < 10; i++)
		printf("{\"timer_ns\": %llu, \"event_ns\": %llu}\n", elapsed(timer, "spin", i), took_ns(events[i]));
	stats_print(timer, "spin");
}

static void nested(cl_command_queue queue, struct sonde_gpu_timer *timer)
{
	spin(queue, 20000000);
	good(sonde_gpu_start(timer, "outer", queue), timer);
	for (int i = 0; i < 2; i++) {
		SONDE_GPU_SCOPE(timer, "inner", queue);
		spin(queue, 5000000);
	}
	cl_event rest = spin(queue, 20000000);
	good(sonde_gpu_stop(timer, "outer", queue), timer);
	printf("%d\n", sonde_gpu_stop(timer, "inner", queue)); /* no scope is open */
	good(sonde_gpu_wait(timer), timer);
	printf("{\"outer_ns\": %llu, \"inner_ns\": [%llu, %llu], \"rest_ns\": %llu}\n", elapsed(timer, "outer", 0),
	       elapsed(timer, "inner", 0), elapsed(timer, "inner", 1), took_ns(rest));
}

/* Measures a kernel that waits for an event which the program sets later. */
static void under_way(cl_command_queue queue, struct sonde_gpu_timer *timer)
{
	cl_int code;
	uint64_t ns = 12345;
	cl_event gate = clCreateUserEvent(cl.context, &code);
	need(code, "clCreateUserEvent");
	need(clEnqueueBarrierWithWaitList(queue, 1, &gate, NULL), "clEnqueueBarrierWithWaitList");
	int full = 0;
	for (int i = 0; i < 600; i++) {
		full += sonde_gpu_start(timer, "gated", queue) == SONDE_ERR_FULL;
		sonde_gpu_stop(timer, "gated", queue);
	}
	int early = sonde_gpu_elapsed(timer, "gated", 0, &ns), left = sonde_gpu_collect(timer);
	struct sonde_stats stats;
	printf("{\"full\": %d, \"early\": %d, \"untouched\": %d, \"left\": %d, \"stats\": %d}\n", full, early,
	       ns == 12345, left, sonde_gpu_stats(timer, "gated", &stats));
	need(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
	good(sonde_gpu_wait(timer), timer);
	stats_print(timer, "gated");
}

static void warmup(cl_command_queue queue)
{
	const struct sonde_gpu_options options = {.warmup = 2, .repeat = 5, .keep = 6, .synchronize = 1};
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_OPENCL, &options);
	uint64_t ns = 0;
	cl_uint round = 0;
	struct sonde_gpu_loop loop = {.timer = timer, .name = "loop", .stream = queue};
	for (; sonde_gpu_next(&loop); round++)
		spin(queue, round < 2 ? 20000000 : 1000000);
	struct sonde_gpu_loop again = {.timer = timer, .name = "loop", .stream = queue}, none = {.name = "none"};
	int rounds_again = 0, rounds_none = 0;
	while (sonde_gpu_next(&again))
		rounds_again++;
	while (sonde_gpu_next(&none))
		rounds_none++;
	printf("{\"rounds\": %u, \"again\": %d, \"none\": %d, \"first_ns\": %llu, \"beyond\": %d}\n", round,
	       rounds_again, rounds_none, elapsed(timer, "loop", 0), sonde_gpu_elapsed(timer, "loop", 6, &ns));
	stats_print(timer, "loop");
	sonde_gpu_timer_free(timer);
}

static void plain(struct sonde_gpu_timer *timer)
{
	printf("%d: ", sonde_gpu_start(timer, "plain", queue_of(&cl, 0)));
	puts(sonde_gpu_why(timer));
	struct sonde_gpu_timer *cuda = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	printf("%d: ", sonde_gpu_start(cuda, "none", NULL));
	puts(sonde_gpu_why(cuda));
	sonde_gpu_timer_free(cuda);
}

static void forked(cl_command_queue queue, struct sonde_gpu_timer *timer)
{
	int status = 0;
	good(sonde_gpu_start(timer, "parent", queue), timer);
	pid_t child = fork();
	if (!child) {
		int code = sonde_gpu_stop(timer, "parent", queue);
		sonde_gpu_timer_free(timer);
		_exit(code == SONDE_ERR_OFF ? 7 : 8);
	}
	waitpid(child, &status, 0);
	good(sonde_gpu_stop(timer, "parent", queue), timer);
	good(sonde_gpu_wait(timer), timer);
	printf("%d\n", WEXITSTATUS(status));
	stats_print(timer, "parent");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "one";
	opencl_open(&cl, source);
	memory = buffer_of(&cl, 4, 0);
	cl_command_queue queue = queue_of(&cl, CL_QUEUE_PROFILING_ENABLE);
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_OPENCL, NULL);
	need(clReleaseEvent(spin(queue, 1)), "clReleaseEvent");
	need(clFinish(queue), "clFinish"); /* the kernel is compiled by then */
	if (!strcmp(what, "one"))
		one(queue, timer);
	else if (!strcmp(what, "nested"))
		nested(queue, timer);
	else if (!strcmp(what, "under-way"))
		under_way(queue, timer);
	else if (!strcmp(what, "warmup"))
		warmup(queue);
	else if (!strcmp(what, "plain"))
		plain(timer);
	else if (!strcmp(what, "fork"))
		forked(queue, timer);
	sonde_gpu_timer_free(timer);
	need(clFinish(queue), "clFinish");
	return 0;
}
