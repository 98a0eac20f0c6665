/* matrix_columns.c: multiplies matrices with the innermost loop down a column: every element of B is in another cache
 * line, and only one number of a line is used before it is evicted.
 *
 * sonde: below-roof: the zone "multiply" reaches a few per cent of the machine's ceiling at its intensity.
 * Fix: the two inner loops are swapped; then all accesses are along rows, and the compiler vectorises.
 */
#include <sonde/sonde.h>

#include "example.h"

enum { N = 704 };

static double a[N][N], b[N][N], c[N][N];

NO_INLINE static void multiply_columns(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			for (size_t k = 0; k < N; k++)
				c[i][j] += a[i][k] * b[k][j];
}

NO_INLINE static void multiply_rows(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < N; k++)
			for (size_t j = 0; j < N; j++)
				c[i][j] += a[i][k] * b[k][j];
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 4;
	double sum = 0;
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++) {
			a[i][j] = next_number(&random) % 16;
			b[i][j] = next_number(&random) % 16;
		}
	{
		SONDE_ZONE("multiply");
		SONDE_ZONE_WORK(2.0 * N * N * N, 3.0 * N * N * sizeof(double), 1);
		fixed ? multiply_rows() : multiply_columns();
	}
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			sum += c[i][j];
	printf("sum %.0f\n", sum);
	return 0;
}
