/* cuda_timed.c: times known work by sonde/gpu.h on a driver that stands in for CUDA's (cuda_stand_in.c), which it loads
 * as programs do. Usage: cuda_timed LIBRARY; prints what tests/cli/gpu-timers-cuda.sh knows.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/gpu.h>

#define MS UINT64_C(1000000)

static void (*launch)(void *stream, uint64_t ns);
static void (*run)(uint64_t until_ns);
static void (*capture)(void *stream, int yes);
static void (*context)(int current);
static void (*context_destroy)(int which);
static unsigned (*count)(char what);

static void *const first = (void *)(uintptr_t)3, *const second = (void *)(uintptr_t)4;
static uint64_t device_ns; /* when the device is done with all that is launched */

static void *library_open(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	if (!library)
		exit(3);
	launch = (void (*)(void *, uint64_t))dlsym(library, "stand_in_launch");
	run = (void (*)(uint64_t))dlsym(library, "stand_in_run");
	capture = (void (*)(void *, int))dlsym(library, "stand_in_capture");
	context = (void (*)(int))dlsym(library, "stand_in_context");
	context_destroy = (void (*)(int))dlsym(library, "stand_in_context_destroy");
	count = (unsigned (*)(char))dlsym(library, "stand_in_count");
	return library;
}

static void work(void *stream, uint64_t ms)
{
	launch(stream, ms * MS);
	device_ns += ms * MS;
}

static long long elapsed(struct sonde_gpu_timer *timer, const char *name, uint32_t repetition)
{
	uint64_t ns;
	int code = sonde_gpu_elapsed(timer, name, repetition, &ns);
	return code == SONDE_OK ? (long long)ns : code;
}

static void nested(void)
{
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	sonde_gpu_start(timer, "outer", first);
	work(first, 5);
	sonde_gpu_start(timer, "inner", first);
	sonde_gpu_start(timer, "inner", second); /* the same name in another stream: ends apart from this one */
	work(first, 3);
	work(second, 20);
	sonde_gpu_stop(timer, "inner", first);
	work(first, 2);
	sonde_gpu_stop(timer, "outer", first);
	sonde_gpu_stop(timer, "inner", second);
	printf("early %lld %lld, left %d\n", elapsed(timer, "outer", 0), elapsed(timer, "inner", 0),
	       sonde_gpu_collect(timer));
	run(8 * MS);
	printf("after 8 ms %lld %lld, left %d\n", elapsed(timer, "outer", 0), elapsed(timer, "inner", 0),
	       sonde_gpu_collect(timer));
	run(device_ns);
	printf("in the end %lld %lld %lld, left %d\n", elapsed(timer, "outer", 0), elapsed(timer, "inner", 0),
	       elapsed(timer, "inner", 1), sonde_gpu_collect(timer));
	printf("waits %u\n", count('w'));
	sonde_gpu_timer_free(timer);
	printf("alive %u\n", count('a'));
}

/* Events are used again; readings behind the warm-up are 1, 2, 3 ms in turn. */
static void many(void)
{
	const struct sonde_gpu_options options = {.warmup = 3, .synchronize = 1};
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, &options);
	struct sonde_stats stats;
	unsigned before = count('c');
	for (uint64_t i = 0; i < 303; i++) {
		SONDE_GPU_SCOPE(timer, "step", first);
		work(first, i < 3 ? 100 : 1 + i % 3);
	}
	sonde_gpu_stats(timer, "step", &stats);
	printf("many %llu, total %llu, min %llu, max %llu, mean %.0f, std %.0f, warm-up %lld\n",
	       (unsigned long long)stats.count, (unsigned long long)stats.total_ns, (unsigned long long)stats.min_ns,
	       (unsigned long long)stats.max_ns, stats.mean_ns, stats.std_ns, elapsed(timer, "step", 2));
	printf("events %u, waits %u\n", count('c') - before, count('w'));
	sonde_gpu_timer_free(timer);
}

static void captured(void)
{
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	capture(first, 1);
	int code = sonde_gpu_start(timer, "captured", first);
	printf("captured %d: %s\n", code, sonde_gpu_why(timer));
	sonde_gpu_start(timer, "beside", second);
	work(second, 4);
	sonde_gpu_stop(timer, "beside", second);
	run(device_ns);
	printf("beside it %lld, broken %u\n", elapsed(timer, "beside", 0), count('b'));
	capture(first, 0);
	sonde_gpu_timer_free(timer);
}

static void contexts(void)
{
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	context(0);
	int code = sonde_gpu_start(timer, "none", first);
	printf("without %d: %s\n", code, sonde_gpu_why(timer));
	for (int i = 1; i < 3; i++) { /* events of the first are not for the second */
		context(i);
		code = sonde_gpu_start(timer, "each", first);
		work(first, 6);
		run(device_ns);
		int stopped = sonde_gpu_stop(timer, "each", first);
		printf("context %d: %d %d %lld\n", i, code, stopped, elapsed(timer, "each", (uint32_t)i - 1));
	}
	sonde_gpu_start(timer, "gone", first);
	work(first, 1000); /* not done */
	sonde_gpu_stop(timer, "gone", first);
	context_destroy(2);
	context(1);
	run(device_ns);
	int left = sonde_gpu_collect(timer);
	printf("gone %lld, left %d, lost %llu\n", elapsed(timer, "gone", 0), left,
	       (unsigned long long)sonde_gpu_lost(timer));
	sonde_gpu_timer_free(timer);
}

int main(int argc, char **argv)
{
	struct sonde_gpu_timer *early = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	printf("early %d\n", sonde_gpu_start(early, "early", first));
	library_open(argc > 1 ? argv[1] : "libcuda.so.1");
	printf("loaded %d\n", sonde_gpu_start(early, "early", first));
	sonde_gpu_timer_free(early);
	nested();
	many();
	captured();
	contexts();
	return 0;
}
