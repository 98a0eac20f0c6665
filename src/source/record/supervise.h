/* supervise.h: makes one recording: starts the command under the sources, or attaches, and sees it to its end. */
#ifndef SONDE_SOURCE_RECORD_SUPERVISE_H
#define SONDE_SOURCE_RECORD_SUPERVISE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

/* How it ended. `error` concerns the recording and never hides the command's own status. */
struct sonde_supervise_result {
	int started; /* the command ran (or the process was attached to) */
	int status;  /* of the command, as wait(2); −1 = not known (attached) */
	int error;   /* 0 or a negative errno: what went wrong with the recording; sonde_error_text() says it */
	uint64_t samples;
	uint64_t wall_ns;     /* from the command's release to its end */
	uint64_t recorded_ns; /* from the recording's start to its end: wall time in reports, which holds the sources'
				 start */
	int kept_nothing;     /* flight recorder: no trigger came */
	uint64_t lost;        /* events that happened and are not in the recording */
	char lost_first[256]; /* the first source and cause of them */
};

/* Returns 0 when a recording was made (perhaps with result->error), else a negative errno before anything ran: -ENOENT
 * and -EACCES are the command's. Signals sent to us reach the command; one that ignores SIGINT is killed by a second.
 * When attached, SIGINT ends the recording. SIGUSR2 saves what a flight recorder holds; SIGUSR1 takes a snapshot where
 * options->snapshot_signal asks for it. */
int sonde_supervise(const struct sonde_record_options *options, struct sonde_supervise_result *result);

#endif
