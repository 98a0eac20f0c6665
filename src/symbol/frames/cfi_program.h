/* cfi_program.h: compiles call-frame programs into table rows. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_PROGRAM_H
#define SONDE_SYMBOL_FRAMES_CFI_PROGRAM_H

#include "symbol/frames/cfi_entries.h"
#include "symbol/frames/cfi_rows.h"

/* NULL for machines whose tables are not compiled. */
const struct sonde_cfi_machine *sonde_cfi_machine_find(uint16_t machine);

/* All entries, with NONE between functions. Free out->rows. */
int sonde_cfi_compile(struct sonde_cfi_rows *out, const struct sonde_cfi_entries *entries,
		      const struct sonde_cfi_machine *machine);

#endif
