/* elf_symbols.h: reads the functions in .symtab and .dynsym. */
#ifndef SONDE_SYMBOL_ELF_SYMBOLS_H
#define SONDE_SYMBOL_ELF_SYMBOLS_H

#include "symbol/elf.h"
#include "symbol/names.h"

/* Adds the functions that `file` (the module or its debug file) names inside the code of `module`. A file without
 * symbol tables adds nothing; damaged tables are skipped. The only error is -ENOMEM. */
int sonde_elf_symbols_read(struct sonde_names *out, const struct sonde_elf *file, const struct sonde_elf *module);

/* Adds the symbols that distributions compress into .gnu_debugdata. */
int sonde_elf_symbols_packed(struct sonde_names *out, const struct sonde_elf *module);

/* Adds the variables in the module's own symbol tables. The only error is -ENOMEM. */
int sonde_elf_symbols_variables(struct sonde_names *out, const struct sonde_elf *file);

#endif
