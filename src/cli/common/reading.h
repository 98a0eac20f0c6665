/* reading.h: opens the recording that a command reads. */
#ifndef SONDE_CLI_COMMON_READING_H
#define SONDE_CLI_COMMON_READING_H

#include "session/session.h"

/* Like sonde_session_open(); for a file that `sonde import` can read, the message says so. */
int sonde_reading_open(struct sonde_session **out, const char *path, const struct sonde_session_options *options);

#endif
