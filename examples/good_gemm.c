/* good_gemm.c: multiplies matrices with OpenBLAS. There is nothing to improve.
 *
 * sonde: nothing critical: all time is in dgemm, near the machine's peak.
 */
#include <cblas.h>

#include "example.h"

enum { N = 768, ROUNDS = 40 };

static double a[N * N], b[N * N], c[N * N];

int main(int argc, char **argv)
{
	uint64_t random = 17;
	double sum = 0;
	(void)is_fixed(argc, argv);
	for (size_t i = 0; i < (size_t)N * N; i++) {
		a[i] = next_number(&random) % 16;
		b[i] = next_number(&random) % 16;
	}
	for (int round = 0; round < ROUNDS; round++)
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, b, N, 1, c, N);
	for (size_t i = 0; i < (size_t)N * N; i++)
		sum += c[i];
	printf("sum %.0f\n", sum);
	return 0;
}
