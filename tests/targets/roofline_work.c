/* roofline_work.c: zones with known FLOP and bytes: streams, arithmetic in registers, latency, and zones that report
 * only one of the two.
 *
 * roofline_work MB: "triad" runs a[i] = b[i] + 3·c[i] over three arrays of so many MB, eight times; "pair" does the
 * same in two threads at once over halves of them; "registers" adds and multiplies in registers; "chain" waits for each
 * division before the next; "flop" and "bytes" report one of the two. Prints for each zone its name, FLOP, bytes and
 * ns, and for "triad" the ns of the fastest call.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

enum { REPEATS = 8, CHAINS = 8 };

static double *a, *b, *c;
static size_t elements;
static pthread_barrier_t together;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void triad(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		a[i] = b[i] + 3 * c[i];
	__asm__ volatile("" ::: "memory");
}

static void triads(void)
{
	uint64_t all_ns = 0, best_ns = UINT64_MAX;
	for (int i = 0; i < REPEATS; i++) {
		uint64_t begin_ns = now_ns();
		{
			SONDE_ZONE("triad");
			triad(0, elements);
			SONDE_ZONE_WORK(2 * elements, 24 * elements, elements);
		}
		uint64_t took_ns = now_ns() - begin_ns;
		all_ns += took_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	printf("triad %zu %zu %llu %llu\n", REPEATS * 2 * elements, REPEATS * 24 * elements, (unsigned long long)all_ns,
	       (unsigned long long)best_ns);
}

static void *half(void *second)
{
	size_t from = second ? elements / 2 : 0, to = second ? elements : elements / 2;
	pthread_barrier_wait(&together);
	for (int i = 0; i < REPEATS; i++) {
		SONDE_ZONE("pair");
		triad(from, to);
		SONDE_ZONE_WORK(2 * (to - from), 24 * (to - from), to - from);
	}
	return NULL;
}

static void pairs(void)
{
	pthread_t other;
	pthread_barrier_init(&together, NULL, 2);
	uint64_t begin_ns = now_ns();
	pthread_create(&other, NULL, half, &together);
	half(NULL);
	pthread_join(other, NULL);
	printf("pair %zu %zu %llu\n", REPEATS * 2 * elements, REPEATS * 24 * elements,
	       (unsigned long long)(now_ns() - begin_ns));
}

static double registers(long rounds)
{
	double x[CHAINS] = {0}, sum = 0;
	for (long i = 0; i < rounds; i++)
		for (int k = 0; k < CHAINS; k++)
			x[k] = x[k] * 0.5 + 1;
	for (int k = 0; k < CHAINS; k++)
		sum += x[k];
	return sum;
}

static double chain(long rounds)
{
	double x = 1;
	for (long i = 0; i < rounds; i++)
		x = 1 / (x + 1);
	return x;
}

/* One call of a zone with work of a known number of FLOP and bytes; 0 = none is reported. */
#define ONCE(name, work, rounds, flop, bytes)                                        \
	do {                                                                         \
		uint64_t begin_ns = now_ns();                                        \
		{                                                                    \
			SONDE_ZONE(name);                                            \
			volatile double result = work(rounds);                       \
			(void)result;                                                \
			SONDE_ZONE_WORK(flop, bytes, 0);                             \
		}                                                                    \
		printf("%s %.0f %.0f %llu\n", name, (double)(flop), (double)(bytes), \
		       (unsigned long long)(now_ns() - begin_ns));                   \
	} while (0)

int main(int argc, char **argv)
{
	size_t size_b = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) << 20;
	const long rounds = 30000000;
	elements = size_b / sizeof(double);
	a = malloc(size_b);
	b = malloc(size_b);
	c = malloc(size_b);
	if (!a || !b || !c)
		return 1;
	for (size_t i = 0; i < elements; i++) {
		a[i] = 0;
		b[i] = 1;
		c[i] = 2;
	}
	triads();
	pairs();
	ONCE("registers", registers, rounds, 2.0 * CHAINS * (double)rounds, 64);
	ONCE("chain", chain, rounds, 2.0 * (double)rounds, 64);
	ONCE("flop", chain, rounds / 10, 2.0 * (double)rounds / 10, 0);
	ONCE("bytes", chain, rounds / 10, 0, 4096);
	return a[elements - 1] == 7 ? 0 : 1;
}
