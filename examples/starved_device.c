/* starved_device.c: trains on batches that the host decodes, one after the other: the device waits while a batch is
 * decoded, and the host waits while that batch is processed.
 *
 * sonde: device-starved: decode() takes as long as the kernel, and the device is idle meanwhile.
 * Fix: the next batch is decoded while the device processes this one: two alternating buffers.
 */
#include "opencl.h"

enum { BATCHES = 24, BATCH = 4096, DECODE_ROUNDS = 2200, GROUP = BATCH };

static const char source[] =
    "kernel void train(global const ulong *batch, global ulong *sums) {\n"
    "  ulong value = batch[get_global_id(0)];\n"
    "  for (uint i = 0; i < 2200; i++) value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9ul + i;\n"
    "  sums[get_global_id(0)] += value; }\n";

static uint64_t host[2][BATCH];

NO_INLINE static void decode(uint64_t *batch, uint64_t number)
{
	for (uint64_t i = 0; i < BATCH; i++)
		batch[i] = mix(number * BATCH + i, DECODE_ROUNDS);
}

static void train(const struct opencl *cl, cl_mem batch, const uint64_t *from)
{
	opencl_argument(cl, 0, sizeof batch, &batch);
	need(clEnqueueWriteBuffer(cl->queue, batch, CL_FALSE, 0, sizeof host[0], from, 0, NULL, NULL), "write");
	opencl_run(cl, BATCH, GROUP);
	need(clFlush(cl->queue), "clFlush");
}

int main(int argc, char **argv)
{
	static uint64_t sums[BATCH];
	bool fixed = is_fixed(argc, argv);
	struct opencl cl = opencl_open(source, "train");
	cl_mem batch[2] = {opencl_buffer(&cl, sizeof host[0]), opencl_buffer(&cl, sizeof host[0])};
	cl_mem results = opencl_buffer(&cl, sizeof sums);
	uint64_t sum = 0;
	need(clEnqueueWriteBuffer(cl.queue, results, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL), "write");
	opencl_argument(&cl, 1, sizeof results, &results);
	for (uint64_t i = 0; i < BATCHES; i++) {
		decode(host[i % 2], i);
		if (fixed)
			need(clFinish(cl.queue), "clFinish"); /* of the previous batch */
		train(&cl, batch[i % 2], host[i % 2]);
		if (!fixed)
			need(clFinish(cl.queue), "clFinish");
	}
	need(clEnqueueReadBuffer(cl.queue, results, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL), "read");
	for (size_t i = 0; i < BATCH; i++)
		sum += sums[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	for (int i = 0; i < 2; i++)
		clReleaseMemObject(batch[i]);
	clReleaseMemObject(results);
	opencl_close(&cl);
	return 0;
}
