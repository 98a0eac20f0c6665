/* sink_zones.c: writes zones of the process's threads as ZONES chunks (sink.h).
 *
 * Zones of a thread collect until another thread's zones arrive, the round ends or the columns are full, and then
 * become a chunk. They are paired on the way, exactly as a reader of the chunk will pair them: a zone without a frame
 * is left out of the columns, too, and counted, so that a chunk's summary matches its body.
 */
#include <string.h>

#include "format/bodies.h"
#include "runtime/runtime.h"
#include "runtime/sink_state.h"

_Static_assert(sizeof(struct sonde_zones_summary) + SONDE_ZONES_OPEN_MAX * sizeof(struct sonde_zone_open) +
		       SONDE_SINK_SITES * sizeof(struct sonde_zone_stat) + sizeof(struct sonde_zone_nodes_head) +
		       SONDE_NODES_MAX_B(SONDE_SINK_ZONES) <=
		   SONDE_CHUNK_MAX_SUMMARY_B,
	       "a summary holds as many zones as can be open");

void sonde_sink_flush_zones(struct sonde_sink *sink)
{
	struct sonde_sink_zones *zones = &sink->zones;
	struct sonde_zone_sums sums = {zones->stats, zones->ended, zones->ended_count, zones->ended_count};
	if (!zones->chunk.count)
		return;
	uint32_t sizes[SONDE_ZONES_COLUMNS] = {
	    [SONDE_ZONES_COLUMN_SITE] = (uint32_t)(zones->site_at - zones->sites) - (uint32_t)sizeof(sizes),
	    [SONDE_ZONES_COLUMN_TIME] = (uint32_t)(zones->time_at - zones->times),
	};
	memcpy(zones->sites, sizes, sizeof(sizes));
	memcpy(zones->site_at, zones->times, sizes[SONDE_ZONES_COLUMN_TIME]);
	struct sonde_file_chunk chunk = {
	    .type = SONDE_CHUNK_ZONES, .thread = zones->thread, .count = zones->chunk.count};
	chunk.time_min_ns = zones->chunk.min_ns;
	chunk.time_max_ns = zones->chunk.max_ns;
	chunk.summary_b = (uint32_t)sonde_zones_chunk_summary_b(&zones->chunk, &sums);
	sonde_zones_chunk_summary(&zones->chunk, &sums, sink->summary);
	chunk.summary = sink->summary;
	chunk.body = zones->sites;
	chunk.body_b = (uint32_t)sizeof(sizes) + sizes[SONDE_ZONES_COLUMN_SITE] + sizes[SONDE_ZONES_COLUMN_TIME];
	sonde_file_chunk(sink->file, &chunk);
	zones->chunk.count = 0;
}

static void zones_start(struct sonde_sink_zones *zones, const struct sonde_pair *pair, uint32_t thread,
			uint64_t time_ns)
{
	zones->thread = thread;
	zones->site_at = zones->sites + SONDE_ZONES_COLUMNS * sizeof(uint32_t);
	zones->time_at = zones->times;
	zones->ended_count = 0;
	zones->nodes.data = zones->node_bytes;
	zones->chunk.nodes = &zones->nodes;
	zones->chunk.open = zones->open;
	sonde_zones_chunk_begin(&zones->chunk, pair, time_ns);
}

/* Adds one event of a thread: the site's id in the file, 0 = an end. Returns 1 if it began a zone that was left out. */
static int zone_put(struct sonde_sink *sink, struct sonde_frames *frames, uint32_t thread, uint32_t id,
		    uint64_t time_ns)
{
	struct sonde_sink_zones *zones = &sink->zones;
	struct sonde_pair *pair = &frames->pair;
	if (id && pair->depth == pair->capacity)
		*pair = sonde_frames_more(frames, *pair);
	if (id && pair->depth == pair->capacity) {
		pair->over++;
		return 1;
	}
	if (!id && pair->over) {
		pair->over--;
		return 0;
	}
	struct sonde_zones_chunk *chunk = &zones->chunk;
	if (chunk->count && (zones->thread != thread || chunk->count == SONDE_SINK_ZONES))
		sonde_sink_flush_zones(sink);
	if (!chunk->count)
		zones_start(zones, pair, thread, time_ns);
	zones->site_at = sonde_zones_put_sites(zones->site_at, &id, 1);
	zones->time_at = sonde_zones_put_times(zones->time_at, chunk->max_ns, &time_ns, 1, time_ns - chunk->max_ns);
	chunk->max_ns = time_ns;
	chunk->count++;
	struct sonde_pair_zone zone;
	if (id)
		sonde_pair_begin(pair, id, time_ns);
	else if (sonde_pair_end(pair, time_ns, &zone))
		sonde_zones_chunk_add(chunk, zones->stats, zones->ended, &zones->ended_count, &zone);
	else
		chunk->unmatched++;
	return 0;
}

void sonde_sink_take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
			   const uint64_t *times_ns, size_t count, int gap)
{
	struct sonde_sink *sink = context;
	struct sonde_frames *frames = &sink->threads[thread->index];
	uint32_t id = sonde_sink_thread(sink, thread, times_ns[0]);
	if (thread->index >= sink->thread_rows)
		sink->thread_rows = thread->index + 1;
	if (gap) /* open zones are no longer known: they end where the gap ends */
		frames->pair.over = 0;
	while (gap && frames->pair.depth)
		zone_put(sink, frames, id, 0, times_ns[0]);
	uint64_t left_out = 0;
	for (size_t i = 0; i < count; i++)
		left_out +=
		    (uint64_t)zone_put(sink, frames, id, sites[i] ? sonde_sink_site(sink, sites[i]) : 0, times_ns[i]);
	uint64_t unanswered = sonde_live_zones(sink->live, thread, sites, times_ns, count, gap);
	left_out = left_out > unanswered ? left_out : unanswered;
	if (left_out) /* with their ends */
		sonde_process_lost(sink->ring, SONDE_RING_LOST_NESTED, 2 * left_out);
}
