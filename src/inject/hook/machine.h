/* machine.h: registers of a thread in a signal context, and raw system calls, per architecture. */
#ifndef SONDE_INJECT_HOOK_MACHINE_H
#define SONDE_INJECT_HOOK_MACHINE_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <ucontext.h>

struct inject_registers {
	uint64_t pc, sp, fp, lr;
};

/* Upper bound of the frame that the kernel puts onto a handler's stack, unless AT_MINSIGSTKSZ gives a higher one. */
#if defined(__x86_64__)
#define INJECT_FRAME_MAX_B 4096u /* with AVX-512; programs that use AMX must have a larger stack */
/* A signal handler that does not rely on stack alignment: qemu's user emulation before 8.0 enters it like a jump. */
#define INJECT_HANDLER __attribute__((force_align_arg_pointer))
#define INJECT_CONTROL_B 4096u   /* room at a stack's top for a thread's control block and the data above that */
static inline struct inject_registers inject_machine_registers(const void *context)
{
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	return (struct inject_registers){
	    .pc = (uint64_t)regs[REG_RIP], .sp = (uint64_t)regs[REG_RSP], .fp = (uint64_t)regs[REG_RBP]};
}

/* Returns a result or a negative errno. */
static inline long inject_machine_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Defines the function `name`: it stores the callee-saved registers, then its caller's stack pointer, in the words at
 * `saved`, and jumps to `next`. `name`, `saved` and `next` must not be static. */
#define INJECT_ENTRY(name, saved, next)                                                         \
	__asm__(".text\n.p2align 4\n"                                                           \
		".type " #name ", @function\n.hidden " #name "\n.globl " #name "\n" #name ":\n" \
		"	endbr64\n"                                                                    \
		"	movq %rbx, " #saved "(%rip)\n"                                          \
		"	movq %rbp, " #saved "+8(%rip)\n"                                        \
		"	movq %r12, " #saved "+16(%rip)\n"                                       \
		"	movq %r13, " #saved "+24(%rip)\n"                                       \
		"	movq %r14, " #saved "+32(%rip)\n"                                       \
		"	movq %r15, " #saved "+40(%rip)\n"                                       \
		"	leaq 8(%rsp), %rax\n"                                                         \
		"	movq %rax, " #saved "+48(%rip)\n"                                       \
		"	jmp " #next "\n"                                                        \
		".size " #name ", . - " #name "\n")
#define INJECT_KEPT 6u /* registers before the stack pointer */
#elif defined(__aarch64__)
#define INJECT_FRAME_MAX_B 65536u /* with SVE */
#define INJECT_HANDLER
#define INJECT_CONTROL_B 8192u    /* thread-local storage lies above it */
static inline struct inject_registers inject_machine_registers(const void *context)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	return (struct inject_registers){machine->pc, machine->sp, machine->regs[29], machine->regs[30]};
}

static inline long inject_machine_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}

#define INJECT_ENTRY(name, saved, next)                                                         \
	__asm__(".text\n.p2align 4\n"                                                           \
		".type " #name ", %function\n.hidden " #name "\n.globl " #name "\n" #name ":\n" \
		"	hint 34\n"                                                                    \
		"	adrp x9, " #saved "\n	add x9, x9, :lo12:" #saved "\n"                 \
		"	stp x19, x20, [x9]\n	stp x21, x22, [x9, 16]\n"                                \
		"	stp x23, x24, [x9, 32]\n	stp x25, x26, [x9, 48]\n"                            \
		"	stp x27, x28, [x9, 64]\n	mov x10, sp\n	stp x29, x10, [x9, 80]\n"              \
		"	b " #next "\n"                                                          \
		".size " #name ", . - " #name "\n")
#define INJECT_KEPT 11u
#else
#error "sonde: the registers of this machine in a signal handler are not known"
#endif

/* Like inject_machine_call(), but reports an error as the C library does: by −1 and errno. */
static inline long inject_machine_direct(long number, long a, long b, long c, long d, long e, long f)
{
	long result = inject_machine_call(number, a, b, c, d, e, f);
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* Takes as many arguments as the call has. Not syscall(), which is hooked, and may be the program's own. */
#define INJECT_CALL(...) INJECT_CALL_ANY(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define INJECT_CALL_ANY(number, a, b, c, d, e, f, ...) \
	inject_machine_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Like getpid(), which the program may have replaced. */
static inline pid_t inject_machine_pid(void)
{
	return (pid_t)inject_machine_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

#endif
