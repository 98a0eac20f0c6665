/* good_pool.c: two threads take parts of a picture from a counter until none is left: nothing is wrong with it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SIZE = 512, LIMIT = 600 };

static atomic_int next_row;
static unsigned char picture[SIZE][SIZE];

static int __attribute__((noinline)) escapes(double x, double y)
{
	double a = 0, b = 0;
	int n = 0;
	for (; n < LIMIT && a * a + b * b < 4; n++) {
		double t = a * a - b * b + x;
		b = 2 * a * b + y;
		a = t;
	}
	return n;
}

static void *draw(void *unused)
{
	(void)unused;
	for (int row; (row = atomic_fetch_add(&next_row, 1)) < SIZE;)
		for (int i = 0; i < SIZE; i++)
			picture[row][i] = (unsigned char)escapes(i * 3. / SIZE - 2, row * 2. / SIZE - 1);
	return NULL;
}

int main(void)
{
	pthread_t other;
	unsigned long sum = 0;
	pthread_create(&other, NULL, draw, NULL);
	draw(NULL);
	pthread_join(other, NULL);
	for (int row = 0; row < SIZE; row++)
		for (int i = 0; i < SIZE; i++)
			sum = sum * 31 + picture[row][i];
	printf("%lx\n", sum);
	return 0;
}
