/* process.h: the blocking calls of one lifetime of a program in a process: decodes the words of hooks (format/wait.h)
 * into rows of WAITS. One thread.
 */
#ifndef SONDE_SOURCE_WAIT_PROCESS_H
#define SONDE_SOURCE_WAIT_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/target/interposed.h"
#include "source/wait/chunks.h"

struct sonde_channel;
struct sonde_wait_process;

struct sonde_wait_process_options {
	struct sonde_recorder *recorder;
	struct sonde_interposed *interposed;
	struct sonde_wait_chunks *chunks;
	const struct sonde_channel *channel;
	pid_t pid;
	uint32_t clock;   /* enum sonde_ring_clock of its words */
	uint64_t time_ns; /* a time at which `pid` belonged to that process */
};

/* -ENOMEM. */
int sonde_wait_process_new(struct sonde_wait_process **out, const struct sonde_wait_process_options *options);
/* Writes pending calls, counts unrecorded ones as lost, and frees. */
void sonde_wait_process_end(struct sonde_wait_process *process);

/* Adds words of one thread's ring: whole records. `thread` is an id of the recording. */
void sonde_wait_process_add(struct sonde_wait_process *process, uint32_t thread, const uint64_t *words, size_t count);
/* Size in words of a record that begins with these two words; 0: invalid record. */
size_t sonde_wait_process_size(uint64_t first, uint64_t second);
/* Writes the blocking calls that had been read when this function was last called. Call it each time all rings have
 * been read: by then, everything that these blocking calls refer to has been defined, also by other threads. */
void sonde_wait_process_settle(struct sonde_wait_process *process);

#endif
