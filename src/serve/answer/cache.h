/* cache.h: caches replies by request: a page that navigates back repeats its requests.
 *
 * Used by one thread. A recording does not change while it is open, so entries never become stale; the cache is bounded
 * by bytes, and the least recently used entry is dropped first.
 */
#ifndef SONDE_SERVE_ANSWER_CACHE_H
#define SONDE_SERVE_ANSWER_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct MHD_Response;

enum { SONDE_CACHE_ROWS = 64 };

struct sonde_cache {
	struct sonde_cache_row {
		char *key; /* NULL = free */
		struct MHD_Response *reply;
		size_t size_b;
		uint64_t used; /* when it was last used, as a number of calls */
	} rows[SONDE_CACHE_ROWS];
	size_t size_b, max_b;
	uint64_t calls;
};

/* Returns the cached reply, borrowed; or NULL. */
struct MHD_Response *sonde_cache_find(struct sonde_cache *cache, const char *key);

/* Takes ownership of a reply of `size_b` bytes: caches it, or releases it if it is too large or memory is short. */
void sonde_cache_take(struct sonde_cache *cache, const char *key, struct MHD_Response *reply, size_t size_b);
void sonde_cache_fini(struct sonde_cache *cache);

#endif
