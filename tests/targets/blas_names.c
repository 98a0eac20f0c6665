/* blas_names.c: calls every name of src/inject/blas/blas.def once with 24 arguments, in a library that is loaded
 * locally or globally, and prints whether the function of that name received them. Usage: blas_names LIBRARY
 * local|global|none */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "inject/blas/blas.h"

#define ARGUMENTS 24

typedef uint64_t (*routine)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* What each argument points at: 2 if read as an integer of either size, a tiny number above 0 if read as a
 * floating-point number. */
static uint64_t twos[ARGUMENTS];

static int call(uint32_t index, const char *name, const char *called)
{
	routine function = (routine)dlsym(RTLD_DEFAULT, name);
	uint64_t a[ARGUMENTS], sum = 0;
	if (!function) {
		printf("%s is not there\n", name);
		return 1;
	}
	for (int i = 0; i < ARGUMENTS; i++) {
		twos[i] = 2;
		a[i] = (uint64_t)(uintptr_t)&twos[i];
	}
	uint32_t words = blas_stack_words(blas_routine_of(index), blas_form_of(index)->flags);
	for (uint32_t i = 0; i < BLAS_INTEGERS + words; i++)
		sum += (i < BLAS_INTEGERS ? 1 : i - BLAS_INTEGERS + 2) * a[i];
	uint64_t got = function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
				a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
	if (!strcmp(name, called) && got == sum)
		return 0;
	printf("%s: called %s, arguments %s\n", name, called, got == sum ? "right" : "wrong");
	return 1;
}

int main(int argc, char **argv)
{
	uint32_t faults = 0, calls = 0;
	int mode = argc > 2 && !strcmp(argv[2], "global") ? RTLD_GLOBAL : RTLD_LOCAL;
	void *library = argc > 2 && strcmp(argv[2], "none") ? dlopen(argv[1], RTLD_NOW | mode) : NULL;
	const char *called = library ? dlsym(library, "blas_fake_called") : "";
	for (uint32_t index = 0; index < blas_routine_count * BLAS_FORMS; index++) {
		char name[BLAS_NAME_B];
		if (blas_routine_of(index)->is_lapack && index % BLAS_FORMS >= BLAS_FORTRAN_FORMS)
			continue;
		blas_name(index, name);
		faults += (uint32_t)call(index, name, called);
		calls++;
	}
	printf("%u names called, %u faults\n", calls, faults);
	return faults != 0;
}
