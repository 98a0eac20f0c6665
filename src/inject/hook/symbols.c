/* symbols.c: finds a function by name in the symbol tables of a loaded object (hook/symbols.h). */
#include "inject/hook/symbols.h"

#include <stddef.h>

#define VERSION_HIDDEN 0x8000u /* of a symbol: not the default version of its name */
#define WORD_BITS (8u * sizeof(ElfW(Addr)))

/* Compares two names. strcmp() cannot be used, because the loader may not have filled in its address yet. */
static int is_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* glibc relocates addresses in the table where it is writable; musl leaves the file's values. */
static const void *to_address(uintptr_t base, uintptr_t pointer)
{
	return (const void *)(pointer < base ? base + pointer : pointer); /* NOLINT: it is one */
}

void inject_symbols_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct inject_symbols *out)
{
	*out = (struct inject_symbols){.base = base};
	for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		const void *address = to_address(base, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			out->symbols = address;
		else if (entry->d_tag == DT_STRTAB)
			out->strings = address;
		else if (entry->d_tag == DT_HASH)
			out->hashes = address;
		else if (entry->d_tag == DT_GNU_HASH)
			out->gnu_hashes = address;
		else if (entry->d_tag == DT_VERSYM)
			out->versions = address;
		else if (entry->d_tag == DT_VERDEF)
			out->definitions = address;
		else if (entry->d_tag == DT_VERDEFNUM)
			out->definition_count = (uint32_t)entry->d_un.d_val;
		else if (entry->d_tag == DT_SONAME)
			out->name = entry->d_un.d_val;
	}
}

struct inject_symbol_name inject_symbols_name(const char *text)
{
	struct inject_symbol_name name = {.text = text, .gnu_hash = 5381};
	for (const char *at = text; *at; at++)
		name.gnu_hash = name.gnu_hash * 33 + (unsigned char)*at;
	return name;
}

static int is_version(const struct inject_symbols *tables, uint32_t number, const char *version)
{
	const char *at = (const char *)tables->definitions;
	for (uint32_t i = 0; at && i < tables->definition_count; i++) {
		const ElfW(Verdef) *definition = (const void *)at;
		const ElfW(Verdaux) *name = (const void *)(at + definition->vd_aux);
		if (definition->vd_ndx == number)
			return is_equal(tables->strings + name->vda_name, version);
		at = definition->vd_next ? at + definition->vd_next : NULL;
	}
	return 0;
}

static int is_wanted(const struct inject_symbols *tables, uint32_t index, const struct inject_symbol_name *name)
{
	const ElfW(Sym) *symbol = &tables->symbols[index];
	uint32_t type = inject_symbols_type(symbol);
	uint32_t version = tables->versions ? tables->versions[index] : 0;
	int is_kind =
	    name->is_data ? type == STT_OBJECT : type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC;
	if (!is_kind || symbol->st_shndx == SHN_UNDEF || !symbol->st_value || symbol->st_info >> 4 == STB_LOCAL ||
	    !is_equal(tables->strings + symbol->st_name, name->text))
		return 0;
	return !(version & VERSION_HIDDEN) ||
	       (name->version && is_version(tables, version & ~VERSION_HIDDEN, name->version));
}

/* Looks up a SysV hash table, as in the System V ABI; 0 = none. */
static uint32_t find_hashed(const struct inject_symbols *tables, const struct inject_symbol_name *name)
{
	const uint32_t *buckets = tables->hashes + 2, *chains = buckets + tables->hashes[0];
	uint32_t hash = 0;
	for (const char *at = name->text; *at; at++) {
		hash = (hash << 4) + (unsigned char)*at;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	uint32_t index = tables->hashes[0] ? buckets[hash % tables->hashes[0]] : 0;
	while (index && !is_wanted(tables, index, name))
		index = chains[index];
	return index;
}

/* Looks up a GNU hash table as glibc's dl-lookup.c does: a Bloom filter with two bits per name, then buckets, then
 * hashes whose lowest bit ends a chain. */
static uint32_t find_gnu_hashed(const struct inject_symbols *tables, const struct inject_symbol_name *name)
{
	uint32_t bucket_count = tables->gnu_hashes[0], first = tables->gnu_hashes[1];
	uint32_t word_count = tables->gnu_hashes[2], shift = tables->gnu_hashes[3], hash = name->gnu_hash;
	const ElfW(Addr) *words = (const ElfW(Addr) *)(tables->gnu_hashes + 4);
	const uint32_t *buckets = (const uint32_t *)(words + word_count), *hashes = buckets + bucket_count;
	ElfW(Addr) word = words[hash / WORD_BITS & (word_count - 1)];
	if (!(word >> hash % WORD_BITS & word >> (hash >> shift) % WORD_BITS & 1) || !bucket_count)
		return 0;
	uint32_t index = buckets[hash % bucket_count];
	if (index < first)
		return 0;
	while ((hashes[index - first] | 1) != (hash | 1) || !is_wanted(tables, index, name))
		if (hashes[index++ - first] & 1)
			return 0;
	return index;
}

const ElfW(Sym) * inject_symbols_find(const struct inject_symbols *tables, const struct inject_symbol_name *name)
{
	uint32_t index = 0;
	if (!tables->symbols || !tables->strings)
		return NULL;
	if (tables->gnu_hashes)
		index = find_gnu_hashed(tables, name);
	else if (tables->hashes)
		index = find_hashed(tables, name);
	return index ? &tables->symbols[index] : NULL;
}
