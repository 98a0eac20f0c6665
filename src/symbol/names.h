/* names.h: named address ranges, sorted: ELF symbols, the kernel's, those of generated code. */
#ifndef SONDE_SYMBOL_NAMES_H
#define SONDE_SYMBOL_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct sonde_name {
	uint64_t start;
	uint64_t size_b; /* 0 = up to the next one */
	const char *text;
	uint32_t rank;         /* of several with one start the highest stays */
	uint32_t is_demangled; /* `text` has been tried */
};

/* `blocks`: memory that texts point into, freed with it. */
struct sonde_names {
	struct sonde_name *items;
	size_t count, capacity;
	void *blocks[8];
	size_t block_count;
};

void sonde_names_fini(struct sonde_names *names);
int sonde_names_add(struct sonde_names *names, const struct sonde_name *name);

/* Frees it with the names, or at once where there is no more room (-ENOSPC). */
int sonde_names_keep(struct sonde_names *names, void *block);

/* Sorts and drops the lesser of equal starts. Call once after adding. */
void sonde_names_sort(struct sonde_names *names);

/* The range that holds an address, or NULL. */
struct sonde_name *sonde_names_find(const struct sonde_names *names, uint64_t address);

#endif
