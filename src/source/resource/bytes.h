/* bytes.h: computes what a process itself read and wrote from kernel counts that include its children.
 *
 * The kernel adds the /proc/PID/io counts of an exited process to those of the process that waits for it, and so on up
 * the tree. A sum over a tree would count bytes once per generation. So the counts of an exited child, as last read,
 * are subtracted from its parent's once the parent's counts have grown by that much. The parent's counts do not grow if
 * no process waits for the child (SIGCHLD ignored), or if another process does (because the parent exited first). Bytes
 * that a child read and wrote after its last reading stay with the parent: nothing is lost or counted twice.
 */
#ifndef SONDE_SOURCE_RESOURCE_BYTES_H
#define SONDE_SOURCE_RESOURCE_BYTES_H

#include <stdint.h>

#include "source/resource/process.h"

enum { SONDE_BYTES_COUNT = 4 };

struct sonde_resources_bytes {
	uint32_t known;                    /* as in struct sonde_resources, for the last reading */
	int64_t raw[SONDE_BYTES_COUNT];    /* as the kernel counts */
	int64_t before[SONDE_BYTES_COUNT]; /* `raw` at the previous round, less bytes subtracted since */
	int64_t taken[SONDE_BYTES_COUNT];  /* subtracted for children */
	int64_t own[SONDE_BYTES_COUNT];    /* last reported: never decreases */
};

/* Call it before the first reading, with the bytes that calls have already read and written on the process's behalf. */
void sonde_resources_bytes_begin(struct sonde_resources_bytes *bytes, int64_t read_b, int64_t written_b);

/* Adds the first reading of a round, or a further one of the same round. */
void sonde_resources_bytes_see(struct sonde_resources_bytes *bytes, const struct sonde_resources *now);
void sonde_resources_bytes_see_again(struct sonde_resources_bytes *bytes, const struct sonde_resources *now);

/* A child of the previous round has exited: returns whether the parent's count has grown by the child's bytes. */
int sonde_resources_bytes_take(struct sonde_resources_bytes *parent, const struct sonde_resources_bytes *child);

/* Like sonde_resources_bytes_take(), but for a parent that has also exited and was not read again after the child's
 * counts were added to its own. */
void sonde_resources_bytes_join(struct sonde_resources_bytes *parent, const struct sonde_resources_bytes *child);

/* Outputs the process's own counts. */
void sonde_resources_bytes_record(struct sonde_resources_bytes *bytes, struct sonde_resources *out);

#endif
