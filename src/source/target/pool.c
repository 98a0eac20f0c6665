/* pool.c: one process's pool: memory under the session's cap, and a sink that turns its events into the recording's.
 *
 * The memory is allocated before the target may touch it (a full /dev/shm would be SIGBUS in the target) and sealed
 * against truncation (which would be SIGBUS here). A pool begins small and doubles while the target needs more and the
 * session may have more. A process waits for its pool as it starts: where many do, the next one's is made before it comes
 * (most of a millisecond, of which the kernel clears memory). It is never one that another process has had.
 */
#include "source/target/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fold/drain.h"
#include "fold/live.h"
#include "source/target/devices.h"
#include "source/heap/events.h"
#include "source/target/own_tids.h"
#include "util/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define CHUNKS_FIRST 8u
#define CHUNKS_LEAST 2u
#define SPARE_LEAVES 4u /* times CHUNKS_FIRST, that the budget has left */
#define EARLY_MAX_NS 1000000u
#define ZONES_AT_ONCE 1024u /* all that is done with them stays in the nearest cache */

struct histogram {
	uint32_t site; /* the recording's */
	uint64_t count, sum, min, max;
	uint64_t hits[SONDE_HIST_BUCKETS];
};

struct sonde_pool {
	struct sonde_pool_options options;
	int fd;
	ino_t ino;
	size_t size_b;
	uint32_t chunks;
	uint32_t committed;
	uint32_t populated; /* of them */
	struct sonde_ring_pool *ring;
	void *drain_memory;
	struct sonde_drain *drain; /* in it */
	struct sonde_live *live;
	uint32_t process;
	uint32_t sites[SONDE_RING_MAX_SITES]; /* the recording's ids */
	struct histogram **histograms;
	size_t histogram_count;
	struct sonde_heap_events *blocks; /* of the process's own pools; NULL = it has told of none */
	uint64_t blocks_ns;               /* of the latest event of theirs */
	struct sonde_devices *devices;    /* that it has told of; NULL = none */
	struct sonde_own_tids tids;       /* of a process in another pid namespace */
};

/* --- memory -------------------------------------------------------------------------------------------------------*/

static void *map_lazy(size_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Clears chunks up to `to` here, not in the target; a kernel that cannot leaves it to the target. */
static void populate(struct sonde_pool *pool, uint32_t to)
{
	uint32_t from = pool->populated;
	if (to <= from)
		return;
	pool->populated = to;
	(void)madvise((char *)pool->ring + sonde_ring_pool_b(from), (size_t)(to - from) * SONDE_RING_CHUNK_B,
		      MADV_POPULATE_WRITE);
}

/* Gives chunks up to `to` memory; fewer when the machine or the cap has no more. */
static void grow(struct sonde_pool *pool, uint32_t to)
{
	struct sonde_pool_budget *budget = pool->options.budget;
	if (to > pool->chunks)
		to = pool->chunks;
	uint32_t more = to > pool->committed ? to - pool->committed : 0;
	uint32_t left = budget->cap > budget->used ? budget->cap - budget->used : 0;
	if (more > left)
		more = left;
	if (pool->committed + more < CHUNKS_LEAST)
		more = CHUNKS_LEAST - pool->committed;
	off_t at = (off_t)sonde_ring_pool_b(pool->committed);
	if (more && fallocate(pool->fd, 0, at, (off_t)more * SONDE_RING_CHUNK_B))
		more = 0;
	budget->used += more;
	pool->committed += more;
	atomic_store(&pool->ring->may_grow, more && pool->committed < pool->chunks && budget->used < budget->cap);
}

/* Of `most` chunks, 0 = as many as the budget has. */
static int make_memory(struct sonde_pool *pool, uint32_t most)
{
	struct stat made;
	pool->chunks = pool->options.budget->cap;
	if (most && pool->chunks > most)
		pool->chunks = most;
	if (pool->chunks < CHUNKS_LEAST)
		pool->chunks = CHUNKS_LEAST;
	if (pool->chunks > SONDE_RING_MAX_CHUNKS)
		pool->chunks = SONDE_RING_MAX_CHUNKS;
	pool->size_b = sonde_ring_pool_b(pool->chunks);
	pool->fd = memfd_create("sonde-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (pool->fd < 0 || ftruncate(pool->fd, (off_t)pool->size_b) ||
	    fcntl(pool->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
	    fallocate(pool->fd, 0, 0, SONDE_RING_CHUNKS_OFFSET) || fstat(pool->fd, &made))
		return sonde_error(errno, "no memory for the events of a process: %s", strerror(errno));
	pool->ino = made.st_ino;
	pool->ring = mmap(NULL, pool->size_b, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd, 0);
	if (pool->ring == MAP_FAILED) {
		pool->ring = NULL;
		return sonde_error(errno, "cannot map the events of a process: %s", strerror(errno));
	}
	pool->drain_memory = map_lazy(SONDE_DRAIN_B);
	void *live = map_lazy(SONDE_LIVE_B);
	if (live)
		pool->live = sonde_live_init(live);
	if (!pool->drain_memory || !live)
		return sonde_error(ENOMEM, "no memory to read the events of a process");
	grow(pool, CHUNKS_FIRST);
	populate(pool, CHUNKS_LEAST); /* most processes end before they need more */
	return pool->committed ? 0 : sonde_error(ENOMEM, "no memory for the events of a process");
}

static void free_memory(struct sonde_pool *pool)
{
	pool->options.budget->used -= pool->committed;
	if (pool->drain_memory)
		munmap(pool->drain_memory, SONDE_DRAIN_B);
	if (pool->live)
		sonde_live_fini(pool->live);
	if (pool->live)
		munmap(pool->live, SONDE_LIVE_B);
	if (pool->ring)
		munmap(pool->ring, pool->size_b);
	if (pool->fd >= 0)
		close(pool->fd);
	sonde_own_tids_fini(&pool->tids);
	for (size_t i = 0; i < pool->histogram_count; i++)
		free(pool->histograms[i]);
	free(pool->histograms);
	free(pool);
}

/* --- the sink -----------------------------------------------------------------------------------------------------*/

/* A pool of the process's own: a heap, not a site. */
static void take_own_pool(struct sonde_pool *pool, uint32_t site, const char *name)
{
	if (!pool->blocks) {
		if (sonde_heap_events_new(&pool->blocks, pool->options.recorder, pool->options.pid))
			return;
		sonde_heap_events_name(pool->blocks, SONDE_RING_SITE_OTHER, "(other)");
	}
	if (site != SONDE_RING_SITE_OTHER)
		sonde_heap_events_name(pool->blocks, site, name);
}

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct sonde_pool *pool = context;
	if (site->kind == SONDE_SITE_POOL) {
		take_own_pool(pool, site->id, site->name);
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
	pool->sites[site->id] = sonde_recorder_site(pool->options.recorder, &made);
	sonde_live_site(pool->live, site);
}

static uint32_t site_id(struct sonde_pool *pool, uint32_t site)
{
	if (site == SONDE_RING_SITE_OTHER && !pool->sites[site]) {
		struct sonde_recorder_site other = {.kind = SONDE_SITE_ZONE, .name = "(other)"};
		pool->sites[site] = sonde_recorder_site(pool->options.recorder, &other);
	}
	return pool->sites[site];
}

/* Of another pid namespace a thread that nobody saw keeps its own number. */
static pid_t outer_tid(struct sonde_pool *pool, uint32_t tid)
{
	pid_t found = sonde_pool_tid(pool, (pid_t)tid);
	return found ? found : (pid_t)tid;
}

static uint32_t thread_id(struct sonde_pool *pool, struct sonde_drain_thread *thread, uint64_t time_ns)
{
	if (!thread->user)
		thread->user = sonde_recorder_thread(pool->options.recorder, pool->options.pid,
						     outer_tid(pool, thread->tid), time_ns);
	return (uint32_t)thread->user;
}

/* What was open before a gap is not known to have ended: it ends where the gap does. */
static void close_open(struct sonde_pool *pool, struct sonde_drain_thread *thread, uint32_t id, uint64_t time_ns)
{
	const uint32_t end = 0;
	for (uint64_t depth = sonde_live_depth(pool->live, thread); depth > 0; depth--)
		sonde_recorder_zones(pool->options.recorder, pool->process, id, &end, &time_ns, 1);
}

/* Sites into the recording's; 0, an end, stays 0. */
static void translate(struct sonde_pool *pool, const uint32_t *sites, size_t count, uint32_t *ids)
{
	uint32_t other = 0;
	for (size_t i = 0; i < count; i++) {
		other |= sites[i] == SONDE_RING_SITE_OTHER;
		ids[i] = pool->sites[sites[i]];
	}
	for (size_t i = 0; other && i < count; i++)
		ids[i] = sites[i] ? site_id(pool, sites[i]) : 0;
}

static void take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count, int gap)
{
	struct sonde_pool *pool = context;
	uint32_t ids[ZONES_AT_ONCE];
	uint32_t id = thread_id(pool, thread, times_ns[0]);
	if (gap)
		close_open(pool, thread, id, times_ns[0]);
	uint64_t left_out = sonde_live_zones(pool->live, thread, sites, times_ns, count, gap);
	if (left_out) /* with their ends; the target is told, too */
		atomic_fetch_add(&pool->ring->lost[SONDE_RING_LOST_NESTED], 2 * left_out);
	translate(pool, sites, count, ids);
	sonde_recorder_zones(pool->options.recorder, pool->process, id, ids, times_ns, count);
}

static void ask_snapshot(const struct sonde_pool *pool, const struct sonde_event_snapshot *event)
{
	struct sonde_snapshot_ask ask = {
	    .process = pool->process,
	    .pid = pool->options.pid,
	    .reason = SONDE_SNAPSHOT_API,
	    .label = (const char *)(event + 1),
	    .label_b = event->text.len_b - sizeof(event->rss_b),
	    .time_ns = event->text.head.time,
	    .rss_b = event->rss_b,
	    .answer_fd = -1,
	};
	sonde_recorder_ask(pool->options.recorder, &ask);
}

static int is_of_devices(const struct sonde_event *event)
{
	return event->type >= SONDE_EVENT_DEVICE && event->type <= SONDE_EVENT_ACTIVITY_LOST;
}

/* What is told late may be of a thread that has ended since. */
static uint32_t asker_of(struct sonde_pool *pool, const struct sonde_event_activity *activity)
{
	pid_t tid = outer_tid(pool, activity->tid);
	uint64_t asked_ns = activity->queued_ns ? activity->queued_ns : activity->start_ns;
	uint32_t thread = sonde_recorder_known(pool->options.recorder, pool->options.pid, tid, asked_ns);
	return thread ? thread
		      : sonde_recorder_thread(pool->options.recorder, pool->options.pid, tid, activity->head.time);
}

/* `thread`: of who tells. */
static void take_device_event(struct sonde_pool *pool, uint32_t thread, const struct sonde_event *event)
{
	const struct sonde_event_activity *activity = (const void *)event;
	if (!pool->devices && sonde_devices_new(&pool->devices, pool->options.recorder, pool->process))
		return;
	if (event->type == SONDE_EVENT_ACTIVITY && activity->tid == SONDE_DEVICE_TID_UNKNOWN)
		thread = 0;
	else if (event->type == SONDE_EVENT_ACTIVITY && activity->tid)
		thread = asker_of(pool, activity);
	sonde_devices_event(pool->devices, thread, event);
}

static void take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	struct sonde_pool *pool = context;
	uint32_t id = thread_id(pool, thread, event->time);
	if (event->type == SONDE_EVENT_CPU_SAMPLE) {
		if (pool->options.cpu_sample)
			pool->options.cpu_sample(pool->options.context, pool->options.pid, outer_tid(pool, thread->tid),
						 id, (const void *)event);
		return;
	}
	if (event->type == SONDE_EVENT_CALL_STACK) {
		if (pool->options.call)
			pool->options.call(pool->options.context, pool->options.pid, id, (const void *)event);
		return;
	}
	if (event->type == SONDE_EVENT_SNAPSHOT) {
		ask_snapshot(pool, (const void *)event);
		return;
	}
	if (event->type == SONDE_EVENT_POOL_TAKE || event->type == SONDE_EVENT_POOL_GIVE) {
		if (!pool->blocks)
			take_own_pool(pool, SONDE_RING_SITE_OTHER, NULL);
		if (pool->blocks)
			sonde_heap_events_add(pool->blocks, thread->serial, id, (const void *)event);
		if (event->time > pool->blocks_ns)
			pool->blocks_ns = event->time;
		return;
	}
	if (is_of_devices(event)) {
		take_device_event(pool, id, event);
		return;
	}
	sonde_live_event(pool->live, event);
	struct sonde_event *own = (struct sonde_event *)(uintptr_t)event; /* the drain's copy, ours to change */
	own->site = event->site ? site_id(pool, event->site) : 0;
	sonde_recorder_event(pool->options.recorder, pool->process, id, own);
}

static void take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	struct sonde_pool *pool = context;
	struct sonde_event_value event = {.value = (double)total};
	event.head.type =
	    sonde_live_kind(pool->live, site) == SONDE_SITE_COUNT ? SONDE_EVENT_COUNT : SONDE_EVENT_COUNTER;
	event.head.words = sizeof(event) / 8;
	event.head.site = site_id(pool, site);
	event.head.time = sonde_clock_now_ns();
	sonde_recorder_event(pool->options.recorder, pool->process, thread_id(pool, thread, event.head.time),
			     &event.head);
}

static void take_heap(void *context, struct sonde_drain_thread *thread, const uint64_t *words, size_t count)
{
	struct sonde_pool *pool = context;
	struct sonde_pool_thread from = {thread->serial, thread_id(pool, thread, sonde_clock_now_ns())};
	if (pool->options.heap)
		pool->options.heap(pool->options.context, pool->options.pid, &from, words, count);
}

static struct histogram *histogram_of(struct sonde_pool *pool, uint32_t site)
{
	for (size_t i = 0; i < pool->histogram_count; i++)
		if (pool->histograms[i]->site == site)
			return pool->histograms[i];
	struct histogram **list = realloc(pool->histograms, (pool->histogram_count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	pool->histograms = list;
	struct histogram *made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->site = site;
	made->min = UINT64_MAX;
	list[pool->histogram_count++] = made;
	return made;
}

static void take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			   uint64_t sum, uint64_t min, uint64_t max)
{
	(void)thread;
	struct sonde_pool *pool = context;
	struct histogram *histogram = histogram_of(pool, site_id(pool, site));
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

static void take_lost(void *context, enum sonde_ring_lost cause, uint64_t count)
{
	struct sonde_pool *pool = context;
	struct sonde_recorder_loss loss = {.source = pool->options.source, .process = pool->process, .count = count};
	loss.cause = sonde_ring_lost_text(cause);
	loss.time_ns = sonde_clock_now_ns();
	sonde_recorder_lost(pool->options.recorder, &loss);
	if (pool->devices)
		sonde_devices_dropped(pool->devices, count);
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	struct sonde_pool *pool = context;
	if (thread->index < SONDE_DRAIN_ZONE_THREADS)
		sonde_live_thread_end(pool->live, thread);
	if (pool->options.heap)
		take_heap(pool, thread, NULL, 0);
	if (pool->blocks)
		sonde_heap_events_thread_end(pool->blocks, thread->serial);
	if (thread->user)
		sonde_recorder_thread_end(pool->options.recorder, (uint32_t)thread->user);
}

static int thread_alive(void *context, uint32_t tid)
{
	const struct sonde_pool *pool = context;
	if (pool->options.pid != pool->options.own_pid)
		return 1;
	return !syscall(SYS_tgkill, pool->options.pid, tid, 0) || errno != ESRCH;
}

static void write_histograms(struct sonde_pool *pool)
{
	for (size_t i = 0; i < pool->histogram_count; i++) {
		const struct histogram *from = pool->histograms[i];
		struct sonde_recorder_histogram histogram = {from->site, pool->process, from->hits, from->count,
							     from->sum,  from->min,     from->max};
		if (from->count)
			sonde_recorder_histogram(pool->options.recorder, &histogram);
	}
}

/* --- public -------------------------------------------------------------------------------------------------------*/

static int make(struct sonde_pool **out, struct sonde_pool_budget *budget, uint32_t most)
{
	struct sonde_pool *pool = calloc(1, sizeof(*pool));
	if (!pool)
		return sonde_error(ENOMEM, "no memory for a process");
	pool->options.budget = budget;
	pool->fd = -1;
	int code = make_memory(pool, most);
	if (code)
		free_memory(pool);
	else
		*out = pool;
	return code;
}

/* Address space that is limited is not spent on processes that may never come. */
static int has_address_space(void)
{
	struct rlimit limit;
	return !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur == RLIM_INFINITY;
}

static void free_ended(struct sonde_pool_budget *budget)
{
	if (budget->ended)
		free_memory(budget->ended);
	budget->ended = NULL;
}

void sonde_pool_prepare(struct sonde_pool_budget *budget)
{
	free_ended(budget);
	budget->is_kept = 1;
	if (budget->spare || budget->has_none || budget->used + SPARE_LEAVES * CHUNKS_FIRST > budget->cap)
		return;
	budget->has_none = !has_address_space() || make(&budget->spare, budget, 0) != 0;
}

void sonde_pool_forget(struct sonde_pool_budget *budget)
{
	if (budget->spare)
		free_memory(budget->spare);
	budget->spare = NULL;
	free_ended(budget);
}

/* The prepared one where it is not larger than the process may have. */
static int take_or_make(struct sonde_pool **out, struct sonde_pool_budget *budget, uint32_t most)
{
	struct sonde_pool *spare = budget->spare;
	if (!spare || (most && spare->chunks > most))
		return make(out, budget, most);
	budget->spare = NULL;
	*out = spare;
	return 0;
}

int sonde_pool_new(struct sonde_pool **out, const struct sonde_pool_options *options)
{
	struct sonde_pool *pool;
	int code = take_or_make(&pool, options->budget, options->most);
	if (code)
		return code;
	pool->options = *options;
	pool->drain = sonde_drain_init(pool->drain_memory, pool->ring, pool->chunks, options->clock);
	sonde_drain_format(pool->ring, pool->chunks, pool->committed, options->clock, options->on_full);
	pool->process = sonde_recorder_process(options->recorder, options->pid, sonde_clock_now_ns());
	*out = pool;
	return 0;
}

void sonde_pool_drain(struct sonde_pool *pool, int final)
{
	const struct sonde_drain_sink sink = {
	    .context = pool,
	    .site = take_site,
	    .zones = take_zones,
	    .event = take_event,
	    .counter = take_counter,
	    .heap = take_heap,
	    .histogram = take_histogram,
	    .lost = take_lost,
	    .thread_end = take_thread_end,
	    .alive = thread_alive,
	    .zones_max = ZONES_AT_ONCE,
	};
	uint32_t asked = atomic_load(&pool->ring->doorbell);
	uint32_t before = pool->committed;
	uint64_t before_ns = sonde_clock_now_ns();
	sonde_drain_run(pool->drain, pool->options.fit, &sink, final);
	if (pool->blocks)
		sonde_heap_events_run(pool->blocks, before_ns);
	if (pool->devices)
		sonde_devices_settle(pool->devices);
	if (final)
		return;
	if (asked || sonde_drain_used(pool->drain) * 2 > pool->populated)
		populate(pool, pool->committed);
	if (!asked && sonde_drain_used(pool->drain) * 2 < pool->committed)
		return;
	grow(pool, pool->committed * 2);
	populate(pool, pool->committed);
	if (pool->committed > before)
		sonde_drain_commit(pool->ring, before, pool->committed);
}

void sonde_pool_free(struct sonde_pool *pool)
{
	atomic_store(&pool->ring->closed, 1);
	sonde_pool_drain(pool, 1);
	write_histograms(pool);
	if (pool->blocks)
		sonde_heap_events_end(pool->blocks);
	sonde_devices_free(pool->devices);
	struct sonde_pool_budget *budget = pool->options.budget;
	if (budget->is_kept && !budget->ended && budget->used < budget->cap / 2)
		budget->ended = pool;
	else
		free_memory(pool);
}

pid_t sonde_pool_tid(struct sonde_pool *pool, pid_t own)
{
	const struct sonde_pool_options *options = &pool->options;
	if (options->pid == options->own_pid)
		return own;
	return own == options->own_pid ? options->pid : sonde_own_tids_find(&pool->tids, options->pid, own);
}

int sonde_pool_fd(const struct sonde_pool *pool)
{
	return pool->fd;
}

uint64_t sonde_pool_size_b(const struct sonde_pool *pool)
{
	return pool->size_b;
}

size_t sonde_pool_answer(const struct sonde_pool *pool, const struct sonde_link_query *query,
			 struct sonde_link_answer *out)
{
	return sonde_live_answer(pool->live, query, out);
}

/* Events are put in order up to a time that had passed before they were read: so they are read once more, after the
 * latest of those that are there. */
int sonde_pool_blocks(struct sonde_pool *pool, const char *name, struct sonde_link_blocks *out)
{
	sonde_pool_drain(pool, 0);
	if (!pool->blocks)
		return -ENOENT;
	uint64_t now_ns = sonde_clock_now_ns(), until_ns = pool->blocks_ns + 1;
	uint64_t early_ns = now_ns < until_ns ? until_ns - now_ns : 0; /* clocks of two cores differ */
	struct timespec rest = {0, (long)(early_ns < EARLY_MAX_NS ? early_ns : EARLY_MAX_NS)};
	if (early_ns)
		nanosleep(&rest, NULL);
	sonde_pool_drain(pool, 0);
	return sonde_heap_events_totals(pool->blocks, name, out);
}

int sonde_pool_is_mapped(const struct sonde_pool *pool)
{
	char path[64], line[512], mark[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", pool->options.pid);
	snprintf(mark, sizeof(mark), " %lu ", (unsigned long)pool->ino);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return 1;
	int found = 0, lines = 0;
	for (; !found && fgets(line, sizeof(line), maps); lines++)
		found = strstr(line, mark) && strstr(line, "memfd:sonde-pool");
	fclose(maps);
	return found || !lines; /* the first thread has ended before others: nothing is told of it */
}
