/* places.c: chains of functions and lines, interned. */
#include "source/stack/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/map.h"

#define KEPT_MAX_B ((size_t)64 << 20)
#define PLACES_MAX (1u << 20)

struct row {
	uint64_t address;
	uint32_t count;
	const struct sonde_place *chain;
};

struct sonde_places {
	struct sonde_recorder *recorder;
	const char *module_name;
	uint32_t module; /* 0 = not needed yet */
	struct sonde_arena arena;
	struct sonde_map text_map, row_map;
	const char **texts; /* by id − 1 */
	struct row *rows;   /* by id − 1 */
	uint32_t text_count, row_count;
	size_t text_cap, row_cap;
};

struct sonde_places *sonde_places_new(struct sonde_recorder *recorder, const char *module)
{
	struct sonde_places *places = calloc(1, sizeof *places);
	if (places) {
		places->recorder = recorder;
		places->module_name = module;
		sonde_arena_init(&places->arena);
	}
	return places;
}

void sonde_places_free(struct sonde_places *places)
{
	if (!places)
		return;
	sonde_map_fini(&places->text_map);
	sonde_map_fini(&places->row_map);
	sonde_arena_fini(&places->arena);
	free(places->texts);
	free(places->rows);
	free(places);
}

struct text_key {
	const struct sonde_places *places;
	const char *text;
	size_t len_b;
};

static int same_text(const void *context, uint32_t id)
{
	const struct text_key *key = context;
	const char *text = key->places->texts[id - 1];
	return strlen(text) == key->len_b && !memcmp(text, key->text, key->len_b);
}

const char *sonde_places_text(struct sonde_places *places, const char *text, size_t len_b)
{
	char clean[512];
	len_b = len_b < sizeof clean ? len_b : sizeof clean;
	for (size_t i = 0; i < len_b; i++)
		clean[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	struct text_key key = {places, clean, len_b};
	uint64_t hash = sonde_hash_bytes(clean, len_b);
	uint32_t id = sonde_map_find(&places->text_map, hash, same_text, &key);
	if (id)
		return places->texts[id - 1];
	if (places->text_count >= PLACES_MAX ||
	    SONDE_ARRAY_RESERVE(places->texts, places->text_cap, places->text_count + 1))
		return NULL;
	char *kept = places->arena.total_b < KEPT_MAX_B ? sonde_arena_strndup(&places->arena, clean, len_b) : NULL;
	if (!kept || sonde_map_add(&places->text_map, hash, places->text_count + 1))
		return NULL;
	places->texts[places->text_count++] = kept;
	return kept;
}

struct row_key {
	const struct sonde_places *places;
	const struct sonde_place *chain;
	size_t count;
};

static int same_row(const void *context, uint32_t id)
{
	const struct row_key *key = context;
	const struct row *row = &key->places->rows[id - 1];
	if (row->count != key->count)
		return 0;
	for (size_t i = 0; i < key->count; i++)
		if (row->chain[i].function != key->chain[i].function || row->chain[i].file != key->chain[i].file ||
		    row->chain[i].line != key->chain[i].line)
			return 0;
	return 1;
}

static uint64_t new_address(const struct sonde_places *places, const struct row *row)
{
	struct sonde_trie_location locations[SONDE_PLACE_DEPTH_MAX];
	for (uint32_t i = 0; i < row->count; i++)
		locations[i] =
		    (struct sonde_trie_location){row->chain[i].function, row->chain[i].file, row->chain[i].line};
	return sonde_recorder_place(places->recorder, places->module, locations, row->count);
}

static uint32_t add_row(struct sonde_places *places, const struct sonde_place *chain, size_t count, uint64_t hash)
{
	if (places->row_count >= PLACES_MAX ||
	    SONDE_ARRAY_RESERVE(places->rows, places->row_cap, places->row_count + 1))
		return 0;
	struct sonde_place *kept =
	    places->arena.total_b < KEPT_MAX_B ? sonde_arena_alloc(&places->arena, count * sizeof *kept) : NULL;
	if (!kept || sonde_map_add(&places->row_map, hash, places->row_count + 1))
		return 0;
	memcpy(kept, chain, count * sizeof *kept);
	struct row *row = &places->rows[places->row_count++];
	*row = (struct row){0, (uint32_t)count, kept};
	row->address = new_address(places, row);
	return places->row_count;
}

struct sonde_trie_frame sonde_places_frame(struct sonde_places *places, const struct sonde_place *chain, size_t count)
{
	if (!places->module) {
		struct sonde_stack_module_key key = {.path = places->module_name, .flags = SONDE_MODULE_SPECIAL};
		places->module = sonde_recorder_module(places->recorder, &key);
	}
	count = count < SONDE_PLACE_DEPTH_MAX ? count : SONDE_PLACE_DEPTH_MAX;
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		if (!chain[i].function)
			return (struct sonde_trie_frame){places->module, 0};
		hash = sonde_hash_pair(hash, (uint64_t)(uintptr_t)chain[i].function ^ (uint64_t)chain[i].line << 48);
	}
	struct row_key key = {places, chain, count};
	uint32_t id = sonde_map_find(&places->row_map, hash, same_row, &key);
	if (!id && count)
		id = add_row(places, chain, count, hash);
	return (struct sonde_trie_frame){places->module, id ? places->rows[id - 1].address : 0};
}
