/* cfi_rules.h: the expressions of a table that is being compiled: those rules that no row can hold. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_RULES_H
#define SONDE_SYMBOL_FRAMES_CFI_RULES_H

#include "symbol/frames/cfi_rows.h"

/* How a register is recovered, as call-frame instructions say it. */
enum sonde_cfi_rule_kind {
	SONDE_CFI_SAME,
	SONDE_CFI_OFFSET,     /* saved at frame address + value */
	SONDE_CFI_VAL_OFFSET, /* frame address + value */
	SONDE_CFI_UNDEFINED,
	SONDE_CFI_FP_RELATIVE, /* saved at frame pointer + value */
	SONDE_CFI_REGISTER,    /* in the register of number `value` */
	SONDE_CFI_EXPRESSION,  /* saved where `code` says */
	SONDE_CFI_VALUE,       /* what `code` says */
};

/* `code` is borrowed from the section. */
struct sonde_cfi_rule {
	uint8_t kind; /* enum sonde_cfi_rule_kind */
	int64_t value;
	const uint8_t *code;
	size_t code_b;
};

/* The frame address: `code`, or where it is NULL a register plus `value`. */
struct sonde_cfi_frame {
	uint8_t number;
	int64_t value;
	const uint8_t *code;
	size_t code_b;
};

/* Adds a set of rules to rows->expressions; what a row's cfa_off must be until sonde_cfi_rules_place(), or 0: it is not
 * supported, or there is no room. */
int32_t sonde_cfi_rules_add(struct sonde_cfi_rows *rows, const struct sonde_cfi_machine *machine,
			    const struct sonde_cfi_frame *frame, const struct sonde_cfi_rule *ra,
			    const struct sonde_cfi_rule *fp);

/* Puts the expressions behind the rows, and their distance into each row that has some. 0 or -ENOMEM. */
int sonde_cfi_rules_place(struct sonde_cfi_rows *rows);

#endif
