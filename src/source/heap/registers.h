/* registers.h: the general registers of a stopped thread, as returned by PTRACE_GETREGSET. */
#ifndef SONDE_SOURCE_HEAP_REGISTERS_H
#define SONDE_SOURCE_HEAP_REGISTERS_H

#include <stdint.h>

#if defined(__x86_64__)
struct sonde_heap_registers {
	uint64_t before[19], sp, ss, fs_base, after[5];
};

static inline uint64_t sonde_heap_registers_thread(const struct sonde_heap_registers *registers)
{
	return registers->fs_base;
}
#else
struct sonde_heap_registers {
	uint64_t before[31], sp, pc, state;
};

static inline uint64_t sonde_heap_registers_thread(const struct sonde_heap_registers *registers)
{
	(void)registers;
	return 0;
}
#endif
/* NT_ARM_TLS: the register set with the thread pointer, needed where the general registers do not include it. */
#define SONDE_HEAP_REGISTERS_TLS 0x401

static inline uint64_t sonde_heap_registers_stack(const struct sonde_heap_registers *registers)
{
	return registers->sp;
}

#endif
