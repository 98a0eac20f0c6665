/* live.c: statistics by name while a process runs (live.h). */
#include <string.h>

#include "fold/frames.h"
#include "fold/live.h"

#define SITES SONDE_RING_MAX_SITES
#define SQUARES_MAX (UINT64_C(1) << 25) /* ns: below it, the squares of a chunk's zones fit a 64-bit sum */

struct row {
	struct sonde_zone_stat stat;
	uint64_t sum_ns;
	double square_ns;
	double flop, bytes, items;
	uint32_t hist; /* index + 1; 0 = none yet, or no more available */
	char name[SONDE_LINK_NAME_B];
};

struct sonde_live {
	uint32_t hists_used;
	uint32_t sites; /* highest seen + 1 */
	uint32_t last;  /* the row of the zone that ended last */
	uint8_t kinds[SITES];
	uint16_t row_of[SITES]; /* the first site with the same name */
	struct row rows[SITES];
	struct sonde_frames threads[SONDE_DRAIN_ZONE_THREADS];
	uint32_t thread_rows; /* highest seen + 1 */
	uint64_t hists[SONDE_LIVE_HISTS][SONDE_HIST_BUCKETS];
};
_Static_assert(sizeof(struct sonde_live) <= SONDE_LIVE_B, "live memory");

struct sonde_live *sonde_live_init(void *memory)
{
	struct sonde_live *live = memory;
	live->row_of[SONDE_RING_SITE_OTHER] = SONDE_RING_SITE_OTHER;
	live->sites = SONDE_RING_SITE_OTHER + 1;
	strcpy(live->rows[SONDE_RING_SITE_OTHER].name, "(other)");
	return live;
}

void sonde_live_site(struct sonde_live *live, const struct sonde_drain_site *site)
{
	if (site->id >= SITES)
		return;
	live->kinds[site->id] = (uint8_t)site->kind;
	if (site->kind != SONDE_SITE_ZONE)
		return;
	char name[SONDE_LINK_NAME_B] = "";
	memcpy(name, site->name, strnlen(site->name, sizeof(name) - 1));
	if (site->id >= live->sites)
		live->sites = site->id + 1;
	live->row_of[site->id] = (uint16_t)site->id;
	memcpy(live->rows[site->id].name, name, sizeof(name));
	for (uint32_t other = 1; other < live->sites; other++)
		if (other != site->id && live->row_of[other] == other && !strcmp(live->rows[other].name, name)) {
			live->row_of[site->id] = (uint16_t)other;
			return;
		}
}

/* The histogram of a row; NULL if all are taken. */
static uint64_t *hist_of(struct sonde_live *live, struct row *row)
{
	if (!row->hist && live->hists_used < SONDE_LIVE_HISTS)
		row->hist = ++live->hists_used;
	return row->hist ? live->hists[row->hist - 1] : NULL;
}

static void zone_add(struct sonde_live *live, const struct sonde_pair_zone *zone)
{
	struct row *row = &live->rows[zone->site];
	uint64_t *hits = hist_of(live, row);
	sonde_pair_add(&row->stat, zone);
	row->sum_ns += zone->dur_ns;
	row->square_ns += (double)zone->dur_ns * (double)zone->dur_ns;
	if (hits)
		hits[sonde_hist_bucket(zone->dur_ns)]++;
}

/* Adds the leaf zones at the start of `count` events; returns how many there were. */
static uint64_t leaves_add(struct sonde_live *live, struct sonde_pair *pair, const uint32_t *sites,
			   const uint64_t *times_ns, size_t count)
{
	struct sonde_pair_run run = sonde_pair_leaves(sites, times_ns, count);
	struct row *row = &live->rows[live->row_of[*sites]];
	uint64_t *hits = hist_of(live, row), squares = 0;
	uint32_t nested = sonde_pair_is_open(pair, live->row_of[*sites]);
	sonde_pair_add_run(&row->stat, &run, nested);
	row->sum_ns += run.sum_ns;
	sonde_pair_add_child(pair, run.sum_ns);
	for (size_t i = 0; i < run.count; i++) {
		uint64_t dur_ns = sonde_pair_dur_ns(times_ns[2 * i], times_ns[2 * i + 1]);
		if (dur_ns < SQUARES_MAX)
			squares += dur_ns * dur_ns;
		else
			row->square_ns += (double)dur_ns * (double)dur_ns;
		if (hits)
			hits[sonde_hist_bucket(dur_ns)]++;
	}
	row->square_ns += (double)squares;
	live->last = live->row_of[*sites];
	return run.count;
}

uint64_t sonde_live_zones(struct sonde_live *live, const struct sonde_drain_thread *thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count, int gap)
{
	struct sonde_frames *own = &live->threads[thread->index];
	if (thread->index >= live->thread_rows)
		live->thread_rows = thread->index + 1;
	if (gap)
		sonde_frames_clear(own);
	uint64_t left_out = 0;
	struct sonde_pair pair = own->pair; /* a copy, so that the depth stays in a register */
	for (size_t i = 0; i < count; i++) {
		struct sonde_pair_zone zone;
		if (sites[i] && pair.depth == pair.capacity) {
			pair = sonde_frames_more(own, pair);
			left_out += pair.depth == pair.capacity;
		}
		if (sites[i] && i + 1 < count && !sites[i + 1] && pair.depth < pair.capacity) {
			i += 2 * leaves_add(live, &pair, sites + i, times_ns + i, count - i) - 1;
		} else if (sites[i]) {
			sonde_pair_begin(&pair, live->row_of[sites[i]], times_ns[i]);
		} else if (sonde_pair_end(&pair, times_ns[i], &zone)) {
			zone_add(live, &zone);
			live->last = zone.site;
		}
	}
	own->pair = pair;
	return left_out;
}

void sonde_live_event(struct sonde_live *live, const struct sonde_event *event)
{
	const struct sonde_event_work *work = (const void *)event;
	if (event->type != SONDE_EVENT_WORK || !event->site || event->site >= SITES)
		return;
	struct row *row = &live->rows[live->row_of[event->site]];
	row->flop += work->flop;
	row->bytes += work->bytes;
	row->items += work->items;
}

void sonde_live_thread_end(struct sonde_live *live, const struct sonde_drain_thread *thread)
{
	sonde_frames_clear(&live->threads[thread->index]);
}

void sonde_live_fini(struct sonde_live *live)
{
	for (uint32_t i = 0; i < live->thread_rows; i++)
		sonde_frames_clear(&live->threads[i]);
}

uint64_t sonde_live_depth(const struct sonde_live *live, const struct sonde_drain_thread *thread)
{
	const struct sonde_pair *pair = &live->threads[thread->index].pair;
	return pair->depth + pair->over;
}

uint32_t sonde_live_kind(const struct sonde_live *live, uint32_t site)
{
	return site < SITES ? live->kinds[site] : 0;
}

/* --- answers ------------------------------------------------------------------------------------------------------*/

static void row_copy(const struct sonde_live *live, const struct row *row, double quantile, struct sonde_link_row *out)
{
	const struct sonde_zone_stat *stat = &row->stat;
	*out = (struct sonde_link_row){stat->count, stat->total_ns, stat->self_ns, stat->min_ns, stat->max_ns, 0,
				       row->sum_ns, row->square_ns, row->flop,     row->bytes,   row->items,   ""};
	memcpy(out->name, row->name, sizeof(out->name));
	if (row->hist)
		out->quantile_ns =
		    sonde_hist_quantile(live->hists[row->hist - 1], stat->count, stat->min_ns, stat->max_ns, quantile);
}

static uint32_t answer_name(const struct sonde_live *live, const struct sonde_link_query *query,
			    struct sonde_link_answer *out)
{
	for (uint32_t site = 1; site < live->sites; site++) {
		const struct row *row = &live->rows[site];
		if (!row->stat.count || strncmp(row->name, query->name, sizeof(query->name) - 1) != 0)
			continue;
		row_copy(live, row, query->quantile, &out->row[0]);
		return 1;
	}
	return 0;
}

/* Keeps the largest `limit` rows sorted, by insertion. */
static uint32_t answer_top(const struct sonde_live *live, const struct sonde_link_query *query,
			   struct sonde_link_answer *out)
{
	const struct row *best[SONDE_LINK_ROWS];
	uint32_t limit = query->limit < SONDE_LINK_ROWS ? query->limit : SONDE_LINK_ROWS, count = 0;
	for (uint32_t site = 1; site < live->sites && limit; site++) {
		const struct row *row = &live->rows[site];
		if (!row->stat.count)
			continue;
		if (count == limit && best[count - 1]->stat.total_ns >= row->stat.total_ns)
			continue;
		uint32_t at = count < limit ? count++ : count - 1;
		for (; at > 0 && best[at - 1]->stat.total_ns < row->stat.total_ns; at--)
			best[at] = best[at - 1];
		best[at] = row;
	}
	for (uint32_t i = 0; i < count; i++)
		row_copy(live, best[i], query->quantile, &out->row[i]);
	return count;
}

static uint32_t answer_last(const struct sonde_live *live, const struct sonde_link_query *query,
			    struct sonde_link_answer *out)
{
	if (!live->last)
		return 0;
	row_copy(live, &live->rows[live->last], query->quantile, &out->row[0]);
	return 1;
}

size_t sonde_live_answer(const struct sonde_live *live, const struct sonde_link_query *query,
			 struct sonde_link_answer *out)
{
	static uint32_t (*const answers[])(const struct sonde_live *, const struct sonde_link_query *,
					   struct sonde_link_answer *) = {
	    [SONDE_LINK_BY_NAME] = answer_name,
	    [SONDE_LINK_TOP] = answer_top,
	    [SONDE_LINK_LAST] = answer_last,
	};
	out->head = (struct sonde_link_head){SONDE_LINK_ANSWER, SONDE_LINK_VERSION};
	out->rows = 0;
	out->reserved = 0;
	if (query->what >= SONDE_LINK_BY_NAME && query->what <= SONDE_LINK_LAST)
		out->rows = answers[query->what](live, query, out);
	return offsetof(struct sonde_link_answer, row) + out->rows * sizeof(out->row[0]);
}
