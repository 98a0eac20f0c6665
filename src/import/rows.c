/* rows.c: encodes samples, zones and events of an import into chunks (out.h).
 *
 * Zones are added thread by thread; begins and ends are paired as they are added, so that the summary of a chunk agrees
 * with the chunk's body.
 */
#include "import/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/bodies.h"
#include "util/array.h"
#include "util/error.h"

enum { ZONES_A_CHUNK = 65536, EVENTS_B = 1 << 20 };

static void keep(struct sonde_out *out, int error)
{
	out->error = out->error ? out->error : error;
}

int sonde_rows_init(struct sonde_out *out)
{
	sonde_encoder_init(&out->samples, SONDE_CHUNK_SAMPLES, SONDE_ENCODER_ROWS_MANY);
	sonde_buf_init(&out->events, EVENTS_B + (1 << 20));
	out->zones = calloc(1, sizeof *out->zones);
	if (!out->zones)
		return sonde_error(ENOMEM, "out of memory for zones");
	out->zones->node_bytes = malloc(SONDE_NODES_MAX_B(ZONES_A_CHUNK));
	if (!out->zones->node_bytes)
		return sonde_error(ENOMEM, "out of memory for zones");
	out->zones->nodes.data = out->zones->node_bytes;
	out->zones->chunk.nodes = &out->zones->nodes;
	out->zones->chunk.open = out->zones->open;
	sonde_columns_init(&out->zones->columns, SONDE_ZONES_COLUMNS);
	sonde_pair_init(&out->zones->pair, out->zones->frames, SONDE_OUT_DEPTH_MAX);
	return 0;
}

void sonde_rows_fini(struct sonde_out *out)
{
	sonde_encoder_fini(&out->samples);
	sonde_buf_fini(&out->events);
	if (!out->zones)
		return;
	sonde_columns_fini(&out->zones->columns);
	free(out->zones->node_bytes);
	free(out->zones->stats);
	free(out->zones->ended);
	free(out->zones);
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

static void samples_flush(struct sonde_out *out)
{
	if (!sonde_encoder_rows(&out->samples))
		return;
	keep(out, sonde_trie_flush(&out->trie));
	keep(out, sonde_encoder_flush(&out->samples, out->writer));
}

void sonde_out_sample(struct sonde_import_job *job, uint64_t time_ns, uint32_t thread, uint32_t stack,
		      uint64_t weight_ns, uint8_t status)
{
	struct sonde_out *out = &job->out;
	keep(out, out->trie.error);
	struct sonde_samples_row row = {
	    .time_ns = time_ns, .thread = thread, .stack = stack, .weight_ns = weight_ns, .status = status};
	int is_full = sonde_encoder_samples(&out->samples, &row);
	time_ns = sonde_encoder_until_ns(&out->samples);
	out->last_ns = time_ns > out->last_ns ? time_ns : out->last_ns;
	job->result->samples += (uint64_t)sonde_sample_counts(status);
	if (is_full)
		samples_flush(out);
}

/* --- zones -------------------------------------------------------------------------------------------------------- */

static void zones_flush(struct sonde_out *out)
{
	struct sonde_out_zones *zones = out->zones;
	struct sonde_zone_sums sums = {zones->stats, zones->ended, zones->ended_count, zones->ended_count};
	struct sonde_buf summary;
	if (!zones->chunk.count)
		return;
	sonde_buf_init(&summary, SONDE_CHUNK_MAX_SUMMARY_B);
	void *to = sonde_buf_extend(&summary, sonde_zones_chunk_summary_b(&zones->chunk, &sums));
	if (to)
		sonde_zones_chunk_summary(&zones->chunk, &sums, to);
	keep(out, sonde_buf_error(&summary));
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_ZONES,
				    .process = zones->process,
				    .thread = zones->thread,
				    .count = zones->chunk.count,
				    .time_min_ns = zones->chunk.min_ns,
				    .time_max_ns = zones->chunk.max_ns,
				    .summary = summary.data,
				    .summary_b = (uint32_t)summary.len_b};
	keep(out, sonde_columns_write(&zones->columns, out->writer, &chunk));
	zones->chunk.count = 0;
	sonde_buf_fini(&summary);
}

/* Reserves a row of sums for each site, since a chunk's summary has a row for each site in the chunk. */
static int stats_reserve(struct sonde_out *out)
{
	struct sonde_out_zones *zones = out->zones;
	return SONDE_ARRAY_RESERVE_ZEROS(zones->stats, zones->stats_cap, (size_t)out->sites + 1) ||
		       SONDE_ARRAY_RESERVE(zones->ended, zones->ended_cap, zones->stats_cap)
		   ? sonde_error(ENOMEM, "out of memory for %u sites", out->sites)
		   : 0;
}

static void zones_start(struct sonde_out *out, uint32_t process, uint32_t thread, uint64_t time_ns)
{
	struct sonde_out_zones *zones = out->zones;
	if (zones->thread != thread)
		sonde_pair_init(&zones->pair, zones->frames, SONDE_OUT_DEPTH_MAX);
	zones->thread = thread;
	zones->process = process;
	zones->ended_count = 0;
	sonde_zones_chunk_begin(&zones->chunk, &zones->pair, time_ns);
}

/* Adds an event to the columns. */
static void zone_put(struct sonde_out *out, uint32_t site, uint64_t time_ns)
{
	struct sonde_out_zones *zones = out->zones;
	struct sonde_zones_chunk *chunk = &zones->chunk;
	uint8_t *site_at = sonde_columns_capacity(&zones->columns, SONDE_ZONES_COLUMN_SITE, 1);
	uint8_t *time_at = sonde_columns_capacity(&zones->columns, SONDE_ZONES_COLUMN_TIME, 1);
	if (!site_at || !time_at) {
		keep(out, -ENOMEM);
		return;
	}
	sonde_columns_used(&zones->columns, SONDE_ZONES_COLUMN_SITE, sonde_zones_put_sites(site_at, &site, 1));
	sonde_columns_used(&zones->columns, SONDE_ZONES_COLUMN_TIME,
			   sonde_zones_put_times(time_at, chunk->max_ns, &time_ns, 1, time_ns - chunk->max_ns));
	chunk->max_ns = time_ns;
	chunk->count++;
}

#define SITES_A_CHUNK                                                                                   \
	((SONDE_CHUNK_MAX_SUMMARY_B - sizeof(struct sonde_zones_summary) -                              \
	  SONDE_OUT_DEPTH_MAX * sizeof(struct sonde_zone_open) - sizeof(struct sonde_zone_nodes_head) - \
	  SONDE_NODES_MAX_B(ZONES_A_CHUNK)) /                                                           \
	 sizeof(struct sonde_zone_stat))

int sonde_out_zone(struct sonde_import_job *job, uint32_t process, uint32_t thread, uint32_t site, uint64_t time_ns)
{
	struct sonde_out *out = &job->out;
	struct sonde_out_zones *zones = out->zones;
	struct sonde_pair_zone zone;
	if (zones->chunk.count &&
	    (zones->thread != thread || zones->chunk.count == ZONES_A_CHUNK || zones->ended_count + 1 >= SITES_A_CHUNK))
		zones_flush(out);
	if (site && zones->thread == thread && zones->pair.depth == SONDE_OUT_DEPTH_MAX)
		return 0;
	if (!zones->chunk.count)
		zones_start(out, process, thread, time_ns);
	if (stats_reserve(out)) {
		keep(out, -ENOMEM);
		return 0;
	}
	time_ns = time_ns < zones->chunk.max_ns ? zones->chunk.max_ns : time_ns;
	zone_put(out, site, time_ns);
	out->last_ns = time_ns > out->last_ns ? time_ns : out->last_ns;
	if (site) {
		sonde_pair_begin(&zones->pair, site, time_ns);
		job->result->zones++;
	} else if (sonde_pair_end(&zones->pair, time_ns, &zone)) {
		sonde_zones_chunk_add(&zones->chunk, zones->stats, zones->ended, &zones->ended_count, &zone);
	} else {
		zones->chunk.unmatched++;
	}
	return 1;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void events_flush(struct sonde_out *out)
{
	if (!out->event_count)
		return;
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS,
				    .process = out->event_process,
				    .thread = out->event_thread,
				    .count = out->event_count,
				    .time_min_ns = out->event_min_ns,
				    .time_max_ns = out->event_max_ns,
				    .body = out->events.data,
				    .body_b = (uint32_t)out->events.len_b};
	keep(out, sonde_buf_error(&out->events));
	keep(out, sonde_writer_chunk(out->writer, &chunk));
	sonde_buf_clear(&out->events);
	out->event_count = 0;
}

void sonde_out_event(struct sonde_import_job *job, uint32_t process, uint32_t thread, const struct sonde_event *event)
{
	struct sonde_out *out = &job->out;
	if (out->event_count && (out->event_thread != thread || out->events.len_b >= EVENTS_B))
		events_flush(out);
	if (!out->event_count) {
		out->event_thread = thread;
		out->event_process = process;
		out->event_min_ns = out->event_max_ns = event->time;
	}
	out->event_min_ns = event->time < out->event_min_ns ? event->time : out->event_min_ns;
	out->event_max_ns = event->time > out->event_max_ns ? event->time : out->event_max_ns;
	out->last_ns = event->time > out->last_ns ? event->time : out->last_ns;
	sonde_buf_append(&out->events, event, (size_t)event->words * 8);
	out->event_count++;
}

void sonde_rows_flush(struct sonde_import_job *job)
{
	struct sonde_out *out = &job->out;
	samples_flush(out);
	zones_flush(out);
	events_flush(out);
	keep(out, sonde_trie_flush(&out->trie));
}
