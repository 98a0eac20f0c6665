/* test_x86.c: known instructions have the right length and effect; every instruction of libc has the length that
 * capstone reports; truncated and random bytes are rejected or stay within their size. */
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "symbol/instructions.h"
#include "symbol/frames/x86.h"

#define AT 0x1000u
#define RSP SONDE_X86_RSP
#define RBP SONDE_X86_RBP
#define NONE SONDE_X86_NO_REGISTER

struct known {
	const char *text;
	uint8_t bytes[SONDE_X86_MAX_B];
	struct sonde_x86 what;
};

static const struct known table[] = {
    {"push %rbp", {0x55}, {SONDE_X86_PUSH, 1, RBP, NONE, 0, 0, 0}},
    {"push %r12", {0x41, 0x54}, {SONDE_X86_PUSH, 2, 12, NONE, 0, 0, 0}},
    {"push $5", {0x6a, 5}, {SONDE_X86_PUSH, 2, NONE, NONE, 0, 0, 0}},
    {"push 8(%rax)", {0xff, 0x70, 8}, {SONDE_X86_PUSH, 3, NONE, NONE, 0, 0, 0}},
    {"pushfq", {0x9c}, {SONDE_X86_PUSH, 1, NONE, NONE, 0, 0, 0}},
    {"pop %rbx", {0x5b}, {SONDE_X86_POP, 1, 3, NONE, 1 << 3, 0, 0}},
    {"pop %rsp", {0x5c}, {SONDE_X86_LOAD, 1, RSP, RSP, 1 << 4, 0, 0}},
    {"push %bp", {0x66, 0x55}, {SONDE_X86_STRANGE, 2, RBP, NONE, 0, 0, 0}},
    {"sub $0x28, %rsp", {0x48, 0x83, 0xec, 0x28}, {SONDE_X86_SET, 4, RSP, RSP, 1 << 4, -0x28, 0}},
    {"add $-0x28, %rsp", {0x48, 0x83, 0xc4, 0xd8}, {SONDE_X86_SET, 4, RSP, RSP, 1 << 4, -0x28, 0}},
    {"sub $0x1000, %rsp", {0x48, 0x81, 0xec, 0, 0x10, 0, 0}, {SONDE_X86_SET, 7, RSP, RSP, 1 << 4, -0x1000, 0}},
    {"sub $8, %esp", {0x83, 0xec, 8}, {SONDE_X86_OTHER, 3, NONE, NONE, 1 << 4, 0, 0}},
    {"and $-32, %rsp", {0x48, 0x83, 0xe4, 0xe0}, {SONDE_X86_OTHER, 4, NONE, NONE, 1 << 4, 0, 0}},
    {"cmp $1, %rbp", {0x48, 0x83, 0xfd, 1}, {SONDE_X86_OTHER, 4, NONE, NONE, 0, 0, 0}},
    {"lea -8(%rsp), %rsp", {0x48, 0x8d, 0x64, 0x24, 0xf8}, {SONDE_X86_SET, 5, RSP, RSP, 1 << 4, -8, 0}},
    {"lea (%rsp,%rcx,8), %rsp", {0x48, 0x8d, 0x24, 0xcc}, {SONDE_X86_OTHER, 4, NONE, NONE, 1 << 4, 0, 0}},
    {"lea 0(%rip), %rbp", {0x48, 0x8d, 0x2d, 0, 0, 0, 0}, {SONDE_X86_OTHER, 7, NONE, NONE, 1 << 5, 0, 0}},
    {"mov %rsp, %rbp", {0x48, 0x89, 0xe5}, {SONDE_X86_SET, 3, RBP, RSP, 1 << 5, 0, 0}},
    {"mov %r11, %rsp", {0x4c, 0x89, 0xdc}, {SONDE_X86_SET, 3, RSP, 11, 1 << 4, 0, 0}},
    {"mov %rsp, %r11 (8b)", {0x4c, 0x8b, 0xdc}, {SONDE_X86_SET, 3, 11, RSP, 1 << 11, 0, 0}},
    {"mov %esp, %ebp", {0x89, 0xe5}, {SONDE_X86_OTHER, 2, NONE, NONE, 1 << 5, 0, 0}},
    {"mov 64(%rsp), %rsp", {0x48, 0x8b, 0x64, 0x24, 0x40}, {SONDE_X86_LOAD, 5, RSP, RSP, 1 << 4, 64, 0}},
    {"mov %rbp, 8(%rsp)", {0x48, 0x89, 0x6c, 0x24, 8}, {SONDE_X86_STORE, 5, RBP, RSP, 0, 8, 0}},
    {"mov %fs:0, %rbp", {0x64, 0x48, 0x8b, 0x2c, 0x25, 0, 0, 0, 0}, {SONDE_X86_OTHER, 9, NONE, NONE, 1 << 5, 0, 0}},
    {"xchg %rax, %rsp", {0x48, 0x94}, {SONDE_X86_SWAP, 2, 0, RSP, 1 << 0 | 1 << 4, 0, 0}},
    {"nop", {0x90}, {SONDE_X86_OTHER, 1, NONE, NONE, 0, 0, 0}},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, {SONDE_X86_OTHER, 4, NONE, NONE, 0, 0, 0}},
    {"leave", {0xc9}, {SONDE_X86_LEAVE, 1, NONE, NONE, 0, 0, 0}},
    {"enter $16, $0", {0xc8, 16, 0, 0}, {SONDE_X86_STRANGE, 4, NONE, NONE, 0, 0, 0}},
    {"ret", {0xc3}, {SONDE_X86_RETURN, 1, NONE, NONE, 0, 0, 0}},
    {"repz ret", {0xf3, 0xc3}, {SONDE_X86_RETURN, 2, NONE, NONE, 0, 0, 0}},
    {"ret $8", {0xc2, 8, 0}, {SONDE_X86_STRANGE, 3, NONE, NONE, 0, 0, 0}},
    {"jmp .-2", {0xeb, 0xfc}, {SONDE_X86_JUMP, 2, NONE, NONE, 0, 0, AT - 2}},
    {"jne .+0x106", {0x0f, 0x85, 0, 1, 0, 0}, {SONDE_X86_BRANCH, 6, NONE, NONE, 0, 0, AT + 0x106}},
    {"loop .", {0xe2, 0xfe}, {SONDE_X86_BRANCH, 2, NONE, NONE, 1 << 1, 0, AT}},
    {"call .+5", {0xe8, 0, 0, 0, 0}, {SONDE_X86_CALL, 5, NONE, NONE, 0, 0, AT + 5}},
    {"call *%r10", {0x41, 0xff, 0xd2}, {SONDE_X86_CALL_INDIRECT, 3, NONE, NONE, 0, 0, 0}},
    {"bnd jmp *0(%rip)", {0xf2, 0xff, 0x25, 0, 0, 0, 0}, {SONDE_X86_JUMP_INDIRECT, 7, NONE, NONE, 0, 0, 0}},
    {"ud2", {0x0f, 0x0b}, {SONDE_X86_STOP, 2, NONE, NONE, 0, 0, 0}},
    {"syscall", {0x0f, 0x05}, {SONDE_X86_OTHER, 2, NONE, NONE, 1 | 1 << 1 | 1 << 11, 0, 0}},
    {"movq %xmm5, %rbp", {0x66, 0x48, 0x0f, 0x7e, 0xed}, {SONDE_X86_OTHER, 5, NONE, NONE, 1 << 5, 0, 0}},
    {"paddd %xmm5, %xmm4", {0x66, 0x0f, 0xfe, 0xe5}, {SONDE_X86_OTHER, 4, NONE, NONE, 0, 0, 0}},
    {"mov %al, %ch", {0x88, 0xc5}, {SONDE_X86_OTHER, 2, NONE, NONE, 1 << 1, 0, 0}},
    {"mov %al, %bpl", {0x40, 0x88, 0xc5}, {SONDE_X86_OTHER, 3, NONE, NONE, 1 << 5, 0, 0}},
    {"mulx %rbp, %rcx, %rdx", {0xc4, 0xe2, 0xf3, 0xf6, 0xd5}, {SONDE_X86_OTHER, 5, NONE, NONE, 1 << 1 | 1 << 2, 0, 0}},
    {"vzeroupper", {0xc5, 0xf8, 0x77}, {SONDE_X86_OTHER, 3, NONE, NONE, 0, 0, 0}},
    {"vpermd 64(%rsi), %zmm4, %zmm5",
     {0x62, 0xf2, 0x5d, 0x48, 0x36, 0x6e, 1},
     {SONDE_X86_OTHER, 7, NONE, NONE, 0, 0, 0}},
    {"vpternlogd $5, %zmm5, %zmm4, %zmm5",
     {0x62, 0xf3, 0x5d, 0x48, 0x25, 0xed, 5},
     {SONDE_X86_OTHER, 7, NONE, NONE, 0, 0, 0}},
    {"vaddph %zmm1, %zmm2, %zmm3 (FP16)",
     {0x62, 0xf5, 0x6c, 0x48, 0x58, 0xd9},
     {SONDE_X86_OTHER, 6, NONE, NONE, 0, 0, 0}},
    {"kmovq %k1, %rbp", {0xc4, 0xe1, 0xfb, 0x93, 0xe9}, {SONDE_X86_OTHER, 5, NONE, NONE, 1 << 5, 0, 0}},
    {"vpperm %xmm4, %xmm0, %xmm3 (XOP)", {0x8f, 0xe8, 0xe0, 0xa3, 0xec, 0}, {SONDE_X86_OTHER, 6, NONE, NONE, 0, 0, 0}},
    {"movabs $1, %rax", {0x48, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0}, {SONDE_X86_OTHER, 10, NONE, NONE, 1, 0, 0}},
    {"test $1, %eax (f7)", {0xf7, 0xc0, 1, 0, 0, 0}, {SONDE_X86_OTHER, 6, NONE, NONE, 0, 0, 0}},
};

static void known_instructions_are_decoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct known *known = &table[i];
		struct sonde_x86 what;
		print_message("%s\n", known->text);
		assert_int_equal(sonde_x86_decode(&what, known->bytes, sizeof known->bytes, AT), 0);
		assert_int_equal(what.size_b, known->what.size_b);
		assert_int_equal(what.kind, known->what.kind);
		assert_int_equal(what.written, known->what.written);
		assert_int_equal(what.target, known->what.target);
		assert_int_equal(what.offset, known->what.offset);
		assert_int_equal(what.reg, known->what.reg);
		assert_int_equal(what.base, known->what.base);
		for (size_t size_b = 0; size_b < known->what.size_b; size_b++) /* cut off */
			assert_int_not_equal(sonde_x86_decode(&what, known->bytes, size_b, AT), 0);
	}
}

static void what_is_no_instruction_is_refused(void **state)
{
	(void)state;
	static const uint8_t bad[][SONDE_X86_MAX_B] = {
	    {0x06},       {0x62, 0xf4, 0x7c, 0x08, 0}, {0x0f, 0x04}, {0xff, 0xf8},
	    {0x8d, 0xc0}, {0x48, 0xc5, 0xf8, 0x77},    {0xd4, 1}};
	struct sonde_x86 what;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_not_equal(sonde_x86_decode(&what, bad[i], sizeof bad[i], AT), 0);
	uint8_t prefixes[32];
	memset(prefixes, 0x66, sizeof prefixes);
	assert_int_not_equal(sonde_x86_decode(&what, prefixes, sizeof prefixes, AT), 0);
}

static void any_bytes_are_bounded(void **state)
{
	(void)state;
	uint64_t seed = 88172645463325252u;
	for (int i = 0; i < 200000; i++) {
		uint8_t bytes[SONDE_X86_MAX_B];
		for (size_t j = 0; j < sizeof bytes; j++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			bytes[j] = (uint8_t)(seed >> 32);
		}
		size_t size_b = seed % (sizeof bytes + 1);
		struct sonde_x86 what;
		if (sonde_x86_decode(&what, bytes, size_b, AT) == 0)
			assert_in_range(what.size_b, 1, size_b);
	}
}

/* --- against capstone ------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
struct compared {
	const struct sonde_code *code;
	size_t same, different;
};

static int compare(void *context, const struct sonde_instruction *instruction)
{
	struct compared *compared = context;
	size_t at = (size_t)(instruction->address - compared->code->address);
	struct sonde_x86 what;
	if (!sonde_x86_decode(&what, compared->code->bytes + at, compared->code->size_b - at, instruction->address) &&
	    what.size_b == instruction->size_b)
		compared->same++;
	else if (compared->different++ < 10)
		print_message("%s: %zu bytes\n", instruction->text, instruction->size_b);
	return 0;
}

/* The code of libc, by its mapping. */
static int find_libc(struct dl_phdr_info *info, size_t size_b, void *out)
{
	(void)size_b;
	struct sonde_code *code = out;
	for (int i = 0; strstr(info->dlpi_name, "libc.so") && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			*code =
			    (struct sonde_code){.machine = EM_X86_64,
						.address = info->dlpi_phdr[i].p_vaddr,
						.bytes = (const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
						.size_b = info->dlpi_phdr[i].p_memsz};
	return 0;
}

static void lengths_are_those_of_another_decoder(void **state)
{
	(void)state;
	struct sonde_code code = {0};
	dl_iterate_phdr(find_libc, &code);
	if (!code.size_b)
		skip();
	struct compared all = {0};
	/* Capstone stops at what it does not know (padding, AVX-512 of later years): go on behind it. */
	for (size_t at = 0; at < code.size_b;) {
		struct sonde_code part = {EM_X86_64, code.address + at, code.bytes + at,
					  code.size_b - at < 65536 ? code.size_b - at : 65536};
		struct compared compared = {.code = &part};
		if (sonde_code_each(&part, compare, &compared) < 0)
			skip();
		all.same += compared.same;
		all.different += compared.different;
		at += 65536;
	}
	print_message("%zu lengths are the same, %zu are not\n", all.same, all.different);
	assert_true(all.same > 10000);
	assert_int_equal(all.different, 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_instructions_are_decoded),
		cmocka_unit_test(what_is_no_instruction_is_refused),
		cmocka_unit_test(any_bytes_are_bounded),
#if defined(__x86_64__)
		cmocka_unit_test(lengths_are_those_of_another_decoder),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
