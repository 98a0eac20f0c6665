/* read_path.c: the critical path as slices: its steps, by what they are; each with the thread that it lies on. */
#include <errno.h>

#include "analyze/critical/graph.h"
#include "analyze/critical/names.h"
#include "session/weigh.h"
#include "tiles/state.h"

static int add_steps(struct sonde_tiles *tiles, const struct sonde_critical_path *path)
{
	static const struct sonde_tile_of of = {
	    .kind = SONDE_TILE_PATH, .form = SONDE_TILE_SLICES, .title = "critical path"};
	struct sonde_tile_lane_data *lane = path->count ? sonde_tiles_lane_of(tiles, &of) : NULL;
	int error = path->count && !lane ? -ENOMEM : 0;
	for (size_t i = 0; i < path->count && !error; i++) {
		uint32_t name;
		const struct sonde_critical_step *step = &path->steps[i];
		const char *text = step->call ? sonde_critical_step_kind(step) : sonde_critical_state_name(step->kind);
		error = sonde_tiles_name_of(tiles, text, 0, &name);
		if (error)
			return error;
		const struct sonde_tile_slice slice = {path->steps[i].from_ns, sonde_critical_step_end(path, i), name,
						       path->steps[i].thread};
		error = sonde_tile_lane_slice(lane, slice, &tiles->room_b);
	}
	return error;
}

/* Without switches and calls there is no path to speak of (analyze/critical/path.c says so). */
int sonde_tile_read_path(struct sonde_tiles *tiles)
{
	const struct sonde_critical_graph *graph;
	if (!sonde_weigh_has(tiles->session, SONDE_CHUNK_SWITCHES) &&
	    !sonde_weigh_has(tiles->session, SONDE_CHUNK_WAITS))
		return 0;
	int rc = sonde_critical_graph_acquire(&graph, tiles->session, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	if (graph->critical.final && graph->critical.to_ns > graph->critical.from_ns)
		rc = add_steps(tiles, &graph->path);
	sonde_critical_graph_release(graph);
	return rc;
}
