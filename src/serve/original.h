/* original.h: whether a recording's file is still the one that was opened: one that was cut off, written anew or
 * replaced meanwhile would be answered from as if it were whole.
 */
#ifndef SONDE_SERVE_ORIGINAL_H
#define SONDE_SERVE_ORIGINAL_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sonde_original {
	char *path; /* NULL: it has none that could be looked at, and nothing is said of it */
	dev_t device;
	ino_t inode;
	struct timespec written;
	int grows; /* it is being written: only that it is shorter or another one counts */
	uint64_t size_b;
};

/* What it is now; `out` is to be given to sonde_original_fini(). -ENOMEM with a sentence. */
int sonde_original_init(struct sonde_original *out, const char *path, int grows);
void sonde_original_fini(struct sonde_original *original);

/* `read_b`: how much of one that grows has been read. 0, or -EIO with a sentence that says what happened and what to
 * do. One that was removed can be read as before, since it is open. Any thread. */
int sonde_original_check(const struct sonde_original *original, uint64_t read_b);

#endif
