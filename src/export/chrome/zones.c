/* zones.c: zones as complete events, with their arguments. */
#include "export/chrome/event.h"

#include <inttypes.h>

struct zone {
	uint32_t thread, site;
	uint64_t start_ns, dur_ns, self_ns;
	int unfinished;
	int wanted;
	char name[SONDE_CHROME_TEXT_B]; /* name given at run time; "" = the site's */
};

static void take_marks(struct sonde_chrome *chrome, struct zone *zone)
{
	const struct sonde_mark *mark;
	while ((mark = sonde_marks_take(&chrome->marks, zone->thread, zone->start_ns, zone->start_ns + zone->dur_ns))) {
		if (mark->event->type == SONDE_EVENT_ZONE_NAME && !*zone->name)
			sonde_track_text(mark->event, zone->name);
		else if (zone->wanted)
			sonde_chrome_say(&chrome->said, &chrome->marks.dropped, mark->event);
	}
}

static void put_text(struct sonde_chrome *chrome, const char *key, const char *text)
{
	if (!*text)
		return;
	sonde_chrome_own_key(chrome, key);
	sonde_json_text(&chrome->json, text);
}

static void put_args(struct sonde_chrome *chrome, const struct zone *zone)
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
	put_text(chrome, "site", *zone->name ? sonde_chrome_site(chrome, zone->site) : "");
	if (zone->unfinished) {
		sonde_chrome_own_key(chrome, "unfinished");
		sonde_json_bool(json, 1);
	}
	sonde_chrome_put_said(chrome);
	sonde_chrome_end(chrome);
}

static void put_apart(struct sonde_chrome *chrome, const struct zone *zone, struct sonde_chrome_event *event)
{
	char id[40];
	snprintf(id, sizeof id, "zone:%" PRIu64, ++chrome->apart);
	event->phase = "b";
	sonde_chrome_begin(chrome, event);
	sonde_json_put_text(&chrome->json, "id", id);
	put_args(chrome, zone);
	event->phase = "e";
	event->time_ns += zone->dur_ns;
	sonde_chrome_begin(chrome, event);
	sonde_json_put_text(&chrome->json, "id", id);
	sonde_chrome_args(chrome);
	sonde_chrome_end(chrome);
}

/* Zones that are not selected are also checked for nesting, because they still enclose others. */
static int put_zone(struct sonde_chrome *chrome, struct zone *zone, uint32_t depth)
{
	zone->wanted = sonde_selection_takes(&chrome->options->selection, zone->start_ns, zone->thread);
	take_marks(chrome, zone);
	struct sonde_nest *nest = &chrome->nests[zone->thread < chrome->nest_count ? zone->thread : 0];
	int nests = sonde_nest_add(nest, zone->start_ns, zone->start_ns + zone->dur_ns, depth);
	if (nests < 0 || !zone->wanted)
		return nests < 0 ? nests : 0;
	struct sonde_chrome_event event = {
	    .phase = "X",
	    .name = *zone->name ? zone->name : sonde_chrome_site(chrome, zone->site),
	    .category = "zone",
	    .thread = zone->thread,
	    .time_ns = zone->start_ns,
	};
	if (!nests) {
		put_apart(chrome, zone, &event);
		return 0;
	}
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", zone->dur_ns);
	put_args(chrome, zone);
	return 0;
}

int sonde_chrome_zones(struct sonde_chrome *chrome, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		struct zone zone;
		zone.thread = batch->thread;
		zone.site = batch->zones.site[i];
		zone.start_ns = batch->zones.start_ns[i];
		zone.dur_ns = batch->zones.dur_ns[i];
		zone.self_ns = batch->zones.self_ns[i];
		zone.unfinished = batch->zones.flags[i] & SONDE_ZONE_UNFINISHED;
		zone.name[0] = 0;
		rc = put_zone(chrome, &zone, batch->zones.depth[i]);
	}
	return rc;
}
