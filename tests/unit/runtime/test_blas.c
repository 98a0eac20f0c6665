/* test_blas.c: the work of BLAS and LAPACK calls is derived from their arguments and counted correctly. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "inject/blas/blas.h"

enum { FORTRAN = 0, FORTRAN_WIDE = 1, CBLAS = 6, CBLAS_WIDE = 7 };

/* The number of a name in a form. */
static uint32_t index_of(const char *name, uint32_t form)
{
	for (uint32_t i = 0; i < blas_routine_count; i++)
		if (blas_routines[i].type == *name && !strcmp(blas_routines[i].name, name + 1))
			return i * BLAS_FORMS + form;
	fail_msg("no routine %s", name);
	return 0;
}

static double flop_of(const char *name, double m, double n, double k, struct blas_sizes sizes)
{
	sizes.m = m;
	sizes.n = n;
	sizes.k = k;
	return blas_work_of(blas_routine_of(index_of(name, FORTRAN)), &sizes).flop;
}

static double bytes_of(const char *name, double m, double n, double k, struct blas_sizes sizes)
{
	sizes.m = m;
	sizes.n = n;
	sizes.k = k;
	return blas_work_of(blas_routine_of(index_of(name, FORTRAN)), &sizes).bytes;
}

#define PLAIN ((struct blas_sizes){0})
#define NO_BETA ((struct blas_sizes){.beta_is_0 = 1})

static void names_are_made(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t form;
		const char *whole;
	} known[] = {
	    {"dgemm", 0, "dgemm_"},         {"sgemm", 1, "sgemm_64_"},
	    {"zherk", 2, "zherk64_"},       {"dgetrf", 4, "scipy_dgetrf_64_"},
	    {"dgemm", 6, "cblas_dgemm"},    {"cgemm3m", 7, "cblas_cgemm3m64_"},
	    {"daxpy", 8, "cblas_daxpy_64"}, {"dgemm", 10, "scipy_cblas_dgemm64_"},
	};
	char name[BLAS_NAME_B];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		blas_name(index_of(known[i].name, known[i].form), name);
		assert_string_equal(name, known[i].whole);
	}
	assert_true(blas_routine_count * BLAS_FORMS <= 4096);
	assert_true(blas_routine_count <= 256);
}

static void products_are_counted(void **state)
{
	(void)state;
	assert_true(flop_of("dgemm", 30, 40, 50, PLAIN) == 2. * 30 * 40 * 50);
	assert_true(flop_of("zgemm", 30, 40, 50, PLAIN) == 8. * 30 * 40 * 50);
	assert_true(flop_of("dgemm", 1e5, 1e5, 1e5, PLAIN) == 2e15);
	assert_true(bytes_of("dgemm", 30, 40, 50, NO_BETA) == 8. * (30 * 50 + 50 * 40 + 30 * 40));
	assert_true(bytes_of("sgemm", 30, 40, 50, PLAIN) == 4. * (30 * 50 + 50 * 40 + 2 * 30 * 40));
	assert_true(flop_of("dsyrk", 0, 40, 50, PLAIN) == 40. * 41 * 50);
	assert_true(flop_of("dsyr2k", 0, 40, 50, PLAIN) == 2 * 40. * 41 * 50);
	assert_true(flop_of("dsymm", 30, 40, 0, PLAIN) == 2. * 30 * 30 * 40);
	assert_true(flop_of("dsymm", 30, 40, 0, (struct blas_sizes){.is_right = 1}) == 2. * 30 * 40 * 40);
	assert_true(flop_of("dtrsm", 30, 40, 0, PLAIN) == 30. * 30 * 40);
	assert_true(flop_of("dtrmm", 30, 40, 0, (struct blas_sizes){.is_right = 1}) == 30. * 40 * 40);
	assert_true(flop_of("dgemv", 30, 40, 0, PLAIN) == 2. * 30 * 40);
	assert_true(bytes_of("dgemv", 30, 40, 0, NO_BETA) == 8. * (30 * 40 + 40 + 30));
	assert_true(bytes_of("dgemv", 30, 40, 0, (struct blas_sizes){.is_transposed = 1}) ==
		    8. * (30 * 40 + 30 + 2 * 40));
	assert_true(flop_of("ddot", 0, 100, 0, PLAIN) == 200);
	assert_true(flop_of("cscal", 0, 100, 0, PLAIN) == 600);
}

static void nothing_is_counted_of_nothing(void **state)
{
	(void)state;
	assert_true(flop_of("dgemm", 0, 40, 50, PLAIN) == 0);
	assert_true(flop_of("dgemm", -1, 40, 50, (struct blas_sizes){.is_invalid = 1}) == 0);
	assert_true(flop_of("dgemm", 30, 40, 50, (struct blas_sizes){.alpha_is_0 = 1}) == 0);
	assert_true(flop_of("dgeqrf", 30, 40, 0, (struct blas_sizes){.is_question = 1}) == 0);
	for (uint32_t i = 0; i < blas_routine_count; i++) {
		struct blas_sizes sizes = {.beta_is_0 = 1};
		struct blas_work work = blas_work_of(&blas_routines[i], &sizes);
		assert_true(work.flop == 0 && work.bytes == 0);
	}
}

/* --- against loops that count ------------------------------------------------------------------------------------- */

/* Gauss: a reciprocal a column, and its multiplications. */
static double count_lu(int m, int n)
{
	double flop = 0;
	for (int j = 0; j < (m < n ? m : n); j++)
		flop += 1 + (m - j - 1) + 2. * (m - j - 1) * (n - j - 1);
	return flop;
}

static double count_cholesky(int n)
{
	double flop = 0;
	for (int j = 0; j < n; j++)
		for (int i = j; i < n; i++)
			flop += 2 * j + 1; /* a product, and a square root or a division */
	return flop;
}

/* One right-hand side by a triangle. */
static double count_solve(int n, int is_unit)
{
	double flop = 0;
	for (int i = 0; i < n; i++)
		flop += 2 * i + !is_unit;
	return flop;
}

/* The inverse of a triangle, column by column: each element multiplied by the inverse so far, then by the diagonal. */
static double count_triangle_inverse(int n)
{
	double flop = 0;
	for (int j = 0; j < n; j++) {
		flop += 1;
		for (int i = 0; i < j; i++)
			flop += 2 * (j - i - 1) + 2; /* of trmv with a diagonal, then a scaling */
	}
	return flop;
}

static void decompositions_are_counted(void **state)
{
	(void)state;
	for (int n = 1; n < 40; n++) {
		assert_true(flop_of("dpotrf", 0, n, 0, PLAIN) == count_cholesky(n));
		assert_true(flop_of("dgetrs", 0, n, 3, PLAIN) == 3 * (count_solve(n, 1) + count_solve(n, 0)));
		assert_true(flop_of("dpotrs", 0, n, 3, PLAIN) == 3 * 2 * count_solve(n, 0));
		assert_true(flop_of("dtrtrs", 0, n, 3, PLAIN) == 3 * count_solve(n, 0));
		assert_true(flop_of("dtrtri", 0, n, 0, PLAIN) == count_triangle_inverse(n));
		assert_true(flop_of("dgesv", 0, n, 3, PLAIN) ==
			    flop_of("dgetrf", n, n, 0, PLAIN) + flop_of("dgetrs", 0, n, 3, PLAIN));
		assert_true(flop_of("dposv", 0, n, 3, PLAIN) ==
			    flop_of("dpotrf", 0, n, 0, PLAIN) + flop_of("dpotrs", 0, n, 3, PLAIN));
		for (int m = 1; m < 40; m += 3)
			assert_int_equal((int)flop_of("dgetrf", m, n, 0, PLAIN), (int)count_lu(m, n));
	}
}

/* Where no loop is short enough to be believed: the highest powers, of textbooks. */
static void the_rest_has_the_known_order(void **state)
{
	(void)state;
	double n = 3000, m = 6000;
	assert_true(fabs(flop_of("dgetri", 0, n, 0, PLAIN) / (4. / 3 * n * n * n) - 1) < 1e-3);
	assert_true(fabs(flop_of("dpotri", 0, n, 0, PLAIN) / (2. / 3 * n * n * n) - 1) < 1e-3);
	assert_true(fabs(flop_of("dgeqrf", m, n, 0, PLAIN) / (2 * m * n * n - 2. / 3 * n * n * n) - 1) < 1e-3);
	assert_true(fabs(flop_of("dgeqrf", n, m, 0, PLAIN) / (2 * m * n * n - 2. / 3 * n * n * n) - 1) < 1e-3);
	assert_true(fabs(flop_of("dorgqr", m, n, n, PLAIN) / (2 * m * n * n - 2. / 3 * n * n * n) - 1) < 1e-3);
	assert_true(flop_of("zpotri", 0, n, 0, PLAIN) > 3.9 * flop_of("dpotri", 0, n, 0, PLAIN));
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static struct blas_sizes read(const char *name, uint32_t form, const struct blas_registers *registers,
			      const uint64_t *stack)
{
	struct blas_sizes sizes;
	struct blas_call call = {registers, stack};
	uint32_t index = index_of(name, form);
	blas_sizes_read(blas_routine_of(index), blas_form_of(index)->flags, &call, &sizes);
	return sizes;
}

/* Integer arguments as the machine passes them. */
static void put(struct blas_registers *registers, uint64_t *stack, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i < BLAS_INTEGERS)
			registers->integers[i] = words[i];
		else
			stack[i - BLAS_INTEGERS] = words[i];
	}
}

static uint64_t at(const void *value)
{
	return (uint64_t)(uintptr_t)value;
}

static void sizes_are_read_in_every_form(void **state)
{
	(void)state;
	int32_t m = 30, n = 40, k = -5;
	int64_t wide_m = INT64_C(1) << 33, wide_n = 40, wide_k = 50;
	double one = 1, zero = 0;
	struct blas_registers registers = {0};
	uint64_t stack[16] = {0};
	char text[BLAS_SIZES_B];
	put(&registers, stack,
	    (uint64_t[]){at("N"), at("N"), at(&m), at(&n), at(&k), at(&one), 0, 0, 0, 0, at(&zero), 0, 0}, 13);
	struct blas_sizes sizes = read("dgemm", FORTRAN, &registers, stack);
	assert_true(sizes.m == 30 && sizes.n == 40 && sizes.k == -5 && sizes.is_invalid);
	assert_true(!sizes.alpha_is_0 && sizes.beta_is_0);
	assert_int_equal(blas_sizes_text(&sizes, text), strlen("m=30 n=40 k=-5"));
	assert_string_equal(text, "m=30 n=40 k=-5");

	put(&registers, stack,
	    (uint64_t[]){at("N"), at("N"), at(&wide_m), at(&wide_n), at(&wide_k), at(&zero), 0, 0, 0, 0, at(&one)}, 11);
	sizes = read("dgemm", FORTRAN_WIDE, &registers, stack);
	assert_true(sizes.m == (double)wide_m && sizes.k == 50 && sizes.alpha_is_0 && !sizes.beta_is_0);

	/* order, transpositions, sizes with rubbish in what is no part of them; alpha and beta in registers for reals
	 */
	uint64_t rubbish = UINT64_C(0xabcd) << 32;
	float alpha = -0.f, beta = 1e-40f;
	put(&registers, stack, (uint64_t[]){101, 111, 111, rubbish | 30, rubbish | 40, rubbish | 50, 0, 0, 0, 0, 0, 0},
	    12);
	memcpy(&registers.reals[0], &alpha, sizeof alpha);
	memcpy(&registers.reals[1], &beta, sizeof beta);
	sizes = read("sgemm", CBLAS, &registers, stack);
	assert_true(sizes.m == 30 && sizes.n == 40 && sizes.k == 50 && sizes.alpha_is_0 && !sizes.beta_is_0);

	put(&registers, stack, (uint64_t[]){101, 111, 111, (uint64_t)wide_m, 40, 50}, 6);
	assert_true(read("dgemm", CBLAS_WIDE, &registers, stack).m == (double)wide_m);

	/* complex: by address */
	double i[2] = {0, 1};
	put(&registers, stack, (uint64_t[]){101, 111, 111, 30, 40, 50, at(i), 0, 0, 0, 0, at(&(double[2]){0, 0})}, 12);
	sizes = read("zgemm", CBLAS, &registers, stack);
	assert_true(!sizes.alpha_is_0 && sizes.beta_is_0);

	/* alpha and beta of herk are real */
	put(&registers, stack, (uint64_t[]){101, 121, 111, 40, 50, 0, 0, 0, 0}, 9);
	registers.reals[0][0] = registers.reals[1][0] = 0;
	sizes = read("zherk", CBLAS, &registers, stack);
	assert_true(sizes.n == 40 && sizes.k == 50 && sizes.alpha_is_0 && sizes.beta_is_0);
}

static void options_are_read(void **state)
{
	(void)state;
	int32_t m = 3, n = 4, question = -1, info = 7;
	double one = 1;
	struct blas_registers registers = {0};
	uint64_t stack[16] = {0};
	put(&registers, stack, (uint64_t[]){at("r"), at("U"), at("N"), at("N"), at(&m), at(&n), at(&one)}, 7);
	assert_true(read("dtrsm", FORTRAN, &registers, stack).is_right);
	put(&registers, stack, (uint64_t[]){at("L")}, 1);
	assert_false(read("dtrsm", FORTRAN, &registers, stack).is_right);
	put(&registers, stack, (uint64_t[]){101, 142, 121, 111, 131, 3, 4}, 7);
	assert_true(read("dtrsm", CBLAS, &registers, stack).is_right);
	put(&registers, stack, (uint64_t[]){101, 113, 3, 4}, 4);
	assert_true(read("dgemv", CBLAS, &registers, stack).is_transposed);
	put(&registers, stack, (uint64_t[]){at(&m), at(&n), 0, at(&m), 0, 0, at(&question), at(&info)}, 8);
	struct blas_sizes sizes = read("dgeqrf", FORTRAN, &registers, stack);
	assert_true(sizes.is_question && sizes.info == &info && sizes.m == 3 && sizes.n == 4 && !sizes.has_k);
}

static void words_on_the_stack_are_counted(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint32_t form, integers;
	} known[] = {
	    {"dgemm", FORTRAN, 13 + 2}, {"dgemm", CBLAS, 12},   {"zgemm", CBLAS, 14},   {"zherk", CBLAS, 9},
	    {"dtrsm", FORTRAN, 11 + 4}, {"dtrsm", CBLAS, 11},   {"ddot", CBLAS, 5},     {"daxpy", CBLAS, 5},
	    {"dgesv", FORTRAN, 8},      {"dgeqrf", FORTRAN, 8}, {"dorgqr", FORTRAN, 9},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		uint32_t index = index_of(known[i].name, known[i].form), all = known[i].integers;
		assert_int_equal(blas_stack_words(blas_routine_of(index), blas_form_of(index)->flags),
				 all > BLAS_INTEGERS ? all - BLAS_INTEGERS : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_made),
	    cmocka_unit_test(products_are_counted),
	    cmocka_unit_test(nothing_is_counted_of_nothing),
	    cmocka_unit_test(decompositions_are_counted),
	    cmocka_unit_test(the_rest_has_the_known_order),
	    cmocka_unit_test(sizes_are_read_in_every_form),
	    cmocka_unit_test(options_are_read),
	    cmocka_unit_test(words_on_the_stack_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
