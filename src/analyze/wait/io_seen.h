/* io_seen.h: the share of the bytes read and written by system calls that the hooks recorded.
 *
 * The kernel counts bytes by process, for all calls except those specific to sockets (send, recv); hooks record single
 * calls. When a process is reaped before it is read, its parent's kernel counters include it, so a process is compared
 * together with all its descendants.
 */
#ifndef SONDE_ANALYZE_WAIT_IO_SEEN_H
#define SONDE_ANALYZE_WAIT_IO_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"

/* Differences below SONDE_IO_SEEN_LEAST_B are insignificant. Loading a program may read SONDE_IO_SEEN_PROGRAM_B through
 * calls that no hook sees: the kernel reads its first page, the dynamic loader reads 832 bytes of each library, and the
 * hooks read files at start-up. `true` reads 6 KB, ls 11 KB. */
#define SONDE_IO_SEEN_LEAST_B 65536u
#define SONDE_IO_SEEN_PROGRAM_B 16384u
#define SONDE_IO_SEEN_SHARE 0.95

struct sonde_io_count {
	uint64_t read_b, written_b;
};

struct sonde_io_seen_process {
	struct sonde_io_count seen, counted;
	struct sonde_io_count sockets; /* received and sent by any recorded call, including local connections */
	uint64_t calls, maps;          /* recorded calls of any kind; mappings of files */
	int is_counted;
};

struct sonde_io_seen {
	struct sonde_session *session;
	struct sonde_io_seen_process *processes; /* by id */
	size_t count;
	int whole; /* the report covers the whole run and all threads: otherwise nothing can be compared */
};

int sonde_io_seen_init(struct sonde_io_seen *seen, struct sonde_session *session,
		       const struct sonde_pass_options *options);
void sonde_io_seen_fini(struct sonde_io_seen *seen);
/* batches of WAITS and SERIES */
void sonde_io_seen_feed(struct sonde_io_seen *seen, const struct sonde_batch *batch);
void sonde_io_seen_merge(struct sonde_io_seen *seen, const struct sonde_io_seen *other);

/* Totals over all processes; 0 = nothing was counted, or only a part of the run was requested. */
int sonde_io_seen_all(const struct sonde_io_seen *seen, struct sonde_io_seen_process *out);
/* Fraction of the counted bytes that was seen; −1 = none were counted. */
double sonde_io_seen_share(const struct sonde_io_seen_process *process);
/* Bytes of a process that were counted but not seen. The result is at most what the process and its descendants
 * together are missing, minus the sum of what each descendant is missing. */
uint64_t sonde_io_seen_missing(const struct sonde_io_seen *seen, uint32_t process);
/* True if enough is missing to be reported: a twentieth, and more than loading the programs of the process and its
 * descendants may have read. */
int sonde_io_seen_is_short(const struct sonde_io_seen *seen, uint32_t process);
/* True if a twentieth or more is missing, but loading programs explains it. */
int sonde_io_seen_is_loading(const struct sonde_io_seen *seen, uint32_t process);

#endif
