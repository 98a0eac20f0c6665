/* cfi_rules.h: the expressions of a table being compiled: rules that no row can represent. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_RULES_H
#define SONDE_SYMBOL_FRAMES_CFI_RULES_H

#include "symbol/frames/cfi_rows.h"

/* How a register is recovered, in terms of call-frame instructions. */
enum sonde_cfi_rule_kind {
	SONDE_CFI_SAME,
	SONDE_CFI_OFFSET,     /* saved at frame address + value */
	SONDE_CFI_VAL_OFFSET, /* frame address + value */
	SONDE_CFI_UNDEFINED,
	SONDE_CFI_FP_RELATIVE, /* saved at frame pointer + value */
	SONDE_CFI_REGISTER,    /* in the register of number `value` */
	SONDE_CFI_EXPRESSION,  /* saved at the address that `code` computes */
	SONDE_CFI_VALUE,       /* the value that `code` computes */
};

/* `code` is borrowed from the section. */
struct sonde_cfi_rule {
	uint8_t kind; /* enum sonde_cfi_rule_kind */
	int64_t value;
	const uint8_t *code;
	size_t code_b;
};

/* The frame address: computed by `code`; or, if `code` is NULL, a register plus `value`. */
struct sonde_cfi_frame {
	uint8_t number;
	int64_t value;
	const uint8_t *code;
	size_t code_b;
};

/* Adds a set of rules to rows->expressions. Returns the cfa_off that the row has until sonde_cfi_rules_place() is
 * called; 0 if the rules are not supported or memory is short. */
int32_t sonde_cfi_rules_add(struct sonde_cfi_rows *rows, const struct sonde_cfi_machine *machine,
			    const struct sonde_cfi_frame *frame, const struct sonde_cfi_rule *ra,
			    const struct sonde_cfi_rule *fp);

/* Moves the expressions behind the rows, and stores the distance to them in each row that has expressions. 0 or
 * -ENOMEM. */
int sonde_cfi_rules_place(struct sonde_cfi_rows *rows);

#endif
