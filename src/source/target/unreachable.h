/* unreachable.h: finds processes with hooks that cannot reach the recorder, so that their data is lost.
 *
 * A process cannot reach the recorder (target/channel_sockets.c) if it is in its own network namespace, sees another
 * /tmp, and is in its own user or pid namespace. A process also refuses a recorder that runs as another user, or as a
 * user that the process's user namespace does not map: for example, root's recorder if an ordinary user has created the
 * container. Such processes cannot report themselves, so the recorder searches for them. Not thread-safe.
 */
#ifndef SONDE_SOURCE_TARGET_UNREACHABLE_H
#define SONDE_SOURCE_TARGET_UNREACHABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

struct sonde_channel;

struct sonde_unreachable_options {
	struct sonde_recorder *recorder;
	const struct sonde_channel *channel;
	const char *source; /* source whose records are missing */
	const char *object; /* file name of the object that contains the hooks */
	int (*connected)(void *context, pid_t pid);
	void *context;
};

struct sonde_unreachable;

/* Borrows the strings. NULL = out of memory. */
struct sonde_unreachable *sonde_unreachable_new(const struct sonde_unreachable_options *options);
/* `cut_off` may be NULL in this and the following functions. */
void sonde_unreachable_free(struct sonde_unreachable *cut_off);

/* Checks the live processes, at most every 50 ms. */
void sonde_unreachable_poll(struct sonde_unreachable *cut_off, uint64_t now_ns);

/* True if a process of the recording was found to be unable to reach the recorder. */
int sonde_unreachable_has(const struct sonde_unreachable *cut_off, uint32_t process);

/* Records each such process as a loss and returns their number. */
uint64_t sonde_unreachable_end(struct sonde_unreachable *cut_off);

/* The reason, which completes the sentence "of N processes … were not recorded: ". */
#define SONDE_UNREACHABLE_WHY                                                                                          \
	"in namespaces of their own (containers, sandboxes) they cannot reach the recorder, or do not know its user: " \
	"run sonde inside, with the same /tmp, or as the user who created them"

#endif
