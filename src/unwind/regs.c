/* regs.c: the value of a register by its number (regs.h): taken from the frame's registers, or read from the signal
 * frame that holds it. */
#include "unwind/regs.h"

#include "unwind/machine.h"

enum sonde_unwind_result sonde_unwind_register(const struct sonde_unwind_regs *regs, uint64_t number,
					       sonde_unwind_read read, void *context, uint64_t *out)
{
	if (number >= SONDE_UNWIND_REGISTERS)
		return SONDE_UNWIND_UNKNOWN;
	if (number == SONDE_UNWIND_REG_SP)
		*out = regs->sp;
	else if (number == SONDE_UNWIND_REG_PC)
		*out = regs->pc;
	else if (number == SONDE_UNWIND_REG_FP && regs->fp != SONDE_UNWIND_FP_UNKNOWN)
		*out = regs->fp;
	else if (number == SONDE_UNWIND_REG_FP)
		return SONDE_UNWIND_NO_REGISTER;
	else if (regs->all)
		*out = regs->all[number];
	else if (!regs->signal_sp)
		return SONDE_UNWIND_NO_REGISTER;
	else if (read(context, regs->signal_sp + sonde_unwind_signal_offset((unsigned)number), out))
		return SONDE_UNWIND_UNREADABLE;
	return SONDE_UNWIND_STEPPED;
}
