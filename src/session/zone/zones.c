/* zones.c: pairs the zone begins and ends of a chunk.
 *
 * Every chunk's summary lists the zones that were open when it began, so chunks decode independently and in any order,
 * and a lost chunk costs only the zones that ended in it. fold/pair.h does the pairing; recursion is detected with a
 * counter per site, in constant time at any depth. Zones open at the end of a thread's newest chunk are kept until the
 * cursor has seen all chunks, and are then delivered as unfinished.
 */
#include "session/zone/zones.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/bodies.h"
#include "trace/columns_read.h"
#include "trace/reader.h"
#include "util/error.h"

#define DEPTH_MAX UINT16_MAX
#define ZONE_B (3 * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t) + sizeof(uint8_t))
#define ROWS_MAX_B ((size_t)SONDE_CHUNK_MAX_RAW_B * ZONE_B)
#define BLOCK 512
#define TAIL_FRAMES_MAX ((size_t)1 << 22) /* 96 MiB: real recordings have a few frames per thread */

/* The columns of a batch while it is filled. */
struct rows {
	uint64_t *start_ns, *dur_ns, *self_ns;
	uint32_t *site;
	uint16_t *depth;
	uint8_t *flags;
	size_t count;
};

int sonde_zones_init(struct sonde_zones *zones, uint32_t site_max, uint32_t thread_max)
{
	*zones = (struct sonde_zones){.site_max = site_max, .thread_max = thread_max};
	sonde_buf_init(&zones->rows, ROWS_MAX_B);
	struct sonde_pair_frame *frames = malloc(DEPTH_MAX * sizeof *frames);
	zones->open = calloc((size_t)site_max + 1, sizeof *zones->open);
	zones->tails = calloc((size_t)thread_max + 1, sizeof *zones->tails);
	sonde_pair_init(&zones->pair, frames, DEPTH_MAX);
	return frames && zones->open && zones->tails ? 0 : sonde_error(ENOMEM, "out of memory for zones");
}

void sonde_zones_fini(struct sonde_zones *zones)
{
	for (size_t i = 0; zones->tails && i <= zones->thread_max; i++)
		free(zones->tails[i].frames);
	free(zones->tails);
	free(zones->open);
	free(zones->pair.frames);
	sonde_buf_fini(&zones->rows);
}

/* Allocates columns for `count` zones, in an order that keeps every column aligned. */
static int make_rows(struct sonde_zones *zones, size_t count, struct rows *rows)
{
	sonde_buf_clear(&zones->rows);
	uint8_t *at = sonde_buf_extend(&zones->rows, count * ZONE_B + 1);
	if (!at)
		return sonde_buf_error(&zones->rows);
	*rows = (struct rows){.start_ns = (uint64_t *)(void *)at};
	rows->dur_ns = rows->start_ns + count;
	rows->self_ns = rows->dur_ns + count;
	rows->site = (uint32_t *)(rows->self_ns + count);
	rows->depth = (uint16_t *)(rows->site + count);
	rows->flags = (uint8_t *)(rows->depth + count);
	return 0;
}

static void fill_batch(struct sonde_batch *batch, const struct rows *rows)
{
	batch->count = rows->count;
	batch->zones.start_ns = rows->start_ns;
	batch->zones.dur_ns = rows->dur_ns;
	batch->zones.self_ns = rows->self_ns;
	batch->zones.site = rows->site;
	batch->zones.depth = rows->depth;
	batch->zones.flags = rows->flags;
}

static inline void begin(struct sonde_pair *pair, uint32_t *open, struct sonde_pair_frame frame)
{
	struct sonde_pair_frame *opened = sonde_pair_push(pair, frame);
	if (opened)
		opened->nested = open[frame.site]++ != 0;
}

static inline void end(struct sonde_pair *pair, uint32_t *open, uint64_t time_ns, struct rows *rows)
{
	struct sonde_pair_zone zone;
	if (!sonde_pair_end(pair, time_ns, &zone))
		return;
	open[zone.site]--;
	size_t i = rows->count++;
	rows->start_ns[i] = zone.start_ns;
	rows->dur_ns[i] = zone.dur_ns;
	rows->self_ns[i] = zone.self_ns;
	rows->site[i] = zone.site;
	rows->depth[i] = (uint16_t)zone.depth;
	rows->flags[i] = zone.nested ? SONDE_ZONE_RECURSIVE : 0;
}

/* Fast path for the common case of a zone whose end directly follows its begin: it needs no frame, unless it is the
 * last that fits. */
static inline void leaf(struct sonde_pair *pair, const uint32_t *open, uint32_t site, const uint64_t *times,
			struct rows *rows)
{
	size_t i = rows->count++;
	uint64_t dur_ns = sonde_pair_dur_ns(times[0], times[1]);
	sonde_pair_add_child(pair, dur_ns);
	rows->start_ns[i] = times[0];
	rows->dur_ns[i] = dur_ns;
	rows->self_ns[i] = dur_ns;
	rows->site[i] = site;
	rows->depth[i] = (uint16_t)pair->depth;
	rows->flags[i] = open[site] ? SONDE_ZONE_RECURSIVE : 0;
}

/* Works on copies, so that stack depth and row count stay in registers. */
static void pair_block(struct sonde_zones *zones, const uint32_t *sites, const uint64_t *times, size_t count,
		       struct rows *into)
{
	struct sonde_pair pair = zones->pair;
	struct rows rows = *into;
	uint32_t *open = zones->open, site_max = zones->site_max;
	for (size_t i = 0; i < count; i++) {
		uint32_t site = sites[i] <= site_max ? sites[i] : 0;
		if (!sites[i])
			end(&pair, open, times[i], &rows);
		else if (i + 1 < count && !sites[i + 1] && pair.depth < pair.capacity)
			leaf(&pair, open, site, &times[i++], &rows);
		else
			begin(&pair, open, (struct sonde_pair_frame){site, 0, times[i], 0});
	}
	zones->pair = pair;
	into->count = rows.count;
}

/* Empties the stack. */
static void reset(struct sonde_zones *zones)
{
	struct sonde_pair *pair = &zones->pair;
	while (pair->depth)
		zones->open[pair->frames[--pair->depth].site]--;
	pair->over = 0;
}

/* Loads the zones that were open at the start of the chunk. */
static int load_open(struct sonde_zones *zones, const struct sonde_chunk_data *data)
{
	struct sonde_zones_summary summary;
	size_t left_b = data->head->summary_b;
	if (left_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, data->summary, sizeof summary);
	left_b -= sizeof summary;
	if (summary.open > left_b / sizeof(struct sonde_zone_open))
		return -EBADMSG;
	for (size_t i = 0; i < summary.open; i++) {
		struct sonde_zone_open open;
		memcpy(&open, data->summary + sizeof summary + i * sizeof open, sizeof open);
		uint32_t site = open.site <= zones->site_max ? open.site : 0;
		begin(&zones->pair, zones->open, (struct sonde_pair_frame){site, 0, open.start_ns, open.child_ns});
	}
	return 0;
}

/* Saves the stack of the batch's thread. */
static int save_tail(struct sonde_zones *zones, uint64_t last_ns, const struct sonde_batch *batch)
{
	struct sonde_zones_tail *tail = &zones->tails[batch->thread];
	uint32_t depth = zones->pair.depth;
	zones->tail_frames -= tail->depth;
	free(tail->frames);
	*tail = (struct sonde_zones_tail){.process = batch->process, .last_ns = last_ns};
	if (!depth)
		return 0;
	if (depth > TAIL_FRAMES_MAX - zones->tail_frames)
		return sonde_error(E2BIG, "more than %zu zones were never closed", TAIL_FRAMES_MAX);
	tail->frames = malloc(depth * sizeof *tail->frames);
	if (!tail->frames)
		return sonde_error(ENOMEM, "out of memory for open zones");
	memcpy(tail->frames, zones->pair.frames, depth * sizeof *tail->frames);
	tail->depth = depth;
	zones->tail_frames += depth;
	return 0;
}

/* Decodes and pairs block by block, so that decoded events stay in the L1 cache. */
static int pair_chunk(struct sonde_zones *zones, const struct sonde_chunk_data *data, struct rows *rows)
{
	uint32_t sites[BLOCK];
	uint64_t times[BLOCK];
	uint64_t time_ns = data->head->time_min_ns;
	struct sonde_column columns[SONDE_ZONES_COLUMNS];
	struct sonde_column *site = &columns[SONDE_ZONES_COLUMN_SITE], *time = &columns[SONDE_ZONES_COLUMN_TIME];
	if (sonde_columns_split(columns, SONDE_ZONES_COLUMNS, data))
		return -EBADMSG;
	for (size_t left = data->head->count; left;) {
		size_t count = left < BLOCK ? left : BLOCK;
		if (sonde_column_ids(site, count, UINT32_MAX, sites) || sonde_column_times(time, count, time_ns, times))
			return -EBADMSG;
		pair_block(zones, sites, times, count, rows);
		time_ns = times[count - 1];
		left -= count;
	}
	return sonde_column_end(site) || sonde_column_end(time) ? -EBADMSG : 0;
}

int sonde_zones_decode(struct sonde_zones *zones, const struct sonde_chunk_data *data, struct sonde_batch *batch)
{
	struct rows rows = {0};
	size_t count = data->head->count;
	int rc = count <= data->head->raw_b / 2 ? make_rows(zones, count, &rows) : -EBADMSG;
	if (rc)
		return rc;
	rc = load_open(zones, data);
	if (!rc)
		rc = pair_chunk(zones, data, &rows);
	if (!rc)
		rc = save_tail(zones, data->head->time_max_ns, batch);
	reset(zones);
	fill_batch(batch, &rows);
	return rc;
}

void sonde_zones_superseded(struct sonde_zones *zones, uint32_t thread)
{
	struct sonde_zones_tail *tail = &zones->tails[thread <= zones->thread_max ? thread : 0];
	zones->tail_frames -= tail->depth;
	free(tail->frames);
	*tail = (struct sonde_zones_tail){0};
}

int sonde_zones_unfinished(struct sonde_zones *zones, uint32_t thread, uint64_t end_ns, struct sonde_batch *batch)
{
	const struct sonde_zones_tail *tail = &zones->tails[thread];
	struct rows rows = {0};
	if (!tail->depth)
		return 0;
	int rc = make_rows(zones, tail->depth, &rows);
	if (rc)
		return rc;
	for (size_t i = 0; i < tail->depth; i++)
		begin(&zones->pair, zones->open, tail->frames[i]);
	for (size_t i = 0; i < tail->depth; i++)
		end(&zones->pair, zones->open, end_ns ? end_ns : tail->last_ns, &rows);
	for (size_t i = 0; i < rows.count; i++)
		rows.flags[i] |= SONDE_ZONE_UNFINISHED;
	reset(zones);
	fill_batch(batch, &rows);
	batch->process = tail->process;
	batch->thread = thread;
	return 1;
}
