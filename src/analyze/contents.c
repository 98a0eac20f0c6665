/* contents.c: counts events from chunk heads, and rows of the session's tables. */
#include "analyze/contents.h"

#include <string.h>

#include "format/meta.h"
#include "session/weigh.h"

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

int sonde_has_nothing(const struct sonde_session *session)
{
	(void)session;
	return 0;
}

int sonde_has_samples(const struct sonde_session *session)
{
	return sonde_weigh_has(session, SONDE_CHUNK_SAMPLES);
}

int sonde_has_sampled_switches(const struct sonde_session *session)
{
	return sonde_has_samples(session) && sonde_weigh_has(session, SONDE_CHUNK_SWITCHES);
}

int sonde_has_samples_or_waits(const struct sonde_session *session)
{
	return sonde_has_samples(session) || sonde_has_waits(session);
}

int sonde_has_stacks(const struct sonde_session *session)
{
	return sonde_has_samples_or_waits(session) || sonde_has_heap(session);
}

int sonde_has_waits(const struct sonde_session *session)
{
	return sonde_weigh_has(session, SONDE_CHUNK_WAITS);
}

int sonde_has_zones(const struct sonde_session *session)
{
	return sonde_weigh_has(session, SONDE_CHUNK_ZONES);
}

int sonde_has_zones_or_spans(const struct sonde_session *session)
{
	return sonde_has_zones(session) || sonde_has_spans(session);
}

int sonde_has_spans(const struct sonde_session *session)
{
	return has_site(session, 1u << SONDE_SITE_SPAN);
}

int sonde_has_counters(const struct sonde_session *session)
{
	return has_site(session, 1u << SONDE_SITE_COUNTER | 1u << SONDE_SITE_GAUGE | 1u << SONDE_SITE_COUNT);
}

int sonde_has_iterations(const struct sonde_session *session)
{
	return has_site(session, 1u << SONDE_SITE_ITERATION);
}

int sonde_has_histograms(const struct sonde_session *session)
{
	return sonde_session_histogram_count(session) != 0;
}

int sonde_has_events(const struct sonde_session *session)
{
	return sonde_weigh_has(session, SONDE_CHUNK_EVENTS);
}

int sonde_has_heap(const struct sonde_session *session)
{
	return sonde_session_heap_site_count(session) != 0;
}

int sonde_has_snapshots(const struct sonde_session *session)
{
	return sonde_session_snapshot_count(session) != 0;
}

int sonde_has_readings(const struct sonde_session *session)
{
	return sonde_weigh_has(session, SONDE_CHUNK_SERIES);
}

int sonde_has_resident(const struct sonde_session *session)
{
	return has_series(session, "memory.rss");
}

int sonde_has_energy(const struct sonde_session *session)
{
	return has_series(session, "energy");
}

int sonde_has_energy_and_samples(const struct sonde_session *session)
{
	return sonde_has_samples(session) && sonde_has_energy(session);
}

int sonde_has_devices(const struct sonde_session *session)
{
	return sonde_weigh_has(session, SONDE_CHUNK_ACTIVITIES);
}
