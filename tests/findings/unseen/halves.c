/* halves.c: primes below a limit by two threads, each of which has half of the numbers: the upper half takes longer. */
#include <pthread.h>
#include <stdio.h>

enum { LIMIT = 3000000 };

struct part {
	int from, to, primes;
};

static int __attribute__((noinline)) is_prime(int n)
{
	for (int d = 2; d * d <= n; d++)
		if (n % d == 0)
			return 0;
	return n > 1;
}

static void *count(void *argument)
{
	struct part *part = argument;
	for (int n = part->from; n < part->to; n++)
		part->primes += is_prime(n);
	return NULL;
}

int main(void)
{
	struct part parts[2] = {{0, LIMIT / 4, 0}, {LIMIT / 4, LIMIT, 0}};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, &parts[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", parts[0].primes + parts[1].primes);
	return 0;
}
