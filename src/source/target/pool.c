/* pool.c: one process's pool: memory under the session's limit, and a sink that passes its records to the listeners.
 *
 * The memory is allocated before the target may touch it (a full /dev/shm would be SIGBUS in the target) and sealed
 * against truncation (which would be SIGBUS here). A pool starts small and doubles when the target needs more, as far
 * as the budget allows. A process waits for its pool at startup, and creating one takes most of a millisecond, which
 * the kernel spends on clearing memory. So if many processes start, the next pool is created in advance. A pool is
 * never reused for another process.
 */
#include "source/target/pool.h"

#include <errno.h>
#include <fcntl.h>
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
#include "source/target/own_tids.h"
#include "util/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define CHUNKS_FIRST 8u
#define CHUNKS_LEAST 2u
#define SPARE_LEAVES 4u /* × CHUNKS_FIRST chunks of budget must be left to prepare a pool */

struct sonde_pool {
	struct sonde_pool_options options;
	int fd;
	ino_t ino;
	size_t size_b;
	uint32_t chunks;
	uint32_t committed;
	uint32_t populated; /* committed chunks that have been cleared */
	struct sonde_ring_pool *ring;
	void *drain_memory;
	struct sonde_drain *drain; /* lies in drain_memory */
	uint32_t process;
	struct sonde_program_sink program; /* `end` NULL: no listener wants libsonde's records */
	struct sonde_own_tids tids;        /* only for a process in another pid namespace */
};

/* --- memory -------------------------------------------------------------------------------------------------------*/

static void *map_lazy(size_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Lets the kernel clear the chunks up to `to` now, so that this costs CPU time of ours and not of the target. An old
 * kernel clears them when the target first writes to them. */
static void populate(struct sonde_pool *pool, uint32_t to)
{
	uint32_t from = pool->populated;
	if (to <= from)
		return;
	pool->populated = to;
	(void)madvise((char *)pool->ring + sonde_ring_pool_b(from), (size_t)(to - from) * SONDE_RING_CHUNK_B,
		      MADV_POPULATE_WRITE);
}

/* Allocates memory for chunks up to `to`; fewer if the machine or the budget has no more. */
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

/* Creates a pool of at most `most` chunks; 0 = as many as the budget has. */
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
	if (!pool->drain_memory)
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
	if (pool->ring)
		munmap(pool->ring, pool->size_b);
	if (pool->fd >= 0)
		close(pool->fd);
	sonde_own_tids_fini(&pool->tids);
	free(pool);
}

/* --- the sink -----------------------------------------------------------------------------------------------------*/

pid_t sonde_pool_outer_tid(struct sonde_pool *pool, uint32_t own)
{
	pid_t found = sonde_pool_tid(pool, (pid_t)own);
	return found ? found : (pid_t)own;
}

uint32_t sonde_pool_thread_id(struct sonde_pool *pool, struct sonde_drain_thread *thread, uint64_t time_ns)
{
	if (!thread->user)
		thread->user = sonde_recorder_thread(pool->options.recorder, pool->options.pid,
						     sonde_pool_outer_tid(pool, thread->tid), time_ns);
	return (uint32_t)thread->user;
}

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct sonde_pool *pool = context;
	if (pool->program.end)
		pool->program.site(pool->program.context, site);
}

static void take_zones(void *context, struct sonde_drain_thread *thread, const uint32_t *sites,
		       const uint64_t *times_ns, size_t count, int gap)
{
	struct sonde_pool *pool = context;
	if (pool->program.end)
		pool->program.zones(pool->program.context, thread, sites, times_ns, count, gap);
}

static void take_event(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event)
{
	struct sonde_pool *pool = context;
	const struct sonde_listeners *listeners = pool->options.listeners;
	if (event->type == SONDE_EVENT_CPU_SAMPLE)
		SONDE_LISTENERS_CALL(listeners, sample, pool->options.pid, sonde_pool_outer_tid(pool, thread->tid),
				     sonde_pool_thread_id(pool, thread, event->time), (const void *)event);
	else if (event->type == SONDE_EVENT_CALL_STACK)
		SONDE_LISTENERS_CALL(listeners, call, pool->options.pid,
				     sonde_pool_thread_id(pool, thread, event->time), (const void *)event);
	else if (pool->program.end)
		pool->program.event(pool->program.context, thread, event);
}

static void take_counter(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total)
{
	struct sonde_pool *pool = context;
	if (pool->program.end)
		pool->program.counter(pool->program.context, thread, site, total);
}

static void take_heap(void *context, struct sonde_drain_thread *thread, const uint64_t *words, size_t count)
{
	struct sonde_pool *pool = context;
	const struct sonde_listeners *listeners = pool->options.listeners;
	for (size_t i = 0; i < listeners->count; i++) {
		const struct sonde_channel_listener *listener = listeners->rows[i];
		if (!listener->heap) /* also avoids creating an id for the thread */
			continue;
		struct sonde_pool_thread from = {thread->serial,
						 sonde_pool_thread_id(pool, thread, sonde_clock_now_ns())};
		listener->heap(listener->context, pool->options.pid, &from, words, count);
	}
}

static void take_histogram(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			   uint64_t sum, uint64_t min, uint64_t max)
{
	struct sonde_pool *pool = context;
	if (pool->program.end)
		pool->program.histogram(pool->program.context, thread, site, hits, sum, min, max);
}

static void take_lost(void *context, enum sonde_ring_lost cause, uint64_t count)
{
	struct sonde_pool *pool = context;
	struct sonde_recorder_loss loss = {.source = pool->options.source,
					   .cause = sonde_ring_lost_text(cause),
					   .process = pool->process,
					   .count = count};
	sonde_recorder_lost(pool->options.recorder, &loss);
	if (pool->program.end)
		pool->program.lost(pool->program.context, count);
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	struct sonde_pool *pool = context;
	if (pool->program.end)
		pool->program.thread_end(pool->program.context, thread);
	take_heap(pool, thread, NULL, 0);
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

/* --- public -------------------------------------------------------------------------------------------------------*/

/* The first listener that wants the process's libsonde records gets them. */
static int find_program(struct sonde_pool *pool)
{
	const struct sonde_listeners *listeners = pool->options.listeners;
	for (size_t i = 0; i < listeners->count; i++) {
		const struct sonde_channel_listener *listener = listeners->rows[i];
		if (listener->program)
			return listener->program(listener->context, pool, pool->options.pid, &pool->program);
	}
	return 0;
}

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

/* True if address space is unlimited. If it is limited, none is used in advance for processes that may never start. */
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

/* Takes the prepared pool if it is not larger than the process may have, else creates one. */
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
	code = find_program(pool);
	if (code) {
		free_memory(pool);
		return code;
	}
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
	    .zones_max = SONDE_PROGRAM_ZONES_MAX,
	};
	uint32_t requested = atomic_load(&pool->ring->doorbell);
	uint32_t before = pool->committed;
	uint64_t before_ns = sonde_clock_now_ns();
	sonde_drain_run(pool->drain, pool->options.fit, &sink, final);
	if (pool->program.end)
		pool->program.drained(pool->program.context, before_ns);
	if (final)
		return;
	if (requested || sonde_drain_used(pool->drain) * 2 > pool->populated)
		populate(pool, pool->committed);
	if (!requested && sonde_drain_used(pool->drain) * 2 < pool->committed)
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
	if (pool->program.end)
		pool->program.end(pool->program.context);
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

const struct sonde_program_sink *sonde_pool_program(const struct sonde_pool *pool)
{
	return pool->program.end ? &pool->program : NULL;
}

void sonde_pool_count_lost(struct sonde_pool *pool, enum sonde_ring_lost cause, uint64_t count)
{
	atomic_fetch_add(&pool->ring->lost[cause], count);
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
	return found || !lines; /* if the file is empty, the main thread has exited before others: unknown */
}
