/* expression.h: rules of call-frame information that no row can hold, as DWARF expressions.
 *
 * A set of rules lies behind the rows of a table, where a row of kind SONDE_UNWIND_EXPRESSION points to it:
 *
 *   frame address:  length, expression
 *   return address: how, length, expression
 *   frame pointer:  how, length, expression
 *
 * Each is a byte but the expressions. As DWARF 5 section 6.4.2 has it, the latter two begin with the frame address on
 * the stack. Evaluating allocates nothing, reads memory by the caller's function alone, and ends after a bounded number
 * of operations: expressions come from files that may be hostile.
 */
#ifndef SONDE_UNWIND_EXPRESSION_H
#define SONDE_UNWIND_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/regs.h"

/* What an expression's result is. */
enum sonde_unwind_how {
	SONDE_UNWIND_HOW_SAME = 0,  /* nothing: the register is unchanged, and there is no expression */
	SONDE_UNWIND_HOW_LOST = 1,  /* nothing: it cannot be recovered */
	SONDE_UNWIND_HOW_AT = 2,    /* the address at which the value was saved */
	SONDE_UNWIND_HOW_VALUE = 3, /* the value */
};

#define SONDE_UNWIND_RULES_MAX_B (5 + 3 * UINT8_MAX)

struct sonde_unwind_expression {
	const uint8_t *code;
	uint8_t code_b;
	uint8_t how;
};

struct sonde_unwind_rules {
	struct sonde_unwind_expression frame, ra, fp;
};

/* Whether a set of rules at `at`, which is `offset` bytes into `size_b` of them, ends within them and makes sense. */
int sonde_unwind_rules_fit(const uint8_t *at, size_t size_b, size_t offset);

/* Writes a set of rules into SONDE_UNWIND_RULES_MAX_B bytes; how many it has. */
size_t sonde_unwind_rules_write(const struct sonde_unwind_rules *rules, uint8_t *out);

/* One step by the rules at `at`, which were checked; as sonde_unwind_step(). */
enum sonde_unwind_result sonde_unwind_step_rules(const uint8_t *at, struct sonde_unwind_regs *regs,
						 sonde_unwind_read read, void *context);

/* The value of one expression. `first`: what lies on the stack when it begins, or NULL. */
enum sonde_unwind_result sonde_unwind_evaluate(const struct sonde_unwind_expression *expression, const uint64_t *first,
					       const struct sonde_unwind_regs *regs, sonde_unwind_read read,
					       void *context, uint64_t *out);

#endif
