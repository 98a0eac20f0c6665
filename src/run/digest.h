/* digest.h: identifies file contents by size and hash, to tell whether files have changed. */
#ifndef SONDE_RUN_DIGEST_H
#define SONDE_RUN_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct sonde_digest {
	uint64_t size_b, hash; /* XXH3 */
};

/* Computes a file's size and hash. 0, or a negative errno with a message; -EINVAL if it is not a regular file. */
int sonde_digest_file(struct sonde_digest *out, const char *path);

/* Finds a command as the shell would: the word itself if it contains a slash, else along PATH. -ENOENT without a
 * message. */
int sonde_digest_program(char *out, size_t out_b, const char *word);

/* Copies a file and its mode; an existing target is replaced atomically. */
int sonde_digest_copy(const char *from, const char *to);

#endif
