/* unit.h: reads one DWARF compile unit into an index. */
#ifndef SONDE_SYMBOL_DWARF_UNIT_H
#define SONDE_SYMBOL_DWARF_UNIT_H

#include <elfutils/libdw.h>

#include "symbol/dwarf/lines.h"
#include "symbol/index.h"

/* What is requested: the given addresses, in ascending order, or everything. */
struct sonde_dwarf_wanted {
	const uint64_t *addresses;
	size_t count;
	int is_all;
};

/* True if any requested address is in [low, high). */
int sonde_dwarf_is_wanted(const struct sonde_dwarf_wanted *wanted, uint64_t low, uint64_t high);

/* Adds the unit's functions that cover requested addresses, with their inlined functions and lines: one segment for
 * each of their ranges, and for each gap between functions. Damaged parts are skipped. The only error is -ENOMEM. */
int sonde_dwarf_unit_read(struct sonde_index *out, Dwarf_Die *unit, const struct sonde_dwarf_sections *sections,
			  const struct sonde_dwarf_wanted *wanted);

/* --- shared by the parts of the reader ---------------------------------------------------------------------------- */

/* A node covers [low, high); where intervals nest, the inner one counts. */
struct sonde_dwarf_interval {
	uint64_t low, high;
	uint32_t node;
	uint32_t depth;
};

struct sonde_dwarf_intervals {
	struct sonde_dwarf_interval *items;
	size_t count, capacity;
};

/* Output of dwarf/functions.c: nodes in the index, their ranges, and the ranges of all functions (node NONE for
 * functions that were not requested). */
struct sonde_dwarf_functions {
	struct sonde_index *index;
	struct sonde_dwarf_lines lines;
	struct sonde_dwarf_intervals nodes;
	struct sonde_dwarf_intervals functions;
};

/* Reads the functions of a unit. `tree` is the root of the entries: the unit itself, or its counterpart in a .dwo
 * file. */
int sonde_dwarf_functions_read(struct sonde_dwarf_functions *out, Dwarf_Die *unit, Dwarf_Die *tree,
			       const struct sonde_dwarf_wanted *wanted);

#endif
