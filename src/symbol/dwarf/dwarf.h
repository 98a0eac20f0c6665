/* dwarf.h: the DWARF of a file: finds the compile units that cover given addresses, and reads them into an index. */
#ifndef SONDE_SYMBOL_DWARF_DWARF_H
#define SONDE_SYMBOL_DWARF_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf.h"
#include "symbol/index.h"

struct sonde_dwarf;

/* `file` is borrowed and must stay open. -ENOENT: the file has no DWARF. */
int sonde_dwarf_open(struct sonde_dwarf **out, const struct sonde_elf *file);
void sonde_dwarf_close(struct sonde_dwarf *dwarf);

/* Adds the data for the addresses (ascending) that the index is missing: the list of units, and the units that cover
 * them, in several threads if that pays off. deadline_ns as in symbol.h; data that is not read in time remains
 * unknown. */
int sonde_dwarf_read(struct sonde_dwarf *dwarf, struct sonde_index *index, const uint64_t *addresses, size_t count,
		     uint64_t deadline_ns);

#endif
