/* dump.h: a session as text, all of it, one fact a line. */
#ifndef SONDE_TESTS_DUMP_H
#define SONDE_TESTS_DUMP_H

#include <stdio.h>

struct sonde_session;

void dump(FILE *out, struct sonde_session *session);

#endif
