/* step.c: applies one row of a call-frame table to the registers.
 *
 * The caller's stack pointer is the frame address. Besides the stack pointer, only the frame pointer and, on aarch64,
 * the link register are tracked, since few rows refer to other registers. If a row cannot recover the frame pointer,
 * the frame pointer becomes unknown, so that a later row that needs it fails instead of following garbage. Other
 * registers are known only where the thread was interrupted: at the leaf, and in a signal frame.
 */
#include "unwind/step.h"

#include "unwind/expression.h"
#include "unwind/machine.h"

static enum sonde_unwind_result step_signal(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context)
{
	struct sonde_unwind_regs next = {.signal_sp = regs->sp};
	if (read(context, regs->sp + SONDE_UNWIND_SIGNAL_PC, &next.pc) ||
	    read(context, regs->sp + SONDE_UNWIND_SIGNAL_SP, &next.sp) ||
	    read(context, regs->sp + SONDE_UNWIND_SIGNAL_FP, &next.fp) ||
	    read(context, regs->sp + SONDE_UNWIND_SIGNAL_LR, &next.lr))
		return SONDE_UNWIND_UNREADABLE;
	if (next.sp & 7 || !next.sp)
		return SONDE_UNWIND_BAD;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}

static enum sonde_unwind_result find_frame_by_register(const struct sonde_unwind_row *row,
						       const struct sonde_unwind_regs *regs, sonde_unwind_read read,
						       void *context, uint64_t *out)
{
	if (row->kind < SONDE_UNWIND_REGISTER)
		return SONDE_UNWIND_NO_RULE;
	uint64_t number = row->kind - (unsigned)SONDE_UNWIND_REGISTER, value = 0;
	enum sonde_unwind_result result = sonde_unwind_register(regs, number, read, context, &value);
	*out = value + (uint64_t)(int64_t)row->cfa_off;
	return result;
}

/* The frame address, unchecked. */
static enum sonde_unwind_result find_frame(const struct sonde_unwind_row *row, const struct sonde_unwind_regs *regs,
					   sonde_unwind_read read, void *context, uint64_t *out)
{
	uint64_t offset = (uint64_t)(int64_t)row->cfa_off;
	switch (row->kind) {
	case SONDE_UNWIND_SP:
		*out = regs->sp + offset;
		return SONDE_UNWIND_STEPPED;
	case SONDE_UNWIND_PLT:
		*out = regs->sp + 8 + ((regs->pc & 15) >= offset ? 8 : 0);
		return SONDE_UNWIND_STEPPED;
	case SONDE_UNWIND_FP:
		*out = regs->fp + offset;
		return regs->fp == SONDE_UNWIND_FP_UNKNOWN ? SONDE_UNWIND_NO_REGISTER : SONDE_UNWIND_STEPPED;
	case SONDE_UNWIND_FP_LOAD:
		if (regs->fp == SONDE_UNWIND_FP_UNKNOWN)
			return SONDE_UNWIND_NO_REGISTER;
		return read(context, regs->fp + offset, out) ? SONDE_UNWIND_UNREADABLE : SONDE_UNWIND_STEPPED;
	case SONDE_UNWIND_SP_LOAD:
		if (read(context, regs->sp + (uint64_t)SONDE_UNWIND_LOAD_FROM(row->cfa_off), out))
			return SONDE_UNWIND_UNREADABLE;
		*out += (uint64_t)SONDE_UNWIND_LOAD_PLUS(row->cfa_off);
		return SONDE_UNWIND_STEPPED;
	case SONDE_UNWIND_END:
		return SONDE_UNWIND_ROOT;
	default:
		return find_frame_by_register(row, regs, read, context, out);
	}
}

/* Reads the caller's pc and fp; `frame` has been checked. */
static enum sonde_unwind_result read_caller(const struct sonde_unwind_row *row, uint64_t frame,
					    struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context)
{
	struct sonde_unwind_regs next = {.sp = frame, .fp = regs->fp};
	if (row->ra_slot == SONDE_UNWIND_RA_LINK)
		next.pc = regs->lr;
	else if (read(context, frame - 8u * row->ra_slot, &next.pc))
		return SONDE_UNWIND_UNREADABLE;
	next.pc = sonde_unwind_strip(next.pc);
	if (!next.pc)
		return SONDE_UNWIND_ROOT;
	uint64_t fp_base = row->kind == SONDE_UNWIND_FP_LOAD ? regs->fp : frame;
	if (row->fp_off == SONDE_UNWIND_FP_LOST)
		next.fp = SONDE_UNWIND_FP_UNKNOWN;
	else if (row->fp_off != SONDE_UNWIND_FP_SAME &&
		 read(context, fp_base + (uint64_t)(int64_t)row->fp_off, &next.fp))
		return SONDE_UNWIND_UNREADABLE;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}

enum sonde_unwind_result sonde_unwind_step(const struct sonde_unwind_row *row, struct sonde_unwind_regs *regs,
					   sonde_unwind_read read, void *context, int *signal)
{
	*signal = 0;
	if (!row)
		return SONDE_UNWIND_NO_RULE;
	if (row->kind == SONDE_UNWIND_SIGNAL) {
		*signal = 1;
		return step_signal(regs, read, context);
	}
	if (row->kind == SONDE_UNWIND_EXPRESSION)
		return row->cfa_off ? sonde_unwind_step_rules((const uint8_t *)row + row->cfa_off, regs, read, context)
				    : SONDE_UNWIND_UNKNOWN;
	uint64_t frame = 0;
	enum sonde_unwind_result result = find_frame(row, regs, read, context, &frame);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	/* A leaf function whose return address is still in a register may have pushed nothing: its caller has the same
	 * stack pointer. The caller has no link register, so this cannot repeat. */
	int in_link = row->ra_slot == SONDE_UNWIND_RA_LINK;
	if (frame & 7 || frame < regs->sp || (frame == regs->sp && !in_link))
		return SONDE_UNWIND_BAD;
	if (in_link && !regs->lr)
		return SONDE_UNWIND_NO_REGISTER;
	return read_caller(row, frame, regs, read, context);
}

enum sonde_unwind_result sonde_unwind_step_fp(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context)
{
	struct sonde_unwind_regs next = {.sp = regs->fp + 16};
	if (!regs->fp)
		return SONDE_UNWIND_ROOT;
	if (regs->fp == SONDE_UNWIND_FP_UNKNOWN)
		return SONDE_UNWIND_NO_REGISTER;
	if (regs->fp & 7 || regs->fp < regs->sp || next.sp < regs->fp)
		return SONDE_UNWIND_BAD;
	if (read(context, regs->fp, &next.fp) || read(context, regs->fp + 8, &next.pc))
		return SONDE_UNWIND_UNREADABLE;
	next.pc = sonde_unwind_strip(next.pc);
	if (!next.pc)
		return SONDE_UNWIND_ROOT;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}
