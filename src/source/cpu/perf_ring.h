/* perf_ring.h: the kernel's perf event buffers, one for each CPU, read as one stream in time order.
 *
 * All events of a CPU write into its buffer (sonde_perf_rings_add()). Records must be of the two shapes that
 * cpu/perf_event.h sets up: samples begin with TID and TIME, all others end with them. Not thread-safe.
 */
#ifndef SONDE_SOURCE_CPU_PERF_RING_H
#define SONDE_SOURCE_CPU_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_perf_rings;

/* Opens and maps a buffer for each CPU that is online; `want_b` of data for each at most, halved until the kernel
 * grants it, but at least `least_b`. Its descriptor becomes readable when a buffer is 1 / `wake_part` full. */
int sonde_perf_rings_open(struct sonde_perf_rings **out, size_t want_b, size_t least_b, unsigned wake_part);
void sonde_perf_rings_close(struct sonde_perf_rings *rings); /* NULL is fine */

size_t sonde_perf_rings_count(const struct sonde_perf_rings *rings);
size_t sonde_perf_rings_size_b(const struct sonde_perf_rings *rings); /* of one buffer */
int sonde_perf_rings_cpu(const struct sonde_perf_rings *rings, size_t index);

/* Directs the records of event `fd` into buffer `index`; both must be of the same CPU. */
int sonde_perf_rings_add(struct sonde_perf_rings *rings, size_t index, int fd);

/* Looks for what was written since the last call. */
void sonde_perf_rings_update(struct sonde_perf_rings *rings);

struct sonde_perf_record {
	const struct perf_event_header *header; /* contiguous; valid until the next call of next or close */
	uint64_t time_ns;
	int cpu;
};

/* The earliest record before horizon_ns: 1, or 0 when there is none. Frees the record before it. */
int sonde_perf_rings_next(struct sonde_perf_rings *rings, uint64_t horizon_ns, struct sonde_perf_record *out);

/* Moves all that is pending into memory (bounded), so that the buffers bridge something slow. Invalidates the record
 * that next() gave, whose bytes the caller must have copied. */
void sonde_perf_rings_spill(struct sonde_perf_rings *rings);

/* The same for buffers that are more than half full. */
void sonde_perf_rings_relieve(struct sonde_perf_rings *rings);

/* Calls `visit` for each pending record without taking it; non-zero stops and is returned. */
int sonde_perf_rings_peek(struct sonde_perf_rings *rings, int (*visit)(void *context, const struct perf_event_header *),
			  void *context);

/* Descriptors that become readable when a buffer fills; how many were written. */
size_t sonde_perf_rings_poll_fds(const struct sonde_perf_rings *rings, int *fds, size_t max);

/* Buffers that held something that is no record, and were emptied. */
uint64_t sonde_perf_rings_damaged(const struct sonde_perf_rings *rings);

#endif
