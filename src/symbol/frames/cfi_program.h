/* cfi_program.h: compiles call-frame programs into table rows. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_PROGRAM_H
#define SONDE_SYMBOL_FRAMES_CFI_PROGRAM_H

#include "symbol/frames/cfi_entries.h"
#include "symbol/frames/cfi_rows.h"

/* The properties of a machine; NULL for machines whose tables are not compiled. */
const struct sonde_cfi_machine *sonde_cfi_machine_find(uint16_t machine);

/* Compiles all entries to rows, with rows of kind NONE between functions. The caller frees out->rows. */
int sonde_cfi_compile(struct sonde_cfi_rows *out, const struct sonde_cfi_entries *entries,
		      const struct sonde_cfi_machine *machine);

#endif
