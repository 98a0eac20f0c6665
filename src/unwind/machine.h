/* machine.h: what unwinding must know about each machine: its signal frame and its return addresses. */
#ifndef SONDE_UNWIND_MACHINE_H
#define SONDE_UNWIND_MACHINE_H

#include <stdint.h>

/* Offsets from the stack pointer inside the trampoline that calls rt_sigreturn. */
#if defined(__x86_64__)
/* struct rt_sigframe without the return address that `ret` has taken: ucontext first (arch/x86/include/asm/sigframe.h).
 */
enum {
	SONDE_UNWIND_SIGNAL_FP = 40 + 10 * 8,
	SONDE_UNWIND_SIGNAL_SP = 40 + 15 * 8,
	SONDE_UNWIND_SIGNAL_PC = 40 + 16 * 8,
	SONDE_UNWIND_SIGNAL_LR = SONDE_UNWIND_SIGNAL_PC,
};

static inline uint64_t sonde_unwind_strip(uint64_t address)
{
	return address;
}
#elif defined(__aarch64__)
/* struct rt_sigframe: siginfo of 128 bytes, ucontext whose sigcontext begins at 176 (arch/arm64/kernel/signal.c). */
enum {
	SONDE_UNWIND_SIGNAL_FP = 128 + 176 + 8 + 29 * 8,
	SONDE_UNWIND_SIGNAL_LR = 128 + 176 + 8 + 30 * 8,
	SONDE_UNWIND_SIGNAL_SP = 128 + 176 + 8 + 31 * 8,
	SONDE_UNWIND_SIGNAL_PC = 128 + 176 + 8 + 32 * 8,
};

/* Without the pointer authentication code, which fills the bits above a 48-bit user address. */
static inline uint64_t sonde_unwind_strip(uint64_t address)
{
	return address & 0x0000ffffffffffffu;
}
#else
#error "sonde: the signal frame of this machine is not known"
#endif

#endif
