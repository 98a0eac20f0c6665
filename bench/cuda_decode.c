/* cuda_decode.c: cuda_decode N: prints how many seconds decoding N of CUPTI's kernel records takes on one core, without
 * reporting them; then the same with an additional record of each launching call.
 *
 * The records are like those of a training loop: 40 kernels in turn, with names like those of templates, 12 streams,
 * buffers of 4 MB.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/cuda/abi.h"
#include "inject/cuda/decode.h"

#define BUFFER_B ((size_t)4 << 20)
#define KERNELS 40u
#define NAME_B 200u
#define RECORD_MAX_B 256u

static uint64_t told;
static uint32_t given;
static char names[KERNELS][NAME_B + 1];

static uint32_t add_device(const struct sonde_device_info *info)
{
	return info ? ++given : 0;
}

static uint32_t add_queue(const struct sonde_queue_info *info)
{
	return info ? ++given : 0;
}

static uint32_t add_operation(const struct sonde_operation_info *info)
{
	return info ? ++given : 0;
}

static int add_activity(const struct sonde_activity *activity)
{
	told += activity->end_ns > activity->start_ns;
	return 0;
}

static int add_lost(const char *cause, uint64_t count)
{
	fprintf(stderr, "%s: %llu\n", cause, (unsigned long long)count);
	return 0;
}

#define PUT(record, field, value)                                        \
	do {                                                             \
		__typeof__(value) value_ = (value);                      \
		memcpy((record) + CUDA_##field, &value_, sizeof value_); \
	} while (0)

static size_t put_kernel(uint8_t *record, uint32_t i)
{
	uint8_t fresh[RECORD_MAX_B] = {CUDA_KIND_CONCURRENT_KERNEL};
	size_t size_b = cuda_record_b(CUDA_13_0, CUDA_KIND_CONCURRENT_KERNEL);
	PUT(fresh, Kernel10_name, (const char *)names[i % KERNELS]);
	PUT(fresh, Kernel10_start, (uint64_t)i * 1000 + 1);
	PUT(fresh, Kernel10_end, (uint64_t)i * 1000 + 900);
	PUT(fresh, Kernel10_streamId, i % 12);
	PUT(fresh, Kernel10_correlationId, i + 1);
	PUT(fresh, Kernel10_gridX, i % KERNELS * 16 + 1);
	PUT(fresh, Kernel10_blockX, 256u);
	memcpy(record, fresh, size_b);
	return size_b;
}

static size_t put_call(uint8_t *record, uint32_t i)
{
	uint8_t fresh[RECORD_MAX_B] = {CUDA_KIND_RUNTIME};
	size_t size_b = cuda_record_b(CUDA_13_0, CUDA_KIND_RUNTIME);
	PUT(fresh, API_cbid, 211u);
	PUT(fresh, API_start, (uint64_t)i * 1000 + 1);
	PUT(fresh, API_end, (uint64_t)i * 1000 + 10);
	PUT(fresh, API_threadId, 1u);
	PUT(fresh, API_correlationId, i + 1);
	memcpy(record, fresh, size_b);
	return size_b;
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns the seconds; -1 if not all records were reported. */
static double decode(uint32_t count, int has_calls)
{
	static const struct cuda_out out = {add_device, add_queue, add_operation, add_activity, add_lost};
	struct cuda_decoder *decoder = cuda_decoder_new(&out, CUDA_13_0);
	uint8_t *buffer = malloc(BUFFER_B);
	double taken_s = 0;
	told = 0;
	for (uint32_t i = 0; decoder && buffer && i < count;) {
		size_t used_b = 0;
		for (; i < count && used_b + 2 * RECORD_MAX_B <= BUFFER_B; i++) {
			used_b += put_kernel(buffer + used_b, i);
			used_b += has_calls ? put_call(buffer + used_b, i) : 0;
		}
		double begin_s = now_s();
		cuda_decode(decoder, buffer, used_b, CUDA_PASS_FACTS, NULL);
		cuda_decode(decoder, buffer, used_b, CUDA_PASS_WORK, NULL);
		taken_s += now_s() - begin_s;
	}
	cuda_decoder_settle(decoder);
	cuda_decoder_free(decoder);
	free(buffer);
	return told == (uint64_t)count * (has_calls ? 2 : 1) ? taken_s : -1;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1000000;
	for (uint32_t i = 0; i < KERNELS; i++) {
		memset(names[i], 'x', NAME_B);
		snprintf(names[i], NAME_B, "_ZN2at6native%u", i);
		names[i][strlen(names[i])] = 'x';
	}
	double alone_s = decode(count, 0), both_s = decode(count, 1);
	printf("%.6f\n%.6f\n", alone_s, both_s);
	return alone_s < 0 || both_s < 0;
}
