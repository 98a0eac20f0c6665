/* elf_symbols.h: functions of .symtab and .dynsym. */
#ifndef SONDE_SYMBOL_ELF_SYMBOLS_H
#define SONDE_SYMBOL_ELF_SYMBOLS_H

#include "symbol/elf.h"
#include "symbol/names.h"

/* Adds the functions that `file` (the module or its debug file) names inside the code of `module`. A file without
 * symbol tables adds nothing; damaged tables are left out. An error is a want of memory. */
int sonde_elf_symbols_read(struct sonde_names *out, const struct sonde_elf *file, const struct sonde_elf *module);

/* The same for the symbols that distributions pack into .gnu_debugdata. */
int sonde_elf_symbols_packed(struct sonde_names *out, const struct sonde_elf *module);

/* Adds the variables that a module's own tables name. An error is a want of memory. */
int sonde_elf_symbols_variables(struct sonde_names *out, const struct sonde_elf *file);

#endif
