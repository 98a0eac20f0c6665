/* cover.h: which blocking call a thread was in at a given time.
 *
 * The calls of one thread are flattened: where one is nested in another (made by a signal handler), the innermost
 * counts, so no time is counted twice. Time for which a lock was held is not a call. Memory: 32 bytes for each call
 * that took long enough to block.
 */
#ifndef SONDE_SESSION_WAIT_COVER_H
#define SONDE_SESSION_WAIT_COVER_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_wait_part;

struct sonde_wait_cover {
	struct sonde_wait_part *parts; /* by thread and time */
	size_t count, cap;
	size_t *begin; /* by thread id: index of its first part; [threads + 1] = count */
	size_t *next;  /* position of the last query */
	uint32_t threads;
	int sampled;     /* some calls were found by sampling from outside, not measured */
	uint64_t groups; /* groups of all calls, including those that are too short: bits 1 << enum sonde_wait_group */
};

/* `thread`: by id, nonzero = selected; NULL = all. -ENOMEM. Free with sonde_wait_cover_fini(). */
int sonde_wait_cover_read(struct sonde_wait_cover *out, struct sonde_session *session, const uint8_t *thread);
void sonde_wait_cover_fini(struct sonde_wait_cover *cover);

/* A part of a call. */
struct sonde_wait_piece {
	uint64_t from_ns, ns;
	uint32_t object;    /* id; 0 = none, or the call failed to get it */
	uint32_t other;     /* thread that it waited for, or that held the lock at the start; 0 = unknown */
	uint8_t kind;       /* enum sonde_wait_kind */
	uint8_t is_sampled; /* found by sampling from outside: start and end are estimates */
};

/* Calls `take` for each piece of a call of the thread within [from_ns, to_ns), in time order. Times of successive
 * queries for one thread must not decrease. */
void sonde_wait_cover_look(struct sonde_wait_cover *cover, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			   void (*take)(void *context, const struct sonde_wait_piece *piece), void *context);

#endif
