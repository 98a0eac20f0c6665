/* supervise.h: makes one recording: launches the command under the sources, or attaches, and supervises it to its end.
 */
#ifndef SONDE_SOURCE_SUPERVISE_H
#define SONDE_SOURCE_SUPERVISE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

/* The outcome. `error` concerns the recording and never hides the command's own status. */
struct sonde_supervise_result {
	int started; /* the command ran (or the process was attached to) */
	int status;  /* of the command, as from wait(2); −1 = unknown (attached) */
	int error;   /* 0 or a negative errno of the recording; sonde_error_text() has the message */
	uint64_t samples;
	uint64_t wall_ns;     /* from the command's release to its end */
	uint64_t recorded_ns; /* from start to end of the recording: wall time in reports, including the start of the
				 sources */
	int kept_nothing;     /* flight recorder: no trigger fired */
	uint64_t lost;        /* events that are missing from the recording */
	char lost_first[256]; /* source and cause of the first lost event */
};

/* Returns 0 if a recording was made (perhaps with result->error); a negative errno if nothing was run, where -ENOENT
 * and -EACCES refer to the command. Signals sent to us are forwarded to the command; a second SIGINT kills a command
 * that ignores SIGINT. When attached, SIGINT ends the recording. SIGUSR2 saves a flight recorder; SIGUSR1 takes a
 * snapshot if options->snapshot_signal is set. */
int sonde_supervise(const struct sonde_record_options *options, struct sonde_supervise_result *result);

#endif
