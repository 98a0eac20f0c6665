/* intern.c: interns names and keys (cuda/intern.h).
 *
 * A kernel's name comes as a pointer, which is nearly always the same as before: so the text is compared with the last
 * one at that address, which is cheaper than hashing it. The comparison is necessary, since modules come and go.
 */
#include "inject/cuda/intern.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256u

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static uint64_t key_hash(const uint64_t *key, size_t words)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < words; i++)
		hash = mix(hash, key[i]);
	return hash;
}

/* The slot of the key, or the free slot where it belongs. */
static uint64_t *slot_of(const struct cuda_table *table, const uint64_t *key)
{
	size_t slot_words = table->key_words + 1;
	for (size_t at = key_hash(key, table->key_words);; at++) {
		uint64_t *slot = table->words + (at & (table->slots - 1)) * slot_words;
		if (!slot[0] || !memcmp(slot + 1, key, table->key_words * sizeof *key))
			return slot;
	}
}

static int grow(struct cuda_table *table)
{
	struct cuda_table next = *table;
	next.slots = table->slots ? 2 * table->slots : FIRST_SLOTS;
	next.words = calloc(next.slots, (table->key_words + 1) * sizeof *next.words);
	if (!next.words)
		return -1;
	for (size_t i = 0; i < table->slots; i++) {
		const uint64_t *slot = table->words + i * (table->key_words + 1);
		if (slot[0])
			memcpy(slot_of(&next, slot + 1), slot, (table->key_words + 1) * sizeof *slot);
	}
	free(table->words);
	*table = next;
	return 0;
}

uint64_t *cuda_table_of(struct cuda_table *table, const uint64_t *key)
{
	uint64_t *slot = table->slots ? slot_of(table, key) : NULL;
	if (slot && slot[0])
		return slot;
	if (table->count >= table->max || (2 * table->count >= table->slots && grow(table)))
		return NULL;
	slot = slot_of(table, key);
	memcpy(slot + 1, key, table->key_words * sizeof *key);
	table->count++;
	return slot;
}

void cuda_table_fini(struct cuda_table *table)
{
	free(table->words);
	table->words = NULL;
	table->slots = table->count = 0;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static uint64_t text_hash(const char *text, size_t text_b)
{
	uint64_t hash = text_b;
	for (size_t i = 0; i < text_b; i += 8) {
		uint64_t word = 0;
		memcpy(&word, text + i, text_b - i < 8 ? text_b - i : 8);
		hash = mix(hash, word);
	}
	return hash;
}

static int is_text(const char *kept, const char *text, size_t text_b)
{
	return !strncmp(kept, text, text_b) && !kept[text_b];
}

static uint32_t *name_slot(const struct cuda_names *names, const char *text, size_t text_b)
{
	for (size_t at = text_hash(text, text_b);; at++) {
		uint32_t *slot = &names->slots[at & (2 * (size_t)names->cap - 1)];
		if (!*slot || is_text(names->texts[*slot - 1], text, text_b))
			return slot;
	}
}

static int grow_names(struct cuda_names *names)
{
	uint32_t cap = names->cap ? 2 * names->cap : FIRST_SLOTS;
	uint32_t *slots = calloc(2 * (size_t)cap, sizeof *slots);
	char **texts = slots ? realloc(names->texts, cap * sizeof *texts) : NULL;
	if (!texts) {
		free(slots);
		return -1;
	}
	free(names->slots);
	names->slots = slots;
	names->texts = texts;
	names->cap = cap;
	for (uint32_t i = 0; i < names->count; i++)
		*name_slot(names, texts[i], strlen(texts[i])) = i + 1;
	return 0;
}

static uint32_t intern(struct cuda_names *names, const char *text)
{
	size_t text_b = strnlen(text, CUDA_NAME_MAX_B);
	uint32_t *slot = names->cap ? name_slot(names, text, text_b) : NULL;
	if (slot && *slot)
		return *slot;
	if (names->count == CUDA_NAMES_MAX || (names->count == names->cap && grow_names(names)))
		return 0;
	char *kept = strndup(text, text_b);
	if (!kept)
		return 0;
	names->texts[names->count] = kept;
	*name_slot(names, text, text_b) = ++names->count;
	return names->count;
}

uint32_t cuda_name_of(struct cuda_names *names, const char *text)
{
	if (!text)
		return 0;
	struct cuda_name *seen = &names->seen[mix(0, (uintptr_t)text) % CUDA_NAMES_SEEN];
	if (seen->at != text || !seen->id || strcmp(names->texts[seen->id - 1], text) != 0)
		*seen = (struct cuda_name){text, intern(names, text)};
	return seen->id;
}

const char *cuda_name_text(const struct cuda_names *names, uint32_t id)
{
	return id && id <= names->count ? names->texts[id - 1] : NULL;
}

void cuda_names_fini(struct cuda_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->slots);
	*names = (struct cuda_names){0};
}
