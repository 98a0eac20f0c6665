/* early_names_library.c: a library that calls C++ operators and routines of BLAS before the program starts: in an IFUNC
 * resolver, and in its constructor. */
#include "early_names.h"

static int number(void)
{
	return 0;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	early_names("library's resolver");
	return number;
}

static int chosen(void) __attribute__((ifunc("resolve")));

__attribute__((visibility("default"))) int early_names_library(void);
int early_names_library(void)
{
	return chosen();
}

__attribute__((constructor)) static void begin(void)
{
	early_names("library's constructor");
}
