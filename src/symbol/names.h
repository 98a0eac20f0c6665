/* names.h: sorted, named address ranges: ELF and kernel symbols, and those of generated code.
 *
 * Names are collected in a struct sonde_names, then packed into a table of a single block, which is also the format of
 * a cache file: a lookup in a mapped table reads only a few pages, however many symbols there are.
 */
#ifndef SONDE_SYMBOL_NAMES_H
#define SONDE_SYMBOL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/cache.h"

struct sonde_name {
	uint64_t start;
	uint64_t size_b; /* 0 = up to the next range */
	const char *text;
	uint32_t rank; /* of several ranges with the same start, the one with the highest rank is kept */
};

/* `blocks`: memory that texts point into, freed together with the names. */
struct sonde_names {
	struct sonde_name *items;
	size_t count, capacity;
	void *blocks[8];
	size_t block_count;
};

void sonde_names_fini(struct sonde_names *names);
int sonde_names_add(struct sonde_names *names, const struct sonde_name *name);

/* Takes ownership of a block: freed with the names, or at once if it cannot be stored (-ENOSPC). */
int sonde_names_keep(struct sonde_names *names, void *block);

/* Sorts the names. Of names with the same start, keeps the one with the highest rank. Call once, after adding. */
void sonde_names_sort(struct sonde_names *names);

/* --- tables ------------------------------------------------------------------------------------------------------- */

struct sonde_name_entry {
	uint64_t start;
	uint32_t size_b; /* 0 = up to the next range */
	uint32_t text;   /* offset of the name */
};

struct sonde_name_table {
	const struct sonde_name_entry *entries; /* sorted by start */
	const char *texts;                      /* ends with NUL */
	size_t count, texts_b;
	void *memory;
	size_t memory_b;
	uint64_t age_ns; /* since the file was written; 0 for a table just packed */
};

/* -ENOMEM, or -E2BIG above 4 GB of texts. */
int sonde_name_table_pack(struct sonde_name_table *out, const struct sonde_names *names);
void sonde_name_table_fini(struct sonde_name_table *table);

/* The range that covers an address, or NULL. */
const struct sonde_name_entry *sonde_name_table_find(const struct sonde_name_table *table, uint64_t address);

/* The name of an entry; "" if the file is damaged. */
const char *sonde_name_table_text(const struct sonde_name_table *table, const struct sonde_name_entry *entry);

/* The cache file. `source` identifies the data from which the table is made. If the file was made from a different
 * source, load() returns -ENOENT. */
int sonde_name_table_load(struct sonde_name_table *out, const struct sonde_cache_key *key, uint64_t source);
int sonde_name_table_store(const struct sonde_name_table *table, const struct sonde_cache_key *key, uint64_t source);

#endif
