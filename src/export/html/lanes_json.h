/* lanes_json.h: the tracks of a timeline and their names, as JSON: the answer of /api/lanes (docs/UI.md). */
#ifndef SONDE_EXPORT_HTML_LANES_JSON_H
#define SONDE_EXPORT_HTML_LANES_JSON_H

#include "tiles/tiles.h"
#include "util/json.h"

/* Writes the keys "names" and "lanes" into the currently open object. */
void sonde_lanes_json(struct sonde_json *json, const struct sonde_tiles *tiles);

#endif
