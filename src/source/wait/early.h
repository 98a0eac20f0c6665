/* early.h: the recorder's side of early reports, which processes make before they connect (format/early.h). One thread.
 *
 * Everything in the slots is untrusted.
 */
#ifndef SONDE_SOURCE_WAIT_EARLY_H
#define SONDE_SOURCE_WAIT_EARLY_H

#include <sys/types.h>

#include "source/target/interposed.h"
#include "source/wait/chunks.h"

struct sonde_channel;
struct sonde_wait_early;

struct sonde_wait_early_options {
	struct sonde_recorder *recorder;
	struct sonde_interposed *interposed;
	struct sonde_wait_chunks *chunks;
	const struct sonde_channel *channel;
	void *context;
	void (*begun)(void *context, uint32_t process); /* a process of the recording has a slot; may be NULL */
};

/* Creates the shared memory. NULL if there is none; then processes connect immediately. */
struct sonde_wait_early *sonde_wait_early_new(const struct sonde_wait_early_options *options);
void sonde_wait_early_free(struct sonde_wait_early *early); /* NULL is allowed */

/* Writes the location of the memory, for the environment of processes: "PID FD". */
void sonde_wait_early_place(const struct sonde_wait_early *early, char *out, size_t out_b);
/* The number of processes that have had a slot so far. */
uint64_t sonde_wait_early_count(const struct sonde_wait_early *early);
/* True if a process has a slot. */
int sonde_wait_early_has(const struct sonde_wait_early *early, pid_t pid);

/* Reads new reports. `final`: there will be no more. */
void sonde_wait_early_drain(struct sonde_wait_early *early, int final);
/* Reads all early reports of a process that has connected, and reclaims its slots. */
void sonde_wait_early_connected(struct sonde_wait_early *early, pid_t pid);

#endif
