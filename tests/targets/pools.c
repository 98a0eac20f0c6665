/* pools.c: blocks of a program's own allocators, with known answers.
 *
 * In the main thread 100 blocks of 1000 B of the pool "arena", half of which come back; "ring": 1000 × 64 B, one after
 * the other. Then two threads give out 500 × 200 B of "shared" each, and give back what the other gave out: all are
 * alive at once. A child gives out 7 × 10 B of "arena", and gives back one that its parent has. At last a block that is
 * nobody's comes back, and one is given out twice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "no_inline.h"

static char arena[100][1000], slots[2][500][200];
static pthread_barrier_t barrier;
static int errors;

/* What nobody records is no error. */
static void check(int code)
{
	errors += code != SONDE_OK && code != SONDE_ERR_OFF;
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
	for (int i = 0; i < 500; i++)
		check(sonde_free("shared", slots[1 - own][i]));
	return NULL;
}

NO_INLINE void inherits(void)
{
	for (int i = 0; i < 7; i++)
		check(sonde_alloc("arena", slots[0][i], 10));
	check(sonde_free("arena", arena[1]));
}

NO_INLINE void errs(void)
{
	check(sonde_free("arena", slots[1][3]));
	check(sonde_alloc("arena", arena[99], 500));
	check(sonde_alloc("arena", NULL, 5));
	check(sonde_free("arena", NULL));
	errors += sonde_alloc(NULL, arena[0], 5) != SONDE_ERR_ARGUMENT;
	errors += sonde_free("", arena[0]) != SONDE_ERR_ARGUMENT;
}

int main(void)
{
	pthread_t threads[2];
	int status = 0;
	errno = EXDEV;
	fills();
	turns();
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
	errs();
	printf("pools: %d errors, child %d\n", errors, status);
	return errors || status;
}
