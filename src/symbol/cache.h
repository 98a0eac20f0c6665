/* cache.h: the user's cache of what was compiled from modules: $XDG_CACHE_HOME/sonde or ~/.cache/sonde.
 *
 * A file is named by build-id and kind, written under another name and renamed, so that a reader never sees half of
 * one. Directories and files that belong to somebody else, or that others may write, are not used: a root process with
 * a user's HOME has no cache. Beyond 512 MB the files that were written longest ago are removed.
 */
#ifndef SONDE_SYMBOL_CACHE_H
#define SONDE_SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct sonde_cache_key {
	const uint8_t *build_id;
	size_t build_id_b;
	const char *kind; /* file name extension */
};

/* A descriptor to read, or a negative errno (-ENOENT: not there, or no cache). Says no sentence. */
int sonde_cache_read(const struct sonde_cache_key *key);

/* Writes head and body as one file; 0 or a negative errno, which callers may ignore. Says no sentence. */
int sonde_cache_write(const struct sonde_cache_key *key, const void *head, size_t head_b, const void *body,
		      size_t body_b);

#endif
