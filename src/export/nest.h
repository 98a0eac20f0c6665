/* nest.h: checks, zone by zone, whether the zones of a thread nest. Memory grows only with their depth. */
#ifndef SONDE_EXPORT_NEST_H
#define SONDE_EXPORT_NEST_H

#include <stddef.h>
#include <stdint.h>

struct sonde_nest_level {
	uint64_t end_ns;   /* of the last zone at this depth */
	uint64_t start_ns; /* earliest start at this depth since a zone one level up ended; UINT64_MAX = none */
};

/* A zeroed struct is a thread without zones. */
struct sonde_nest {
	struct sonde_nest_level *levels;
	size_t count;
};

/* Adds a zone; zones come in the order in which they end. Returns 1 if the zone lies next to or around the previous
 * ones; 0 if it partly overlaps one of them (it is then not added); -ENOMEM. */
int sonde_nest_add(struct sonde_nest *nest, uint64_t start_ns, uint64_t end_ns, uint32_t depth);
void sonde_nest_fini(struct sonde_nest *nest);

#endif
