/* unwind_self.c: finds the modules of this process with dl_iterate_phdr(), and their tables with sonde_cfi_open(). */
#include "unwind_self.h"

#include <link.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbol/frames/cfi.h"

struct module {
	uint64_t bias, low, high;
	struct sonde_unwind_table table;
};

static struct module modules[32];
static size_t module_count;

static size_t vdso_size_b(void)
{
	char line[512];
	unsigned long long start, end = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof line, maps) && !strstr(line, "[vdso]"))
		;
	fclose(maps);
	assert_int_equal(sscanf(line, "%llx-%llx", &start, &end), 2);
	return (size_t)(end - start);
}

static void open_file(struct sonde_elf *file, const struct dl_phdr_info *info)
{
	const void *image = (const void *)(uintptr_t)info->dlpi_addr;
	if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		assert_int_equal(sonde_elf_open_bytes(file, "[vdso]", image, vdso_size_b()), 0);
	else
		assert_int_equal(sonde_elf_open(file, *info->dlpi_name ? info->dlpi_name : "/proc/self/exe"), 0);
}

static int add_module(struct dl_phdr_info *info, size_t size_b, void *context)
{
	(void)size_b, (void)context;
	assert_in_range(module_count, 0, 31);
	struct module *module = &modules[module_count++];
	*module = (struct module){.bias = info->dlpi_addr, .low = UINT64_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		uint64_t start = info->dlpi_addr + header->p_vaddr;
		module->low = start < module->low ? start : module->low;
		module->high = start + header->p_memsz > module->high ? start + header->p_memsz : module->high;
	}
	struct sonde_elf file;
	open_file(&file, info);
	assert_int_equal(sonde_cfi_open(&module->table, &file), 0);
	sonde_elf_close(&file);
	return 0;
}

void unwind_self_open(void)
{
	module_count = 0;
	dl_iterate_phdr(add_module, NULL);
	assert_in_range(module_count, 2, 32);
}

void unwind_self_close(void)
{
	while (module_count)
		sonde_unwind_table_unmap(&modules[--module_count].table);
}

static int read_memory(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	struct iovec to = {out, sizeof *out}, from = {(void *)(uintptr_t)address, sizeof *out};
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof *out; /* a wrong address must not kill us */
}

static const struct sonde_unwind_row *find(uint64_t pc)
{
	for (size_t i = 0; i < module_count; i++) {
		if (pc >= modules[i].low && pc < modules[i].high)
			return sonde_unwind_table_find(&modules[i].table, pc - modules[i].bias);
	}
	return NULL;
}

static struct sonde_unwind_regs take_regs(const ucontext_t *context)
{
	const mcontext_t *machine = &context->uc_mcontext;
#if defined(__x86_64__)
	return (struct sonde_unwind_regs){.pc = (uint64_t)machine->gregs[REG_RIP],
					  .sp = (uint64_t)machine->gregs[REG_RSP],
					  .fp = (uint64_t)machine->gregs[REG_RBP]};
#else
	return (struct sonde_unwind_regs){
	    .pc = machine->pc, .sp = machine->sp, .fp = machine->regs[29], .lr = machine->regs[30]};
#endif
}

__attribute__((no_sanitize("address"))) size_t unwind_self(const ucontext_t *context, uint64_t *pcs, size_t max,
							   enum sonde_unwind_result *result)
{
	struct sonde_unwind_regs regs = take_regs(context);
	int signal = 1; /* the first pc is exact */
	size_t count = 0;
	for (*result = SONDE_UNWIND_STEPPED; count < max && *result == SONDE_UNWIND_STEPPED;) {
		pcs[count++] = regs.pc;
		*result = sonde_unwind_step(find(regs.pc - !signal), &regs, read_memory, NULL, &signal);
	}
	return count;
}
