/* odd_execs.c: allocates in two functions, then executes the given command: odd_execs [COMMAND…] */
#include <stdlib.h>
#include <unistd.h>

#include "no_inline.h"

static void *volatile kept;

static NO_INLINE void takes_one(void)
{
	kept = malloc(11);
}

static NO_INLINE void takes_another(void)
{
	kept = malloc(22);
}

int main(int argc, char **argv)
{
	takes_one();
	takes_another();
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 0;
}
