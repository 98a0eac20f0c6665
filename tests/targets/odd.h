/* odd.h: shared by programs that allocate a known number of blocks while they do something odd; the first argument
 * names the command. Each keeps 100 blocks of 1000 B in after() when all went well, and prints its name.
 */
#ifndef SONDE_TESTS_ODD_H
#define SONDE_TESTS_ODD_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "no_inline.h"

enum { ODD_KEPT = 100, ODD_CALLS = 10 };

struct odd_command {
	const char *name;
	int (*run)(char **arguments); /* 0 = all went well */
};

static void *volatile odd_kept[ODD_KEPT];

NO_INLINE static int after(void)
{
	for (int i = 0; i < ODD_KEPT; i++)
		if (!(odd_kept[i] = malloc(1000)))
			return 1;
	return 0;
}

/* 10 calls of 77 B, of which one block stays. */
NO_INLINE static void keeps_one(void)
{
	for (volatile int i = 0; i < ODD_CALLS; i++) { /* one call, whose stack is one */
		void *volatile block = malloc(77);
		if (i)
			free(block);
	}
}

static inline int odd_main(int count, char **arguments, const struct odd_command *commands)
{
	for (; count > 1 && commands->name; commands++) {
		if (strcmp(arguments[1], commands->name) != 0)
			continue;
		int code = commands->run(arguments + 2);
		puts(code ? "failed" : arguments[1]);
		return code;
	}
	return 2;
}

#endif
