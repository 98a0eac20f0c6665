/* tiny_kernels.c: moves particles for some thousand steps, with a kernel for each step of a few particles: launching
 * takes longer than moving.
 *
 * sonde: tiny-kernels: thousands of kernels of some microseconds, with gaps as long between them.
 * Fix: one kernel makes all steps of all particles.
 */
#include "opencl.h"

enum { PARTICLES = 256, STEPS = 12000, GROUP = 128 };

static const char source[] = "kernel void move(global uint *particles, uint steps) {\n"
			     "  uint value = particles[get_global_id(0)];\n"
			     "  for (uint i = 0; i < steps; i++) value = value * 1664525u + 1013904223u;\n"
			     "  particles[get_global_id(0)] = value; }\n";

int main(int argc, char **argv)
{
	static uint32_t particles[PARTICLES];
	bool fixed = is_fixed(argc, argv);
	struct opencl cl = opencl_open(source, "move");
	cl_mem buffer = opencl_buffer(&cl, sizeof particles);
	cl_uint steps = fixed ? STEPS : 1;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < PARTICLES; i++)
		particles[i] = i;
	need(clEnqueueWriteBuffer(cl.queue, buffer, CL_TRUE, 0, sizeof particles, particles, 0, NULL, NULL), "write");
	opencl_argument(&cl, 0, sizeof buffer, &buffer);
	opencl_argument(&cl, 1, sizeof steps, &steps);
	for (cl_uint done = 0; done < STEPS; done += steps) {
		opencl_run(&cl, PARTICLES, GROUP);
		need(clFinish(cl.queue), "clFinish");
	}
	need(clEnqueueReadBuffer(cl.queue, buffer, CL_TRUE, 0, sizeof particles, particles, 0, NULL, NULL), "read");
	for (size_t i = 0; i < PARTICLES; i++)
		sum += particles[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	clReleaseMemObject(buffer);
	opencl_close(&cl);
	return 0;
}
