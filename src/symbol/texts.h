/* texts.h: strings interned in one block: an id is an offset into the block, so that the block can be written to a file
 * as it is.
 *
 * Pointers into the block stay valid while it grows, because outgrown blocks are kept until the end.
 */
#ifndef SONDE_SYMBOL_TEXTS_H
#define SONDE_SYMBOL_TEXTS_H

#include <stddef.h>
#include <stdint.h>

/* `data` holds NUL-terminated texts back to back. Id 0 means "no text". */
struct sonde_texts {
	char *data;
	size_t size_b, capacity_b;
	void *blocks;    /* all blocks, linked through their first word */
	uint32_t *slots; /* hash table of ids; created on the first intern */
	size_t slot_count, text_count;
};

void sonde_texts_fini(struct sonde_texts *texts);

/* Starts with a copy of a block read from a file; -EBADMSG unless it begins and ends with NUL. */
int sonde_texts_load(struct sonde_texts *texts, const void *data, size_t size_b);

/* The id of a text; 0 for NULL and "". -ENOMEM, or -E2BIG above 2 GB. */
int sonde_texts_intern(struct sonde_texts *texts, const char *text, uint32_t *out);

/* The text of an id; NULL for id 0. */
static inline const char *sonde_texts_get(const struct sonde_texts *texts, uint32_t id)
{
	return id ? texts->data + id : NULL;
}

#endif
