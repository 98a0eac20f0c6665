/* blocks.c: allocations with known answers, one function each, one per command (known: all that need one thread).
 *
 * known     keeps 100 × 1000 B; churns 1000 × 64 B; peaks 50 × 2000 B at once; moves one block from 10 B to 10,000 B in
 *           steps of 10; aligned, zeroed and array blocks; a realloc that fails
 * simple    keeps, churns, peaks and moves as above, and nothing else
 * threads   8 threads give out 1000 × 32 B each, which the main thread frees
 * forks     100 × 10 B, then a child that frees half of them and allocates 10 × 500 B
 * loads FILE…   loads each object in turn, calls its function and unloads it, so that code comes to the same place
 * killed FD     two threads allocate and free until they are killed; each counts both in the shared memory FD, as u64s
 * sizes N SEED  N blocks of random sizes up to 100 KB: 1/3 stays, the rest is freed; prints "allocated live"
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_inline.h"

static void *volatile kept[200000];
static size_t kept_count;

static void *touch(void *block)
{
	if (block)
		*(volatile char *)block = 1;
	return block;
}

NO_INLINE void keeps(void)
{
	for (int i = 0; i < 100; i++)
		kept[kept_count++] = touch(malloc(1000));
}

NO_INLINE void churns(void)
{
	for (int i = 0; i < 1000; i++)
		free(touch(malloc(64)));
}

NO_INLINE void peaks(void)
{
	void *blocks[50];
	for (int i = 0; i < 50; i++)
		blocks[i] = touch(malloc(2000));
	for (int i = 0; i < 50; i++)
		free(blocks[i]);
}

NO_INLINE void moves(void)
{
	void *block = NULL;
	for (size_t size = 10; size <= 10000; size += 10)
		block = realloc(block, size);
	free(touch(block));
}

NO_INLINE void aligned(void)
{
	void *block;
	if (posix_memalign(&block, 64, 101))
		abort();
	free(touch(block));
	free(touch(aligned_alloc(64, 128)));
	free(touch(memalign(64, 103)));
	free(touch(valloc(104)));
	free(touch(pvalloc(105)));
}

NO_INLINE void zeroed(void)
{
	free(touch(calloc(7, 11)));
	free(touch(reallocarray(NULL, 7, 13)));
}

NO_INLINE void fails(void)
{
	volatile size_t much = SIZE_MAX / 4;
	void *block = touch(malloc(77));
	if (realloc(block, much) || malloc(much) || errno != ENOMEM)
		abort();
	free(block);
}

static int do_known(char **args)
{
	(void)args;
	keeps();
	churns();
	peaks();
	moves();
	aligned();
	zeroed();
	fails();
	puts("known");
	return 0;
}

static int do_simple(char **args)
{
	(void)args;
	keeps();
	churns();
	peaks();
	moves();
	return 0;
}

static void *handed[8][1000];

NO_INLINE void *gives(void *row)
{
	void **blocks = row;
	for (int i = 0; i < 1000; i++)
		blocks[i] = touch(malloc(32));
	return NULL;
}

static int do_threads(char **args)
{
	(void)args;
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, gives, handed[i]))
			return 1;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 1000; j++)
			free(handed[i][j]);
	puts("threads");
	return 0;
}

NO_INLINE void before(void)
{
	for (int i = 0; i < 100; i++)
		kept[kept_count++] = touch(malloc(10));
}

NO_INLINE void inside(void)
{
	for (int i = 0; i < 10; i++)
		kept[kept_count++] = touch(malloc(500));
}

static int do_forks(char **args)
{
	(void)args;
	before();
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < 50; i++)
			free(kept[i]);
		inside();
		exit(0);
	}
	int status;
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int do_loads(char **args)
{
	for (; *args; args++) {
		void *object = dlopen(*args, RTLD_NOW);
		char *(*plugin)(void) = object ? (char *(*)(void))dlsym(object, "plugin_allocates") : NULL;
		if (!plugin)
			return 1;
		free(plugin());
		dlclose(object);
	}
	return 0;
}

NO_INLINE void sizes(unsigned count, uint64_t *random, uint64_t *all, uint64_t *live)
{
	for (unsigned i = 0; i < count; i++) {
		*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		size_t size = 1 + (*random >> 33) % 100000;
		void *block = touch(malloc(size));
		*all += size;
		if (i % 3) {
			free(block);
			continue;
		}
		*live += size;
		kept[kept_count++] = block;
	}
}

static int do_sizes(char **args)
{
	uint64_t random = strtoull(args[1], NULL, 10), all = 0, live = 0;
	unsigned count = (unsigned)atoi(args[0]);
	if (count > 500000)
		return 2;
	sizes(count, &random, &all, &live);
	printf("%llu %llu\n", (unsigned long long)all, (unsigned long long)live);
	return 0;
}

NO_INLINE void *killed(void *row)
{
	_Atomic uint64_t *counts = row;
	void *blocks[100] = {0};
	for (uint64_t i = 0;; i++) {
		void **place = &blocks[i * 7919 % 100];
		if (*place) {
			free(*place);
			counts[1]++;
		}
		*place = touch(malloc(16 + i % 100));
		counts[0]++;
	}
}

static int do_killed(char **args)
{
	pthread_t thread;
	char *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(args[0]), 0);
	if (counts == MAP_FAILED || pthread_create(&thread, NULL, killed, counts + 64))
		return 1;
	killed(counts);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(char **args);
	} commands[] = {
	    {"known", 0, do_known}, {"simple", 0, do_simple}, {"threads", 0, do_threads}, {"forks", 0, do_forks},
	    {"loads", 1, do_loads}, {"sizes", 2, do_sizes},   {"killed", 1, do_killed},
	};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name) && argc - 2 >= commands[i].arguments)
			return commands[i].run(argv + 2);
	return 2;
}
