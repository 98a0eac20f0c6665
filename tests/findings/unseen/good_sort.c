/* good_sort.c: two threads sort a half each, and the halves are merged: nothing is wrong with it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3000000 };

static unsigned numbers[COUNT], sorted[COUNT];

static int by_value(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return (x > y) - (x < y);
}

static void *sort_half(void *from)
{
	qsort(from, COUNT / 2, sizeof *numbers, by_value);
	return NULL;
}

static void __attribute__((noinline)) merge(void)
{
	const unsigned *a = numbers, *b = numbers + COUNT / 2;
	for (unsigned *to = sorted; to < sorted + COUNT; to++)
		*to = b == numbers + COUNT || (a < numbers + COUNT / 2 && *a <= *b) ? *a++ : *b++;
}

int main(void)
{
	pthread_t other;
	unsigned state = 1;
	for (int i = 0; i < COUNT; i++)
		numbers[i] = state = state * 1664525u + 1013904223u;
	pthread_create(&other, NULL, sort_half, numbers);
	sort_half(numbers + COUNT / 2);
	pthread_join(other, NULL);
	merge();
	printf("%u %u %u\n", sorted[0], sorted[COUNT / 2], sorted[COUNT - 1]);
	return 0;
}
