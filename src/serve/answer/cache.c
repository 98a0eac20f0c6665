/* cache.c: caches replies by request. */
#include "serve/answer/cache.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

static struct sonde_cache_row *find(struct sonde_cache *cache, const char *key)
{
	for (size_t i = 0; i < SONDE_CACHE_ROWS; i++)
		if (cache->rows[i].key && strcmp(cache->rows[i].key, key) == 0)
			return &cache->rows[i];
	return NULL;
}

static void drop(struct sonde_cache *cache, struct sonde_cache_row *row)
{
	cache->size_b -= row->size_b;
	MHD_destroy_response(row->reply);
	free(row->key);
	*row = (struct sonde_cache_row){0};
}

/* Returns a free row, or the least recently used one. */
static struct sonde_cache_row *oldest(struct sonde_cache *cache, int is_used)
{
	struct sonde_cache_row *best = NULL;
	for (size_t i = 0; i < SONDE_CACHE_ROWS; i++) {
		struct sonde_cache_row *row = &cache->rows[i];
		if (!row->key && !is_used)
			return row;
		if (row->key && (!best || row->used < best->used))
			best = row;
	}
	return best;
}

struct MHD_Response *sonde_cache_find(struct sonde_cache *cache, const char *key)
{
	struct sonde_cache_row *row = find(cache, key);
	if (!row)
		return NULL;
	row->used = ++cache->calls;
	return row->reply;
}

void sonde_cache_take(struct sonde_cache *cache, const char *key, struct MHD_Response *reply, size_t size_b)
{
	char *copy = size_b <= cache->max_b && !find(cache, key) ? strdup(key) : NULL;
	if (!copy) {
		MHD_destroy_response(reply);
		return;
	}
	while (cache->size_b + size_b > cache->max_b)
		drop(cache, oldest(cache, 1));
	struct sonde_cache_row *row = oldest(cache, 0);
	if (row->key)
		drop(cache, row);
	*row = (struct sonde_cache_row){copy, reply, size_b, ++cache->calls};
	cache->size_b += size_b;
}

void sonde_cache_fini(struct sonde_cache *cache)
{
	for (size_t i = 0; i < SONDE_CACHE_ROWS; i++)
		if (cache->rows[i].key)
			drop(cache, &cache->rows[i]);
}
