/* cfi_rows.h: the rows of a table that is being compiled, and the properties of its machine. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_ROWS_H
#define SONDE_SYMBOL_FRAMES_CFI_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

/* DWARF register numbers. */
struct sonde_cfi_machine {
	uint16_t machine; /* e_machine */
	uint8_t sp, fp, ra;
	uint8_t ra_in_register; /* without a rule, the return address is in its register (else it is unknown) */
};

#define SONDE_CFI_RECENT 64

struct sonde_cfi_recent {
	size_t offset, size_b;
};

/* Rows in ascending order, followed by expressions_b bytes of expressions; `error` is sticky. The other members are
 * needed only while rows are added (frames/cfi_rules.h). */
struct sonde_cfi_rows {
	struct sonde_unwind_row *rows;
	size_t count, capacity;
	uint8_t *expressions;
	size_t expressions_b, expressions_capacity;
	struct sonde_cfi_recent recent[SONDE_CFI_RECENT];
	size_t recent_next;
	int error;
};

#endif
