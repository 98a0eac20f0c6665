/* program.c: converts sites, zones, events, counters and histograms of a process to the recording's (zone/program.h).
 */
#include "source/zone/program.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "fold/live.h"
#include "source/heap/events.h"
#include "source/record/snapshots.h"
#include "source/target/devices.h"
#include "source/target/pool.h"
#include "util/error.h"

#define EARLY_MAX_NS 1000000u

struct histogram {
	uint32_t site; /* id in the recording */
	uint64_t count, sum, min, max;
	uint64_t hits[SONDE_HIST_BUCKETS];
};

struct program {
	struct sonde_recorder *recorder;
	struct sonde_snapshots *snapshots;
	struct sonde_pool *pool;
	pid_t pid;
	uint32_t process; /* id in the recording */
	struct sonde_live *live;
	uint32_t sites[SONDE_RING_MAX_SITES]; /* ids in the recording */
	struct histogram **histograms;
	size_t histogram_count;
	struct sonde_heap_events *blocks; /* of the process's own pools; NULL = none reported */
	uint64_t blocks_ns;               /* time of their latest event */
	struct sonde_devices *devices;    /* reported devices; NULL = none */
};

/* --- sites ------------------------------------------------------------------------------------------------------- */

/* Records the site of a pool of the process's own: it becomes a heap, not a site of the recording. */
static void take_own_pool(struct program *program, uint32_t site, const char *name)
{
	if (!program->blocks) {
		if (sonde_heap_events_new(&program->blocks, program->recorder, program->pid))
			return;
		sonde_heap_events_name(program->blocks, SONDE_RING_SITE_OTHER, "(other)");
	}
	if (site != SONDE_RING_SITE_OTHER)
		sonde_heap_events_name(program->blocks, site, name);
}

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct program *program = context;
	if (site->kind == SONDE_SITE_POOL) {
		take_own_pool(program, site->id, site->name);
		return;
	}
	struct sonde_recorder_site made = {
	    .kind = site->kind,
	    .line = site->line,
	    .color = site->color,
	    .name = site->name,
	    .function = *site->function ? site->function : NULL,
	    .file = *site->file ? site->file : NULL,
	    .unit = *site->unit ? site->unit : NULL,
	};
	program->sites[site->id] = sonde_recorder_site(program->recorder, &made);
	sonde_live_site(program->live, site);
}

static uint32_t site_id(struct program *program, uint32_t site)
{
	if (site == SONDE_RING_SITE_OTHER && !program->sites[site]) {
		struct sonde_recorder_site other = {.kind = SONDE_SITE_ZONE, .name = "(other)"};
		program->sites[site] = sonde_recorder_site(program->recorder, &other);
	}
	return program->sites[site];
}

/* --- zones and events -------------------------------------------------------------------------------------------- */

/* Closes the zones that were open before a gap of lost events. They may have ended within the gap; they are recorded as
 * ending where the gap ends. */
static void close_open(struct program *program, struct sonde_drain_thread *thread, uint32_t id, uint64_t time_ns)
{
	const uint32_t end = 0;
	for (uint64_t depth = sonde_live_depth(program->live, thread); depth > 0; depth--)
		sonde_recorder_zones(program->recorder, program->process, id, &end, &time_ns, 1);
}

/* Converts sites to ids of the recording; 0 (end of a zone) stays 0. */
static void translate(struct program *program, const uint32_t *sites, size_t count, uint32_t *ids)
{
	uint32_t other = 0;
	for (size_t i = 0; i < count; i++) {
		other |= sites[i] == SONDE_RING_SITE_OTHER;
		ids[i] = program->sites[sites[i]];
	}
	for (size_t i = 0; other && i < count; i++)
		ids[i] = sites[i] ? site_id(program, sites[i]) : 0;
}

static void take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count, int gap)
{
	struct program *program = context;
	uint32_t ids[SONDE_PROGRAM_ZONES_MAX];
	uint32_t id = sonde_pool_thread_id(program->pool, thread, times_ns[0]);
	if (gap)
		close_open(program, thread, id, times_ns[0]);
	uint64_t left_out = sonde_live_zones(program->live, thread, sites, times_ns, count, gap);
	if (left_out) /* number of lost begins and ends; the target counts them, too */
		sonde_pool_count_lost(program->pool, SONDE_RING_LOST_NESTED, 2 * left_out);
	translate(program, sites, count, ids);
	sonde_recorder_zones(program->recorder, program->process, id, ids, times_ns, count);
}

static void ask_snapshot(const struct program *program, const struct sonde_event_snapshot *event)
{
	struct sonde_snapshot_ask ask = {
	    .process = program->process,
	    .pid = program->pid,
	    .reason = SONDE_SNAPSHOT_API,
	    .label = (const char *)(event + 1),
	    .label_b = event->text.len_b - sizeof(event->rss_b),
	    .time_ns = event->text.head.time,
	    .rss_b = event->rss_b,
	    .answer_fd = -1,
	};
	sonde_snapshots_ask(program->snapshots, &ask);
}

static int is_of_devices(const struct sonde_event *event)
{
	return event->type >= SONDE_EVENT_DEVICE && event->type <= SONDE_EVENT_ACTIVITY_LOST;
}

/* The thread that submitted an activity. That thread may have exited before the activity is reported. */
static uint32_t asker_of(struct program *program, const struct sonde_event_activity *activity)
{
	pid_t tid = sonde_pool_outer_tid(program->pool, activity->tid);
	uint64_t requested_ns = activity->queued_ns ? activity->queued_ns : activity->start_ns;
	uint32_t thread = sonde_recorder_known(program->recorder, program->pid, tid, requested_ns);
	return thread ? thread : sonde_recorder_thread(program->recorder, program->pid, tid, activity->head.time);
}

/* `thread`: the reporting thread. */
static void take_device_event(struct program *program, uint32_t thread, const struct sonde_event *event)
{
	const struct sonde_event_activity *activity = (const void *)event;
	if (!program->devices && sonde_devices_new(&program->devices, program->recorder, program->process))
		return;
	if (event->type == SONDE_EVENT_ACTIVITY && activity->tid == SONDE_DEVICE_TID_UNKNOWN)
		thread = 0;
	else if (event->type == SONDE_EVENT_ACTIVITY && activity->tid)
		thread = asker_of(program, activity);
	sonde_devices_event(program->devices, thread, event);
}

static void take_pool_event(struct program *program, const struct sonde_drain_thread *thread, uint32_t id,
			    const struct sonde_event *event)
{
	if (!program->blocks)
		take_own_pool(program, SONDE_RING_SITE_OTHER, NULL);
	if (program->blocks)
		sonde_heap_events_add(program->blocks, thread->serial, id, (const void *)event);
	if (event->time > program->blocks_ns)
		program->blocks_ns = event->time;
}

static void take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	struct program *program = context;
	uint32_t id = sonde_pool_thread_id(program->pool, thread, event->time);
	if (event->type == SONDE_EVENT_SNAPSHOT) {
		ask_snapshot(program, (const void *)event);
	} else if (event->type == SONDE_EVENT_POOL_TAKE || event->type == SONDE_EVENT_POOL_GIVE) {
		take_pool_event(program, thread, id, event);
	} else if (is_of_devices(event)) {
		take_device_event(program, id, event);
	} else {
		sonde_live_event(program->live, event);
		struct sonde_event *own = (struct sonde_event *)(uintptr_t)event; /* the drain's copy: writable */
		own->site = event->site ? site_id(program, event->site) : 0;
		sonde_recorder_event(program->recorder, program->process, id, own);
	}
}

static void take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	struct program *program = context;
	struct sonde_event_value event = {.value = (double)total};
	event.head.type =
	    sonde_live_kind(program->live, site) == SONDE_SITE_COUNT ? SONDE_EVENT_COUNT : SONDE_EVENT_COUNTER;
	event.head.words = sizeof(event) / 8;
	event.head.site = site_id(program, site);
	event.head.time = sonde_clock_now_ns();
	sonde_recorder_event(program->recorder, program->process,
			     sonde_pool_thread_id(program->pool, thread, event.head.time), &event.head);
}

static struct histogram *histogram_of(struct program *program, uint32_t site)
{
	for (size_t i = 0; i < program->histogram_count; i++)
		if (program->histograms[i]->site == site)
			return program->histograms[i];
	struct histogram **list = realloc(program->histograms, (program->histogram_count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	program->histograms = list;
	struct histogram *made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->site = site;
	made->min = UINT64_MAX;
	list[program->histogram_count++] = made;
	return made;
}

static void take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			   uint64_t sum, uint64_t min, uint64_t max)
{
	(void)thread;
	struct program *program = context;
	struct histogram *histogram = histogram_of(program, site_id(program, site));
	if (!histogram)
		return;
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++) {
		histogram->hits[i] += hits[i];
		histogram->count += hits[i];
	}
	histogram->sum += sum;
	histogram->min = min < histogram->min ? min : histogram->min;
	histogram->max = max > histogram->max ? max : histogram->max;
}

static void write_histograms(struct program *program)
{
	for (size_t i = 0; i < program->histogram_count; i++) {
		const struct histogram *from = program->histograms[i];
		struct sonde_recorder_histogram histogram = {from->site, program->process, from->hits, from->count,
							     from->sum,  from->min,        from->max};
		if (from->count)
			sonde_recorder_histogram(program->recorder, &histogram);
	}
}

static void take_lost(void *context, uint64_t count)
{
	struct program *program = context;
	if (program->devices)
		sonde_devices_dropped(program->devices, count);
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	struct program *program = context;
	if (thread->index < SONDE_DRAIN_ZONE_THREADS)
		sonde_live_thread_end(program->live, thread);
	if (program->blocks)
		sonde_heap_events_thread_end(program->blocks, thread->serial);
}

static void drained(void *context, uint64_t before_ns)
{
	struct program *program = context;
	if (program->blocks)
		sonde_heap_events_run(program->blocks, before_ns);
	if (program->devices)
		sonde_devices_end_round(program->devices);
}

/* --- queries ----------------------------------------------------------------------------------------------------- */

static size_t answer(void *context, const struct sonde_link_query *query, struct sonde_link_answer *out)
{
	const struct program *program = context;
	return sonde_live_answer(program->live, query, out);
}

/* A run merges only events up to a time that had passed before the rings were read. So after the latest event, the
 * rings are read once more, to include that event in the answer. */
static int answer_blocks(void *context, const char *name, struct sonde_link_blocks *out)
{
	struct program *program = context;
	sonde_pool_drain(program->pool, 0);
	if (!program->blocks)
		return -ENOENT;
	uint64_t now_ns = sonde_clock_now_ns(), until_ns = program->blocks_ns + 1;
	uint64_t early_ns = now_ns < until_ns ? until_ns - now_ns : 0; /* the clocks of two cores may differ by this */
	struct timespec pause = {0, (long)(early_ns < EARLY_MAX_NS ? early_ns : EARLY_MAX_NS)};
	if (early_ns)
		nanosleep(&pause, NULL);
	sonde_pool_drain(program->pool, 0);
	return sonde_heap_events_totals(program->blocks, name, out);
}

/* --- start and end ----------------------------------------------------------------------------------------------- */

static void program_end(void *context)
{
	struct program *program = context;
	write_histograms(program);
	if (program->blocks)
		sonde_heap_events_end(program->blocks);
	sonde_devices_free(program->devices);
	sonde_live_fini(program->live);
	munmap(program->live, SONDE_LIVE_B);
	for (size_t i = 0; i < program->histogram_count; i++)
		free(program->histograms[i]);
	free(program->histograms);
	free(program);
}

int sonde_program_new(const struct sonde_source_context *context, struct sonde_pool *pool, pid_t pid,
		      struct sonde_program_sink *out)
{
	struct program *program = calloc(1, sizeof(*program));
	void *live =
	    mmap(NULL, SONDE_LIVE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!program || live == MAP_FAILED) {
		if (live != MAP_FAILED)
			munmap(live, SONDE_LIVE_B);
		free(program);
		return sonde_error(ENOMEM, "no memory to read the events of process %d", (int)pid);
	}
	program->recorder = context->recorder;
	program->snapshots = context->snapshots;
	program->pool = pool;
	program->pid = pid;
	program->process = sonde_recorder_process(context->recorder, pid, sonde_clock_now_ns());
	program->live = sonde_live_init(live);
	*out = (struct sonde_program_sink){
	    .context = program,
	    .site = take_site,
	    .zones = take_zones,
	    .event = take_event,
	    .counter = take_counter,
	    .histogram = take_histogram,
	    .lost = take_lost,
	    .thread_end = take_thread_end,
	    .drained = drained,
	    .answer = answer,
	    .blocks = answer_blocks,
	    .end = program_end,
	};
	return 0;
}
