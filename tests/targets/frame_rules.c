/* frame_rules.c: spends its time in one assembly function whose frame is described in an unusual way, rightly or not.
 *
 * Usage: frame_rules KIND. What is planted are words that look like a frame, and return addresses that no call left:
 * 'work' is the address of a function, not one behind a call.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define ROUNDS 400000000ul

#define FUNCTION(name, body)                                                                            \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body ".cfi_endproc\n" \
		".size " #name ", . - " #name "\n");                                                    \
	void name(uint64_t rounds)

#define SPIN "1: dec %rdi\n jnz 1b\n"

/* OpenSSL: the caller's stack pointer is kept on the stack. */
FUNCTION(saved, "mov %rsp, %rax\n sub $64, %rsp\n mov %rax, 24(%rsp)\n"
		".cfi_escape 0x0f,5,0x77,24,0x06,0x23,8\n" SPIN "mov 24(%rsp), %rsp\n .cfi_def_cfa rsp, 8\n ret\n");
FUNCTION(in_register,
	 "mov %rsp, %r11\n .cfi_def_cfa r11, 8\n sub $64, %rsp\n" SPIN "mov %r11, %rsp\n .cfi_def_cfa rsp, 8\n ret\n");
/* breg7 8, breg9 0, lit8, mul, plus, deref, plus_uconst 8 */
FUNCTION(indexed, "mov %rsp, %rax\n sub $64, %rsp\n mov $2, %r9d\n mov %rax, 24(%rsp)\n"
		  ".cfi_escape 0x0f,10,0x77,8,0x79,0,0x38,0x1e,0x22,0x06,0x23,8\n" SPIN
		  "add $64, %rsp\n .cfi_def_cfa rsp, 8\n ret\n");
FUNCTION(below, "mov %rsp, %rax\n sub $64, %rsp\n mov %rax, -8(%rsp)\n"
		".cfi_escape 0x0f,5,0x77,0x78,0x06,0x23,8\n" SPIN "mov -8(%rsp), %rsp\n .cfi_def_cfa rsp, 8\n ret\n");
/* A callee that leaves rax alone, and one that does not. */
FUNCTION(callee, SPIN "ret\n");
FUNCTION(clobber, "lea 40(%rsp), %rax\n" SPIN "mov %r8, %rax\n ret\n");
FUNCTION(kept, "mov %rsp, %rax\n .cfi_def_cfa rax, 8\n sub $72, %rsp\n call callee\n mov %rax, %rsp\n"
	       ".cfi_def_cfa rsp, 8\n ret\n");
FUNCTION(not_kept,
	 "mov %rsp, %rax\n .cfi_def_cfa rax, 8\n mov %rsp, %r8\n sub $72, %rsp\n lea work(%rip), %rdx\n"
	 "mov %rdx, 32(%rsp)\n mov %rdx, 40(%rsp)\n call clobber\n mov %rax, %rsp\n .cfi_def_cfa rsp, 8\n ret\n");
/* The word below the stack leads to one that no call left. */
FUNCTION(below_stale,
	 "mov %rsp, %rax\n sub $64, %rsp\n lea work(%rip), %rdx\n mov %rdx, 32(%rsp)\n lea 32(%rsp), %rdx\n"
	 "mov %rdx, -8(%rsp)\n .cfi_escape 0x0f,5,0x77,0x78,0x06,0x23,8\n" SPIN
	 "mov %rax, %rsp\n .cfi_def_cfa rsp, 8\n ret\n");
/* Rules that lead nowhere. */
FUNCTION(odd, "mov %rsp, %r11\n add $3, %r11\n .cfi_def_cfa r11, 8\n" SPIN ".cfi_def_cfa rsp, 8\n ret\n");
FUNCTION(backwards, "lea -4096(%rsp), %r11\n .cfi_def_cfa r11, 8\n" SPIN ".cfi_def_cfa rsp, 8\n ret\n");
FUNCTION(unknown, ".cfi_escape 0x0f,2,0xf1,1\n" SPIN ".cfi_def_cfa rsp, 8\n ret\n");

void work(void (*function)(uint64_t));

__attribute__((noinline)) void work(void (*function)(uint64_t))
{
	function(ROUNDS);
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(uint64_t);
	} all[] = {
	    {"saved", saved},         {"in-register", in_register}, {"indexed", indexed},         {"below", below},
	    {"kept", kept},           {"not-kept", not_kept},       {"below-stale", below_stale}, {"odd", odd},
	    {"backwards", backwards}, {"unknown", unknown}};
	for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[1], all[i].name)) {
			work(all[i].function);
			return 0;
		}
	fprintf(stderr, "usage: frame_rules KIND\n");
	return 2;
}
#else
int main(void)
{
	return 77;
}
#endif
