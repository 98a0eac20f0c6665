/* pools.c: blocks of a program's own allocators, with known answers.
 *
 * In the main thread 100 blocks of 1000 B of the pool "arena", half of which come back; "ring": 1000 × 64 B, one after
 * the other. Then two threads give out 500 × 200 B of "shared" each, and give back what the other gave out: all are
 * alive at once. A child gives out 7 × 10 B of "arena", and gives back one that its parent has. At last a block that is
 * nobody's comes back, and one is given out twice. On the way it asks what is alive, and what was most.
 *
 * With "malloc" it asks of malloc instead, around a block of 1 MiB, and prints by how much the answers differ; with
 * "burst" 1,000,000 blocks of 10 B of "burst" come and go as fast as they can, and it says how many were taken.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "no_inline.h"

static char arena[100][1000], slots[2][500][200];
static pthread_barrier_t barrier;
static int errors;

/* Not being recorded is not an error. */
static void check(int code)
{
	errors += code != SONDE_OK && code != SONDE_ERR_OFF;
}

/* Queries a pool and compares the answers; there are none if the program is not recorded. */
static void asks(const char *name, struct sonde_pool_stats wanted)
{
	struct sonde_pool_stats told = {0};
	int code = sonde_pool_stats_of(name, &told);
	if (!sonde_is_on()) {
		errors += code != SONDE_ERR_OFF;
		return;
	}
	errors += code != SONDE_OK || told.current_b != wanted.current_b ||
		  told.current_blocks != wanted.current_blocks || told.peak_b != wanted.peak_b ||
		  told.peak_blocks != wanted.peak_blocks || told.allocated_b != wanted.allocated_b ||
		  told.allocations != wanted.allocations;
}

NO_INLINE void fills(void)
{
	for (int i = 0; i < 100; i++)
		check(sonde_alloc("arena", arena[i], sizeof(arena[i])));
	for (int i = 0; i < 100; i += 2)
		check(sonde_free("arena", arena[i]));
}

NO_INLINE void turns(void)
{
	for (int i = 0; i < 1000; i++) {
		check(sonde_alloc("ring", arena[i % 3], 64));
		check(sonde_free("ring", arena[i % 3]));
	}
}

NO_INLINE void *shares(void *number)
{
	long own = (long)number;
	for (int i = 0; i < 500; i++)
		check(sonde_alloc("shared", slots[own][i], 200));
	pthread_barrier_wait(&barrier);
	if (!own)
		asks("shared", (struct sonde_pool_stats){200000, 1000, 200000, 1000, 200000, 1000});
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 500; i++)
		check(sonde_free("shared", slots[1 - own][i]));
	return NULL;
}

NO_INLINE void inherits(void)
{
	for (int i = 0; i < 7; i++)
		check(sonde_alloc("arena", slots[0][i], 10));
	check(sonde_free("arena", arena[1]));
	asks("arena", (struct sonde_pool_stats){70, 7, 70, 7, 70, 7});
}

NO_INLINE void errs(void)
{
	check(sonde_free("arena", slots[1][3]));
	check(sonde_alloc("arena", arena[99], 500));
	check(sonde_alloc("arena", NULL, 5));
	check(sonde_free("arena", NULL));
	errors += sonde_alloc(NULL, arena[0], 5) != SONDE_ERR_ARGUMENT;
	errors += sonde_free("", arena[0]) != SONDE_ERR_ARGUMENT;
	asks("arena", (struct sonde_pool_stats){49500, 50, 100000, 100, 100500, 101});
}

NO_INLINE void asks_in_vain(void)
{
	static char long_name[300];
	struct sonde_pool_stats told;
	memset(long_name, 'x', sizeof(long_name) - 1);
	errors += sonde_pool_stats_of("arena", NULL) != SONDE_ERR_ARGUMENT;
	errors += sonde_pool_stats_of("", &told) != SONDE_ERR_ARGUMENT;
	errors += sonde_pool_stats_of(long_name, &told) != SONDE_ERR_ARGUMENT;
	errors += sonde_pool_stats_of("nobody", &told) != (sonde_is_on() ? SONDE_ERR_UNKNOWN : SONDE_ERR_OFF);
}

/* Queries malloc's blocks. */
static int asks_of_malloc(void)
{
	struct sonde_pool_stats before = {0}, during = {0}, after = {0};
	void *volatile block = malloc(1);
	free(block); /* the heap exists now */
	int code = sonde_pool_stats_of(NULL, &before);
	block = malloc(1 << 20);
	code = code ? code : sonde_pool_stats_of(NULL, &during);
	free(block);
	code = code ? code : sonde_pool_stats_of(NULL, &after);
	printf("malloc: %d, %lld B in %lld, then %lld in %lld, %lld allocated, peak %s\n", code,
	       (long long)(during.current_b - before.current_b),
	       (long long)(during.current_blocks - before.current_blocks),
	       (long long)(after.current_b - before.current_b),
	       (long long)(after.current_blocks - before.current_blocks),
	       (long long)(after.allocations - before.allocations),
	       during.peak_b >= during.current_b && after.peak_b == during.peak_b ? "right" : "wrong");
	return 0;
}

static int bursts(void)
{
	struct sonde_pool_stats told = {0};
	long taken = 0;
	for (int i = 0; i < 1000000; i++) {
		taken += sonde_alloc("burst", arena[i % 64], 10) == SONDE_OK;
		taken += sonde_free("burst", arena[i % 64]) == SONDE_OK;
	}
	int code = sonde_pool_stats_of("burst", &told);
	printf("burst: %ld taken, %d, %llu B of %llu in %llu\n", taken, code, (unsigned long long)told.current_b,
	       (unsigned long long)told.allocated_b, (unsigned long long)told.allocations);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "burst") ? asks_of_malloc() : bursts();
	pthread_t threads[2];
	int status = 0;
	errno = EXDEV;
	fills();
	asks("arena", (struct sonde_pool_stats){50000, 50, 100000, 100, 100000, 100});
	turns();
	asks("ring", (struct sonde_pool_stats){0, 0, 64, 1, 64000, 1000});
	errors += errno != EXDEV;
	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, shares, (void *)i)) /* NOLINT: a number */
			return 2;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pid_t pid = fork();
	if (!pid) {
		inherits();
		exit(errors);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	asks("shared", (struct sonde_pool_stats){0, 0, 200000, 1000, 200000, 1000});
	errs();
	asks_in_vain();
	printf("pools: %d errors, child %d\n", errors, status);
	return errors || status;
}
