/* parse_alone.c: one thread parses all the data of the others, which then have little work to do. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1500000, THREADS = 2 };

static char text[NUMBERS * 8];
static double numbers[NUMBERS], sums[THREADS];

static void __attribute__((noinline)) parse(void)
{
	char *at = text;
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = strtod(at, &at);
}

static void *add(void *which)
{
	long thread = (long)which;
	double sum = 0;
	for (int round = 0; round < 60; round++)
		for (int i = (int)thread; i < NUMBERS; i += THREADS)
			sum += numbers[i] * round;
	sums[thread] = sum;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char *at = text;
	for (int i = 0; i < NUMBERS; i++)
		at += sprintf(at, "%d.%d ", i % 100, i % 7);
	for (int i = 0; i < 6; i++)
		parse();
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, add, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%g\n", sums[0] + sums[1]);
	return 0;
}
