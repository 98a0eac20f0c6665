/* intern.h: interns names, and keys of fixed length. Bounded. */
#ifndef SONDE_INJECT_CUDA_INTERN_H
#define SONDE_INJECT_CUDA_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* Maps keys of whole words to numbers. */
struct cuda_table {
	size_t key_words, max; /* maximum number of keys */
	size_t count, slots;   /* slots: 0 or a power of two */
	uint64_t *words;       /* per slot: its number (0 = free) and its key */
};

/* Returns the address of the key's number, valid until the next call. The number is 0 if the key is new: the caller
 * must then set it at once. NULL: too many keys, or out of memory. */
uint64_t *cuda_table_of(struct cuda_table *table, const uint64_t *key);
void cuda_table_fini(struct cuda_table *table);

struct cuda_name {
	const char *at; /* where the text was last seen; that memory may have changed since */
	uint32_t id;
};

#define CUDA_NAME_MAX_B 4095u
#define CUDA_NAMES_MAX (1u << 16)
#define CUDA_NAMES_SEEN 4096u

struct cuda_names {
	char **texts; /* by id − 1 */
	uint32_t count, cap;
	uint32_t *slots; /* ids by hash; twice `cap`, a power of two */
	struct cuda_name seen[CUDA_NAMES_SEEN];
};

/* Returns the id, from 1, the same for the same text; 0: no name, too many, or out of memory. Longer names are
 * truncated. */
uint32_t cuda_name_of(struct cuda_names *names, const char *text);
const char *cuda_name_text(const struct cuda_names *names, uint32_t id); /* NULL for 0 */
void cuda_names_fini(struct cuda_names *names);

#endif
