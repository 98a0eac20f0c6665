/* zones.c: zones as complete events, with their arguments. */
#include "export/chrome/event.h"

#include <inttypes.h>

static void put_text(struct sonde_chrome *chrome, const char *key, const char *text)
{
	if (!*text)
		return;
	sonde_chrome_own_key(chrome, key);
	sonde_json_text(&chrome->json, text);
}

static void put_args(struct sonde_chrome *chrome, const struct sonde_mark_zone *zone)
{
	struct sonde_json *json = &chrome->json;
	const struct sonde_site *site = sonde_session_site(chrome->session, zone->site);
	sonde_chrome_args(chrome);
	sonde_chrome_own_key(chrome, "self_ns");
	sonde_json_uint(json, zone->self_ns);
	put_text(chrome, "function", site ? site->function : "");
	put_text(chrome, "file", site ? site->file : "");
	if (site && site->line) {
		sonde_chrome_own_key(chrome, "line");
		sonde_json_uint(json, site->line);
	}
	put_text(chrome, "site", *zone->name ? sonde_annotations_site(chrome->session, zone->site) : "");
	if (zone->is_unfinished) {
		sonde_chrome_own_key(chrome, "unfinished");
		sonde_json_bool(json, 1);
	}
	sonde_chrome_put_args(chrome);
	sonde_chrome_end(chrome);
}

static void put_apart(struct sonde_chrome *chrome, const struct sonde_mark_zone *zone, struct sonde_chrome_event *event)
{
	char id[40];
	snprintf(id, sizeof id, "zone:%" PRIu64, ++chrome->apart);
	event->phase = "b";
	sonde_chrome_begin(chrome, event);
	sonde_json_put_text(&chrome->json, "id", id);
	put_args(chrome, zone);
	event->phase = "e";
	event->time_ns = zone->end_ns;
	sonde_chrome_begin(chrome, event);
	sonde_json_put_text(&chrome->json, "id", id);
	sonde_chrome_args(chrome);
	sonde_chrome_end(chrome);
}

/* Zones that are not selected are also checked for nesting, because they still enclose others. */
static int put_zone(struct sonde_chrome *chrome, const struct sonde_mark_zone *zone)
{
	struct sonde_nest *nest = &chrome->nests[zone->thread < chrome->nest_count ? zone->thread : 0];
	int nests = sonde_nest_add(nest, zone->start_ns, zone->end_ns, zone->depth);
	if (nests < 0 || !zone->is_wanted)
		return nests < 0 ? nests : 0;
	struct sonde_chrome_event event = {
	    .phase = "X",
	    .name = *zone->name ? zone->name : sonde_annotations_site(chrome->session, zone->site),
	    .category = "zone",
	    .thread = zone->thread,
	    .time_ns = zone->start_ns,
	};
	if (!nests) {
		put_apart(chrome, zone, &event);
		return 0;
	}
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", zone->end_ns - zone->start_ns);
	put_args(chrome, zone);
	return 0;
}

int sonde_chrome_zones(struct sonde_chrome *chrome, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		struct sonde_mark_zone zone;
		sonde_annotations_zone(&chrome->annotations, &chrome->options->selection, batch, i, &zone);
		rc = put_zone(chrome, &zone);
	}
	return rc;
}
