/* unsampled.h: which processes and threads below a command burn CPU time without being sampled from inside.
 *
 * A static program, one of another machine type, one that was started with a cleared environment, one in a sandbox of
 * seccomp, and a thread made by clone() by hand cannot be seen by what we preload. They are looked for in /proc ten
 * times a second and counted once each. Not thread-safe.
 */
#ifndef SONDE_SOURCE_TARGET_UNSAMPLED_H
#define SONDE_SOURCE_TARGET_UNSAMPLED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_unsampled;

/* `known`: whether samples of the thread (tid), or of any thread of the process (tid 0), have come. */
int sonde_unsampled_new(struct sonde_unsampled **out, int (*known)(void *context, pid_t pid, pid_t tid), void *context);
void sonde_unsampled_free(struct sonde_unsampled *unsampled);

/* How many filters of seccomp a process is under. */
unsigned sonde_unsampled_filters(pid_t pid);

/* A process said that it goes on unsampled, because it is about to be in a sandbox. */
void sonde_unsampled_sandboxed(struct sonde_unsampled *unsampled, pid_t pid, const char *name);

/* Looks at `root` and what descends from it, when it is time again. */
void sonde_unsampled_look(struct sonde_unsampled *unsampled, pid_t root, uint64_t now_ns);

/* Writes a sentence about what was found; its length, 0 = there is nothing to say. */
size_t sonde_unsampled_say(const struct sonde_unsampled *unsampled, char *out, size_t out_b);

#endif
