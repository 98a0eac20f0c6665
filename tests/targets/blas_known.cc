// blas_known.cc: calls of BLAS from C++, one of which the library refuses.
#include <cstddef>
#include <cstdio>
#include <vector>

extern "C" {
void cblas_dgemm(int order, int a, int b, int m, int n, int k, double alpha, const double *x, int ldx, const double *y,
		 int ldy, double beta, double *z, int ldz);
void dgemm_(const char *a, const char *b, const int *m, const int *n, const int *k, const double *alpha, const double *x,
	    const int *ldx, const double *y, const int *ldy, const double *beta, double *z, const int *ldz, size_t a_b,
	    size_t b_b);

// LAPACK's error handler, replaced by the program's.
int xerbla_(const char *name, const int *argument, size_t name_b)
{
	(void)name_b;
	std::printf("%.5s refuses argument %d\n", name, *argument);
	return 0;
}
}

int main()
{
	const int m = 16, n = 24, k = 32, negative = -1;
	std::vector<double> x(m * k, 0.5), y(k * n, 2), z(m * n, 1);
	const double one = 1;
	for (int i = 0; i < 7; i++)
		cblas_dgemm(101, 111, 111, m, n, k, 1, x.data(), k, y.data(), n, 1, z.data(), n);
	dgemm_("N", "N", &m, &negative, &k, &one, x.data(), &m, y.data(), &k, &one, z.data(), &m, 1, 1);
	double all = 0;
	for (double value : z)
		all += value;
	std::printf("%.17g\n", all);
}
