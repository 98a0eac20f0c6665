/* early_library.c: a library that calls everything that is interposed before the program starts: in an IFUNC
 * resolver, when objects loaded before it may not be relocated yet, and in its constructor. */
#include "early_calls.h"

static int number(void)
{
	return 0;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	early_calls_first("library's resolver");
	return number;
}

static int chosen(void) __attribute__((ifunc("resolve")));

int early_library(void);
int early_library(void)
{
	return chosen();
}

__attribute__((constructor)) static void begin(void)
{
	early_calls_under("library's constructor");
	early_calls_outside("library's constructor");
}
