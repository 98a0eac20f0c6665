/* cache.h: replies that were given, by what was asked: a page that goes back asks the same again.
 *
 * One thread's. A recording does not change while it is open, so what is kept is never wrong; it is bounded by bytes,
 * and what was asked for longest ago goes first.
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
		uint64_t used; /* when, in calls */
	} rows[SONDE_CACHE_ROWS];
	size_t size_b, max_b;
	uint64_t calls;
};

/* Borrowed, or NULL. */
struct MHD_Response *sonde_cache_find(struct sonde_cache *cache, const char *key);

/* Takes a reply of `size_b` bytes: kept, or given back where it is too large or memory is short. */
void sonde_cache_take(struct sonde_cache *cache, const char *key, struct MHD_Response *reply, size_t size_b);
void sonde_cache_fini(struct sonde_cache *cache);

#endif
