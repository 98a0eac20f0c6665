/* find.h: finding recorders that run: by the sockets that they listen on (format/link.h). */
#ifndef SONDE_RUN_FIND_H
#define SONDE_RUN_FIND_H

#include <stddef.h>
#include <sys/types.h>

#define SONDE_FIND_NAME_B 64u
#define SONDE_FIND_MAX 64u

/* Names in the abstract namespace, without the NUL before them. */
struct sonde_find {
	char names[SONDE_FIND_MAX][SONDE_FIND_NAME_B];
	size_t count;
};

/* Recorders of our own user: what we may see the descriptors of. */
void sonde_find_recorders(struct sonde_find *out);

/* What a process has in its environment under `variable`, as it began: 1; 0, and "", when it is not there or may not be
 * read. */
int sonde_find_variable(char *out, size_t out_b, pid_t pid, const char *variable);

#endif
