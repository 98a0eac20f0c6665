/* machine.h: the properties of each architecture that the unwinder needs: registers, signal frame and return
 * addresses. */
#ifndef SONDE_UNWIND_MACHINE_H
#define SONDE_UNWIND_MACHINE_H

#include <stdint.h>

/* Registers are numbered as in DWARF, from 0 to SONDE_UNWIND_REGISTERS - 1. SONDE_UNWIND_SIGNAL_…: offsets from the
 * value that the stack pointer has in the trampoline that calls rt_sigreturn. */
#if defined(__x86_64__)
enum {
	SONDE_UNWIND_REG_FP = 6,
	SONDE_UNWIND_REG_SP = 7,
	SONDE_UNWIND_REG_PC = 16,
	SONDE_UNWIND_REG_LR = SONDE_UNWIND_REG_PC, /* no link register */
	SONDE_UNWIND_REGISTERS = 17,
};

/* struct rt_sigframe without the return address, which `ret` has popped: ucontext comes first
 * (arch/x86/include/asm/sigframe.h). */
enum {
	SONDE_UNWIND_SIGNAL_FP = 40 + 10 * 8,
	SONDE_UNWIND_SIGNAL_SP = 40 + 15 * 8,
	SONDE_UNWIND_SIGNAL_PC = 40 + 16 * 8,
	SONDE_UNWIND_SIGNAL_LR = SONDE_UNWIND_SIGNAL_PC,
};

/* Bit mask of the caller-saved registers: rax, rdx, rcx, rsi, rdi, r8 to r11. */
#define SONDE_UNWIND_NOT_KEPT UINT64_C(0xf37)

/* Offset at which the kernel saved a register. */
static inline uint64_t sonde_unwind_signal_offset(unsigned number)
{
	static const uint8_t places[SONDE_UNWIND_REGISTERS] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
							       1,  2,  3,  4,  5, 6, 7,  16};
	return 40 + 8u * places[number];
}

static inline uint64_t sonde_unwind_strip(uint64_t address)
{
	return address;
}
#elif defined(__aarch64__)
enum {
	SONDE_UNWIND_REG_FP = 29,
	SONDE_UNWIND_REG_LR = 30,
	SONDE_UNWIND_REG_SP = 31,
	SONDE_UNWIND_REG_PC = 32,
	SONDE_UNWIND_REGISTERS = 33,
};

/* struct rt_sigframe: siginfo takes 128 bytes, then ucontext, whose sigcontext begins at 176
 * (arch/arm64/kernel/signal.c). */
enum {
	SONDE_UNWIND_SIGNAL_FP = 128 + 176 + 8 + 29 * 8,
	SONDE_UNWIND_SIGNAL_LR = 128 + 176 + 8 + 30 * 8,
	SONDE_UNWIND_SIGNAL_SP = 128 + 176 + 8 + 31 * 8,
	SONDE_UNWIND_SIGNAL_PC = 128 + 176 + 8 + 32 * 8,
};

#define SONDE_UNWIND_NOT_KEPT UINT64_C(0x3ffff) /* x0 to x17 */

static inline uint64_t sonde_unwind_signal_offset(unsigned number)
{
	return 128 + 176 + 8 + 8u * number;
}

/* Strips the pointer authentication code from the bits above a 48-bit user address. */
static inline uint64_t sonde_unwind_strip(uint64_t address)
{
	return address & 0x0000ffffffffffffu;
}
#else
#error "sonde: the signal frame of this machine is not known"
#endif

#endif
