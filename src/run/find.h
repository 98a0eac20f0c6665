/* find.h: finds running recorders by the sockets that they listen on (format/link.h). */
#ifndef SONDE_RUN_FIND_H
#define SONDE_RUN_FIND_H

#include <stddef.h>
#include <sys/types.h>

#define SONDE_FIND_NAME_B 64u
#define SONDE_FIND_MAX 64u

/* Names in the abstract namespace, without the leading NUL. */
struct sonde_find {
	char names[SONDE_FIND_MAX][SONDE_FIND_NAME_B];
	size_t count;
};

/* Finds the recorders of our own user: those whose descriptors we may see. */
void sonde_find_recorders(struct sonde_find *out);

/* Reads an environment variable that a process was started with: 1; 0 and "" if it is not set or not readable. */
int sonde_find_variable(char *out, size_t out_b, pid_t pid, const char *variable);

#endif
