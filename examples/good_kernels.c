/* good_kernels.c: OpenCL as it should be: input is copied once, large kernels follow each other in one queue, the
 * result is copied back at the end.
 *
 * sonde: nothing critical. It has no fix: `fixed` does the same.
 */
#include "opencl.h"

enum { ITEMS = 1 << 18, KERNELS = 16, GROUP = 256 };

static const char source[] = "kernel void blend(global uint *items) {\n"
			     "  uint value = items[get_global_id(0)];\n"
			     "  for (uint i = 0; i < 128; i++) value = (value ^ value >> 15) * 0x2c1b3c6du + i;\n"
			     "  items[get_global_id(0)] = value; }\n";

static uint32_t items[ITEMS];

int main(int argc, char **argv)
{
	struct opencl cl = opencl_open(source, "blend");
	cl_mem buffer = opencl_buffer(&cl, sizeof items);
	uint64_t sum = 0;
	is_fixed(argc, argv);
	for (uint32_t i = 0; i < ITEMS; i++)
		items[i] = i;
	need(clEnqueueWriteBuffer(cl.queue, buffer, CL_FALSE, 0, sizeof items, items, 0, NULL, NULL), "write");
	opencl_argument(&cl, 0, sizeof buffer, &buffer);
	for (int i = 0; i < KERNELS; i++)
		opencl_run(&cl, ITEMS, GROUP);
	need(clEnqueueReadBuffer(cl.queue, buffer, CL_TRUE, 0, sizeof items, items, 0, NULL, NULL), "read");
	for (size_t i = 0; i < ITEMS; i++)
		sum += items[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	clReleaseMemObject(buffer);
	opencl_close(&cl);
	return 0;
}
