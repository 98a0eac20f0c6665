/* dwarf.h: the DWARF of a file: which compile units hold given addresses, and reading those into an index. */
#ifndef SONDE_SYMBOL_DWARF_DWARF_H
#define SONDE_SYMBOL_DWARF_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf.h"
#include "symbol/index.h"

struct sonde_dwarf;

/* `file` is borrowed and must stay open. -ENOENT: it has no DWARF. */
int sonde_dwarf_open(struct sonde_dwarf **out, const struct sonde_elf *file);
void sonde_dwarf_close(struct sonde_dwarf *dwarf);

/* Adds to the index what it lacks for the addresses (ascending): the list of units, and the units that hold them, in
 * several threads where that pays. deadline_ns as in symbol.h; what it cuts off stays unknown. */
int sonde_dwarf_read(struct sonde_dwarf *dwarf, struct sonde_index *index, const uint64_t *addresses, size_t count,
		     uint64_t deadline_ns);

#endif
