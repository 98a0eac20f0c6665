/* split.c: self time 60/30/10 in alpha, beta and gamma_, counted in work; built static, static-PIE and stripped too.
 *
 * split SECONDS [THREADS]: SECONDS of CPU time in each thread. With more than one thread the others are named "second".
 */
#include <pthread.h>
#include <stdlib.h>

#include "burn.h"

static uint64_t run_ns;

__attribute__((noinline)) void alpha(void)
{
	burn(6 * BURN_UNIT / 10);
}

__attribute__((noinline)) void beta(void)
{
	burn(3 * BURN_UNIT / 10);
}

__attribute__((noinline)) void gamma_(void)
{
	burn(BURN_UNIT / 10);
}

static void *run(void *name)
{
	if (name)
		pthread_setname_np(pthread_self(), name);
	while (thread_cpu_ns() < run_ns) {
		alpha();
		beta();
		gamma_();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char second[] = "second";
	pthread_t ids[16];
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	if (argc < 2 || threads > 16)
		return 2;
	run_ns = (uint64_t)(atof(argv[1]) * 1e9);
	for (int i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, run, second);
	run(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
