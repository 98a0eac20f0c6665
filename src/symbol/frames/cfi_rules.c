/* cfi_rules.c: encodes rules as sets of expressions (unwind/expression.h) and reuses recent identical sets.
 *
 * While rows are compiled, the cfa_off of a row with expressions is the offset of these expressions + 1, so that equal
 * rows compare equal.
 */
#include "symbol/frames/cfi_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/expression.h"
#include "util/array.h"
#include "util/error.h"

#define EXPRESSIONS_MAX_B ((size_t)16 << 20)
#define CODE_MAX_B 24 /* limit of the code generated here */

enum { OP_CONSTS = 0x11, OP_PLUS = 0x22, OP_BREGX = 0x92 };

struct text {
	uint8_t bytes[CODE_MAX_B];
	uint8_t size_b;
};

static void add_byte(struct text *text, uint8_t byte)
{
	text->bytes[text->size_b++] = byte;
}

static void add_sleb(struct text *text, int64_t value)
{
	for (;;) {
		uint8_t byte = value & 0x7f;
		value >>= 7;
		if ((!value && !(byte & 0x40)) || (value == -1 && byte & 0x40)) {
			add_byte(text, byte);
			return;
		}
		add_byte(text, byte | 0x80);
	}
}

/* Appends a register plus a value. All registers of the supported machines have numbers below 64. */
static void add_register(struct text *text, unsigned number, int64_t value)
{
	add_byte(text, OP_BREGX);
	add_byte(text, (uint8_t)number);
	add_sleb(text, value);
}

/* Adds a value to the top of the stack. */
static void add_value(struct text *text, int64_t value)
{
	add_byte(text, OP_CONSTS);
	add_sleb(text, value);
	add_byte(text, OP_PLUS);
}

/* Encodes a rule; 0 if it cannot be represented. `text` belongs to the result. */
static int write_rule(const struct sonde_cfi_rule *rule, const struct sonde_cfi_machine *machine, struct text *text,
		      struct sonde_unwind_expression *out)
{
	static const uint8_t hows[] = {
	    [SONDE_CFI_SAME] = SONDE_UNWIND_HOW_SAME,        [SONDE_CFI_OFFSET] = SONDE_UNWIND_HOW_AT,
	    [SONDE_CFI_VAL_OFFSET] = SONDE_UNWIND_HOW_VALUE, [SONDE_CFI_UNDEFINED] = SONDE_UNWIND_HOW_LOST,
	    [SONDE_CFI_FP_RELATIVE] = SONDE_UNWIND_HOW_AT,   [SONDE_CFI_REGISTER] = SONDE_UNWIND_HOW_VALUE,
	    [SONDE_CFI_EXPRESSION] = SONDE_UNWIND_HOW_AT,    [SONDE_CFI_VALUE] = SONDE_UNWIND_HOW_VALUE,
	};
	if (rule->code_b > UINT8_MAX)
		return 0;
	if (rule->kind == SONDE_CFI_OFFSET || rule->kind == SONDE_CFI_VAL_OFFSET)
		add_value(text, rule->value);
	else if (rule->kind == SONDE_CFI_FP_RELATIVE)
		add_register(text, machine->fp, rule->value);
	else if (rule->kind == SONDE_CFI_REGISTER && rule->value >= 0 && rule->value < 64)
		add_register(text, (unsigned)rule->value, 0);
	else if (rule->kind == SONDE_CFI_REGISTER)
		return 0;
	int given = rule->kind == SONDE_CFI_EXPRESSION || rule->kind == SONDE_CFI_VALUE;
	out->how = hows[rule->kind];
	out->code = given ? rule->code : text->bytes;
	out->code_b = given ? (uint8_t)rule->code_b : text->size_b;
	return 1;
}

/* Adds a set of rules, unless an identical one is among the last few, as in most files nearly every set is. Returns the
 * set's offset; SIZE_MAX if there is no room for it. */
static size_t find_or_add(struct sonde_cfi_rows *rows, const uint8_t *bytes, size_t size_b)
{
	for (size_t i = 0; i < SONDE_CFI_RECENT; i++)
		if (rows->recent[i].size_b == size_b &&
		    !memcmp(rows->expressions + rows->recent[i].offset, bytes, size_b))
			return rows->recent[i].offset;
	if (rows->expressions_b + size_b > EXPRESSIONS_MAX_B ||
	    SONDE_ARRAY_RESERVE(rows->expressions, rows->expressions_capacity, rows->expressions_b + size_b))
		return SIZE_MAX;
	size_t offset = rows->expressions_b;
	memcpy(rows->expressions + offset, bytes, size_b);
	rows->expressions_b += size_b;
	rows->recent[rows->recent_next] = (struct sonde_cfi_recent){offset, size_b};
	rows->recent_next = (rows->recent_next + 1) % SONDE_CFI_RECENT;
	return offset;
}

int32_t sonde_cfi_rules_add(struct sonde_cfi_rows *rows, const struct sonde_cfi_machine *machine,
			    const struct sonde_cfi_frame *frame, const struct sonde_cfi_rule *ra,
			    const struct sonde_cfi_rule *fp)
{
	struct text texts[3] = {{.size_b = 0}};
	struct sonde_unwind_rules rules = {.frame = {.code = frame->code, .code_b = (uint8_t)frame->code_b}};
	uint8_t bytes[SONDE_UNWIND_RULES_MAX_B];
	if (frame->code_b > UINT8_MAX || (ra->kind == SONDE_CFI_SAME && !machine->ra_in_register))
		return 0;
	if (!frame->code) {
		add_register(&texts[0], frame->number, frame->value);
		rules.frame = (struct sonde_unwind_expression){.code = texts[0].bytes, .code_b = texts[0].size_b};
	}
	if (!write_rule(ra, machine, &texts[1], &rules.ra) || !write_rule(fp, machine, &texts[2], &rules.fp))
		return 0;
	size_t offset = find_or_add(rows, bytes, sonde_unwind_rules_write(&rules, bytes));
	return offset == SIZE_MAX ? 0 : (int32_t)offset + 1;
}

int sonde_cfi_rules_place(struct sonde_cfi_rows *rows)
{
	size_t rows_b = rows->count * sizeof *rows->rows, padded_b = (rows->expressions_b + 3) & ~(size_t)3;
	if (!rows->expressions_b || !rows->count)
		return 0;
	struct sonde_unwind_row *grown = realloc(rows->rows, rows_b + padded_b);
	if (!grown)
		return sonde_error(ENOMEM, "no memory for %zu bytes of call-frame expressions", padded_b);
	rows->rows = grown;
	memset((uint8_t *)grown + rows_b, 0, padded_b);
	memcpy((uint8_t *)grown + rows_b, rows->expressions, rows->expressions_b);
	rows->expressions_b = padded_b;
	for (size_t i = 0; i < rows->count; i++)
		if (grown[i].kind == SONDE_UNWIND_EXPRESSION && grown[i].cfa_off)
			grown[i].cfa_off += (int32_t)((rows->count - i) * sizeof *grown) - 1;
	return 0;
}
