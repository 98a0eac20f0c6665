/* heap_zones.c: zones with known allocations.
 *
 * 100 times: "outer" allocates 1000 B that it keeps, then "inner" inside it 500 B that it frees and 200 B that it
 * keeps, then "outer" frees nothing more. Once: "frees" gives back the 100 × 1000 B. A second thread has "aside": 50 ×
 * 64 B kept. Prints "zones". Between a zone's border and the nearest block lie some microseconds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/sonde.h>

static void *volatile kept[1000];
static size_t kept_count;
static void *volatile large[100];

static void pause_us(long us)
{
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < us * 1000);
}

__attribute__((noinline)) static void inner(void)
{
	SONDE_ZONE("inner");
	pause_us(3);
	void *volatile block = malloc(500);
	free(block);
	kept[kept_count++] = malloc(200);
	pause_us(3);
}

__attribute__((noinline)) static void outer(int i)
{
	SONDE_ZONE("outer");
	pause_us(3);
	large[i] = malloc(1000);
	pause_us(3);
	inner();
	pause_us(3);
}

__attribute__((noinline)) static void frees(void)
{
	SONDE_ZONE("frees");
	pause_us(3);
	for (int i = 0; i < 100; i++)
		free(large[i]);
	pause_us(3);
}

static void *aside(void *unused)
{
	SONDE_ZONE("aside");
	pause_us(3);
	for (int i = 0; i < 50; i++)
		kept[500 + i] = malloc(64);
	pause_us(3);
	return unused;
}

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 100; i++) {
		outer(i);
		pause_us(3);
	}
	frees();
	if (pthread_create(&thread, NULL, aside, NULL) || pthread_join(thread, NULL))
		return 1;
	puts("zones");
	return 0;
}
