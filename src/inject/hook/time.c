/* time.c: clock_gettime() for injected objects, without the C library.
 *
 * A sanitizer interposes it and calls through a pointer that is set when the sanitizer is initialised; hooks are called
 * before that. The kernel's function (vDSO) is looked up in the object that the kernel maps; without it, the system
 * call is made.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/hook/machine.h"
#include "inject/hook/symbols.h"

#if defined(__x86_64__)
#define KERNEL_NAME "__vdso_clock_gettime"
#elif defined(__aarch64__)
#define KERNEL_NAME "__kernel_clock_gettime"
#endif

typedef int (*read_clock)(clockid_t clock, struct timespec *out);

static int read_by_call(clockid_t clock, struct timespec *out)
{
	return (int)inject_machine_call(SYS_clock_gettime, clock, (long)out, 0, 0, 0, 0);
}

/* The file's first segment is mapped completely, from its first byte. */
static read_clock find(void)
{
	const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address */
	struct inject_symbol_name name = inject_symbols_name(KERNEL_NAME);
	const ElfW(Dyn) *dynamic = NULL;
	struct inject_symbols tables;
	uintptr_t base = (uintptr_t)file;
	const ElfW(Phdr) *headers = file ? (const void *)((const char *)file + file->e_phoff) : NULL;
	for (uint32_t i = 0; headers && i < file->e_phnum; i++) {
		if (headers[i].p_type == PT_LOAD)
			base = (uintptr_t)file + headers[i].p_offset - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)((const char *)file + headers[i].p_offset);
	}
	if (!dynamic)
		return read_by_call;
	inject_symbols_read(base, dynamic, &tables);
	const ElfW(Sym) *symbol = inject_symbols_find(&tables, &name);
	return symbol ? (read_clock)(base + symbol->st_value) : read_by_call; /* NOLINT: an address */
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	static _Atomic(read_clock) known;
	read_clock read = atomic_load_explicit(&known, memory_order_relaxed);
	if (__builtin_expect(!read, 0)) {
		read = find();
		atomic_store_explicit(&known, read, memory_order_relaxed);
	}
	int code = read(clock, out);
	if (code)
		errno = -code;
	return code ? -1 : 0;
}
