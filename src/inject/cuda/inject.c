/* inject.c: loaded by the CUDA driver through CUDA_INJECTION64_PATH: lets CUPTI trace devices, and reports the results.
 *
 * A thread of ours requests finished records every 200 ms, decodes and reports them (cuda/decode.h); CUPTI's callbacks,
 * in threads of the program, only pass buffers. We hold no lock in a call of CUPTI, and nothing here waits for a
 * device. At exit that thread makes CUPTI flush the remaining records; the program waits for it, but not for ever.
 * Every failure is noted in the recording, and the program continues as it would without us. A forked child cannot use
 * CUDA, so nothing is done there.
 *
 * The program's own profiler has priority: when it starts (cuda/others.h), before its call reaches CUPTI, all traced
 * records are collected, and CUPTI is left as it was found. We do not subscribe again later, because CUPTI does not
 * report when that profiler has finished.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <sonde/device.h>

#include "format/device_lost.h"
#include "format/link.h"
#include "inject/cuda/buffers.h"
#include "inject/cuda/decode.h"
#include "inject/cuda/others.h"
#include "inject/cuda/tracing.h"
#include "inject/hook/machine.h"

#define ROUND_NS UINT64_C(200000000)
#define WAIT_NS UINT64_C(10000000000) /* maximum time that the program waits for our thread */
#define NS_PER_S UINT64_C(1000000000)

static const struct cuda_out recorded = {sonde_device_add, sonde_queue_add, sonde_operation_add, sonde_activity_add,
					 sonde_activity_lost};
static struct cuda_library cupti;
static struct cuda_decoder *decoder; /* used by our thread only */
static struct cuda_tracing tracing;
static pid_t home; /* the process that owns all this state */
static _Atomic uint32_t begun;

/* Shared by our thread, the thread that ends the process, and a thread that starts another profiler. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t changes; /* number of changes of the variables below, which `lock` protects */
static int is_ending, has_ended;
static enum { COMING, HERE, LEAVING, GONE } standing; /* whether we are subscribed to CUPTI */
static int is_flushing;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct timespec time_after(uint64_t span_ns)
{
	uint64_t until_ns = now_ns() + span_ns;
	return (struct timespec){(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
}

/* Called with `lock`: waits until something has changed (0) or the deadline. Uses neither a pthread condition nor
 * syscall(): the recording of the program's waits (--threads) would attribute such a wait to the program. */
static int wait_for_change(const struct timespec *until)
{
	uint32_t seen = atomic_load_explicit(&changes, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	long failed = inject_machine_call(SYS_futex, (long)&changes, FUTEX_WAIT_BITSET_PRIVATE, (long)seen, (long)until,
					  0, (long)FUTEX_BITSET_MATCH_ANY);
	pthread_mutex_lock(&lock);
	return failed == -ETIMEDOUT ? ETIMEDOUT : 0;
}

/* Called with `lock`, which is released first, so that the woken thread does not wait for it. */
static void unlock_changed(void)
{
	atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	inject_machine_call(SYS_futex, (long)&changes, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
}

/* Reports as a loss that this process's devices are not recorded, and why. */
static int give_way(const char *why)
{
	char cause[256];
	snprintf(cause, sizeof cause, "CUDA: processes whose devices are not recorded: %s", why);
	sonde_activity_lost(cause, 1);
	return 1;
}

/* --- in threads of the program ------------------------------------------------------------------------------------ */

static void request(uint8_t **buffer, size_t *size_b, size_t *max_records)
{
	*buffer = cuda_buffers_give(size_b, cupti.version >= CUDA_12_9);
	*max_records = 0; /* 0 = as many as fit */
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size_b, size_t valid_b)
{
	(void)context;
	(void)stream;
	(void)size_b;
	cuda_buffers_full(buffer, valid_b);
}

/* --- our thread --------------------------------------------------------------------------------------------------- */

/* Determines the offset from CUPTI's clock, which is the time of day, to ours: reads CUPTI's clock between two reads of
 * ours, several times, and uses the attempt with the closest two reads. An offset is used until a more accurate one is
 * found, or one that contradicts it: a contradiction means that CUPTI's clock was set, or that the two clocks differ in
 * speed. */
static void calibrate(void)
{
	static uint64_t known_ns = UINT64_MAX; /* accuracy */
	static int64_t known_shift_ns;
	uint64_t best_ns = UINT64_MAX;
	int64_t shift_ns = 0;
	for (int i = 0; i < 8; i++) {
		uint64_t before = now_ns(), theirs = 0;
		int code = cupti.cuptiGetTimestamp(&theirs);
		uint64_t after = now_ns();
		if (code || after - before >= best_ns)
			continue;
		best_ns = after - before;
		shift_ns = (int64_t)(before + best_ns / 2 - theirs);
	}
	if (best_ns == UINT64_MAX)
		return;
	uint64_t apart_ns =
	    (uint64_t)(shift_ns > known_shift_ns ? shift_ns - known_shift_ns : known_shift_ns - shift_ns);
	if (best_ns >= known_ns && apart_ns <= (best_ns + known_ns) / 2)
		return;
	known_ns = best_ns;
	known_shift_ns = shift_ns;
	cuda_decoder_shift(decoder, shift_ns);
}

/* Decodes all full buffers; returns their number. */
static size_t decode_round(void)
{
	static uint32_t full[CUDA_BUFFERS_ALL];
	size_t count = cuda_buffers_take(full, CUDA_BUFFERS_ALL);
	for (int pass = 0; pass < CUDA_PASSES; pass++)
		for (size_t i = 0; i < count; i++) {
			size_t valid_b;
			uint8_t *bytes = cuda_buffers_bytes(full[i], &valid_b);
			cuda_decode(decoder, bytes, valid_b, (enum cuda_pass)pass, cupti.cuptiActivityGetNextRecord);
		}
	for (size_t i = 0; i < count; i++)
		cuda_buffers_free(full[i]);
	cuda_decoder_settle(decoder);
	return count;
}

static void count_dropped(void)
{
	size_t dropped = 0;
	if (!cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) && dropped)
		sonde_activity_lost("CUDA: records that CUPTI dropped: out of buffers", dropped);
}

/* True if we may call CUPTI. */
static int may_flush(void)
{
	pthread_mutex_lock(&lock);
	is_flushing = standing == COMING || standing == HERE;
	int may = is_flushing;
	pthread_mutex_unlock(&lock);
	return may;
}

static void has_flushed(void)
{
	pthread_mutex_lock(&lock);
	is_flushing = 0;
	unlock_changed();
}

static void flush_round(uint32_t flag)
{
	if (may_flush()) {
		cupti.cuptiActivityFlushAll(flag);
		calibrate();
		count_dropped();
		has_flushed();
	}
	decode_round();
}

/* Waits until the next round is due, or no more records will come: true in the latter case. */
static int left(int *is_here)
{
	struct timespec until = time_after(ROUND_NS);
	pthread_mutex_lock(&lock);
	int code = 0;
	while (!is_ending && standing != GONE && !code)
		code = wait_for_change(&until);
	int ends = is_ending || standing == GONE;
	*is_here = standing == HERE;
	pthread_mutex_unlock(&lock);
	return ends;
}

static void hand_over(const char *who);

static void *loop(void *unused)
{
	int is_here;
	prctl(PR_SET_NAME, "sonde-cuda");
	while (!left(&is_here)) {
		if (is_here)
			cuda_others_watch(&cupti, hand_over);
		flush_round(0);
	}
	flush_round(CUDA_FLUSH_FORCED);
	while (decode_round()) /* buffers that running threads have filled in the meantime */
		;
	sonde_activity_lost(SONDE_DEVICE_COMPLETE, 0);
	pthread_mutex_lock(&lock);
	has_ended = 1;
	unlock_changed();
	return unused;
}

/* --- the program ends, or its own profiler starts ----------------------------------------------------------------- */

static void end(void)
{
	struct timespec until = time_after(WAIT_NS);
	if (home != getpid())
		return;
	pthread_mutex_lock(&lock);
	is_ending = 1;
	unlock_changed();
	pthread_mutex_lock(&lock);
	int code = 0;
	while (!has_ended && !code)
		code = wait_for_change(&until);
	pthread_mutex_unlock(&lock);
	if (code)
		sonde_activity_lost("CUDA: processes whose last records came too late at exit", 1);
}

/* True if the caller must leave CUPTI; any other caller waits until that is done. */
static int begin_leaving(void)
{
	struct timespec until = time_after(WAIT_NS);
	int code = 0;
	pthread_mutex_lock(&lock);
	int is_first = standing == HERE;
	if (is_first)
		standing = LEAVING;
	while ((is_first ? is_flushing : standing == LEAVING) && !code)
		code = wait_for_change(&until);
	pthread_mutex_unlock(&lock);
	return is_first;
}

/* Called when another profiler in the process is about to start, in the thread that starts it. */
static void hand_over(const char *who)
{
	int saved = errno;
	char cause[256];
	if (home != getpid() || !begin_leaving())
		return;
	cuda_tracing_leave(&tracing);
	count_dropped();
	if (cuda_buffers_lent())
		sonde_activity_lost("CUDA: buffers of records that another profiler received", cuda_buffers_lent());
	snprintf(cause, sizeof cause, SONDE_DEVICE_LOST_TAKEN ": %.100s", *who ? who : "it has no name");
	sonde_activity_lost(cause, 1);
	pthread_mutex_lock(&lock);
	standing = GONE;
	unlock_changed();
	errno = saved;
}

static int start_thread(void)
{
	pthread_t thread;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int code = pthread_create(&thread, NULL, loop, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!code)
		pthread_detach(thread);
	return code;
}

/* --- setup -------------------------------------------------------------------------------------------------------- */

static enum cuda_level level_requested(void)
{
	const char *level = secure_getenv("SONDE_GPU");
	if (level && !strcmp(level, "kernels"))
		return CUDA_LEVEL_KERNELS;
	return level && !strcmp(level, "full") ? CUDA_LEVEL_FULL : CUDA_LEVEL_API;
}

static int set_up(void)
{
	static const struct cuda_tracing_calls calls = {request, complete};
	char why[200] = "no memory";
	if (cuda_library_load(&cupti, why, sizeof why))
		return give_way(why);
	tracing = (struct cuda_tracing){.cupti = &cupti, .level = level_requested()};
	if (cuda_tracing_subscribe(&tracing, why, sizeof why))
		return give_way(why);
	decoder = cuda_decoder_new(&recorded, cupti.version);
	int failed = !decoder || cuda_tracing_configure(&tracing, &calls, why, sizeof why);
	if (!failed)
		calibrate();
	if (!failed && (failed = start_thread()))
		snprintf(why, sizeof why, "no thread could be started");
	if (failed) {
		cupti.cuptiUnsubscribe(tracing.subscriber);
		return give_way(why);
	}
	sonde_activity_lost(SONDE_DEVICE_TRACED, 0);
	cuda_tracing_enable(&tracing);
	cuda_others_watch(&cupti, hand_over);
	pthread_mutex_lock(&lock);
	standing = HERE;
	pthread_mutex_unlock(&lock);
	atexit(end);
	return 1;
}

/* Called by the driver when it is initialised, once per process; 1: success, which is always reported to the
 * program. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	int saved = errno;
	if (atomic_exchange(&begun, 1))
		return 1;
	home = getpid();
	if (secure_getenv(SONDE_LINK_ENV)) /* else there is no recorder */
		set_up();
	errno = saved;
	return 1;
}
