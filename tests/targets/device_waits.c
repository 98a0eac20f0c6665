/* device_waits.c: a host that works, submits work to a fictitious device, works at the same time, and waits for it.
 *
 * Work is CPU time. First a zone "before" (20 ms), then kernel "alone" is submitted; a zone "beside" (10 ms) while it
 * runs; a wait of some 60 ms, which ends 1 ms after the kernel. Then copy "up" and kernel "behind" are submitted to one
 * in-order queue, and a wait for both follows. Then the main thread waits while another thread, "asker", works 20 ms in
 * a zone "late" and submits kernel "other". The last zone is "after" (10 ms). Prints for each of the four operations,
 * in ns, its name, its duration, and the delay from when it was submitted, or could begin, to its start. Activities are
 * reported when they are known, with the times at which they happened.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sonde/device.h>
#include <sonde/sonde.h>

#define MS UINT64_C(1000000)

static uint32_t queue, wait_call, asker;
static uint64_t requested_ns;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void work(uint64_t ms)
{
	uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * MS;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (volatile int i = 0; i < 1000; i++) {
		}
}

static void nap(uint64_t ms)
{
	const struct timespec time = {0, (long)(ms * MS)};
	nanosleep(&time, NULL);
}

static void tell(uint32_t kind, const char *name, uint32_t tid, uint64_t start_ns, uint64_t end_ns, uint64_t free_ns)
{
	uint32_t operation = sonde_operation_add(&(struct sonde_operation_info){.kind = kind, .name = name});
	sonde_activity_add(&(struct sonde_activity){.operation = operation,
						    .queue = queue,
						    .tid = tid,
						    .queued_ns = requested_ns,
						    .start_ns = start_ns,
						    .end_ns = end_ns});
	printf("%s %llu %llu\n", name, (unsigned long long)(end_ns - start_ns),
	       (unsigned long long)(start_ns - (free_ns > requested_ns ? free_ns : requested_ns)));
}

static void tell_wait(uint64_t from_ns)
{
	sonde_activity_add(&(struct sonde_activity){.operation = wait_call, .start_ns = from_ns, .end_ns = now_ns()});
}

static void alone(void)
{
	requested_ns = now_ns();
	{
		SONDE_ZONE("beside");
		work(10);
	}
	uint64_t from_ns = now_ns();
	nap(60);
	tell(SONDE_OPERATION_KERNEL, "alone", 0, requested_ns + 5 * MS, now_ns() - MS, 0);
	tell_wait(from_ns);
}

static void in_order(void)
{
	requested_ns = now_ns();
	uint64_t from_ns = now_ns(), up_ns = requested_ns + 2 * MS;
	nap(40);
	tell(SONDE_OPERATION_COPY, "up", 0, up_ns, up_ns + 20 * MS, 0);
	tell(SONDE_OPERATION_KERNEL, "behind", 0, up_ns + 23 * MS, now_ns() - MS, up_ns + 20 * MS);
	tell_wait(from_ns);
}

static void *ask(void *unused)
{
	asker = (uint32_t)syscall(SYS_gettid);
	{
		SONDE_ZONE("late");
		work(20);
	}
	requested_ns = now_ns();
	return unused;
}

static void other(void)
{
	pthread_t thread;
	uint64_t from_ns = now_ns();
	if (pthread_create(&thread, NULL, ask, NULL))
		return;
	pthread_setname_np(thread, "asker");
	pthread_join(thread, NULL);
	nap(150); /* by then the thread, about which more is reported, is known to have ended */
	tell(SONDE_OPERATION_KERNEL, "other", asker, requested_ns + 4 * MS, now_ns() - MS, 0);
	tell_wait(from_ns);
}

int main(void)
{
	uint32_t device = sonde_device_add(&(struct sonde_device_info){.api = "Own", .name = "toy"});
	queue = sonde_queue_add(&(struct sonde_queue_info){.device = device, .name = "first"});
	wait_call = sonde_operation_add(&(struct sonde_operation_info){.kind = SONDE_OPERATION_SYNC, .name = "wait"});
	{
		SONDE_ZONE("before");
		work(20);
	}
	alone();
	in_order();
	other();
	{
		SONDE_ZONE("after");
		work(10);
	}
	return 0;
}
