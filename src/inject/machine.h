/* machine.h: what the handler must know about each machine: where the registers are, and how a call is made again.
 *
 * A tick that hits a thread on its way into poll() or nanosleep() makes the call end with EINTR, whatever SA_RESTART
 * says. That is rare, since a sleeping thread gets no ticks, but a program may not expect it. On x86-64 all arguments
 * of the call are still in their registers and the instruction before the `syscall` mostly is the `mov` of its
 * number, so the call is made again. The kernel has written back what was left of a time-out where the call says so.
 */
#ifndef SONDE_INJECT_MACHINE_H
#define SONDE_INJECT_MACHINE_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
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

static inline void inject_machine_restart(void *context)
{
	static const uint32_t calls[] = {SYS_poll,       SYS_ppoll,       SYS_select,    SYS_pselect6,
					 SYS_epoll_wait, SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep};
	static const uint8_t syscall_code[] = {0x0f, 0x05};
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint8_t code[7]; /* mov $number, %eax; syscall */
	uint32_t number;
	if (regs[REG_RAX] != -EINTR || regs[REG_RCX] != regs[REG_RIP] || regs[REG_RIP] % 4096 < (greg_t)sizeof(code))
		return;
	memcpy(code, (const void *)(regs[REG_RIP] - (greg_t)sizeof(code)), sizeof(code));
	if (code[0] != 0xb8 || memcmp(code + 5, syscall_code, sizeof(syscall_code)) != 0)
		return;
	memcpy(&number, code + 1, sizeof(number));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i] != number)
			continue;
		regs[REG_RIP] -= (greg_t)sizeof(syscall_code);
		regs[REG_RAX] = (greg_t)number;
	}
}
#elif defined(__aarch64__)
static inline struct inject_registers inject_machine_registers(const void *context)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	return (struct inject_registers){machine->pc, machine->sp, machine->regs[29], machine->regs[30]};
}

/* The first argument is gone: such a call ends with EINTR. */
static inline void inject_machine_restart(void *context)
{
	(void)context;
}
#else
#error "sonde: the registers of this machine in a signal handler are not known"
#endif

#endif
