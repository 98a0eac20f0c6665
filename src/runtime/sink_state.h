/* sink_state.h: state of a self-recording process's sink that sink.c, sink_zones.c and sink_events.c share. */
#ifndef SONDE_RUNTIME_SINK_STATE_H
#define SONDE_RUNTIME_SINK_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "fold/drain.h"
#include "fold/frames.h"
#include "fold/live.h"
#include "fold/zones_chunk.h"
#include "runtime/file.h"
#include "runtime/pools.h"

#define SONDE_SINK_ZONES 65536u /* per chunk */
#define SONDE_SINK_SITE_B 3u    /* of a site id as a varint */
#define SONDE_SINK_SITES (SONDE_RING_MAX_SITES + 1u)
#define SONDE_SINK_EVENTS_B (1u << 20)

_Static_assert(SONDE_SINK_SITES < 1u << 7 * SONDE_SINK_SITE_B, "sites are short");

/* Zones of one thread that are not written yet. */
struct sonde_sink_zones {
	struct sonde_zones_chunk chunk;
	uint32_t thread, ended_count;
	uint8_t *site_at, *time_at;
	struct sonde_nodes nodes;
	uint8_t node_bytes[SONDE_NODES_MAX_B(SONDE_SINK_ZONES)];
	uint32_t ended[SONDE_SINK_SITES];                   /* sites that have a row, in order of their first end */
	struct sonde_zone_stat stats[SONDE_SINK_SITES];     /* by site id in the file */
	struct sonde_pair_frame open[SONDE_ZONES_OPEN_MAX]; /* of `chunk` */
	uint8_t sites[8 + SONDE_SINK_ZONES *
			      (SONDE_SINK_SITE_B + SONDE_VARINT_MAX_B)]; /* sizes and sites, and times at the end */
	uint8_t times[SONDE_SINK_ZONES * SONDE_VARINT_MAX_B];
};

struct sonde_sink_events {
	uint32_t thread, count, size_b;
	uint64_t min_ns, max_ns;
	_Alignas(8) char body[SONDE_SINK_EVENTS_B];
};

struct sonde_sink_histogram {
	uint64_t count, sum, min, max;
	uint64_t hits[SONDE_HIST_BUCKETS];
};

struct sonde_sink {
	struct sonde_file *file;
	struct sonde_ring_pool *ring;
	struct sonde_live *live;
	struct sonde_pools *pools;
	uint32_t threads_made;
	uint32_t sites_made;
	uint64_t activities;                  /* device activities, which are left out, since last reported */
	uint32_t sites[SONDE_RING_MAX_SITES]; /* site ids in the file */
	uint32_t thread_rows;                 /* highest seen + 1 */
	struct sonde_sink_histogram *histograms[SONDE_SINK_SITES]; /* by site id in the file; mapped at the first use */
	struct sonde_frames threads[SONDE_DRAIN_ZONE_THREADS];
	uint64_t starts_ns[SONDE_DRAIN_ZONE_THREADS]; /* when a thread was first seen */
	struct sonde_sink_zones zones;
	struct sonde_sink_events events;
	char summary[SONDE_CHUNK_MAX_SUMMARY_B];
};

/* Ids in the file; new ones are written first. */
uint32_t sonde_sink_site(struct sonde_sink *sink, uint32_t site);
uint32_t sonde_sink_thread(struct sonde_sink *sink, struct sonde_drain_thread *thread, uint64_t time_ns);
/* Writes the thread again with a name that the program sets. */
void sonde_sink_thread_name(struct sonde_sink *sink, const struct sonde_drain_thread *thread, const char *name,
			    size_t name_b);
void sonde_sink_lost(struct sonde_sink *sink, const char *cause, uint64_t count);

/* --- sink_zones.c -------------------------------------------------------------------------------------------------*/

void sonde_sink_take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
			   const uint64_t *times_ns, size_t count, int gap);
/* Writes pending zones. */
void sonde_sink_flush_zones(struct sonde_sink *sink);

/* --- sink_events.c ------------------------------------------------------------------------------------------------*/

void sonde_sink_take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event);
void sonde_sink_take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total);
void sonde_sink_take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			       uint64_t sum, uint64_t min, uint64_t max);
/* Writes pending events. */
void sonde_sink_flush_events(struct sonde_sink *sink);
/* Writes and frees the histograms; the zones must have been written. */
void sonde_sink_close_histograms(struct sonde_sink *sink);

#endif
