/* sonde.h: put your own zones, counters, spans and marks into a profile.
 *
 *	void parse(const char *text)
 *	{
 *		SONDE_ZONE("parse");                 // ends on every way out of this block
 *		SONDE_ZONE_WORK(0, strlen(text), 1); // flop, bytes, items
 *		...
 *	}
 *
 * Run the program under `sonde record`, or with SONDE_OUT=name, or call sonde_start("x.sonde"); otherwise every call
 * costs a load and a branch. Compiled with -DSONDE_DISABLE all of it becomes nothing. C99 (GNU or Clang attributes) and
 * C++11 or later; Linux on x86-64 and AArch64, disabled elsewhere. Link with -lsonde.
 *
 * Threads: every function may be called from any thread, and zones, counters and instants from signal handlers too.
 * None of them takes a lock, allocates with malloc or changes errno; after a thread's first event none makes a system
 * call, except when 64 KB of events are full, and for sonde_snapshot() and the functions under "asking" and "control".
 * A child made by fork() records by itself. Names that macros take must be string literals; names that functions take
 * are copied. Times are nanoseconds. Functions that return int return 0 (or a count) or one of enum sonde_code.
 *
 * Sandboxes (seccomp): record something in each thread before the filter is installed, and allow futex, fstat,
 * newfstatat, sendto and madvise, which are called when 64 KB of events are full or a ring is; threads begun later also
 * call gettid and mmap, and forked children connect again (socket and its like). A program that allows less calls
 * sonde_stop() before, and records nothing in threads that it begins later.
 *
 * Limits: 65535 zones open at once in a thread (deeper ones are left out), 64 histograms in a thread. What is beyond is
 * counted by cause in the recording, and in sonde_lost().
 */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(SONDE_DISABLE) && (!defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__)))
#define SONDE_DISABLE 1
#endif

#if defined(SONDE_DISABLE)
#define SONDE_CALL(type, declaration, value) \
	static inline type declaration       \
	{                                    \
		return value;                \
	}
#define SONDE_CALL_VOID(declaration)   \
	static inline void declaration \
	{                              \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#else
#define SONDE_CALL(type, declaration, value) type declaration;
#define SONDE_CALL_VOID(declaration) void declaration;
#endif

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* --- codes --------------------------------------------------------------------------------------------------------*/

enum sonde_code {
	SONDE_OK = 0,
	SONDE_ERR_OFF = -1,      /* nothing is being recorded */
	SONDE_ERR_MISMATCH = -2, /* what was to be ended is not what was begun last, or was not begun */
	SONDE_ERR_UNKNOWN = -3,  /* no zone of that name has ended yet, nothing was said of that pool */
	SONDE_ERR_ARGUMENT = -4, /* a null or too long name, a quantile outside 0 … 1 */
	SONDE_ERR_FULL = -5,     /* no room: the loss is counted in the recording */
	SONDE_ERR_FILE = -6,     /* the recording cannot be written; errno of it: sonde_file_errno() */
	SONDE_ERR_BUSY = -7,     /* already recording to another file */
	SONDE_ERR_SYSTEM = -8,   /* memory or a thread could not be had */
	SONDE_ERR_RECORDER = -9, /* `sonde record` did not answer */
};

/* A sentence for a code; static, never NULL. */
SONDE_CALL(const char *, sonde_strerror(int code), code ? "sonde is disabled" : "no error")
/* errno of the last SONDE_ERR_FILE. */
SONDE_CALL(int, sonde_file_errno(void), 0)

/* --- control ------------------------------------------------------------------------------------------------------*/

enum sonde_full_policy {
	SONDE_FULL_DROP = 0,      /* lose the newest events, counted */
	SONDE_FULL_OVERWRITE = 1, /* lose the thread's oldest events, counted */
	SONDE_FULL_BLOCK = 2,     /* wait for room */
};

struct sonde_options {
	size_t buffer_b; /* memory for events not yet written, 0 = 16 MiB; rounded to 64 KiB chunks */
	int on_full;     /* enum sonde_full_policy */
};

/* Begins to record into `path` (as given, but %p in it becomes the pid). A forked child writes a file of its own beside
 * it: x.sonde is followed by x.PID.sonde, and any other name by NAME.PID.sonde. Under `sonde record` events go to its
 * recording instead, and `path` may be NULL. Never overwrites: an existing file is SONDE_ERR_FILE, and answers to
 * questions stay those of the recording before. Starts one thread and maps about 140 MB of address space, most of it
 * never touched, which later recordings use again; where a limit forbids that it is SONDE_ERR_SYSTEM and the program
 * runs on unrecorded. A process killed by a signal, SIGKILL too, keeps all but about the last 20 ms (what had not been
 * drained yet) of a recording that it writes itself, and all of one that `sonde record` writes. `options` may be
 * NULL. */
SONDE_CALL(int, sonde_start(const char *path), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_start_with(const char *path, const struct sonde_options *options), SONDE_ERR_OFF)
/* Ends the recording and closes its file; also done at exit. Answers to questions stay. */
SONDE_CALL(int, sonde_stop(void), SONDE_ERR_OFF)
/* Events between pause and resume are not recorded and not counted as lost; zones that are open stay open. */
SONDE_CALL(int, sonde_pause(void), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_resume(void), SONDE_ERR_OFF)
/* 1 while events are recorded. */
SONDE_CALL(int, sonde_is_on(void), 0)
/* Events not recorded so far in this process, for whatever cause (the recording has them by cause). */
SONDE_CALL(uint64_t, sonde_lost(void), 0)

/* --- by name: for names that are not literals; a hash of the name more expensive than the macros below ------------*/

/* Begins a zone, and ends it. An end that is not the name begun last in this thread (with this function) is
 * SONDE_ERR_MISMATCH: nothing is ended and the recording says so. */
SONDE_CALL(int, sonde_begin(const char *name), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_end(const char *name), SONDE_ERR_OFF)
/* Runs work(context) inside a zone. */
static inline void sonde_run(const char *name, void (*work)(void *), void *context)
{
	int begun = sonde_begin(name);
	work(context);
	if (begun == SONDE_OK)
		(void)sonde_end(name);
}
/* Gives the innermost open zone of this thread a name of its own, for instance a query's text. */
SONDE_CALL(int, sonde_zone_name(const char *name), SONDE_ERR_OFF)
/* Key and value of the innermost open zone of this thread. Keys to 255, texts to 4095 bytes; longer ones are cut. */
SONDE_CALL(int, sonde_arg_int(const char *key, int64_t value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_arg_uint(const char *key, uint64_t value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_arg_double(const char *key, double value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_arg_text(const char *key, const char *value), SONDE_ERR_OFF)
/* Work done by the innermost open zone: floating-point operations, bytes moved, items; adds up. */
SONDE_CALL(int, sonde_zone_work(double flop, double bytes, double items), SONDE_ERR_OFF)

SONDE_CALL(int, sonde_instant(const char *name, const char *text), SONDE_ERR_OFF) /* text may be NULL */
SONDE_CALL(int, sonde_message(const char *text), SONDE_ERR_OFF)
/* A moment to look at and to compare with others: `sonde report --section snapshots --diff A,B`. Has the process's
 * resident memory, and under `sonde record --heap` everything that it has allocated and not freed, exactly as it was
 * here. Reads /proc/self/statm and wakes the recorder; takes some microseconds. */
SONDE_CALL(int, sonde_snapshot(const char *label), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_counter_add(const char *name, uint64_t amount), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_gauge_set(const char *name, double value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_histogram_record(const char *name, uint64_t value), SONDE_ERR_OFF)
/* An operation that may begin in one thread and end in another; `id` is the caller's and unique while it is open.
 * Whether an end had a begin is found when the recording is read: unmatched ends are counted there. */
SONDE_CALL(int, sonde_span_begin(const char *name, uint64_t id), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_span_end(uint64_t id), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_span_arg_text(uint64_t id, const char *key, const char *value), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_span_arg_double(uint64_t id, const char *key, double value), SONDE_ERR_OFF)
/* One iteration of a loop ends here, with so many items (samples, requests, frames). */
SONDE_CALL(int, sonde_iteration(const char *name, double items), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_thread_name(const char *name), SONDE_ERR_OFF)

/* --- pools: blocks of an allocator of your own ----------------------------------------------------------------------
 * Each name is a heap of its own in the report, beside malloc's: what is alive, and its peak. Say that a block was
 * given out after the pool has done so, and that it comes back before it can be given out again. Addresses name blocks:
 * a block that was never given out and comes back is counted as unknown, one that is given out twice ended in between.
 * NULL is nothing. Under `sonde record` each has the stack of its caller (also between sonde_pause() and
 * sonde_resume()); without --heap, where the library is linked statically, and in a recording that the
 * process writes itself, its thread alone. May be called from signal handlers: what one says while its thread is inside
 * a call of ours is left out and counted. A full ring is waited for, 30 s at most, since sums with holes are wrong:
 * after that blocks are left out and counted (SONDE_ERR_FULL). Names to 255 bytes; at most 4096 in a process.
 */
SONDE_CALL(int, sonde_alloc(const char *name, const void *block, size_t size_b), SONDE_ERR_OFF)
SONDE_CALL(int, sonde_free(const char *name, const void *block), SONDE_ERR_OFF)

/* --- asking ---------------------------------------------------------------------------------------------------------
 * Answered from all zones of this process that have ended since recording began, in all threads, and from all that was
 * said of its pools. Under `sonde record` the recorder is asked. Costs some microseconds to milliseconds; not for
 * signal handlers.
 */
#define SONDE_NAME_B 96

struct sonde_stats {
	char name[SONDE_NAME_B];
	uint64_t count;
	uint64_t total_ns; /* zones inside one of the same name count once */
	uint64_t self_ns;  /* without the zones inside */
	uint64_t min_ns, max_ns;
	double mean_ns;            /* of the durations of all `count` zones */
	double std_ns;             /* sample standard deviation; 0 below two */
	double flop, bytes, items; /* as said by sonde_zone_work() */
};

SONDE_CALL(int, sonde_stats_of(const char *name, struct sonde_stats *out), SONDE_ERR_OFF)
/* The duration that `quantile` (0 … 1) of the zones do not exceed; relative error ≤ 0.39 %. */
SONDE_CALL(int, sonde_percentile(const char *name, double quantile, uint64_t *out_ns), SONDE_ERR_OFF)
/* The names with the largest total time, at most 64; returns how many were written. */
SONDE_CALL(int, sonde_top(struct sonde_stats *rows, size_t count), 0)
/* The zone that ended last. */
SONDE_CALL(int, sonde_last(struct sonde_stats *out), SONDE_ERR_OFF)
/* 1 when a zone has ended. */
SONDE_CALL(int, sonde_has_results(void), 0)
/* Writes a table of the zones with the largest total time to a descriptor. SONDE_SUMMARY=1 in the environment does it
 * at exit, on standard error; so does sonde_summary_at_exit(1). */
SONDE_CALL(int, sonde_print_summary(int fd), SONDE_ERR_OFF)
SONDE_CALL_VOID(sonde_summary_at_exit(int yes))

struct sonde_pool_stats {
	uint64_t current_b, current_blocks;
	uint64_t peak_b, peak_blocks; /* the most bytes that were alive at once, and in how many blocks they were */
	uint64_t allocated_b, allocations; /* all that was given out since recording began */
};

/* What is alive of a pool now, and the most that ever was: of all that any thread has said by sonde_alloc() and
 * sonde_free() before this call; SONDE_ERR_UNKNOWN when nothing was said of that name. NULL: of what malloc and its
 * like have given out, which only `sonde record` knows: exactly with --heap=full, else estimates (SONDE_ERR_UNKNOWN
 * before the first sample). A forked child's own begin at 0. */
SONDE_CALL(int, sonde_pool_stats_of(const char *name, struct sonde_pool_stats *out), SONDE_ERR_OFF)

/* --- profilers: named timers with answers at once, whether or not something is recorded ----------------------------
 * Start in one thread, stop in any: a stop takes the newest start of that name in its own thread, else the newest in
 * any. At most 512 names and 1024 running timers each. While recording, every timer is also a span of the recording.
 * NULL means the global profiler, which always exists and survives fork().
 */
struct sonde_profiler;

SONDE_CALL(struct sonde_profiler *, sonde_profiler_new(void), NULL) /* NULL: no memory; free it after its last use */
SONDE_CALL_VOID(sonde_profiler_free(struct sonde_profiler *profiler))
SONDE_CALL(int, sonde_profiler_start(struct sonde_profiler *profiler, const char *name), SONDE_ERR_OFF)
SONDE_CALL(int,
	   sonde_profiler_start_work(struct sonde_profiler *profiler, const char *name, double flop, double bytes,
				     double items),
	   SONDE_ERR_OFF)
/* SONDE_ERR_MISMATCH when no timer of that name runs. `out_ns`: what this one took; may be NULL. */
SONDE_CALL(int, sonde_profiler_stop(struct sonde_profiler *profiler, const char *name, uint64_t *out_ns), SONDE_ERR_OFF)
/* ns; 0 when no timer of that name has stopped. */
SONDE_CALL(uint64_t, sonde_profiler_total_ns(struct sonde_profiler *profiler, const char *name), 0)
SONDE_CALL(double, sonde_profiler_mean_ns(struct sonde_profiler *profiler, const char *name), 0)
SONDE_CALL(int, sonde_profiler_stats(struct sonde_profiler *profiler, const char *name, struct sonde_stats *out),
	   SONDE_ERR_OFF)
SONDE_CALL(int, sonde_profiler_top(struct sonde_profiler *profiler, struct sonde_stats *rows, size_t count), 0)
SONDE_CALL(int, sonde_profiler_print(struct sonde_profiler *profiler, int fd), SONDE_ERR_OFF)

/* --- the hot path: use the macros below ---------------------------------------------------------------------------*/

/* One a use of a macro; static, so `id` is given once, at the first event. Until then it is so large that no time and
 * it can be added in 64 bits (hot.h). */
#define SONDE_PLACE_NEW (~UINT64_C(0) << 20)
struct sonde_place {
	uint64_t id;
	const char *name, *function, *file, *unit;
	uint32_t kind, line, color;
};

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#if defined(SONDE_DISABLE)
#pragma GCC diagnostic pop
#define SONDE_ZONE(name) ((void)0)
#define SONDE_ZONE_COLOR(name, rgb) ((void)0)
#define SONDE_BEGIN(name) ((void)0)
#define SONDE_END() ((void)0)
#define SONDE_ZONE_NEXT(name) ((void)0)
#define SONDE_ZONE_WORK(flop, bytes, items) ((void)0)
#define SONDE_ZONE_ARG(key, value) ((void)0)
#define SONDE_COUNT(name) ((void)0)
#define SONDE_COUNTER_ADD(name, amount) ((void)0)
#define SONDE_GAUGE_SET(name, value) ((void)0)
#define SONDE_HISTOGRAM(name, value) ((void)0)
#define SONDE_INSTANT(name) ((void)0)
#define SONDE_ITERATION(name, items) ((void)0)
#define SONDE_SPAN_BEGIN(name, id) ((void)0)
#define SONDE_SPAN_END(id) ((void)0)
#else
#include <sonde/hot.h>
#endif

#endif
