/* blas_fake.c: a library with every name that libsonde-blas.so interposes. Each function prints its name and the sum
 * of all arguments that it has according to src/inject/blas/blas.def, including those on the stack. */
#include <stdint.h>

#include "inject/blas/blas.h"

#if defined(__x86_64__)
#define ENTRY(number) "	endbr64\n	movl $" number ", %eax\n	jmp blas_fake_call\n"
#else
#define ENTRY(number) "	mov w9, #" number "\n	b blas_fake_call\n"
#endif

__asm__(".text\n"
	".set blas_fake_number, 0\n"
	".macro blas_fake_name name\n"
	"	.type \\name, @function\n"
	"	.globl \\name\n"
	"\\name:\n" ENTRY("blas_fake_number") "	.set blas_fake_number, blas_fake_number + 1\n"
					      ".endm\n");

#if defined(__x86_64__)
/* The number, after the six in registers, and where those on the stack start. */
__asm__("blas_fake_call:\n"
	"	leaq 8(%rsp), %r10\n"
	"	subq $8, %rsp\n"
	"	pushq %r10\n"
	"	pushq %rax\n"
	"	call blas_fake_tell\n"
	"	addq $24, %rsp\n"
	"	ret\n");
#else
__asm__("blas_fake_call:\n"
	"	mov x10, sp\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	stp x9, x10, [sp, #16]\n"
	"	sub sp, sp, #16\n"
	"	stp x9, x10, [sp]\n"
	"	bl blas_fake_tell\n"
	"	add sp, sp, #16\n"
	"	ldp x29, x30, [sp], #32\n"
	"	ret\n");
#endif

__attribute__((visibility("default"))) char blas_fake_called[BLAS_NAME_B];

#if BLAS_INTEGERS == 6
#define IN_REGISTERS uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f
#define SUM (a + b + c + d + e + f)
#else
#define IN_REGISTERS uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h
#define SUM (a + b + c + d + e + f + g + h)
#endif
__attribute__((used, visibility("hidden"))) uint64_t blas_fake_tell(IN_REGISTERS, uint64_t number,
								    const uint64_t *stack);

uint64_t blas_fake_tell(IN_REGISTERS, uint64_t number, const uint64_t *stack)
{
	const struct blas_routine *routine = blas_routine_of((uint32_t)number);
	uint64_t sum = SUM;
	uint32_t words = blas_stack_words(routine, blas_form_of((uint32_t)number)->flags);
	for (uint32_t i = 0; i < words; i++)
		sum += (i + 2) * stack[i];
	blas_name((uint32_t)number, blas_fake_called);
	return sum;
}

#define NAME(name) __asm__("blas_fake_name " name);
#define NAMES(name)                \
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
#define BLAS(name) NAMES(name) NAMES_C(name)
#define LAPACK(name) NAMES(name) __asm__(".set blas_fake_number, blas_fake_number + 6\n");
#define EACH_SD(what, name) what("s" #name) what("d" #name)
#define EACH_CZ(what, name) what("c" #name) what("z" #name)
#define EACH_SDCZ(what, name) EACH_SD(what, name) EACH_CZ(what, name)
#define SONDE_BLAS(types, name, ...) EACH_##types(BLAS, name)
#define SONDE_LAPACK(types, name, ...) EACH_##types(LAPACK, name)
#include "inject/blas/blas.def"
