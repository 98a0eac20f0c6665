/* pair.h: pairs the begins and ends of one thread's zones, computes self time, and adds it up by site.
 *
 * All pairing is done here: targets answer queries with it (live.c), writers of recordings fill chunk summaries
 * (streams.c, sink_zones.c, import), and readers reconstruct whole zones (session/zone/zones.c).
 * tests/unit/fold/test_pairings.c gives live.c, streams.c and the session the same events.
 *
 * It allocates nothing: the caller holds the frames and the rows. A time that runs backwards counts as no time. Zones
 * deeper than the frames are counted in `over` while they are open and do not appear; their time belongs to the deepest
 * zone that has a frame.
 */
#ifndef SONDE_FOLD_PAIR_H
#define SONDE_FOLD_PAIR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/record.h"

/* An open zone, laid out like struct sonde_zone_open; `nested`: an outer zone of the same site is open. */
struct sonde_pair_frame {
	uint32_t site;
	uint32_t nested;
	uint64_t start_ns;
	uint64_t child_ns;
};
_Static_assert(sizeof(struct sonde_pair_frame) == sizeof(struct sonde_zone_open), "frames are written as zone_open");

struct sonde_pair {
	struct sonde_pair_frame *frames;
	uint32_t capacity;
	uint32_t depth;
	uint64_t over;      /* open zones beyond the last frame */
	uint64_t unmatched; /* ends without a begin */
};

/* A zone that ended. */
struct sonde_pair_zone {
	uint32_t site;
	uint32_t nested;
	uint32_t depth; /* 0 = outermost */
	uint64_t start_ns;
	uint64_t dur_ns;
	uint64_t self_ns;
};

static inline void sonde_pair_init(struct sonde_pair *pair, struct sonde_pair_frame *frames, uint32_t capacity)
{
	*pair = (struct sonde_pair){.frames = frames, .capacity = capacity};
}

/* True if a zone of the site is open. */
static inline uint32_t sonde_pair_is_open(const struct sonde_pair *pair, uint32_t site)
{
	uint32_t open = 0;
	for (uint32_t i = pair->depth; i > 0 && !open; i--)
		open = pair->frames[i - 1].site == site;
	return open;
}

/* Opens a zone; NULL: it found no frame. For callers that know by other means whether it is `nested`. */
static inline struct sonde_pair_frame *sonde_pair_push(struct sonde_pair *pair, struct sonde_pair_frame frame)
{
	if (pair->depth == pair->capacity) {
		pair->over++;
		return NULL;
	}
	pair->frames[pair->depth] = frame;
	return &pair->frames[pair->depth++];
}

static inline void sonde_pair_begin(struct sonde_pair *pair, uint32_t site, uint64_t time_ns)
{
	uint32_t nested = pair->depth < pair->capacity && sonde_pair_is_open(pair, site);
	sonde_pair_push(pair, (struct sonde_pair_frame){site, nested, time_ns, 0});
}

static inline uint64_t sonde_pair_dur_ns(uint64_t start_ns, uint64_t end_ns)
{
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* Adds the duration of a nested zone to the innermost open zone, if there is one. */
static inline void sonde_pair_add_child(struct sonde_pair *pair, uint64_t dur_ns)
{
	if (pair->depth)
		pair->frames[pair->depth - 1].child_ns += dur_ns;
}

/* Returns 1 with `out` if a zone ended; 0 if the end had no begin, or if its begin had no frame. */
static inline int sonde_pair_end(struct sonde_pair *pair, uint64_t time_ns, struct sonde_pair_zone *out)
{
	if (pair->over) {
		pair->over--;
		return 0;
	}
	if (!pair->depth) {
		pair->unmatched++;
		return 0;
	}
	const struct sonde_pair_frame *frame = &pair->frames[--pair->depth];
	uint64_t dur_ns = sonde_pair_dur_ns(frame->start_ns, time_ns);
	sonde_pair_add_child(pair, dur_ns);
	out->site = frame->site;
	out->nested = frame->nested;
	out->depth = pair->depth;
	out->start_ns = frame->start_ns;
	out->dur_ns = dur_ns;
	out->self_ns = dur_ns > frame->child_ns ? dur_ns - frame->child_ns : 0;
	return 1;
}

/* Consecutive leaf zones of one site, by far the most common case. */
struct sonde_pair_run {
	uint64_t count, sum_ns, min_ns, max_ns;
};

/* The run of leaf zones at the start of `count` events; the first event begins a zone and the second ends it. Needs one
 * free frame, which leaves do not use up. */
static inline struct sonde_pair_run sonde_pair_leaves(const uint32_t *sites, const uint64_t *times_ns, size_t count)
{
	struct sonde_pair_run run = {0, 0, UINT64_MAX, 0};
	uint64_t first, two; /* a begin and the event after it */
	memcpy(&first, sites, sizeof(first));
	for (size_t i = 0; i + 1 < count; i += 2) {
		memcpy(&two, sites + i, sizeof(two));
		if (two != first)
			break;
		uint64_t dur_ns = sonde_pair_dur_ns(times_ns[i], times_ns[i + 1]);
		run.sum_ns += dur_ns;
		run.min_ns = dur_ns < run.min_ns ? dur_ns : run.min_ns;
		run.max_ns = dur_ns > run.max_ns ? dur_ns : run.max_ns;
		run.count++;
	}
	return run;
}

/* Adds a zone to its site's row; a fresh row is zero except for `site`. */
static inline void sonde_pair_add(struct sonde_zone_stat *stat, const struct sonde_pair_zone *zone)
{
	if (!stat->count || zone->dur_ns < stat->min_ns)
		stat->min_ns = zone->dur_ns;
	if (zone->dur_ns > stat->max_ns)
		stat->max_ns = zone->dur_ns;
	stat->count++;
	stat->total_ns += zone->nested ? 0 : zone->dur_ns;
	stat->self_ns += zone->self_ns;
}

/* Adds a run of zones; `nested`: an outer zone of the same site is open. */
static inline void sonde_pair_add_run(struct sonde_zone_stat *stat, const struct sonde_pair_run *run, uint32_t nested)
{
	if (!stat->count || run->min_ns < stat->min_ns)
		stat->min_ns = run->min_ns;
	if (run->max_ns > stat->max_ns)
		stat->max_ns = run->max_ns;
	stat->count += run->count;
	stat->total_ns += nested ? 0 : run->sum_ns;
	stat->self_ns += run->sum_ns;
}

/* Adds one row to another of the same site. */
void sonde_pair_merge(struct sonde_zone_stat *into, const struct sonde_zone_stat *from);

/* Rows by site for callers with sparse site ids: open addressing in the caller's memory. */
struct sonde_pair_table {
	struct sonde_zone_stat *rows; /* zeroed; site 0 = empty */
	uint32_t capacity;            /* a power of two */
	uint32_t used;
};

/* The row of a site (≠ 0), created if new; NULL if three quarters of the rows are taken. */
struct sonde_zone_stat *sonde_pair_row(struct sonde_pair_table *table, uint32_t site);

#endif
