/* perf_ring.h: the kernel's perf event buffers, one per CPU, read as one stream in time order.
 *
 * All events of a CPU write into its buffer (sonde_perf_rings_add()). Records must have one of the two formats that
 * cpu/perf_event.h sets up: samples begin with TID and TIME, all others end with them. Not thread-safe.
 */
#ifndef SONDE_SOURCE_CPU_PERF_RING_H
#define SONDE_SOURCE_CPU_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_perf_rings;

/* Opens and maps a buffer for each online CPU. Each buffer's size is `want_b` bytes of data; if the kernel refuses it,
 * the size is halved until the kernel grants it or it would be less than `least_b`. A buffer's descriptor becomes
 * readable when the buffer is 1 / `wake_part` full. */
int sonde_perf_rings_open(struct sonde_perf_rings **out, size_t want_b, size_t least_b, unsigned wake_part);
void sonde_perf_rings_close(struct sonde_perf_rings *rings); /* NULL is fine */

size_t sonde_perf_rings_count(const struct sonde_perf_rings *rings);
size_t sonde_perf_rings_size_b(const struct sonde_perf_rings *rings); /* the size of each buffer */
int sonde_perf_rings_cpu(const struct sonde_perf_rings *rings, size_t index);

/* Redirects the records of event `fd` into buffer `index`; both must be of the same CPU. */
int sonde_perf_rings_add(struct sonde_perf_rings *rings, size_t index, int fd);

/* Reads how far the kernel has written into each buffer. */
void sonde_perf_rings_update(struct sonde_perf_rings *rings);

struct sonde_perf_record {
	const struct perf_event_header *header; /* contiguous; valid until the next call of next() or close() */
	uint64_t time_ns;
	int cpu;
};

/* Returns 1 and the earliest record before horizon_ns, or 0 if there is none. Releases the previous record. */
int sonde_perf_rings_next(struct sonde_perf_rings *rings, uint64_t horizon_ns, struct sonde_perf_record *out);

/* Moves all pending records into our memory, up to a limit, so that the buffers have room during a slow operation.
 * Invalidates the record returned by next(), whose bytes the caller must have copied. */
void sonde_perf_rings_spill(struct sonde_perf_rings *rings);

/* Like spill(), but only for buffers that are more than half full. */
void sonde_perf_rings_relieve(struct sonde_perf_rings *rings);

/* Calls `visit` for each pending record without taking it. A non-zero result stops the iteration and is returned. */
int sonde_perf_rings_peek(struct sonde_perf_rings *rings, int (*visit)(void *context, const struct perf_event_header *),
			  void *context);

/* Writes the descriptors that become readable when a buffer fills, and returns their number. */
size_t sonde_perf_rings_poll_fds(const struct sonde_perf_rings *rings, int *fds, size_t max);

/* How often a buffer held an invalid record and was emptied. */
uint64_t sonde_perf_rings_damaged(const struct sonde_perf_rings *rings);

#endif
