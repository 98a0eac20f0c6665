/* streams.c: columns, open zones and per-site sums of each thread; each flush writes one chunk per thread.
 *
 * A chunk's summary lists at most SONDE_ZONES_OPEN_MAX open zones. Deeper zones are left out of the columns together
 * with their ends, so that the summary always matches the body. The live statistics are computed from the same events,
 * and count these zones as lost.
 */
#include "source/record/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fold/zones_chunk.h"
#include "format/bodies.h"
#include "trace/columns_write.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define ZONES_A_CHUNK 131072u
#define EVENTS_A_CHUNK_B ((size_t)1 << 20)
#define BATCH 1024u

struct sonde_stream {
	uint32_t process, thread;
	struct sonde_columns zones;
	/* The chunk that `zones` will become. The bytes of its nodes are in the same allocation, after the nodes. */
	struct sonde_zones_chunk chunk;
	struct sonde_pair pair; /* has room for all frames that are pushed */
	uint64_t left_out;      /* open zones that are not in the columns */
	struct sonde_pair_table sums;
	struct sonde_buf events;
	uint32_t event_count;
	uint64_t event_min_ns, event_max_ns;
};

void sonde_streams_init(struct sonde_streams *streams, struct sonde_writer *writer)
{
	*streams = (struct sonde_streams){.writer = writer};
}

/* Frees all but the open zones. The buffers can be allocated again later. */
static void free_buffers(struct sonde_stream *stream)
{
	sonde_columns_fini(&stream->zones);
	sonde_columns_init(&stream->zones, SONDE_ZONES_COLUMNS);
	sonde_buf_fini(&stream->events);
	sonde_buf_init(&stream->events, 2 * EVENTS_A_CHUNK_B);
	free(stream->chunk.open);
	free(stream->sums.rows);
	free(stream->chunk.nodes);
	stream->chunk = (struct sonde_zones_chunk){0};
	stream->sums = (struct sonde_pair_table){0};
}

static void free_stream(struct sonde_stream *stream)
{
	free_buffers(stream);
	free(stream->pair.frames);
	free(stream);
}

void sonde_streams_fini(struct sonde_streams *streams)
{
	for (uint32_t i = 0; i < streams->count; i++)
		free_stream(streams->rows[i]);
	free(streams->rows);
}

static int out_of_memory(void)
{
	return sonde_error(ENOMEM, "out of memory for a thread's events");
}

/* The index of the thread's row, or where to insert it. New threads come last. */
static uint32_t place_of(const struct sonde_streams *streams, uint32_t thread)
{
	return (uint32_t)SONDE_SEARCH(i, 0, streams->count, streams->rows[i]->thread < thread);
}

static struct sonde_stream *add(struct sonde_streams *streams, uint32_t at, uint32_t process, uint32_t thread)
{
	if (SONDE_ARRAY_RESERVE(streams->rows, streams->cap, streams->count + 1))
		return NULL;
	struct sonde_stream *stream = calloc(1, sizeof *stream);
	if (!stream)
		return NULL;
	stream->process = process;
	stream->thread = thread;
	sonde_columns_init(&stream->zones, SONDE_ZONES_COLUMNS);
	sonde_buf_init(&stream->events, 2 * EVENTS_A_CHUNK_B);
	memmove(streams->rows + at + 1, streams->rows + at, (streams->count++ - at) * sizeof(struct sonde_stream *));
	streams->rows[at] = stream;
	return stream;
}

static struct sonde_stream *find(struct sonde_streams *streams, uint32_t process, uint32_t thread)
{
	uint32_t at = place_of(streams, thread);
	if (at < streams->count && streams->rows[at]->thread == thread)
		return streams->rows[at];
	return add(streams, at, process, thread);
}

/* --- zones ----------------------------------------------------------------------------------------------- */

static int write_zones(struct sonde_streams *streams, struct sonde_stream *stream)
{
	struct sonde_zone_sums sums = {stream->sums.rows, NULL, stream->sums.capacity, stream->sums.used};
	if (!stream->chunk.count)
		return 0;
	struct sonde_buf summary;
	sonde_buf_init(&summary, SONDE_CHUNK_MAX_SUMMARY_B);
	void *to = sonde_buf_extend(&summary, sonde_zones_chunk_summary_b(&stream->chunk, &sums));
	if (to)
		sonde_zones_chunk_summary(&stream->chunk, &sums, to);
	int rc = sonde_buf_error(&summary);
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_ZONES,
	    .process = stream->process,
	    .thread = stream->thread,
	    .time_min_ns = stream->chunk.min_ns,
	    .time_max_ns = stream->chunk.max_ns,
	    .count = stream->chunk.count,
	    .summary = summary.data,
	    .summary_b = (uint32_t)summary.len_b,
	};
	rc = rc ? rc : sonde_columns_write(&stream->zones, streams->writer, &chunk);
	sonde_buf_fini(&summary);
	if (!to && stream->sums.used)
		memset(stream->sums.rows, 0, stream->sums.capacity * sizeof *stream->sums.rows);
	stream->sums.used = 0;
	stream->chunk.count = 0;
	return rc;
}

/* Reserves frames for `count` more zones. */
static int reserve_frames(struct sonde_pair *pair, uint32_t count)
{
	uint32_t cap = pair->capacity ? pair->capacity : 32;
	while (cap < pair->depth + count && cap < SONDE_ZONES_OPEN_MAX)
		cap *= 2;
	cap = cap < SONDE_ZONES_OPEN_MAX ? cap : SONDE_ZONES_OPEN_MAX;
	if (cap == pair->capacity)
		return 0;
	struct sonde_pair_frame *frames = realloc(pair->frames, cap * sizeof *frames);
	if (!frames)
		return out_of_memory();
	pair->frames = frames;
	pair->capacity = cap;
	return 0;
}

static int grow_sums(struct sonde_pair_table *sums)
{
	struct sonde_pair_table grown = {.capacity = sums->capacity ? sums->capacity * 2 : 32};
	grown.rows = calloc(grown.capacity, sizeof *grown.rows);
	if (!grown.rows)
		return out_of_memory();
	for (uint32_t i = 0; i < sums->capacity; i++)
		if (sums->rows[i].site)
			*sonde_pair_row(&grown, sums->rows[i].site) = sums->rows[i];
	free(sums->rows);
	*sums = grown;
	return 0;
}

static int start_chunk(struct sonde_stream *stream, uint64_t time_ns)
{
	struct sonde_zones_chunk *chunk = &stream->chunk;
	if (!chunk->nodes) {
		chunk->nodes = malloc(sizeof *chunk->nodes + SONDE_NODES_MAX_B(ZONES_A_CHUNK));
		if (!chunk->nodes)
			return out_of_memory();
		*chunk->nodes = (struct sonde_nodes){.data = (uint8_t *)(chunk->nodes + 1)};
	}
	if (stream->pair.depth) {
		struct sonde_pair_frame *open = realloc(chunk->open, stream->pair.depth * sizeof *open);
		if (!open)
			return out_of_memory();
		chunk->open = open;
	}
	sonde_zones_chunk_begin(chunk, &stream->pair, time_ns);
	return 0;
}

/* The row of a site, created if new; NULL when out of memory. Adding a row may move the others. */
static struct sonde_zone_stat *row_of(struct sonde_pair_table *sums, uint32_t site)
{
	if (sums->used >= sums->capacity / 2 && grow_sums(sums))
		return NULL;
	return sonde_pair_row(sums, site);
}

/* Adds leaf zones (a begin that is followed by its end) as long as the next events are such pairs. Returns their number
 * or a negative errno. */
static ssize_t add_leaves(struct sonde_stream *stream, struct sonde_pair *pair, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count)
{
	size_t capacity = 2 * (size_t)sonde_nodes_capacity(stream->chunk.nodes, pair->depth);
	struct sonde_pair_run run = sonde_pair_leaves(sites, times_ns, count < capacity ? count : capacity);
	struct sonde_zone_stat *row = row_of(&stream->sums, *sites);
	if (!row)
		return -ENOMEM;
	sonde_pair_add_run(row, &run, sonde_pair_is_open(pair, *sites));
	const struct sonde_nodes_row node = {times_ns[0], times_ns[2 * run.count - 1], run.sum_ns, run.max_ns,
					     *sites,      (uint32_t)run.count};
	sonde_nodes_add(stream->chunk.nodes, pair->depth, &node);
	sonde_pair_add_child(pair, run.sum_ns);
	return (ssize_t)run.count;
}

static int pair_zones(const struct sonde_streams *streams, struct sonde_stream *stream, const uint32_t *sites,
		      const uint64_t *times_ns, size_t count)
{
	struct sonde_pair pair = stream->pair; /* a copy, so that the depth stays in a register */
	struct sonde_pair_zone zone;
	struct sonde_zone_stat *row = NULL;
	for (size_t i = 0; i < count; i++) {
		if (sites[i] && i + 1 < count && !sites[i + 1] && pair.depth < pair.capacity && !streams->zone_ended) {
			ssize_t leaves = add_leaves(stream, &pair, sites + i, times_ns + i, count - i);
			if (leaves < 0)
				return (int)leaves;
			i += 2 * (size_t)leaves - 1;
			row = NULL;
			continue;
		}
		if (sites[i]) {
			sonde_pair_begin(&pair, sites[i], times_ns[i]);
			continue;
		}
		if (!sonde_pair_end(&pair, times_ns[i], &zone))
			continue;
		if (!row || row->site != zone.site)
			row = row_of(&stream->sums, zone.site);
		if (!row)
			return -ENOMEM;
		sonde_pair_add(row, &zone);
		sonde_nodes_add_zone(stream->chunk.nodes, zone.depth, zone.site, zone.start_ns, zone.dur_ns);
		if (streams->zone_ended)
			streams->zone_ended(streams->context, &zone);
	}
	stream->chunk.unmatched += pair.unmatched - stream->pair.unmatched;
	stream->pair = pair;
	return 0;
}

/* Returns the times, each raised to that of its predecessor if it is earlier. */
static const uint64_t *order(uint64_t last_ns, const uint64_t *times_ns, size_t count, uint64_t *ordered)
{
	for (size_t i = 0; i < count; i++)
		ordered[i] = last_ns = times_ns[i] > last_ns ? times_ns[i] : last_ns;
	return ordered;
}

/* Adds at most BATCH events, for which the chunk and its summary have room. */
static int put_zones(const struct sonde_streams *streams, struct sonde_stream *stream, const uint32_t *sites,
		     const uint64_t *times_ns, size_t count)
{
	uint64_t ordered[BATCH];
	struct sonde_columns *zones = &stream->zones;
	struct sonde_zones_chunk *chunk = &stream->chunk;
	int rc = reserve_frames(&stream->pair, (uint32_t)count);
	if (!rc && !chunk->count)
		rc = start_chunk(stream, times_ns[0]);
	uint8_t *site_at = sonde_columns_capacity(zones, SONDE_ZONES_COLUMN_SITE, count);
	uint8_t *time_at = sonde_columns_capacity(zones, SONDE_ZONES_COLUMN_TIME, count);
	if (rc || !site_at || !time_at)
		return rc ? rc : out_of_memory();
	uint64_t all = sonde_zones_deltas(chunk->max_ns, times_ns, count);
	if (all >> 63)
		times_ns = order(chunk->max_ns, times_ns, count, ordered);
	site_at = sonde_zones_put_sites(site_at, sites, count);
	time_at = sonde_zones_put_times(time_at, chunk->max_ns, times_ns, count, all);
	sonde_columns_used(zones, SONDE_ZONES_COLUMN_SITE, site_at);
	sonde_columns_used(zones, SONDE_ZONES_COLUMN_TIME, time_at);
	chunk->max_ns = times_ns[count - 1];
	chunk->count += (uint32_t)count;
	return pair_zones(streams, stream, sites, times_ns, count);
}

/* Like put_zones(), but drops the begins and ends of zones that are too deep. */
static int put_shallow(const struct sonde_streams *streams, struct sonde_stream *stream, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count)
{
	uint32_t kept_sites[BATCH], depth = stream->pair.depth;
	uint64_t kept_ns[BATCH];
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (sites[i] && depth == SONDE_ZONES_OPEN_MAX) {
			stream->left_out++;
			continue;
		}
		if (!sites[i] && stream->left_out) {
			stream->left_out--;
			continue;
		}
		if (sites[i])
			depth++;
		else
			depth -= depth > 0;
		kept_sites[kept] = sites[i];
		kept_ns[kept++] = times_ns[i];
	}
	return kept ? put_zones(streams, stream, kept_sites, kept_ns, kept) : 0;
}

static int add_zones(const struct sonde_streams *streams, struct sonde_stream *stream, const uint32_t *sites,
		     const uint64_t *times_ns, size_t count)
{
	if (stream->left_out || stream->pair.depth + count > SONDE_ZONES_OPEN_MAX)
		return put_shallow(streams, stream, sites, times_ns, count);
	return put_zones(streams, stream, sites, times_ns, count);
}

int sonde_streams_zones(struct sonde_streams *streams, uint32_t process, uint32_t thread, const uint32_t *sites,
			const uint64_t *times_ns, size_t count)
{
	struct sonde_stream *stream = find(streams, process, thread);
	if (!stream)
		return out_of_memory();
	int rc = 0;
	for (size_t done = 0, part; done < count && !rc; done += part) {
		part = count - done < BATCH ? count - done : BATCH;
		if (part > ZONES_A_CHUNK - stream->chunk.count)
			part = ZONES_A_CHUNK - stream->chunk.count;
		rc = add_zones(streams, stream, sites + done, times_ns + done, part);
		if (!rc && stream->chunk.count >= ZONES_A_CHUNK)
			rc = write_zones(streams, stream);
	}
	return rc;
}

/* --- events ---------------------------------------------------------------------------------------------- */

static int write_events(struct sonde_streams *streams, struct sonde_stream *stream)
{
	if (!stream->event_count)
		return 0;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_EVENTS,
	    .process = stream->process,
	    .thread = stream->thread,
	    .time_min_ns = stream->event_min_ns,
	    .time_max_ns = stream->event_max_ns,
	    .count = stream->event_count,
	    .body = stream->events.data,
	    .body_b = (uint32_t)stream->events.len_b,
	};
	int rc = sonde_writer_chunk(streams->writer, &chunk);
	sonde_buf_clear(&stream->events);
	stream->event_count = 0;
	return rc;
}

int sonde_streams_event(struct sonde_streams *streams, uint32_t process, uint32_t thread,
			const struct sonde_event *event)
{
	struct sonde_stream *stream = find(streams, process, thread);
	if (!stream)
		return out_of_memory();
	if (!stream->event_count) {
		stream->event_min_ns = event->time;
		stream->event_max_ns = event->time;
	}
	if (event->time > stream->event_max_ns)
		stream->event_max_ns = event->time;
	if (event->time < stream->event_min_ns)
		stream->event_min_ns = event->time;
	stream->event_count++;
	int rc = sonde_buf_append(&stream->events, event, (size_t)event->words * 8);
	if (!rc && stream->events.len_b >= EVENTS_A_CHUNK_B)
		rc = write_events(streams, stream);
	return rc;
}

static int write_stream(struct sonde_streams *streams, struct sonde_stream *stream)
{
	int zones_rc = write_zones(streams, stream);
	int events_rc = write_events(streams, stream);
	return zones_rc ? zones_rc : events_rc;
}

/* Handles the end of a thread. If the thread has executed another program, it has open zones that nothing will end;
 * then only its small row is kept. */
int sonde_streams_end(struct sonde_streams *streams, uint32_t thread)
{
	uint32_t at = place_of(streams, thread);
	if (at == streams->count || streams->rows[at]->thread != thread)
		return 0;
	struct sonde_stream *stream = streams->rows[at];
	int rc = write_stream(streams, stream);
	if (stream->pair.depth) {
		free_buffers(stream);
		return rc;
	}
	free_stream(stream);
	memmove(streams->rows + at, streams->rows + at + 1, (--streams->count - at) * sizeof(struct sonde_stream *));
	return rc;
}

int sonde_streams_flush(struct sonde_streams *streams)
{
	int rc = 0;
	for (uint32_t i = 0; i < streams->count; i++) {
		int stream_rc = write_stream(streams, streams->rows[i]);
		rc = rc ? rc : stream_rc;
	}
	return rc;
}
