/* blocked_held.h: waits that were sampled from outside and are not written yet. One thread.
 *
 * They are held until it is known whether hooks report the waits of the process, and until other sources have named the
 * thread.
 */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_HELD_H
#define SONDE_SOURCE_WAIT_BLOCKED_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/wait/chunks.h"

enum sonde_blocked_verdict { SONDE_BLOCKED_WAIT = 0, SONDE_BLOCKED_WRITE, SONDE_BLOCKED_FORGET };

struct sonde_blocked_seen {
	struct sonde_waits_row wait; /* without its thread */
	uint32_t process;
	pid_t pid, tid;
};

struct sonde_blocked_held {
	struct sonde_recorder *recorder;
	struct sonde_wait_chunks chunks;
	struct sonde_blocked_seen *rows;
	size_t count, cap;
	uint64_t looks;           /* number of polls in which the written waits were found */
	uint64_t unheld, unknown; /* waits not stored: no capacity; thread no longer known */
};

void sonde_blocked_held_init(struct sonde_blocked_held *held, struct sonde_recorder *recorder);
void sonde_blocked_held_fini(struct sonde_blocked_held *held);
void sonde_blocked_held_add(struct sonde_blocked_held *held, const struct sonde_blocked_seen *seen);

/* Writes or discards the waits of each process, as the callback decides. */
void sonde_blocked_held_settle(struct sonde_blocked_held *held,
			       enum sonde_blocked_verdict (*evaluate)(const void *context,
								      const struct sonde_blocked_seen *seen),
			       const void *context);

#endif
