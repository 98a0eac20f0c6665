/* entry.c: the code behind all names of blas/blas.def: saves the arguments, calls the routine with them, records the
 * call.
 *
 * A name is two instructions: load its number, and jump to the common code. The common code has a frame like any
 * function, so that stacks can be unwound and exceptions thrown through it. The routine gets all registers unchanged,
 * and a copy of the stack words that hold its arguments. Rejected: replacing the caller's return address by one of
 * ours, which needs no copy, but breaks unwinding and exceptions.
 *
 * A library's IFUNC resolver may call a routine before the loader has relocated our object: such a call is passed on
 * and not recorded.
 *
 * A nested call in the same thread is part of the outer one and not counted. A nested call is lower on the stack. A
 * call that is not lower shows that the previous call was left by longjmp() or an exception, both from the program's
 * error handler: the zone of the previous call is then ended, without work.
 */
#include <stdint.h>

#include "inject/blas/blas.h"
#include "inject/hook/next.h"

struct blas_target {
	void *function;
	uint64_t words; /* number of arguments on the stack */
};

/* Called by the assembler code. */
struct blas_target blas_begin(uint32_t index, const struct blas_registers *registers, const uint64_t *stack,
			      const void *from) __attribute__((used, visibility("hidden")));
void blas_end(const uint64_t *stack) __attribute__((used, visibility("hidden")));

/* The call that this thread is in. */
static __thread struct {
	const uint64_t *stack; /* address of its stack arguments; NULL = in no call */
	const struct blas_routine *routine;
	struct blas_sizes sizes;
} self __attribute__((tls_model("initial-exec")));

struct blas_target blas_begin(uint32_t index, const struct blas_registers *registers, const uint64_t *stack,
			      const void *from)
{
	const struct blas_routine *routine = blas_routine_of(index);
	if (!inject_is_bound())
		return (struct blas_target){blas_next_unbound(index),
					    blas_stack_words(routine, blas_form_of(index)->flags)};
	struct blas_next next = blas_next_of(index, from);
	struct blas_call call = {registers, stack};
	int flags = blas_form_of(index)->flags | (next.is_wide ? BLAS_FORM_WIDE : 0);
	struct blas_target target = {next.function, blas_stack_words(routine, flags)};
	if (self.stack && stack < self.stack)
		return target;
	if (self.stack)
		blas_zone_end(NULL, NULL);
	self.stack = NULL;
	blas_sizes_read(routine, flags, &call, &self.sizes);
	if (self.sizes.is_question || !blas_zone_begin(index))
		return target;
	self.routine = routine;
	self.stack = stack;
	return target;
}

/* Ends the call, and reports its work unless the routine failed: how far a failed routine got is unknown. */
void blas_end(const uint64_t *stack)
{
	if (!inject_is_bound() || self.stack != stack)
		return;
	self.stack = NULL;
	struct blas_work work = blas_work_of(self.routine, &self.sizes);
	int failed = self.sizes.info && *(const int32_t *)self.sizes.info;
	blas_zone_end(failed || (work.flop <= 0 && work.bytes <= 0) ? NULL : &work, &self.sizes);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
__asm__(".text\n"
	".p2align 4\n"
	".type sonde_blas_call, @function\n"
	".hidden sonde_blas_call\n"
	"sonde_blas_call:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	subq $176, %rsp\n"
	"	movq %rdi, (%rsp)\n"
	"	movq %rsi, 8(%rsp)\n"
	"	movq %rdx, 16(%rsp)\n"
	"	movq %rcx, 24(%rsp)\n"
	"	movq %r8, 32(%rsp)\n"
	"	movq %r9, 40(%rsp)\n"
	"	movaps %xmm0, 48(%rsp)\n"
	"	movaps %xmm1, 64(%rsp)\n"
	"	movaps %xmm2, 80(%rsp)\n"
	"	movaps %xmm3, 96(%rsp)\n"
	"	movaps %xmm4, 112(%rsp)\n"
	"	movaps %xmm5, 128(%rsp)\n"
	"	movaps %xmm6, 144(%rsp)\n"
	"	movaps %xmm7, 160(%rsp)\n"
	"	movl %r11d, %edi\n"
	"	movq %rsp, %rsi\n"
	"	leaq 16(%rbp), %rdx\n"
	"	movq 8(%rbp), %rcx\n"
	"	call blas_begin\n"
	"	movq %rax, %r11\n"
	"	leaq 1(%rdx), %rcx\n"
	"	andq $-2, %rcx\n"
	"	shlq $3, %rcx\n"
	"	subq %rcx, %rsp\n"
	"1:	testq %rdx, %rdx\n"
	"	jz 2f\n"
	"	movq 8(%rbp,%rdx,8), %rax\n"
	"	movq %rax, -8(%rsp,%rdx,8)\n"
	"	decq %rdx\n"
	"	jmp 1b\n"
	"2:	movq -176(%rbp), %rdi\n"
	"	movq -168(%rbp), %rsi\n"
	"	movq -160(%rbp), %rdx\n"
	"	movq -152(%rbp), %rcx\n"
	"	movq -144(%rbp), %r8\n"
	"	movq -136(%rbp), %r9\n"
	"	movaps -128(%rbp), %xmm0\n"
	"	movaps -112(%rbp), %xmm1\n"
	"	movaps -96(%rbp), %xmm2\n"
	"	movaps -80(%rbp), %xmm3\n"
	"	movaps -64(%rbp), %xmm4\n"
	"	movaps -48(%rbp), %xmm5\n"
	"	movaps -32(%rbp), %xmm6\n"
	"	movaps -16(%rbp), %xmm7\n"
	"	xorl %eax, %eax\n"
	"	call *%r11\n"
	"	movq %rax, -176(%rbp)\n"
	"	movq %rdx, -168(%rbp)\n"
	"	movaps %xmm0, -128(%rbp)\n"
	"	movaps %xmm1, -112(%rbp)\n"
	"	leaq 16(%rbp), %rdi\n"
	"	call blas_end\n"
	"	movq -176(%rbp), %rax\n"
	"	movq -168(%rbp), %rdx\n"
	"	movaps -128(%rbp), %xmm0\n"
	"	movaps -112(%rbp), %xmm1\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sonde_blas_call, . - sonde_blas_call\n"
	".set sonde_blas_number, 0\n"
	".macro sonde_blas_name name\n"
	"	.p2align 4\n"
	"	.type \\name, @function\n"
	"	.globl \\name\n"
	"\\name:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movl $sonde_blas_number, %r11d\n"
	"	jmp sonde_blas_call\n"
	"	.cfi_endproc\n"
	"	.size \\name, . - \\name\n"
	"	.set sonde_blas_number, sonde_blas_number + 1\n"
	".endm\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".p2align 4\n"
	".type sonde_blas_call, @function\n"
	".hidden sonde_blas_call\n"
	"sonde_blas_call:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa 29, 16\n"
	"	sub sp, sp, #208\n"
	"	stp x0, x1, [sp]\n"
	"	stp x2, x3, [sp, #16]\n"
	"	stp x4, x5, [sp, #32]\n"
	"	stp x6, x7, [sp, #48]\n"
	"	str x8, [sp, #64]\n"
	"	stp q0, q1, [sp, #80]\n"
	"	stp q2, q3, [sp, #112]\n"
	"	stp q4, q5, [sp, #144]\n"
	"	stp q6, q7, [sp, #176]\n"
	"	mov w0, w17\n"
	"	mov x1, sp\n"
	"	add x2, x29, #16\n"
	"	mov x3, x30\n"
	"	bl blas_begin\n"
	"	mov x16, x0\n"
	"	add x9, x1, #1\n"
	"	and x9, x9, #-2\n"
	"	sub sp, sp, x9, lsl #3\n"
	"	add x10, x29, #16\n"
	"	mov x11, sp\n"
	"1:	cbz x1, 2f\n"
	"	ldr x12, [x10], #8\n"
	"	str x12, [x11], #8\n"
	"	sub x1, x1, #1\n"
	"	b 1b\n"
	"2:	sub x9, x29, #208\n"
	"	ldp x0, x1, [x9]\n"
	"	ldp x2, x3, [x9, #16]\n"
	"	ldp x4, x5, [x9, #32]\n"
	"	ldp x6, x7, [x9, #48]\n"
	"	ldr x8, [x9, #64]\n"
	"	ldp q0, q1, [x9, #80]\n"
	"	ldp q2, q3, [x9, #112]\n"
	"	ldp q4, q5, [x9, #144]\n"
	"	ldp q6, q7, [x9, #176]\n"
	"	blr x16\n"
	"	sub x9, x29, #208\n"
	"	stp x0, x1, [x9]\n"
	"	stp q0, q1, [x9, #80]\n"
	"	add x0, x29, #16\n"
	"	bl blas_end\n"
	"	sub x9, x29, #208\n"
	"	ldp x0, x1, [x9]\n"
	"	ldp q0, q1, [x9, #80]\n"
	"	mov sp, x29\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa 31, 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sonde_blas_call, . - sonde_blas_call\n"
	".set sonde_blas_number, 0\n"
	".macro sonde_blas_name name\n"
	"	.p2align 2\n"
	"	.type \\name, @function\n"
	"	.globl \\name\n"
	"\\name:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	mov w17, #sonde_blas_number\n"
	"	b sonde_blas_call\n"
	"	.cfi_endproc\n"
	"	.size \\name, . - \\name\n"
	"	.set sonde_blas_number, sonde_blas_number + 1\n"
	".endm\n");
#endif

/* Defines the names, in the order of blas_forms and of blas/blas.def; LAPACK routines have no CBLAS names. */
#define NAME(name) __asm__("sonde_blas_name " name);
#define NAMES_FORTRAN(name)        \
	NAME(name "_")             \
	NAME(name "_64_")          \
	NAME(name "64_")           \
	NAME("scipy_" name "_")    \
	NAME("scipy_" name "_64_") \
	NAME("scipy_" name "64_")
#define NAMES_C(name)                   \
	NAME("cblas_" name)             \
	NAME("cblas_" name "64_")       \
	NAME("cblas_" name "_64")       \
	NAME("scipy_cblas_" name)       \
	NAME("scipy_cblas_" name "64_") \
	NAME("scipy_cblas_" name "_64")
#define BLAS(name) NAMES_FORTRAN(name) NAMES_C(name)
#define LAPACK(name) NAMES_FORTRAN(name) __asm__(".set sonde_blas_number, sonde_blas_number + 6\n");
#define EACH_SD(what, name) what("s" #name) what("d" #name)
#define EACH_CZ(what, name) what("c" #name) what("z" #name)
#define EACH_SDCZ(what, name) EACH_SD(what, name) EACH_CZ(what, name)
#define SONDE_BLAS(types, name, ...) EACH_##types(BLAS, name)
#define SONDE_LAPACK(types, name, ...) EACH_##types(LAPACK, name)
#include "inject/blas/blas.def"
