/* read_tracks.c: turns the stream of tracks (tracks/tracks.h) into lanes: slices and instants, counters as curves,
 * flows as arrows. */
#include "tracks/tracks.h"

#include <errno.h>

#include "session/intervals.h"
#include "session/weigh.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

enum { WHATS_MAX = 8 }; /* numbered texts of a kind: their names are looked up once */

/* Other kinds become lanes of their process or thread by their form. */
static const struct kind {
	enum sonde_tile_kind lane;
	uint8_t is_known; /* has a lane kind of its own */
	uint8_t is_untitled;
} kinds[SONDE_TRACK_KINDS] = {[SONDE_TRACK_STATES] = {SONDE_TILE_STATES, 1, 1},
			      [SONDE_TRACK_HEAP] = {SONDE_TILE_HEAP, 1, 0},
			      [SONDE_TRACK_PATH] = {SONDE_TILE_PATH, 1, 0}};

struct reading {
	struct sonde_tiles *tiles;
	struct sonde_tile_lane_data *lane; /* lane of the last event */
	struct sonde_track track;          /* its track */
	uint32_t names[WHATS_MAX];         /* by what_id, for the current kind: index of its name + 1 */
};

/* Titles of tracks live until the next event, those of lanes as long as the tiles. */
static struct sonde_tile_lane_data *lane_of(struct sonde_tiles *tiles, const struct sonde_tile_of *wanted)
{
	struct sonde_tile_of of = *wanted;
	of.title = sonde_arena_printf(&tiles->arena, "%s", of.title);
	if (!of.title)
		sonde_error(ENOMEM, "out of memory for %zu lanes", tiles->lane_count + 1);
	return of.title ? sonde_tiles_lane_of(tiles, &of) : NULL;
}

static struct sonde_tile_of of_track(const struct sonde_track_event *event)
{
	static const struct {
		enum sonde_tile_kind lane;
		enum sonde_tile_form form;
	} forms[] = {[SONDE_TRACK_SLICE] = {SONDE_TILE_SPANS, SONDE_TILE_SLICES},
		     [SONDE_TRACK_FLOW] = {SONDE_TILE_SPANS, SONDE_TILE_SLICES},
		     [SONDE_TRACK_INSTANT] = {SONDE_TILE_INSTANTS, SONDE_TILE_MOMENTS},
		     [SONDE_TRACK_COUNTER] = {SONDE_TILE_SERIES, SONDE_TILE_CURVE}};
	const struct sonde_track *track = &event->track;
	const struct kind *kind = &kinds[track->kind];
	return (struct sonde_tile_of){.kind = kind->is_known ? kind->lane : forms[event->form].lane,
				      .form = forms[event->form].form,
				      .process = track->process,
				      .thread = track->thread,
				      .sub = kind->is_known ? track->sub : (uint32_t)track->kind << 28 | track->sub,
				      .title = kind->is_untitled ? "" : track->title,
				      .unit = track->unit};
}

/* The lane of an event, usually that of the previous one. */
static struct sonde_tile_lane_data *lane_of_event(struct reading *reading, const struct sonde_track_event *event)
{
	const struct sonde_track *track = &event->track;
	struct sonde_tile_of of;
	if (reading->lane && sonde_track_is(&reading->track, track))
		return reading->lane;
	of = of_track(event);
	reading->track = *track;
	return reading->lane = kinds[track->kind].is_untitled ? sonde_tiles_lane_of(reading->tiles, &of)
							      : lane_of(reading->tiles, &of);
}

static int name_of(struct reading *reading, const struct sonde_track_event *event, uint32_t *name)
{
	uint32_t *known = event->what_id && event->what_id < WHATS_MAX ? &reading->names[event->what_id] : NULL;
	if (known && *known) {
		*name = *known - 1;
		return 0;
	}
	int rc = sonde_tiles_name_of(reading->tiles, *event->name ? event->name : event->what, 0, name);
	if (known && !rc)
		*known = *name + 1;
	return rc;
}

static int put_piece(struct reading *reading, const struct sonde_track_event *event)
{
	struct sonde_tile_lane_data *lane = lane_of_event(reading, event);
	const struct sonde_tile_piece piece = {event->from_ns, event->to_ns, event->args[1].real, event->args[0].real};
	return lane ? sonde_tile_lane_piece(lane, piece, &reading->tiles->room_b) : -ENOMEM;
}

static int put_slice(struct reading *reading, const struct sonde_track_event *event)
{
	uint64_t to_ns = event->form == SONDE_TRACK_INSTANT ? event->from_ns : event->to_ns;
	uint32_t name;
	int rc = name_of(reading, event, &name);
	struct sonde_tile_lane_data *lane = rc ? NULL : lane_of_event(reading, event);
	const struct sonde_tile_slice slice = {event->from_ns, to_ns, name, event->thread};
	return lane ? sonde_tile_lane_slice(lane, slice, &reading->tiles->room_b) : -ENOMEM;
}

static int put_arrow(struct reading *reading, const struct sonde_track_event *event)
{
	const struct sonde_tile_arrow_row arrow = {event->flow.from_ns, event->from_ns, event->flow.thread,
						   event->track.thread, SONDE_TILE_WAKES};
	return sonde_tiles_arrow(reading->tiles, &arrow);
}

static int put(struct reading *reading, const struct sonde_track_event *event)
{
	int rc = event->flow.thread ? put_arrow(reading, event) : 0;
	if (rc || event->form == SONDE_TRACK_FLOW)
		return rc;
	return event->form == SONDE_TRACK_COUNTER ? put_piece(reading, event) : put_slice(reading, event);
}

/* Registers the names in the order of the states, regardless of which state occurs first. */
static int name_states(struct reading *reading)
{
	int rc = 0;
	if (!sonde_weigh_has(reading->tiles->session, SONDE_CHUNK_SWITCHES))
		return 0;
	for (unsigned i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES && !rc; i++) {
		const struct sonde_track_event event = {
		    .what = sonde_interval_name((enum sonde_interval_state)i), .name = "", .what_id = i};
		uint32_t name;
		rc = name_of(reading, &event, &name);
	}
	return rc;
}

int sonde_tile_read_tracks(struct sonde_tiles *tiles, uint32_t wanted)
{
	const struct sonde_tracks_options options = {.kinds = wanted, .is_whole = 1};
	struct reading reading = {.tiles = tiles};
	struct sonde_tracks *tracks;
	const struct sonde_track_event *event;
	int error = wanted & SONDE_TRACKS_OF(SONDE_TRACK_STATES) ? name_states(&reading) : 0;
	int rc = error ? error : sonde_tracks_open(&tracks, tiles->session, &options);
	if (rc)
		return rc;
	while (!error && (rc = sonde_tracks_next(tracks, &event)) > 0) {
		if (event->track.kind != reading.track.kind && reading.lane)
			reading = (struct reading){.tiles = tiles};
		error = put(&reading, event);
	}
	sonde_tracks_close(tracks);
	return error ? error : rc;
}
