/* machine.h: where each machine keeps a thread's registers in a signal's context. */
#ifndef SONDE_INJECT_MACHINE_H
#define SONDE_INJECT_MACHINE_H

#include <stdint.h>
#include <ucontext.h>

struct inject_registers {
	uint64_t pc, sp, fp, lr;
};

#if defined(__x86_64__)
static inline struct inject_registers inject_machine_registers(const void *context)
{
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	return (struct inject_registers){
	    .pc = (uint64_t)regs[REG_RIP], .sp = (uint64_t)regs[REG_RSP], .fp = (uint64_t)regs[REG_RBP]};
}
#elif defined(__aarch64__)
static inline struct inject_registers inject_machine_registers(const void *context)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	return (struct inject_registers){machine->pc, machine->sp, machine->regs[29], machine->regs[30]};
}
#else
#error "sonde: the registers of this machine in a signal handler are not known"
#endif

#endif
