/* told.c: executes the commands on its standard input, and prints when each is done: a run that a test controls.
 *
 * "alpha N" and "beta N": N zones of that name around a unit of work each; "exit N": ends with that code. After each
 * line it prints "done". At the end of the input it ends with 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "burn.h"

__attribute__((noinline)) void alpha(long count)
{
	for (long i = 0; i < count; i++) {
		SONDE_ZONE("alpha");
		burn(BURN_UNIT);
	}
}

__attribute__((noinline)) void beta(long count)
{
	for (long i = 0; i < count; i++) {
		SONDE_ZONE("beta");
		burn(BURN_UNIT);
	}
}

int main(void)
{
	char line[64];
	long count;
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "alpha %ld", &count) == 1)
			alpha(count);
		else if (sscanf(line, "beta %ld", &count) == 1)
			beta(count);
		else if (sscanf(line, "exit %ld", &count) == 1)
			return (int)count;
		puts("done");
		fflush(stdout);
	}
	return 0;
}
