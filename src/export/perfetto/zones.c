/* zones.c: zones as slices of their threads' tracks.
 *
 * Zones come when they end, inner zones before outer ones. Readers sort packets by time and keep the file order within
 * equal times. The begin of a zone may therefore be anywhere in the file, except after the begin of an inner zone with
 * the same start time. So the first zone of a level (and any zero-length zones directly after it) is held in memory
 * until the enclosing zone has come. One zone per level is held, however many zones a thread has. Zones that do not
 * nest have their own tracks.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/perfetto/perfetto.h"
#include "util/error.h"

enum { HELD_MAX_B = 64 << 20 };

struct sonde_perfetto_level {
	struct sonde_buf held; /* packets with the same time */
	uint64_t start_ns;     /* their time */
	int is_begun;          /* a zone of this level has come since the last zone of the level above */
	int is_held;
};

static void put_text(struct sonde_perfetto *perfetto, const char *key, const char *text)
{
	char own[SONDE_ARGS_OWN_B];
	if (*text)
		sonde_perfetto_arg_text(perfetto, sonde_args_own(&perfetto->annotations.args, key, own), text);
}

static void put_begin(struct sonde_perfetto *perfetto, const struct sonde_mark_zone *zone, uint64_t track,
		      struct sonde_buf *to)
{
	const char *name = *zone->name ? zone->name : sonde_annotations_site(perfetto->session, zone->site);
	char own[SONDE_ARGS_OWN_B];
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_BEGIN,
								      .track = track,
								      .time_ns = zone->start_ns,
								      .category = "zone",
								      .name = name});
	sonde_perfetto_arg_uint(perfetto, sonde_args_own(&perfetto->annotations.args, "self_ns", own), zone->self_ns);
	sonde_perfetto_place(perfetto, zone->site);
	put_text(perfetto, "site", *zone->name ? sonde_annotations_site(perfetto->session, zone->site) : "");
	if (zone->is_unfinished)
		sonde_perfetto_arg_bool(perfetto, sonde_args_own(&perfetto->annotations.args, "unfinished", own), 1);
	sonde_perfetto_args(perfetto);
	sonde_perfetto_end(perfetto, to);
}

static void put_apart(struct sonde_perfetto *perfetto, const struct sonde_mark_zone *zone)
{
	const struct sonde_thread *thread = sonde_session_thread(perfetto->session, zone->thread);
	uint64_t track = sonde_perfetto_track_new(perfetto);
	sonde_perfetto_describe(perfetto, track, sonde_perfetto_process(perfetto, thread ? thread->process : 0),
				"zones that do not nest", NULL);
	put_begin(perfetto, zone, track, NULL);
	sonde_perfetto_close(perfetto, track, zone->end_ns, NULL);
	perfetto->apart++;
}

/* --- zones held back ---------------------------------------------------------------------------------------------- */

static int make_levels(struct sonde_perfetto_thread *thread, size_t count)
{
	if (count <= thread->level_count)
		return 0;
	count = 2 * count;
	struct sonde_perfetto_level *levels = realloc(thread->levels, count * sizeof *levels);
	if (!levels)
		return sonde_error(ENOMEM, "out of memory for zones %zu deep", count);
	for (size_t i = thread->level_count; i < count; i++) {
		levels[i] = (struct sonde_perfetto_level){0};
		sonde_buf_init(&levels[i].held, HELD_MAX_B);
	}
	thread->levels = levels;
	thread->level_count = count;
	return 0;
}

static void let_go(struct sonde_perfetto *perfetto, struct sonde_perfetto_level *level)
{
	if (level->is_held && !perfetto->error) {
		perfetto->error = sonde_buf_error(&level->held);
		fwrite(level->held.data, 1, level->held.len_b, perfetto->out);
	}
	sonde_buf_fini(&level->held);
	sonde_buf_init(&level->held, HELD_MAX_B);
	level->is_held = 0;
}

/* Called when a zone of level `depth` has come. Writes the zones that are held at deeper levels: no zone that encloses
 * them can still come. Zones one level deeper that began at the same time as this zone stay, because they have to
 * follow its begin. */
static void pass_below(struct sonde_perfetto *perfetto, struct sonde_perfetto_thread *thread, size_t depth,
		       uint64_t start_ns)
{
	for (; thread->deepest > depth + 1; thread->deepest--) {
		struct sonde_perfetto_level *level = &thread->levels[thread->deepest - 1];
		if (thread->deepest != depth + 2 || level->start_ns != start_ns)
			let_go(perfetto, level);
		level->is_begun = 0;
	}
}

static void put_nested(struct sonde_perfetto *perfetto, const struct sonde_mark_zone *zone, size_t depth)
{
	struct sonde_perfetto_thread *thread = &perfetto->threads[zone->thread];
	uint64_t track = sonde_perfetto_thread(perfetto, zone->thread);
	perfetto->error = perfetto->error ? perfetto->error : make_levels(thread, depth + 2);
	if (perfetto->error)
		return;
	pass_below(perfetto, thread, depth, zone->start_ns);
	thread->deepest = depth + 1 > thread->deepest ? depth + 1 : thread->deepest;
	struct sonde_perfetto_level *own = &thread->levels[depth], *below = own + 1;
	int is_first = !own->is_begun || (own->is_held && own->start_ns == zone->start_ns);
	struct sonde_buf *to = is_first ? &own->held : NULL;
	if (!own->is_begun)
		own->start_ns = zone->start_ns;
	own->is_begun = 1;
	own->is_held |= is_first;
	put_begin(perfetto, zone, track, to);
	if (below->is_held && to) {
		sonde_buf_append(to, below->held.data, below->held.len_b);
		below->is_held = 0;
	}
	let_go(perfetto, below);
	sonde_perfetto_close(perfetto, track, zone->end_ns, zone->end_ns > zone->start_ns ? NULL : to);
}

/* Zones that are not selected still enclose others: they are checked for nesting, and zones held until they come are
 * written. */
static void put_zone(struct sonde_perfetto *perfetto, const struct sonde_mark_zone *zone)
{
	if (zone->thread >= perfetto->thread_count)
		return;
	struct sonde_perfetto_thread *thread = &perfetto->threads[zone->thread];
	int nests = sonde_nest_add(&thread->nest, zone->start_ns, zone->end_ns, zone->depth);
	if (nests < 0)
		perfetto->error = nests;
	else if (zone->is_wanted && nests)
		put_nested(perfetto, zone, zone->depth);
	else
		pass_below(perfetto, thread, zone->depth, UINT64_MAX);
	if (zone->is_wanted && !nests)
		put_apart(perfetto, zone);
}

void sonde_perfetto_zones(struct sonde_perfetto *perfetto, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count && !perfetto->error; i++) {
		struct sonde_mark_zone zone;
		sonde_annotations_zone(&perfetto->annotations, &perfetto->options->selection, batch, i, &zone);
		put_zone(perfetto, &zone);
	}
}

void sonde_perfetto_zones_end(struct sonde_perfetto *perfetto)
{
	for (size_t id = 0; id < perfetto->thread_count; id++)
		for (size_t i = perfetto->threads[id].deepest; i > 0; i--)
			let_go(perfetto, &perfetto->threads[id].levels[i - 1]);
}

void sonde_perfetto_zones_fini(struct sonde_perfetto *perfetto)
{
	for (size_t id = 0; id < perfetto->thread_count; id++) {
		for (size_t i = 0; i < perfetto->threads[id].level_count; i++)
			sonde_buf_fini(&perfetto->threads[id].levels[i].held);
		free(perfetto->threads[id].levels);
		sonde_nest_fini(&perfetto->threads[id].nest);
	}
	free(perfetto->threads);
}
