/* unit.h: one compile unit of DWARF into an index. */
#ifndef SONDE_SYMBOL_DWARF_UNIT_H
#define SONDE_SYMBOL_DWARF_UNIT_H

#include <elfutils/libdw.h>

#include "symbol/dwarf/lines.h"
#include "symbol/index.h"

/* Addresses that are asked for, ascending; or all there are. */
struct sonde_dwarf_wanted {
	const uint64_t *addresses;
	size_t count;
	int is_all;
};

/* Any in [low, high)? */
int sonde_dwarf_is_wanted(const struct sonde_dwarf_wanted *wanted, uint64_t low, uint64_t high);

/* Adds the unit's functions that hold wanted addresses, with what is inlined into them and their lines: one segment for
 * each of their ranges, and for what lies between functions. Damaged parts are left out; an error is a want of memory.
 */
int sonde_dwarf_unit_read(struct sonde_index *out, Dwarf_Die *unit, const struct sonde_dwarf_sections *sections,
			  const struct sonde_dwarf_wanted *wanted);

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

/* What dwarf/functions.c gives: nodes in the index, the ranges of nodes, and those of all functions (node: NONE for
 * functions that are not wanted). */
struct sonde_dwarf_functions {
	struct sonde_index *index;
	struct sonde_dwarf_lines lines;
	struct sonde_dwarf_intervals nodes;
	struct sonde_dwarf_intervals functions;
};

int sonde_dwarf_intervals_add(struct sonde_dwarf_intervals *all, const struct sonde_dwarf_interval *interval);

/* `tree`: where the entries are; the unit itself, or the one in a .dwo file. */
int sonde_dwarf_functions_read(struct sonde_dwarf_functions *out, Dwarf_Die *unit, Dwarf_Die *tree,
			       const struct sonde_dwarf_wanted *wanted);

#endif
