/* process.h: what one life of a program in one process said of its calls that wait: words in (format/wait.h), rows
 * of WAITS out. One thread.
 */
#ifndef SONDE_SOURCE_WAIT_PROCESS_H
#define SONDE_SOURCE_WAIT_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/target/hooked.h"
#include "source/wait/chunks.h"

struct sonde_channel;
struct sonde_wait_process;

struct sonde_wait_process_options {
	struct sonde_recorder *recorder;
	struct sonde_hooked *hooked;
	struct sonde_wait_chunks *chunks;
	const struct sonde_channel *channel;
	pid_t pid;
	uint32_t clock;   /* enum sonde_ring_clock, of its words */
	uint64_t time_ns; /* when it is known to have been that process */
};

/* -ENOMEM. */
int sonde_wait_process_new(struct sonde_wait_process **out, const struct sonde_wait_process_options *options);
/* Writes the rest, counts what could not be taken as lost, and frees. */
void sonde_wait_process_end(struct sonde_wait_process *process);

/* Words of one thread's ring: whole records. `thread` is the recording's. */
void sonde_wait_process_add(struct sonde_wait_process *process, uint32_t thread, const uint64_t *words, size_t count);
/* Words of a record that begins with these two; 0: there is no such record. */
size_t sonde_wait_process_size(uint64_t first, uint64_t second);
/* All rings were read once more: what calls name that came before the last time has been told by now, also by other
 * threads. They are written. */
void sonde_wait_process_settle(struct sonde_wait_process *process);

#endif
