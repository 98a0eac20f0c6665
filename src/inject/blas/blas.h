/* blas.h: the inside of libsonde-blas.so, which is preloaded into programs whose calls of BLAS and LAPACK are counted.
 *
 * It has the names of the routines of blas/blas.def (blas_names.h), under all of which there is the same: a frame that keeps
 * the registers in which arguments are, so that one function reads them by the routine's row (blas/work.c), and then
 * the routine itself with all its arguments again, on the stack, too (blas/entry.c). Nothing need be known of hidden
 * lengths of Fortran's texts or of what is returned. The routine is looked up as the caller would have found it without
 * us (blas/next.c). A call becomes a zone and a report of work, as libsonde makes them (blas/zones.c): that of the
 * program, or, where it has none, one that is loaded at the first call.
 */
#ifndef SONDE_INJECT_BLAS_BLAS_H
#define SONDE_INJECT_BLAS_BLAS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define BLAS_INTEGERS 6 /* registers for integers and addresses */
#elif defined(__aarch64__)
#define BLAS_INTEGERS 8
#endif
#define BLAS_REALS 8
#define BLAS_NAME_B 32

/* What blas/entry.c has kept of a call. */
struct blas_registers {
	uint64_t integers[BLAS_INTEGERS];
#if defined(__aarch64__)
	uint64_t result_at, unused;
#endif
	uint64_t reals[BLAS_REALS][2];
};

struct blas_call {
	const struct blas_registers *registers;
	const uint64_t *stack; /* the arguments there */
};

/* --- blas/work.c ------------------------------------------------------------------------------------------------- */

enum { BLAS_FORM_CBLAS = 1, BLAS_FORM_WIDE = 2 }; /* C's interface, 64-bit integers */

/* How names are made, in the order in which blas/entry.c has them: PREFIX TYPE NAME SUFFIX. */
struct blas_form {
	const char *prefix, *suffix;
	int flags;
};
#define BLAS_FORTRAN_FORMS 6
#define BLAS_FORMS 12
extern const struct blas_form blas_forms[BLAS_FORMS];

struct blas_sizes {
	double m, n, k;
	char has_m, has_n, has_k;
	char is_right, is_transposed; /* side, T */
	char is_invalid;              /* a size below 0: the routine will refuse it */
	char is_question;             /* for the size of a workspace */
	char alpha_is_0, beta_is_0;
	const void *info; /* where the routine says how it went; NULL = nowhere */
};

struct blas_routine {
	char type; /* s d c z */
	char is_lapack;
	const char *name; /* without the type */
	const char *arguments;
	void (*count)(const struct blas_sizes *sizes, double out[3]); /* multiplications, additions, words */
};
extern const struct blas_routine blas_routines[];
extern const uint32_t blas_routine_count;

struct blas_work {
	double flop, bytes;
};

/* By the number that an entry has: a routine and a form. */
static inline const struct blas_routine *blas_routine_of(uint32_t index)
{
	return &blas_routines[index / BLAS_FORMS];
}

static inline const struct blas_form *blas_form_of(uint32_t index)
{
	return &blas_forms[index % BLAS_FORMS];
}

/* The name of an entry. */
void blas_name(uint32_t index, char out[BLAS_NAME_B]);
/* How many words of arguments lie on the stack. */
uint32_t blas_stack_words(const struct blas_routine *routine, int flags);
void blas_sizes_read(const struct blas_routine *routine, int flags, const struct blas_call *call,
		     struct blas_sizes *out);
/* What is asked for: nothing where nothing is multiplied. */
struct blas_work blas_work_of(const struct blas_routine *routine, const struct blas_sizes *sizes);
/* "m=64 n=64 k=64"; returns how long it is. */
size_t blas_sizes_text(const struct blas_sizes *sizes, char *out);
#define BLAS_SIZES_B 80

/* --- blas/next.c ------------------------------------------------------------------------------------------------- */

struct blas_next {
	void *function;
	int is_wide; /* its integers have 64 bits, which its name does not say */
};

/* What the caller at `from` would have called; never returns when there is none. */
struct blas_next blas_next_of(uint32_t index, const void *from);

/* --- blas/zones.c ------------------------------------------------------------------------------------------------ */

/* 0 = nothing is recorded, and there is nothing to end. */
int blas_zone_begin(uint32_t index);
/* `work` NULL: nothing is known of it. */
void blas_zone_end(const struct blas_work *work, const struct blas_sizes *sizes);

#endif
