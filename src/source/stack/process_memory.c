/* process_memory.c: texts and exported symbols in the memory of another process. */
#include "source/stack/process_memory.h"

#include <elf.h>
#include <string.h>

#define SEGMENTS_MAX 64u
#define DYNAMIC_MAX 256u
#define CHAIN_MAX 4096u /* symbols of one hash bucket */
#define PART_B 32u

int sonde_process_memory_text(const struct sonde_process_memory *memory, uint64_t address, char *out, size_t cap_b)
{
	for (size_t at = 0; at < cap_b;) {
		/* Read in aligned parts, so that a text at the end of a mapping can be read. */
		size_t part_b = PART_B - (size_t)((address + at) % PART_B);
		part_b = part_b < cap_b - at ? part_b : cap_b - at;
		if (sonde_process_memory_read(memory, address + at, out + at, part_b))
			return -1;
		const char *end = memchr(out + at, 0, part_b);
		if (end)
			return (int)(end - out);
		at += part_b;
	}
	return -1;
}

/* Addresses, in the process, of the symbol tables that the dynamic section names. */
struct tables {
	uint64_t symbols, strings, hash;
};

static int find_dynamic(const struct sonde_process_memory *memory, uint64_t base, uint64_t *bias, uint64_t *dynamic)
{
	Elf64_Ehdr head;
	if (sonde_process_memory_read(memory, base, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
	    head.e_phnum > SEGMENTS_MAX)
		return -1;
	int found = 0;
	*bias = base;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr segment;
		if (sonde_process_memory_read(memory, base + head.e_phoff + i * sizeof segment, &segment,
					      sizeof segment))
			return -1;
		if (segment.p_type == PT_LOAD && !segment.p_offset)
			*bias = base - segment.p_vaddr;
		if (segment.p_type == PT_DYNAMIC) {
			*dynamic = segment.p_vaddr;
			found = 1;
		}
	}
	*dynamic += *bias;
	return found ? 0 : -1;
}

/* The address in a dynamic entry. glibc relocates these entries in memory, musl does not. */
static uint64_t relocated(uint64_t value, uint64_t bias)
{
	return value < bias ? value + bias : value;
}

static int read_tables(const struct sonde_process_memory *memory, uint64_t dynamic, uint64_t bias, struct tables *out)
{
	*out = (struct tables){0};
	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		Elf64_Dyn entry;
		if (sonde_process_memory_read(memory, dynamic + i * sizeof entry, &entry, sizeof entry))
			return -1;
		if (entry.d_tag == DT_NULL)
			break;
		uint64_t value = relocated(entry.d_un.d_ptr, bias);
		if (entry.d_tag == DT_SYMTAB)
			out->symbols = value;
		else if (entry.d_tag == DT_STRTAB)
			out->strings = value;
		else if (entry.d_tag == DT_GNU_HASH)
			out->hash = value;
	}
	return out->symbols && out->strings && out->hash ? 0 : -1;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static int has_name(const struct sonde_process_memory *memory, uint64_t address, const char *name)
{
	char text[128];
	size_t len_b = strlen(name) + 1;
	return len_b <= sizeof text && !sonde_process_memory_read(memory, address, text, len_b) &&
	       !memcmp(text, name, len_b);
}

uint64_t sonde_process_memory_symbol(const struct sonde_process_memory *memory, uint64_t base, const char *name)
{
	uint64_t bias, dynamic = 0;
	struct tables tables;
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
	} head;
	if (find_dynamic(memory, base, &bias, &dynamic) || read_tables(memory, dynamic, bias, &tables) ||
	    sonde_process_memory_read(memory, tables.hash, &head, sizeof head) || !head.buckets)
		return 0;
	uint32_t hash = gnu_hash(name), index, word;
	uint64_t buckets = tables.hash + sizeof head + head.bloom_words * 8ull;
	uint64_t chains = buckets + head.buckets * 4ull;
	if (sonde_process_memory_read(memory, buckets + hash % head.buckets * 4ull, &index, sizeof index) ||
	    index < head.first)
		return 0;
	for (unsigned i = 0; i < CHAIN_MAX; i++, index++) {
		Elf64_Sym symbol;
		if (sonde_process_memory_read(memory, chains + (index - head.first) * 4ull, &word, sizeof word))
			return 0;
		if ((word | 1) == (hash | 1) &&
		    !sonde_process_memory_read(memory, tables.symbols + index * sizeof symbol, &symbol,
					       sizeof symbol) &&
		    symbol.st_shndx != SHN_UNDEF && has_name(memory, tables.strings + symbol.st_name, name))
			return bias + symbol.st_value;
		if (word & 1)
			return 0;
	}
	return 0;
}
