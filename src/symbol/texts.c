/* texts.c: a hash table of offsets with open addressing, rebuilt from the block after loading or growing. */
#include "symbol/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/error.h"

#define TEXTS_MAX_B ((size_t)INT32_MAX)

void sonde_texts_fini(struct sonde_texts *texts)
{
	for (void **block = texts->blocks, **before; block; block = before) {
		before = *block;
		free(block);
	}
	free(texts->slots);
	*texts = (struct sonde_texts){0};
}

static int reserve(struct sonde_texts *texts, size_t capacity_b)
{
	void **block = malloc(sizeof *block + capacity_b);
	if (!block)
		return sonde_error(ENOMEM, "out of memory for %zu bytes of names", capacity_b);
	*block = texts->blocks;
	if (texts->size_b)
		memcpy(block + 1, texts->data, texts->size_b);
	texts->blocks = block;
	texts->data = (char *)(block + 1);
	texts->capacity_b = capacity_b;
	return 0;
}

int sonde_texts_load(struct sonde_texts *texts, const void *data, size_t size_b)
{
	const char *bytes = data;
	if (!size_b || size_b > TEXTS_MAX_B || bytes[0] || bytes[size_b - 1])
		return -EBADMSG;
	*texts = (struct sonde_texts){0};
	int rc = reserve(texts, size_b);
	if (rc)
		return rc;
	memcpy(texts->data, data, size_b);
	texts->size_b = size_b;
	return 0;
}

static uint32_t *find_slot(const struct sonde_texts *texts, const char *text, size_t len_b)
{
	size_t mask = texts->slot_count - 1;
	for (size_t at = sonde_hash_bytes(text, len_b) & mask;; at = (at + 1) & mask) {
		uint32_t id = texts->slots[at];
		if (!id || !strcmp(texts->data + id, text))
			return &texts->slots[at];
	}
}

/* Rebuilds the table at twice the current number of texts. */
static int rebuild(struct sonde_texts *texts)
{
	size_t count = 0, slot_count = 256;
	for (size_t at = 1; at < texts->size_b; at += strlen(texts->data + at) + 1)
		count++;
	while (slot_count < count * 4)
		slot_count *= 2;
	uint32_t *slots = calloc(slot_count, sizeof *slots);
	if (!slots)
		return sonde_error(ENOMEM, "out of memory for %zu names", count);
	free(texts->slots);
	texts->slots = slots;
	texts->slot_count = slot_count;
	texts->text_count = count;
	for (size_t at = 1; at < texts->size_b; at += strlen(texts->data + at) + 1)
		*find_slot(texts, texts->data + at, strlen(texts->data + at)) = (uint32_t)at;
	return 0;
}

static int append(struct sonde_texts *texts, const char *text, size_t size_b)
{
	size_t needed_b = texts->size_b + size_b + 1;
	if (size_b > TEXTS_MAX_B || needed_b > TEXTS_MAX_B)
		return sonde_error(E2BIG, "more than 2 GB of names");
	int rc = needed_b > texts->capacity_b ? reserve(texts, needed_b < 4096 ? 4096 : needed_b * 2) : 0;
	if (rc)
		return rc;
	if (!texts->size_b)
		texts->data[texts->size_b++] = 0;
	memcpy(texts->data + texts->size_b, text, size_b);
	texts->size_b += size_b;
	return 0;
}

int sonde_texts_intern(struct sonde_texts *texts, const char *text, uint32_t *out)
{
	*out = 0;
	if (!text || !*text)
		return 0;
	int rc = texts->text_count * 2 >= texts->slot_count ? rebuild(texts) : 0;
	if (rc)
		return rc;
	size_t len_b = strlen(text);
	uint32_t *slot = find_slot(texts, text, len_b);
	if (!*slot) {
		size_t id = texts->size_b ? texts->size_b : 1;
		rc = append(texts, text, len_b + 1);
		if (rc)
			return rc;
		*slot = (uint32_t)id;
		texts->text_count++;
	}
	*out = *slot;
	return 0;
}
