/* fuzz_cfi.c: libFuzzer target: any bytes are a module whose headers, call-frame table and symbols are read.
 *
 * The table must be one that look-ups may trust: ascending, with known kinds. Every row is stepped once from registers
 * that no stack belongs to, expressions too.
 */
#include <stdlib.h>

#include "symbol/frames/cfi.h"
#include "symbol/elf_symbols.h"
#include "unwind/machine.h"
#include "unwind/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

static int read_pattern(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	*out = address ^ 0x5a58;
	return address % 64 == 0;
}

static const uint64_t all[SONDE_UNWIND_REGISTERS] = {0x7200, 0x7240, 0x7280, 0x72c0};

static void check_row(const struct sonde_unwind_table *table, size_t i)
{
	const struct sonde_unwind_row *row = &table->rows[i];
	struct sonde_unwind_regs regs = {
	    .pc = table->base + row->address, .sp = 0x7000, .fp = 0x7100, .lr = 0x400000, .all = all};
	int signal;
	if (!sonde_unwind_kind_is_known(row->kind) || (i && row->address <= row[-1].address) ||
	    sonde_unwind_table_find(table, table->base + row->address) != row)
		abort();
	sonde_unwind_step(row, &regs, read_pattern, NULL, &signal);
}

static void read_symbols(const struct sonde_elf *file)
{
	struct sonde_names names = {0};
	sonde_elf_symbols_read(&names, file, file);
	sonde_elf_symbols_packed(&names, file);
	sonde_names_sort(&names);
	for (size_t i = 1; i < names.count; i++) {
		if (names.items[i].start <= names.items[i - 1].start)
			abort();
	}
	sonde_names_fini(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	struct sonde_elf file;
	struct sonde_unwind_table table;
	unsetenv("HOME"); /* no cache: every input is compiled */
	unsetenv("XDG_CACHE_HOME");
	if (sonde_elf_open_bytes(&file, "input", bytes, size_b))
		return 0;
	if (!sonde_cfi_open(&table, &file)) {
		for (size_t i = 0; i < table.count; i++)
			check_row(&table, i);
		sonde_unwind_table_unmap(&table);
	}
	read_symbols(&file);
	sonde_elf_close(&file);
	return 0;
}
