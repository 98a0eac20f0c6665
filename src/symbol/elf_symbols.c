/* elf_symbols.c: reads symbol tables and ranks aliases.
 *
 * Of several symbols at one address, the one kept is the first in this order: a symbol with a size before one without,
 * global before weak before local, fewer leading underscores before more, and then the longer name (the same order as
 * in perf).
 */
#include "symbol/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/unpack.h"

#define TABLE_MAX_B ((size_t)1 << 30)

struct table {
	uint8_t *symbols;
	char *texts;
	size_t symbols_b, texts_b;
	size_t each_b;
};

static int read_table(struct table *out, const struct sonde_elf *file, const char *name)
{
	struct sonde_elf_section symbols, texts;
	struct table table = {.each_b = file->class64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)};
	if (sonde_elf_section(file, name, &symbols) || sonde_elf_section_at(file, symbols.link, &texts) ||
	    sonde_elf_section_read(file, &symbols, TABLE_MAX_B, &table.symbols, &table.symbols_b))
		return -ENOENT;
	if (sonde_elf_section_read(file, &texts, TABLE_MAX_B, (uint8_t **)&table.texts, &table.texts_b) ||
	    !table.texts_b) {
		free(table.texts);
		free(table.symbols);
		return -ENOENT;
	}
	table.texts[table.texts_b - 1] = 0;
	*out = table;
	return 0;
}

static Elf64_Sym get_symbol(const struct table *table, size_t index)
{
	Elf64_Sym symbol;
	if (table->each_b == sizeof symbol) {
		memcpy(&symbol, table->symbols + index * sizeof symbol, sizeof symbol);
		return symbol;
	}
	Elf32_Sym small;
	memcpy(&small, table->symbols + index * sizeof small, sizeof small);
	return (Elf64_Sym){.st_name = small.st_name,
			   .st_info = small.st_info,
			   .st_other = small.st_other,
			   .st_shndx = small.st_shndx,
			   .st_value = small.st_value,
			   .st_size = small.st_size};
}

static uint32_t rank_symbol(const Elf64_Sym *symbol, const char *text)
{
	unsigned bind = ELF64_ST_BIND(symbol->st_info);
	size_t underscores = strspn(text, "_"), len_b = strlen(text);
	uint32_t rank = symbol->st_size ? 4u : 0;
	rank += bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 3u : bind == STB_WEAK ? 2u : 1u;
	return rank << 24 | (255u - (uint32_t)(underscores < 255 ? underscores : 255)) << 16 |
	       (uint32_t)(len_b < UINT16_MAX ? len_b : UINT16_MAX);
}

/* True for a function, or untyped code that is not an ARM mapping symbol. */
static int is_function(const Elf64_Sym *symbol, const char *text)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || !*text)
		return 0;
	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && *text != '$');
}

static int is_variable(const Elf64_Sym *symbol, const char *text)
{
	return symbol->st_shndx != SHN_UNDEF && *text && symbol->st_size &&
	       ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
}

/* Adds the functions inside the code of `module`; if `module` is NULL, adds variables instead. */
static int add_symbols(struct sonde_names *out, const struct table *table, const struct sonde_elf *module)
{
	for (size_t i = 1; i < table->symbols_b / table->each_b; i++) {
		Elf64_Sym symbol = get_symbol(table, i);
		if (symbol.st_name >= table->texts_b)
			continue;
		const char *text = table->texts + symbol.st_name;
		int is_wanted = module ? is_function(&symbol, text) && sonde_elf_is_code(module, symbol.st_value)
				       : is_variable(&symbol, text);
		if (!is_wanted)
			continue;
		struct sonde_name name = {.start = symbol.st_value,
					  .size_b = symbol.st_size,
					  .text = text,
					  .rank = rank_symbol(&symbol, text)};
		int rc = sonde_names_add(out, &name);
		if (rc)
			return rc;
	}
	return 0;
}

int sonde_elf_symbols_read(struct sonde_names *out, const struct sonde_elf *file, const struct sonde_elf *module)
{
	const char *names[] = {".symtab", ".dynsym"};
	for (size_t i = 0; i < 2; i++) {
		struct table table;
		if (read_table(&table, file, names[i]))
			continue;
		int rc = sonde_names_keep(out, table.texts);
		if (!rc)
			rc = add_symbols(out, &table, module);
		free(table.symbols);
		if (rc)
			return rc;
	}
	return 0;
}

int sonde_elf_symbols_packed(struct sonde_names *out, const struct sonde_elf *module)
{
	struct sonde_elf_section section;
	struct sonde_elf inner;
	uint8_t *packed, *plain;
	size_t packed_b, plain_b;
	if (sonde_elf_section(module, ".gnu_debugdata", &section) ||
	    sonde_elf_section_read(module, &section, TABLE_MAX_B, &packed, &packed_b))
		return 0;
	int rc = sonde_unpack_xz(packed, packed_b, sonde_elf_unpacked_max(packed_b, TABLE_MAX_B), &plain, &plain_b);
	free(packed);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = sonde_elf_open_bytes(&inner, module->path, plain, plain_b);
	free(plain);
	if (rc)
		return 0;
	rc = sonde_elf_symbols_read(out, &inner, module);
	sonde_elf_close(&inner);
	return rc;
}

int sonde_elf_symbols_variables(struct sonde_names *out, const struct sonde_elf *file)
{
	return sonde_elf_symbols_read(out, file, NULL);
}
