/* cuda_timed.c: measures known work with sonde/gpu.h on a stand-in for CUDA's driver (cuda_stand_in.c), which it
 * loads as programs do. Usage: cuda_timed LIBRARY; prints what tests/cli/device/gpu-timers-cuda.sh expects. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/gpu.h>

#define MS UINT64_C(1000000)

static void (*launch)(void *stream, uint64_t ns);
static void (*run)(uint64_t until_ns);
static void (*capture)(void *stream, int yes);
static void (*context)(int current);
static void (*context_destroy)(int which);
static unsigned (*count)(char what);

static void *const first = (void *)(uintptr_t)3, *const second = (void *)(uintptr_t)4;
static uint64_t device_ns; /* time at which the device will have finished all launched work */

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

static unsigned long long self_of(struct sonde_gpu_timer *timer, const char *name)
{
	struct sonde_stats stats = {0};
	sonde_gpu_stats(timer, name, &stats);
	return stats.self_ns;
}

/* Measures two scopes that overlap without one being inside the other; then three nested scopes, of which the inner two
 * are read before the outer one. */
static void insides(void)
{
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	run(device_ns);
	sonde_gpu_start(timer, "left", first);
	work(first, 1);
	sonde_gpu_start(timer, "right", first);
	work(first, 2);
	sonde_gpu_stop(timer, "left", first);
	work(first, 4);
	sonde_gpu_stop(timer, "right", first);
	sonde_gpu_start(timer, "a", first);
	work(first, 1);
	sonde_gpu_start(timer, "b", first);
	work(first, 2);
	sonde_gpu_start(timer, "c", first);
	work(first, 4);
	sonde_gpu_stop(timer, "c", first);
	sonde_gpu_stop(timer, "b", first);
	sonde_gpu_wait(timer);
	work(first, 8);
	sonde_gpu_stop(timer, "a", first);
	sonde_gpu_wait(timer);
	printf("self %llu %llu, %llu %llu %llu\n", self_of(timer, "left"), self_of(timer, "right"), self_of(timer, "a"),
	       self_of(timer, "b"), self_of(timer, "c"));
	sonde_gpu_timer_free(timer);
}

static void nested(void)
{
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	sonde_gpu_start(timer, "outer", first);
	work(first, 5);
	sonde_gpu_start(timer, "inner", first);
	sonde_gpu_start(timer, "inner", second); /* the same name in another stream: ends independently */
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
	printf("self of outer %llu, of inner %llu\n", self_of(timer, "outer"), self_of(timer, "inner"));
	sonde_gpu_timer_free(timer);
	printf("alive %u\n", count('a'));
}

/* Measures so many scopes that events are reused; after the warm-up, readings are 1, 2, 3 ms in turn. */
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
	for (int i = 1; i < 3; i++) { /* events of the first context must not be used in the second */
		context(i);
		code = sonde_gpu_start(timer, "each", first);
		work(first, 6);
		run(device_ns);
		int stopped = sonde_gpu_stop(timer, "each", first);
		printf("context %d: %d %d %lld\n", i, code, stopped, elapsed(timer, "each", (uint32_t)i - 1));
	}
	sonde_gpu_start(timer, "gone", first);
	work(first, 1000); /* not finished */
	sonde_gpu_stop(timer, "gone", first);
	context_destroy(2);
	context(1);
	run(device_ns);
	int left = sonde_gpu_collect(timer);
	printf("gone %lld, left %d, lost %llu\n", elapsed(timer, "gone", 0), left,
	       (unsigned long long)sonde_gpu_lost(timer));
	sonde_gpu_timer_free(timer);
}

static struct sonde_gpu_timer *shared;

static void *thread_main(void *number)
{
	char name[16];
	void *stream = (void *)((uintptr_t)number % 2 + 3); /* two threads per stream */
	snprintf(name, sizeof name, "thread %d", (int)(uintptr_t)number);
	for (int i = 0; i < 1000; i++) {
		sonde_gpu_start(shared, name, stream);
		sonde_gpu_stop(shared, name, stream);
	}
	return NULL;
}

/* Threads that measure scopes without any device work. */
static void threads(void)
{
	pthread_t thread[4];
	run(device_ns + 10000 * MS);
	shared = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, thread_main, (void *)i))
			exit(3);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 4; i++) {
		char name[16];
		struct sonde_stats stats = {0};
		snprintf(name, sizeof name, "thread %d", i);
		sonde_gpu_stats(shared, name, &stats);
		printf("%s %llu\n", name, (unsigned long long)stats.count);
	}
	sonde_gpu_timer_free(shared);
}

/* Queries memory before there is a driver, without a context and with one; without a stream, and without a place for
 * the result. */
static void memory(const char *when)
{
	struct sonde_gpu_memory got = {.used_b = 7};
	int code = sonde_gpu_memory_now(SONDE_GPU_CUDA, &got);
	printf("memory %s: %d, %llu of %llu, %g\n", when, code, (unsigned long long)got.used_b,
	       (unsigned long long)got.total_b, got.used);
}

/* Makes calls that are misuse; none of them must crash. */
static void misused(void)
{
	char longest[SONDE_NAME_B + 1] = {0};
	uint64_t ns;
	struct sonde_stats stats;
	struct sonde_gpu_timer *timer = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	memset(longest, 'x', SONDE_NAME_B);
	int none = sonde_gpu_timer_new(7, NULL) != NULL;
	printf("misused %d %d %d %d", none, sonde_gpu_start(NULL, "x", first), sonde_gpu_start(timer, NULL, first),
	       sonde_gpu_start(timer, longest, first));
	printf(" %d %d %d %d", sonde_gpu_stop(timer, "x", first), sonde_gpu_stop(timer, NULL, first),
	       sonde_gpu_elapsed(timer, "x", 0, &ns), sonde_gpu_stats(timer, NULL, &stats));
	int full = 0;
	for (int i = 0; i < 70; i++) {
		char name[16];
		snprintf(name, sizeof name, "name %d", i);
		full += sonde_gpu_start(timer, name, first) == SONDE_ERR_FULL;
		sonde_gpu_stop(timer, name, first);
	}
	printf(" %d %d %d\n", full, sonde_gpu_collect(NULL), sonde_gpu_next(NULL));
	sonde_gpu_timer_free(timer);
	sonde_gpu_timer_free(NULL);
}

int main(int argc, char **argv)
{
	struct sonde_gpu_timer *early = sonde_gpu_timer_new(SONDE_GPU_CUDA, NULL);
	printf("early %d\n", sonde_gpu_start(early, "early", first));
	memory("early");
	library_open(argc > 1 ? argv[1] : "libcuda.so.1");
	printf("loaded %d\n", sonde_gpu_start(early, "early", first));
	sonde_gpu_timer_free(early);
	nested();
	many();
	insides();
	captured();
	threads();
	contexts();
	misused();
	context(0);
	memory("without");
	context(3);
	memory("with one");
	printf("memory of none %d, of OpenCL %d, of %d\n", sonde_gpu_memory_now(SONDE_GPU_CUDA, NULL),
	       sonde_gpu_memory_now(SONDE_GPU_OPENCL, &(struct sonde_gpu_memory){0}),
	       sonde_gpu_memory_now(7, &(struct sonde_gpu_memory){0}));
	return 0;
}
