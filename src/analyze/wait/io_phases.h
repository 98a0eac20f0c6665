/* io_phases.h: file reads grouped into phases: wait/io_bursts.c collects them, wait/io_phases.c shows them. */
#ifndef SONDE_ANALYZE_WAIT_IO_PHASES_H
#define SONDE_ANALYZE_WAIT_IO_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"
#include "analyze/window.h"

/* Consecutive reads of a thread with only short gaps. */
struct sonde_io_burst {
	uint64_t from_ns, to_ns;
	uint64_t reading_ns; /* inside calls */
	uint64_t read_b, reads;
	uint64_t most_b; /* stack and object of the call with the most bytes */
	uint32_t process, thread, stack, object;
};

struct sonde_io_bursts {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct sonde_io_burst *rows;
	size_t count, cap;
	size_t most;        /* maximum number of rows: beyond it longer gaps are bridged */
	uint64_t bridge_ns; /* gaps up to this length are ignored */
	size_t *last;       /* by thread id: index of its latest row + 1 */
	uint8_t *is_file;   /* by object id */
	size_t threads, objects;
};

int sonde_io_bursts_init(struct sonde_io_bursts *bursts, struct sonde_session *session,
			 const struct sonde_pass_options *options);
void sonde_io_bursts_fini(struct sonde_io_bursts *bursts);
int sonde_io_bursts_feed(struct sonde_io_bursts *bursts, const struct sonde_batch *batch); /* a batch of WAITS */
int sonde_io_bursts_merge(struct sonde_io_bursts *bursts, const struct sonde_io_bursts *other);
void sonde_io_bursts_sort(struct sonde_io_bursts *bursts); /* by thread, then time */

struct sonde_io_phase {
	uint64_t from_ns, to_ns;
	uint64_t reading_ns; /* time in which some thread was inside a call */
	uint64_t alone_ns;   /* the part of it in which no other thread of the process ran outside such calls */
	uint64_t read_b, reads, most_b;
	uint32_t process, stack, object;
	uint32_t zone; /* site of a zone that covers about the same time; 0 = none */
	int alone_known;
};

/* Finds the phases, sorted by process, then time; the caller frees them. Returns their number, −1 if out of memory.
 * Reads the recording again: context switches of processes with several threads, and zones. */
ptrdiff_t sonde_io_phases_make(struct sonde_io_phase **out, struct sonde_io_bursts *bursts);

#endif
