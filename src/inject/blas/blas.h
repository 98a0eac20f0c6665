/* blas.h: internals of libsonde-blas.so, which is preloaded into programs to count their BLAS and LAPACK calls.
 *
 * It exports the names of the routines in blas/blas.def (blas_names.h), all with the same code: a frame that saves the
 * argument registers, so that one function can read them by the routine's row (blas/work.c), and then a call of the
 * real routine with all its arguments, including those on the stack (blas/entry.c). So hidden lengths of Fortran texts
 * and the type of the result need not be known. The routine is looked up as the caller would have found it without us
 * (blas/next.c). A call becomes a zone and a report of work (blas/zones.c). They are made by libsonde: the program's
 * own copy, or one that is loaded at the first call.
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

/* The registers that blas/entry.c has saved for a call. */
struct blas_registers {
	uint64_t integers[BLAS_INTEGERS];
#if defined(__aarch64__)
	uint64_t result_at, unused;
#endif
	uint64_t reals[BLAS_REALS][2];
};

struct blas_call {
	const struct blas_registers *registers;
	const uint64_t *stack; /* the arguments on the stack */
};

/* --- blas/work.c ------------------------------------------------------------------------------------------------- */

enum { BLAS_FORM_CBLAS = 1, BLAS_FORM_WIDE = 2 }; /* CBLAS interface, 64-bit integers */

/* How names are formed, in the order of blas/entry.c: PREFIX TYPE NAME SUFFIX. */
struct blas_form {
	char prefix[16], suffix[8]; /* not pointers: used before the object is relocated */
	int flags;
};
#define BLAS_FORTRAN_FORMS 6
#define BLAS_FORMS 12
extern const struct blas_form blas_forms[BLAS_FORMS];

struct blas_sizes {
	double m, n, k;
	char has_m, has_n, has_k;
	char is_right, is_transposed; /* the meaning of the arguments s and T */
	char is_invalid;              /* a negative size: the routine will reject it */
	char is_question;             /* a query for the size of a workspace */
	char alpha_is_0, beta_is_0;
	const void *info; /* where the routine stores its result code; NULL = nowhere */
};

struct blas_routine {
	char type; /* s d c z */
	char is_lapack;
	char name[8]; /* without the type; not a pointer, as above */
	char arguments[16];
	void (*count)(const struct blas_sizes *sizes, double out[3]); /* multiplications, additions, words */
};
extern const struct blas_routine blas_routines[];
extern const uint32_t blas_routine_count;

struct blas_work {
	double flop, bytes;
};

/* The routine and the form that an entry's number encodes. */
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
/* Number of argument words on the stack. */
uint32_t blas_stack_words(const struct blas_routine *routine, int flags);
void blas_sizes_read(const struct blas_routine *routine, int flags, const struct blas_call *call,
		     struct blas_sizes *out);
/* The work that a call requests: none if nothing is multiplied. */
struct blas_work blas_work_of(const struct blas_routine *routine, const struct blas_sizes *sizes);
/* "m=64 n=64 k=64"; returns the length. */
size_t blas_sizes_text(const struct blas_sizes *sizes, char *out);
#define BLAS_SIZES_B 80

/* --- blas/next.c ------------------------------------------------------------------------------------------------- */

struct blas_next {
	void *function;
	int is_wide; /* has 64-bit integers, although its name does not say so */
};

/* The routine that the caller at `from` would have called; does not return if there is none. */
struct blas_next blas_next_of(uint32_t index, const void *from);
/* Like blas_next_of(), for calls before the loader has relocated our object: the result is not cached. */
void *blas_next_unbound(uint32_t index);

/* --- blas/zones.c ------------------------------------------------------------------------------------------------ */

/* Begins the zone of a call. 0 = nothing is recorded: do not call blas_zone_end(). */
int blas_zone_begin(uint32_t index);
/* Ends the zone and reports its work; `work` NULL: the work is unknown. */
void blas_zone_end(const struct blas_work *work, const struct blas_sizes *sizes);

#endif
