/* follow.h: a recording that is still being written, kept up with.
 *
 * The worker's thread alone uses the session and calls what changes it; what is _Atomic may be read by any.
 */
#ifndef SONDE_SERVE_FOLLOW_H
#define SONDE_SERVE_FOLLOW_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_follow {
	struct sonde_session **session; /* where it is kept */
	int is_live;                    /* it may grow; else nothing here ever changes */
	_Atomic uint64_t revision;      /* rises whenever it has grown */
	_Atomic uint64_t file_b;        /* when it was read last */
	char ended[512];                /* how it came to its end, a sentence; "" = it has not */
};

/* Reads what is new: 1 = there was something, 0, or a negative errno with a sentence: then it stays as it is. */
int sonde_follow_refresh(struct sonde_follow *follow);

/* The recording is complete: it is opened anew, as whoever comes later opens it, and `sentence` says how it came to its
 * end. Where it cannot be opened, what is known of it stays. */
void sonde_follow_end(struct sonde_follow *follow, const char *sentence);

/* What the program did so far, in events of all kinds. */
uint64_t sonde_follow_events(const struct sonde_follow *follow);

/* How it stands, for open pages: {"revision","duration_ns","events","ended"}, as one line. */
void sonde_follow_say(const struct sonde_follow *follow, char *out, size_t out_b);

#endif
