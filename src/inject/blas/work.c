/* work.c: the table of routines, the sizes of a call, and its FLOP and bytes.
 *
 * FLOP are those of the operation's definition, with each multiplication and addition one FLOP, as LAPACK's authors
 * count (docs/WORK.md): a complex multiplication is 6 and a complex addition 2. How a library computes the result
 * (Strassen, 3M, at half precision) does not matter. Bytes are a model: the minimum, which is reached if the cache
 * holds all operands; with a smaller cache, more bytes are moved.
 */
#include "inject/blas/blas.h"

#include <string.h>

#define TRI(n) ((n) * ((n) + 1) / 2)
#define FORTRAN_TEXTS "tsT" /* each has its length after all arguments */

/* POTRF, GEQRF, ORGQR: LAPACK Working Note 41. */
#define GETRF_M(m, n) (getrf_divided(m, n) + getrf_products(m, n))
#define GETRF_A(m, n) getrf_products(m, n)
#define POTRF_M(n) ((n) * (1. / 3 + (n) * ((n) / 6 + .5)))
#define POTRF_A(n) ((n) * ((n) * (n) / 6 - 1. / 6))
#define GEQRF_M(m, n) geqrf(m, n, 1, 23. / 6)
#define GEQRF_A(m, n) geqrf(m, n, 0, 5. / 6)
#define ORGQR_M(m, n, k) ((k) * (2 * (m) * (n) + 2 * (n)-5. / 3 + (k) * (2. / 3 * (k) - ((m) + (n)) - 1)))
#define ORGQR_A(m, n, k) ((k) * (2 * (m) * (n) + (n) - (m) + 1. / 3 + (k) * (2. / 3 * (k) - ((m) + (n)))))

/* One reciprocal per column, and the products of the elements below it. */
static double getrf_divided(double m, double n)
{
	double columns = m < n ? m : n;
	return columns * m - columns * (columns - 1) / 2;
}

/* For each column, the elements to its right and below: (m - 1 - j) (n - 1 - j). */
static double getrf_products(double m, double n)
{
	double columns = m < n ? m : n;
	return columns * (m - 1) * (n - 1) - (m + n - 2) * columns * (columns - 1) / 2 +
	       (columns - 1) * columns * (2 * columns - 1) / 6;
}

static double geqrf(double m, double n, double of_other, double of_small)
{
	if (m > n)
		return n * (n * (.5 - n / 3 + m) + of_other * m + of_small);
	return m * (m * (-.5 - m / 3 + n) + (1 + of_other) * n + of_small);
}

const struct blas_form blas_forms[BLAS_FORMS] = {
    {"", "_", 0},
    {"", "_64_", BLAS_FORM_WIDE},
    {"", "64_", BLAS_FORM_WIDE},
    {"scipy_", "_", 0},
    {"scipy_", "_64_", BLAS_FORM_WIDE},
    {"scipy_", "64_", BLAS_FORM_WIDE},
    {"cblas_", "", BLAS_FORM_CBLAS},
    {"cblas_", "64_", BLAS_FORM_CBLAS | BLAS_FORM_WIDE},
    {"cblas_", "_64", BLAS_FORM_CBLAS | BLAS_FORM_WIDE},
    {"scipy_cblas_", "", BLAS_FORM_CBLAS},
    {"scipy_cblas_", "64_", BLAS_FORM_CBLAS | BLAS_FORM_WIDE},
    {"scipy_cblas_", "_64", BLAS_FORM_CBLAS | BLAS_FORM_WIDE},
};

/* --- formulas ---------------------------------------------------------------------------------------------------- */

#define SONDE_BLAS(types, name, arguments, multiplications, additions, words)                 \
	static void count_##name(const struct blas_sizes *sizes, double counts[3])            \
	{                                                                                     \
		double m = sizes->m, n = sizes->n, k = sizes->k, q = sizes->is_right ? n : m; \
		double c = sizes->beta_is_0 ? 1 : 2;                                          \
		double in = sizes->is_transposed ? m : n, out = sizes->is_transposed ? n : m; \
		(void)m, (void)n, (void)k, (void)q, (void)c, (void)in, (void)out;             \
		counts[0] = multiplications;                                                  \
		counts[1] = additions;                                                        \
		counts[2] = words;                                                            \
	}
#define SONDE_LAPACK SONDE_BLAS
#include "inject/blas/blas.def"
#undef SONDE_BLAS
#undef SONDE_LAPACK

/* Rows of the table of routines, in the order of blas/entry.c. */
#define ROW(type, lapack, name, arguments) {type, lapack, #name, arguments, count_##name},
#define ROWS_SD(...) ROW('s', __VA_ARGS__) ROW('d', __VA_ARGS__)
#define ROWS_CZ(...) ROW('c', __VA_ARGS__) ROW('z', __VA_ARGS__)
#define ROWS_SDCZ(...) ROWS_SD(__VA_ARGS__) ROWS_CZ(__VA_ARGS__)
#define SONDE_BLAS(types, name, arguments, ...) ROWS_##types(0, name, arguments)
#define SONDE_LAPACK(types, name, arguments, ...) ROWS_##types(1, name, arguments)
const struct blas_routine blas_routines[] = {
#include "inject/blas/blas.def"
};
#undef SONDE_BLAS
#undef SONDE_LAPACK
const uint32_t blas_routine_count = sizeof(blas_routines) / sizeof(*blas_routines);

static int is_complex(const struct blas_routine *routine)
{
	return routine->type == 'c' || routine->type == 'z';
}

static int is_double(const struct blas_routine *routine)
{
	return routine->type == 'd' || routine->type == 'z';
}

/* Rounds to a whole number: counts are whole, but some formulas have fractions, which are not exact in floating
 * point. */
static double whole(double count)
{
	return count < 9e15 ? (double)(int64_t)(count + .5) : count;
}

struct blas_work blas_work_of(const struct blas_routine *routine, const struct blas_sizes *sizes)
{
	double counts[3], word_b = is_double(routine) ? 8 : 4;
	if (sizes->is_invalid || sizes->is_question || sizes->alpha_is_0)
		return (struct blas_work){0, 0};
	routine->count(sizes, counts);
	if (is_complex(routine))
		return (struct blas_work){whole(6 * counts[0] + 2 * counts[1]), 2 * word_b * counts[2]};
	return (struct blas_work){whole(counts[0] + counts[1]), word_b * counts[2]};
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static size_t append(char *out, size_t at, const char *text)
{
	size_t size_b = strlen(text);
	memcpy(out + at, text, size_b + 1);
	return at + size_b;
}

void blas_name(uint32_t index, char out[BLAS_NAME_B])
{
	const struct blas_routine *routine = blas_routine_of(index);
	const struct blas_form *form = blas_form_of(index);
	size_t at = append(out, 0, form->prefix);
	out[at] = routine->type;
	at = append(out, at + 1, routine->name);
	append(out, at, form->suffix);
}

/* --- arguments --------------------------------------------------------------------------------------------------- */

/* True if the argument is in a floating-point register. */
static int is_real_argument(const struct blas_routine *routine, int flags, char argument)
{
	if (!(flags & BLAS_FORM_CBLAS))
		return 0;
	return argument == 'x' || argument == 'y' || ((argument == 'a' || argument == 'b') && !is_complex(routine));
}

static int is_there(int flags, char argument)
{
	return argument != 'o' || flags & BLAS_FORM_CBLAS;
}

uint32_t blas_stack_words(const struct blas_routine *routine, int flags)
{
	uint32_t integers = 0;
	for (const char *at = routine->arguments; *at; at++) {
		integers += is_there(flags, *at) && !is_real_argument(routine, flags, *at);
		integers += !(flags & BLAS_FORM_CBLAS) && strchr(FORTRAN_TEXTS, *at);
	}
	return integers > BLAS_INTEGERS ? integers - BLAS_INTEGERS : 0;
}

static double integer_of(int flags, uint64_t word)
{
	if (!(flags & BLAS_FORM_CBLAS))
		return flags & BLAS_FORM_WIDE ? (double)*(const int64_t *)(uintptr_t)word
					      : (double)*(const int32_t *)(uintptr_t)word;
	return flags & BLAS_FORM_WIDE ? (double)(int64_t)word : (double)(int32_t)word;
}

/* Compares all bits but the sign: comparing as reals would raise an exception for NaN. */
static int is_0(const struct blas_routine *routine, int is_one, const void *at)
{
	uint64_t pair[2] = {0, 0};
	uint32_t short_pair[2] = {0, 0};
	size_t count = is_complex(routine) && !is_one ? 2 : 1;
	if (is_double(routine))
		memcpy(pair, at, count * sizeof(*pair));
	else
		memcpy(short_pair, at, count * sizeof(*short_pair));
	return !((pair[0] | pair[1]) << 1) && !((short_pair[0] | short_pair[1]) << 1);
}

static int is_right(int flags, uint64_t word)
{
	if (flags & BLAS_FORM_CBLAS)
		return (int32_t)word == 142; /* CblasRight */
	char side = *(const char *)(uintptr_t)word;
	return side == 'R' || side == 'r';
}

/* Conjugation alone, an extension of some libraries, is not a transposition. */
static int is_transposed(int flags, uint64_t word)
{
	if (flags & BLAS_FORM_CBLAS)
		return (int32_t)word == 112 || (int32_t)word == 113; /* CblasTrans, CblasConjTrans */
	char transposed = *(const char *)(uintptr_t)word;
	return transposed == 'T' || transposed == 't' || transposed == 'C' || transposed == 'c';
}

static void size_set(struct blas_sizes *out, double *size, char *has, double value)
{
	*size = value;
	*has = 1;
	out->is_invalid |= value < 0;
}

/* Reads an argument from a word: a value, or the address of one. */
static void take(struct blas_sizes *out, const struct blas_routine *routine, int flags, char argument, uint64_t word)
{
	const void *at = (const void *)(uintptr_t)word;
	switch (argument) {
	case 'm':
		size_set(out, &out->m, &out->has_m, integer_of(flags, word));
		break;
	case 'n':
		size_set(out, &out->n, &out->has_n, integer_of(flags, word));
		break;
	case 'k':
		size_set(out, &out->k, &out->has_k, integer_of(flags, word));
		break;
	case 's':
		out->is_right = (char)is_right(flags, word);
		break;
	case 'T':
		out->is_transposed = (char)is_transposed(flags, word);
		break;
	case 'a':
	case 'x':
		out->alpha_is_0 = (char)is_0(routine, argument == 'x', at);
		break;
	case 'b':
	case 'y':
		out->beta_is_0 = (char)is_0(routine, argument == 'y', at);
		break;
	case 'w':
		out->is_question = integer_of(flags, word) == -1;
		break;
	case 'i':
		out->info = at;
		break;
	default:
		break;
	}
}

void blas_sizes_read(const struct blas_routine *routine, int flags, const struct blas_call *call,
		     struct blas_sizes *out)
{
	uint32_t integers = 0, reals = 0;
	*out = (struct blas_sizes){0};
	for (const char *at = routine->arguments; *at; at++) {
		if (!is_there(flags, *at))
			continue;
		if (is_real_argument(routine, flags, *at)) {
			take(out, routine, flags, *at, (uint64_t)(uintptr_t)call->registers->reals[reals++]);
			continue;
		}
		take(out, routine, flags, *at,
		     integers < BLAS_INTEGERS ? call->registers->integers[integers]
					      : call->stack[integers - BLAS_INTEGERS]);
		integers++;
	}
}

static size_t append_size(char *out, size_t at, char has, const char *title, double size)
{
	char digits[24];
	size_t count = 0;
	if (!has)
		return at;
	at = append(out, at, at ? title : title + 1);
	uint64_t left = size < 0 ? (uint64_t)-size : (uint64_t)size;
	if (size < 0)
		at = append(out, at, "-");
	do {
		digits[count++] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	while (count)
		out[at++] = digits[--count];
	out[at] = '\0';
	return at;
}

size_t blas_sizes_text(const struct blas_sizes *sizes, char *out)
{
	size_t at = append_size(out, 0, sizes->has_m, " m=", sizes->m);
	at = append_size(out, at, sizes->has_n, " n=", sizes->n);
	return append_size(out, at, sizes->has_k, " k=", sizes->k);
}
