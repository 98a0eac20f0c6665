/* live_recorder.h: runs a recorder in a separate process, for `sonde live`. */
#ifndef SONDE_CLI_LIVE_RECORDER_H
#define SONDE_CLI_LIVE_RECORDER_H

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "source/record/recorder.h"
#include "source/supervise.h"

struct sonde_live_recorder {
	const struct sonde_record_options *options;
	pid_t pid;
	int fd;             /* socket on which it reports its state */
	struct stat before; /* the file that had the output's name before; st_ino 0: none */
	int has_told, has_ended;
	int rc;                               /* why nothing was recorded, as from sonde_supervise(); 0 = no error */
	int signal;                           /* signal that ended the recorder itself; 0 = none */
	struct sonde_supervise_result result; /* valid once it has reported */
	char error[512];                      /* the message for rc or result.error */
};

/* Starts recording in a child. There, `mask` becomes the set of blocked signals, and `forget` closes descriptors that
 * belong to the parent. 0, or a negative errno with a message. */
int sonde_live_recorder_start(struct sonde_live_recorder *recorder, const struct sonde_record_options *options,
			      const sigset_t *mask, void (*forget)(void *context), void *context);

/* Reads the recorder's reports; returns whether the recorder has ended. Once it has, `result` is set, or `rc` and
 * `signal` say why there is no result. */
int sonde_live_recorder_look(struct sonde_live_recorder *recorder);

/* True once the file that it writes has its name. */
int sonde_live_recorder_has_file(const struct sonde_live_recorder *recorder);

#endif
