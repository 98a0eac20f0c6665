/* early.h: the recorder's end of what processes say before they connect (format/early.h). One thread.
 *
 * Everything in the slots is hostile.
 */
#ifndef SONDE_SOURCE_WAIT_EARLY_H
#define SONDE_SOURCE_WAIT_EARLY_H

#include <sys/types.h>

#include "source/target/hooked.h"
#include "source/wait/chunks.h"

struct sonde_channel;
struct sonde_wait_early;

struct sonde_wait_early_options {
	struct sonde_recorder *recorder;
	struct sonde_hooked *hooked;
	struct sonde_wait_chunks *chunks;
	const struct sonde_channel *channel;
	void *context;
	void (*begun)(void *context, uint32_t process); /* one of the recording's has a slot; NULL = nobody is told */
};

/* Lays the memory out; NULL = none: processes connect at once. */
struct sonde_wait_early *sonde_wait_early_new(const struct sonde_wait_early_options *options);
void sonde_wait_early_free(struct sonde_wait_early *early); /* NULL is fine */

/* What processes find it by, in the environment: "PID FD". */
void sonde_wait_early_place(const struct sonde_wait_early *early, char *out, size_t out_b);
/* Processes so far. */
uint64_t sonde_wait_early_count(const struct sonde_wait_early *early);
/* Whether a process has a slot. */
int sonde_wait_early_has(const struct sonde_wait_early *early, pid_t pid);

/* Takes what was said. `final`: no more will be. */
void sonde_wait_early_drain(struct sonde_wait_early *early, int final);
/* All that a process said, which has connected: its slots are taken back. */
void sonde_wait_early_connected(struct sonde_wait_early *early, pid_t pid);

#endif
