/* pass_on.h: what the commands share that run a program: they end as it ended. */
#ifndef SONDE_CLI_PASS_ON_H
#define SONDE_CLI_PASS_ON_H

#include "source/recorder.h"

/* Prints why nothing was recorded, with the command's name before it; the exit code. `rc`: of sonde_supervise(). */
int sonde_pass_on_failure(const char *command, const struct sonde_record_options *record, int rc);

/* Ends as the program did, whose status is as wait(2) gives it: returns its exit code, or raises the signal. */
int sonde_pass_on(int status);

#endif
