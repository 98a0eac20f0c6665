/* early_names.c: calls every C++ operator (early_operators.c) and every routine of BLAS and LAPACK
 * (src/inject/blas/blas.def) that an injected object interposes, and sonde_alloc() and sonde_free(). The routines are
 * those of blas_fake.c, which print their names and the sum of their arguments. */
#include "early_names.h"

#include <stdint.h>
#include <stdlib.h>

#include "early_calls.h"
#include "inject/blas/blas.h"

#define ARGUMENTS 24

static void say_number(const char *text, unsigned long number)
{
	early_say(text);
	early_say_number((long)number);
}

/* Compares strings without the C library, which may not be initialised yet. */
static int are_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* --- the program's own reports ------------------------------------------------------------------------------------ */

int sonde_alloc(const char *name, const void *block, size_t size_b) __attribute__((weak, visibility("default")));
int sonde_free(const char *name, const void *block) __attribute__((weak, visibility("default")));

/* Calls functions that exist only under sonde record --heap, because the program is not linked against libsonde. */
static void call_reports(void)
{
	static const char block[1];
	if (sonde_alloc)
		sonde_alloc("early pool", block, 1);
	if (sonde_free)
		sonde_free("early pool", block);
}

/* --- routines ---------------------------------------------------------------------------------------------------- */

/* Their addresses in the order of blas_fake.c; 0 where LAPACK has no name. */
__asm__(".section .data.rel,\"aw\"\n"
	".p2align 3\n"
	"early_routines:\n");
#define NAME(name) __asm__("	.quad " name "\n");
#define NAMES(name)                \
	NAME(name "_")             \
	NAME(name "_64_")          \
	NAME(name "64_")           \
	NAME("scipy_" name "_")    \
	NAME("scipy_" name "_64_") \
	NAME("scipy_" name "64"    \
	     "_")
#define NAMES_C(name)             \
	NAME("cblas_" name)       \
	NAME("cblas_" name "64_") \
	NAME("cblas_" name "_64") \
	NAME("scipy_cblas_" name) NAME("scipy_cblas_" name "64_") NAME("scipy_cblas_" name "_64")
#define BLAS(name) NAMES(name) NAMES_C(name)
#define LAPACK(name) NAMES(name) __asm__("	.zero 48\n");
#define EACH_SD(what, name) what("s" #name) what("d" #name)
#define EACH_CZ(what, name) what("c" #name) what("z" #name)
#define EACH_SDCZ(what, name) EACH_SD(what, name) EACH_CZ(what, name)
#define SONDE_BLAS(types, name, ...) EACH_##types(BLAS, name)
#define SONDE_LAPACK(types, name, ...) EACH_##types(LAPACK, name)
#include "inject/blas/blas.def"
__asm__(".text\n");

typedef uint64_t (*routine)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
extern const routine early_routines[] __attribute__((visibility("hidden")));
extern __attribute__((visibility("default"))) char blas_fake_called[BLAS_NAME_B];

static int is_right(uint32_t index)
{
	static uint64_t twos[ARGUMENTS];
	uint64_t a[ARGUMENTS], sum = 0;
	char name[BLAS_NAME_B];
	for (int i = 0; i < ARGUMENTS; i++) {
		twos[i] = 2;
		a[i] = (uint64_t)(uintptr_t)&twos[i];
	}
	uint32_t words = blas_stack_words(blas_routine_of(index), blas_form_of(index)->flags);
	for (uint32_t i = 0; i < BLAS_INTEGERS + words; i++)
		sum += (i < BLAS_INTEGERS ? 1 : i - BLAS_INTEGERS + 2) * a[i];
	uint64_t got =
	    early_routines[index](a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
				  a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
	blas_name(index, name);
	return got == sum && are_same(blas_fake_called, name);
}

static void call_routines(unsigned long *calls, unsigned long *faults)
{
	for (uint32_t index = 0; index < blas_routine_count * BLAS_FORMS; index++) {
		if (!early_routines[index])
			continue;
		*faults += !is_right(index);
		++*calls;
	}
}

void early_names(const char *where)
{
	unsigned long operators = 0, routines = 0, faults = 0;
	early_operators(&operators, &faults);
	call_routines(&routines, &faults);
	call_reports();
	early_say(where);
	say_number(": operators ", operators);
	say_number(", routines ", routines);
	say_number(", faults ", faults);
	early_say("\n");
}
