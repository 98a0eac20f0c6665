/* intern.c: a hash index over an array of strings. */
#include "export/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"

struct question {
	const struct sonde_intern *intern;
	const char *text;
};

static int same_text(const void *context, uint32_t value)
{
	const struct question *question = context;
	return !strcmp(question->intern->texts[value - 1], question->text);
}

static int add(struct sonde_intern *intern, uint64_t hash, const char *text)
{
	if (intern->count >= UINT32_MAX || SONDE_ARRAY_RESERVE(intern->texts, intern->cap, intern->count + 1))
		return -ENOMEM;
	const char *copy = sonde_arena_strndup(&intern->arena, text, strlen(text));
	if (!copy || sonde_map_add(&intern->map, hash, (uint32_t)intern->count + 1))
		return -ENOMEM;
	intern->texts[intern->count++] = copy;
	return 0;
}

uint32_t sonde_intern(struct sonde_intern *intern, const char *text, int *error)
{
	if (!*text)
		return 0;
	if (intern->last && !strcmp(intern->texts[intern->last - 1], text))
		return intern->last;
	const struct question question = {intern, text};
	uint64_t hash = sonde_hash_bytes(text, strlen(text));
	uint32_t number = sonde_map_find(&intern->map, hash, same_text, &question);
	if (number)
		return intern->last = number;
	if (add(intern, hash, text)) {
		*error = sonde_error(ENOMEM, "out of memory for %zu strings", intern->count + 1);
		return 0;
	}
	return intern->last = (uint32_t)intern->count;
}

void sonde_intern_fini(struct sonde_intern *intern)
{
	sonde_arena_fini(&intern->arena);
	sonde_map_fini(&intern->map);
	free(intern->texts);
	*intern = (struct sonde_intern){0};
}
