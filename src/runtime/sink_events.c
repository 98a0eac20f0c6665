/* sink_events.c: writes everything except zones: events, counters, snapshots and histograms of the process (sink.h). */
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "runtime/sink_state.h"

void sonde_sink_flush_events(struct sonde_sink *sink)
{
	struct sonde_sink_events *events = &sink->events;
	if (!events->count)
		return;
	struct sonde_file_chunk chunk = {.type = SONDE_CHUNK_EVENTS, .thread = events->thread, .count = events->count};
	chunk.time_min_ns = events->min_ns;
	chunk.time_max_ns = events->max_ns;
	chunk.body = events->body;
	chunk.body_b = events->size_b;
	sonde_file_chunk(sink->file, &chunk);
	events->count = 0;
	events->size_b = 0;
}

static void put_event(struct sonde_sink *sink, struct sonde_drain_thread *thread, const struct sonde_event *event,
		      uint32_t site)
{
	struct sonde_sink_events *events = &sink->events;
	uint32_t id = sonde_sink_thread(sink, thread, event->time);
	uint32_t size_b = event->words * 8u;
	if (events->thread != id || events->size_b + size_b > SONDE_SINK_EVENTS_B)
		sonde_sink_flush_events(sink);
	events->thread = id;
	struct sonde_event *copy = (struct sonde_event *)(void *)(events->body + events->size_b);
	memcpy(copy, event, size_b);
	copy->site = site;
	if (!events->count || event->time < events->min_ns)
		events->min_ns = event->time;
	if (!events->count || event->time > events->max_ns)
		events->max_ns = event->time;
	events->count++;
	events->size_b += size_b;
}

static void write_snapshot(struct sonde_sink *sink, const struct sonde_event_snapshot *event)
{
	struct sonde_meta_snapshot record = {.head.type = SONDE_META_SNAPSHOT, .process = 1};
	record.label =
	    sonde_file_string(sink->file, (const char *)(event + 1), event->text.len_b - sizeof(event->rss_b));
	record.reason = SONDE_SNAPSHOT_API;
	record.time_ns = event->text.head.time;
	record.rss_b = event->rss_b;
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

void sonde_sink_take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	struct sonde_sink *sink = context;
	if (event->type == SONDE_EVENT_CPU_SAMPLE || event->type == SONDE_EVENT_CALL_STACK)
		return;
	if (event->type >= SONDE_EVENT_DEVICE && event->type <= SONDE_EVENT_ACTIVITY_LOST) {
		sink->activities += event->type == SONDE_EVENT_ACTIVITY;
		return;
	}
	if (event->type == SONDE_EVENT_SNAPSHOT) {
		write_snapshot(sink, (const void *)event);
		sonde_pools_snapshot(sink->pools, event->time);
		return;
	}
	if (event->type == SONDE_EVENT_POOL_TAKE || event->type == SONDE_EVENT_POOL_GIVE) {
		sonde_pools_add(sink->pools, sonde_sink_thread(sink, thread, event->time), (const void *)event);
		return;
	}
	sonde_live_event(sink->live, event);
	put_event(sink, thread, event, event->site ? sonde_sink_site(sink, event->site) : 0);
	if (event->type == SONDE_EVENT_THREAD_NAME) {
		const struct sonde_event_text *name = (const void *)event;
		sonde_sink_thread_name(sink, thread, (const char *)(name + 1), name->len_b);
	}
}

void sonde_sink_take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	struct sonde_sink *sink = context;
	int counts = sonde_live_kind(sink->live, site) == SONDE_SITE_COUNT;
	struct sonde_event_value event = {.value = (double)total};
	event.head.type = counts ? SONDE_EVENT_COUNT : SONDE_EVENT_COUNTER;
	event.head.words = sizeof(event) / 8;
	event.head.time = sonde_clock_now_ns();
	put_event(sink, thread, &event.head, sonde_sink_site(sink, site));
}

/* --- histograms ---------------------------------------------------------------------------------------------------*/

static struct sonde_sink_histogram *histogram_of(struct sonde_sink *sink, uint32_t id)
{
	if (sink->histograms[id])
		return sink->histograms[id];
	struct sonde_sink_histogram *made =
	    mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	made->min = UINT64_MAX;
	sink->histograms[id] = made;
	return made;
}

void sonde_sink_take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			       uint64_t sum, uint64_t min, uint64_t max)
{
	(void)thread;
	struct sonde_sink *sink = context;
	uint64_t count = 0;
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		count += hits[i];
	struct sonde_sink_histogram *into = histogram_of(sink, sonde_sink_site(sink, site));
	if (!into) {
		sonde_sink_lost(sink, "no memory for a histogram", count);
		return;
	}
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		into->hits[i] += hits[i];
	into->count += count;
	into->sum += sum;
	into->min = min < into->min ? min : into->min;
	into->max = max > into->max ? max : into->max;
}

static void write_histogram(struct sonde_sink *sink, uint32_t site, const struct sonde_sink_histogram *from)
{
	struct sonde_meta_histogram record = {.head.type = SONDE_META_HISTOGRAM, .site = site, .process = 1};
	record.count = from->count;
	record.sum = from->sum;
	record.min = from->min;
	record.max = from->max;
	uint8_t *body = sink->zones.times, *to = body; /* its zones have been written, so the buffer is free */
	uint32_t last = 0;
	for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++) {
		if (!from->hits[bucket])
			continue;
		to = sonde_varint_put(to, bucket - last);
		to = sonde_varint_put(to, from->hits[bucket]);
		last = bucket;
		record.pairs++;
	}
	sonde_file_meta(sink->file, &record, sizeof(record), body, (size_t)(to - body));
}
_Static_assert(SONDE_HIST_BUCKETS * 2 * SONDE_VARINT_MAX_B <= sizeof(((struct sonde_sink_zones *)0)->times),
	       "a histogram fits");

void sonde_sink_close_histograms(struct sonde_sink *sink)
{
	for (uint32_t site = 0; site <= sink->sites_made; site++) {
		if (!sink->histograms[site])
			continue;
		write_histogram(sink, site, sink->histograms[site]);
		munmap(sink->histograms[site], sizeof(struct sonde_sink_histogram));
		sink->histograms[site] = NULL;
	}
}
