/* dwarf_unit.h: one compile unit of DWARF into an index. */
#ifndef SONDE_SYMBOL_DWARF_UNIT_H
#define SONDE_SYMBOL_DWARF_UNIT_H

#include <elfutils/libdw.h>

#include "symbol/index.h"

/* Adds the unit's functions, inlined functions and lines, one segment for each of its address ranges. Damaged parts are
 * left out; an error is a want of memory. */
int sonde_dwarf_unit_read(struct sonde_index *out, Dwarf_Die *unit);

/* --- between the parts of the reader ------------------------------------------------------------------------------ */

/* A node covers [low, high); inner ones win. */
struct sonde_dwarf_interval {
	uint64_t low, high;
	uint32_t node;
	uint32_t depth;
};

struct sonde_dwarf_intervals {
	struct sonde_dwarf_interval *items;
	size_t count, capacity;
};

/* dwarf_functions.c: nodes into the index, their ranges into intervals. */
int sonde_dwarf_functions_read(struct sonde_index *out, struct sonde_dwarf_intervals *intervals, Dwarf_Die *unit,
			       Dwarf_Die *tree);

#endif
