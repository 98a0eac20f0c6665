/* symbols.h: finds a function by name in the symbol tables of a loaded object, where the dynamic loader has mapped
 * them.
 *
 * Nothing here allocates, locks, makes a system call, sets errno or calls another object. It also works before the
 * loader has relocated our own object. The tables are the loader's and are trusted.
 */
#ifndef SONDE_INJECT_HOOK_SYMBOLS_H
#define SONDE_INJECT_HOOK_SYMBOLS_H

#include <elf.h>
#include <link.h>
#include <stdint.h>

/* Valid while the object is loaded. */
struct inject_symbols {
	uintptr_t base; /* base of the addresses in the tables */
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hashes, *gnu_hashes;
	const ElfW(Half) * versions;
	const ElfW(Verdef) * definitions; /* of versions; NULL = none */
	uint32_t definition_count;
	size_t name; /* DT_SONAME, in `strings`; 0 = none */
};

/* A name to look up, in one object or in several. */
struct inject_symbol_name {
	const char *text;
	uint32_t gnu_hash;
	const char *version; /* also matches if it is not the default version; NULL = default versions only */
	int is_data;         /* a variable instead of a function */
};

void inject_symbols_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct inject_symbols *out);
struct inject_symbol_name inject_symbols_name(const char *text);
/* The symbol's row; NULL = the object does not export the name. A function may be an STT_GNU_IFUNC. */
const ElfW(Sym) * inject_symbols_find(const struct inject_symbols *tables, const struct inject_symbol_name *name);

static inline uint32_t inject_symbols_type(const ElfW(Sym) * symbol)
{
	return symbol->st_info & 15;
}

#endif
