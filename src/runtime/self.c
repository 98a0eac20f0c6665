/* self.c: a process that writes its own recording: its own pool, one drain thread, one file.
 *
 * Uses the same rings and the same read side as under the recorder; only the sink differs (sink.h). The drain thread
 * blocks all signals and wakes every 20 ms, or when a thread finds the pool full. `lock` serialises it with queries,
 * starts and stops; `control` serialises starts and stops; no event takes either lock.
 *
 * Memory is mapped for the first recording and reused by later ones, never unmapped: one span for the drain side, and
 * two pools used alternately. Threads may still read the previous recording's pool or write a last word to it; by the
 * time that pool is reused, they have seen the recording number change (runtime.h). A start that fails unmaps what it
 * has mapped.
 */
#include <errno.h>
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
#include "fold/drain.h"
#include "runtime/file.h"
#include "runtime/runtime.h"
#include "runtime/sink.h"

#define BUFFER_DEFAULT_B (16u << 20)
#define CHUNKS_LEAST 2u
#define ROUND_NS 20000000
#define LINE_NS 5000000u /* minimum distance of the two anchors of the clock conversion */
#define PATH_B 2048u
#define EARLY_MAX_NS 1000000u

struct ring {
	struct sonde_ring_pool *pool;
	uint32_t chunks; /* capacity */
};

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects everything below except `running` */
static pid_t home;                                       /* the process that owns the state below */
static char *span;                                       /* memory of the drain and the sink */
static struct ring rings[2];
static uint32_t turn; /* rings[turn % 2] belongs to the newest recording */
static struct sonde_drain *drain;
static struct sonde_sink *sink; /* NULL = nothing was recorded yet */
static struct sonde_clockfit fit;
static pthread_t drainer;
static _Atomic int running;
static _Atomic int file_errno;

/* --- memory -------------------------------------------------------------------------------------------------------*/

static void *map_lazy(size_t size_b, int flags)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Zeroes memory, and releases its pages where the kernel can (locked ones stay). */
static void wipe(void *memory, size_t size_b, int advice)
{
	if (madvise(memory, size_b, advice))
		memset(memory, 0, size_b);
}

static size_t span_b(void)
{
	return SONDE_DRAIN_B + sonde_sink_b();
}

/* Shared memory, so that a late event of a forked child still goes to its parent's pool; aligned as chunks require. */
static struct sonde_ring_pool *ring_map(uint32_t chunks)
{
	size_t size_b = sonde_ring_pool_b(chunks), more_b = SONDE_RING_CHUNK_B;
	char *memory = map_lazy(size_b + more_b, MAP_SHARED);
	if (!memory)
		return NULL;
	size_t skip_b = (more_b - (size_t)((uintptr_t)memory % more_b)) % more_b;
	if (skip_b)
		munmap(memory, skip_b);
	if (more_b - skip_b)
		munmap(memory + skip_b + size_b, more_b - skip_b);
	return (struct sonde_ring_pool *)(void *)(memory + skip_b);
}

/* Newly mapped memory for a recording, to be unmapped if the start fails. */
struct fresh {
	char *span;
	struct ring ring;
};

static void fresh_free(const struct fresh *fresh)
{
	if (fresh->span)
		munmap(fresh->span, span_b());
	if (fresh->ring.pool)
		munmap(fresh->ring.pool, sonde_ring_pool_b(fresh->ring.chunks));
}

/* A pool that is too small for this request stays mapped, because threads may refer to it; sizes are powers of two, so
 * this happens only a few times. */
static int fresh_map(struct fresh *out, uint32_t chunks)
{
	const struct ring *next = &rings[(turn + 1) % 2];
	struct fresh fresh = {NULL, {NULL, CHUNKS_LEAST}};
	while (fresh.ring.chunks < chunks)
		fresh.ring.chunks *= 2;
	if (!span && !(fresh.span = map_lazy(span_b(), MAP_PRIVATE)))
		return -ENOMEM;
	if ((!next->pool || next->chunks < chunks) && !(fresh.ring.pool = ring_map(fresh.ring.chunks))) {
		fresh_free(&fresh);
		return -ENOMEM;
	}
	*out = fresh;
	return 0;
}

/* Resets a pool for a new recording. Its sites stay, because a forked child may be reading them; the previous
 * recording's sites, which are written over them next, have the same prefix. */
static struct sonde_ring_pool *ring_reset(const struct ring *ring, uint32_t chunks, uint32_t on_full, uint32_t clock)
{
	struct sonde_ring_pool *pool = ring->pool;
	wipe(sonde_ring_chunk_at(pool, 0), (size_t)ring->chunks * SONDE_RING_CHUNK_B, MADV_REMOVE);
	atomic_store(&pool->committed, 0);
	atomic_store(&pool->closed, 0);
	atomic_store(&pool->doorbell, 0);
	atomic_store(&pool->pending, 0);
	for (uint32_t i = 0; i < SONDE_RING_LOST_CAUSES; i++)
		atomic_store(&pool->lost[i], 0);
	for (uint32_t i = 0; i < SONDE_RING_MAX_CHUNKS / 64; i++)
		atomic_store(&pool->free_map[i], 0);
	sonde_drain_format(pool, chunks, chunks, clock, on_full);
	return pool;
}

/* --- the drain thread ---------------------------------------------------------------------------------------------*/

static struct sonde_ring_pool *pool_now(void)
{
	return rings[turn % 2].pool;
}

static void drain_round(int final)
{
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	uint64_t passed_ns = anchor.mono_ns - fit.first.mono_ns;
	if (!fit.count && passed_ns < LINE_NS) {
		struct timespec remainder = {0, (long)(LINE_NS - passed_ns)};
		while (nanosleep(&remainder, &remainder) && errno == EINTR)
			;
		anchor = sonde_clockfit_read();
	}
	sonde_clockfit_add(&fit, &anchor);
	sonde_sink_drain(sink, drain, &fit, final);
}

/* `data`: the pool of the recording, which starts once `lock` is released. */
static void *drain_loop(void *data)
{
	struct sonde_ring_pool *pool = data;
	struct timespec round = {0, ROUND_NS};
	prctl(PR_SET_NAME, "sonde");
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	while (atomic_load(&running)) {
		syscall(SYS_futex, &pool->doorbell, FUTEX_WAIT, 0, &round, NULL, 0);
		pthread_mutex_lock(&lock);
		if (atomic_load(&running))
			drain_round(0);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int start_thread(struct sonde_ring_pool *pool)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&drainer, NULL, drain_loop, pool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

/* --- start and stop -----------------------------------------------------------------------------------------------*/

static uint32_t clock_kind(void)
{
	int tsc = PR_TSC_ENABLE;
	int forbidden = !prctl(PR_GET_TSC, &tsc) && tsc == PR_TSC_SIGSEGV;
	return !forbidden && sonde_clockfit_usable() ? SONDE_RING_CLOCK_CYCLES : SONDE_RING_CLOCK_NS;
}

/* Creates the file. An existing file at PATH is kept: after exec a process has the same pid, and so the same file name.
 * `used` (PATH_B bytes) receives the name of the file that was created. */
static int open_file(struct sonde_file **out, const char *path, int may_number, char *used)
{
	snprintf(used, PATH_B, "%s", path);
	int code = sonde_file_open(out, used);
	size_t stem_b = strlen(path);
	if (stem_b > 6 && !strcmp(path + stem_b - 6, ".sonde"))
		stem_b -= 6;
	for (int i = 1; code == -EEXIST && may_number && i < 1000; i++) {
		snprintf(used, PATH_B, "%.*s.%d%s", (int)stem_b, path, i, path + stem_b);
		code = sonde_file_open(out, used);
	}
	return code;
}

/* Starts a recording in memory that is already mapped; cannot fail. */
static void begin(struct sonde_process *process, const struct fresh *fresh, struct sonde_file *file, uint32_t chunks,
		  uint32_t on_full)
{
	if (fresh->span)
		span = fresh->span;
	else
		wipe(span, span_b(), MADV_DONTNEED);
	turn++;
	if (fresh->ring.pool)
		rings[turn % 2] = fresh->ring;
	uint32_t clock = clock_kind();
	struct sonde_ring_pool *pool = ring_reset(&rings[turn % 2], chunks, on_full, clock);
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	sonde_clockfit_init(&fit, &anchor);
	drain = sonde_drain_init(span, pool, chunks, clock);
	sink = sonde_sink_init(span + SONDE_DRAIN_B, pool, file);
	atomic_store(&process->mapped, 0);
	atomic_store(&process->stuck, 0);
	process->pool_b = sonde_ring_pool_b(chunks);
	atomic_fetch_add(&process->recording, 1);
	atomic_store(&process->pool, pool);
}

static int start(struct sonde_process *process, const char *path, int may_number, const struct sonde_options *options)
{
	size_t chunks = (options->buffer_b ? options->buffer_b : BUFFER_DEFAULT_B) / SONDE_RING_CHUNK_B;
	chunks = chunks < CHUNKS_LEAST ? CHUNKS_LEAST : chunks > SONDE_RING_MAX_CHUNKS ? SONDE_RING_MAX_CHUNKS : chunks;
	char used[PATH_B];
	struct fresh fresh;
	struct sonde_file *file;
	int code = open_file(&file, path, may_number, used);
	if (code && code != -ENOMEM)
		atomic_store(&file_errno, -code);
	if (code)
		return code == -ENOMEM ? SONDE_ERR_SYSTEM : SONDE_ERR_FILE;
	code = fresh_map(&fresh, (uint32_t)chunks);
	if (!code) {
		pthread_mutex_lock(&lock);
		atomic_store(&running, 1);
		struct sonde_ring_pool *next = fresh.ring.pool ? fresh.ring.pool : rings[(turn + 1) % 2].pool;
		code = start_thread(next);
		if (code)
			atomic_store(&running, 0);
		else
			begin(process, &fresh, file, (uint32_t)chunks, (uint32_t)options->on_full);
		pthread_mutex_unlock(&lock);
		if (code)
			fresh_free(&fresh);
	}
	if (!code)
		return SONDE_OK;
	sonde_file_abandon(file);
	unlink(used);
	return SONDE_ERR_SYSTEM;
}

int sonde_self_start(struct sonde_process *process, const char *path, int may_number,
		     const struct sonde_options *options)
{
	if (home != getpid()) {
		sonde_self_forget(); /* a child that was forked during its parent's start */
		home = getpid();
	}
	pthread_mutex_lock(&control);
	int code = start(process, path, may_number, options);
	pthread_mutex_unlock(&control);
	return code;
}

static int stop(void)
{
	if (!atomic_exchange(&running, 0))
		return SONDE_ERR_OFF;
	struct sonde_ring_pool *pool = pool_now();
	atomic_store(&pool->doorbell, 1);
	syscall(SYS_futex, &pool->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(drainer, NULL);
	pthread_mutex_lock(&lock);
	atomic_store(&pool->closed, 1);
	drain_round(1);
	int code = sonde_sink_close(sink);
	pthread_mutex_unlock(&lock);
	if (code)
		atomic_store(&file_errno, -code);
	return code ? SONDE_ERR_FILE : SONDE_OK;
}

int sonde_self_stop(void)
{
	pthread_mutex_lock(&control);
	int code = stop();
	pthread_mutex_unlock(&control);
	return code;
}

/* The span is this process's own copy; the pools are shared with the parent. */
void sonde_self_forget(void)
{
	if (home && home != getpid()) {
		pthread_mutex_init(&control, NULL);
		pthread_mutex_init(&lock, NULL);
		atomic_store(&running, 0);
		memset(rings, 0, sizeof(rings));
		if (sink)
			sonde_sink_abandon(sink);
		sink = NULL;
	}
	home = getpid();
}

int sonde_self_ask(const struct sonde_link_query *query, struct sonde_link_answer *out)
{
	pthread_mutex_lock(&lock);
	int code = sink ? SONDE_OK : SONDE_ERR_OFF;
	if (sink && atomic_load(&running))
		drain_round(0);
	if (sink)
		sonde_sink_answer(sink, query, out);
	pthread_mutex_unlock(&lock);
	return code;
}

/* Drains twice. A round writes only the events up to a time that was taken before the rings were read, so the second
 * one begins once the time of the latest event of the first has passed. */
static void drain_blocks(void)
{
	drain_round(0);
	uint64_t now_ns = sonde_clock_now_ns(), until_ns = sonde_sink_blocks_ns(sink) + 1;
	uint64_t early_ns = now_ns < until_ns ? until_ns - now_ns : 0; /* clocks of two cores may differ */
	struct timespec remainder = {0, (long)(early_ns < EARLY_MAX_NS ? early_ns : EARLY_MAX_NS)};
	if (early_ns)
		nanosleep(&remainder, NULL);
	drain_round(0);
}

int sonde_self_ask_blocks(const struct sonde_link_blocks_question *question, struct sonde_link_blocks *out)
{
	pthread_mutex_lock(&lock);
	int code = sink ? SONDE_OK : SONDE_ERR_OFF;
	if (sink && atomic_load(&running))
		drain_blocks();
	if (sink)
		sonde_sink_blocks(sink, question->name, out);
	pthread_mutex_unlock(&lock);
	return code;
}

int sonde_self_errno(void)
{
	return atomic_load(&file_errno);
}
