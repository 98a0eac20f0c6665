/* io_phases_find.h: what finds phases of reading on its way: segments, parts and phases, and what ran beside them. */
#ifndef SONDE_ANALYZE_WAIT_IO_PHASES_FIND_H
#define SONDE_ANALYZE_WAIT_IO_PHASES_FIND_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/wait/io_phases.h"

/* Some thread of a process reads: the union of bursts. */
struct sonde_io_segment {
	uint64_t from_ns, to_ns, reading_ns;
	uint64_t read_b, reads, most_b;
	uint32_t process, stack, object;
};

/* Segments first … last; sums of scores before it and up to its end. */
struct sonde_io_part {
	size_t first, last;
	int64_t before, after;
	size_t below; /* the nearest part under it with a smaller `before`, + 1 */
};

/* A thread that reads waited for a CPU; `sum_ns`: all of its process's up to its end. */
struct sonde_io_stall {
	uint64_t from_ns, to_ns, sum_ns;
	uint32_t process;
};

/* A thread of the process ran in a phase, in no call that loads. */
struct sonde_io_span {
	size_t phase;
	uint64_t from_ns, to_ns;
};

struct sonde_io_finding {
	struct sonde_io_bursts *bursts;
	struct sonde_io_segment *segments;
	size_t segment_count;
	struct sonde_io_stall *stalls;
	size_t stall_count, stall_cap;
	struct sonde_io_part *parts;
	size_t part_count;
	struct sonde_io_phase *phases;
	size_t (*within)[2]; /* by phase: its segments, and one past them */
	size_t phase_count;
	struct sonde_io_span *spans;
	size_t span_count, span_cap;
	int too_many;
};

/* The first phase of a process, or of a later one, that ends after this time. */
size_t sonde_io_phase_after(const struct sonde_io_finding *finding, uint32_t process, uint64_t time_ns);

/* Which part of the reading of each phase was alone: nothing else of its process ran. Of processes with one thread
 * nothing else can. Sorts the bursts anew, by thread. */
int sonde_io_alone_find(struct sonde_io_finding *finding);

#endif
