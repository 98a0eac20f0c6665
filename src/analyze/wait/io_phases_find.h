/* io_phases_find.h: intermediate results of finding phases: segments, parts and phases, and what ran at the same
 * time. */
#ifndef SONDE_ANALYZE_WAIT_IO_PHASES_FIND_H
#define SONDE_ANALYZE_WAIT_IO_PHASES_FIND_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/wait/io_phases.h"

/* Time in which some thread of a process reads: a union of bursts. */
struct sonde_io_segment {
	uint64_t from_ns, to_ns, reading_ns;
	uint64_t read_b, reads, most_b;
	uint32_t process, stack, object;
};

/* The run of segments `first` to `last`. `before`: sum of the scores of all segments before it; `after`: that sum
 * including the run. */
struct sonde_io_part {
	size_t first, last;
	int64_t before, after;
	size_t below; /* 1 + index of the latest earlier part with a smaller `before`; 0 = none */
};

/* A reading thread waited for a CPU; `sum_ns`: total of its process up to the end of this stall. */
struct sonde_io_stall {
	uint64_t from_ns, to_ns, sum_ns;
	uint32_t process;
};

/* A thread of the process ran during a phase, outside of calls that load data. */
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
	size_t (*within)[2]; /* by phase: its first segment and one past its last */
	size_t phase_count;
	struct sonde_io_span *spans;
	size_t span_count, span_cap;
	int too_many;
};

/* The first phase that ends after this time, of this process or a later one. */
size_t sonde_io_phase_after(const struct sonde_io_finding *finding, uint32_t process, uint64_t time_ns);

/* Computes the part of each phase's reading during which nothing else of its process ran. In single-threaded processes,
 * this is all of the reading. Re-sorts the bursts by thread. */
int sonde_io_alone_find(struct sonde_io_finding *finding);

#endif
