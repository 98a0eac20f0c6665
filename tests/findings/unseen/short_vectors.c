/* short_vectors.c: vectors of three numbers, each in a block of its own that lives for one addition. */
#include <stdio.h>
#include <stdlib.h>

static double *__attribute__((noinline)) vector(double x, double y, double z)
{
	double *v = malloc(3 * sizeof *v);
	if (!v)
		exit(1);
	v[0] = x;
	v[1] = y;
	v[2] = z;
	return v;
}

static double *__attribute__((noinline)) add(const double *a, const double *b)
{
	return vector(a[0] + b[0], a[1] + b[1], a[2] + b[2]);
}

int main(void)
{
	double *sum = vector(0, 0, 0);
	for (int i = 0; i < 10000000; i++) {
		double *step = vector(i, 1, -1), *next = add(sum, step);
		free(step);
		free(sum);
		sum = next;
	}
	printf("%g %g %g\n", sum[0], sum[1], sum[2]);
	free(sum);
	return 0;
}
