/* intern.h: numbers distinct strings from 1, in the order of first use; "" is 0. */
#ifndef SONDE_EXPORT_INTERN_H
#define SONDE_EXPORT_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/map.h"

/* A zeroed struct is empty. */
struct sonde_intern {
	struct sonde_arena arena;
	struct sonde_map map;
	const char **texts; /* by number − 1 */
	size_t count, cap;
	uint32_t last; /* the number returned last, because most texts repeat; 0 = none */
};

/* The number of `text`, which is copied if new; sets *error and returns 0 if out of memory. */
uint32_t sonde_intern(struct sonde_intern *intern, const char *text, int *error);
void sonde_intern_fini(struct sonde_intern *intern);

#endif
