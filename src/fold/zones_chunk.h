/* zones_chunk.h: encodes ZONES chunks (format/bodies.def): columns, and the summary that goes with them.
 *
 * This is the only encoder: the recorder (source/record/streams.c), a process that records itself
 * (runtime/sink_zones.c) and imports (import/rows.c) use it; merges (merge/chunks.c) use its functions for columns. It
 * allocates nothing: callers own columns, open zones, sums and nodes, and pair the zones (pair.h), so that a summary
 * describes exactly the zones of its body.
 *
 *     sonde_zones_chunk_begin(&chunk, &pair, times_ns[0]);
 *     site_at = sonde_zones_put_sites(site_at, sites, count);
 *     time_at = sonde_zones_put_times(time_at, chunk.max_ns, times_ns, count, deltas);
 *     … pair; sonde_nodes_add_zone(), and a sum for each zone that ends; chunk.unmatched++ for an end without a begin
 *     size_b = sonde_zones_chunk_summary_b(&chunk, &sums);
 *     sonde_zones_chunk_summary(&chunk, &sums, memory of that size);
 */
#ifndef SONDE_FOLD_ZONES_CHUNK_H
#define SONDE_FOLD_ZONES_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "fold/nodes.h"
#include "fold/pair.h"
#include "format/record.h"

/* The chunk being filled. */
struct sonde_zones_chunk {
	uint32_t count; /* events so far; counted by the caller, as are the times */
	uint64_t min_ns, max_ns;
	uint64_t unmatched;            /* ends without a begin */
	struct sonde_pair_frame *open; /* the caller's, for the zones that are open at the start */
	uint32_t open_count;
	struct sonde_nodes *nodes; /* the caller's */
};

/* Sums by site, in the order in which they are written. */
struct sonde_zone_sums {
	struct sonde_zone_stat *stats;
	const uint32_t *order; /* rows to write; NULL = those that have a site */
	uint32_t rows;         /* number of rows of `order`, or of `stats` if `order` is NULL */
	uint32_t sites;        /* number of rows that are written */
};

/* Starts a chunk; `open` has room for pair->depth frames. */
void sonde_zones_chunk_begin(struct sonde_zones_chunk *chunk, const struct sonde_pair *pair, uint64_t time_ns);

/* Completes the nodes, and returns the size of the summary. It has no nodes if they would make it too big. */
size_t sonde_zones_chunk_summary_b(struct sonde_zones_chunk *chunk, const struct sonde_zone_sums *sums);
/* Writes the summary, and clears the sums that it wrote. */
void sonde_zones_chunk_summary(struct sonde_zones_chunk *chunk, const struct sonde_zone_sums *sums, void *to);

/* --- columns: `count` values at `at`, which has SONDE_VARINT_MAX_B bytes for each; returns the end ---------------- */

/* Writes the sites of events. If each fits in one byte, the usual case, this is a simple copy loop. */
static inline uint8_t *sonde_zones_put_sites(uint8_t *at, const uint32_t *sites, size_t count)
{
	uint32_t all = 0;
	for (size_t i = 0; i < count; i++)
		all |= sites[i];
	if (all < 0x80) {
		for (size_t i = 0; i < count; i++)
			at[i] = (uint8_t)sites[i];
		return at + count;
	}
	for (size_t i = 0; i < count; i++)
		at = sonde_varint_put(at, sites[i]);
	return at;
}

/* The bitwise OR of all time differences. The highest bit is set if a time is earlier than its predecessor. */
static inline uint64_t sonde_zones_deltas(uint64_t last_ns, const uint64_t *times_ns, size_t count)
{
	uint64_t all = times_ns[0] - last_ns;
	for (size_t i = 1; i < count; i++)
		all |= times_ns[i] - times_ns[i - 1];
	return all;
}

/* Writes times, which must never decrease; `all`: the result of sonde_zones_deltas(). */
static inline uint8_t *sonde_zones_put_times(uint8_t *at, uint64_t last_ns, const uint64_t *times_ns, size_t count,
					     uint64_t all)
{
	if (all < 0x80) {
		at[0] = (uint8_t)(times_ns[0] - last_ns);
		for (size_t i = 1; i < count; i++)
			at[i] = (uint8_t)(times_ns[i] - times_ns[i - 1]);
		return at + count;
	}
	for (size_t i = 0; i < count; i++) {
		at = sonde_varint_put(at, times_ns[i] - last_ns);
		last_ns = times_ns[i];
	}
	return at;
}

/* --- sums of writers whose site ids are dense ----------------------------------------------------------------------
 */

/* Adds a zone that ended to its site's row, stats[site], and to the chunk's nodes. `ended`: sites of ended zones, in
 * the order of each site's first ended zone. */
static inline void sonde_zones_chunk_add(struct sonde_zones_chunk *chunk, struct sonde_zone_stat *stats,
					 uint32_t *ended, uint32_t *ended_count, const struct sonde_pair_zone *zone)
{
	struct sonde_zone_stat *stat = &stats[zone->site];
	if (!stat->count)
		ended[(*ended_count)++] = zone->site;
	stat->site = zone->site;
	sonde_pair_add(stat, zone);
	sonde_nodes_add_zone(chunk->nodes, zone->depth, zone->site, zone->start_ns, zone->dur_ns);
}

#endif
