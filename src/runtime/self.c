/* self.c: a process that writes its own recording: a pool of its own, one drain thread, one file.
 *
 * The same rings and the same reading side as under the recorder; only the sink differs: each round's zones of a thread
 * become a chunk. The drain thread blocks all signals and wakes every 20 ms, or when a thread finds the pool full.
 * Memory is mapped, never allocated. A mutex stands between the drain thread and those who ask or stop; no event takes
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/varint.h"
#include "fold/drain.h"
#include "fold/live.h"
#include "runtime/file.h"
#include "runtime/runtime.h"

#define BUFFER_DEFAULT_B (16u << 20)
#define CHUNKS_LEAST 2u
#define ROUND_NS 20000000
#define DEPTH 256u
#define STATS 1024u
#define EVENTS_B (1u << 20)
#define HISTS 256u

struct writer_thread {
	struct sonde_pair pair;
	struct sonde_pair_frame frames[DEPTH];
};

struct merged {
	uint32_t site;
	uint64_t count, sum, min, max;
	uint64_t hits[SONDE_HIST_BUCKETS];
};

struct self {
	pthread_mutex_t lock;
	pthread_t drainer;
	_Atomic int running;
	struct sonde_ring_pool *ring;
	struct sonde_drain *drain;
	struct sonde_live *live;
	struct sonde_file *file;
	struct sonde_clockfit fit;
	uint32_t threads_made;
	uint32_t sites_made;
	uint32_t sites[SONDE_RING_MAX_SITES];
	struct sonde_zone_stat stats[STATS];
	char summary[sizeof(struct sonde_zones_summary) + (DEPTH + STATS) * sizeof(struct sonde_zone_stat)];
	uint8_t body[8 + SONDE_RING_WORDS * 16];
	uint8_t times[SONDE_RING_WORDS * SONDE_VARINT_MAX_B];
	uint32_t events_thread, events_count, events_b;
	uint64_t events_min_ns, events_max_ns;
	char events[EVENTS_B];
	uint32_t merged_count;
	struct merged merged[HISTS];
	struct writer_thread threads[SONDE_DRAIN_THREADS];
};

static struct self *self; /* the newest recording; old ones stay mapped, since threads may still look at them */
static int file_errno;

/* --- sink ---------------------------------------------------------------------------------------------------------*/

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct self *own = context;
	struct sonde_meta_site record = {.head.type = SONDE_META_SITE, .id = ++own->sites_made, .kind = site->kind};
	record.name = sonde_file_string(own->file, site->name, strlen(site->name));
	record.function = sonde_file_string(own->file, site->function, strlen(site->function));
	record.file = sonde_file_string(own->file, site->file, strlen(site->file));
	record.unit = sonde_file_string(own->file, site->unit, strlen(site->unit));
	record.line = site->line;
	record.color = site->color;
	sonde_file_meta(own->file, &record, sizeof(record), NULL, 0);
	own->sites[site->id] = record.id;
	sonde_live_site(own->live, site);
}

static uint32_t site_id(struct self *own, uint32_t site)
{
	if (site == SONDE_RING_SITE_OTHER && !own->sites[site]) {
		struct sonde_meta_site record = {.head.type = SONDE_META_SITE, .id = ++own->sites_made};
		record.kind = SONDE_SITE_ZONE;
		record.name = sonde_file_string(own->file, "(other)", 7);
		sonde_file_meta(own->file, &record, sizeof(record), NULL, 0);
		own->sites[site] = record.id;
	}
	return own->sites[site];
}

static uint32_t thread_id(struct self *own, struct sonde_drain_thread *thread, uint64_t time_ns)
{
	if (thread->user)
		return (uint32_t)thread->user;
	char path[64], name[32];
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD, .id = ++own->threads_made, .process = 1};
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread->tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t name_b = fd < 0 ? 0 : read(fd, name, sizeof(name));
	if (fd >= 0)
		close(fd);
	record.tid = thread->tid;
	record.name = name_b > 1 ? sonde_file_string(own->file, name, (size_t)name_b - 1) : 0;
	record.start_ns = time_ns;
	sonde_file_meta(own->file, &record, sizeof(record), NULL, 0);
	thread->user = record.id;
	return record.id;
}

/* Head, open zones and sums of a chunk; returns its size. */
static uint32_t write_summary(struct self *own, const struct sonde_zones_summary *head,
			      const struct sonde_pair_frame *open)
{
	char *to = own->summary;
	memcpy(to, head, sizeof(*head));
	to += sizeof(*head);
	memcpy(to, open, head->open * sizeof(*open));
	to += head->open * sizeof(*open);
	for (uint32_t i = 0; i < STATS; i++)
		if (own->stats[i].site) {
			memcpy(to, &own->stats[i], sizeof(own->stats[i]));
			to += sizeof(own->stats[i]);
		}
	return (uint32_t)(to - own->summary);
}

/* Encodes columns and adds up; returns the size of the body. */
static uint32_t encode_zones(struct self *own, struct sonde_pair *pair, struct sonde_pair_table *table,
			     const uint32_t *sites, const uint64_t *times_ns, size_t count)
{
	uint8_t *site_at = own->body + 8, *time_at = own->times;
	uint64_t before_ns = times_ns[0];
	struct sonde_pair_zone zone;
	for (size_t i = 0; i < count; i++) {
		uint32_t id = sites[i] ? site_id(own, sites[i]) : 0;
		site_at = sonde_varint_put(site_at, id);
		time_at = sonde_varint_put(time_at, times_ns[i] - before_ns);
		before_ns = times_ns[i];
		if (id) {
			sonde_pair_begin(pair, id, times_ns[i]);
		} else if (sonde_pair_end(pair, times_ns[i], &zone)) {
			struct sonde_zone_stat *stat = sonde_pair_row(table, zone.site);
			if (stat)
				sonde_pair_add(stat, &zone);
		}
	}
	uint32_t sizes[2] = {(uint32_t)(site_at - own->body - 8), (uint32_t)(time_at - own->times)};
	memcpy(own->body, sizes, sizeof(sizes));
	memcpy(site_at, own->times, sizes[1]);
	return 8 + sizes[0] + sizes[1];
}

static void take_zones_part(struct self *own, struct sonde_drain_thread *thread, const uint32_t *sites,
			    const uint64_t *times_ns, size_t count)
{
	struct sonde_pair_frame open[DEPTH];
	struct sonde_pair *pair = &own->threads[thread->index].pair;
	struct sonde_pair_table table = {.rows = own->stats, .capacity = STATS};
	memset(own->stats, 0, sizeof(own->stats));
	struct sonde_zones_summary head = {.open = pair->depth};
	memcpy(open, pair->frames, pair->depth * sizeof(*open));
	uint64_t unmatched = pair->unmatched;
	struct sonde_file_chunk chunk = {.type = SONDE_CHUNK_ZONES, .thread = thread_id(own, thread, times_ns[0])};
	chunk.body_b = encode_zones(own, pair, &table, sites, times_ns, count);
	chunk.body = own->body;
	head.sites = table.used;
	head.unmatched = pair->unmatched - unmatched;
	chunk.summary_b = write_summary(own, &head, open);
	chunk.summary = own->summary;
	chunk.count = (uint32_t)count;
	chunk.time_min_ns = times_ns[0];
	chunk.time_max_ns = times_ns[count - 1];
	sonde_file_chunk(own->file, &chunk);
}

static void take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count, int gap)
{
	struct self *own = context;
	struct sonde_pair *pair = &own->threads[thread->index].pair;
	if (!pair->frames)
		sonde_pair_init(pair, own->threads[thread->index].frames, DEPTH);
	static const uint32_t ends[DEPTH];
	if (gap && pair->depth) { /* what was open is no longer known: it ends where the gap does */
		uint64_t times[DEPTH];
		for (uint32_t i = 0; i < pair->depth; i++)
			times[i] = times_ns[0];
		take_zones_part(own, thread, ends, times, pair->depth);
		pair->over = 0;
	}
	sonde_live_zones(own->live, thread, sites, times_ns, count, gap);
	take_zones_part(own, thread, sites, times_ns, count);
}

static void events_flush(struct self *own)
{
	if (!own->events_count)
		return;
	struct sonde_file_chunk chunk = {.type = SONDE_CHUNK_EVENTS, .thread = own->events_thread};
	chunk.count = own->events_count;
	chunk.time_min_ns = own->events_min_ns;
	chunk.time_max_ns = own->events_max_ns;
	chunk.body = own->events;
	chunk.body_b = own->events_b;
	sonde_file_chunk(own->file, &chunk);
	own->events_count = 0;
	own->events_b = 0;
}

static void put_event(struct self *own, struct sonde_drain_thread *thread, const struct sonde_event *event,
		      uint32_t site)
{
	uint32_t id = thread_id(own, thread, event->time);
	uint32_t size_b = event->words * 8u;
	if (own->events_thread != id || own->events_b + size_b > EVENTS_B)
		events_flush(own);
	own->events_thread = id;
	struct sonde_event *copy = (struct sonde_event *)(void *)(own->events + own->events_b);
	memcpy(copy, event, size_b);
	copy->site = site;
	if (!own->events_count || event->time < own->events_min_ns)
		own->events_min_ns = event->time;
	if (!own->events_count || event->time > own->events_max_ns)
		own->events_max_ns = event->time;
	own->events_count++;
	own->events_b += size_b;
}

static void take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	struct self *own = context;
	if (event->type == SONDE_EVENT_CPU_SAMPLE)
		return;
	sonde_live_event(own->live, event);
	put_event(own, thread, event, event->site ? site_id(own, event->site) : 0);
}

static void take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	struct self *own = context;
	int counts = sonde_live_kind(own->live, site) == SONDE_SITE_COUNT;
	struct sonde_event_value event = {.value = (double)total};
	event.head.type = counts ? SONDE_EVENT_COUNT : SONDE_EVENT_COUNTER;
	event.head.words = sizeof(event) / 8;
	event.head.time = sonde_clock_now_ns();
	put_event(own, thread, &event.head, site_id(own, site));
}

static void take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			   uint64_t sum, uint64_t min, uint64_t max)
{
	(void)thread;
	struct self *own = context;
	uint32_t id = site_id(own, site), at = 0;
	while (at < own->merged_count && own->merged[at].site != id)
		at++;
	if (at == HISTS)
		return;
	struct merged *into = &own->merged[at];
	if (at == own->merged_count) {
		own->merged_count++;
		into->site = id;
		into->min = UINT64_MAX;
	}
	for (uint32_t i = 0; i < SONDE_HIST_BUCKETS; i++) {
		into->hits[i] += hits[i];
		into->count += hits[i];
	}
	into->sum += sum;
	into->min = min < into->min ? min : into->min;
	into->max = max > into->max ? max : into->max;
}

static void take_lost(void *context, enum sonde_ring_lost cause, uint64_t count)
{
	static const char *const causes[SONDE_RING_LOST_CAUSES] = {
	    "ring full",
	    "overwritten",
	    "signal handler inside the slow path",
	    "event too long",
	    "ring full, too many zones open",
	    "site table full: counted as (other)",
	    "unknown",
	    "unknown",
	};
	struct self *own = context;
	struct sonde_meta_lost record = {.head.type = SONDE_META_LOST, .process = 1, .count = count};
	record.source = sonde_file_string(own->file, "zones", 5);
	record.cause = sonde_file_string(own->file, causes[cause], strlen(causes[cause]));
	record.from_ns = record.to_ns = sonde_clock_now_ns();
	sonde_file_meta(own->file, &record, sizeof(record), NULL, 0);
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	struct self *own = context;
	own->threads[thread->index].pair.frames = NULL;
	sonde_live_thread_end(own->live, thread);
}

static int thread_alive(void *context, uint32_t tid)
{
	(void)context;
	return !syscall(SYS_tgkill, getpid(), tid, 0) || errno != ESRCH;
}

static void drain_round(struct self *own, int final)
{
	const struct sonde_drain_sink sink = {
	    own,       take_site,       take_zones,   take_event, take_counter, take_histogram,
	    take_lost, take_thread_end, thread_alive,
	};
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	uint64_t passed_ns = anchor.mono_ns - own->fit.first.mono_ns;
	if (!own->fit.count && passed_ns < 5000000) { /* a line needs two points some time apart */
		struct timespec rest = {0, (long)(5000000 - passed_ns)};
		while (nanosleep(&rest, &rest) && errno == EINTR)
			;
		anchor = sonde_clockfit_read();
	}
	sonde_clockfit_add(&own->fit, &anchor);
	sonde_drain_run(own->drain, &own->fit, &sink, final);
	events_flush(own);
}

static void *drain_loop(void *data)
{
	struct self *own = data;
	struct timespec round = {0, ROUND_NS};
	prctl(PR_SET_NAME, "sonde");
	while (atomic_load(&own->running)) {
		syscall(SYS_futex, &own->ring->doorbell, FUTEX_WAIT, 0, &round, NULL, 0);
		pthread_mutex_lock(&own->lock);
		if (atomic_load(&own->running))
			drain_round(own, 0);
		pthread_mutex_unlock(&own->lock);
	}
	return NULL;
}

/* --- the start and end of a file ----------------------------------------------------------------------------------*/

static uint32_t string_of_file(struct self *own, const char *path)
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
	return got > 0 ? sonde_file_string(own->file, text, (size_t)got) : 0;
}

static void write_clock(struct self *own)
{
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	struct sonde_meta_clock record = {.head.type = SONDE_META_CLOCK, .mono_ns = anchor.mono_ns};
	record.cycles = own->ring->clock == SONDE_RING_CLOCK_CYCLES ? anchor.cycles : 0;
	record.raw_ns = sonde_clock_read_ns(CLOCK_MONOTONIC_RAW);
	record.real_ns = sonde_clock_read_ns(CLOCK_REALTIME);
	record.boot_ns = sonde_clock_read_ns(CLOCK_BOOTTIME);
	record.error_ns = sonde_clock_now_ns() - anchor.mono_ns;
	sonde_file_meta(own->file, &record, sizeof(record), NULL, 0);
}

static void write_begin(struct self *own)
{
	struct sonde_meta_process process = {.head.type = SONDE_META_PROCESS, .id = 1, .pid = (uint32_t)getpid()};
	process.name = string_of_file(own, "/proc/self/comm");
	process.command = string_of_file(own, "/proc/self/cmdline");
	process.start_ns = sonde_clock_now_ns();
	sonde_file_meta(own->file, &process, sizeof(process), NULL, 0);
	struct sonde_meta_info command = {.head.type = SONDE_META_INFO, .value = process.command};
	command.key = sonde_file_string(own->file, "run.command", 11);
	sonde_file_meta(own->file, &command, sizeof(command), NULL, 0);
	sonde_file_info(own->file, "run.recorder", "libsonde inside the program");
	struct sonde_meta_source source = {.head.type = SONDE_META_SOURCE, .state = SONDE_SOURCE_ON};
	const char method[] = "rings in shared memory, written by the program itself";
	source.name = sonde_file_string(own->file, "zones", 5);
	source.method = sonde_file_string(own->file, method, sizeof(method) - 1);
	sonde_file_meta(own->file, &source, sizeof(source), NULL, 0);
	write_clock(own);
}

static void write_histograms(struct self *own)
{
	for (uint32_t i = 0; i < own->merged_count; i++) {
		const struct merged *from = &own->merged[i];
		struct sonde_meta_histogram record = {
		    .head.type = SONDE_META_HISTOGRAM, .site = from->site, .process = 1};
		record.count = from->count;
		record.sum = from->sum;
		record.min = from->min;
		record.max = from->max;
		uint8_t *to = own->body;
		uint32_t last = 0;
		for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++) {
			if (!from->hits[bucket])
				continue;
			to = sonde_varint_put(to, bucket - last);
			to = sonde_varint_put(to, from->hits[bucket]);
			last = bucket;
			record.pairs++;
		}
		sonde_file_meta(own->file, &record, sizeof(record), own->body, (size_t)(to - own->body));
	}
}

static int write_end(struct self *own)
{
	write_histograms(own);
	write_clock(own);
	struct sonde_meta_close record = {.head.type = SONDE_META_CLOSE, .time_ns = sonde_clock_now_ns(), .status = -1};
	sonde_file_meta(own->file, &record, sizeof(record), NULL, 0);
	return sonde_file_close(own->file);
}

/* --- start and stop -----------------------------------------------------------------------------------------------*/

static void *map_lazy(size_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Shared memory, so that a forked child that is late still writes into the parent's; aligned as chunks must be. */
static struct sonde_ring_pool *make_ring(uint32_t chunks, uint32_t on_full, uint32_t clock)
{
	size_t size_b = sonde_ring_pool_b(chunks);
	char *span = mmap(NULL, size_b + SONDE_RING_CHUNK_B, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (span == MAP_FAILED)
		return NULL;
	size_t skip_b = (SONDE_RING_CHUNK_B - (size_t)((uintptr_t)span % SONDE_RING_CHUNK_B)) % SONDE_RING_CHUNK_B;
	struct sonde_ring_pool *ring = (struct sonde_ring_pool *)(void *)(span + skip_b);
	sonde_drain_format(ring, chunks, chunks, clock, on_full);
	return ring;
}

static int start_thread(struct self *own)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_store(&own->running, 1);
	int failed = pthread_create(&own->drainer, NULL, drain_loop, own);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

static uint32_t clock_kind(void)
{
	int tsc = PR_TSC_ENABLE;
	int forbidden = !prctl(PR_GET_TSC, &tsc) && tsc == PR_TSC_SIGSEGV;
	return !forbidden && sonde_clockfit_usable() ? SONDE_RING_CLOCK_CYCLES : SONDE_RING_CLOCK_NS;
}

static struct self *self_new(const struct sonde_options *options)
{
	size_t chunks = (options->buffer_b ? options->buffer_b : BUFFER_DEFAULT_B) / SONDE_RING_CHUNK_B;
	chunks = chunks < CHUNKS_LEAST ? CHUNKS_LEAST : chunks > SONDE_RING_MAX_CHUNKS ? SONDE_RING_MAX_CHUNKS : chunks;
	struct self *own = map_lazy(sizeof(*own));
	void *drain = map_lazy(SONDE_DRAIN_B), *live = map_lazy(SONDE_LIVE_B);
	uint32_t clock = clock_kind();
	if (!own || !drain || !live || !(own->ring = make_ring((uint32_t)chunks, (uint32_t)options->on_full, clock)))
		return NULL;
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	sonde_clockfit_init(&own->fit, &anchor);
	own->drain = sonde_drain_init(drain, own->ring, (uint32_t)chunks, clock);
	own->live = sonde_live_init(live);
	pthread_mutex_init(&own->lock, NULL);
	return own;
}

/* An existing PATH is kept: a process that executes another program has the same pid, and so the same name. */
static int open_file(struct self *own, const char *path, int may_number)
{
	char numbered[2048];
	int code = sonde_file_open(&own->file, path);
	size_t stem_b = strlen(path);
	if (stem_b > 6 && !strcmp(path + stem_b - 6, ".sonde"))
		stem_b -= 6;
	for (int i = 1; code == -EEXIST && may_number && i < 1000; i++) {
		snprintf(numbered, sizeof(numbered), "%.*s.%d%s", (int)stem_b, path, i, path + stem_b);
		code = sonde_file_open(&own->file, numbered);
	}
	return code;
}

int sonde_self_start(struct sonde_process *process, const char *path, int may_number,
		     const struct sonde_options *options)
{
	struct self *own = self_new(options);
	if (!own)
		return SONDE_ERR_SYSTEM;
	int code = open_file(own, path, may_number);
	if (code) {
		file_errno = -code;
		return SONDE_ERR_FILE;
	}
	write_begin(own);
	if (start_thread(own)) {
		sonde_file_close(own->file);
		return SONDE_ERR_SYSTEM;
	}
	self = own;
	process->pool_b = sonde_ring_pool_b(own->ring->chunk_count);
	atomic_store(&process->pool, own->ring);
	return SONDE_OK;
}

int sonde_self_stop(void)
{
	struct self *own = self;
	if (!own || !atomic_exchange(&own->running, 0))
		return SONDE_ERR_OFF;
	atomic_store(&own->ring->doorbell, 1);
	syscall(SYS_futex, &own->ring->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(own->drainer, NULL);
	pthread_mutex_lock(&own->lock);
	atomic_store(&own->ring->closed, 1);
	drain_round(own, 1);
	int code = write_end(own);
	own->file = NULL;
	pthread_mutex_unlock(&own->lock);
	file_errno = code ? -code : file_errno;
	return code ? SONDE_ERR_FILE : SONDE_OK;
}

void sonde_self_forget(void)
{
	if (self && self->file)
		sonde_file_abandon(self->file);
	self = NULL;
}

int sonde_self_ask(const struct sonde_link_query *query, struct sonde_link_answer *out)
{
	struct self *own = self;
	if (!own)
		return SONDE_ERR_OFF;
	pthread_mutex_lock(&own->lock);
	if (atomic_load(&own->running))
		drain_round(own, 0);
	sonde_live_answer(own->live, query, out);
	pthread_mutex_unlock(&own->lock);
	return SONDE_OK;
}

int sonde_self_errno(void)
{
	return file_errno;
}
