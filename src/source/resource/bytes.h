/* bytes.h: what a process read and wrote itself, from counts that hold those of its children, too.
 *
 * The kernel adds what /proc/PID/io says of a process to whoever waits for it, and that to the next one. Summed up over
 * a tree it would be counted as often as there are generations. So what was read last of a child is taken off its
 * parent, once the child is gone and the parent's count has grown by as much: it has not where nobody waits (SIGCHLD
 * ignored) or somebody else does (the parent ended first). What a child read and wrote after its last reading stays
 * with the parent: nothing is lost, nothing is twice in the sum.
 */
#ifndef SONDE_SOURCE_RESOURCE_BYTES_H
#define SONDE_SOURCE_RESOURCE_BYTES_H

#include <stdint.h>

#include "source/resource/process.h"

enum { SONDE_BYTES_COUNT = 4 };

struct sonde_resources_bytes {
	uint32_t known;                    /* as in struct sonde_resources, of the last reading */
	int64_t raw[SONDE_BYTES_COUNT];    /* as the kernel counts */
	int64_t before[SONDE_BYTES_COUNT]; /* in the round before, and what was taken off since */
	int64_t taken[SONDE_BYTES_COUNT];  /* of children */
	int64_t own[SONDE_BYTES_COUNT];    /* as told last: they never go down */
};

/* Before the first reading: so much was read and written in its name, by calls. */
void sonde_resources_bytes_begin(struct sonde_resources_bytes *bytes, int64_t read_b, int64_t written_b);

/* A reading, and another one in the same round. */
void sonde_resources_bytes_see(struct sonde_resources_bytes *bytes, const struct sonde_resources *now);
void sonde_resources_bytes_see_again(struct sonde_resources_bytes *bytes, const struct sonde_resources *now);

/* A child that was there in the round before is gone: whether the parent's count has grown by it. */
int sonde_resources_bytes_take(struct sonde_resources_bytes *parent, const struct sonde_resources_bytes *child);

/* Both are gone, and the parent was not read after it had the child's. */
void sonde_resources_bytes_join(struct sonde_resources_bytes *parent, const struct sonde_resources_bytes *child);

/* The process's own. */
void sonde_resources_bytes_tell(struct sonde_resources_bytes *bytes, struct sonde_resources *out);

#endif
