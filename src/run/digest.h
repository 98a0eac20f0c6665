/* digest.h: whether files are what they were: their size and a hash of what they hold. */
#ifndef SONDE_RUN_DIGEST_H
#define SONDE_RUN_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct sonde_digest {
	uint64_t size_b, hash; /* XXH3 */
};

/* 0 or a negative errno with a sentence; -EINVAL for what is no regular file. */
int sonde_digest_file(struct sonde_digest *out, const char *path);

/* Where the shell would find a command: the word itself where it has a slash, else along PATH. -ENOENT, no sentence. */
int sonde_digest_program(char *out, size_t out_b, const char *word);

/* Copies a file, with its mode, to one that is not there yet, or is replaced as a whole. */
int sonde_digest_copy(const char *from, const char *to);

#endif
