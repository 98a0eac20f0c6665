/* device_zones.c: allocates known sizes on a fictitious device inside zones, and reports its pool's reserve.
 *
 * Each block is reported as a driver would, with the time of the call. "load" runs twice, and each time allocates 1 MB
 * and keeps it; "step" allocates 4 MB itself and 2 MB in the zone "inner", and frees both; the pool has reserved 8 MB
 * from "step" on. "after", in another thread, starts with the 2 MB that are still live. At the end everything is freed.
 */
#include <pthread.h>
#include <time.h>

#include <sonde/device.h>

#define MB UINT64_C(1000000)

static uint32_t alloc, give, pool;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits a little between events, because the clock of zones and this one agree only to some 100 ns. */
static void rest(void)
{
	const struct timespec ms = {0, 1000000};
	nanosleep(&ms, NULL);
}

static void tell(uint32_t operation, uint64_t address, uint64_t size_b)
{
	rest();
	uint64_t at_ns = now_ns();
	sonde_activity_add(&(struct sonde_activity){
	    .operation = operation, .start_ns = at_ns, .end_ns = at_ns, .size_b = size_b, .address = address});
	rest();
}

static void load(uint64_t address)
{
	SONDE_ZONE("load");
	tell(alloc, address, MB);
}

static void step(void)
{
	SONDE_ZONE("step");
	tell(pool, 99, 8 * MB);
	tell(alloc, 3, 4 * MB);
	{
		SONDE_ZONE("inner");
		tell(alloc, 4, 2 * MB);
	}
	tell(give, 4, 0);
	tell(give, 3, 0);
}

static void *after(void *unused)
{
	SONDE_ZONE("after");
	rest();
	return unused;
}

int main(void)
{
	pthread_t thread;
	sonde_device_add(&(struct sonde_device_info){.api = "Own", .name = "toy", .memory_b = 1 << 30});
	alloc = sonde_operation_add(
	    &(struct sonde_operation_info){.kind = SONDE_OPERATION_ALLOC, .name = "take", .to = SONDE_MEMORY_DEVICE});
	give = sonde_operation_add(
	    &(struct sonde_operation_info){.kind = SONDE_OPERATION_FREE, .name = "give", .to = SONDE_MEMORY_DEVICE});
	pool = sonde_operation_add(
	    &(struct sonde_operation_info){.kind = SONDE_OPERATION_POOL, .name = "pool", .to = SONDE_MEMORY_DEVICE});
	load(1);
	load(2);
	step();
	if (pthread_create(&thread, NULL, after, NULL))
		return 1;
	pthread_join(thread, NULL);
	tell(give, 1, 0);
	tell(give, 2, 0);
	tell(pool, 99, 0);
	return 0;
}
