/* cut_off.h: processes that cannot reach the recorder: hooks stand in them, and what they see is lost.
 *
 * All ways to it (target/channel_sockets.c) end where a process is in a network namespace of its own, sees another
 * /tmp, and is in a user or pid namespace of its own. And who connects does not believe a recorder of another user, or
 * of one whom its user namespace does not know: root's, where an ordinary user has made the container. Nobody tells us,
 * so they are looked for. Not thread-safe.
 */
#ifndef SONDE_SOURCE_TARGET_CUT_OFF_H
#define SONDE_SOURCE_TARGET_CUT_OFF_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"

struct sonde_channel;

struct sonde_cut_off_options {
	struct sonde_recorder *recorder;
	const struct sonde_channel *channel;
	const char *source; /* whose records are missing */
	const char *object; /* that holds the hooks */
	int (*connected)(void *context, pid_t pid);
	void *context;
};

struct sonde_cut_off;

/* Borrows the strings. NULL = no memory. */
struct sonde_cut_off *sonde_cut_off_new(const struct sonde_cut_off_options *options);
/* NULL is fine, here and below. */
void sonde_cut_off_free(struct sonde_cut_off *cut_off);

/* Looks at the processes that are alive, when it is time again. */
void sonde_cut_off_look(struct sonde_cut_off *cut_off, uint64_t now_ns);

/* Whether a process of the recording was found to be. */
int sonde_cut_off_has(const struct sonde_cut_off *cut_off, uint32_t process);

/* Says of each, as a loss; how many there are. */
uint64_t sonde_cut_off_end(struct sonde_cut_off *cut_off);

/* Why, after "of N processes … were not recorded: ". */
#define SONDE_CUT_OFF_WHY                                                                                              \
	"in namespaces of their own (containers, sandboxes) they cannot reach the recorder, or do not know its user: " \
	"run sonde inside, with the same /tmp, or as the user who created them"

#endif
