/* original.h: checks that a recording's file is still the one that was opened: otherwise a file truncated, rewritten or
 * replaced in the meantime would yield wrong answers. */
#ifndef SONDE_SERVE_ORIGINAL_H
#define SONDE_SERVE_ORIGINAL_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sonde_original {
	char *path; /* NULL: there is no file to check, so nothing is reported */
	dev_t device;
	ino_t inode;
	struct timespec written;
	int grows; /* the file is being written: only truncation and replacement are reported */
	uint64_t size_b;
};

/* Remembers the file's current state; `out` must be passed to sonde_original_fini(). -ENOMEM with a message. */
int sonde_original_init(struct sonde_original *out, const char *path, int grows);
void sonde_original_fini(struct sonde_original *original);

/* `read_b`: bytes read so far of a growing file. 0, or -EIO with a message that says what happened and what to do. A
 * deleted file is not an error, because it is open and stays readable. Any thread. */
int sonde_original_check(const struct sonde_original *original, uint64_t read_b);

#endif
