/* cache.h: the user's cache of data compiled from modules: $XDG_CACHE_HOME/sonde or ~/.cache/sonde.
 *
 * A file is named by build-id and kind. It is written under a temporary name and renamed, so that a reader never sees a
 * partial file. Directories and files that belong to another user, or that others may write, are not used: a root
 * process with a user's HOME has no cache. If the cache exceeds 512 MB, the files written longest ago are removed.
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

/* Opens a file for reading; a negative errno on failure (-ENOENT: the file is missing, or there is no cache). Sets no
 * error message. */
int sonde_cache_read(const struct sonde_cache_key *key);

/* Writes header and body as one file; 0 or a negative errno, which callers may ignore. Sets no error message. */
int sonde_cache_write(const struct sonde_cache_key *key, const void *head, size_t head_b, const void *body,
		      size_t body_b);

#endif
