/* cover.h: in which call that waits a thread was at a moment.
 *
 * Calls of one thread are laid flat: where one lies within another (a signal's handler makes it) the innermost holds,
 * so that no moment counts twice. What a lock was held for others is no call. Held in memory: 32 bytes a call that took
 * long enough to block in.
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
	size_t *begin; /* by thread id: its first part; [threads + 1] = count */
	size_t *next;  /* where the last look was */
	uint32_t threads;
	int sampled;     /* some were not measured, but found by looks from outside */
	uint64_t groups; /* of the calls: 1 << enum sonde_wait_group; also of those too short */
};

/* `thread`: by id, not 0 = wanted; NULL = all. -ENOMEM. Free with sonde_wait_cover_fini(). */
int sonde_wait_cover_read(struct sonde_wait_cover *out, struct sonde_session *session, const uint8_t *thread);
void sonde_wait_cover_fini(struct sonde_wait_cover *cover);

/* A piece of a call. */
struct sonde_wait_piece {
	uint64_t from_ns, ns;
	uint32_t object;    /* id; 0 = none, or it was waited for in vain */
	uint32_t other;     /* the thread that it waited for, or that held the lock when it began; 0 = not known */
	uint8_t kind;       /* enum sonde_wait_kind */
	uint8_t is_sampled; /* found by a look from outside: its ends are guessed */
};

/* Calls `take` for each piece of [from_ns, to_ns) of a thread that lies in a call, in time order. From look to look the
 * times of one thread must not decrease. */
void sonde_wait_cover_look(struct sonde_wait_cover *cover, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			   void (*take)(void *context, const struct sonde_wait_piece *piece), void *context);

#endif
