/* lanes_json.h: what the lanes of a timeline are, and the names in them, as JSON: what /api/lanes answers (docs/UI.md).
 */
#ifndef SONDE_EXPORT_HTML_LANES_JSON_H
#define SONDE_EXPORT_HTML_LANES_JSON_H

#include "tiles/tiles.h"
#include "util/json.h"

/* Writes the keys "names" and "lanes" into the object that is open. */
void sonde_lanes_json(struct sonde_json *json, const struct sonde_tiles *tiles);

#endif
