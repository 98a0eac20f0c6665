/* expression.h: unwinding rules that do not fit a table row, as DWARF expressions.
 *
 * A set of rules is stored after the rows of a table, where a row of kind SONDE_UNWIND_EXPRESSION points to it:
 *
 *   frame address:  length, expression
 *   return address: how, length, expression
 *   frame pointer:  how, length, expression
 *
 * Each length and each `how` (enum sonde_unwind_how) is one byte. As DWARF 5 section 6.4.2 requires, the latter two
 * expressions start with the frame address on the stack. Expressions come from files that may be hostile, so evaluation
 * allocates nothing, reads memory only through the caller's callback, and ends after a bounded number of operations.
 */
#ifndef SONDE_UNWIND_EXPRESSION_H
#define SONDE_UNWIND_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/regs.h"

/* How to use the result of an expression. */
enum sonde_unwind_how {
	SONDE_UNWIND_HOW_SAME = 0,  /* no expression: the register is unchanged */
	SONDE_UNWIND_HOW_LOST = 1,  /* no expression: the register cannot be recovered */
	SONDE_UNWIND_HOW_AT = 2,    /* the address where the value was saved */
	SONDE_UNWIND_HOW_VALUE = 3, /* the value itself */
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

/* True if the rules at `at`, `offset` bytes into a buffer of `size_b`, are complete and valid. */
int sonde_unwind_rules_fit(const uint8_t *at, size_t size_b, size_t offset);

/* Writes the rules, at most SONDE_UNWIND_RULES_MAX_B bytes; returns the number of bytes. */
size_t sonde_unwind_rules_write(const struct sonde_unwind_rules *rules, uint8_t *out);

/* Unwinds one frame with the rules at `at`, which must have been validated; returns the same results as
 * sonde_unwind_step(). */
enum sonde_unwind_result sonde_unwind_step_rules(const uint8_t *at, struct sonde_unwind_regs *regs,
						 sonde_unwind_read read, void *context);

/* Evaluates one expression. `first`: the initial stack entry, or NULL. */
enum sonde_unwind_result sonde_unwind_evaluate(const struct sonde_unwind_expression *expression, const uint64_t *first,
					       const struct sonde_unwind_regs *regs, sonde_unwind_read read,
					       void *context, uint64_t *out);

#endif
