/* strings.c: an arena of texts, an array of rows, and a hash index over the rows. */
#include "trace/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/array.h"

struct probe {
	const struct sonde_strings *strings;
	const char *text;
	size_t len_b;
};

void sonde_strings_init(struct sonde_strings *strings, struct sonde_writer *writer)
{
	*strings = (struct sonde_strings){.writer = writer};
}

void sonde_strings_fini(struct sonde_strings *strings)
{
	sonde_arena_fini(&strings->arena);
	sonde_map_fini(&strings->map);
	free(strings->rows);
}

static int same(const void *context, uint32_t id)
{
	const struct probe *probe = context;
	const struct sonde_string_row *row = &probe->strings->rows[id - 1];
	return row->len_b == probe->len_b && !memcmp(row->text, probe->text, probe->len_b);
}

static int reserve(struct sonde_strings *strings)
{
	if (SONDE_ARRAY_RESERVE(strings->rows, strings->cap, strings->count + 1))
		return -1;
	return 0;
}

uint32_t sonde_strings_intern(struct sonde_strings *strings, const char *text, size_t len_b)
{
	if (!len_b)
		return 0;
	if (len_b > SONDE_STRING_MAX_B)
		len_b = SONDE_STRING_MAX_B;
	uint64_t hash = sonde_hash_bytes(text, len_b);
	struct probe probe = {strings, text, len_b};
	uint32_t id = sonde_map_find(&strings->map, hash, same, &probe);
	if (id)
		return id;
	char *copy = sonde_arena_strndup(&strings->arena, text, len_b);
	if (!copy || reserve(strings))
		return 0;
	id = strings->count + 1;
	struct sonde_meta_string record = {.head.type = SONDE_META_STRING, .id = id, .len_b = (uint32_t)len_b};
	if (sonde_writer_meta(strings->writer, &record, sizeof record, text, len_b))
		return 0;
	if (sonde_map_add(&strings->map, hash, id))
		return 0;
	strings->rows[strings->count++] = (struct sonde_string_row){copy, (uint32_t)len_b};
	return id;
}
