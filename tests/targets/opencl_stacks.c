/* opencl_stacks.c: the same kernels, copies and buffers, submitted in several functions.
 *
 * Usage: opencl_stacks N [private]
 * `assemble` launches "spin" 3 N times and `solve` N times, in turn and by the same function `launch`, with other
 * figures on the stack each time; `upload` writes 4096 bytes N times; `prepare` makes two buffers of 1 MiB; a thread
 * launches N times in `thread_main`, and a coroutine, on a stack that is not its thread's, N times in `stackless`;
 * `deep` launches N times beneath 200 calls of itself. `private`: nobody may read the process's memory. Standard
 * output: of each that launches, its name, how often, and ns of the kernels as the driver has them.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "no_inline.h"
#include "opencl_known.h"

static const char source[] = "kernel void spin(global uint *x, uint times) { uint a = x[0];\n"
			     "  for (uint i = 0; i < times; i++) a = a * 1664525u + 1013904223u + (a >> 7);\n"
			     "  x[0] = a; }\n";

struct sum {
	const char *name;
	unsigned count;
	uint64_t ns;
};

static struct opencl cl;
static cl_command_queue queue;
static cl_kernel kernel;
static int times;
static struct sum assembled = {"assemble", 0, 0}, solved = {"solve", 0, 0}, threaded = {"thread_main", 0, 0},
		  stackless_sum = {"stackless", 0, 0}, deep_sum = {"deep", 0, 0};

/* Launches the kernel; what the function leaves on the stack differs from call to call. */
NO_INLINE static void launch(struct sum *sum)
{
	const size_t one = 1;
	volatile uint64_t noise[8];
	cl_ulong from_ns = 0, to_ns = 0;
	cl_event event;
	for (int i = 0; i < 8; i++)
		noise[i] = now_ns() << (20 + i);
	need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &event), "spin");
	need(clWaitForEvents(1, &event), "clWaitForEvents");
	need(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from_ns, &from_ns, NULL), "start");
	need(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to_ns, &to_ns, NULL), "end");
	need(clReleaseEvent(event), "clReleaseEvent");
	sum->count += noise[0] != 0;
	sum->ns += to_ns - from_ns;
}

NO_INLINE static void assemble(void)
{
	for (int i = 0; i < 3; i++)
		launch(&assembled);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

NO_INLINE static void solve(void)
{
	launch(&solved);
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static void deep(int left)
{
	if (left)
		deep(left - 1);
	else
		launch(&deep_sum);
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static void upload(cl_mem buffer)
{
	static char bytes[4096];
	for (int i = 0; i < times; i++)
		need(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL), "write");
	__asm__ volatile("" ::: "memory");
}

NO_INLINE static cl_mem prepare(void)
{
	cl_mem first = buffer_of(&cl, 1 << 20, 0);
	need(clReleaseMemObject(buffer_of(&cl, 1 << 20, 0)), "clReleaseMemObject");
	return first;
}

static void *thread_main(void *unused)
{
	for (int i = 0; i < times; i++)
		launch(&threaded);
	return unused;
}

static ucontext_t outside, inside;

static void stackless(void)
{
	for (int i = 0; i < times; i++)
		launch(&stackless_sum);
	__asm__ volatile("" ::: "memory");
}

static void run_stackless(void)
{
	enum { SIZE = 1 << 16, GUARD = 1 << 16 }; /* the guard behind the stack is unreadable */
	char *stack = mmap(NULL, SIZE + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack + SIZE, GUARD, PROT_NONE))
		exit(3);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = SIZE;
	inside.uc_link = &outside;
	makecontext(&inside, stackless, 0);
	swapcontext(&outside, &inside);
	munmap(stack, SIZE + GUARD);
}

int main(int argc, char **argv)
{
	const struct sum *const sums[] = {&assembled, &solved, &threaded, &stackless_sum, &deep_sum};
	const cl_uint spins = 2000;
	pthread_t thread;
	times = argc > 1 ? atoi(argv[1]) : 1;
	if (argc > 2 && !strcmp(argv[2], "private"))
		prctl(PR_SET_DUMPABLE, 0);
	opencl_open(&cl, source);
	queue = queue_of(&cl, CL_QUEUE_PROFILING_ENABLE);
	kernel = kernel_of(&cl, "spin");
	cl_mem buffer = prepare();
	need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
	need(clSetKernelArg(kernel, 1, sizeof spins, &spins), "clSetKernelArg");
	upload(buffer);
	for (int i = 0; i < times; i++) {
		assemble();
		solve();
		deep(200);
	}
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 3;
	pthread_join(thread, NULL);
	run_stackless();
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		printf("%s %u %llu\n", sums[i]->name, sums[i]->count, (unsigned long long)sums[i]->ns);
	return 0;
}
