/* lanes_json.c: the tracks of a timeline and their names, as JSON. */
#include "export/html/lanes_json.h"

static void put_name(struct sonde_json *json, const struct sonde_tile_name *name)
{
	sonde_json_object(json);
	sonde_json_put_text(json, "name", name->text);
	sonde_json_put_known(json, "color", name->color != 0, name->color & 0xffffff);
	sonde_json_end(json);
}

static void put_lane(struct sonde_json *json, const struct sonde_tile_lane *lane)
{
	static const char *const forms[] = {
	    [SONDE_TILE_SLICES] = "slices", [SONDE_TILE_CURVE] = "curve", [SONDE_TILE_MOMENTS] = "moments"};
	sonde_json_object(json);
	sonde_json_put_uint(json, "id", lane->id);
	sonde_json_put_text(json, "kind", sonde_tile_kind_word(lane->kind));
	sonde_json_put_text(json, "form", forms[lane->form]);
	sonde_json_put_uint(json, "process", lane->process);
	sonde_json_put_uint(json, "thread", lane->thread);
	sonde_json_put_uint(json, "depth", lane->depth);
	sonde_json_put_text(json, "title", lane->title);
	sonde_json_put_text(json, "unit", lane->unit);
	sonde_json_put_uint(json, "count", lane->count);
	sonde_json_put_uint(json, "left_out", lane->left_out);
	sonde_json_put_real(json, "most", lane->most);
	sonde_json_end(json);
}

void sonde_lanes_json(struct sonde_json *json, const struct sonde_tiles *tiles)
{
	sonde_json_put_array(json, "names");
	for (size_t i = 0; i < sonde_tiles_name_count(tiles); i++)
		put_name(json, sonde_tiles_name(tiles, i));
	sonde_json_end(json);
	sonde_json_put_array(json, "lanes");
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles); i++)
		put_lane(json, sonde_tiles_lane(tiles, i));
	sonde_json_end(json);
}
