/* arena.c: a linked list of blocks, of which the newest is filled; a large request gets a block of its own. */
#include "util/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_B ((size_t)64 << 10)

struct sonde_arena_block {
	struct sonde_arena_block *before;
	size_t size_b;
	_Alignas(16) unsigned char data[];
};

void sonde_arena_init(struct sonde_arena *arena)
{
	*arena = (struct sonde_arena){0};
}

void sonde_arena_fini(struct sonde_arena *arena)
{
	for (struct sonde_arena_block *block = arena->last; block;) {
		struct sonde_arena_block *before = block->before;
		free(block);
		block = before;
	}
	*arena = (struct sonde_arena){0};
}

void *sonde_arena_alloc(struct sonde_arena *arena, size_t size_b)
{
	if (size_b > SIZE_MAX / 2)
		return NULL;
	size_b = (size_b + 15) & ~(size_t)15;
	if (!arena->last || arena->last->size_b - arena->used_b < size_b) {
		size_t block_b = size_b > BLOCK_B ? size_b : BLOCK_B;
		struct sonde_arena_block *block = calloc(1, sizeof *block + block_b);
		if (!block)
			return NULL;
		block->before = arena->last;
		block->size_b = block_b;
		arena->last = block;
		arena->used_b = 0;
		arena->total_b += block_b;
	}
	void *memory = arena->last->data + arena->used_b;
	arena->used_b += size_b;
	return memory;
}

char *sonde_arena_strndup(struct sonde_arena *arena, const char *text, size_t len_b)
{
	char *copy = sonde_arena_alloc(arena, len_b + 1);
	if (copy && len_b) /* `text` may be NULL when it is empty */
		memcpy(copy, text, len_b);
	return copy;
}

char *sonde_arena_printf(struct sonde_arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = len < 0 ? NULL : sonde_arena_alloc(arena, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}
