/* contents.c: which sections have something: a row a section, with what a recording must hold for it.
 *
 * Running every pass would know exactly, and take as long as a full report before the page has its menu. What decides
 * is counts of events by the heads of chunks, and of rows in the session's tables: microseconds. A section that is not
 * in the table needs nothing: a new pass is in the menu until somebody says what it needs.
 */
#include "serve/answer/contents.h"

#include <string.h>

#include "analyze/work/flop.h"
#include "format/meta.h"
#include "session/weigh.h"
#include "sonde/device.h"

enum fact {
	NEVER = 0, /* only with an option that the page does not have */
	SAMPLES,
	SWITCHES,
	SAMPLES_OR_WAITS,
	STACKS, /* something that a call tree can weigh */
	WAITS,
	ZONES,
	ZONES_OR_SPANS,
	HEAP,
	SNAPSHOTS,
	READINGS,
	RESIDENT,
	ENERGY,
	ENERGY_AND_SAMPLES,
	EVENTS,
	WORK,          /* zones whose work was told */
	WORK_OR_ROOFS, /* or devices whose ceilings are known */
	SPANS,
	COUNTERS,
	ITERATIONS,
	HISTOGRAMS,
	DEVICES,
};

static const struct {
	const char *section;
	enum fact needs;
} rows[] = {
    {"functions", SAMPLES},
    {"latency", SWITCHES},
    {"callers", SAMPLES},
    {"lines", SAMPLES},
    {"assembly", SAMPLES},
    {"calltree", STACKS},
    {"modules", SAMPLES},
    {"critical-path", SAMPLES_OR_WAITS},
    {"critical-steps", SAMPLES_OR_WAITS},
    {"what-if", NEVER},
    {"devices", DEVICES},
    {"kernels", DEVICES},
    {"launches", DEVICES},
    {"copies", DEVICES},
    {"peers", DEVICES},
    {"streams", DEVICES},
    {"device-gaps", DEVICES},
    {"device-calls", DEVICES},
    {"launch-stacks", DEVICES},
    {"device-memory", DEVICES},
    {"device-peak", DEVICES},
    {"device-zones", DEVICES},
    {"waits", WAITS},
    {"locks", WAITS},
    {"io", WAITS},
    {"io-phases", WAITS},
    {"io-seen", WAITS},
    {"wait-kinds", WAITS},
    {"resources", READINGS},
    {"machine", READINGS},
    {"heap", HEAP},
    {"heaps", HEAP},
    {"peak", HEAP},
    {"leaks", HEAP},
    {"temporary", HEAP},
    {"sizes", HEAP},
    {"timeline", HEAP},
    {"heap-lines", HEAP},
    {"heap-threads", HEAP},
    {"heap-zones", HEAP},
    {"memory", RESIDENT},
    {"snapshots", SNAPSHOTS},
    {"energy", ENERGY},
    {"energy-functions", ENERGY_AND_SAMPLES},
    {"energy-zones", ENERGY_AND_SAMPLES},
    {"zones", ZONES},
    {"zone-histogram", ZONES_OR_SPANS},
    {"flop", WORK},
    {"roofline", WORK_OR_ROOFS},
    {"phases", ZONES},
    {"spans", SPANS},
    {"counters", COUNTERS},
    {"histograms", HISTOGRAMS},
    {"iterations", ITERATIONS},
    {"messages", EVENTS},
};

static int has_series(const struct sonde_session *session, const char *name)
{
	for (uint32_t id = 1; id <= sonde_session_series_count(session); id++)
		if (strcmp(sonde_session_series(session, id)->name, name) == 0)
			return 1;
	return 0;
}

/* `kinds`: bits 1 << enum sonde_site_kind. */
static int has_site(const struct sonde_session *session, uint32_t kinds)
{
	for (uint32_t id = 1; id <= sonde_session_site_count(session); id++) {
		uint32_t kind = sonde_session_site(session, id)->kind;
		if (kind < 32 && kinds >> kind & 1)
			return 1;
	}
	return 0;
}

/* Calls whose work the recorder told, or events that may tell of some. */
static int has_work(const struct sonde_session *session)
{
	int found = sonde_weigh_has(session, SONDE_CHUNK_EVENTS);
	for (uint32_t id = 1; id <= sonde_session_site_count(session) && !found; id++)
		found = sonde_flop_is_library(sonde_session_site(session, id));
	return found;
}

static int has_device_roofs(const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_device_count(session); id++) {
		const struct sonde_device *device = sonde_session_device(session, id);
		if (device->kind != SONDE_DEVICE_CPU && (device->capability || device->memory_b_per_s))
			return 1;
	}
	return 0;
}

static int holds(const struct sonde_session *session, enum fact fact)
{
	int samples = sonde_weigh_has(session, SONDE_CHUNK_SAMPLES),
	    waits = sonde_weigh_has(session, SONDE_CHUNK_WAITS);
	int zones = sonde_weigh_has(session, SONDE_CHUNK_ZONES);
	int heap = sonde_session_heap_site_count(session) != 0;
	switch (fact) {
	case SAMPLES:
		return samples;
	case SWITCHES:
		return samples && sonde_weigh_has(session, SONDE_CHUNK_SWITCHES);
	case SAMPLES_OR_WAITS:
		return samples || waits;
	case STACKS:
		return samples || waits || heap;
	case WAITS:
		return waits;
	case ZONES:
		return zones;
	case ZONES_OR_SPANS:
		return zones || has_site(session, 1u << SONDE_SITE_SPAN);
	case HEAP:
		return heap;
	case SNAPSHOTS:
		return sonde_session_snapshot_count(session) != 0;
	case READINGS:
		return sonde_weigh_has(session, SONDE_CHUNK_SERIES);
	case RESIDENT:
		return has_series(session, "memory.rss");
	case ENERGY:
		return has_series(session, "energy");
	case ENERGY_AND_SAMPLES:
		return samples && has_series(session, "energy");
	case EVENTS:
		return sonde_weigh_has(session, SONDE_CHUNK_EVENTS);
	case WORK:
		return zones && has_work(session);
	case WORK_OR_ROOFS:
		return (zones && has_work(session)) || has_device_roofs(session);
	case SPANS:
		return has_site(session, 1u << SONDE_SITE_SPAN);
	case COUNTERS:
		return has_site(session, 1u << SONDE_SITE_COUNTER | 1u << SONDE_SITE_GAUGE | 1u << SONDE_SITE_COUNT);
	case ITERATIONS:
		return has_site(session, 1u << SONDE_SITE_ITERATION);
	case HISTOGRAMS:
		return sonde_session_histogram_count(session) != 0;
	case DEVICES:
		return sonde_weigh_has(session, SONDE_CHUNK_ACTIVITIES);
	default:
		return 0;
	}
}

int sonde_contents_weighs(const struct sonde_session *session, const struct sonde_weigh_row *row)
{
	switch (row->of) {
	case SONDE_WEIGH_OF_SAMPLES:
		return holds(session, SAMPLES);
	case SONDE_WEIGH_OF_HEAP:
		return holds(session, HEAP);
	default:
		return holds(session, WAITS);
	}
}

int sonde_contents_has(const struct sonde_session *session, const struct sonde_pass *pass)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].section, pass->name) == 0)
			return holds(session, rows[i].needs);
	return 1;
}
