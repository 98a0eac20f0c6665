/* haskell.c: recognises the frame of StgRun() (rts/StgCRun.c) by the call that created it. */
#include "source/stack/haskell.h"

#include <string.h>

#define SAVED_B 48u /* six registers below the return address; rbp is the second */
#define RESERVED_B 16384u

/* sub $48,%rsp; mov %rsp,%rax; sub $16384,%rsp; mov %rbx,(%rax); mov %rbp,8(%rax) */
static const uint8_t stg_run[] = {0x48, 0x83, 0xec, SAVED_B, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec, 0x00,
				  0x40, 0x00, 0x00, 0x48,    0x89, 0x18, 0x48, 0x89, 0x68, 0x08};

static int read_code(const struct sonde_process_memory *code, uint64_t address, void *out, size_t size_b)
{
	return sonde_process_memory_read(code, address, out, size_b);
}

static uint64_t relative(uint64_t end, const uint8_t *distance)
{
	int32_t value;
	memcpy(&value, distance, sizeof value);
	return end + (uint64_t)(int64_t)value;
}

/* The target of a PLT entry at `address` (endbr64; [bnd] jmp *…(%rip)); `address` itself if there is none. */
static uint64_t through_plt(const struct sonde_process_memory *code, uint64_t address)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t bytes[16];
	uint64_t target;
	if (read_code(code, address, bytes, sizeof bytes))
		return address;
	size_t at = memcmp(bytes, endbr, sizeof endbr) ? 0 : sizeof endbr;
	at += bytes[at] == 0xf2;
	if (bytes[at] != 0xff || bytes[at + 1] != 0x25 ||
	    read_code(code, relative(address + at + 6, bytes + at + 2), &target, sizeof target))
		return address;
	return target;
}

/* True if the call before `address` calls StgRun(). */
static int calls_stg_run(const struct sonde_process_memory *code, uint64_t address)
{
	uint8_t call[6], target[sizeof stg_run];
	uint64_t at;
	if (address < sizeof call || read_code(code, address - sizeof call, call, sizeof call))
		return 0;
	if (call[1] == 0xe8)
		at = through_plt(code, relative(address, call + 2));
	else if (call[0] != 0xff || call[1] != 0x15 || read_code(code, relative(address, call + 2), &at, sizeof at))
		return 0;
	return !read_code(code, at, target, sizeof target) && !memcmp(target, stg_run, sizeof stg_run);
}

/* The padding that a call added to align the stack, from the instruction after it: add $…,%rsp. */
static uint64_t aligned_b(const struct sonde_process_memory *code, uint64_t pc)
{
	uint8_t bytes[4];
	if (read_code(code, pc, bytes, sizeof bytes) || bytes[0] != 0x48 || bytes[1] != 0x83 || bytes[2] != 0xc4)
		return 0;
	return bytes[3] & 0x87 ? 0 : bytes[3];
}

int sonde_haskell_step(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context,
		       const struct sonde_process_memory *code, uint64_t *known)
{
	uint64_t sp = regs->sp, end, fp, pc;
	for (int tries = 0; tries < 2; tries++, sp += aligned_b(code, regs->pc)) {
		end = sp + RESERVED_B + SAVED_B;
		if (read(context, end, &pc) || !pc || (pc != *known && !calls_stg_run(code, pc)) ||
		    read(context, end - SAVED_B + 8, &fp))
			continue;
		*known = pc;
		*regs = (struct sonde_unwind_regs){.pc = pc, .sp = end + 8, .fp = fp};
		return 1;
	}
	return 0;
}
