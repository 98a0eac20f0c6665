/* device_told.c: reports the work of a fictitious device, with known times, from several threads.
 *
 * There are two queues, and all work lies within 100 ms from `base` on, the time of the start: "alpha" runs 10 times
 * for 5 ms in the first queue, each time requested 1 ms before; in the second, "beta" runs once for 30 ms, and a copy
 * of 4 MB takes 2 ms. The host waits 20 ms for the device in the end. With an argument the device is a GPU of that
 * number, with the same UUID. The activities are reported in an order of their own by another thread than the thread
 * that requested them, whose number is printed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sonde/device.h>

#define MS UINT64_C(1000000)

static uint64_t base_ns;
static uint32_t asker, queues[2], alpha, beta, copy, sync_call;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int tell(uint32_t operation, uint32_t queue, uint64_t at_ms, uint64_t ms, uint64_t size_b)
{
	return sonde_activity_add(&(struct sonde_activity){.operation = operation,
							   .queue = queue,
							   .tid = asker,
							   .queued_ns = base_ns + (at_ms - 1) * MS,
							   .submitted_ns = base_ns + at_ms * MS - MS / 2,
							   .start_ns = base_ns + at_ms * MS,
							   .end_ns = base_ns + (at_ms + ms) * MS,
							   .correlation = at_ms,
							   .size_b = size_b});
}

static void *tell_all(void *unused)
{
	sonde_call_stack(95); /* of the copy: the program ends before anybody has read it */
	tell(beta, queues[1], 20, 30, 0);
	for (uint64_t i = 10; i-- > 0;)
		tell(alpha, queues[0], 1 + 8 * i, 5, 0);
	tell(copy, queues[0], 95, 2, 4000000);
	tell(sync_call, 0, 80, 20, 0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	const struct timespec rest = {0, 150000000};
	base_ns = now_ns();
	asker = (uint32_t)syscall(SYS_gettid);
	uint32_t device =
	    sonde_device_add(&(struct sonde_device_info){.api = "Own",
							 .name = "toy <b>",
							 .uuid = "toy-1",
							 .kind = argc > 1 ? SONDE_DEVICE_GPU : SONDE_DEVICE_ACCELERATOR,
							 .index = argc > 1 ? (uint32_t)atoi(argv[1]) : 0,
							 .units = 4,
							 .memory_b = 1 << 30});
	queues[0] = sonde_queue_add(&(struct sonde_queue_info){.device = device, .handle = 7, .name = "first"});
	queues[1] = sonde_queue_add(&(struct sonde_queue_info){.device = device, .handle = 8});
	alpha = sonde_operation_add(&(struct sonde_operation_info){.kind = SONDE_OPERATION_KERNEL,
								   .name = "_Z5alphaPfi",
								   .grid = {64, 1, 1},
								   .block = {256, 1, 1},
								   .registers = 32});
	beta = sonde_operation_add(&(struct sonde_operation_info){.kind = SONDE_OPERATION_KERNEL, .name = "beta"});
	copy = sonde_operation_add(&(struct sonde_operation_info){
	    .kind = SONDE_OPERATION_COPY, .name = "upload", .from = SONDE_MEMORY_PAGEABLE, .to = SONDE_MEMORY_DEVICE});
	sync_call = sonde_operation_add(&(struct sonde_operation_info){.kind = SONDE_OPERATION_SYNC, .name = "wait"});
	nanosleep(&rest, NULL);
	if (pthread_create(&thread, NULL, tell_all, NULL))
		return 1;
	pthread_join(thread, NULL);
	printf("%u\n", asker);
	return 0;
}
