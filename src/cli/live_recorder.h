/* live_recorder.h: a recorder in a process of its own, for `sonde live`. */
#ifndef SONDE_CLI_LIVE_RECORDER_H
#define SONDE_CLI_LIVE_RECORDER_H

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "source/record/recorder.h"
#include "source/record/supervise.h"

struct sonde_live_recorder {
	const struct sonde_record_options *options;
	pid_t pid;
	int fd;             /* it tells us how it stands */
	struct stat before; /* what had the file's name; st_ino 0: nothing */
	int has_told, has_ended;
	int rc;                               /* why nothing was recorded, as sonde_supervise() has it; 0 */
	int signal;                           /* that ended the recorder itself; 0 = none */
	struct sonde_supervise_result result; /* once it has told */
	char error[512];                      /* the sentence for rc or result.error */
};

/* Starts to record; in the child `mask` are the signals that are blocked, and `forget` closes what is not its own. 0 or
 * a negative errno with a sentence. */
int sonde_live_recorder_start(struct sonde_live_recorder *recorder, const struct sonde_record_options *options,
			      const sigset_t *mask, void (*forget)(void *context), void *context);

/* Takes what it has told; whether it has ended, after which its result, or why there is none, is known. */
int sonde_live_recorder_look(struct sonde_live_recorder *recorder);

/* Whether the file that it writes has its name. */
int sonde_live_recorder_has_file(const struct sonde_live_recorder *recorder);

#endif
