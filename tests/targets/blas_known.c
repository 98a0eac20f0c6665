/* blas_known.c: a known number of calls of BLAS and LAPACK, with known sizes, in C's interface and Fortran's.
 *
 * Usage: blas_known [CALLS [threads|fork|fail|none|tiny|sandbox [first]]]: CALLS times dgemm of 30 × 50 by 50 × 40
 * under names, then each other routine once. Prints results, to be compared with and without a recorder. INTEGER: what
 * the library takes.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef INTEGER
#define INTEGER int
#endif

enum { M = 30, N = 40, K = 50, ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, UPPER = 121, RIGHT = 142, UNIT = 131 };

void cblas_dgemm(int order, int a, int b, INTEGER m, INTEGER n, INTEGER k, double alpha, const double *x, INTEGER ldx,
		 const double *y, INTEGER ldy, double beta, double *z, INTEGER ldz);
void cblas_ssyrk(int order, int upper, int a, INTEGER n, INTEGER k, float alpha, const float *x, INTEGER ldx,
		 float beta, float *z, INTEGER ldz);
void cblas_zgemm(int order, int a, int b, INTEGER m, INTEGER n, INTEGER k, const void *alpha, const void *x,
		 INTEGER ldx, const void *y, INTEGER ldy, const void *beta, void *z, INTEGER ldz);
void cblas_dtrsm(int order, int side, int upper, int a, int unit, INTEGER m, INTEGER n, double alpha, const double *x,
		 INTEGER ldx, double *z, INTEGER ldz);
double cblas_ddot(INTEGER n, const double *x, INTEGER incx, const double *y, INTEGER incy);
void cblas_dgemv(int order, int a, INTEGER m, INTEGER n, double alpha, const double *x, INTEGER ldx, const double *y,
		 INTEGER incy, double beta, double *z, INTEGER incz);
void dgemm_(const char *a, const char *b, const INTEGER *m, const INTEGER *n, const INTEGER *k, const double *alpha,
	    const double *x, const INTEGER *ldx, const double *y, const INTEGER *ldy, const double *beta, double *z,
	    const INTEGER *ldz, size_t a_b, size_t b_b);
void dgesv_(const INTEGER *n, const INTEGER *k, double *x, const INTEGER *ldx, INTEGER *pivots, double *y,
	    const INTEGER *ldy, INTEGER *info);
void dpotrf_(const char *upper, const INTEGER *n, double *x, const INTEGER *ldx, INTEGER *info, size_t upper_b);
void dgeqrf_(const INTEGER *m, const INTEGER *n, double *x, const INTEGER *ldx, double *tau, double *work,
	     const INTEGER *work_count, INTEGER *info);

static double x[N * K * 4], y[N * K * 4], z[N * K * 4];
static float sx[N * K], sz[N * N];

static void fill(void)
{
	for (int i = 0; i < N * K; i++) {
		x[i] = (i % 7) / 8.;
		y[i] = (i % 5) - .5;
		sx[i] = (float)x[i];
	}
}

static double sum(const double *of, int count)
{
	double all = 0;
	for (int i = 0; i < count; i++)
		all += of[i];
	return all;
}

static void *multiply(void *context)
{
	const INTEGER m = M, n = N, k = K;
	const double one = 1, zero = 0;
	double *own = calloc(M * N, sizeof *own);
	for (int i = 0; i < *(const int *)context; i++) {
		cblas_dgemm(ROW_MAJOR, PLAIN, PLAIN, M, N, K, 1, x, K, y, N, 0, own, N);
		dgemm_("N", "N", &m, &n, &k, &one, x, &m, y, &k, &zero, own, &m, 1, 1);
	}
	double *result = malloc(sizeof *result);
	*result = own ? sum(own, M * N) : 0;
	free(own);
	return result;
}

static void say(void *result)
{
	printf("dgemm %.17g\n", *(double *)result);
	free(result);
}

static void the_rest(void)
{
	const double one[2] = {1, 0};
	INTEGER n = 20, k = 2, pivots[20], info = -9, question = -1, capacity = 640;
	cblas_ssyrk(ROW_MAJOR, UPPER, PLAIN, N, K, 1, sx, K, 0, sz, N);
	cblas_zgemm(ROW_MAJOR, PLAIN, PLAIN, 8, 9, 10, one, x, 10, y, 9, one, z, 9);
	cblas_dgemv(ROW_MAJOR, TRANSPOSED, M, N, 2, x, N, y, 1, 0, z, 1);
	printf("ddot %.17g zgemm %.17g ssyrk %.17g\n", cblas_ddot(1000, x, 1, y, 1), sum(z, 144), (double)sz[N]);
	for (int i = 0; i < 400; i++)
		x[i] = i % 21 ? .25 / (1 + i % 20 + i / 20) : 9;
	cblas_dtrsm(ROW_MAJOR, RIGHT, UPPER, PLAIN, UNIT, 6, 20, 1, x, 20, z, 20);
	dpotrf_("L", &n, x, &n, &info, 1);
	printf("dtrsm %.17g dpotrf %.17g info %d\n", sum(z, 120), x[0], (int)info);
	for (int i = 0; i < 400; i++)
		x[i] = i % 21 ? 1. / (1 + i) : 5;
	dgesv_(&n, &k, x, &n, pivots, y, &n, &info);
	printf("dgesv %.17g info %d\n", sum(y, 40), (int)info);
	dgeqrf_(&n, &n, x, &n, z, y, &question, &info); /* asks how much work space it needs */
	dgeqrf_(&n, &n, x, &n, z, y, &capacity, &info);
	printf("dgeqrf %.17g info %d\n", x[0], (int)info);
}

/* Makes calls that are not counted: for a matrix that cannot be decomposed, and with nothing to multiply. */
static void fail(void)
{
	INTEGER n = 20, info = 0;
	memset(z, 0, sizeof z);
	dpotrf_("L", &n, z, &n, &info, 1);
	printf("info %d\n", (int)info);
	cblas_dgemm(ROW_MAJOR, PLAIN, PLAIN, M, N, K, 0, x, K, y, N, 1, z, N);
	printf("%.17g\n", sum(z, M * N));
}

/* Makes one call, and then as many as requested under a filter that kills the process for any system call but write and
 * exit. The routine is one for which no library needs memory of its own. */
static void lock_in(int calls, int first)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
	if (first)
		cblas_ddot(64, x, 1, y, 1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		_exit(3);
	for (int i = 0; i < calls; i++)
		cblas_ddot(64, x, 1, y, 1);
	_exit(write(STDOUT_FILENO, "fine\n", 5) != 5);
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 3;
	const char *how = argc > 2 ? argv[2] : "";
	pthread_t threads[4];
	void *result;
	fill();
	if (!strcmp(how, "sandbox"))
		lock_in(calls, argc > 3);
	if (!strcmp(how, "none"))
		return 0;
	if (!strcmp(how, "fail")) {
		fail();
		return 0;
	}
	for (int i = 0; i < calls && !strcmp(how, "tiny"); i++)
		cblas_dgemm(ROW_MAJOR, PLAIN, PLAIN, 2, 2, 2, 1, x, 2, y, 2, 0, z, 2);
	for (int i = 0; i < 4 && !strcmp(how, "threads"); i++)
		if (pthread_create(&threads[i], NULL, multiply, &calls))
			return 1;
	for (int i = 0; i < 4 && !strcmp(how, "threads"); i++) {
		pthread_join(threads[i], &result);
		say(result);
	}
	if (*how && strcmp(how, "fork"))
		return 0;
	say(multiply(&calls));
	fflush(stdout);
	pid_t child = *how ? fork() : -1;
	if (child == 0) {
		say(multiply(&calls));
		fflush(stdout);
		exit(0);
	}
	if (child > 0 && waitpid(child, NULL, 0) != child)
		return 1;
	the_rest();
	return 0;
}
