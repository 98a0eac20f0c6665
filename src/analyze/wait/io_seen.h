/* io_seen.h: how many of the bytes that processes read and wrote by system calls the hooks saw.
 *
 * The kernel counts the bytes of all calls but those of sockets' own (send, recv) by process; hooks tell of calls one
 * by one. A process that was waited for before it was read is counted by the kernel in its parent, so that a process is
 * held against its count with all that descend from it.
 */
#ifndef SONDE_ANALYZE_WAIT_IO_SEEN_H
#define SONDE_ANALYZE_WAIT_IO_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"

/* Bytes below which a difference says nothing, and those that loading a program may read by calls that no hook sees:
 * the kernel its first page, the dynamic loader each library's (832 bytes), what hooks begin with. `true` reads 6 KB,
 * ls 11.
 */
#define SONDE_IO_SEEN_LEAST_B 65536u
#define SONDE_IO_SEEN_PROGRAM_B 16384u
#define SONDE_IO_SEEN_SHARE 0.95

struct sonde_io_count {
	uint64_t read_b, written_b;
};

struct sonde_io_seen_process {
	struct sonde_io_count seen, counted;
	struct sonde_io_count sockets; /* received and sent, by whatever call that was seen: of this machine's, too */
	uint64_t calls, maps;          /* that were told: of whatever kind; of files that were mapped */
	int is_counted;
};

struct sonde_io_seen {
	struct sonde_session *session;
	struct sonde_io_seen_process *processes; /* by id */
	size_t count;
	int whole; /* the report is about the whole run and all threads: else nothing can be compared */
};

int sonde_io_seen_init(struct sonde_io_seen *seen, struct sonde_session *session,
		       const struct sonde_pass_options *options);
void sonde_io_seen_fini(struct sonde_io_seen *seen);
/* WAITS and SERIES. */
void sonde_io_seen_feed(struct sonde_io_seen *seen, const struct sonde_batch *batch);
void sonde_io_seen_merge(struct sonde_io_seen *seen, const struct sonde_io_seen *other);

/* Of all processes; 0 = nothing was counted, or not all of the run is asked for. */
int sonde_io_seen_all(const struct sonde_io_seen *seen, struct sonde_io_seen_process *out);
/* Of the bytes that were counted; −1 = none were. */
double sonde_io_seen_share(const struct sonde_io_seen_process *process);
/* Bytes that were counted and not seen: of a process, but not more than those of it and all that descend from it, less
 * what is missing of these. */
uint64_t sonde_io_seen_missing(const struct sonde_io_seen *seen, uint32_t process);
/* Whether that is enough to be said: a twentieth, and more than loading the programs of the process, and of all that
 * descend from it, may have read. */
int sonde_io_seen_is_short(const struct sonde_io_seen *seen, uint32_t process);
/* Whether a twentieth or more is missing, and is no more than that. */
int sonde_io_seen_is_loading(const struct sonde_io_seen *seen, uint32_t process);

#endif
