/* blas_zones.c: BLAS calls inside zones of the program: 10 of dgemm, 64 × 64 by 64 × 64. */
#include <sonde/sonde.h>

void cblas_dgemm(int order, int a, int b, int m, int n, int k, double alpha, const double *x, int ldx, const double *y,
		 int ldy, double beta, double *z, int ldz);

static double x[64 * 64], y[64 * 64], z[64 * 64];

int main(void)
{
	for (int i = 0; i < 10; i++) {
		SONDE_ZONE("outer");
		cblas_dgemm(101, 111, 111, 64, 64, 64, 1, x, 64, y, 64, 0, z, 64);
	}
	return 0;
}
