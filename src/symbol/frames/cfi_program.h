/* cfi_program.h: runs call-frame programs into table rows. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_PROGRAM_H
#define SONDE_SYMBOL_FRAMES_CFI_PROGRAM_H

#include "symbol/frames/cfi_entries.h"
#include "unwind/table.h"

/* DWARF register numbers. */
struct sonde_cfi_machine {
	uint16_t machine; /* e_machine */
	uint8_t sp, fp, ra;
	uint8_t ra_in_register; /* an untouched return address is in its register, not nowhere */
};

/* NULL for machines whose tables are not compiled. */
const struct sonde_cfi_machine *sonde_cfi_machine_find(uint16_t machine);

#define SONDE_CFI_RECENT 64

struct sonde_cfi_recent {
	size_t offset, size_b;
};

/* Rows in ascending order, with expressions_b bytes of expressions behind them; `error` sticks. What else there is, is
 * used while they are made (frames/cfi_rules.h). */
struct sonde_cfi_rows {
	struct sonde_unwind_row *rows;
	size_t count, capacity;
	uint8_t *expressions;
	size_t expressions_b, expressions_capacity;
	struct sonde_cfi_recent recent[SONDE_CFI_RECENT];
	size_t recent_next;
	int error;
};

/* All entries, with NONE between functions. Free out->rows. */
int sonde_cfi_compile(struct sonde_cfi_rows *out, const struct sonde_cfi_entries *entries,
		      const struct sonde_cfi_machine *machine);

#endif
