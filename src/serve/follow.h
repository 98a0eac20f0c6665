/* follow.h: follows a recording that is still being written.
 *
 * Only the worker's thread uses the session and calls functions that change it; _Atomic fields may be read by any
 * thread.
 */
#ifndef SONDE_SERVE_FOLLOW_H
#define SONDE_SERVE_FOLLOW_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_follow {
	struct sonde_session **session; /* the owner's pointer to the session */
	int is_live;                    /* the recording may grow; if 0, nothing here ever changes */
	_Atomic uint64_t revision;      /* increases whenever the recording has grown */
	_Atomic uint64_t file_b;        /* file size at the last read */
	char ended[512];                /* message about how the recording ended; "" = it has not ended */
};

/* Reads new data. Returns 1 if there was some, 0 if not, or a negative errno with a message; after an error the session
 * is unchanged. */
int sonde_follow_refresh(struct sonde_follow *follow);

/* Call it when the recording is complete: reopens the recording as any later reader would. `sentence` says how the
 * recording ended. If it cannot be opened, the current session stays. */
void sonde_follow_end(struct sonde_follow *follow, const char *sentence);

/* Number of events of all kinds of program activity so far. */
uint64_t sonde_follow_events(const struct sonde_follow *follow);

/* Formats the state for open pages: {"revision","duration_ns","events","ended"}, on one line. */
void sonde_follow_say(const struct sonde_follow *follow, char *out, size_t out_b);

#endif
