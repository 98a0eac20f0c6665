/* unsampled.h: finds processes and threads below a command that use CPU time without being sampled from inside.
 *
 * The preloaded object cannot sample a static program, one of another machine type, one that was started with a cleared
 * environment, one in a seccomp sandbox, or a thread created directly with clone(). Such processes and threads are
 * searched for in /proc ten times a second, and each is counted once. Not thread-safe.
 */
#ifndef SONDE_SOURCE_TARGET_UNSAMPLED_H
#define SONDE_SOURCE_TARGET_UNSAMPLED_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/detail.h"

struct sonde_unsampled;

/* `known` returns true if samples of the thread have arrived; for tid 0, if samples of any thread of the process
 * have. */
int sonde_unsampled_new(struct sonde_unsampled **out, int (*known)(void *context, pid_t pid, pid_t tid), void *context);
void sonde_unsampled_free(struct sonde_unsampled *unsampled);

/* The number of seccomp filters on a process. */
unsigned sonde_unsampled_filters(pid_t pid);

/* Notes a process's report that it continues unsampled, because it is about to enter a sandbox. */
void sonde_unsampled_sandboxed(struct sonde_unsampled *unsampled, pid_t pid, const char *name);

/* Checks `root` and its descendants, 4096 processes at most, ten times a second at most. */
void sonde_unsampled_poll(struct sonde_unsampled *unsampled, pid_t root, uint64_t now_ns);

/* Adds sentences about the processes and threads found, if any. */
void sonde_unsampled_say(const struct sonde_unsampled *unsampled, struct sonde_detail *out);

#endif
