/* sink.c: drained events into the chunks of a file (sink.h).
 *
 * Zones of a thread gather until another thread's come, the round ends or the columns are full, and then become a
 * chunk. They are paired while they pass, as a reader of the chunk will pair them: a zone that finds no frame is left
 * out of the columns, too, and counted, so that what a chunk says of itself is what its body adds up to.
 */
#include "runtime/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/varint.h"
#include "fold/frames.h"
#include "fold/live.h"

#define ZONES_A_CHUNK 65536u
#define SITE_B 3u /* of a site as a varint */
#define SITES (SONDE_RING_MAX_SITES + 1u)
#define EVENTS_B (1u << 20)

_Static_assert(SITES < 1u << 7 * SITE_B, "sites are short");
_Static_assert(sizeof(struct sonde_zones_summary) + SONDE_ZONES_OPEN_MAX * sizeof(struct sonde_zone_open) +
		       SITES * sizeof(struct sonde_zone_stat) <=
		   SONDE_CHUNK_MAX_SUMMARY_B,
	       "a summary holds as many zones as can be open");

/* Zones of one thread that are not written yet. */
struct zones {
	uint32_t thread, count;
	uint8_t *site_at, *time_at;
	uint64_t min_ns, max_ns, unmatched;
	uint32_t open_count, ended_count;
	uint32_t ended[SITES];                              /* the sites that have a row, in order of their first end */
	struct sonde_zone_stat stats[SITES];                /* by the file's id */
	struct sonde_pair_frame open[SONDE_ZONES_OPEN_MAX]; /* when the first of them came */
	uint8_t sites[8 + ZONES_A_CHUNK * (SITE_B + SONDE_VARINT_MAX_B)]; /* sizes, sites, and in the end times */
	uint8_t times[ZONES_A_CHUNK * SONDE_VARINT_MAX_B];
};

struct events {
	uint32_t thread, count, size_b;
	uint64_t min_ns, max_ns;
	_Alignas(8) char body[EVENTS_B];
};

struct histogram {
	uint64_t count, sum, min, max;
	uint64_t hits[SONDE_HIST_BUCKETS];
};

struct sonde_sink {
	struct sonde_file *file;
	struct sonde_ring_pool *ring;
	struct sonde_live *live;
	uint32_t threads_made;
	uint32_t sites_made;
	uint32_t sites[SONDE_RING_MAX_SITES]; /* the file's ids */
	uint32_t thread_rows;                 /* highest seen + 1 */
	struct histogram *histograms[SITES];  /* by the file's id; mapped at the first use */
	struct sonde_frames threads[SONDE_DRAIN_THREADS];
	uint64_t starts_ns[SONDE_DRAIN_THREADS]; /* when a thread was first seen */
	struct zones zones;
	struct events events;
	char summary[SONDE_CHUNK_MAX_SUMMARY_B];
};

static size_t own_b(void)
{
	return (sizeof(struct sonde_sink) + 4095) & ~(size_t)4095;
}

size_t sonde_sink_b(void)
{
	return own_b() + SONDE_LIVE_B;
}

/* --- sites and threads --------------------------------------------------------------------------------------------*/

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct sonde_sink *sink = context;
	if (sink->sites_made + 1 >= SITES)
		return;
	struct sonde_meta_site record = {.head.type = SONDE_META_SITE, .id = ++sink->sites_made, .kind = site->kind};
	record.name = sonde_file_string(sink->file, site->name, strlen(site->name));
	record.function = sonde_file_string(sink->file, site->function, strlen(site->function));
	record.file = sonde_file_string(sink->file, site->file, strlen(site->file));
	record.unit = sonde_file_string(sink->file, site->unit, strlen(site->unit));
	record.line = site->line;
	record.color = site->color;
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
	sink->sites[site->id] = record.id;
	sonde_live_site(sink->live, site);
}

static uint32_t site_id(struct sonde_sink *sink, uint32_t site)
{
	if (site == SONDE_RING_SITE_OTHER && !sink->sites[site]) {
		struct sonde_meta_site record = {.head.type = SONDE_META_SITE, .id = ++sink->sites_made};
		record.kind = SONDE_SITE_ZONE;
		record.name = sonde_file_string(sink->file, "(other)", 7);
		sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
		sink->sites[site] = record.id;
	}
	return sink->sites[site];
}

/* Again with each name that the program gives it. */
static void write_thread(struct sonde_sink *sink, const struct sonde_drain_thread *thread, const char *name,
			 size_t name_b)
{
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD, .id = (uint32_t)thread->user, .process = 1};
	record.tid = thread->tid;
	record.name = sonde_file_string(sink->file, name, name_b);
	record.start_ns = sink->starts_ns[thread->index];
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

static uint32_t thread_id(struct sonde_sink *sink, struct sonde_drain_thread *thread, uint64_t time_ns)
{
	if (thread->user)
		return (uint32_t)thread->user;
	char path[64], name[32];
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread->tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t name_b = fd < 0 ? 0 : read(fd, name, sizeof(name));
	if (fd >= 0)
		close(fd);
	thread->user = ++sink->threads_made;
	sink->starts_ns[thread->index] = time_ns;
	write_thread(sink, thread, name, name_b > 1 ? (size_t)name_b - 1 : 0); /* without the newline */
	return (uint32_t)thread->user;
}

/* --- zones --------------------------------------------------------------------------------------------------------*/

/* Head, open zones and sums; returns their size. The sums begin anew. */
static uint32_t zones_summary(struct sonde_sink *sink)
{
	struct zones *zones = &sink->zones;
	struct sonde_zones_summary head = {zones->open_count, zones->ended_count, zones->unmatched};
	char *to = sink->summary;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	memcpy(to, zones->open, zones->open_count * sizeof(*zones->open));
	to += zones->open_count * sizeof(*zones->open);
	for (uint32_t i = 0; i < zones->ended_count; i++) {
		struct sonde_zone_stat *stat = &zones->stats[zones->ended[i]];
		memcpy(to, stat, sizeof(*stat));
		to += sizeof(*stat);
		memset(stat, 0, sizeof(*stat));
	}
	return (uint32_t)(to - sink->summary);
}

static void zones_flush(struct sonde_sink *sink)
{
	struct zones *zones = &sink->zones;
	if (!zones->count)
		return;
	uint32_t sizes[2] = {(uint32_t)(zones->site_at - zones->sites - 8), (uint32_t)(zones->time_at - zones->times)};
	memcpy(zones->sites, sizes, sizeof(sizes));
	memcpy(zones->site_at, zones->times, sizes[1]);
	struct sonde_file_chunk chunk = {.type = SONDE_CHUNK_ZONES, .thread = zones->thread, .count = zones->count};
	chunk.time_min_ns = zones->min_ns;
	chunk.time_max_ns = zones->max_ns;
	chunk.summary_b = zones_summary(sink);
	chunk.summary = sink->summary;
	chunk.body = zones->sites;
	chunk.body_b = 8 + sizes[0] + sizes[1];
	sonde_file_chunk(sink->file, &chunk);
	zones->count = 0;
}

static void zones_start(struct zones *zones, const struct sonde_pair *pair, uint32_t thread, uint64_t time_ns)
{
	zones->thread = thread;
	zones->site_at = zones->sites + 8;
	zones->time_at = zones->times;
	zones->min_ns = zones->max_ns = time_ns;
	zones->unmatched = 0;
	zones->ended_count = 0;
	zones->open_count = pair->depth;
	memcpy(zones->open, pair->frames, pair->depth * sizeof(*pair->frames));
}

static void zone_ended(struct zones *zones, const struct sonde_pair_zone *zone)
{
	struct sonde_zone_stat *stat = &zones->stats[zone->site];
	if (!stat->count)
		zones->ended[zones->ended_count++] = zone->site;
	stat->site = zone->site;
	sonde_pair_add(stat, zone);
}

/* One event of a thread: the file's id of a site, 0 = an end. 1 = it began a zone that had to be left out. */
static int zone_put(struct sonde_sink *sink, struct sonde_frames *frames, uint32_t thread, uint32_t id,
		    uint64_t time_ns)
{
	struct zones *zones = &sink->zones;
	struct sonde_pair *pair = &frames->pair;
	if (id && pair->depth == pair->capacity)
		*pair = sonde_frames_more(frames, *pair);
	if (id && pair->depth == pair->capacity) {
		pair->over++;
		return 1;
	}
	if (!id && pair->over) {
		pair->over--;
		return 0;
	}
	if (zones->count && (zones->thread != thread || zones->count == ZONES_A_CHUNK))
		zones_flush(sink);
	if (!zones->count)
		zones_start(zones, pair, thread, time_ns);
	zones->site_at = sonde_varint_put(zones->site_at, id);
	zones->time_at = sonde_varint_put(zones->time_at, time_ns - zones->max_ns);
	zones->max_ns = time_ns;
	zones->count++;
	struct sonde_pair_zone zone;
	if (id)
		sonde_pair_begin(pair, id, time_ns);
	else if (sonde_pair_end(pair, time_ns, &zone))
		zone_ended(zones, &zone);
	else
		zones->unmatched++;
	return 0;
}

static void take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count, int gap)
{
	struct sonde_sink *sink = context;
	struct sonde_frames *frames = &sink->threads[thread->index];
	uint32_t id = thread_id(sink, thread, times_ns[0]);
	if (thread->index >= sink->thread_rows)
		sink->thread_rows = thread->index + 1;
	if (gap) /* what was open is no longer known: it ends where the gap does */
		frames->pair.over = 0;
	while (gap && frames->pair.depth)
		zone_put(sink, frames, id, 0, times_ns[0]);
	uint64_t left_out = 0;
	for (size_t i = 0; i < count; i++)
		left_out += (uint64_t)zone_put(sink, frames, id, sites[i] ? site_id(sink, sites[i]) : 0, times_ns[i]);
	uint64_t unanswered = sonde_live_zones(sink->live, thread, sites, times_ns, count, gap);
	left_out = left_out > unanswered ? left_out : unanswered;
	if (left_out) /* with their ends */
		sonde_process_lost(sink->ring, SONDE_RING_LOST_NESTED, 2 * left_out);
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	struct sonde_sink *sink = context;
	sonde_frames_clear(&sink->threads[thread->index]);
	sonde_live_thread_end(sink->live, thread);
}

static int thread_alive(void *context, uint32_t tid)
{
	(void)context;
	return !syscall(SYS_tgkill, getpid(), tid, 0) || errno != ESRCH;
}

/* --- other events -------------------------------------------------------------------------------------------------*/

static void events_flush(struct sonde_sink *sink)
{
	struct events *events = &sink->events;
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
	struct events *events = &sink->events;
	uint32_t id = thread_id(sink, thread, event->time);
	uint32_t size_b = event->words * 8u;
	if (events->thread != id || events->size_b + size_b > EVENTS_B)
		events_flush(sink);
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

/* Resident bytes of this process; 0 where /proc is not to be had. */
static uint64_t resident_b(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *at = strchr(text, ' ');
	uint64_t pages = 0;
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		pages = pages * 10 + (uint64_t)(*at - '0');
	return pages * (uint64_t)getpagesize();
}

static void write_snapshot(struct sonde_sink *sink, const struct sonde_event_text *event)
{
	struct sonde_meta_snapshot record = {.head.type = SONDE_META_SNAPSHOT, .process = 1};
	record.label = sonde_file_string(sink->file, (const char *)(event + 1), event->len_b);
	record.reason = SONDE_SNAPSHOT_API;
	record.time_ns = event->head.time;
	record.rss_b = resident_b();
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

static void take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	struct sonde_sink *sink = context;
	if (event->type == SONDE_EVENT_CPU_SAMPLE)
		return;
	if (event->type == SONDE_EVENT_SNAPSHOT) {
		write_snapshot(sink, (const void *)event);
		return;
	}
	sonde_live_event(sink->live, event);
	put_event(sink, thread, event, event->site ? site_id(sink, event->site) : 0);
	if (event->type == SONDE_EVENT_THREAD_NAME) {
		const struct sonde_event_text *name = (const void *)event;
		write_thread(sink, thread, (const char *)(name + 1), name->len_b);
	}
}

static void take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	struct sonde_sink *sink = context;
	int counts = sonde_live_kind(sink->live, site) == SONDE_SITE_COUNT;
	struct sonde_event_value event = {.value = (double)total};
	event.head.type = counts ? SONDE_EVENT_COUNT : SONDE_EVENT_COUNTER;
	event.head.words = sizeof(event) / 8;
	event.head.time = sonde_clock_now_ns();
	put_event(sink, thread, &event.head, site_id(sink, site));
}

static void write_lost(struct sonde_sink *sink, const char *cause, uint64_t count)
{
	struct sonde_meta_lost record = {.head.type = SONDE_META_LOST, .process = 1, .count = count};
	record.source = sonde_file_string(sink->file, "zones", 5);
	record.cause = sonde_file_string(sink->file, cause, strlen(cause));
	record.from_ns = record.to_ns = sonde_clock_now_ns();
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

static void take_lost(void *context, enum sonde_ring_lost cause, uint64_t count)
{
	write_lost(context, sonde_ring_lost_text(cause), count);
}

/* --- histograms ---------------------------------------------------------------------------------------------------*/

static struct histogram *histogram_of(struct sonde_sink *sink, uint32_t id)
{
	if (sink->histograms[id])
		return sink->histograms[id];
	struct histogram *made =
	    mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	made->min = UINT64_MAX;
	sink->histograms[id] = made;
	return made;
}

static void take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			   uint64_t sum, uint64_t min, uint64_t max)
{
	(void)thread;
	struct sonde_sink *sink = context;
	uint64_t count = 0;
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		count += hits[i];
	struct histogram *into = histogram_of(sink, site_id(sink, site));
	if (!into) {
		write_lost(sink, "no memory for a histogram", count);
		return;
	}
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		into->hits[i] += hits[i];
	into->count += count;
	into->sum += sum;
	into->min = min < into->min ? min : into->min;
	into->max = max > into->max ? max : into->max;
}

static void write_histogram(struct sonde_sink *sink, uint32_t site, const struct histogram *from)
{
	struct sonde_meta_histogram record = {.head.type = SONDE_META_HISTOGRAM, .site = site, .process = 1};
	record.count = from->count;
	record.sum = from->sum;
	record.min = from->min;
	record.max = from->max;
	uint8_t *body = sink->zones.times, *to = body; /* its zones have been written */
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
_Static_assert(SONDE_HIST_BUCKETS * 2 * SONDE_VARINT_MAX_B <= sizeof(((struct zones *)0)->times), "a histogram fits");

/* --- begin and end ------------------------------------------------------------------------------------------------*/

static uint32_t string_of_file(struct sonde_sink *sink, const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	while (got > 0 && (!text[got - 1] || text[got - 1] == '\n'))
		got--;
	for (ssize_t i = 0; i < got; i++)
		text[i] = text[i] ? text[i] : ' ';
	return got > 0 ? sonde_file_string(sink->file, text, (size_t)got) : 0;
}

static void write_clock(struct sonde_sink *sink)
{
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	struct sonde_meta_clock record = {.head.type = SONDE_META_CLOCK, .mono_ns = anchor.mono_ns};
	record.cycles = sink->ring->clock == SONDE_RING_CLOCK_CYCLES ? anchor.cycles : 0;
	record.raw_ns = sonde_clock_read_ns(CLOCK_MONOTONIC_RAW);
	record.real_ns = sonde_clock_read_ns(CLOCK_REALTIME);
	record.boot_ns = sonde_clock_read_ns(CLOCK_BOOTTIME);
	record.error_ns = sonde_clock_now_ns() - anchor.mono_ns;
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

static void write_begin(struct sonde_sink *sink)
{
	struct sonde_meta_process process = {.head.type = SONDE_META_PROCESS, .id = 1, .pid = (uint32_t)getpid()};
	process.name = string_of_file(sink, "/proc/self/comm");
	process.command = string_of_file(sink, "/proc/self/cmdline");
	process.start_ns = sonde_clock_now_ns();
	sonde_file_meta(sink->file, &process, sizeof(process), NULL, 0);
	struct sonde_meta_info command = {.head.type = SONDE_META_INFO, .value = process.command};
	command.key = sonde_file_string(sink->file, "run.command", 11);
	sonde_file_meta(sink->file, &command, sizeof(command), NULL, 0);
	sonde_file_info(sink->file, "run.recorder", "libsonde inside the program");
	struct sonde_meta_source source = {.head.type = SONDE_META_SOURCE, .state = SONDE_SOURCE_ON};
	const char method[] = "rings in shared memory, written by the program itself";
	source.name = sonde_file_string(sink->file, "zones", 5);
	source.method = sonde_file_string(sink->file, method, sizeof(method) - 1);
	sonde_file_meta(sink->file, &source, sizeof(source), NULL, 0);
	write_clock(sink);
}

struct sonde_sink *sonde_sink_init(void *memory, struct sonde_ring_pool *ring, struct sonde_file *file)
{
	struct sonde_sink *sink = memory;
	sink->ring = ring;
	sink->file = file;
	sink->live = sonde_live_init((char *)memory + own_b());
	write_begin(sink);
	return sink;
}

void sonde_sink_drain(struct sonde_sink *sink, struct sonde_drain *drain, const struct sonde_clockfit *fit, int final)
{
	const struct sonde_drain_sink calls = {
	    .context = sink,
	    .site = take_site,
	    .zones = take_zones,
	    .event = take_event,
	    .counter = take_counter,
	    .histogram = take_histogram,
	    .lost = take_lost,
	    .thread_end = take_thread_end,
	    .alive = thread_alive,
	};
	sonde_drain_run(drain, fit, &calls, final);
	zones_flush(sink);
	events_flush(sink);
}

int sonde_sink_close(struct sonde_sink *sink)
{
	for (uint32_t site = 0; site <= sink->sites_made; site++) {
		if (!sink->histograms[site])
			continue;
		write_histogram(sink, site, sink->histograms[site]);
		munmap(sink->histograms[site], sizeof(struct histogram));
		sink->histograms[site] = NULL;
	}
	for (uint32_t i = 0; i < sink->thread_rows; i++)
		sonde_frames_clear(&sink->threads[i]);
	sonde_live_fini(sink->live);
	write_clock(sink);
	struct sonde_meta_close record = {.head.type = SONDE_META_CLOSE, .time_ns = sonde_clock_now_ns(), .status = -1};
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
	struct sonde_file *file = sink->file;
	sink->file = NULL; /* first: a child that is forked now has no file of ours */
	return sonde_file_close(file);
}

void sonde_sink_answer(const struct sonde_sink *sink, const struct sonde_link_query *query,
		       struct sonde_link_answer *out)
{
	sonde_live_answer(sink->live, query, out);
}

/* What drains may have been in the middle of anything when the process forked: maps stay, which may be in two hands. */
void sonde_sink_abandon(struct sonde_sink *sink)
{
	if (sink->file)
		sonde_file_abandon(sink->file);
	sink->file = NULL;
}
