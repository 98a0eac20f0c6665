/* expression.c: evaluates DWARF expressions (DWARF 5 section 2.5) with the registers and the stack that the unwinder
 * knows.
 *
 * Operations that are not allowed in call-frame information (DW_OP_call…, pieces, object addresses, TLS) and absolute
 * addresses (they would need the module's load address) end the evaluation as unsupported.
 */
#include "unwind/expression.h"

#include <string.h>

#include "unwind/machine.h"

#define STACK_MAX 32
#define OPERATIONS_MAX 512

struct run {
	const uint8_t *at, *begin, *end;
	uint64_t stack[STACK_MAX];
	unsigned depth;
	enum sonde_unwind_result result;
	const struct sonde_unwind_regs *regs;
	sonde_unwind_read read;
	void *context;
};

static uint64_t fail(struct run *run, enum sonde_unwind_result result)
{
	if (run->result == SONDE_UNWIND_STEPPED)
		run->result = result;
	run->at = run->end;
	return 0;
}

static void push(struct run *run, uint64_t value)
{
	if (run->depth == STACK_MAX)
		fail(run, SONDE_UNWIND_UNKNOWN);
	else
		run->stack[run->depth++] = value;
}

static uint64_t pop(struct run *run)
{
	return run->depth ? run->stack[--run->depth] : fail(run, SONDE_UNWIND_UNKNOWN);
}

/* The entry `index` below the top. */
static uint64_t peek(struct run *run, unsigned index)
{
	return index < run->depth ? run->stack[run->depth - 1 - index] : fail(run, SONDE_UNWIND_UNKNOWN);
}

/* --- operands ---------------------------------------------------------------------------------------------------- */

static uint64_t fixed(struct run *run, unsigned size_b)
{
	uint64_t value = 0;
	if ((size_t)(run->end - run->at) < size_b)
		return fail(run, SONDE_UNWIND_UNKNOWN);
	for (unsigned i = 0; i < size_b; i++)
		value |= (uint64_t)run->at[i] << 8 * i;
	run->at += size_b;
	return value;
}

static uint64_t extended(struct run *run, unsigned size_b)
{
	uint64_t value = fixed(run, size_b);
	unsigned shift = 64 - 8 * size_b;
	return (uint64_t)((int64_t)(value << shift) >> shift);
}

static uint64_t leb(struct run *run, int is_signed)
{
	uint64_t value = 0;
	for (unsigned shift = 0; run->at < run->end && shift < 64;) {
		uint8_t byte = *run->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80)
			return is_signed && byte & 0x40 && shift < 64 ? value | UINT64_MAX << shift : value;
	}
	return fail(run, SONDE_UNWIND_UNKNOWN);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static void load(struct run *run, unsigned size_b)
{
	uint64_t address = pop(run), value = 0;
	if (size_b < 1 || size_b > 8) {
		fail(run, SONDE_UNWIND_UNKNOWN);
		return;
	}
	if (run->result == SONDE_UNWIND_STEPPED && run->read(run->context, address, &value))
		fail(run, SONDE_UNWIND_UNREADABLE);
	push(run, value & UINT64_MAX >> (64 - 8 * size_b));
}

static void push_register(struct run *run, uint64_t number)
{
	uint64_t value = 0, offset = leb(run, 1);
	enum sonde_unwind_result result = sonde_unwind_register(run->regs, number, run->read, run->context, &value);
	if (result != SONDE_UNWIND_STEPPED)
		fail(run, result);
	push(run, value + offset);
}

static void jump(struct run *run, int is_taken)
{
	int64_t distance = (int64_t)extended(run, 2);
	if (run->result != SONDE_UNWIND_STEPPED || !is_taken)
		return;
	if (distance < run->begin - run->at || distance > run->end - run->at)
		fail(run, SONDE_UNWIND_UNKNOWN);
	else
		run->at += distance;
}

static uint64_t shift(uint64_t value, uint64_t by, int right)
{
	if (by > 63)
		return 0;
	return right ? value >> by : value << by;
}

/* Binary operations; `left` was pushed first. */
static void run_binary(struct run *run, uint8_t op)
{
	uint64_t right = pop(run), left = pop(run);
	int64_t a = (int64_t)left, b = (int64_t)right;
	if ((op == 0x1b || op == 0x1d) && !right) {
		fail(run, SONDE_UNWIND_UNKNOWN);
		return;
	}
	switch (op) {
	case 0x1a:
		push(run, left & right);
		break;
	case 0x1b:
		push(run, b == -1 ? 0 - left : (uint64_t)(a / b));
		break;
	case 0x1c:
		push(run, left - right);
		break;
	case 0x1d:
		push(run, left % right);
		break;
	case 0x1e:
		push(run, left * right);
		break;
	case 0x21:
		push(run, left | right);
		break;
	case 0x22:
		push(run, left + right);
		break;
	case 0x24:
		push(run, shift(left, right, 0));
		break;
	case 0x25:
		push(run, shift(left, right, 1));
		break;
	case 0x26:
		push(run, (uint64_t)(a >> (right > 63 ? 63 : right)));
		break;
	case 0x27:
		push(run, left ^ right);
		break;
	case 0x29:
		push(run, a == b);
		break;
	case 0x2a:
		push(run, a >= b);
		break;
	case 0x2b:
		push(run, a > b);
		break;
	case 0x2c:
		push(run, a <= b);
		break;
	case 0x2d:
		push(run, a < b);
		break;
	case 0x2e:
		push(run, a != b);
		break;
	default:
		fail(run, SONDE_UNWIND_UNKNOWN);
	}
}

static void run_stack(struct run *run, uint8_t op)
{
	uint64_t first = peek(run, 0), second, third;
	switch (op) {
	case 0x12:
		push(run, first);
		break;
	case 0x13:
		pop(run);
		break;
	case 0x14:
		push(run, peek(run, 1));
		break;
	case 0x15:
		push(run, peek(run, (unsigned)fixed(run, 1)));
		break;
	case 0x16: /* swap */
		first = pop(run), second = pop(run);
		push(run, first), push(run, second);
		break;
	default: /* rot: the top entry becomes the third */
		first = pop(run), second = pop(run), third = pop(run);
		push(run, first), push(run, third), push(run, second);
	}
}

static void run_operation(struct run *run, uint8_t op)
{
	if (op >= 0x30 && op <= 0x4f) {
		push(run, op - 0x30u);
		return;
	}
	if (op >= 0x70 && op <= 0x8f) {
		push_register(run, op - 0x70u);
		return;
	}
	switch (op) {
	case 0x06:
		load(run, 8);
		break;
	case 0x94:
		load(run, (unsigned)fixed(run, 1));
		break;
	case 0x08:
	case 0x0a:
	case 0x0c:
	case 0x0e:
		push(run, fixed(run, 1u << (op - 0x08) / 2));
		break;
	case 0x09:
	case 0x0b:
	case 0x0d:
	case 0x0f:
		push(run, extended(run, 1u << (op - 0x09) / 2));
		break;
	case 0x10:
		push(run, leb(run, 0));
		break;
	case 0x11:
		push(run, leb(run, 1));
		break;
	case 0x12:
	case 0x13:
	case 0x14:
	case 0x15:
	case 0x16:
	case 0x17:
		run_stack(run, op);
		break;
	case 0x19:
		push(run, (uint64_t)((int64_t)peek(run, 0) < 0 ? 0 - pop(run) : pop(run)));
		break;
	case 0x1f:
		push(run, 0 - pop(run));
		break;
	case 0x20:
		push(run, ~pop(run));
		break;
	case 0x23:
		push(run, pop(run) + leb(run, 0));
		break;
	case 0x28:
		jump(run, pop(run) != 0);
		break;
	case 0x2f:
		jump(run, 1);
		break;
	case 0x92:
		push_register(run, leb(run, 0));
		break;
	case 0x96:
		break;
	default:
		run_binary(run, op);
	}
}

enum sonde_unwind_result sonde_unwind_evaluate(const struct sonde_unwind_expression *expression, const uint64_t *first,
					       const struct sonde_unwind_regs *regs, sonde_unwind_read read,
					       void *context, uint64_t *out)
{
	struct run run = {.at = expression->code,
			  .begin = expression->code,
			  .end = expression->code + expression->code_b,
			  .regs = regs,
			  .read = read,
			  .context = context};
	if (first)
		push(&run, *first);
	for (unsigned i = 0; run.at < run.end; i++) {
		if (i == OPERATIONS_MAX)
			return SONDE_UNWIND_UNKNOWN;
		run_operation(&run, *run.at++);
	}
	uint64_t value = pop(&run);
	if (run.result == SONDE_UNWIND_STEPPED)
		*out = value;
	return run.result;
}

/* --- sets of rules ----------------------------------------------------------------------------------------------- */

static const uint8_t *take(const uint8_t *at, struct sonde_unwind_expression *out)
{
	out->code_b = *at;
	out->code = at + 1;
	return at + 1 + out->code_b;
}

int sonde_unwind_rules_fit(const uint8_t *at, size_t size_b, size_t offset)
{
	for (int i = 0; i < 3; i++) {
		size_t head_b = i ? 2 : 1;
		if (offset > size_b || size_b - offset < head_b || (i && at[0] > SONDE_UNWIND_HOW_VALUE))
			return 0;
		size_t whole_b = head_b + at[head_b - 1];
		at += whole_b;
		offset += whole_b;
	}
	return offset <= size_b;
}

size_t sonde_unwind_rules_write(const struct sonde_unwind_rules *rules, uint8_t *out)
{
	const struct sonde_unwind_expression *all[] = {&rules->frame, &rules->ra, &rules->fp};
	uint8_t *at = out;
	for (int i = 0; i < 3; i++) {
		if (i)
			*at++ = all[i]->how;
		*at++ = all[i]->code_b;
		if (all[i]->code_b)
			memcpy(at, all[i]->code, all[i]->code_b);
		at += all[i]->code_b;
	}
	return (size_t)(at - out);
}

/* A register's value in the caller. */
static enum sonde_unwind_result recover(const struct sonde_unwind_expression *rule, uint64_t frame,
					const struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context,
					uint64_t *value)
{
	uint64_t found = 0;
	if (rule->how == SONDE_UNWIND_HOW_SAME)
		return SONDE_UNWIND_STEPPED;
	if (rule->how == SONDE_UNWIND_HOW_LOST)
		return SONDE_UNWIND_NO_REGISTER;
	enum sonde_unwind_result result = sonde_unwind_evaluate(rule, &frame, regs, read, context, &found);
	if (result == SONDE_UNWIND_STEPPED && rule->how == SONDE_UNWIND_HOW_AT && read(context, found, &found))
		result = SONDE_UNWIND_UNREADABLE;
	if (result == SONDE_UNWIND_STEPPED)
		*value = found;
	return result;
}

enum sonde_unwind_result sonde_unwind_step_rules(const uint8_t *at, struct sonde_unwind_regs *regs,
						 sonde_unwind_read read, void *context)
{
	struct sonde_unwind_rules rules = {0};
	struct sonde_unwind_regs next = {.fp = regs->fp};
	at = take(at, &rules.frame);
	rules.ra.how = *at++;
	at = take(at, &rules.ra);
	rules.fp.how = *at++;
	take(at, &rules.fp);
	enum sonde_unwind_result result = sonde_unwind_evaluate(&rules.frame, NULL, regs, read, context, &next.sp);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	int in_link = rules.ra.how == SONDE_UNWIND_HOW_SAME;
	if (next.sp & 7 || next.sp < regs->sp || (next.sp == regs->sp && rules.ra.how == SONDE_UNWIND_HOW_AT))
		return SONDE_UNWIND_BAD;
	if (in_link && !regs->lr)
		return SONDE_UNWIND_NO_REGISTER;
	next.pc = regs->lr;
	result = recover(&rules.ra, next.sp, regs, read, context, &next.pc);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	next.pc = sonde_unwind_strip(next.pc);
	if (!next.pc)
		return SONDE_UNWIND_ROOT;
	result = recover(&rules.fp, next.sp, regs, read, context, &next.fp);
	if (result == SONDE_UNWIND_NO_REGISTER)
		next.fp = SONDE_UNWIND_FP_UNKNOWN;
	else if (result != SONDE_UNWIND_STEPPED)
		return result;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}
